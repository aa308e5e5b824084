#include "app/views/order/order_editor_view.h"

#include "app/step/time_zoom.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/time_ruler.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/order/order_verdict.h"
#include "sim/simulate/action_class.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace app {
namespace {

constexpr float kLabelledAction = 13, kGappedAction = 6;
constexpr float kVerdictHeight = 66, kShortVerdict = 22, kRoomForVerdict = 190; ///< in a lower picture its first line is told

} // namespace

struct OrderEditorView::Data {
    enum class Drag : std::uint8_t { none, pressed, action, pan };

    Theme theme;
    std::optional<OrderDraft> draft;
    std::vector<std::vector<std::vector<sim::Action>>> past; ///< orders before each move
    std::optional<ActionPlace> selected, hovered;
    TimeWindow window;
    RowStack stack;
    float scrollY = 0;
    Rect area{};

    Drag drag = Drag::none;
    Point pressedAt{}, pointerAt{};
    bool pointerInside = false;
    TimeWindow draggedFrom;
    float draggedScroll = 0;
    // What a drag moves, as it was when it began: the picture moves under the pointer, the aim must not.
    std::vector<std::vector<sim::Action>> orderAtPress;
    sim::ScheduleTimes timesAtPress;
    ActionPlace placeAtPress;

    explicit Data(const Theme& t) : theme(t) {}

    std::optional<Point> pointed() const { return pointerInside ? std::optional(pointerAt) : std::nullopt; }
    TimelineFrame frame() const
    {
        const float story = area.height() < kRoomForVerdict ? kShortVerdict : kVerdictHeight;
        return {area, {.story = story, .overview = false}};
    }
    TimeAxis axis() const
    {
        const Rect rows = frame().rows;
        return {window.beginNs, window.endNs, rows.left, rows.right};
    }
    void prepare(Rect newArea)
    {
        area = newArea;
        stack = stackRows(std::vector<RowNeed>(draft->schedule().actions.size(), RowNeed{1, false}), frame().rows.height());
        scrollY = std::clamp(scrollY, 0.0F, std::max(0.0F, stack.height - frame().rows.height()));
    }
    /// Room for the longer of the two orders, so that the axis stays while an action is dragged.
    double lengthNs() const
    {
        double last = draft->originalTimes().makespan;
        for (const auto& ends : draft->times().end)
            last = std::max(last, ends.empty() ? 0 : ends.back());
        return last;
    }
    bool show(const TimeWindow& next)
    {
        const bool changed = !(next == window);
        window = next;
        return changed;
    }
    void fitLength()
    {
        const bool all = window.showsAll();
        const TimeWindow whole = TimeWindow::all(lengthNs());
        if (whole.lengthNs != window.lengthNs && drag == Drag::none)
            window = all ? whole : whole.to(window.beginNs, window.endNs);
    }
    bool scrollBy(float pixels)
    {
        const float before = scrollY;
        scrollY = std::clamp(scrollY + pixels, 0.0F, std::max(0.0F, stack.height - frame().rows.height()));
        return before != scrollY;
    }

