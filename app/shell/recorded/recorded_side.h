// What stands beside the grid of a recorded run: the tabs, and below them why a rank waits, in room that they give and no
// picture.
#pragma once

#include <QFrame>

class QLabel;
class QScrollArea;

namespace app {

class RecordedTabs;

class RecordedSide : public QFrame {
public:
    explicit RecordedSide(RecordedTabs&, QWidget* parent = nullptr);
    void tell(const QString& why); ///< empty: nothing
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override; ///< of the tabs alone, whatever is told

protected:
    bool event(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void place();

    RecordedTabs& m_tabs;
    QLabel* m_why;
    QScrollArea* m_below; ///< of long words in a low place
};

} // namespace app
