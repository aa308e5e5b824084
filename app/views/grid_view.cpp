#include "app/views/grid_view.h"

#include "app/views/grid_controls.h"
#include "app/views/grid_model.h"
#include "app/views/grid_overlays.h"
#include "app/views/grid_painter.h"
#include "app/views/labels.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace app {
namespace {

constexpr float kZoomStep = 1.25F;      ///< a notch or key press
constexpr float kScrollPixels = 60;     ///< a notch
constexpr float kPanShare = 0.12F;      ///< of the view, a key press
constexpr int kFastPresses = 4;         ///< Shift
constexpr float kDragPixels = 4;        ///< less is a click
constexpr double kMotionSeconds = 0.18; ///< of cells on their way to a new arrangement

double machineSeconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Starts and ends gently.
float eased(double share)
{
    return static_cast<float>(share * share * (3 - 2 * share));
}

} // namespace

struct GridView::Data {
    Selection& selection;
    Theme theme;
    std::string hint = "Open a scenario, or choose one in the gallery.";
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

    bool animated = true;
    std::function<double()> clock = machineSeconds;
    std::optional<GridMotion> motion;
    double motionBegan = 0;

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    bool hasStep() const { return model.simulation() != nullptr; }

    void prepare(Rect area)
    {
        if (hasStep())
            model.layOut(area, camera);
    }

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
    /// Of several selected ranks the lead's groups would drown them.
    std::optional<int> litRank() const
    {
        return existing(selection.ranks.size() > 1 ? selection.hoveredRank : selection.focusRank());
    }

    /// Cells travel from where they are now.
    void arrange(GridArrangement arrangement)
    {
        if (arrangement == model.arrangement())
            return;
        const GridLayout& layout = model.layout();
        motion.reset();
        if (animated && hasStep() && layout.ranks() == model.ranks() && layout.columns() > 0) {
            motion.emplace();
            const GridTransform transform = camera.transform();
            for (int rank = 0; rank < layout.ranks(); ++rank)
                motion->from.push_back(transform.rect(layout.cell(rank)));
            motionBegan = clock();
        }
        camera.fit();
        model.setArrangement(std::move(arrangement));
    }

    void advanceMotion()
    {
        if (!motion)
            return;
        const double share = (clock() - motionBegan) / kMotionSeconds;
        if (!(share < 1) || motion->from.size() != static_cast<std::size_t>(model.ranks()))
            motion.reset();
        else
            motion->progress = eased(std::max(0.0, share));
    }

    void seatAxes(AxisSeats seats) { arrange({.physical = false, .seats = std::move(seats)}); }

    bool select(std::optional<int> rank)
    {
        const Selection before = selection;
        selection.selectRank(rank);
        return !(before == selection);
    }

    bool selectAll(std::vector<int> ranks, int lead)
    {
        const Selection before = selection;
        if (!ranks.empty())
            selection.selectRanks(std::move(ranks), lead);
        return !(before == selection);
    }

    bool selectGroup(sim::GroupKind kind)
    {
        const std::optional<int> rank = existing(selection.focusRank());
        const sim::Mesh& mesh = model.simulation()->mesh();
        if (!rank || mesh.groupOf(kind, *rank) < 0)
            return false;
        return selectAll(mesh.members(kind, mesh.groupOf(kind, *rank)), *rank);
    }

    bool hover(int rank)
    {
        const std::optional<int> now = rank >= 0 ? std::optional(rank) : std::nullopt;
        const bool changed = selection.hoveredRank != now;
        selection.hoveredRank = now;
        return changed;
    }

    /// By number.
    bool step(int by)
    {
        const int last = model.ranks() - 1;
        const int from = selection.selectedRank.value_or(by > 0 ? -1 : last + 1);
        const int rank = std::clamp(from + by, 0, last);
        const bool changed = select(rank);
        camera.reveal(rank);
        return changed;
    }

    /// To the cell beside, whatever its number.
    bool walk(int right, int down, int steps)
    {
        const GridLayout& layout = model.layout();
        const std::optional<int> from = existing(selection.selectedRank);
        int rank = from.value_or(-1);
        if (!from)
            for (int place = 0; place < layout.places() && rank < 0; ++place)
                rank = layout.rankOf(place);
        else
            for (int c = layout.column(rank) + right, r = layout.row(rank) + down;
                 steps > 0 && c >= 0 && c < layout.columns() && r >= 0 && r < layout.rows(); c += right, r += down)
                if (const int there = layout.rankAt(c, r); there >= 0) {
                    rank = there;
                    --steps;
                }
        const bool changed = rank >= 0 && select(rank);
        if (changed)
            camera.reveal(rank);
        return changed;
    }