    Rect lane(std::size_t rank) const
    {
        const Rect rows = frame().rows;
        const float top = rows.top + stack.rows[rank].top - scrollY;
        return {rows.left, top, rows.right, top + stack.rows[rank].laneHeight};
    }
    /// Of an overlapped block the forward has the upper and the backward the lower half.
    Rect boxOf(ActionPlace place) const
    {
        const auto& list = draft->schedule().actions[place.rank];
        Rect box = lane(place.rank);
        const TimeAxis a = axis();
        box.left = std::floor(a.x(draft->times().start[place.rank][place.index]) + 0.5F);
        box.right = std::max(box.left + 1, std::floor(a.x(draft->times().end[place.rank][place.index]) + 0.5F));
        const float middle = std::floor((box.top + box.bottom) / 2);
        if (list[place.index].overlapsNext)
            box.bottom = middle;
        else if (place.index > 0 && list[place.index - 1].overlapsNext)
            box.top = middle;
        return box;
    }
    Rect boxOfBlock(ActionPlace place) const
    {
        const Rect first = boxOf(place), row = lane(place.rank);
        return {first.left, row.top, first.right, row.bottom};
    }
    std::optional<ActionPlace> placeAt(Point at) const
    {
        const Rect rows = frame().rows;
        if (!rows.contains(at))
            return std::nullopt;
        const int row = stack.rowAt(at.y - rows.top + scrollY);
        if (row < 0)
            return std::nullopt;
        const auto rank = static_cast<std::size_t>(row);
        const double time = axis().ns(at.x);
        const auto& ends = draft->times().end[rank];
        const auto index = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), time) - ends.begin());
        if (index >= ends.size() || draft->times().start[rank][index] > time)
            return std::nullopt;
        return draft->blockOf({rank, index});
    }
    std::optional<ActionPlace> placeOf(const sim::Action& wanted) const
    {
        for (std::size_t rank = 0; rank < draft->schedule().actions.size(); ++rank) {
            const auto& list = draft->schedule().actions[rank];
            for (std::size_t i = 0; i < list.size(); ++i)
                if (list[i].kind == wanted.kind && list[i].stage == wanted.stage && list[i].microbatch == wanted.microbatch)
                    return ActionPlace{rank, i};
        }
        return std::nullopt;
    }

    bool moveSelected(bool later)
    {
        if (!selected)
            return false;
        auto before = draft->schedule().actions;
        const ActionPlace next = later ? draft->moveLater(*selected) : draft->moveEarlier(*selected);
        if (next == *selected)
            return false;
        past.push_back(std::move(before));
        selected = next;
        fitLength();
        return true;
    }
    /// The dragged block goes before the first action of its row whose middle lies right of the pointer.
    void dragTo(float x)
    {
        const double time = axis().ns(x);
        const auto& starts = timesAtPress.start[placeAtPress.rank];
        const auto& ends = timesAtPress.end[placeAtPress.rank];
        draft->setOrder(orderAtPress);
        const std::size_t size = draft->blockSize(placeAtPress);
        std::size_t to = 0;
        for (std::size_t i = 0; i < starts.size(); ++i)
            if ((i < placeAtPress.index || i >= placeAtPress.index + size) && (starts[i] + ends[i]) / 2 < time)
                ++to;
        selected = draft->move(placeAtPress, to);
    }
    bool select(std::ptrdiff_t by)
    {
        if (!selected) {
            selected = ActionPlace{0, 0};
            keepInSight();
            return true;
        }
        const auto& list = draft->schedule().actions[selected->rank];
        ActionPlace next = *selected;
        for (std::ptrdiff_t i = 0; i < std::abs(by); ++i) {
            if (by > 0 && next.index + draft->blockSize(next) < list.size())
                next.index += draft->blockSize(next);
            else if (by < 0 && next.index > 0)
                next = draft->blockOf({next.rank, next.index - 1});
        }
        const bool changed = !(next == *selected);
        selected = next;
        keepInSight();
        return changed;
    }
    /// The action of the next row that runs at about the same time.
    bool selectRow(std::ptrdiff_t by)
    {
        if (!selected)
            return select(0);
        const auto last = static_cast<std::ptrdiff_t>(draft->schedule().actions.size()) - 1;
        const auto rank =
            static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(selected->rank) + by, 0, last));
        if (rank == selected->rank || draft->schedule().actions[rank].empty())
            return false;
        const auto& starts = draft->times().start[rank];
        const double time = draft->times().start[selected->rank][selected->index];
        const auto after = std::upper_bound(starts.begin(), starts.end(), time) - starts.begin();
        selected = draft->blockOf({rank, static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - 1, 0))});
        keepInSight();
        return true;
    }
    void keepInSight()
    {
        const double start = draft->times().start[selected->rank][selected->index];
        const double end = draft->times().end[selected->rank][selected->index];
        if (start < window.beginNs || end > window.endNs)
            show(window.moved((start + end) / 2 - (window.beginNs + window.endNs) / 2));
        const RowPlace& row = stack.rows[selected->rank];
        scrollY = std::clamp(scrollY, row.bottom - frame().rows.height(), row.top);
        scrollY = std::max(scrollY, 0.0F);
    }

    void paint(Canvas&, DrawnNumbers&) const;
    void paintRow(Canvas&, std::size_t rank, const std::vector<Tick>&) const;
    std::string labelOf(Canvas&, ActionPlace, bool hasChunks) const;
    void paintAction(Canvas&, ActionPlace) const;
    void paintCycle(Canvas&) const;
};

