// Numbers in sentences and formulas: significant digits, thousands separated, a unit that keeps them short. Three digits read as
// they do everywhere on screen; formulas ask for more.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

enum class Unit : std::uint8_t {
    number,   ///< as many digits as asked for
    count,    ///< whole, all digits: 16,384
    seconds,  ///< 412 ms
    bytes,    ///< 71.2 GiB
    flops,    ///< 6.91 EFLOP
    flopRate, ///< 989 TFLOP/s
    fraction, ///< 41.3 %
    rate,     ///< per second: 1,234 /s
    byteRate  ///< 45.0 GB/s: decimal, as links and memories are sold
};

std::string numberText(double value, Unit, int digits = 3);
/// What somebody reads who reads numberText.
double asShown(double value, Unit, int digits);

std::string percentText(double fraction);                ///< 41.3 %, one decimal: of what was measured or counted
inline constexpr double kLeastPercentShown = 0.0005;     ///< less is 0.0 % in it
std::string chosenPercentText(double fraction);          ///< 80 %, 2.5 %: of what somebody chose; no zeros that look measured
std::string gibText(std::int64_t bytes);                 ///< 71.2 GiB
std::string countedText(std::int64_t, const char* noun); ///< "1 rank", "16 ranks"

} // namespace sim
