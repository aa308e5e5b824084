// Cards and actions that are put into order: by dragging, with Ctrl + arrow keys, or by the buttons beside them.
#pragma once

#include "app/lessons/answer_input.h"

#include <QListWidget>

#include <array>

class QLabel;
class QPushButton;

namespace app {

/// A list whose entries change places.
class SortedList : public QListWidget {
    Q_OBJECT
public:
    SortedList(const QStringList& entries, QListView::Flow, QWidget* parent);
    /// Actions of one stage are shown without its number.
    void setEntries(const QStringList& entries);
    QStringList entries() const; ///< in their order now, as they were given
    void moveCurrent(int by);

Q_SIGNALS:
    void sorted();

protected:
    void keyPressEvent(QKeyEvent*) override;
    void dropEvent(QDropEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void fitHeight();
    QIcon handle() const;
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

/// Lines of actions, one a rank: in lists here, or in the order editor beside the window.
class ActionsInput : public AnswerInput {
public:
    /// How long passes are: forward, input and weight gradient, communication; in the pipeline's units.
    ActionsInput(const QStringList& rows, std::array<double, 4> times, QWidget* parent);
    /// What the editor states as the goal, and by what it tells how far one is. It must live as long.
    void setAsked(const sim::AskedQuestion& asked) { m_asked = &asked; }
    sim::LessonValue value() const override;
    void setValue(const sim::LessonValue&) override;
    void setAnswered() override;
    void fitInto(int height) override;
    /// Opens the order editor; it may be put elsewhere, such as beside the button that commits.
    QPushButton* editorButton() const { return m_editor; }
    /// An order in an editor of its own, to be looked at; what is tried there is nobody's answer. None that hangs.
    void openEditor(const QStringList& rows);

private:
    QStringList rows() const;
    const std::array<double, 4> m_times;
    QPushButton* m_editor;
    QLabel* m_hint;
    const sim::AskedQuestion* m_asked = nullptr;
    QList<SortedList*> m_rows;
    bool m_isTouched = false;
};

} // namespace app
