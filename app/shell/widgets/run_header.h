// The head of a run's page, recorded or live: what it is, what is chosen of it, and what can be done with it; in two lines, with
// a menu for buttons, where the window is narrow.
#pragma once

#include <QFrame>
#include <QList>

class QAction;
class QGridLayout;
class QHBoxLayout;
class QToolButton;

namespace app {

class RunHeader : public QFrame {
public:
    /// `choices` stand beside each other.
    RunHeader(QWidget* name, QWidget* headline, const QList<QWidget*>& choices, QWidget* parent = nullptr);
    void setActions(const QList<QAction*>&);
    bool isNarrow() const { return m_isNarrow; }

protected:
    void resizeEvent(QResizeEvent*) override;
    bool event(QEvent*) override;

private:
    void fit();
    void arrange(bool narrow);

    QWidget *m_words, *m_choices, *m_buttons;
    QHBoxLayout* m_buttonRow;
    QToolButton* m_more;
    QGridLayout* m_grid;
    bool m_isNarrow = false;
};

} // namespace app
