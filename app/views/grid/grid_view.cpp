#include "app/views/grid/grid_view.h"

#include "app/views/common/labels.h"
#include "app/views/grid/grid_caption.h"
#include "app/views/grid/grid_controls.h"
#include "app/views/grid/grid_model.h"
#include "app/views/grid/grid_motion.h"
#include "app/views/grid/grid_painter.h"
#include "app/views/grid/grid_selecting.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kGridDragPixels = 4;   ///< less is a click
constexpr float kGridPanShare = 0.12F; ///< of the view, a key press

} // namespace

struct GridView::Data {
    Selection& selection;
    Theme theme;
    GridModel model;
    GridCamera camera;

    // As drawn last: what can be pointed at besides cells.
    GridControls controls;
    GridTargets targets;

    Point pointerAt{};
    bool pointerInside = false;
    std::optional<Point> grabbed;    ///< where a drag of the picture was last
    std::optional<GridChip> pressed; ///< chip of an axis
    Point pressedAt{};
    bool dragging = false; ///< the pressed chip

    GridMover mover;
    std::optional<GridLens> beforeNow; ///< that was left to show the moment, until another is chosen

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    bool hasStep() const { return model.simulation() != nullptr; }

    void prepare(Rect area)
    {
        if (hasStep())
            model.layOut(area, camera);
    }

    std::optional<Point> pointed() const { return pointerInside ? std::optional(pointerAt) : std::nullopt; }
    int rankUnder(Point at) const { return hasStep() ? camera.rankUnder(at) : -1; }
    const GridChip* chipUnder(Point at) const { return controls.at(at); }
    const GridTarget* targetUnder(Point at) const
    {
        const auto found =
            std::find_if(targets.begin(), targets.end(), [at](const GridTarget& t) { return t.rect.contains(at); });
        return found == targets.end() ? nullptr : &*found;
    }

    std::optional<int> existing(std::optional<int> rank) const
    {
        return rank && *rank >= 0 && *rank < model.ranks() ? rank : std::nullopt;
    }
    /// Of several selected ranks the lead's groups would drown them; where ranks are asked for, groups would tell them.
    std::optional<int> litRank() const
    {
        if (selection.asksForRanks)
            return {};
        return existing(selection.ranks.size() > 1 ? selection.hoveredRank : selection.focusRank());
    }

    /// Cells travel from where they are now.
    void arrange(GridArrangement arrangement)
    {
        if (arrangement == model.arrangement())
            return;
        const GridLayout& layout = model.layout();
        mover.stop();
        if (hasStep() && layout.ranks() == model.ranks() && layout.columns() > 0)
            mover.start(layout, camera.transform());
        camera.fit();
        controls = {}; // of the old layout
        targets.clear();
        model.setArrangement(std::move(arrangement));
    }

    void seatAxes(AxisSeats seats) { arrange({.physical = false, .seats = std::move(seats)}); }

    bool hover(int rank)
    {
        const std::optional<int> now = rank >= 0 ? std::optional(rank) : std::nullopt;
        const bool changed = selection.hoveredRank != now;
        selection.hoveredRank = now;
        return changed;
    }

    /// Brings the selected rank into view if it is another one.
    bool revealed(bool changed)
    {
        if (changed && selection.selectedRank)
            camera.reveal(*selection.selectedRank);
        return changed;
    }

    bool selectGroupOf(sim::ProcessGroup kind)
    {
        const bool isNamed = kind != sim::ProcessGroup::dp || model.known().dataWord == "dp";
        return model.known().isKnown() && isNamed && selectGroup(selection, model.simulation()->mesh(), kind);
    }

    bool setLens(int lens)
    {
        const auto wanted = static_cast<GridLens>((lens + kGridLensCount) % kGridLensCount);
        const bool changed = wanted != model.lens();
        model.setLens(wanted);
        beforeNow.reset();
        return changed;
    }

    bool clicked(GridChip chip, bool shift)
    {
        switch (chip.kind) {
        case GridChip::Kind::lens:
            return setLens(chip.index);
        case GridChip::Kind::nextLens:
            return setLens(chip.index + (shift ? -1 : 1));
        case GridChip::Kind::arrangement:
            arrange({.physical = chip.index == 1, .seats = model.arrangement().seats});
            return true;
        case GridChip::Kind::automatic:
            seatAxes({});
            return true;
        case GridChip::Kind::axis: {
            const AxisSeats seats = model.choices().seats;
            seatAxes(shift ? oneOutwards(seats, chip.axis) : inNextPlace(seats, chip.axis));
            return true;
        }
        }
        return false;
    }

