#include "app/views/traffic/traffic_scene.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "sim/index.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace app {
namespace {

using sim::asIndex;

std::string bytesOf(std::int64_t bytes)
{
    return bytesText(static_cast<double>(bytes));
}

/// Bars of one purpose each.
std::vector<TrafficBar> purposeBars(const TrafficScene& scene, const sim::BytesByDimension& bytes)
{
    std::vector<TrafficBar> bars;
    for (const sim::Dimension purpose : sim::kDimensions) {
        const std::string name = sim::purposeName(scene.model.simulation(), purpose);
        TrafficBar bar{.name = name, .shortName = name};
        bar.bytes[purpose] = bytes[purpose];
        if (shownBytes(bar.bytes, scene.selection) > 0)
            bars.push_back(std::move(bar));
    }
    return bars;
}

void largestFirst(const TrafficScene& scene, std::vector<TrafficBar>& bars)
{
    std::stable_sort(bars.begin(), bars.end(), [&](const TrafficBar& a, const TrafficBar& b) {
        return shownBytes(a.bytes, scene.selection) > shownBytes(b.bytes, scene.selection);
    });
}

std::vector<TrafficBar> peerBars(const TrafficScene& scene, int rank)
{
    std::vector<sim::TrafficFlow> flows;
    scene.model.traffic().appendSends(rank, flows);
    std::map<int, sim::BytesByDimension> byPeer;
    for (const sim::TrafficFlow& flow : flows)
        byPeer[flow.peer][sim::dimensionOf(flow.role)] += flow.bytes;
    std::vector<TrafficBar> bars;
    for (const auto& [peer, bytes] : byPeer)
        if (shownBytes(bytes, scene.selection) > 0)
            bars.push_back({.name = "to rank " + countText(peer), .shortName = "→ " + countText(peer), .bytes = bytes});
    largestFirst(scene, bars);
    return bars;
}

std::vector<TrafficBar> tierBars(const TrafficScene& scene)
{
    std::vector<TrafficBar> bars;
    for (int tier = 0; tier < scene.model.traffic().tiers(); ++tier) {
        const std::string name = sim::spokenNetwork(scene.model.tiers()[asIndex(tier)].name);
        bars.push_back({.name = name, .shortName = name, .bytes = scene.model.sums().byDimension(tier), .tier = tier});
    }
    return bars;
}

std::vector<TrafficBar> rowBars(const TrafficScene& scene, const TrafficModel::Picture& picture, int from)
{
    std::vector<TrafficBar> bars;
    for (const sim::TrafficMatrix::Cell& cell : picture.matrix.cells)
        if (cell.from == from && shownBytes(cell.bytes, scene.selection) > 0) {
            const auto& to = picture.parts.parts[asIndex(cell.to)];
            bars.push_back({cell.to == from ? "within itself" : "to " + to.name, "→ " + to.number, cell.bytes});
        }
    largestFirst(scene, bars);
    return bars;
}

/// Between parts; within them only where nothing leaves them.
std::vector<TrafficBar> pairBars(const TrafficScene& scene, const TrafficModel::Picture& picture)
{
    std::vector<TrafficBar> between, within;
    for (const sim::TrafficMatrix::Cell& cell : picture.matrix.cells) {
        if (shownBytes(cell.bytes, scene.selection) <= 0)
            continue;
        const auto& from = picture.parts.parts[asIndex(cell.from)];
        const auto& to = picture.parts.parts[asIndex(cell.to)];
        if (cell.from == cell.to)
            within.push_back({"within " + from.name, "in " + from.number, cell.bytes});
        else
            between.push_back({from.name + " → " + to.number, from.number + " → " + to.number, cell.bytes});
    }
    std::vector<TrafficBar> bars = between.empty() ? std::move(within) : std::move(between);
    largestFirst(scene, bars);
    return bars;
}

} // namespace

std::string pairText(const TrafficScene& scene, const TrafficParts& parts, const sim::TrafficMatrix::Cell& cell)
{
    const std::string from = parts.parts[asIndex(cell.from)].name, to = parts.parts[asIndex(cell.to)].name;
    const std::string bytes = bytesOf(shownBytes(cell.bytes, scene.selection));
    return (cell.from == cell.to ? "within " + from + " " : from + " sends " + to + " ") + bytes + ": " +
           purposesText(scene.model.simulation(), cell.bytes, scene.selection);
}

