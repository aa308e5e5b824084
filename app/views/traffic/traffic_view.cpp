#include "app/views/traffic/traffic_view.h"

#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/traffic/traffic_diagram.h"
#include "app/views/traffic/traffic_header.h"
#include "app/views/traffic/traffic_load.h"
#include "app/views/traffic/traffic_matrix.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

} // namespace

struct TrafficView::Data {
    enum class Drag : std::uint8_t { none, pressed, range, cursor };

    Selection& selection;
    Theme theme;
    std::shared_ptr<TrafficModel> model;
    TrafficMode mode = TrafficMode::matrix;
    std::optional<TrafficLevel> level; ///< as chosen; else what suits
    TimeZoom ownZoom;
    TimeZoom& zoom; ///< its own, or one that is shared

    // As drawn last: what the pointer meets.
    TrafficHeader header;
    TrafficMatrixFrame matrix;
    TrafficDiagramFrame diagram;
    Rect body{};

    Point pointerAt{}, pressedAt{};
    bool pointerInside = false;
    Drag drag = Drag::none;
    std::optional<TrafficPair> hovered;
    std::vector<TrafficMark> marks; ///< as drawn last

    Data(Selection& s, const Theme& t, TimeZoom* shared) : selection(s), theme(t), zoom(shared ? *shared : ownZoom) {}

    bool isEmpty() const { return !model || model->simulation().mesh().worldSize() < 2; }
    void prepare()
    {
        if (model->restrictTo(selection.ranks))
            hovered.reset();
    }
    TrafficScene scene() { return {*model, theme, selection, hovered, &marks}; }
    TrafficLevel shownLevel() const { return level && model->offers(*level) ? *level : model->suitableLevel(); }
    /// The matrix or the diagram, as parts of the world.
    const TrafficModel::Picture& picture()
    {
        return mode == TrafficMode::matrix ? model->picture(shownLevel()) : model->picture(diagram.level, diagram.mostParts);
    }
    TrafficLoadFrame loadFrame() const { return TrafficLoadFrame(body); }
    bool inLoad(Point at) const { return mode == TrafficMode::load && body.contains(at); }

    bool choose(TrafficMode next)
    {
        if (next == mode)
            return false;
        mode = next;
        hovered.reset();
        return true;
    }
    bool stepMode(int by)
    {
        return choose(static_cast<TrafficMode>((static_cast<int>(mode) + by + kTrafficModeCount) % kTrafficModeCount));
    }
    /// To the next finer (-1) or coarser (1) level there is.
    bool stepLevel(int by)
    {
        for (int to = static_cast<int>(shownLevel()) + by; to >= 0 && to < kTrafficLevelCount; to += by)
            if (model->offers(static_cast<TrafficLevel>(to))) {
                level = static_cast<TrafficLevel>(to);
                hovered.reset();
                return true;
            }
        return false;
    }
    bool togglePurpose(sim::Dimension purpose)
    {
        selection.classes = static_cast<ClassMask>(selection.classes ^ maskOf(sim::opClassOf(purpose)));
        return true;
    }
    bool pressHeader(const TrafficHeader::Chip& chip)
    {
        if (chip.mode)
            return choose(*chip.mode);
        if (chip.purpose)
            return togglePurpose(*chip.purpose);
        const bool changed = chip.level && *chip.level != shownLevel();
        level = chip.level ? chip.level : level;
        hovered.reset();
        return changed;
    }

    // Parts -------------------------------------------------------------------------------------------------------------------

