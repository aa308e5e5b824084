#include "app/shell/form/token_count.h"

#include "app/shell/form/number_row.h"

#include <array>
#include <cmath>

namespace app {
namespace {

struct Scale {
    double of;
    QLatin1Char letter;
};
constexpr std::array kScales{Scale{1e12, QLatin1Char('T')}, Scale{1e9, QLatin1Char('B')}, Scale{1e6, QLatin1Char('M')},
                             Scale{1e3, QLatin1Char('K')}};

} // namespace

QString tokenCountText(double tokens)
{
    constexpr int kMostDigits = 4;
    constexpr double kFewest = 1e6; // below, digits are as short
    for (const Scale& scale : kScales) {
        if (tokens < scale.of || scale.of < kFewest)
            continue;
        const QString number = QString::number(tokens / scale.of, 'g', kMostDigits);
        if (!number.contains(QLatin1Char('e')) && std::round(number.toDouble() * scale.of) == tokens)
            return number + QLatin1Char(' ') + scale.letter;
        break;
    }
    return plainNumber(tokens);
}

std::optional<double> typedTokenCount(const QString& text)
{
    QString digits = text.trimmed();
    for (const Scale& scale : kScales)
        if (digits.endsWith(scale.letter, Qt::CaseInsensitive)) {
            digits.chop(1);
            const auto number = typedNumber(digits, false);
            const double tokens = number ? std::round(*number * scale.of) : 0; // 1.1 T is no broken number
            return number && std::isfinite(tokens) ? std::optional(tokens) : std::nullopt;
        }
    return typedNumber(digits, false);
}

} // namespace app
