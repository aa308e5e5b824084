#include "app/views/compare/waterfall.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/step_part_color.h"
#include "sim/simulate/purpose_name.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr double kWorthABar = 0.01;        ///< of the largest part: smaller ones share a bar
constexpr double kRoomAroundChange = 0.35; ///< of the change, below it, where the axis does not begin at 0
constexpr double kBreakAbove = 0.55;       ///< the axis is broken where so much of it would hold nothing
constexpr float kWidestBar = 72, kWidestColumn = 150;
constexpr float kColumnForUnits = 54, kLineHeight = 13; ///< "+88.8 ms" in one line; narrower: the unit below its number
constexpr float kBreakGap = 7;                          ///< from where the axis would begin
constexpr std::uint64_t kBarNodes = (std::uint64_t{1} << 61) + (std::uint64_t{1} << 58);

std::vector<std::string> labelsOf(sim::StepPart part, const std::string& dataTransfers)
{
    const std::string name = sim::partName(part, dataTransfers);
    switch (part) {
    case sim::StepPart::computing:
        return {name, "comp."};
    case sim::StepPart::recomputation:
        return {name, "recomp.", "rec."};
    case sim::StepPart::optimizer:
        return {name, "opt."};
    case sim::StepPart::bubble:
        return {name, "bub."};
    default:
        return {name, name.substr(name.find(' ') + 1)}; // "exposed tp", "tp"
    }
}

std::string signedText(double value, const std::string& size)
{
    return value == 0 ? "0" : (value > 0 ? "+" : "−") + size;
}

} // namespace

std::string signedDurationText(double ns)
{
    return signedText(ns, durationText(std::abs(ns)));
}

std::string bytesChangeText(double from, double to)
{
    return signedText(to - from, bytesText(std::abs(to - from)));
}

std::string ratioText(double before, double after)
{
    if (before <= 0 || after <= 0 || before == after)
        return before == after ? "unchanged" : std::string();
    constexpr double kManyTimes = 3; // percents say nothing any more
    if (after / before >= kManyTimes)
        return threeDigits(after / before) + " times as much";
    const double change = after / before - 1;
    return (change > 0 ? "+" : "−") + percentText(std::abs(change));
}

Waterfall::Waterfall(const sim::Comparison& c, const std::string& dataTransfers)
{
    const auto a = static_cast<double>(c.stepNs.a), b = static_cast<double>(c.stepNs.b);
    const std::string both = durationText(a) + " → " + durationText(b);
    const std::string delta = c.deltaNs() == 0 ? "equally long" : signedDurationText(b - a);
    const std::string ratio = c.deltaNs() == 0 ? "" : ", " + ratioText(a, b);
    m_headlines = {"Step " + both + ": " + delta + ratio, both + ": " + delta, delta};
    bool addsUp = addsUpAsTold(durationText(a), durationText(b), durationText(std::abs(b - a)));

    std::int64_t largest = 0;
    for (const sim::StepPart part : sim::kStepParts)
        largest = std::max(largest, std::abs(c.deltaNs(part)));
    const auto isSmall = [&](sim::StepPart part) {
        return static_cast<double>(std::abs(c.deltaNs(part))) < kWorthABar * static_cast<double>(largest);
    };
    const auto smallOnes = std::count_if(sim::kStepParts.begin(), sim::kStepParts.end(),
                                         [&](sim::StepPart part) { return c.deltaNs(part) != 0 && isSmall(part); });
    m_bars.push_back(
        {.labels = {"A"}, .fromNs = 0, .toNs = c.stepNs.a, .isTotal = true, .description = "A: step " + durationText(a)});
    std::int64_t running = c.stepNs.a, rest = 0;
    std::string restText;
    std::vector<sim::StepPart> restParts;
    for (const sim::StepPart part : sim::kStepParts) {
        const std::int64_t change = c.deltaNs(part);
        if (change == 0)
            continue;
        const auto inA = static_cast<double>(c.use.a[part]), inB = static_cast<double>(c.use.b[part]);
        const std::string difference = signedDurationText(inB - inA);
        addsUp = addsUp && addsUpAsTold(durationText(inA), durationText(inB), durationText(std::abs(inB - inA)));
        const std::string text = sim::partName(part, dataTransfers) + " " + difference + ": " + durationText(inA) + " in A, " +
                                 durationText(inB) + " in B";
        if (isSmall(part) && smallOnes > 1) {
            rest += change;
            restText += "\n" + text;
            restParts.push_back(part);
            continue;
        }
        m_bars.push_back({.labels = labelsOf(part, dataTransfers),
                          .parts = {part},
                          .fromNs = running,
                          .toNs = running + change,
                          .description = text,
                          .change = difference});
        running += change;
    }
    if (!restText.empty())
        m_bars.push_back({.labels = {"the rest", "rest"},
                          .parts = std::move(restParts),
                          .fromNs = running,
                          .toNs = running + rest,
                          .description = "the rest " + signedDurationText(static_cast<double>(rest)) + restText,
                          .change = signedDurationText(static_cast<double>(rest))});
    m_bars.push_back(
        {.labels = {"B"}, .fromNs = 0, .toNs = c.stepNs.b, .isTotal = true, .description = "B: step " + durationText(b)});
    if (!addsUp)
        m_headlines.insert(m_headlines.begin(), m_headlines.front() + " (" + kFiguresAreRounded + ")");
}

