#include "app/views/common/labels.h"

#include "app/views/common/wrapped_lines.h"
#include "sim/text/beside_limit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace app {
namespace {

std::string withUnit(double value, const char* unit)
{
    return threeDigits(value) + " " + unit;
}

} // namespace

std::string separatedText(std::string digits)
{
    const std::ptrdiff_t sign = digits.starts_with('-') ? 1 : 0;
    const std::size_t point = std::min(digits.find('.'), digits.size());
    for (auto place = static_cast<std::ptrdiff_t>(point) - 3; place > sign; place -= 3)
        digits.insert(static_cast<std::size_t>(place), ",");
    return digits;
}

std::string countText(std::int64_t count)
{
    return separatedText(std::to_string(count));
}

std::string threeDigits(double value)
{
    const double size = std::abs(value);
    if (size >= 999.5)
        return countText(std::llround(value));
    const int decimals = size == 0 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    std::array<char, 32> out{};
    std::snprintf(out.data(), out.size(), "%.*f", decimals, value);
    return out.data();
}

namespace {

/// "17,743 ms" taken apart.
struct ToldNumber {
    std::int64_t digits = 0; ///< without the point
    std::size_t decimals = 0;
    std::string_view unit;
};

std::optional<ToldNumber> toldNumber(std::string_view text)
{
    constexpr std::size_t kMostDigits = 15;
    ToldNumber out;
    std::size_t at = 0, digits = 0;
    bool isBehindPoint = false;
    for (; at < text.size() && std::string_view("0123456789.,").find(text[at]) != std::string_view::npos; ++at) {
        if (text[at] == '.' || text[at] == ',') {
            isBehindPoint = isBehindPoint || text[at] == '.';
            continue;
        }
        out.digits = 10 * out.digits + (text[at] - '0');
        out.decimals += isBehindPoint ? 1 : 0;
        ++digits;
    }
    out.unit = text.substr(at);
    return digits > 0 && digits <= kMostDigits ? std::optional(out) : std::nullopt;
}

} // namespace

bool addsUpAsTold(const std::string& a, const std::string& b, const std::string& size)
{
    const auto from = toldNumber(a), to = toldNumber(b), told = toldNumber(size);
    if (!from || !to || !told || from->unit != to->unit || from->unit != told->unit)
        return true; // nobody subtracts those
    const auto scaled = [](const ToldNumber& number, std::size_t decimals) {
        std::int64_t digits = number.digits;
        for (std::size_t i = number.decimals; i < decimals; ++i)
            digits *= 10;
        return digits;
    };
    const std::size_t decimals = std::max(from->decimals, to->decimals), finest = std::max(decimals, told->decimals);
    const std::int64_t between = std::abs(scaled(*to, finest) - scaled(*from, finest)), left = scaled(*told, finest) - between;
    std::int64_t unit = 1; // of the last of the digits that both have, in the finest
    for (std::size_t i = decimals; i < finest; ++i)
        unit *= 10;
    const bool saysMore = told->decimals > decimals;
    return between == 0 || left == 0 || (saysMore && 2 * std::abs(left) <= unit); // rounds to what the two differ by
}

std::string durationText(double nanoseconds)
{
    const double size = std::abs(nanoseconds);
    if (size == 0)
        return "0";
    if (size < 999.5)
        return countText(std::llround(nanoseconds)) + " ns";
    if (size < 999.5e3)
        return withUnit(nanoseconds / 1e3, "µs");
    if (size < 999.5e6)
        return withUnit(nanoseconds / 1e6, "ms");
    return withUnit(nanoseconds / 1e9, "s");
}

std::string bytesText(double bytes)
{
    constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    while (std::abs(bytes) >= 999.5 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return unit == 0 ? countText(std::llround(bytes)) + " B" : withUnit(bytes, kUnits[unit]);
}

std::pair<std::string, std::string> bytesBesideLimit(double bytes, double limit)
{
    const sim::BesideLimit beside(bytes, limit, sim::Unit::bytes);
    return beside.isUsual() ? std::pair(bytesText(bytes), bytesText(limit)) : std::pair(beside.need(), beside.limit());
}

std::string bytesOfGibText(double gib)
{
    return bytesText(gib * 1024 * 1024 * 1024);
}

std::string wholeBytesText(double bytes)
{
    const std::string exact = bytesText(bytes);
    return countText(std::lround(std::strtod(exact.c_str(), nullptr))) + exact.substr(exact.find(' '));
}

std::string percentText(double fraction)
{
    const double percent = fraction * 100;
    std::array<char, 32> out{};
    std::snprintf(out.data(), out.size(), percent < 99.95 ? "%.1f %%" : "%.0f %%", percent);
    return out.data();
}

std::string rankListText(const std::vector<int>& ranks)
{
    if (ranks.empty())
        return "none";
    const auto count = static_cast<std::int64_t>(ranks.size());
    if (count > 2 && ranks.back() - ranks.front() == count - 1)
        return countText(ranks.front()) + "–" + countText(ranks.back());
    std::string out;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks.size() > 4 && i == 3)
            return out + " … " + countText(ranks.back());
        out += (i == 0 ? "" : ", ") + countText(ranks[i]);
    }
    return out;
}

