#include "app/views/common/measures.h"
#include "app/views/traffic/traffic_diagram.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

constexpr float kLowestBox = 17, kHighestBox = 190;
constexpr float kLabelRoom = 78; ///< outside the arcs, for their bytes in words
constexpr float kHighBox = 56, kLanes = 36, kLanesOfBox = 0.28F;
constexpr float kNearPixels = 6;          ///< a pointer so close to an arc means it
constexpr std::size_t kMostStrands = 160; ///< drawn; more are a carpet

/// Half an ellipse from one height to another, `reach` to the right (or left, if negative) of x.
std::vector<Point> arc(float x, float fromY, float toY, float reach)
{
    constexpr int kPieces = 28;
    std::vector<Point> points;
    for (int i = 0; i <= kPieces; ++i) {
        const float angle = 3.14159265F * static_cast<float>(i) / kPieces;
        points.push_back({x + reach * std::sin(angle), (fromY + toY) / 2 + (fromY - toY) / 2 * std::cos(angle)});
    }
    return points;
}

float distance(Point p, Point a, Point b)
{
    const float x = b.x - a.x, y = b.y - a.y, length = x * x + y * y;
    const float t = length > 0 ? std::clamp(((p.x - a.x) * x + (p.y - a.y) * y) / length, 0.0F, 1.0F) : 0.0F;
    return std::hypot(p.x - a.x - t * x, p.y - a.y - t * y);
}

/// Boxes one above the other; returns the room for arcs on either side.
float layOutBoxes(Canvas& canvas, const TrafficParts& parts, TrafficDiagramFrame& frame)
{
    const auto count = static_cast<float>(parts.count());
    const float small = canvas.textHeight(FontFace::small);
    float nameWidth = 0;
    for (const auto& part : parts.parts)
        nameWidth = std::max(nameWidth, canvas.textWidth(part.name, FontFace::small));
    const Rect drawn = frame.drawn;
    const bool bare = frame.level == TrafficLevel::ranks; // nothing is inside a rank's box but its name
    const float pitch = std::clamp(std::floor(drawn.height() / count), 4.0F, bare ? 48.0F : kHighestBox);
    constexpr float kRoomy = 80, kGapShare = 0.28F, kLowGapShare = 0.2F; // low boxes want their height for what is in them
    const float gap = pitch >= 40 ? std::floor(pitch * (pitch >= kRoomy ? kGapShare : kLowGapShare)) : pitch >= 24 ? 4.0F : 2.0F;
    const float widest = bare ? nameWidth + 120 : drawn.width() < 420 ? drawn.width() * 0.6F : 520.0F;
    const float width =
        std::floor(std::clamp(drawn.width() * 0.47F, std::min(nameWidth + (bare ? 90.0F : 20.0F), widest), widest));
    const float left = std::floor(drawn.left + (drawn.width() - width) / 2);
    for (float part = 0; part < count; ++part)
        frame.boxes.push_back({left, drawn.top + pitch * part, left + width, drawn.top + pitch * (part + 1) - gap});
    frame.titleHeight = !bare && pitch - gap >= 2 * small + 8 ? small + 3 : 0;
    return (drawn.width() - width) / 2;
}

/// GPUs of a box in as many rows as make them largest; a node's few stay in one row, as its rails are.
void layOutGpus(Canvas& canvas, const TrafficScene& scene, const TrafficParts& parts, TrafficDiagramFrame& frame)
{
    constexpr float kNarrowest = 7, kLowest = 7, kNumberAndBar = 7, kLeastLanes = 9;
    constexpr int kOneRow = 16;
    const float small = canvas.textHeight(FontFace::small);
    int most = 1;
    float nameWidth = 0;
    for (const auto& part : parts.parts) {
        most = std::max(most, static_cast<int>(part.ranks.size()));
        nameWidth = std::max(nameWidth, canvas.textWidth(part.name, FontFace::small));
    }
    const auto insideOf = [&](Rect box) {
        // Below the GPUs is room for what goes from one to another; in a lower box what their numbers and bars leave.
        const float left = box.height() - 5 - frame.titleHeight - (small + kNumberAndBar);
        const float share = std::min(kLanes, box.height() * kLanesOfBox);
        const float lanes = box.height() >= kHighBox ? share : left >= kLeastLanes ? std::min(left, share) : 0;
        return Rect{box.left + 4 + (frame.titleHeight > 0 ? 0 : nameWidth + 8), box.top + 3 + frame.titleHeight, box.right - 3,
                    box.bottom - 2 - lanes};
    };
    const Rect first = insideOf(frame.boxes.front());
    int rows = 1, columns = most;
    const auto sizeIn = [&](int r) {
        constexpr float kWide = 1.8F; // a number is wider than high
        return std::min(first.width() / std::ceil(static_cast<float>(most) / static_cast<float>(r)) / kWide,
                        first.height() / static_cast<float>(r));
    };
    for (int r = 2; most > kOneRow && r <= most; ++r)
        if (sizeIn(r) > sizeIn(rows)) {
            rows = r;
            columns = (most + r - 1) / r;
        }
    const float width = first.width() / static_cast<float>(columns), height = first.height() / static_cast<float>(rows);
    if (width < kNarrowest || height < kLowest)
        return;
    frame.gpuRows = rows;
    const sim::Placement& placement = scene.model.simulation().placement();
    for (int part = 0; part < parts.count(); ++part) {
        const Rect inside = insideOf(frame.boxes[asIndex(part)]);
        std::vector<int> ranks = parts.parts[asIndex(part)].ranks;
        std::sort(ranks.begin(), ranks.end(), [&](int a, int b) { return placement.gpu(a) < placement.gpu(b); });
        for (int i = 0; i < static_cast<int>(ranks.size()); ++i) {
            const float x = inside.left + width * static_cast<float>(i % columns);
            const float y = inside.top + height * static_cast<float>(i / columns);
            frame.gpus.push_back(
                {ranks[asIndex(i)], part, {std::floor(x), std::floor(y), std::floor(x + width) - 1, std::floor(y + height) - 1}});
        }
    }
}

