#include "app/views/traffic/traffic_load.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/time_ruler.h"
#include "sim/index.h"
#include "sim/mesh/placement.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

constexpr float kLaneGap = 14;
constexpr int kNumberBins = 256; ///< of the visible step: a peak is the mean over one of them, however wide the picture
constexpr int kLinePixels = 4;   ///< a bin of the line of one rank: finer, it would be a black area

/// One bin so many pixel columns of the visible time; what lies after the step's end is empty.
sim::LoadWindow windowOf(const TimeWindow& window, Rect rows, int pixels = 1)
{
    return {.beginNs = std::llround(window.beginNs),
            .endNs = std::max(std::llround(window.endNs), std::llround(window.beginNs) + 1),
            .bins = std::max(1, static_cast<int>(rows.width()) / pixels)};
}

/// What is visible of the step.
sim::LoadWindow numberWindowOf(const TimeWindow& window, std::int64_t stepNs)
{
    const std::int64_t begin = std::clamp<std::int64_t>(std::llround(window.beginNs), 0, std::max<std::int64_t>(stepNs - 1, 0));
    return {.beginNs = begin,
            .endNs = std::clamp<std::int64_t>(std::llround(window.endNs), begin + 1, std::max(stepNs, begin + 1)),
            .bins = kNumberBins};
}

double shownShare(const TrafficScene& scene, const sim::LinkLoad& load, int tier, int bin)
{
    double sum = 0;
    for (const sim::Dimension purpose : sim::kDimensions)
        if (scene.shows(purpose))
            sum += load.share(tier, purpose, bin);
    return sum;
}

/// The smallest round share that holds all.
double roundScale(double peak)
{
    for (const double scale : {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0})
        if (peak <= scale)
            return scale;
    return peak;
}

/// "infiniband", "infiniban…", "infiniba…"
std::vector<std::string> cutShorter(const std::string& name)
{
    std::vector<std::string> texts{name};
    for (std::size_t length = name.size(); length-- > 1;)
        if ((static_cast<unsigned char>(name[length]) & 0xC0U) != 0x80U) // not within a letter
            texts.push_back(name.substr(0, length) + "…");
    return texts;
}

struct LoadSums {
    double peak = 0, mean = 0; ///< of the visible part of the step
    double inRange = 0;        ///< mean over the selected range, as far as it is visible
};

class LoadPainter {
public:
    LoadPainter(Canvas& canvas, const TrafficScene& scene, const TimeWindow& window, Rect area)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme), m_window(window), m_frame(area), m_axis(m_frame.axis(window)),
          m_loadWindow(windowOf(window, m_frame.rows)), m_load(scene.model.load(m_loadWindow)),
          m_small(canvas.textHeight(FontFace::small))
    {
        const auto rank = scene.selection.focusRank();
        if (rank && *rank < scene.model.traffic().worldSize() && scene.model.senderCount() > 1)
            m_ofRank = &scene.model.loadOfRank(*rank, windowOf(window, m_frame.rows, kLinePixels));
    }

    void paint()
    {
        const std::vector<Tick> marks = rulerTicks(m_canvas, m_axis);
        paintTimeRuler(m_canvas, m_theme, m_axis, m_frame.ruler, m_scene.selection, marks);
        const int tiers = static_cast<int>(m_load.tiers.size());
        for (int tier = 0; tier < tiers; ++tier)
            lane(tier, m_frame.lane(tier, tiers), marks);
    }

