#include "app/shell/form/token_count.h"

#include "app/shell/form/number_row.h"

#include <array>
#include <cmath>

namespace app {
namespace {

struct Scale {
    double of;
    QLatin1StringView letter, word;
};
constexpr std::array kScales{
    Scale{1e12, QLatin1StringView("T"), QLatin1StringView("trillion")},
    Scale{1e9, QLatin1StringView("B"), QLatin1StringView("billion")},
    Scale{1e6, QLatin1StringView("M"), QLatin1StringView("million")},
    Scale{1e3, QLatin1StringView("K"), QLatin1StringView("thousand")},
};

/// Takes the word off the text's end, where it stands there.
bool chopped(QString& text, QLatin1StringView word)
{
    if (!text.endsWith(word, Qt::CaseInsensitive))
        return false;
    text.chop(word.size());
    return true;
}

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
    if (chopped(digits, QLatin1StringView("tokens")))
        digits = digits.trimmed();
    for (const Scale& scale : kScales)
        if (chopped(digits, scale.word) || chopped(digits, scale.letter)) {
            const auto number = typedNumber(digits, false);
            const double tokens = number ? std::round(*number * scale.of) : 0; // 1.1 T is no broken number
            return number && std::isfinite(tokens) ? std::optional(tokens) : std::nullopt;
        }
    return typedNumber(digits, false);
}

} // namespace app
