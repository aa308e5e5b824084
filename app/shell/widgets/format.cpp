#include "app/shell/widgets/format.h"

#include "sim/text/beside_limit.h"
#include "sim/text/number_text.h"

#include "sim/scenario/problem_list.h"
#include "sim/simulate/action_class.h"

#include <QLocale>
#include <QObject>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace app {

namespace {

/// Rounded and separated as the views and the findings do it: Qt would make 49.25 another number.
QString withDecimals(double value, int decimals)
{
    std::array<char, 400> out{}; // the largest double has 309 digits
    std::snprintf(out.data(), out.size(), "%.*f", decimals, value);
    QString text = QString::fromLatin1(out.data());
    const qsizetype sign = value < 0 ? 1 : 0, point = text.indexOf(QLatin1Char('.'));
    for (qsizetype place = (point < 0 ? text.size() : point) - 3; place > sign; place -= 3)
        text.insert(place, QLatin1Char(','));
    return text;
}

} // namespace

QString shortNumber(double value)
{
    const double size = std::fabs(value);
    if (size == 0 || !std::isfinite(value))
        return QString::number(value);
    const int digitsBefore = static_cast<int>(std::floor(std::log10(size))) + 1;
    return withDecimals(value, std::clamp(3 - digitsBefore, 0, 3));
}

QString beginningOf(const std::string& text)
{
    constexpr qsizetype kMostCharacters = 2000;
    const QString whole = QString::fromStdString(text);
    return whole.size() <= kMostCharacters ? whole : whole.left(kMostCharacters) + QStringLiteral("…");
}

QString problemsLeftOut(std::size_t listed, std::size_t shown)
{
    return listed <= shown ? QString() : QObject::tr("… and %1 more").arg(separated(static_cast<std::int64_t>(listed - shown)));
}

QString separated(std::int64_t value)
{
    static const QLocale english(QLocale::English, QLocale::UnitedStates);
    return english.toString(static_cast<qlonglong>(value));
}

QString counted(std::int64_t count, const char* noun)
{
    return QString::fromStdString(sim::countedText(count, noun));
}

QString problemCount(std::size_t listed)
{
    constexpr std::size_t kMost = sim::ProblemList::kMost;
    return listed > kMost ? QObject::tr("more than %1").arg(separated(kMost)) : separated(static_cast<std::int64_t>(listed));
}

Quantity durationQuantity(double seconds)
{
    constexpr double kRounded = 0.9995; // what three digits make a thousand of is one of the next unit
    if (seconds < kRounded * 1e-3)
        return {shortNumber(seconds * 1e6), QStringLiteral("µs")};
    if (seconds < kRounded)
        return {shortNumber(std::max(1.0, seconds * 1e3)), QStringLiteral("ms")};
    return {shortNumber(std::max(1.0, seconds)), QStringLiteral("s")};
}

Quantity countQuantity(double count)
{
    if (count >= 1e12)
        return {shortNumber(count / 1e12), QStringLiteral("T")};
    if (count >= 1e9)
        return {shortNumber(count / 1e9), QStringLiteral("B")};
    if (count >= 1e6)
        return {shortNumber(count / 1e6), QStringLiteral("M")};
    if (count >= 100)
        return {separated(std::llround(count)), {}};
    return {shortNumber(count), {}};
}

Quantity memoryQuantity(double gibibytes)
{
    if (gibibytes > 0 && gibibytes < 1)
        return {shortNumber(gibibytes * 1024), QStringLiteral("MiB")};
    return {shortNumber(gibibytes), QStringLiteral("GiB")};
}

std::pair<Quantity, QString> memoryBesideLimit(double gib, double limitGib)
{
    const sim::BesideLimit beside(gib, limitGib, sim::Unit::number);
    if (beside.isUsual())
        return {memoryQuantity(gib), shortNumber(limitGib)};
    return {{QString::fromStdString(beside.need()), QStringLiteral("GiB")}, QString::fromStdString(beside.limit())};
}

Quantity flopRateQuantity(double flopsPerSecond)
{
    if (flopsPerSecond >= 1e12)
        return {shortNumber(flopsPerSecond * 1e-12), QStringLiteral("TFLOP/s")};
    return {shortNumber(flopsPerSecond * 1e-9), QStringLiteral("GFLOP/s")};
}

Quantity percentQuantity(double fraction)
{
    const double percent = fraction * 100;
    return {withDecimals(percent, std::fabs(percent) < 9.95 ? 2 : 1), QStringLiteral("%")};
}

QString ratioText(double ratio)
{
    constexpr double kTimesFrom = 3; // "▲ 1,197 %" is thirteen times as much
    if (ratio >= kTimesFrom)
        return withDecimals(ratio, ratio < 9.95 ? 1 : 0) + QStringLiteral(" ×");
    const double percent = std::fabs(ratio - 1) * 100;
    return QString::number(percent, 'f', percent < 9.95 ? 1 : 0) + QStringLiteral(" %");
}

double gib(std::int64_t bytes)
{
    return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
}

QString layoutLine(const sim::Layout& layout)
{
    QStringList parts{layout.worldSize() == 1 ? QObject::tr("1 GPU") : QObject::tr("%1 GPUs").arg(separated(layout.worldSize()))};
    const std::array<std::pair<const char*, int>, 5> axes{
        {{"tp", layout.tp}, {"cp", layout.cp}, {"ep", layout.ep}, {"pp", layout.pp}, {"dp", layout.dp}}};
    for (const auto& [name, size] : axes) {
        if (size > 1)
            parts << QStringLiteral("%1 %2").arg(QLatin1String(name), separated(size));
    }
    return parts.join(QStringLiteral("  ·  "));
}

QString spanName(const sim::Trace& trace, SpanRef span)
{
    return QString::fromStdString(sim::spanName(trace, span.track, span.span));
}

} // namespace app
