#include "app/views/compare/step_bars.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/step_part_color.h"
#include "app/views/compare/waterfall.h"
#include "sim/simulate/purpose_name.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace app {
namespace {

constexpr float kBarRow = 24, kTallBarRow = 64, kBeforeTime = 8, kBarInset = 2, kBarsHead = 22, kLetterWidth = 20;
constexpr float kBarSwatch = 8, kAfterSwatch = 4, kBetweenEntries = 10, kBeforeLegend = 6,
                kLowestWithLegend = 15; ///< row: high enough for its letter
constexpr std::uint64_t kStepBarNodes = (std::uint64_t{1} << 61) + (std::uint64_t{1} << 57);

StepBars::Step stepOf(const std::string& letter, const std::string& name, std::int64_t ns,
                      const sim::ByStepPart<std::int64_t>& use)
{
    StepBars::Step out{.letter = letter, .name = name, .ns = ns};
    for (const sim::StepPart part : sim::kStepParts)
        if (use[part] > 0)
            out.parts.emplace_back(part, use[part]);
    return out;
}

std::string stepBarTime(const StepBars::Step& step)
{
    return durationText(static_cast<double>(step.ns)) + (step.fits ? "" : ", does not fit");
}

std::string stepBarWords(const StepBars::Step& step)
{
    return step.difference.empty() ? stepBarTime(step) : stepBarTime(step) + "  " + step.difference;
}

} // namespace

StepBars::StepBars(const std::vector<sim::Comparison>& toFirst, const std::vector<std::string>& names, std::string dataTransfers,
                   const std::string& letters)
    : m_dataTransfers(std::move(dataTransfers))
{
    if (toFirst.empty())
        return;
    const sim::Comparison& any = toFirst.front();
    m_steps.push_back(stepOf(letters.substr(0, 1), names[0], any.stepNs.a, any.use.a));
    m_steps.back().fits = any.fits.a;
    for (std::size_t i = 0; i < toFirst.size(); ++i) {
        const sim::Comparison& c = toFirst[i];
        m_steps.push_back(stepOf(letters.substr(i + 1, 1), names[i + 1], c.stepNs.b, c.use.b));
        m_steps.back().fits = c.fits.b;
        const auto a = static_cast<double>(c.stepNs.a), b = static_cast<double>(c.stepNs.b);
        m_steps.back().difference =
            durationText(a) == durationText(b) ? "equally long" : signedDurationText(b - a) + ", " + ratioText(a, b);
    }
    for (const Step& step : m_steps)
        m_longestNs = std::max(m_longestNs, step.ns);
}

struct StepBars::Frame {
    float left = 0, width = 1; ///< of the longest bar
    float top = 0, row = kBarRow;
    Rect bar(std::size_t i, double share) const
    {
        const float y = top + row * static_cast<float>(i);
        return {left, y + kBarInset, left + static_cast<float>(share) * width, y + row - kBarInset};
    }
};

StepBars::Frame StepBars::frame(Rect area) const
{
    constexpr float kNumbers = 210, kNarrowestBars = 160;
    Frame f;
    f.left = area.left + kLetterWidth;
    f.width = std::max(kNarrowestBars, area.right - kNumbers - f.left);
    f.width = std::max(1.0F, std::min(f.width, area.right - f.left));
    f.top = area.top + kBarsHead;
    f.row = std::min(m_isTall ? kTallBarRow : kBarRow,
                     (area.height() - m_legendHeight - kBarsHead) / static_cast<float>(std::max<std::size_t>(1, m_steps.size())));
    return f;
}

float StepBars::suitableHeight(float available) const
{
    constexpr float kShare = 0.22F, kLowestBarRow = 16;
    const auto count = static_cast<float>(std::max<std::size_t>(1, m_steps.size()));
    return kBarsHead + std::clamp((available * kShare - kBarsHead) / count, kLowestBarRow, kBarRow) * count + 4;
}

/// What the colours mean, in lines of the area's width: below the bars, which leave it so much.
struct StepBars::Legend {
    struct Entry {
        sim::StepPart part;
        std::string name;
        Point at; ///< from the legend's corner
    };
    std::vector<Entry> entries;
    float height = 0;
};

StepBars::Legend StepBars::legend(Canvas& canvas, Rect area) const
{
    Legend out;
    if (!m_isTall)
        return out;
    const float line = canvas.textHeight(FontFace::small) + kBarInset;
    Point at{0, 0};
    for (const sim::StepPart part : sim::kStepParts) {
        const auto hasIt = [part](const Step& step) {
            return std::any_of(step.parts.begin(), step.parts.end(), [part](const auto& own) { return own.first == part; });
        };
        if (std::none_of(m_steps.begin(), m_steps.end(), hasIt))
            continue;
        std::string name = sim::partName(part, m_dataTransfers);
        const float width = kBarSwatch + kAfterSwatch + canvas.textWidth(name, FontFace::small);
        if (at.x > 0 && at.x + width > area.width())
            at = {0, at.y + line};
        out.entries.push_back({part, std::move(name), at});
        at.x += width + kBetweenEntries;
    }
    out.height = kBeforeLegend + at.y + line;
    const auto rows = static_cast<float>(m_steps.size());
    return out.entries.empty() || area.height() - kBarsHead - out.height < rows * kLowestWithLegend ? Legend() : out;
}