    std::string draggedAxis() const { return dragging && pressed ? pressed->axis : std::string(); }
    std::optional<GridControls::Drop> drop() const { return dragging ? controls.dropAt(pointerAt, draggedAxis()) : std::nullopt; }

    bool press(const PointerEvent& event)
    {
        if (event.button != PointerButton::left) {
            grabbed = event.at;
            return false;
        }
        if (const GridChip* chip = chipUnder(event.at)) {
            if (chip->kind != GridChip::Kind::axis)
                return clicked(*chip, event.shift);
            pressed = *chip;
            pressedAt = event.at;
            return false;
        }
        if (const GridTarget* target = targetUnder(event.at)) {
            std::vector<int> ranks = ranksOf(*target, model.layout());
            const int lead = ranks.empty() ? 0 : ranks.front();
            return selectAll(selection, std::move(ranks), lead);
        }
        const int rank = rankUnder(event.at);
        if (event.control && rank >= 0) {
            selection.toggleRank(rank);
            return true;
        }
        return event.control ? false : selectOne(selection, rank >= 0 ? std::optional(rank) : std::nullopt);
    }

    bool release(const PointerEvent& event)
    {
        grabbed.reset();
        if (!pressed)
            return false;
        const std::optional<GridControls::Drop> target = drop();
        const std::string axis = draggedAxis();
        const GridChip chip = *pressed;
        const bool wasDrag = dragging;
        pressed.reset();
        dragging = false;
        if (!wasDrag)
            return clicked(chip, event.shift);
        if (target)
            seatAxes(movedTo(model.choices().seats, axis, target->place, target->inside));
        return true;
    }

    bool move(const PointerEvent& event)
    {
        if (pressed) {
            dragging =
                dragging || std::max(std::abs(event.at.x - pressedAt.x), std::abs(event.at.y - pressedAt.y)) > kGridDragPixels;
            return dragging;
        }
        bool changed = false;
        if (grabbed) {
            changed = camera.scrollBy(grabbed->x - event.at.x, grabbed->y - event.at.y);
            grabbed = event.at;
        }
        return hover(rankUnder(event.at)) || changed;
    }
};

GridView::GridView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
GridView::~GridView() = default;

void GridView::take(const ShownStep& step, PictureModelPtr)
{
    Data& d = *m_data;
    const SimulationPtr& before = d.model.simulation();
    const bool sameShape = before && step.simulation && before->scenario().layout == step.simulation->scenario().layout &&
                           before->scenario().cluster.gpusPerNode == step.simulation->scenario().cluster.gpusPerNode;
    d.model.setStep(step);
    d.controls = {};
    d.targets.clear();
    if (!sameShape) {
        d.camera.fit();
        d.mover.stop();
    }
    if (step.simulation) // without one it waits for its own, and what is selected is the other pictures' as well
        d.selection.keepBelow(d.model.ranks());
}

void GridView::setNow(std::vector<RankNow> now)
{
    m_data->model.setNow(std::move(now));
}

void GridView::setMeasured(std::vector<MeasuredRank> measured)
{
    m_data->model.setMeasured(std::move(measured));
}

void GridView::setKnown(KnownGrid known)
{
    Data& d = *m_data;
    if (d.model.setKnown(std::move(known))) {
        d.controls = {};
        d.targets.clear();
        d.camera.fit();
        d.mover.stop();
    }
}

void GridView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

bool GridView::showNow()
{
    const GridLens before = lens();
    const bool changed = m_data->setLens(static_cast<int>(GridLens::now));
    if (changed)
        m_data->beforeNow = before;
    return changed;
}

bool GridView::leaveNow()
{
    return m_data->beforeNow && m_data->setLens(static_cast<int>(*m_data->beforeNow));
}

void GridView::setLens(GridLens lens)
{
    m_data->setLens(static_cast<int>(lens));
}

GridLens GridView::lens() const
{
    return m_data->model.lens();
}

void GridView::setArrangement(GridArrangement arrangement)
{
    m_data->arrange(std::move(arrangement));
}

const GridArrangement& GridView::arrangement() const
{
    return m_data->model.arrangement();
}

void GridView::setAnimated(bool animated)
{
    m_data->mover.setAnimated(animated);
}