void layOutStrands(const TrafficScene& scene, const TrafficModel::Picture& picture, float room, TrafficDiagramFrame& frame)
{
    std::vector<int> place; // of a strand among those of its link
    for (const sim::TrafficMatrix::Cell& cell : picture.matrix.cells) {
        int next = 0;
        for (const sim::Dimension purpose : sim::kDimensions) {
            const std::int64_t bytes = cell.bytes[purpose];
            if (cell.from == cell.to || bytes == 0 || !scene.shows(purpose))
                continue;
            // Far ends reach further; strands of one link lie beside each other.
            const float free = room >= 1.6F * kLabelRoom ? room - kLabelRoom : room - 8;
            const auto apart = static_cast<float>(std::abs(cell.to - cell.from));
            const float base = free * (0.3F + 0.6F * std::sqrt(apart / static_cast<float>(picture.parts.count())));
            const float reach = std::clamp(base + static_cast<float>(next++) * 13.0F, 6.0F, std::max(6.0F, free));
            const bool down = cell.from < cell.to;
            const Rect a = frame.boxes[asIndex(cell.from)], b = frame.boxes[asIndex(cell.to)];
            const float leave = (a.top + a.bottom) / 2 + (down ? 2.0F : -2.0F);
            const float arrive = (b.top + b.bottom) / 2 + (down ? -2.0F : 2.0F);
            frame.strands.push_back({.pair = {cell.from, cell.to},
                                     .purpose = purpose,
                                     .bytes = bytes,
                                     .curve = arc(down ? a.right : a.left, leave, arrive, down ? reach : -reach)});
        }
    }
    std::stable_sort(frame.strands.begin(), frame.strands.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (frame.strands.size() > kMostStrands) {
        frame.hiddenStrands = frame.strands.size() - kMostStrands;
        frame.strands.resize(kMostStrands);
    }
}

} // namespace

TrafficDiagramFrame layOutTrafficDiagram(Canvas& canvas, const TrafficScene& scene, Rect area)
{
    constexpr float kPanelGap = 24, kNarrowestDiagram = 380;
    TrafficDiagramFrame frame;
    const float small = canvas.textHeight(FontFace::small);
    Rect inside{area.left + kMargin, area.top + 6, area.right - kMargin, area.bottom - 8};
    if (inside.width() >= kNarrowestDiagram + kPanelGap + kDetailsWidth) {
        frame.details = {inside.right - kDetailsWidth, inside.top, inside.right, inside.bottom};
        inside.right = frame.details.left - kPanelGap;
    }
    frame.caption = {inside.left, inside.top, inside.right, inside.top + small};
    frame.drawn = {inside.left, inside.top + small + 8, inside.right, inside.bottom};
    constexpr int kMostRanks = 64; // of one node, as boxes of their own
    const bool ranks = !scene.model.offers(TrafficLevel::nodes) && scene.model.traffic().worldSize() <= kMostRanks;
    frame.level = ranks ? TrafficLevel::ranks : TrafficLevel::nodes;
    frame.mostParts = std::clamp(static_cast<int>(frame.drawn.height() / kLowestBox), 2, TrafficModel::kMostParts);
    const TrafficModel::Picture& picture = scene.model.picture(frame.level, frame.mostParts);
    const float room = layOutBoxes(canvas, picture.parts, frame);
    if (frame.level == TrafficLevel::nodes)
        layOutGpus(canvas, scene, picture.parts, frame);
    layOutStrands(scene, picture, room, frame);
    return frame;
}

