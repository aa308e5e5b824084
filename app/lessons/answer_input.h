// How a question is answered: a slider, options, ranks picked on the grid, cards in order … One widget an input, all of them by
// keyboard too. What they give is an answer as sim::AskedQuestion takes it.
#pragma once

#include "app/session/desk.h"
#include "sim/lesson/play.h"

#include <QStringList>
#include <QWidget>

#include <functional>
#include <utility>
#include <vector>

namespace app {

class AnswerInput : public QWidget {
    Q_OBJECT
public:
    using QWidget::QWidget;
    /// Null: nothing has been answered yet.
    virtual sim::LessonValue value() const = 0;
    /// Shows an answer, such as one that was committed.
    virtual void setValue(const sim::LessonValue&) = 0;
    /// Why what is typed is no answer; empty where it is one, or where nothing is typed.
    virtual QString problem() const { return {}; }
    /// It is committed: nothing changes it any more.
    virtual void setAnswered() { setEnabled(false); }
    /// How high the place is in which it is read, in logical pixels: what can be lower is.
    virtual void fitInto(int /*height*/) {}

Q_SIGNALS:
    void changed();
};

/// Of the question's input. The desk is asked for its selection; it and the question must live as long. Throws Error where the
/// engine has no range.
AnswerInput* makeAnswerInput(const sim::AskedQuestion&, Desk&, QWidget* parent);

/// An answer in words: "17.6 GiB", the option's text, "0, 4, 8".
QString answerText(const sim::AskedQuestion&, const sim::LessonValue&);
/// The end of an axis, a round number as people write it: 0.5 times, 100 %.
QString endText(const sim::AskedQuestion&, double);
/// The ends of its range.
std::pair<QString, QString> rangeTexts(const sim::AskedQuestion&);

/// What an order of actions comes to: "bubble 12.5 % of the ideal time, at most 4 micro-batches held".
QString orderText(const sim::OrderOutcome&);
/// Which goals it misses, in words; empty where it reaches all.
QString unmetText(const sim::OrderOutcome&);

/// A step's numbers beside each other: a bar each, from nought.
QWidget* lessonChart(const std::vector<sim::LessonPlay::Bar>&, QWidget* parent);

} // namespace app
