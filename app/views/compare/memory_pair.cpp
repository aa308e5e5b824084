#include "app/views/compare/memory_pair.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/compare/waterfall.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr std::uint64_t kMemoryNodes = (std::uint64_t{1} << 61) + (std::uint64_t{1} << 57);
constexpr float kPairTitle = 22, kLetter = 20;

struct Part {
    const char* name;
    std::int64_t sim::MemoryBreakdown::*bytes;
    Color Theme::*color;
    sim::MetricId id;
};
constexpr std::array<Part, 5> kParts{
    {{"parameters", &sim::MemoryBreakdown::parameters, &Theme::parameters, sim::MetricId::parameterMemory},
     {"gradients", &sim::MemoryBreakdown::gradients, &Theme::gradients, sim::MetricId::gradientMemory},
     {"optimizer", &sim::MemoryBreakdown::optimizer, &Theme::optimizer, sim::MetricId::optimizerMemory},
     {"activations", &sim::MemoryBreakdown::activations, &Theme::activations, sim::MetricId::activationMemory},
     {"buffers", &sim::MemoryBreakdown::buffers, &Theme::buffers, sim::MetricId::bufferMemory}}};

std::string describeSide(const char* name, const sim::MemoryBreakdown& memory, std::int64_t capacity)
{
    const auto [held, of] = bytesBesideLimit(static_cast<double>(memory.total()), static_cast<double>(capacity));
    std::string text = std::string(name) + ": " + held + " of " + of;
    if (memory.total() > capacity)
        text += ", does not fit";
    for (const Part& part : kParts)
        text += std::string(part.name == kParts.front().name ? "; " : ", ") + part.name + " " +
                bytesText(static_cast<double>(memory.*part.bytes));
    return text;
}

struct Rows {
    Rect a, b;
    float textTop;
};

Rows rowsOf(Rect area)
{
    constexpr float kHighest = 26, kGap = 8, kPairTexts = 36;
    const float height = std::floor(std::clamp((area.height() - kPairTitle - kPairTexts - kGap) / 2, 8.0F, kHighest));
    Rows rows;
    rows.a = {area.left, area.top + kPairTitle + 4, area.right, area.top + kPairTitle + 4 + height};
    rows.b = {area.left, rows.a.bottom + kGap, area.right, rows.a.bottom + kGap + height};
    rows.textTop = rows.b.bottom + 6;
    return rows;
}

Becauses becauseOfSide(const ComparedSteps& steps, sim::MetricId id, ComparedSide side)
{
    return becauseOfBoth(
        steps, [id](const sim::Simulation& of) { return sim::explain(of, id); }, side);
}

/// Of the whole and, behind it, of each part that differs.
Becauses becauseOfChange(const ComparedSteps& steps)
{
    Becauses out{becauseOfSide(steps, sim::MetricId::peakMemory, ComparedSide::difference).front()};
    for (const Part& part : kParts)
        if (sim::metricValue(*steps.a, part.id) != sim::metricValue(*steps.b, part.id)) {
            out.push_back(becauseOfSide(steps, part.id, ComparedSide::difference).front());
            out.back().choice = part.name;
        }
    return out;
}

} // namespace

std::vector<std::string> memoryChangeTexts(const sim::Comparison& c)
{
    struct Change {
        const char* name;
        std::int64_t bytes;
        std::string text;
    };
    const auto told = [](std::int64_t from, std::int64_t to) {
        return bytesChangeText(static_cast<double>(from), static_cast<double>(to));
    };
    std::vector<Change> changes;
    for (const Part& part : kParts)
        if (const std::int64_t from = c.memory.a.*part.bytes, to = c.memory.b.*part.bytes; from != to)
            changes.push_back({part.name, to - from, told(from, to)});
    if (changes.empty())
        return {"Both hold the same", "the same"};
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& x, const Change& y) { return std::abs(x.bytes) > std::abs(y.bytes); });
    std::string text = told(c.memory.a.total(), c.memory.b.total());
    std::vector<std::string> out{text};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        text += (i == 0 ? ": " : ", ") + std::string(changes[i].name) + " " + changes[i].text;
        out.insert(out.begin(), i + 1 < changes.size() ? text + ", …" : text);
    }
    return out;
}

Becauses becauseOfMemoryPair(Rect area, Point at, const ComparedSteps& steps)
{
    const Rows rows = rowsOf(area);
    return rows.a.contains(at)   ? becauseOfSide(steps, sim::MetricId::peakMemory, ComparedSide::a)
           : rows.b.contains(at) ? becauseOfSide(steps, sim::MetricId::peakMemory, ComparedSide::b)
                                 : Becauses{};
}