void GridView::setClock(std::function<double()> clock)
{
    m_data->mover.setClock(std::move(clock));
}

std::string GridView::title() const
{
    return "Rank grid";
}

bool GridView::animating() const
{
    return m_data->mover.moving();
}

void GridView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.hasStep()) {
        drawEmpty(canvas, d.theme, "No ranks yet", hint());
        return;
    }
    d.model.setOnlyTold(isForAudience());
    d.prepare(canvas.area());
    d.model.read(d.selection);
    const GridFrame frame = d.model.frame(canvas.area());
    beginNumbers(d.pointed());
    d.targets = paintGrid(
        canvas,
        {*d.model.simulation(), d.model.layout(), d.model.reading(), d.model.tones(), d.theme, d.selection,
         d.model.groupsOf(d.litRank()), d.model.instants(), d.model.processOf(), d.model.waits(), frame, d.camera.cellsArea(),
         d.camera.transform(), d.mover.advance(d.model.ranks()), &numbers(),
         [simulation = d.model.simulation(), lens = d.model.lens()](int rank) { return becauseOfCell(simulation, lens, rank); },
         isForAudience()});
    const GridChip* hovered = d.pointerInside ? d.chipUnder(d.pointerAt) : nullptr;
    d.controls = paintControls(canvas, frame, d.theme, *d.model.simulation(), d.model.choices(),
                               {hovered, d.draggedAxis(), d.pointerAt, d.drop(), isForAudience()});
}

/// What a run does now is measured, and has no formula.
Becauses GridView::becauseOf(std::optional<Point> at) const
{
    const Data& d = *m_data;
    if (!d.hasStep() || d.model.live() != nullptr || d.model.measured() != nullptr)
        return {};
    const int under = at ? d.rankUnder(*at) : -1;
    const auto rank =
        at ? (under >= 0 && under < d.model.ranks() ? std::optional(under) : std::nullopt) : d.existing(d.selection.focusRank());
    return rank ? becauseOfCell(d.model.simulation(), d.model.lens(), *rank) : Becauses{};
}

bool GridView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.hasStep())
        return false;
    d.prepare(area);
    const GridChip* before = d.pointerInside ? d.chipUnder(d.pointerAt) : nullptr;
    const bool wasOnNumber = isNumberAt(d.pointed());
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    const bool overAnother =
        before != (d.pointerInside ? d.chipUnder(event.at) : nullptr) || wasOnNumber != isNumberAt(d.pointed());
    switch (event.kind) {
    case PointerEvent::Kind::leave:
        d.grabbed.reset();
        return d.hover(-1) || overAnother;
    case PointerEvent::Kind::move:
        return d.move(event) || overAnother;
    case PointerEvent::Kind::press:
        return (event.button != PointerButton::left || !askNumber(event.at)) && d.press(event);
    case PointerEvent::Kind::release:
        return d.release(event);
    case PointerEvent::Kind::doubleClick: {
        const int rank = d.rankUnder(event.at);
        if (rank < 0) // on a chip the second click counts as another one
            return d.chipUnder(event.at) != nullptr ? d.press(event) : d.targetUnder(event.at) == nullptr && d.camera.fit();
        return selectAll(d.selection, d.model.layout().ranksInBox(0, d.model.layout().placeOf(rank)), rank);
    }
    case PointerEvent::Kind::wheel: {
        bool changed = false;
        if (event.control)
            changed = d.camera.zoomAt(event.at, std::pow(static_cast<float>(kZoomStep), event.wheelY));
        else if (event.shift)
            changed = d.camera.scrollBy(-(event.wheelX + event.wheelY) * kScrollPixels, 0);
        else
            changed = d.camera.scrollBy(-event.wheelX * kScrollPixels, -event.wheelY * kScrollPixels);
        return d.hover(d.rankUnder(event.at)) || changed;
    }
    }
    return false;
}