/// Where bars stand and what their heights mean.
struct Waterfall::Frame {
    Rect plot; ///< of the bars
    float column = 0, bar = 0;
    float numbers = 0;            ///< height of those above a bar
    double lowNs = 0, highNs = 1; ///< at the plot's bottom and top
    bool broken = false;          ///< does not begin at 0

    float y(double ns) const { return plot.bottom - static_cast<float>((ns - lowNs) / (highNs - lowNs)) * plot.height(); }
    float middle(std::size_t i) const { return plot.left + column * (static_cast<float>(i) + 0.5F); }
    Rect rect(const Bar& bar_, std::size_t i) const
    {
        const double low = bar_.isTotal ? lowNs : static_cast<double>(std::min(bar_.fromNs, bar_.toNs));
        const auto high = static_cast<double>(std::max(bar_.fromNs, bar_.toNs));
        const float left = std::floor(middle(i) - bar / 2), top = std::floor(y(high));
        return {left, top, left + std::floor(bar), std::max(top + 1, std::floor(y(low)))};
    }
};

Waterfall::Frame Waterfall::frame(Rect area) const
{
    constexpr float kHeadline = 22, kLabels = 18, kAroundNumbers = 3;
    Frame f;
    f.column = std::min(area.width() / static_cast<float>(m_bars.size()), kWidestColumn);
    f.numbers = kAroundNumbers + (f.column < kColumnForUnits ? 2 * kLineHeight : kLineHeight);
    const float top = area.top + kHeadline + f.numbers;
    f.plot = {area.left, top, area.right, std::max(top + 1, area.bottom - kLabels)};
    f.plot.right = f.plot.left + f.column * static_cast<float>(m_bars.size());
    f.bar = std::min(f.column * 0.66F, kWidestBar);
    double low = static_cast<double>(m_bars.front().toNs), high = low;
    for (const Bar& bar : m_bars) {
        low = std::min(low, static_cast<double>(bar.toNs));
        high = std::max(high, static_cast<double>(bar.toNs));
    }
    f.highNs = std::max(high, 1.0);
    const double begin = low - (high - low) * kRoomAroundChange;
    f.broken = high > low && begin > kBreakAbove * high;
    f.lowNs = f.broken ? begin : 0;
    return f;
}

std::optional<std::size_t> Waterfall::barAt(Rect area, Point at) const
{
    const Frame f = frame(area);
    const auto i = static_cast<std::size_t>(std::max(0.0F, (at.x - f.plot.left) / f.column));
    const bool isInside = area.contains(at) && at.x >= f.plot.left && at.y >= f.plot.top - f.numbers && i < m_bars.size();
    return isInside ? std::optional(i) : std::nullopt;
}

/// What is written above it.
std::string Waterfall::numberOf(const Bar& bar) const
{
    const auto ns = static_cast<double>(bar.deltaNs());
    if (bar.isTotal)
        return durationText(ns);
    double largest = 0;
    for (const Bar& each : m_bars)
        largest = std::max(largest, each.isTotal ? 0.0 : std::abs(static_cast<double>(each.deltaNs())));
    return std::abs(ns) < kLostInThreeDigits * largest ? "≈0" : bar.change;
}

Becauses Waterfall::becauseOf(const Bar& bar, const ComparedSteps& steps)
{
    if (bar.isTotal)
        return becauseOfBoth(
            steps, [](const sim::Simulation& of) { return sim::explain(of, sim::MetricId::stepTime); },
            bar.labels.front() == "A" ? ComparedSide::a : ComparedSide::b);
    return becauseOfBoth(
        steps,
        [parts = bar.parts](const sim::Simulation& of) {
            if (parts.size() == 1)
                return sim::explain(of, parts.front());
            std::vector<sim::Explanation> all;
            for (const sim::StepPart part : parts)
                all.push_back(sim::explain(of, part));
            return sim::explainSum("parts that changed little", std::move(all));
        },
        ComparedSide::difference);
}

Becauses Waterfall::becauseAt(Rect area, Point at, const ComparedSteps& steps) const
{
    const auto bar = barAt(area, at);
    return bar ? becauseOf(m_bars[*bar], steps) : Becauses{};
}

Becauses Waterfall::becauseOfDifference(const ComparedSteps& steps)
{
    return becauseOfBoth(
        steps, [](const sim::Simulation& of) { return sim::explain(of, sim::MetricId::stepTime); }, ComparedSide::difference);
}