std::string runsText(const std::vector<int>& numbers)
{
    std::vector<std::string> runs;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        runs.push_back(countText(numbers[i]) + (last > i ? (last == i + 1 ? ", " : "–") + countText(numbers[last]) : ""));
        i = last + 1;
    }
    std::string out = runs.empty() ? "none" : "";
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs.size() > 4 && i == 3)
            return out + " … " + runs.back();
        out += (i == 0 ? "" : ", ") + runs[i];
    }
    return out;
}

std::string coordinatesText(const sim::Mesh& mesh, int rank, const KnownGrid& known)
{
    std::string out;
    const sim::RankGrid& grid = mesh.dense();
    for (int axis = grid.axisCount() - 1; axis >= 0; --axis) {
        if (grid.axis(axis).size == 1)
            continue;
        out += (out.empty() ? "" : " · ") + known.wordOf(grid.axis(axis).name) + " " + countText(grid.coordinate(rank, axis));
    }
    return out.empty() ? "the only rank" : out;
}

std::string fitting(Canvas& canvas, const std::vector<std::string>& longestFirst, float width, FontFace face)
{
    for (const std::string& text : longestFirst)
        if (canvas.textWidth(text, face) <= width)
            return text;
    return {};
}

namespace {

char widestDigit(Canvas& canvas, FontFace face)
{
    char widest = '0';
    for (char digit = '1'; digit <= '9'; ++digit)
        if (canvas.textWidth(std::string_view(&digit, 1), face) > canvas.textWidth(std::string_view(&widest, 1), face))
            widest = digit;
    return widest;
}

} // namespace

std::string widestNumber(Canvas& canvas, std::string text, FontFace face)
{
    // Asked for every cell, and the same wherever digits are as wide: of a face, at every scale.
    struct Known {
        float zero = -1;
        char widest = '0';
    };
    static thread_local std::array<Known, static_cast<std::size_t>(FontFace::mono) + 1> allKnown;
    Known& known = allKnown[static_cast<std::size_t>(face)];
    if (const float zero = canvas.textWidth("0", face); zero != known.zero)
        known = {zero, widestDigit(canvas, face)};
    for (char& c : text)
        c = c >= '0' && c <= '9' ? known.widest : c;
    return text;
}

std::string fittingEvenly(Canvas& canvas, const std::vector<std::string>& longestFirst, float width, FontFace face)
{
    for (const std::string& text : longestFirst) {
        if (canvas.textWidth(text, face) <= width && canvas.textWidth(widestNumber(canvas, text, face), face) <= width)
            return text;
    }
    return {};
}

float textInside(Canvas& canvas, Rect rect, std::string_view text, Color color, FontFace face, Align align)
{
    const float width = canvas.textWidth(text, face);
    const float height = canvas.textHeight(face);
    if (text.empty() || width > rect.width() || height > rect.height() + 2)
        return 0;
    const float x = align == Align::left    ? rect.left
                    : align == Align::right ? rect.right
                                            : std::floor((rect.left + rect.right) / 2);
    canvas.text({x, std::floor((rect.top + rect.bottom - height) / 2)}, text, color, face, align);
    return width;
}

void drawEmpty(Canvas& canvas, const Theme& theme, std::string_view title, std::string_view hint)
{
    const Rect area = canvas.area();
    canvas.fillRect(area, theme.canvas);
    const float height = canvas.textHeight(FontFace::bold);
    const float middle = std::floor((area.top + area.bottom) / 2);
    textInside(canvas, {area.left + 8, middle - height - 2, area.right - 8, middle - 2}, title, theme.text, FontFace::bold,
               Align::center);
    float top = middle + 2;
    for (const std::string& line : wrappedLines(canvas, hint, area.width() - 16, FontFace::body)) {
        textInside(canvas, {area.left + 8, top, area.right - 8, top + height}, line, theme.mutedText, FontFace::body,
                   Align::center);
        top += height;
    }
}

} // namespace app