std::string rankText(const TrafficScene& scene, int rank)
{
    const sim::BytesByDimension bytes = scene.model.traffic().sentBy(rank).byDimension();
    const std::int64_t shown = shownBytes(bytes, scene.selection);
    return "rank " + countText(rank) + " sends " + (shown > 0 ? bytesOf(shown) : "nothing") +
           (shown > 0 ? ": " + purposesText(scene.model.simulation(), bytes, scene.selection) : "");
}

float paintMark(Canvas& canvas, const TrafficScene& scene, Rect rect, TrafficMark mark)
{
    if (scene.marks == nullptr)
        return 0;
    const FontFace face = rect.height() < canvas.textHeight(FontFace::bold) ? FontFace::small : FontFace::bold;
    textInside(canvas, rect, "=", scene.theme.mutedText, face, Align::center);
    mark.rect = rect;
    if (canvas.wantsNodes()) {
        const sim::Explanation& why = mark.purpose ? scene.model.because(*mark.purpose) : scene.model.because(mark.tier);
        canvas.node({.id = kTrafficMarkNodes +
                           static_cast<std::uint64_t>(mark.purpose ? static_cast<int>(*mark.purpose) : 16 * (1 + mark.tier)),
                     .role = "button",
                     .name = why.name + ": " + why.valueText() + ". " + why.inSymbols() + " = " + why.inNumbers(),
                     .rect = rect});
    }
    scene.marks->push_back(mark);
    return kMarkWidth;
}

float paintBars(Canvas& canvas, const TrafficScene& scene, Rect area, const std::string& title,
                const std::vector<TrafficBar>& bars, std::uint64_t firstNode)
{
    constexpr float kGap = 8, kThick = 6;
    const float body = canvas.textHeight(FontFace::bold), small = canvas.textHeight(FontFace::small);
    const float lineHeight = small + kThick + 8, barHeight = small + 2 + kThick;
    if (area.height() < body + lineHeight || area.width() < 60)
        return 0;
    textInside(canvas, {area.left, area.top, area.right, area.top + body}, title, scene.theme.text, FontFace::bold);
    std::int64_t most = 1;
    for (const TrafficBar& bar : bars)
        most = std::max(most, shownBytes(bar.bytes, scene.selection));
    float y = area.top + body + kGap;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const bool holdsRest = i + 1 == bars.size() || y + lineHeight + small <= area.bottom; // or a line that says how many
        if (y + barHeight > area.bottom || (i > 0 && !holdsRest)) {
            const std::string more = "and " + countText(static_cast<std::int64_t>(bars.size() - i)) + " more";
            if (y + small <= area.bottom)
                textInside(canvas, {area.left, y, area.right, y + small}, more, scene.theme.mutedText, FontFace::small);
            return area.height();
        }
        const std::int64_t shown = shownBytes(bars[i].bytes, scene.selection);
        const std::string bytes = bytesOf(shown);
        const float bytesWidth =
            textInside(canvas, {area.left, y, area.right, y + small}, bytes, scene.theme.text, FontFace::small, Align::right);
        const float room = area.width() - bytesWidth - kGap;
        const float mark = bars[i].tier >= 0 ? kMarkWidth : 0;
        const float named = textInside(canvas, {area.left, y, area.left + room, y + small},
                                       fitting(canvas, {bars[i].name, bars[i].shortName}, room - mark, FontFace::small),
                                       scene.theme.mutedText, FontFace::small);
        if (mark > 0)
            paintMark(canvas, scene, {area.left + named, y, area.left + named + kMarkWidth, y + small}, {.tier = bars[i].tier});
        const float top = y + small + 2;
        canvas.fillRect({area.left, top, area.right, top + kThick}, mix(scene.theme.canvas, scene.theme.text, 0.06F));
        float x = area.left;
        for (const sim::Dimension purpose : sim::kDimensions) {
            if (!scene.shows(purpose))
                continue;
            const auto width = area.width() * static_cast<float>(bars[i].bytes[purpose]) / static_cast<float>(most);
            if (width > 0)
                canvas.fillRect({x, top, x + width, top + kThick}, scene.fill(purpose));
            x += width;
        }
        if (canvas.wantsNodes())
            canvas.node({.id = firstNode + i,
                         .role = "bar",
                         .name = title + ": " + bars[i].name + " " + bytes,
                         .rect = {area.left, y, area.right, top + kThick}});
        y += lineHeight;
    }
    return y - area.top;
}

