// A tool button whose text gives way where there is too little room: the whole of it is then its tip.
#pragma once

#include <QToolButton>

namespace app {

class ElidedButton : public QToolButton {
public:
    explicit ElidedButton(QWidget* parent = nullptr);
    QString shownText() const;
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
};

} // namespace app