private:
    void lane(int tier, Rect, const std::vector<Tick>&);
    void area(int tier, Rect, double scale);
    void rankLine(int tier, Rect, double scale);
    void gutter(int tier, Rect, const LoadSums&);
    void overlays(Rect);
    double peakOf(const sim::LinkLoad&, int tier) const;
    LoadSums sumsOf(int tier) const;
    /// Bins before the step's end.
    int liveBins(const sim::LoadWindow& bins) const
    {
        const double until = static_cast<double>(m_scene.model.stepNs() - bins.beginNs) / bins.binNs();
        return std::clamp(static_cast<int>(std::ceil(until)), 0, bins.bins);
    }
    float xOf(std::int64_t ns) const { return m_axis.x(static_cast<double>(ns)); }

    Canvas& m_canvas;
    const TrafficScene& m_scene;
    const Theme& m_theme;
    const TimeWindow& m_window;
    TrafficLoadFrame m_frame;
    TimeAxis m_axis;
    sim::LoadWindow m_loadWindow;
    const sim::LinkLoad& m_load;
    const sim::LinkLoad* m_ofRank = nullptr;
    float m_small;
};

double LoadPainter::peakOf(const sim::LinkLoad& load, int tier) const
{
    double peak = 0;
    for (int bin = 0; bin < liveBins(load.window); ++bin)
        peak = std::max(peak, shownShare(m_scene, load, tier, bin));
    return peak;
}

LoadSums LoadPainter::sumsOf(int tier) const
{
    const sim::LoadWindow bins = numberWindowOf(m_window, m_scene.model.stepNs());
    const sim::LinkLoad& load = m_scene.model.loadForNumbers(bins);
    LoadSums sums{.peak = peakOf(load, tier)};
    const auto& range = m_scene.selection.range;
    double binsInRange = 0;
    for (int bin = 0; bin < bins.bins; ++bin) {
        const double share = shownShare(m_scene, load, tier, bin);
        sums.mean += share / bins.bins;
        if (!range)
            continue;
        const auto place = [&](std::int64_t ns) { return static_cast<double>(ns - bins.beginNs) / bins.binNs() - bin; };
        const double inside = std::clamp(place(range->endNs), 0.0, 1.0) - std::clamp(place(range->beginNs), 0.0, 1.0);
        sums.inRange += share * inside;
        binsInRange += inside;
    }
    sums.inRange = binsInRange > 0 ? sums.inRange / binsInRange : 0;
    return sums;
}

void LoadPainter::lane(int tier, Rect rect, const std::vector<Tick>& marks)
{
    const LoadSums sums = sumsOf(tier);
    const double rankPeak = m_ofRank != nullptr ? peakOf(*m_ofRank, tier) : 0;
    const double scale = roundScale(std::max({sums.peak, peakOf(m_load, tier), rankPeak}));
    const float endX = std::clamp(xOf(m_scene.model.stepNs()), rect.left, rect.right);
    m_canvas.fillRect({rect.left, rect.top, endX, rect.bottom}, mix(m_theme.canvas, m_theme.text, 0.045F));
    const Color grid = mix(m_theme.canvas, m_theme.text, 0.11F);
    for (const Tick& tick : marks)
        if (const float x = std::floor(xOf(tick.ns)); tick.major && x >= rect.left && x < endX)
            m_canvas.fillRect({x, rect.top, x + 1, rect.bottom}, grid);
    area(tier, rect, scale);
    if (m_ofRank != nullptr)
        rankLine(tier, rect, scale);

    const auto y = [&](double share) { return std::floor(rect.bottom - rect.height() * static_cast<float>(share / scale)); };
    if (sums.mean > 0)
        m_canvas.line({rect.left, y(sums.mean)}, {endX, y(sums.mean)}, m_theme.mutedText, 1, LineStyle::dotted);
    const bool capacity = scale >= 1;
    const float top = capacity ? y(1) : rect.top;
    m_canvas.line({rect.left, top}, {endX, top}, capacity ? m_theme.warning : grid, 1, LineStyle::dashed);
    const std::string text = capacity ? "capacity" : percentText(scale) + " of capacity";
    const float width = m_canvas.textWidth(text, FontFace::small);
    if (endX - width - 4 > rect.left && rect.height() > 2 * m_small) {
        const Rect box{endX - width - 8, top + 2, endX - 2, top + 3 + m_small};
        m_canvas.fillRect(box, withAlpha(m_theme.canvas, 0.85F));
        m_canvas.text({box.left + 3, box.top}, text, capacity ? m_theme.warning : m_theme.mutedText, FontFace::small);
    }
    overlays(rect);
    gutter(tier, rect, sums);
}

