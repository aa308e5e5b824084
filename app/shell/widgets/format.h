// Numbers as people read them: three significant digits, a unit, thousands separated.
#pragma once

#include "app/step/selection.h"
#include "sim/scenario/scenario.h"

#include <QString>

#include <cstdint>
#include <string>
#include <utility>

namespace app {

struct Quantity {
    QString number, unit;
    QString text() const { return unit.isEmpty() ? number : number + QLatin1Char(' ') + unit; }
};

Quantity durationQuantity(double seconds); ///< 812 µs, 412 ms, 3.21 s
Quantity countQuantity(double count);      ///< 405 B, 1.23 M, 9,400
Quantity memoryQuantity(double gib);       ///< 71.2 GiB, 640 MiB
/// Memory, and as a number what holds no more: where it does not fit in the digits that show it, not 80.0 GiB in 80.0.
std::pair<Quantity, QString> memoryBesideLimit(double gib, double limitGib);
Quantity percentQuantity(double fraction);        ///< 41.3 %
Quantity flopRateQuantity(double flopsPerSecond); ///< 511 TFLOP/s, 36.9 GFLOP/s
QString shortNumber(double value);
QString separated(std::int64_t value);                 ///< 16,384
QString counted(std::int64_t count, const char* noun); ///< 1 rank, 16 ranks
/// "12"; "more than 1,000" where the reader stopped listing them (its last problem says how many it left out).
QString problemCount(std::size_t listed);
/// Of a list of problems as many as are shown: beyond that nobody reads them before mending the first.
inline constexpr std::size_t kMostProblemsShown = 200;
/// "… and 800 more"; empty where all are shown.
QString problemsLeftOut(std::size_t listed, std::size_t shown = kMostProblemsShown);
/// The beginning of a text from a file: laying out a line of megabytes takes a window minutes.
QString beginningOf(const std::string&);
/// Of a number that became so many times what it was, without its sign: "4.2 %", "13 ×".
QString ratioText(double ratio);
double gib(std::int64_t bytes);
/// "16,384 GPUs · tp 8 · pp 16 · dp 128": what is larger than 1.
QString layoutLine(const sim::Layout&);
/// "0F3", "attn.qkv", with its micro-batch where it has one.
QString spanName(const sim::Trace&, SpanRef);

} // namespace app
