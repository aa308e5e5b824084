#include "app/views/grid_view.h"

#include "app/views/grid_painter.h"
#include "app/views/labels.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kLargestCell = 200; ///< pixels a cell can be zoomed to
constexpr float kZoomStep = 1.25F;  ///< a notch or key press
constexpr float kScrollPixels = 60; ///< a notch
constexpr float kPanShare = 0.12F;  ///< of the view, a key press
constexpr float kFastPresses = 4;   ///< Shift
constexpr float kFramedCells = 8;   ///< cells across the view after focusing a rank
constexpr float kEdge = 5;          ///< room around all cells, for outlines

} // namespace

struct GridView::Data {
    Selection& selection;
    Theme theme;
    std::string hint = "Open a scenario, or choose one in the gallery.";
    std::shared_ptr<const sim::Simulation> simulation;

    std::vector<RankNow> now; ///< of a live run: as many as ranks, or none

    GridLayout layout;
    GridHeat heat;
    Rect laidOutFor{};
    bool stale = true;

    float zoom = 1, scrollX = 0, scrollY = 0; ///< scroll: screen pixels of the picture left of and above the view
    Point pointerAt{};
    bool pointerInside = false;
    std::optional<Point> grabbed; ///< where a drag was last
    bool framed = false;          ///< the last F framed the selection: the next one shows all

    std::optional<int> groupsOf;
    std::vector<LitGroup> groups;

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    /// Lays out again where the area or the simulation has changed.
    void prepare(Rect area)
    {
        if (!simulation || (!stale && area == laidOutFor))
            return;
        const GridFrame frame(area);
        const bool packed = simulation->scenario().layout.placement == sim::PlacementRule::packed;
        const int perNode = packed ? simulation->scenario().cluster.gpusPerNode : 0;
        layout = GridLayout(simulation->mesh(), perNode, frame.plot.width() - 2 * kEdge, frame.plot.height() - 2 * kEdge);
        warm();
        laidOutFor = area;
        stale = false;
        clampView();
    }

    bool isLive() const { return simulation && now.size() == static_cast<std::size_t>(simulation->mesh().worldSize()); }
    void warm() { heat = isLive() ? makeHeat(now, layout) : makeHeat(*simulation, layout); }

    float pictureWidth() const { return layout.width() * zoom + 2 * kEdge; }
    float pictureHeight() const { return layout.height() * zoom + 2 * kEdge; }

    /// What the rulers leave of the plot. Rulers and cells keep together: in the middle of a wide area, near the top of a high
    /// one.
    Rect cellsArea() const
    {
        Rect cells = GridFrame(laidOutFor).plot;
        cells.left += GridLayout::kRulerColumn * static_cast<float>(layout.down().size());
        cells.top += GridLayout::kRulerRow * static_cast<float>(layout.across().size());
        constexpr float kMostAbove = 24;
        cells.left += std::floor(std::max(0.0F, cells.width() - pictureWidth()) / 2);
        cells.top += std::min(kMostAbove, std::floor(std::max(0.0F, cells.height() - pictureHeight()) / 2));
        return cells;
    }

    float largestZoom() const
    {
        return std::max(1.0F, kLargestCell / std::max(0.01F, std::min(layout.cellWidth(), layout.cellHeight())));
    }

    void clampView()
    {
        const Rect cells = cellsArea();
        zoom = std::clamp(zoom, 1.0F, largestZoom());
        scrollX = std::clamp(scrollX, 0.0F, std::max(0.0F, pictureWidth() - cells.width()));
        scrollY = std::clamp(scrollY, 0.0F, std::max(0.0F, pictureHeight() - cells.height()));
    }

    GridTransform transform() const
    {
        const Rect cells = cellsArea();
        return {std::floor(cells.left + kEdge - scrollX), std::floor(cells.top + kEdge - scrollY), zoom};
    }

    bool zoomAt(Point at, float factor)
    {
        const Point under = transform().back(at);
        const float before = zoom;
        zoom = std::clamp(zoom * factor, 1.0F, largestZoom());
        const Rect cells = cellsArea();
        scrollX = under.x * zoom - (at.x - cells.left - kEdge);
        scrollY = under.y * zoom - (at.y - cells.top - kEdge);
        clampView();
        framed = false;
        return zoom != before;
    }

    bool scrollBy(float x, float y)
    {
        const float beforeX = scrollX, beforeY = scrollY;
        scrollX += x;
        scrollY += y;
        clampView();
        framed = false;
        return scrollX != beforeX || scrollY != beforeY;
    }