/// Purposes on top of each other; columns of equal heights are one rectangle.
void LoadPainter::area(int tier, Rect rect, double scale)
{
    std::array<float, sim::kDimensions.size()> open{}, heights{};
    float openLeft = rect.left;
    const auto flush = [&](float right) {
        float bottom = rect.bottom;
        for (std::size_t p = 0; p < open.size(); ++p) {
            if (open[p] > 0)
                m_canvas.fillRect({openLeft, bottom - open[p], right, bottom}, m_scene.fill(sim::kDimensions[p]));
            bottom -= open[p];
        }
    };
    for (int bin = 0; bin < m_loadWindow.bins; ++bin) {
        float below = 0;
        double sum = 0;
        for (std::size_t p = 0; p < heights.size(); ++p) { // rounded as a stack, so that the top is right
            sum += m_scene.shows(sim::kDimensions[p]) ? m_load.share(tier, sim::kDimensions[p], bin) : 0;
            const float top = std::round(rect.height() * static_cast<float>(std::min(sum / scale, 1.0)) * 2) / 2;
            heights[p] = top - below;
            below = top;
        }
        if (heights == open)
            continue;
        const float x = rect.left + static_cast<float>(bin);
        flush(x);
        open = heights;
        openLeft = x;
    }
    flush(rect.left + static_cast<float>(m_loadWindow.bins));
}

/// The rank in focus alone, of its own ports.
void LoadPainter::rankLine(int tier, Rect rect, double scale)
{
    const sim::LoadWindow& bins = m_ofRank->window;
    const float wide = rect.width() / static_cast<float>(bins.bins);
    std::vector<Point> line;
    for (int bin = 0; bin < liveBins(bins); ++bin) {
        const auto share = static_cast<float>(std::min(shownShare(m_scene, *m_ofRank, tier, bin) / scale, 1.0));
        const float y = std::round(rect.bottom - 1 - (rect.height() - 1) * share);
        const float left = rect.left + wide * static_cast<float>(bin);
        if (line.empty() || line.back().y != y)
            line.push_back({left, y});
        else
            line.pop_back();
        line.push_back({left + wide, y});
    }
    if (line.size() < 2)
        return;
    m_canvas.polyline(line, withAlpha(m_theme.canvas, 0.7F), 3);
    m_canvas.polyline(line, m_theme.text, 1);
}

void LoadPainter::overlays(Rect rect)
{
    if (const auto& range = m_scene.selection.range) {
        const float left = std::clamp(xOf(range->beginNs), rect.left, rect.right);
        const float right = std::clamp(xOf(range->endNs), rect.left, rect.right);
        const Color outside = withAlpha(m_theme.canvas, 0.62F);
        m_canvas.fillRect({rect.left, rect.top, left, rect.bottom}, outside);
        m_canvas.fillRect({right, rect.top, rect.right, rect.bottom}, outside);
        m_canvas.fillRect({left, rect.top, left + 1, rect.bottom}, m_theme.accent);
        m_canvas.fillRect({right - 1, rect.top, right, rect.bottom}, m_theme.accent);
    }
    const float cursor = std::floor(xOf(m_scene.selection.cursorNs));
    if (m_scene.selection.cursorNs > 0 && cursor >= rect.left && cursor < rect.right)
        m_canvas.fillRect({cursor, rect.top, cursor + 1, rect.bottom}, m_theme.accent);
}

