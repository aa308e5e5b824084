// A status bar whose messages end in "…" where there is no room for them; their whole text is its tooltip meanwhile.
#pragma once

#include <QStatusBar>

namespace app {

class StatusLine : public QStatusBar {
public:
    explicit StatusLine(QWidget* parent = nullptr);
    QString shownMessage() const; ///< what there is room for

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    QRect messageRect() const;
    void fitToolTip();
};

} // namespace app