    bool fit()
    {
        const bool changed = zoom != 1 || scrollX != 0 || scrollY != 0;
        zoom = 1;
        scrollX = scrollY = 0;
        framed = false;
        return changed;
    }

    int rankUnder(Point at) const { return simulation && cellsArea().contains(at) ? layout.rankAt(transform().back(at)) : -1; }

    /// Brings a rank into view, in the middle if it was outside.
    void reveal(int rank)
    {
        const Rect cell = transform().rect(layout.cell(rank)), area = cellsArea();
        if (cell.left >= area.left && cell.right <= area.right && cell.top >= area.top && cell.bottom <= area.bottom)
            return;
        centre(rank);
    }

    void centre(int rank)
    {
        const Rect cell = layout.cell(rank), area = cellsArea();
        scrollX = (cell.left + cell.right) / 2 * zoom + kEdge - area.width() / 2;
        scrollY = (cell.top + cell.bottom) / 2 * zoom + kEdge - area.height() / 2;
        clampView();
    }

    bool focusSelection()
    {
        const auto rank = selection.focusRank();
        if (!rank || framed || *rank >= layout.ranks())
            return fit();
        const Rect area = cellsArea();
        zoom = std::clamp(area.width() / (kFramedCells * std::max(layout.cellWidth(), 0.01F)), 1.0F, largestZoom());
        centre(*rank);
        framed = true;
        return true;
    }

    bool select(std::optional<int> rank)
    {
        const bool changed = selection.selectedRank != rank;
        selection.selectRank(rank);
        return changed;
    }

    bool hover(std::optional<int> rank)
    {
        const bool changed = selection.hoveredRank != rank;
        selection.hoveredRank = rank;
        return changed;
    }

    bool step(int by)
    {
        const int last = layout.ranks() - 1;
        const int from = selection.selectedRank.value_or(by > 0 ? -1 : last + 1);
        const int rank = std::clamp(from + by, 0, last);
        const bool changed = select(rank);
        reveal(rank);
        return changed;
    }

    const std::vector<LitGroup>& litNow()
    {
        const auto rank = selection.focusRank();
        const std::optional<int> lit = rank && *rank >= 0 && *rank < layout.ranks() ? rank : std::nullopt;
        if (lit != groupsOf) {
            groups = lit ? litGroups(simulation->mesh(), *lit) : std::vector<LitGroup>{};
            groupsOf = lit;
        }
        return groups;
    }
};

GridView::GridView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
GridView::~GridView() = default;

void GridView::setStep(SimulationPtr simulation, TracePtr)
{
    Data& d = *m_data;
    const bool sameShape = d.simulation && simulation && d.simulation->scenario().layout == simulation->scenario().layout &&
                           d.simulation->scenario().cluster.gpusPerNode == simulation->scenario().cluster.gpusPerNode;
    d.simulation = std::move(simulation);
    d.stale = true;
    d.groupsOf.reset();
    d.groups.clear();
    if (!sameShape)
        d.fit();
    const int ranks = d.simulation ? d.simulation->mesh().worldSize() : 0;
    d.selection.keepBelow(ranks);
}

void GridView::setNow(std::vector<RankNow> now)
{
    Data& d = *m_data;
    d.now = std::move(now);
    if (d.simulation && !d.stale)
        d.warm();
}

void GridView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

void GridView::setHint(std::string hint)
{
    m_data->hint = std::move(hint);
}

std::string GridView::title() const
{
    return "Rank grid";
}

void GridView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.simulation) {
        drawEmpty(canvas, d.theme, "No ranks yet", d.hint);
        return;
    }
    d.prepare(canvas.area());
    paintGrid(canvas, {*d.simulation, d.layout, d.heat, d.theme, d.selection, d.litNow(), GridFrame(canvas.area()), d.cellsArea(),
                       d.transform(), d.isLive() ? &d.now : nullptr});
}