void OrderEditorView::Data::paint(Canvas& canvas, DrawnNumbers& numbers) const
{
    const TimelineFrame f = frame();
    canvas.fillRect(canvas.area(), theme.canvas);
    paintOrderVerdict(canvas, theme, *draft, f, numbers,
                      [this](OrderDraft::VerdictNumber number) { return draft ? becauseOfVerdict(*draft, number) : Becauses{}; });
    const std::vector<Tick> marks = ticks(axis(), kTickPixels);
    paintTimeRuler(canvas, theme, axis(), frame().ruler, {}, marks);
    for (std::size_t rank = 0; rank < stack.rows.size(); ++rank) {
        const Rect row = lane(rank);
        if (row.bottom > f.rows.top && row.top < f.rows.bottom)
            paintRow(canvas, rank, marks);
    }
    canvas.pushClip(f.rows);
    const float endX = std::floor(axis().x(draft->originalTimes().makespan));
    canvas.line({endX, f.rows.top}, {endX, f.rows.bottom}, theme.mutedText, 1, LineStyle::dashed);
    paintCycle(canvas);
    if (hovered && drag == Drag::none && !(hovered == selected))
        canvas.strokeRect(boxOfBlock(*hovered), theme.selection, 1);
    if (selected) {
        const Rect box = boxOfBlock(*selected);
        canvas.strokeRect({box.left - 1, box.top - 1, box.right + 1, box.bottom + 1}, theme.selection, 2);
    }
    canvas.popClip();
}

void OrderEditorView::Data::paintRow(Canvas& canvas, std::size_t rank, const std::vector<Tick>& marks) const
{
    const TimelineFrame f = frame();
    const Rect row = lane(rank);
    const std::string number = std::to_string(rank);
    const bool changed = draft->schedule().actions[rank] != draft->original().actions[rank];
    const FontFace face = row.height() >= canvas.textHeight(FontFace::body) ? FontFace::body : FontFace::small;
    const std::string name =
        changed ? fitting(canvas, {"pp " + number + " · changed", "pp " + number, number}, f.gutter.width(), face)
                : fitting(canvas, {"pp " + number, number}, f.gutter.width(), face);
    canvas.pushClip({area.left, f.rows.top, f.rows.right, f.rows.bottom});
    const float height = canvas.textHeight(face), top = std::floor((row.top + row.bottom - height) / 2);
    if (top >= f.rows.top - 1 && top + height <= f.rows.bottom + 1)
        canvas.text({f.gutter.left, top}, name, changed ? theme.accent : theme.text, face);
    canvas.popClip();

    canvas.pushClip(f.rows);
    canvas.fillRect(row, mix(theme.canvas, theme.text, 0.045F));
    for (const Tick& tick : marks)
        if (tick.major)
            if (const float x = std::floor(axis().x(static_cast<double>(tick.ns))); x >= row.left && x < row.right)
                canvas.fillRect({x, row.top, x + 1, row.bottom}, mix(theme.canvas, theme.text, 0.11F));
    const auto& starts = draft->times().start[rank];
    const auto& ends = draft->times().end[rank];
    const auto first = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), window.beginNs) - ends.begin());
    for (std::size_t i = first; i < starts.size() && starts[i] < window.endNs; ++i)
        paintAction(canvas, {rank, i});
    canvas.popClip();
}

/// What fits all actions as long as this one, whatever their micro-batch and their place between pixels.
std::string OrderEditorView::Data::labelOf(Canvas& canvas, ActionPlace place, bool hasChunks) const
{
    const sim::Schedule& schedule = draft->schedule();
    const auto texts = [&](const sim::Action& action) {
        const std::string brief = sim::actionName(action, schedule.slices);
        return hasChunks ? std::vector{sim::actionName(action, schedule.slices, true), brief} : std::vector{brief};
    };
    const sim::Action& action = schedule.actions[place.rank][place.index];
    sim::Action last = action;
    last.microbatch = schedule.microbatches - 1;
    const std::vector<std::string> own = texts(action), widest = texts(last);
    const double ns = draft->times().end[place.rank][place.index] - draft->times().start[place.rank][place.index];
    constexpr float kAroundText = 3;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (!fittingEvenly(canvas, {widest[i]}, static_cast<float>(ns / axis().nsPerPixel()) - kAroundText, FontFace::small)
                 .empty())
            return own[i];
    return {};
}

