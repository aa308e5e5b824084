// Cards and actions that are put into order: by dragging, with Ctrl + arrow keys, or by the buttons beside them.
#pragma once

#include "app/lessons/answer_input.h"

#include <QListWidget>

namespace app {

/// A list whose entries change places.
class SortedList : public QListWidget {
    Q_OBJECT
public:
    SortedList(const QStringList& entries, QListView::Flow, QWidget* parent);
    void moveCurrent(int by);

Q_SIGNALS:
    void sorted();

protected:
    void keyPressEvent(QKeyEvent*) override;
    void dropEvent(QDropEvent*) override;
};

/// Gives the places of the cards, as they stood at first, in their order now.
class OrderInput : public AnswerInput {
public:
    OrderInput(const QStringList& cards, QWidget* parent);
    sim::LessonValue value() const override;
    void setValue(const sim::LessonValue&) override;

private:
    SortedList* m_list;
    bool m_isTouched = false;
};

/// Lines of actions, one a rank.
class ActionsInput : public AnswerInput {
public:
    ActionsInput(const QStringList& rows, QWidget* parent);
    sim::LessonValue value() const override;
    void setValue(const sim::LessonValue&) override;

private:
    QList<SortedList*> m_rows;
    bool m_isTouched = false;
};

} // namespace app
