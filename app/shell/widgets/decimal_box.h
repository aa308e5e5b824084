// A box for a number with a point, which is shown and read alike on every desktop.
#pragma once

#include <QDoubleSpinBox>

namespace app {

/// Shows 2.5 whatever the desktop's language is, as every other number of the window; reads "2.5" and "2,5"
/// (sim::readTypedNumber).
class DecimalBox : public QDoubleSpinBox {
    Q_OBJECT
public:
    using QDoubleSpinBox::QDoubleSpinBox;

protected:
    QString textFromValue(double value) const override;
    double valueFromText(const QString& text) const override;
    QValidator::State validate(QString& text, int& place) const override;

private:
    QString bare(QString text) const; ///< without prefix and suffix
};

} // namespace app