    bool setLens(int lens)
    {
        const auto wanted = static_cast<GridLens>((lens + kGridLensCount) % kGridLensCount);
        const bool changed = wanted != model.lens();
        model.setLens(wanted);
        return changed;
    }

    bool clicked(const GridChip& chip, bool shift)
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
            const std::string& axis = seats[static_cast<std::size_t>(chip.index)].axis;
            seatAxes(shift ? oneOutwards(seats, axis) : inNextPlace(seats, axis));
            return true;
        }
        }
        return false;
    }

    std::string draggedAxis() const
    {
        return dragging && pressed ? model.choices().seats[static_cast<std::size_t>(pressed->index)].axis : std::string();
    }
    std::optional<GridControls::Drop> drop() const
    {
        return dragging ? controls.dropAt(pointerAt, model.choices().seats, draggedAxis()) : std::nullopt;
    }

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
            return selectAll(std::move(ranks), lead);
        }
        const int rank = rankUnder(event.at);
        if (event.control && rank >= 0) {
            selection.toggleRank(rank);
            return true;
        }
        return event.control ? false : select(rank >= 0 ? std::optional(rank) : std::nullopt);
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
            dragging = dragging || std::max(std::abs(event.at.x - pressedAt.x), std::abs(event.at.y - pressedAt.y)) > kDragPixels;
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

void GridView::setStep(SimulationPtr simulation, TracePtr trace)
{
    Data& d = *m_data;
    const SimulationPtr& before = d.model.simulation();
    const bool sameShape = before && simulation && before->scenario().layout == simulation->scenario().layout &&
                           before->scenario().cluster.gpusPerNode == simulation->scenario().cluster.gpusPerNode;
    d.model.setStep(std::move(simulation), std::move(trace));
    d.controls = {};
    d.targets.clear();
    if (!sameShape) {
        d.camera.fit();
        d.motion.reset();
    }
    d.selection.keepBelow(d.model.ranks());
}

void GridView::setNow(std::vector<RankNow> now)
{
    m_data->model.setNow(std::move(now));
}

void GridView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

void GridView::setHint(std::string hint)
{
    m_data->hint = std::move(hint);
}

void GridView::setLens(GridLens lens)
{
    m_data->model.setLens(lens);
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
    m_data->animated = animated;
    if (!animated)
        m_data->motion.reset();
}

void GridView::setClock(std::function<double()> clock)
{
    m_data->clock = std::move(clock);
}

std::string GridView::title() const
{
    return "Rank grid";
}

bool GridView::animating() const
{
    return m_data->motion.has_value();
}

void GridView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.hasStep()) {
        drawEmpty(canvas, d.theme, "No ranks yet", d.hint);
        return;
    }
    d.prepare(canvas.area());
    d.model.read(d.selection);
    d.advanceMotion();
    const GridFrame frame(canvas.area());
    d.targets = paintGrid(canvas, {*d.model.simulation(), d.model.layout(), d.model.reading(), d.model.tones(), d.theme,
                                   d.selection, d.model.groupsOf(d.litRank()), d.model.instants(), d.model.processOf(), frame,
                                   d.camera.cellsArea(), d.camera.transform(), d.motion ? &*d.motion : nullptr});
    const GridChip* hovered = d.pointerInside ? d.chipUnder(d.pointerAt) : nullptr;
    d.controls = paintControls(canvas, frame, d.theme, *d.model.simulation(), d.model.choices(),
                               {hovered, d.draggedAxis(), d.pointerAt, d.drop()});
}