void paintDetails(Canvas& canvas, const TrafficScene& scene, Rect area, const TrafficModel::Picture& picture)
{
    const TrafficParts& parts = picture.parts;
    if (scene.hovered) {
        const auto [from, to] = *scene.hovered;
        const auto& sender = parts.parts[asIndex(from)];
        const auto cell = std::find_if(picture.matrix.cells.begin(), picture.matrix.cells.end(),
                                       [&](const auto& c) { return c.from == scene.hovered->from && c.to == scene.hovered->to; });
        if (cell != picture.matrix.cells.end() && shownBytes(cell->bytes, scene.selection) > 0)
            paintBars(canvas, scene, area,
                      from == to ? "within " + sender.name : sender.name + " → " + parts.parts[asIndex(to)].number,
                      purposeBars(scene, cell->bytes));
        else // nothing passes there: what its row does send
            paintBars(canvas, scene, area, sender.name + " sends", rowBars(scene, picture, from));
        return;
    }
    if (const auto rank = scene.selection.focusRank(); rank && *rank < scene.model.traffic().worldSize()) {
        const auto bars = peerBars(scene, *rank);
        paintBars(canvas, scene, area, "rank " + countText(*rank) + (bars.empty() ? " sends nothing" : " sends"), bars);
        return;
    }
    constexpr float kApart = 14;
    area.top += paintBars(canvas, scene, area, "links", tierBars(scene)) + kApart;
    paintBars(canvas, scene, area, "largest flows", pairBars(scene, picture), kTrafficListNodes + 1024);
}

double ByteScale::share(std::int64_t bytes) const
{
    const double length = std::log(most / least);
    const double place = length <= 0 ? 1 : std::log(std::max(static_cast<double>(bytes), 1.0) / least) / length;
    return kLeastHeat + (1 - kLeastHeat) * std::clamp(place, 0.0, 1.0);
}

ByteScale ByteScale::of(const TrafficModel::Picture& picture, const Selection& selection)
{
    constexpr double kDecades = 1e6; // what is smaller than that looks like the least
    std::int64_t least = 0, most = 0;
    for (const sim::TrafficMatrix::Cell& cell : picture.matrix.cells)
        if (const std::int64_t bytes = shownBytes(cell.bytes, selection); bytes > 0) {
            least = least == 0 ? bytes : std::min(least, bytes);
            most = std::max(most, bytes);
        }
    const auto high = static_cast<double>(std::max<std::int64_t>(most, 1));
    return {.least = std::max({static_cast<double>(least), high / kDecades, 1.0}), .most = high};
}

void paintByteScale(Canvas& canvas, const TrafficScene& scene, const ByteScale& scale, Rect area)
{
    constexpr float kThick = 8, kSteps = 48;
    const float small = canvas.textHeight(FontFace::small);
    const std::string low = bytesText(scale.least), high = bytesText(scale.most);
    if (area.height() < kThick + small + 2 || area.width() < canvas.textWidth(high, FontFace::small))
        return;
    const bool isOne = scale.most <= scale.least;
    for (float i = 0; i < kSteps; ++i) {
        const float left = area.left + area.width() * i / kSteps, right = area.left + area.width() * (i + 1) / kSteps;
        canvas.fillRect({left, area.top, right, area.top + kThick},
                        scene.theme.heatAt(isOne ? 1
                                                 : kLeastHeat + (1 - kLeastHeat) * static_cast<double>(i) /
                                                                    (static_cast<double>(kSteps) - 1)));
    }
    const Rect words{area.left, area.top + kThick + 2, area.right, area.top + kThick + 2 + small};
    const float used = textInside(canvas, words, high, scene.theme.mutedText, FontFace::small, Align::right);
    if (isOne)
        return;
    const float left = canvas.textWidth(low, FontFace::small) + used + 16 <= area.width()
                           ? textInside(canvas, words, low, scene.theme.mutedText, FontFace::small)
                           : 0;
    const Rect middle{words.left + std::max(left, used), words.top, words.right - std::max(left, used), words.bottom};
    textInside(canvas, middle, fitting(canvas, {"logarithmic scale", "log scale", "log"}, middle.width() - 12, FontFace::small),
               scene.theme.mutedText, FontFace::small, Align::center);
}

} // namespace app
