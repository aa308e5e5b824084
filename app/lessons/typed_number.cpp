#include "app/lessons/typed_number.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>

namespace app {
namespace {

constexpr qsizetype kGroup = 3; ///< digits between two marks

QString typedText(const char* text)
{
    return QCoreApplication::translate("app::TypedNumber", text);
}

/// "1,234,567": digits in groups of three.
bool isGrouped(const QString& whole, QChar mark)
{
    const QStringList groups = whole.split(mark);
    return !groups.front().isEmpty() && groups.front().size() <= kGroup && !groups.front().startsWith(QLatin1Char('0')) &&
           std::all_of(groups.begin() + 1, groups.end(), [](const QString& group) { return group.size() == kGroup; });
}

} // namespace

TypedNumber readTypedNumber(const QString& text)
{
    const QChar point = QLatin1Char('.'), comma = QLatin1Char(',');
    QString bare = text.trimmed();
    const auto refused = [&](const QString& why) { return TypedNumber{.value = {}, .problem = why}; };
    const auto noNumber = [&] { return refused(typedText("“%1” is no number; a number is 6.2 or 6,2.").arg(text.trimmed())); };
    for (const QChar space : {QChar(0x00A0), QChar(0x202F), QChar(QLatin1Char('\''))}) // between groups, too
        bare.replace(space, QLatin1Char(' '));
    const bool isNegative = bare.startsWith(QLatin1Char('-')) || bare.startsWith(QChar(0x2212));
    if (isNegative)
        bare.remove(0, 1);
    const qsizetype last = std::max(bare.lastIndexOf(point), bare.lastIndexOf(comma));
    const QChar mark = last < 0 ? point : bare[last], other = mark == point ? comma : point;
    QString whole = bare, fraction;
    if (last >= 0) {
        const bool isOnlyOne = bare.count(mark) == 1, hasOther = bare.contains(other);
        if (isOnlyOne && !hasOther && mark == comma && bare.size() - last - 1 == kGroup && isGrouped(bare, mark)) {
            QString joined = bare, pointed = bare;
            return refused(typedText("“%1” may be %2 or %3: write one of these.")
                               .arg(text.trimmed(), joined.remove(mark), pointed.replace(mark, point)));
        }
        if (isOnlyOne) {
            whole = bare.left(last);
            fraction = bare.mid(last + 1);
            if (hasOther && !isGrouped(whole, other))
                return noNumber();
            whole.remove(other);
        } else { // groups, and no fraction
            if (hasOther || !isGrouped(bare, mark))
                return noNumber();
            whole.remove(mark);
        }
    }
    if (whole.contains(QLatin1Char(' '))) {
        if (!isGrouped(whole, QLatin1Char(' ')))
            return noNumber();
        whole.remove(QLatin1Char(' '));
    }
    const auto isDigits = [](const QString& digits) {
        return std::all_of(digits.begin(), digits.end(), [](QChar c) { return c >= QLatin1Char('0') && c <= QLatin1Char('9'); });
    };
    if (!isDigits(whole) || !isDigits(fraction) || (whole.isEmpty() && fraction.isEmpty()))
        return noNumber();
    const double value =
        QLocale::c().toDouble((whole.isEmpty() ? QStringLiteral("0") : whole) + point + fraction + QLatin1Char('0'));
    return {.value = isNegative ? -value : value, .problem = {}};
}

} // namespace app