bool GridView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.hasStep())
        return false;
    d.prepare(area);
    const GridChip* before = d.pointerInside ? d.chipUnder(d.pointerAt) : nullptr;
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    const bool overAnother = before != (d.pointerInside ? d.chipUnder(event.at) : nullptr);
    switch (event.kind) {
    case PointerEvent::Kind::leave:
        d.grabbed.reset();
        return d.hover(-1) || overAnother;
    case PointerEvent::Kind::move:
        return d.move(event) || overAnother;
    case PointerEvent::Kind::press:
        return d.press(event);
    case PointerEvent::Kind::release:
        return d.release(event);
    case PointerEvent::Kind::doubleClick: {
        const int rank = d.rankUnder(event.at);
        if (rank < 0) // on a chip the second click counts as another one
            return d.chipUnder(event.at) != nullptr ? d.press(event) : d.camera.fit();
        return d.selectAll(d.model.layout().ranksInBox(0, d.model.layout().placeOf(rank)), rank);
    }
    case PointerEvent::Kind::wheel: {
        bool changed = false;
        if (event.control)
            changed = d.camera.zoomAt(event.at, std::pow(kZoomStep, event.wheelY));
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
    const float panX = cells.width() * kPanShare * static_cast<float>(presses),
                panY = cells.height() * kPanShare * static_cast<float>(presses);
    switch (command) {
    case ViewCommand::zoomIn:
        return d.camera.zoomAt(at, std::pow(kZoomStep, static_cast<float>(presses)));
    case ViewCommand::zoomOut:
        return d.camera.zoomAt(at, std::pow(kZoomStep, -static_cast<float>(presses)));
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
        return d.step(presses);
    case ViewCommand::previous:
        return d.step(-presses);
    case ViewCommand::stepLeft:
        return d.walk(-1, 0, presses);
    case ViewCommand::stepRight:
        return d.walk(1, 0, presses);
    case ViewCommand::stepUp:
        return d.walk(0, -1, presses);
    case ViewCommand::stepDown:
        return d.walk(0, 1, presses);
    case ViewCommand::mark:
        return d.selection.hoveredRank && d.select(d.selection.hoveredRank);
    case ViewCommand::clear:
        return d.select(std::nullopt);
    case ViewCommand::lensGroups:
    case ViewCommand::lensMemory:
    case ViewCommand::lensBusy:
    case ViewCommand::lensSent:
    case ViewCommand::lensWaiting:
    case ViewCommand::lensStraggler:
    case ViewCommand::lensNow:
        return d.setLens(static_cast<int>(command) - static_cast<int>(ViewCommand::lensGroups));
    case ViewCommand::switchArrangement:
        d.arrange({.physical = !d.model.arrangement().physical, .seats = d.model.arrangement().seats});
        return true;
    case ViewCommand::selectTpGroup:
        return d.selectGroup(sim::GroupKind::tp);
    case ViewCommand::selectCpGroup:
        return d.selectGroup(sim::GroupKind::cp);
    case ViewCommand::selectPpGroup:
        return d.selectGroup(sim::GroupKind::pp);
    case ViewCommand::selectDpGroup:
        return d.selectGroup(sim::GroupKind::dp);
    case ViewCommand::selectEpGroup:
        return d.selectGroup(sim::GroupKind::ep);
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
                                               d.rankUnder(d.pointerAt) >= 0);
    return clickable ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string GridView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.hasStep() || !d.pointerInside || d.grabbed || d.dragging)
        return {};
    if (const GridChip* chip = d.chipUnder(d.pointerAt))
        return chip->tip;
    if (const GridTarget* target = d.targetUnder(d.pointerAt))
        return target->name + "\n" + countText(static_cast<std::int64_t>(ranksOf(*target, d.model.layout()).size())) +
               " ranks; click: select them";
    const int rank = d.rankUnder(d.pointerAt);
    if (rank < 0)
        return {};
    const sim::Simulation& simulation = *d.model.simulation();
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
    if (const std::vector<RankNow>* live = d.model.live()) {
        const RankNow& now = (*live)[static_cast<std::size_t>(rank)];
        return text + "\n" + bytesText(static_cast<double>(now.bytes)) + " now, at most " +
               bytesText(static_cast<double>(now.peakBytes)) + (now.doing.empty() ? "" : "\nlast action " + now.doing);
    }
    constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
    text += "\n" + bytesText(static_cast<double>(simulation.memoryOfClass(simulation.classOf(rank)).total())) + " of " +
            bytesText(simulation.scenario().cluster.gpu.memoryGib * kBytesPerGib) + " at peak";
    const GridReading& reading = d.model.reading();
    if (reading.lens != GridLens::memory && !reading.tones.empty())
        if (const std::string reads = reading.sentence(reading.unitOf(simulation, rank)); !reads.empty())
            text += "\n" + reads;
    return text;
}

} // namespace app