bool GridView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.hasStep())
        return false;
    d.prepare(area);
    const Rect cells = d.camera.cellsArea();
    const Point centre{(cells.left + cells.right) / 2, (cells.top + cells.bottom) / 2};
    const Point at = d.pointerInside && cells.contains(d.pointerAt) ? d.pointerAt : centre;
    const int presses = fast ? kFastPresses : 1;
    const float panX = cells.width() * kGridPanShare * static_cast<float>(presses),
                panY = cells.height() * kGridPanShare * static_cast<float>(presses);
    switch (command) {
    case ViewCommand::zoomIn:
        return d.camera.zoomAt(at, std::pow(static_cast<float>(kZoomStep), static_cast<float>(presses)));
    case ViewCommand::zoomOut:
        return d.camera.zoomAt(at, std::pow(static_cast<float>(kZoomStep), -static_cast<float>(presses)));
    case ViewCommand::panLeft:
        return d.camera.scrollBy(-panX, 0);
    case ViewCommand::panRight:
        return d.camera.scrollBy(panX, 0);
    case ViewCommand::panUp:
        return d.camera.scrollBy(0, -panY);
    case ViewCommand::panDown:
        return d.camera.scrollBy(0, panY);
    case ViewCommand::focusSelection:
        return d.camera.focus(d.selection.focusRank());
    case ViewCommand::fitAll:
        return d.camera.fit();
    case ViewCommand::next:
        return d.revealed(selectNext(d.selection, d.model.ranks(), presses));
    case ViewCommand::previous:
        return d.revealed(selectNext(d.selection, d.model.ranks(), -presses));
    case ViewCommand::stepLeft:
        return d.revealed(selectBeside(d.selection, d.model.layout(), -1, 0, presses));
    case ViewCommand::stepRight:
        return d.revealed(selectBeside(d.selection, d.model.layout(), 1, 0, presses));
    case ViewCommand::stepUp:
        return d.revealed(selectBeside(d.selection, d.model.layout(), 0, -1, presses));
    case ViewCommand::stepDown:
        return d.revealed(selectBeside(d.selection, d.model.layout(), 0, 1, presses));
    case ViewCommand::mark:
        return d.selection.hoveredRank && selectOne(d.selection, d.selection.hoveredRank);
    case ViewCommand::clear: {
        const Selection before = d.selection;
        d.selection.clear();
        return !(before == d.selection);
    }
    case ViewCommand::because:
        askBecause(d.pointed(), cells);
        return false;
    case ViewCommand::lensGroups:
    case ViewCommand::lensMemory:
    case ViewCommand::lensBusy:
    case ViewCommand::lensSent:
    case ViewCommand::lensBubble:
    case ViewCommand::lensStraggler:
    case ViewCommand::lensNow:
        return d.setLens(static_cast<int>(command) - static_cast<int>(ViewCommand::lensGroups));
    case ViewCommand::switchArrangement:
        if (!d.model.known().areNodesKnown)
            return false;
        d.arrange({.physical = !d.model.arrangement().physical, .seats = d.model.arrangement().seats});
        return true;
    case ViewCommand::selectTpGroup:
        return d.selectGroupOf(sim::ProcessGroup::tp);
    case ViewCommand::selectCpGroup:
        return d.selectGroupOf(sim::ProcessGroup::cp);
    case ViewCommand::selectPpGroup:
        return d.selectGroupOf(sim::ProcessGroup::pp);
    case ViewCommand::selectDpGroup:
        return d.selectGroupOf(sim::ProcessGroup::dp);
    case ViewCommand::selectEpGroup:
        return d.selectGroupOf(sim::ProcessGroup::ep);
    default: // other views'
        return false;
    }
}

CursorShape GridView::cursor() const
{
    const Data& d = *m_data;
    if (d.grabbed || d.dragging)
        return CursorShape::grab;
    const bool clickable = d.pointerInside && (d.chipUnder(d.pointerAt) != nullptr || d.targetUnder(d.pointerAt) != nullptr ||
                                               d.rankUnder(d.pointerAt) >= 0 || isNumberAt(d.pointed()));
    return clickable ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string GridView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.hasStep() || !d.pointerInside || d.grabbed || d.dragging)
        return {};
    if (isNumberAt(d.pointed()))
        return kAskNumber;
    if (const GridChip* chip = d.chipUnder(d.pointerAt))
        return chip->tip;
    if (const GridTarget* target = d.targetUnder(d.pointerAt))
        return target->name + "\n" +
               sim::countedText(static_cast<std::int64_t>(ranksOf(*target, d.model.layout()).size()), "rank") +
               "; click: select them";
    const int rank = d.rankUnder(d.pointerAt);
    if (rank < 0 || rank >= d.model.ranks())
        return {};
    return rankTip(*d.model.simulation(), d.model.reading(), d.model.live(), rank) +
           (d.model.live() == nullptr && d.model.measured() == nullptr ? askHint() : std::string());
}

} // namespace app