void OrderEditorView::Data::paintAction(Canvas& canvas, ActionPlace place) const
{
    const sim::Schedule& schedule = draft->schedule();
    const sim::Action& action = schedule.actions[place.rank][place.index];
    const sim::OpClass opClass = sim::opClassOf(action.kind);
    Rect box = boxOf(place);
    const Rect rows = frame().rows;
    box.left = std::max(box.left, rows.left);
    box.right = std::min(box.right, rows.right);
    if (box.right - box.left >= kGappedAction)
        box.right -= 1;
    const Color text = theme.label(opClass);
    const Color away = luminance(text) > 0.5 ? Color::rgb(0x000000) : Color::rgb(0xFFFFFF);
    constexpr float kOddShade = 0.07F, kLastChunkShade = 0.34F;
    const auto chunks = schedule.stagesOfRank(static_cast<int>(place.rank));
    const auto chunk = static_cast<float>(std::find(chunks.begin(), chunks.end(), action.stage) - chunks.begin());
    const float shade = chunks.size() > 1 ? kLastChunkShade * chunk / static_cast<float>(chunks.size() - 1) : 0.0F;
    const Color fill = mix(theme.fill(opClass), away, shade);
    canvas.fillRect(box, action.microbatch % 2 == 1 ? mix(fill, away, kOddShade) : fill);
    const std::string name = sim::actionText(action, schedule.slices);
    const float height = canvas.textHeight(FontFace::small), top = std::floor((box.top + box.bottom - height) / 2);
    if (box.width() >= kLabelledAction && top >= rows.top - 1 && top + height <= rows.bottom + 1) // as names of rows
        textInside(canvas, box, labelOf(canvas, place, chunks.size() > 1), text, FontFace::small, Align::center);
    if (canvas.wantsNodes())
        canvas.node({.id = (static_cast<std::uint64_t>(place.rank) << 32) | place.index,
                     .role = "action",
                     .name = name,
                     .rect = box,
                     .selected = selected == draft->blockOf(place)});
}

/// Ranks that wait for each other: from each blocked action to the one that it needs.
void OrderEditorView::Data::paintCycle(Canvas& canvas) const
{
    for (const sim::Wait& wait : draft->cycle()) {
        const auto blocked = placeOf(wait.blocked), needed = placeOf(wait.needed);
        if (!blocked || !needed)
            continue;
        const Rect from = boxOf(*blocked), to = boxOf(*needed);
        const Point start{(from.left + from.right) / 2, (from.top + from.bottom) / 2};
        const Point end{(to.left + to.right) / 2, (to.top + to.bottom) / 2};
        // Bowed to the side, so that two ranks that wait for each other show two arrows.
        const float length = std::max(1.0F, std::hypot(end.x - start.x, end.y - start.y)), bow = std::min(24.0F, length / 4);
        const Point aside{-(end.y - start.y) / length * bow, (end.x - start.x) / length * bow};
        std::vector<Point> curve;
        constexpr int kPieces = 16;
        for (int i = 0; i <= kPieces; ++i) {
            const float t = static_cast<float>(i) / kPieces, side = 4 * t * (1 - t);
            curve.push_back({start.x + (end.x - start.x) * t + aside.x * side, start.y + (end.y - start.y) * t + aside.y * side});
        }
        canvas.polyline(curve, theme.canvas, 5);
        canvas.polyline(curve, theme.error, 2.5F);
        const Point before = curve[kPieces - 2];
        const float dx = end.x - before.x, dy = end.y - before.y, tip = std::max(1.0F, std::hypot(dx, dy));
        const Point along{dx / tip * 8, dy / tip * 8}, across{-dy / tip * 5, dx / tip * 5};
        canvas.fillConvex({{end.x, end.y},
                           {end.x - along.x + across.x, end.y - along.y + across.y},
                           {end.x - along.x - across.x, end.y - along.y - across.y}},
                          theme.error);
        canvas.strokeRect(from, theme.error, 2);
        canvas.strokeRect(to, theme.error, 2, LineStyle::dashed);
    }
}