void StepBars::paint(Canvas& canvas, const Theme& theme, Rect area) const
{
    const Legend below = legend(canvas, {area.left + kLetterWidth, area.top, area.right, area.bottom});
    m_legendHeight = below.height;
    Frame f = frame(area);
    const float legendTop = f.top + f.row * static_cast<float>(m_steps.size()) + kBeforeLegend;
    for (const Legend::Entry& entry : below.entries) {
        const Point at{f.left + entry.at.x, legendTop + entry.at.y};
        const float middle = at.y + canvas.textHeight(FontFace::small) / 2;
        canvas.fillRect({at.x, middle - kBarSwatch / 2, at.x + kBarSwatch, middle + kBarSwatch / 2}, fillOf(entry.part, theme));
        canvas.text({at.x + kBarSwatch + kAfterSwatch, at.y}, entry.name, theme.mutedText, FontFace::small);
    }
    // Bars have all that the words behind them leave: the room kept for those is for the longest there might be.
    float widest = area.right - f.left;
    for (const Step& step : m_steps)
        widest = std::min(widest, (area.right - f.left - kBeforeTime - canvas.textWidth(stepBarWords(step), FontFace::small)) *
                                      static_cast<float>(static_cast<double>(m_longestNs) /
                                                         static_cast<double>(std::max<std::int64_t>(1, step.ns))));
    f.width = std::max(f.width, widest);
    textInside(
        canvas, {area.left, area.top, area.right, area.top + kBarsHead},
        fitting(canvas, {"What each step is made of, mean of ranks", "What each step is made of"}, area.width(), FontFace::bold),
        theme.text, FontFace::bold);
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const Step& step = m_steps[i];
        const auto longest = static_cast<double>(m_longestNs);
        const Rect whole = f.bar(i, static_cast<double>(step.ns) / longest);
        textInside(canvas, {area.left, whole.top - kBarInset, f.left, whole.bottom + kBarInset}, step.letter, theme.text,
                   FontFace::bold);
        std::int64_t sum = 0;
        for (const auto& [part, ns] : step.parts) {
            const float from = std::round(f.left + static_cast<float>(static_cast<double>(sum) / longest) * f.width);
            sum += ns;
            const float to = std::round(f.left + static_cast<float>(static_cast<double>(sum) / longest) * f.width);
            const Rect rect{from, whole.top, std::max(from + 1, to - 1), whole.bottom};
            const Color fill = fillOf(part, theme);
            canvas.fillRect(rect, fill);
            const std::string name = sim::partName(part, m_dataTransfers);
            const std::string shown =
                fitting(canvas, {name + " " + durationText(static_cast<double>(ns)), name}, rect.width() - 8, FontFace::small);
            if (!shown.empty())
                textInside(canvas, {rect.left + 4, rect.top, rect.right, rect.bottom}, shown, readableOn(fill), FontFace::small);
        }
        const float right = whole.right + kBeforeTime;
        const std::string time = stepBarTime(step), told = stepBarWords(step);
        const std::string shown =
            fitting(canvas, {told, time + "  " + step.difference.substr(0, step.difference.find(',')), time}, area.right - right,
                    FontFace::small);
        textInside(canvas, {right, whole.top, area.right, whole.bottom}, shown, step.fits ? theme.text : theme.error,
                   FontFace::small);
        if (canvas.wantsNodes())
            canvas.node({.id = kStepBarNodes + i,
                         .role = "bar",
                         .name = step.letter + ", " + step.name + ": step " + told,
                         .rect = {area.left, whole.top, area.right, whole.bottom}});
    }
}

std::string StepBars::describe(Rect area, Point at) const
{
    if (!area.contains(at))
        return {};
    const Frame f = frame(area);
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const Step& step = m_steps[i];
        const Rect row = f.bar(i, 1);
        if (at.y < row.top || at.y >= row.bottom)
            continue;
        const auto timeText = [](std::int64_t ns) { return durationText(static_cast<double>(ns)); };
        std::string out = step.letter + ", " + step.name + ": step " + timeText(step.ns) + (step.fits ? "" : ", does not fit") +
                          (step.difference.empty() ? "" : ", " + step.difference + " against A");
        for (const auto& [part, ns] : step.parts) {
            out += "\n" + sim::partTitle(part, m_dataTransfers) + " " + timeText(ns);
            const auto& first = m_steps.front().parts;
            const auto ofA =
                std::find_if(first.begin(), first.end(), [&, p = part](const auto& other) { return other.first == p; });
            if (i > 0)
                out += " (" + signedDurationText(static_cast<double>(ns - (ofA == first.end() ? 0 : ofA->second))) + ")";
        }
        return out;
    }
    return {};
}

} // namespace app
