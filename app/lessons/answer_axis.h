// A verdict as a picture: what was answered beside what the engine says, on one axis whose ends have their numbers.
#pragma once

#include "sim/lesson/question.h"

#include <QWidget>

#include <span>
#include <vector>

namespace app {

/// From where to where an axis goes.
struct AnswerRange {
    double from = 0, to = 0;
    QString fromText, toText;
};
/// The question's range, wider where a value lies outside; where it has none, nought and the values.
AnswerRange answerRange(const sim::AskedQuestion&, std::span<const double> values);

/// Your answer and the engine's on one axis; nothing for answers that are no number.
class AnswerAxis : public QWidget {
public:
    AnswerAxis(AnswerRange, double yours, double engines, const QString& yourText, const QString& engineText, QWidget* parent);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    const AnswerRange m_range;
    double m_yours, m_engines;
    QString m_yourText, m_engineText;
};

/// Several numbers that were answered, beside the engine's: a bar each, on one axis.
class AnswerBars : public QWidget {
public:
    struct Bar {
        QString name;
        double yours = 0, engines = 0;
        QString yourText, engineText;
    };
    AnswerBars(std::vector<Bar>, AnswerRange, QWidget* parent);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    int lineHeight() const;
    const std::vector<Bar> m_bars;
    const AnswerRange m_range;
};

} // namespace app