OrderEditorView::OrderEditorView(const Theme& theme) : m_data(std::make_unique<Data>(theme)) {}
OrderEditorView::~OrderEditorView() = default;

void OrderEditorView::setDraft(std::optional<OrderDraft> draft)
{
    Data& d = *m_data;
    d.draft.reset(); // an OrderDraft can be made, not assigned
    if (draft)
        d.draft.emplace(std::move(*draft));
    d.past.clear();
    d.selected.reset();
    d.hovered.reset();
    d.drag = Data::Drag::none;
    d.scrollY = 0;
    if (d.draft)
        d.window = TimeWindow::all(d.lengthNs());
}

void OrderEditorView::goOn(OrderDraft draft)
{
    auto past = std::move(m_data->past);
    draft.setOrder(m_data->draft->schedule().actions);
    setDraft(std::move(draft));
    m_data->past = std::move(past);
}

const OrderDraft* OrderEditorView::draft() const
{
    return m_data->draft ? &*m_data->draft : nullptr;
}

bool OrderEditorView::canTakeBack() const
{
    return !m_data->past.empty();
}

bool OrderEditorView::takeBack()
{
    Data& d = *m_data;
    if (!d.draft || d.past.empty())
        return false;
    d.draft->setOrder(d.past.back());
    d.past.pop_back();
    d.selected.reset();
    d.fitLength();
    return true;
}

std::optional<ActionPlace> OrderEditorView::selected() const
{
    return m_data->selected;
}

void OrderEditorView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

std::string OrderEditorView::title() const
{
    return "Order of actions";
}

void OrderEditorView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.draft) {
        drawEmpty(canvas, d.theme, "No schedule", "Open a scenario with a pipeline.");
        return;
    }
    d.prepare(canvas.area());
    beginNumbers(d.pointed());
    d.paint(canvas, numbers());
}

Becauses OrderEditorView::becauseOf(std::optional<Point> at) const
{
    const Data& d = *m_data;
    if (!d.draft)
        return {};
    const auto place = at ? d.hovered : d.selected;
    if (place)
        return becauseOfAction(*d.draft, *place);
    return at ? Becauses{} : becauseOfVerdict(*d.draft, OrderDraft::VerdictNumber::makespan);
}

bool OrderEditorView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.draft)
        return false;
    d.prepare(area);
    const bool wasOnNumber = isNumberAt(d.pointed());
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    switch (event.kind) {
    case PointerEvent::Kind::move: {
        if (d.drag == Data::Drag::pressed && std::abs(event.at.x - d.pressedAt.x) >= kDragPixels)
            d.drag = Data::Drag::action;
        if (d.drag == Data::Drag::action) {
            d.dragTo(event.at.x);
            return true;
        }
        if (d.drag == Data::Drag::pan) {
            const double moved = static_cast<double>(d.pressedAt.x - event.at.x) * d.axis().nsPerPixel();
            const bool shown = d.show(d.draggedFrom.moved(moved));
            return d.scrollBy(d.draggedScroll + d.pressedAt.y - event.at.y - d.scrollY) || shown;
        }
        const auto before = std::exchange(d.hovered, d.placeAt(event.at));
        return before != d.hovered || wasOnNumber != isNumberAt(d.pointed());
    }
    case PointerEvent::Kind::press: {
        if (event.button == PointerButton::left && askNumber(event.at))
            return false;
        const auto place = d.placeAt(event.at);
        d.pressedAt = event.at;
        d.draggedFrom = d.window;
        d.draggedScroll = d.scrollY;
        if (event.button != PointerButton::left || event.shift || !place) {
            d.drag = Data::Drag::pan;
            return false;
        }
        d.drag = Data::Drag::pressed;
        d.selected = d.hovered = place;
        d.placeAtPress = *place;
        d.orderAtPress = d.draft->schedule().actions;
        d.timesAtPress = d.draft->times();
        return true;
    }
    case PointerEvent::Kind::release: {
        const bool moved = d.drag == Data::Drag::action && d.draft->schedule().actions != d.orderAtPress;
        if (moved)
            d.past.push_back(std::move(d.orderAtPress));
        d.drag = Data::Drag::none;
        d.fitLength();
        d.hovered = d.placeAt(event.at);
        return true;
    }
    case PointerEvent::Kind::doubleClick:
        return false;
    case PointerEvent::Kind::leave:
        return std::exchange(d.hovered, std::nullopt).has_value() || wasOnNumber;
    case PointerEvent::Kind::wheel: {
        const Rect rows = d.frame().rows;
        if (event.control) {
            const double share = std::clamp(static_cast<double>((event.at.x - rows.left) / rows.width()), 0.0, 1.0);
            return d.show(d.window.zoomed(std::pow(kZoomStep, static_cast<double>(event.wheelY)), share));
        }
        if (event.shift)
            return d.show(d.window.moved(-d.window.span() * static_cast<double>(event.wheelX + event.wheelY) * kPanShare));
        return d.scrollBy(-event.wheelY * kScrollPixels);
    }
    }
    return false;
}

