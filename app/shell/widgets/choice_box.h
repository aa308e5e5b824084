// A combo box whose text ends in "…" where there is no room, and that shows it whole as its tooltip.
#pragma once

#include <QComboBox>

namespace app {

class ChoiceBox : public QComboBox {
    Q_OBJECT
public:
    using QComboBox::QComboBox;
    void setWhat(const QString& what) { m_what = what; }
    void showPopup() override; ///< as wide as its widest text
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent*) override;
    void paintEvent(QPaintEvent*) override;

private:
    QString m_what, m_told; ///< m_told: the tooltip, where it is its own
};

} // namespace app