bool GridView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.simulation)
        return false;
    d.prepare(area);
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    const int under = d.rankUnder(event.at);
    const std::optional<int> rank = under >= 0 ? std::optional(under) : std::nullopt;
    switch (event.kind) {
    case PointerEvent::Kind::leave:
        d.grabbed.reset();
        return d.hover(std::nullopt);
    case PointerEvent::Kind::move: {
        bool changed = false;
        if (d.grabbed) {
            changed = d.scrollBy(d.grabbed->x - event.at.x, d.grabbed->y - event.at.y);
            d.grabbed = event.at;
        }
        return d.hover(rank) || changed;
    }
    case PointerEvent::Kind::press:
        if (event.button == PointerButton::left)
            return d.select(rank);
        d.grabbed = event.at;
        return false;
    case PointerEvent::Kind::release:
        d.grabbed.reset();
        return false;
    case PointerEvent::Kind::doubleClick:
        return rank && d.select(rank) ? d.focusSelection() || true : d.focusSelection();
    case PointerEvent::Kind::wheel: {
        bool changed = false;
        if (event.control)
            changed = d.zoomAt(event.at, std::pow(kZoomStep, event.wheelY));
        else if (event.shift)
            changed = d.scrollBy(-(event.wheelX + event.wheelY) * kScrollPixels, 0);
        else
            changed = d.scrollBy(-event.wheelX * kScrollPixels, -event.wheelY * kScrollPixels);
        const int now = d.rankUnder(event.at);
        return d.hover(now >= 0 ? std::optional(now) : std::nullopt) || changed;
    }
    }
    return false;
}

bool GridView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.simulation)
        return false;
    d.prepare(area);
    const Rect cells = d.cellsArea();
    const Point centre{(cells.left + cells.right) / 2, (cells.top + cells.bottom) / 2};
    const Point at = d.pointerInside && cells.contains(d.pointerAt) ? d.pointerAt : centre;
    const float presses = fast ? kFastPresses : 1;
    const float panX = cells.width() * kPanShare * presses, panY = cells.height() * kPanShare * presses;
    switch (command) {
    case ViewCommand::zoomIn:
        return d.zoomAt(at, std::pow(kZoomStep, presses));
    case ViewCommand::zoomOut:
        return d.zoomAt(at, std::pow(kZoomStep, -presses));
    case ViewCommand::panLeft:
        return d.scrollBy(-panX, 0);
    case ViewCommand::panRight:
        return d.scrollBy(panX, 0);
    case ViewCommand::panUp:
        return d.scrollBy(0, -panY);
    case ViewCommand::panDown:
        return d.scrollBy(0, panY);
    case ViewCommand::focusSelection:
        return d.focusSelection();
    case ViewCommand::fitAll:
        return d.fit();
    case ViewCommand::next:
        return d.step(fast ? static_cast<int>(kFastPresses) : 1);
    case ViewCommand::previous:
        return d.step(fast ? -static_cast<int>(kFastPresses) : -1);
    case ViewCommand::mark:
        return d.selection.hoveredRank && d.select(d.selection.hoveredRank);
    case ViewCommand::clear:
        return d.select(std::nullopt);
    default:
        return false; // of other pictures
    }
}

CursorShape GridView::cursor() const
{
    const Data& d = *m_data;
    if (d.grabbed)
        return CursorShape::grab;
    return d.pointerInside && d.rankUnder(d.pointerAt) >= 0 ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string GridView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.simulation || !d.pointerInside || d.grabbed)
        return {};
    const int rank = d.rankUnder(d.pointerAt);
    if (rank < 0)
        return {};
    const sim::Simulation& simulation = *d.simulation;
    std::string text = "rank " + countText(rank) + "\n" + coordinatesText(simulation.mesh(), rank);
    const std::vector<int> stages = simulation.schedule().stagesOfRank(simulation.mesh().coordinates(rank).pp);
    if (simulation.schedule().stages() > 1) {
        text += stages.size() == 1 ? "\nstage " : "\nstages ";
        for (std::size_t i = 0; i < stages.size(); ++i)
            text += (i == 0 ? "" : ", ") + std::to_string(stages[i]);
        text += " of " + std::to_string(simulation.schedule().stages());
    }
    text += "\nnode " + countText(simulation.placement().node(rank)) + ", GPU " +
            std::to_string(simulation.placement().gpuOfNode(rank));
    if (d.isLive()) {
        const RankNow& now = d.now[static_cast<std::size_t>(rank)];
        return text + "\n" + bytesText(static_cast<double>(now.bytes)) + " now, at most " +
               bytesText(static_cast<double>(now.peakBytes)) + (now.doing.empty() ? "" : "\nlast action " + now.doing);
    }
    const auto bytes = static_cast<double>(simulation.memoryOfClass(simulation.classOf(rank)).total());
    text += "\n" + bytesText(bytes) + " of " + bytesText(static_cast<double>(d.heat.capacityBytes)) + " at peak";
    return text;
}

} // namespace app