bool OrderEditorView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.draft)
        return false;
    d.prepare(area);
    const double presses = fast ? kFastPresses : 1;
    const Rect rows = d.frame().rows;
    const double share =
        d.pointerInside ? std::clamp(static_cast<double>((d.pointerAt.x - rows.left) / rows.width()), 0.0, 1.0) : 0.5;
    switch (command) {
    case ViewCommand::zoomIn:
        return d.show(d.window.zoomed(std::pow(kZoomStep, presses), share));
    case ViewCommand::zoomOut:
        return d.show(d.window.zoomed(std::pow(kZoomStep, -presses), share));
    case ViewCommand::panLeft:
        return d.show(d.window.moved(-d.window.span() * kPanShare * presses));
    case ViewCommand::panRight:
        return d.show(d.window.moved(d.window.span() * kPanShare * presses));
    case ViewCommand::panUp:
        return d.selectRow(-1);
    case ViewCommand::panDown:
        return d.selectRow(1);
    case ViewCommand::fitAll:
        return d.show(TimeWindow::all(d.window.lengthNs));
    case ViewCommand::stepRight:
    case ViewCommand::next:
        return d.select(static_cast<std::ptrdiff_t>(presses));
    case ViewCommand::stepLeft:
    case ViewCommand::previous:
        return d.select(-static_cast<std::ptrdiff_t>(presses));
    case ViewCommand::moveEarlier:
        return d.moveSelected(false);
    case ViewCommand::moveLater:
        return d.moveSelected(true);
    case ViewCommand::clear:
        return std::exchange(d.selected, std::nullopt).has_value();
    case ViewCommand::because:
        askBecause(d.pointed(), d.frame().story);
        return false;
    default: // other views'
        return false;
    }
}

CursorShape OrderEditorView::cursor() const
{
    const Data& d = *m_data;
    if (d.drag == Data::Drag::action || d.drag == Data::Drag::pan)
        return CursorShape::grab;
    return d.hovered || isNumberAt(d.pointed()) ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string OrderEditorView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.draft || d.drag != Data::Drag::none)
        return {};
    if (isNumberAt(d.pointed()))
        return kAskNumber;
    if (!d.hovered)
        return {};
    const auto& list = d.draft->schedule().actions[d.hovered->rank];
    std::string text;
    const bool hasChunks = d.draft->schedule().stagesOfRank(static_cast<int>(d.hovered->rank)).size() > 1;
    const auto block = sim::blockAt(list, d.hovered->index);
    for (const sim::Action& action : block)
        text += (text.empty() ? "" : " and ") + sim::actionName(action, d.draft->schedule().slices, hasChunks);
    text += block.size() > 1 ? ", one beside the other" : "";
    const double start = d.draft->times().start[d.hovered->rank][d.hovered->index];
    const double end = d.draft->times().end[d.hovered->rank][d.hovered->index];
    return text + "\n" + durationText(end - start) + ", from " + durationText(start) + "\nplace " +
           countText(static_cast<std::int64_t>(d.hovered->index + 1)) + " of " +
           countText(static_cast<std::int64_t>(list.size())) + " on pp " + std::to_string(d.hovered->rank) + askHint();
}

} // namespace app