    const TrafficMark* markAt(Point at) const
    {
        const auto found =
            std::find_if(marks.begin(), marks.end(), [at](const TrafficMark& mark) { return mark.rect.contains(at); });
        return found == marks.end() ? nullptr : &*found;
    }
    static Because of(const sim::Explanation& why)
    {
        return {"", [why] { return why; }};
    }
    /// Of what is at a place, and where that lies; nothing where nothing has bytes.
    std::optional<std::pair<Because, Rect>> because(Point at)
    {
        if (const TrafficMark* mark = markAt(at))
            return std::pair(of(mark->purpose ? model->because(*mark->purpose) : model->because(mark->tier)), mark->rect);
        if (const TrafficHeader::Chip* chip = header.under(at); chip != nullptr && chip->purpose)
            return std::pair(of(model->because(*chip->purpose)), chip->rect);
        if (!hovered || mode == TrafficMode::load)
            return std::nullopt;
        const TrafficModel::Picture& shown = picture();
        const auto cell = std::find_if(shown.matrix.cells.begin(), shown.matrix.cells.end(),
                                       [&](const auto& c) { return c.from == hovered->from && c.to == hovered->to; });
        if (cell == shown.matrix.cells.end())
            return std::nullopt;
        return std::pair(of(model->because(shown.parts, *cell)), Rect{at.x, at.y, at.x + 1, at.y + 1});
    }
    bool selectPart(int part)
    {
        const std::vector<int> ranks = picture().parts.parts[asIndex(part)].ranks;
        if (ranks.empty())
            return false;
        const Selection before = selection;
        if (ranks.size() == 1)
            selection.selectRank(ranks.front());
        else
            selection.selectRanks(ranks, ranks.front());
        return selection != before;
    }
    bool select(std::optional<int> rank)
    {
        const Selection before = selection;
        selection.selectRank(rank);
        return selection != before;
    }
    /// The row before or after that of the rank in focus.
    bool stepRow(int by)
    {
        const TrafficParts& parts = picture().parts;
        int last = parts.count() - 1;
        while (last > 0 && parts.isRest(last))
            --last;
        const bool has = selection.selectedRank && *selection.selectedRank < static_cast<int>(parts.partOf.size());
        const int from = has ? parts.partOf[asIndex(*selection.selectedRank)] : (by > 0 ? -1 : last + 1);
        const int part = std::clamp(from + by, 0, last);
        if (shownLevel() == TrafficLevel::ranks && model->isRestricted()) { // the rows stay; the focus moves
            const std::optional<int> before = selection.selectedRank;
            selection.selectedRank = parts.parts[asIndex(part)].ranks.front();
            return selection.selectedRank != before;
        }
        return select(parts.parts[asIndex(part)].ranks.front());
    }
    bool hover(Point at)
    {
        std::optional<TrafficPair> pair;
        std::optional<int> rank;
        if (mode == TrafficMode::matrix) {
            pair = matrix.pairAt(at);
            if (const auto row = matrix.rowAt(at)) {
                const auto& ranks = picture().parts.parts[asIndex(*row)].ranks;
                rank = ranks.size() == 1 ? std::optional(ranks.front()) : std::nullopt;
            }
        } else if (mode == TrafficMode::diagram) {
            rank = diagram.rankAt(at);
            pair = rank || diagram.partAt(at) ? std::nullopt : diagram.pairAt(at);
            if (const auto part = diagram.partAt(at); part && diagram.level == TrafficLevel::ranks)
                rank = *part;
        }
        const bool changed = pair != hovered || rank != selection.hoveredRank;
        hovered = pair;
        selection.hoveredRank = rank;
        return changed;
    }
    bool unhover()
    {
        const bool changed = hovered || selection.hoveredRank;
        hovered.reset();
        selection.hoveredRank.reset();
        return changed;
    }
    bool clickBody(Point at, bool control)
    {
        if (mode == TrafficMode::matrix) {
            const auto row = matrix.rowAt(at);
            return row ? selectPart(*row) : select(std::nullopt);
        }
        if (const auto rank = diagram.rankAt(at)) {
            if (!control)
                return select(rank);
            selection.toggleRank(*rank);
            return true;
        }
        const auto part = diagram.partAt(at);
        return part ? selectPart(*part) : select(std::nullopt);
    }

    // Time --------------------------------------------------------------------------------------------------------------------

    std::int64_t timeAt(float x) const
    {
        const TrafficLoadFrame frame = loadFrame();
        const double ns = frame.axis(zoom.now()).ns(std::clamp(x, frame.rows.left, frame.rows.right));
        return std::clamp<std::int64_t>(std::llround(ns), 0, model->stepNs());
    }
    bool setCursor(float x)
    {
        const std::int64_t before = selection.cursorNs;
        selection.cursorNs = timeAt(x);
        return before != selection.cursorNs;
    }
    bool nearCursor(Point at) const
    {
        const TrafficLoadFrame frame = loadFrame();
        const float x = frame.axis(zoom.now()).x(static_cast<double>(selection.cursorNs));
        return frame.rows.contains(at) && selection.cursorNs > 0 && std::abs(at.x - x) <= kDragPixels;
    }
    bool pressLoad(Point at)
    {
        if (loadFrame().ruler.contains(at) || nearCursor(at)) {
            drag = Drag::cursor;
            return setCursor(at.x);
        }
        drag = Drag::pressed;
        return false;
    }
    bool goOn(Point at)
    {
        if (drag == Drag::cursor)
            return setCursor(at.x);
        if (drag == Drag::pressed && (std::abs(at.x - pressedAt.x) < kDragPixels || !loadFrame().rows.contains(pressedAt)))
            return false;
        drag = Drag::range;
        const auto [begin, end] = std::minmax({timeAt(pressedAt.x), timeAt(at.x)});
        selection.range = TimeRange{begin, std::max(end, begin + 1)};
        return true;
    }
    bool zoomAt(Point at, double factor)
    {
        const Rect rows = loadFrame().rows;
        const double share = std::clamp(static_cast<double>((at.x - rows.left) / rows.width()), 0.0, 1.0);
        return zoom.zoom(factor, share);
    }
    bool clear()
    {
        const Selection before = selection;
        selection.clear();
        return selection != before;
    }
};