void LoadPainter::gutter(int tier, Rect rect, const LoadSums& sums)
{
    const Rect column{m_frame.gutter.left, rect.top, m_frame.gutter.right, rect.bottom};
    const sim::Tier& of = m_scene.model.tiers()[asIndex(tier)];
    const sim::ToldBandwidth bandwidth = sim::toldBandwidth(m_scene.model.simulation().scenario().cluster, asIndex(tier));
    const std::string network = sim::spokenNetwork(of.name), speed = threeDigits(bandwidth.gbs) + " GB/s";
    const std::string mean = percentText(sums.mean), peak = percentText(sums.peak);
    std::vector<std::vector<std::string>> lines{
        {speed + " " + bandwidth.of(), speed + (bandwidth.gpus > 1 ? " a card" : ""), speed},
        {"mean " + mean, mean},
        {"peak " + peak, "≤ " + peak}};
    if (m_scene.selection.range)
        lines.push_back({"in range " + percentText(sums.inRange), percentText(sums.inRange)});
    if (m_ofRank != nullptr)
        lines.push_back({"line: rank " + countText(*m_scene.selection.focusRank()), ""});
    float y = column.top;
    const float body = m_canvas.textHeight(FontFace::body);
    const FontFace face = m_canvas.textWidth(network, FontFace::body) <= column.width() ? FontFace::body : FontFace::small;
    textInside(m_canvas, {column.left, y, column.right, y + body}, fitting(m_canvas, cutShorter(network), column.width(), face),
               m_theme.text, face);
    y += body;
    for (const auto& texts : lines) {
        const std::string text = fitting(m_canvas, texts, column.width(), FontFace::small);
        if (text.empty())
            continue;
        if (y + m_small > column.bottom + 2)
            break;
        textInside(m_canvas, {column.left, y, column.right, y + m_small}, text, m_theme.mutedText, FontFace::small);
        y += m_small;
    }
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = kTrafficTierNodes + static_cast<std::uint64_t>(tier),
                       .role = "tier",
                       .name = network + ", " + speed + " " + bandwidth.of() + ", mean load " + mean + ", peak " + peak,
                       .rect = {column.left, rect.top, rect.right, rect.bottom}});
}

} // namespace

TrafficLoadFrame::TrafficLoadFrame(Rect area)
{
    const TimelineFrame timeline(area, {.overview = false, .legend = false});
    ruler = timeline.ruler;
    rows = timeline.rows;
    rows.right = rows.left + std::max(1.0F, std::floor(rows.width()));
    gutter = timeline.gutter;
}

Rect TrafficLoadFrame::lane(int tier, int tiers) const
{
    const auto count = static_cast<float>(std::max(tiers, 1));
    const float gap = rows.height() / count >= 70 ? kLaneGap : 6.0F;
    const float height = std::floor((rows.height() - gap * (count - 1)) / count);
    const float top = rows.top + (height + gap) * static_cast<float>(tier);
    return {rows.left, top, rows.right, top + std::max(height, 1.0F)};
}

void paintTrafficLoad(Canvas& canvas, const TrafficScene& scene, const TimeWindow& window, Rect area)
{
    LoadPainter(canvas, scene, window, area).paint();
}

std::string trafficLoadText(const TrafficScene& scene, const TimeWindow& window, Rect area, Point at)
{
    const TrafficLoadFrame frame(area);
    const int tiers = scene.model.traffic().tiers();
    for (int tier = 0; tier < tiers; ++tier) {
        if (!frame.lane(tier, tiers).contains(at))
            continue;
        const sim::LoadWindow bins = windowOf(window, frame.rows);
        const sim::LinkLoad& load = scene.model.load(bins);
        const int bin = std::clamp(static_cast<int>(at.x - frame.rows.left), 0, bins.bins - 1);
        const double ns = static_cast<double>(bins.beginNs) + bin * bins.binNs();
        if (ns >= static_cast<double>(scene.model.stepNs()))
            return {};
        std::string text = sim::spokenNetwork(scene.model.tiers()[asIndex(tier)].name) + " " +
                           percentText(shownShare(scene, load, tier, bin)) + " full";
        for (const sim::Dimension purpose : sim::kDimensions)
            if (const double share = load.share(tier, purpose, bin); share > 0 && scene.shows(purpose))
                text += "\n" + sim::purposeName(scene.model.simulation(), purpose) + " " + percentText(share);
        return text + "\nat " + durationText(ns) + ", mean over " + durationText(bins.binNs());
    }
    return {};
}

} // namespace app