std::optional<int> TrafficDiagramFrame::partAt(Point at) const
{
    const auto found = std::find_if(boxes.begin(), boxes.end(), [&](Rect box) { return box.contains(at); });
    return found == boxes.end() ? std::nullopt : std::optional(static_cast<int>(found - boxes.begin()));
}

std::optional<int> TrafficDiagramFrame::rankAt(Point at) const
{
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.rect.contains(at); });
    return found == gpus.end() ? std::nullopt : std::optional(found->rank);
}

std::optional<TrafficPair> TrafficDiagramFrame::pairAt(Point at) const
{
    float nearest = kNearPixels;
    std::optional<TrafficPair> pair;
    for (const Strand& strand : strands)
        for (std::size_t i = 1; i < strand.curve.size(); ++i)
            if (const float d = distance(at, strand.curve[i - 1], strand.curve[i]); d < nearest) {
                nearest = d;
                pair = strand.pair;
            }
    return pair;
}

std::vector<Point> TrafficDiagramFrame::curveBetween(const Gpu& from, const Gpu& to, sim::Dimension purpose) const
{
    if (std::abs(from.part - to.part) > 1)
        if (const Strand* strand = strandOf({from.part, to.part}, purpose))
            return strand->curve;
    // Purposes leave and arrive beside each other, so that two between the same GPUs stay apart.
    const auto middleOf = [](const Gpu& gpu) { return (gpu.rect.left + gpu.rect.right) / 2; };
    const float width = std::min(from.rect.width() * 0.7F, 30.0F), lane = static_cast<float>(purpose);
    const float aside = width * (lane + 0.5F) / static_cast<float>(sim::kDimensions.size()) - width / 2;
    const bool isBeside = from.rect.top == to.rect.top, down = to.rect.top > from.rect.top;
    const auto topOf = [&](const Gpu& gpu) { // of its node, lest arrows run over the node's name
        return from.part == to.part ? gpu.rect.top : boxes[asIndex(gpu.part)].top;
    };
    const auto bottomOf = [&](const Gpu& gpu) {
        return from.part == to.part ? gpu.rect.bottom : boxes[asIndex(gpu.part)].bottom;
    };
    // What hangs below its GPUs stays in their box, lowest what comes back over several: a ring's way back.
    constexpr float kLeastDepth = 8, kNextOfDepth = 0.82F;
    const float below = boxes[asIndex(from.part)].bottom - from.rect.bottom; // few pixels in a low box
    const float floor = boxes[asIndex(from.part)].bottom - std::min(kWithinRadius, std::max(5.0F, below * 0.45F));
    const bool isNext = std::abs(middleOf(from) - middleOf(to)) < 1.5F * from.rect.width();
    const bool isWithin = isBeside && from.part == to.part;
    const float hung =
        isWithin ? std::min(from.rect.bottom, floor - std::min(kLeastDepth, std::max(4.0F, below * 0.5F))) : bottomOf(from);
    const float share = 0.4F + 0.6F * (lane + 1) / static_cast<float>(sim::kDimensions.size());
    const float depth = isWithin   ? (floor - hung) * share * (isNext ? kNextOfDepth : 1.0F)
                        : isBeside ? 12 + 4 * lane + (isNext ? 0.0F : 6.0F)
                                   : 0,
                lean = isBeside ? 0 : 10 + 4 * lane; // lean: apart from the rail
    const Point a{middleOf(from) + aside, isBeside ? hung : down ? bottomOf(from) : topOf(from)};
    const Point b{middleOf(to) + aside, isBeside ? hung : !down ? bottomOf(to) : topOf(to)};
    std::vector<Point> curve;
    constexpr int kPieces = 16;
    for (int i = 0; i <= kPieces; ++i) {
        const float t = static_cast<float>(i) / kPieces, hump = 4 * t * (1 - t);
        curve.push_back({a.x + (b.x - a.x) * t + lean * hump, a.y + (b.y - a.y) * t + depth * hump});
    }
    return curve;
}

const TrafficDiagramFrame::Strand* TrafficDiagramFrame::strandOf(TrafficPair pair, sim::Dimension purpose) const
{
    const auto found =
        std::find_if(strands.begin(), strands.end(), [&](const Strand& s) { return s.pair == pair && s.purpose == purpose; });
    return found == strands.end() ? nullptr : &*found;
}

const TrafficDiagramFrame::Gpu* TrafficDiagramFrame::gpuOf(int rank) const
{
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.rank == rank; });
    return found == gpus.end() ? nullptr : &*found;
}

} // namespace app