TrafficView::TrafficView(Selection& selection, const Theme& theme, TimeZoom* zoom)
    : m_data(std::make_unique<Data>(selection, theme, zoom))
{
}
TrafficView::~TrafficView() = default;

PictureModelPtr TrafficView::prepare(const ShownStep& step)
{
    if (!step.simulation)
        return nullptr;
    auto model = std::make_shared<TrafficModel>(step.simulation);
    static_cast<void>(model->picture(model->suitableLevel()));
    return model;
}

void TrafficView::take(const ShownStep& step, PictureModelPtr prepared)
{
    Data& d = *m_data;
    d.model = std::static_pointer_cast<TrafficModel>(prepared ? std::move(prepared) : prepare(step));
    d.hovered.reset();
    d.drag = Data::Drag::none;
    d.header = {};
    d.matrix = {};
    d.diagram = {};
    if (&d.zoom == &d.ownZoom)
        d.zoom.setTrace(d.model ? std::optional(d.model->stepNs()) : std::nullopt);
}

void TrafficView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

bool TrafficView::showNow()
{
    return m_data->mode == TrafficMode::matrix && m_data->choose(TrafficMode::diagram);
}

int TrafficView::mode() const
{
    return static_cast<int>(m_data->mode);
}

Becauses TrafficView::becauseOf(std::optional<Point> at) const
{
    Data& d = *m_data;
    if (!d.model || d.isEmpty())
        return {};
    if (!at)
        return {Data::of(d.model->becauseOfAll())};
    const auto found = d.because(*at);
    return found ? Becauses{found->first} : Becauses{};
}

std::string TrafficView::title() const
{
    return "Traffic";
}

void TrafficView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.model)
        return drawEmpty(canvas, d.theme, "No traffic yet", hint());
    if (d.isEmpty())
        return drawEmpty(canvas, d.theme, "One rank sends nothing", "Raise tp, cp, pp or dp, and see what passes between ranks.");
    d.prepare();
    d.marks.clear();
    const Rect area = canvas.area();
    canvas.fillRect(area, d.theme.canvas);
    TrafficScene scene = d.scene();
    if (isForAudience())
        scene.marks = nullptr;
    d.header = paintTrafficHeader(canvas, scene, {d.mode, d.shownLevel(), isForAudience()});
    d.body = {area.left, d.header.bottom, area.right, area.bottom};
    canvas.pushClip(d.body);
    switch (d.mode) {
    case TrafficMode::matrix:
        d.matrix = paintTrafficMatrix(canvas, scene, d.shownLevel(), d.body);
        break;
    case TrafficMode::diagram:
        d.diagram = layOutTrafficDiagram(canvas, scene, d.body);
        paintTrafficDiagram(canvas, scene, d.diagram);
        break;
    case TrafficMode::load:
        paintTrafficLoad(canvas, scene, d.zoom.now(), d.body);
        break;
    }
    canvas.popClip();
}

bool TrafficView::pointer(const PointerEvent& event, Rect)
{
    Data& d = *m_data;
    if (d.isEmpty())
        return false;
    d.prepare();
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    switch (event.kind) {
    case PointerEvent::Kind::move:
        return d.drag != Data::Drag::none ? d.goOn(event.at) : d.hover(event.at);
    case PointerEvent::Kind::press:
        if (event.button == PointerButton::right || (event.button == PointerButton::left && d.markAt(event.at) != nullptr)) {
            if (const auto found = d.because(event.at))
                ask({found->first}, found->second);
            return false;
        }
        if (event.button != PointerButton::left)
            return false;
        d.pressedAt = event.at;
        if (const TrafficHeader::Chip* chip = d.header.under(event.at))
            return d.pressHeader(*chip);
        if (!d.body.contains(event.at))
            return false;
        return d.mode == TrafficMode::load ? d.pressLoad(event.at) : d.clickBody(event.at, event.control);
    case PointerEvent::Kind::release: {
        const bool clicked = d.drag == Data::Drag::pressed && d.selection.range.has_value();
        if (clicked)
            d.selection.range.reset();
        d.drag = Data::Drag::none;
        return clicked;
    }
    case PointerEvent::Kind::doubleClick:
        d.drag = Data::Drag::none;
        if (d.mode == TrafficMode::matrix && d.matrix.cells.contains(event.at))
            return d.stepLevel(-1); // into what the click before it selected
        return d.inLoad(event.at) && d.zoom.frameOrAll(d.selection.range);
    case PointerEvent::Kind::leave:
        return d.drag == Data::Drag::none && d.unhover();
    case PointerEvent::Kind::wheel:
        if (d.mode != TrafficMode::load)
            return false;
        if (event.control)
            return d.zoomAt(event.at, std::pow(kZoomStep, static_cast<double>(event.wheelY)));
        return d.zoom.pan(-static_cast<double>(event.wheelX + (event.shift ? event.wheelY : 0)) * kPanShare);
    }
    return false;
}

