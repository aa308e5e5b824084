#include "app/shell/widgets/decimal_box.h"

#include "sim/text/typed_number.h"

#include <QLocale>
#include <QRegularExpression>

namespace app {

QString DecimalBox::bare(QString text) const
{
    if (!prefix().isEmpty() && text.startsWith(prefix()))
        text.remove(0, prefix().size());
    if (!suffix().isEmpty() && text.endsWith(suffix()))
        text.chop(suffix().size());
    return text.trimmed();
}

QString DecimalBox::textFromValue(double value) const
{
    return QLocale::c().toString(value, 'f', decimals());
}

double DecimalBox::valueFromText(const QString& text) const
{
    if (!specialValueText().isEmpty() && text == specialValueText())
        return minimum();
    return sim::readTypedNumber(bare(text).toStdString()).value.value_or(value());
}

QValidator::State DecimalBox::validate(QString& text, int&) const
{
    const QString typed = bare(text);
    if (!specialValueText().isEmpty() && typed == specialValueText())
        return QValidator::Acceptable;
    static const QRegularExpression kOfNumbers(QStringLiteral("^[-0-9., ]*$"));
    if (!kOfNumbers.match(typed).hasMatch())
        return QValidator::Invalid;
    const auto number = sim::readTypedNumber(typed.toStdString()).value;
    return number && *number >= minimum() && *number <= maximum() ? QValidator::Acceptable : QValidator::Intermediate;
}

} // namespace app