void Waterfall::paint(Canvas& canvas, const Theme& theme, Rect area, DrawnNumbers* numbers, const ComparedSteps& steps) const
{
    const Frame f = frame(area);
    const float small = canvas.textHeight(FontFace::small);
    writeNumber(numbers, canvas, theme, {area.left, area.top, area.right, area.top + 20},
                fitting(canvas, m_headlines, area.width(), FontFace::bold), theme.text, FontFace::bold, Align::left,
                [steps] { return becauseOfDifference(steps); });
    const Color line = mix(theme.canvas, theme.text, 0.3F), total = mix(theme.canvas, theme.text, theme.dark ? 0.46F : 0.42F);
    canvas.fillRect({f.plot.left, f.plot.bottom, f.plot.right, f.plot.bottom + 1}, line);
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const Bar& bar = m_bars[i];
        const Rect rect = f.rect(bar, i);
        const bool slower = bar.deltaNs() > 0;
        const Color fill = bar.isTotal             ? total
                           : bar.parts.size() == 1 ? fillOf(bar.parts.front(), theme) // as its swatch and the steps' bars
                                                   : mix(theme.canvas, theme.text, 0.3F);
        canvas.fillRect(rect, fill);
        if (bar.isTotal && f.broken) { // a piece of it is left out
            const float y = rect.bottom - std::min(kBreakGap, rect.height() / 2);
            canvas.fillConvex({{rect.left - 2, y + 2}, {rect.right + 2, y - 3}, {rect.right + 2, y}, {rect.left - 2, y + 5}},
                              theme.canvas);
        }
        if (!bar.isTotal && rect.height() >= 9 && rect.width() >= 12) { // up: slower; down: faster
            const float x = std::floor((rect.left + rect.right) / 2), y = std::floor((rect.top + rect.bottom) / 2);
            const float tip = slower ? -3.0F : 3.0F;
            canvas.fillConvex({{x, y + tip}, {x - 4, y - tip}, {x + 4, y - tip}}, withAlpha(readableOn(fill), 0.85F));
        }
        if (i + 1 < m_bars.size()) {
            const float y = std::floor(f.y(static_cast<double>(bar.toNs)));
            canvas.fillRect({rect.right, y, f.rect(m_bars[i + 1], i + 1).left, y + 1}, line);
        }
        const std::string number = numberOf(bar);
        const std::size_t unit = f.column < kColumnForUnits ? number.find(' ') : std::string::npos;
        Rect place{f.middle(i) - f.column / 2, rect.top - small - 2, f.middle(i) + f.column / 2, rect.top - 2};
        if (unit != std::string::npos) {
            textInside(canvas, place, number.substr(unit + 1), theme.text, FontFace::small, Align::center);
            place = {place.left, place.top - kLineHeight, place.right, place.top};
        }
        writeNumber(numbers, canvas, theme, place, number.substr(0, unit), theme.text, FontFace::small, Align::center,
                    [bar, steps] { return becauseOf(bar, steps); });
        const FontFace face = bar.isTotal ? FontFace::bold : FontFace::small;
        const float top = f.plot.bottom + 3;
        constexpr float kSwatch = 8, kSpace = 4, kBetween = 8; ///< names that touch read as one
        const bool hasColor = bar.parts.size() == 1;
        const float room = f.column - kBetween;
        std::string label = hasColor ? fitting(canvas, bar.labels, room - kSwatch - kSpace, face) : std::string();
        const bool swatch = !label.empty();
        if (!swatch) // too narrow for both
            label = fitting(canvas, bar.labels, room, face);
        const float width = canvas.textWidth(label, face);
        const float left = std::floor(f.middle(i) - (width + (swatch ? kSwatch + kSpace : 0)) / 2);
        if (swatch)
            canvas.fillRect({left, top + 3, left + kSwatch, top + 3 + kSwatch}, fillOf(bar.parts.front(), theme));
        if (!label.empty())
            canvas.text({left + (swatch ? kSwatch + kSpace : 0), top}, label, bar.isTotal ? theme.text : theme.mutedText, face);
        if (canvas.wantsNodes())
            canvas.node({.id = kBarNodes + i,
                         .role = "bar",
                         .name = bar.description,
                         .rect = {f.middle(i) - f.column / 2, f.plot.top - f.numbers, f.middle(i) + f.column / 2, area.bottom}});
    }
}

std::string Waterfall::describe(Rect area, Point at) const
{
    const auto i = barAt(area, at);
    if (!i)
        return {};
    const Frame f = frame(area);
    std::string text = m_bars[*i].description;
    if (f.broken && m_bars[*i].isTotal)
        text += "\nThe bar is drawn from " + durationText(f.lowNs) + " on.";
    return text;
}

} // namespace app