bool TrafficView::command(ViewCommand command, bool fast, Rect)
{
    Data& d = *m_data;
    if (d.isEmpty())
        return false;
    d.prepare();
    const double presses = fast ? kFastPresses : 1;
    const bool inTime = d.mode == TrafficMode::load;
    const Rect rows = d.loadFrame().rows;
    const Point middle{(rows.left + rows.right) / 2, rows.top};
    const Point at = d.pointerInside && rows.contains(d.pointerAt) ? d.pointerAt : middle;
    switch (command) {
    case ViewCommand::next:
        return d.stepMode(1);
    case ViewCommand::previous:
        return d.stepMode(-1);
    case ViewCommand::zoomIn:
        return inTime ? d.zoomAt(at, std::pow(kZoomStep, presses)) : d.mode == TrafficMode::matrix && d.stepLevel(-1);
    case ViewCommand::zoomOut:
        return inTime ? d.zoomAt(at, std::pow(kZoomStep, -presses)) : d.mode == TrafficMode::matrix && d.stepLevel(1);
    case ViewCommand::panLeft:
        return inTime && d.zoom.pan(-kPanShare * presses);
    case ViewCommand::panRight:
        return inTime && d.zoom.pan(kPanShare * presses);
    case ViewCommand::panUp:
        return !inTime && d.stepRow(-static_cast<int>(presses));
    case ViewCommand::panDown:
        return !inTime && d.stepRow(static_cast<int>(presses));
    case ViewCommand::focusSelection:
        return inTime && d.zoom.frameOrAll(d.selection.range);
    case ViewCommand::fitAll:
        if (inTime)
            return d.zoom.showAll();
        return std::exchange(d.level, std::nullopt).has_value();
    case ViewCommand::viewBack:
        return inTime && d.zoom.back();
    case ViewCommand::viewForward:
        return inTime && d.zoom.forward();
    case ViewCommand::clear:
        return d.clear();
    case ViewCommand::because:
        askBecause(d.pointerInside ? std::optional(d.pointerAt) : std::nullopt, d.body);
        return false;
    default: // other views'
        return false;
    }
}

CursorShape TrafficView::cursor() const
{
    const Data& d = *m_data;
    if (!d.model || !d.pointerInside)
        return CursorShape::arrow;
    if (d.markAt(d.pointerAt) != nullptr || d.header.under(d.pointerAt) != nullptr || d.hovered ||
        (d.mode != TrafficMode::load && d.selection.hoveredRank))
        return CursorShape::pointingHand;
    if (d.mode != TrafficMode::load)
        return CursorShape::arrow;
    if (d.drag == Data::Drag::cursor || d.loadFrame().ruler.contains(d.pointerAt) || d.nearCursor(d.pointerAt))
        return CursorShape::resizeHorizontal;
    return d.drag == Data::Drag::range ? CursorShape::crosshair : CursorShape::arrow;
}

std::string TrafficView::tooltip() const
{
    Data& d = *m_data;
    if (!d.model || !d.pointerInside || d.drag != Data::Drag::none)
        return {};
    if (d.markAt(d.pointerAt) != nullptr)
        return "Where these bytes come from";
    const TrafficScene scene = d.scene();
    if (const TrafficHeader::Chip* chip = d.header.under(d.pointerAt); chip != nullptr && chip->purpose)
        return purposeText(scene, *chip->purpose) +
               "\nclick: " + (scene.shows(*chip->purpose) ? "leave it out" : "show it again") + "; =: where the bytes come from";
    if (d.mode == TrafficMode::load)
        return trafficLoadText(scene, d.zoom.now(), d.body, d.pointerAt);
    if (d.hovered) {
        const TrafficModel::Picture& picture = d.picture();
        const auto cell = std::find_if(picture.matrix.cells.begin(), picture.matrix.cells.end(),
                                       [&](const auto& c) { return c.from == d.hovered->from && c.to == d.hovered->to; });
        if (cell != picture.matrix.cells.end())
            return pairText(scene, picture.parts, *cell);
        return picture.parts.parts[asIndex(d.hovered->from)].name + " sends " + picture.parts.parts[asIndex(d.hovered->to)].name +
               " nothing";
    }
    return d.mode == TrafficMode::diagram && d.selection.hoveredRank ? rankText(scene, *d.selection.hoveredRank) : std::string();
}

} // namespace app