void paintMemoryPair(Canvas& canvas, const Theme& theme, const sim::Comparison& c, Rect area, DrawnNumbers* numbers,
                     const ComparedSteps& steps)
{
    const Rows rows = rowsOf(area);
    textInside(canvas, {area.left, area.top, area.right, area.top + 20},
               fitting(canvas, {"Memory at the peak of the fullest rank", "Memory, fullest rank", "Memory"}, area.width(),
                       FontFace::bold),
               theme.text, FontFace::bold);
    const auto capacity = static_cast<double>(std::max(c.capacityBytes.a, c.capacityBytes.b));
    const auto scale =
        std::max({capacity, static_cast<double>(c.memory.a.total()), static_cast<double>(c.memory.b.total()), 1.0});
    float numberWidth = 0;
    const std::array<std::string, 2> totals{bytesText(static_cast<double>(c.memory.a.total())),
                                            bytesText(static_cast<double>(c.memory.b.total()))};
    for (const std::string& number : totals)
        numberWidth = std::max(numberWidth, canvas.textWidth(number, FontFace::small));
    struct Side {
        const char* name;
        Rect row;
        const sim::MemoryBreakdown& memory;
        std::int64_t capacity;
        const std::string& number;
    };
    const std::array<Side, 2> sides{
        {{"A", rows.a, c.memory.a, c.capacityBytes.a, totals[0]}, {"B", rows.b, c.memory.b, c.capacityBytes.b, totals[1]}}};
    std::uint64_t id = kMemoryNodes;
    for (const Side& side : sides) {
        const bool fits = side.memory.total() <= side.capacity;
        textInside(canvas, {side.row.left, side.row.top - 2, side.row.left + kLetter, side.row.bottom + 2}, side.name, theme.text,
                   FontFace::bold);
        const Rect bar{side.row.left + kLetter, side.row.top, side.row.right - numberWidth - 10, side.row.bottom};
        const auto x = [&](double bytes) { return std::floor(bar.left + bar.width() * static_cast<float>(bytes / scale)); };
        canvas.fillRect({bar.left, bar.top, x(static_cast<double>(side.capacity)), bar.bottom},
                        mix(theme.canvas, theme.text, 0.07F));
        double held = 0;
        for (const Part& part : kParts) {
            const float left = x(held);
            held += static_cast<double>(side.memory.*part.bytes);
            if (x(held) > left)
                canvas.fillRect({left, bar.top, x(held), bar.bottom}, theme.*part.color);
        }
        const float limit = std::min(x(static_cast<double>(side.capacity)), bar.right - 1);
        canvas.line({limit, bar.top - 3}, {limit, bar.bottom + 3}, fits ? theme.text : theme.error, 1, LineStyle::dashed);
        const Rect place{bar.right, bar.top - 2, side.row.right, bar.bottom + 2}; // rows may be lower than their numbers
        writeNumber(numbers, canvas, theme, place, side.number, fits ? theme.text : theme.error, FontFace::small, Align::right,
                    [steps, which = &side == &sides[0] ? ComparedSide::a : ComparedSide::b] {
                        return becauseOfSide(steps, sim::MetricId::peakMemory, which);
                    });
        if (canvas.wantsNodes())
            canvas.node(
                {.id = id++, .role = "bar", .name = describeSide(side.name, side.memory, side.capacity), .rect = side.row});
    }
    const Rect words{area.left + kLetter, rows.textTop, area.right, rows.textTop + 16};
    if (words.bottom <= area.bottom + 1)
        writeNumber(numbers, canvas, theme, words, fitting(canvas, memoryChangeTexts(c), words.width(), FontFace::small),
                    theme.text, FontFace::small, Align::left, [steps] { return becauseOfChange(steps); });
    // What the colours and the line mean, as far as there is room.
    float left = words.left;
    const float top = words.bottom + 2, height = canvas.textHeight(FontFace::small);
    if (top + height > area.bottom + 2)
        return;
    constexpr float kSwatch = 8;
    float needed = 0;
    for (const Part& part : kParts)
        needed += kSwatch + 4 + canvas.textWidth(part.name, FontFace::small) + 10;
    if (needed > words.width()) {
        const std::string all = c.capacityBytes.a == c.capacityBytes.b
                                    ? "the GPU has " + bytesText(capacity)
                                    : "GPUs have " + bytesText(static_cast<double>(c.capacityBytes.a)) + " and " +
                                          bytesText(static_cast<double>(c.capacityBytes.b));
        textInside(canvas, {words.left, top, words.right, top + height},
                   fitting(canvas, {"dashed: " + all, all}, words.width(), FontFace::small), theme.mutedText, FontFace::small);
        return;
    }
    for (const Part& part : kParts) {
        canvas.fillRect({left, top + 3, left + kSwatch, top + 3 + kSwatch}, theme.*part.color);
        canvas.text({left + kSwatch + 4, top}, part.name, theme.mutedText, FontFace::small);
        left += kSwatch + 4 + canvas.textWidth(part.name, FontFace::small) + 10;
    }
}

std::string describeMemoryPair(const sim::Comparison& c, Rect area, Point at)
{
    const Rows rows = rowsOf(area);
    std::string text = rows.a.contains(at)   ? describeSide("A", c.memory.a, c.capacityBytes.a)
                       : rows.b.contains(at) ? describeSide("B", c.memory.b, c.capacityBytes.b)
                                             : std::string();
    for (const char* mark : {"; ", ", "}) // a line a part
        for (std::size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i + 1))
            text.replace(i, 2, "\n");
    return text;
}

} // namespace app
