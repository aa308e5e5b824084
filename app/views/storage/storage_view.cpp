#include "app/views/storage/storage_view.h"

#include "app/views/common/labels.h"
#include "app/views/storage/storage_painter.h"
#include "app/views/storage/storage_text.h"
#include "sim/analysis/explain/explain_holdings.h"

#include <algorithm>
#include <utility>

namespace app {

struct StorageView::Data {
    Selection& selection;
    Theme theme;
    SimulationPtr simulation;
    std::shared_ptr<const sim::Holdings> kept = std::make_shared<const sim::Holdings>(); ///< of the rank shown
    bool stale = true;
    StorageTable table;
    Rect laidOutFor{};
    float scrollY = 0;
    bool isCompact = false;
    std::string spokenOf;  ///< a tensor
    bool mustShow = false; ///< it, when it is laid out
    Point pointerAt{}, pressedAt{};
    bool pointerInside = false;
    std::optional<float> grabbedAt;         ///< scroll where a drag began
    std::optional<PointedSlice> markedFrom; ///< where a slice that is asked for begins to be marked

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    const sim::Holdings& holdings() const { return *kept; }
    std::optional<Point> pointed() const { return pointerInside ? std::optional(pointerAt) : std::nullopt; }
    int worldSize() const { return simulation->mesh().worldSize(); }
    /// The rank in focus, else rank 0. While the pointer points out other ranks' slices here, what it shows must not change.
    int shownRank() const
    {
        const std::optional<int> rank = pointerInside ? selection.selectedRank : selection.focusRank();
        if (rank && *rank >= 0 && *rank < worldSize())
            return *rank;
        return pointerInside && !stale ? holdings().rank : 0;
    }
    void prepare(Rect area)
    {
        const int rank = shownRank();
        if (stale || rank != holdings().rank) {
            kept = std::make_shared<const sim::Holdings>(sim::holdingsOf(*simulation, rank));
            stale = false;
            laidOutFor = {};
        }
        if (area == laidOutFor && !mustShow)
            return;
        laidOutFor = area;
        table = StorageTable(holdings(), StorageFrame(area).table.height(), isCompact);
        if (const int line = lineOf(spokenOf); mustShow && line >= 0) {
            const StorageLine& row = table.lines[static_cast<std::size_t>(line)];
            scrollY = row.top + (row.height - StorageFrame(area).table.height()) / 2; // in the middle
        }
        mustShow = false;
        clampScroll();
    }
    /// The first of that name; -1: there is none.
    int lineOf(const std::string& tensor) const
    {
        for (std::size_t i = 0; i < table.lines.size() && !tensor.empty(); ++i)
            if (const StorageLine& line = table.lines[i];
                line.tensor >= 0 &&
                holdings().groups[static_cast<std::size_t>(line.group)].tensors[static_cast<std::size_t>(line.tensor)].name ==
                    tensor)
                return static_cast<int>(i);
        return -1;
    }
    void clampScroll()
    {
        scrollY = std::clamp(scrollY, 0.0F, std::max(0.0F, table.height - StorageFrame(laidOutFor).table.height()));
    }
    bool scrollBy(float pixels)
    {
        const float before = scrollY;
        scrollY += pixels;
        clampScroll();
        return before != scrollY;
    }
    StorageScene scene(std::optional<PointedSlice> pointed = {}) const
    {
        return {*simulation, holdings(), table, theme, selection, StorageFrame(laidOutFor), scrollY, pointed, lineOf(spokenOf)};
    }

    std::optional<PointedSlice> sliceUnder(Point at) const
    {
        const StorageScene s = scene();
        if (stale || !pointerInside || !s.frame.table.contains(at))
            return std::nullopt;
        const float y = at.y - s.frame.table.top + scrollY;
        const auto after = std::upper_bound(table.lines.begin(), table.lines.end(), y,
                                            [](float where, const StorageLine& line) { return where < line.top; });
        if (after == table.lines.begin() || y >= table.height)
            return std::nullopt;
        const StorageLine& line = *(after - 1);
        const sim::TensorHolding* tensor = s.tensor(line);
        if (!tensor)
            return std::nullopt;
        const std::int64_t largest = largestSide(holdings());
        for (int i = 0; i < s.frame.states; ++i) {
            const StoredState state = kStoredStates[static_cast<std::size_t>(i)];
            const Rect whole = tensorRect(*tensor, s.cell(line, state), largest);
            if (!whole.contains(at))
                continue;
            for (const TensorSlice& slice : tensorSlices(*tensor, whole))
                if (slice.rect.contains(at))
                    return pointed(static_cast<int>(after - 1 - table.lines.begin()), *tensor, state, slice, at);
        }
        return std::nullopt;
    }
    PointedSlice pointed(int line, const sim::TensorHolding& tensor, StoredState state, const TensorSlice& slice, Point at) const
    {
        PointedSlice out{line, state, slice.expertBlock, slice.piece, std::nullopt, slice.owner, slice.rect};
        if (selection.asksForSlice)
            return out;
        const sim::ShardGroup& shards = shardsOf(holdings(), tensor);
        const auto count = static_cast<int>(shards.ranks.size());
        if (!slice.own || !isShared(holdings(), state) || count <= 1 || tensor.tied == sim::TensorHolding::Tied::same)
            return out;
        // A thin shard of its own is drawn wider than it is: it comes first.
        const Rect own = shardRect(tensor, slice.rect, shards.index, count);
        out.shard = own.contains(at) ? shards.index : shardAt(tensor, slice.rect, at, count);
        out.rect = shardRect(tensor, slice.rect, *out.shard, count);
        out.owner = shards.ranks[static_cast<std::size_t>(*out.shard)];
        return out;
    }
    /// From the slice where the drag began to the one under the pointer; false where nothing of that is new.
    bool mark(Point at)
    {
        const auto to = sliceUnder(at);
        if (!markedFrom || !to || to->line != markedFrom->line)
            return false;
        const sim::TensorHolding& tensor = *scene().tensor(table.lines[static_cast<std::size_t>(to->line)]);
        const sim::IndexRange first = sliceRange(tensor, std::min(markedFrom->piece, to->piece)),
                              last = sliceRange(tensor, std::max(markedFrom->piece, to->piece));
        const MarkedSlice now{std::string(tensor.name), first.begin, last.end};
        const bool isNew = selection.marked != now;
        selection.marked = now;
        return isNew;
    }
    bool hover(Point at)
    {
        if (selection.asksForSlice) // whose it is, is asked
            return std::exchange(selection.hoveredRank, std::nullopt).has_value();
        const auto slice = sliceUnder(at);
        const std::optional<int> rank = slice ? std::optional(slice->owner) : std::nullopt;
        const bool changed = selection.hoveredRank != rank;
        selection.hoveredRank = rank;
        return changed;
    }
    bool select(int rank)
    {
        const Selection before = selection;
        selection.selectRank(std::clamp(rank, 0, worldSize() - 1));
        return !(before == selection);
    }
};

StorageView::StorageView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
StorageView::~StorageView() = default;

void StorageView::take(const ShownStep& step, PictureModelPtr)
{
    Data& d = *m_data;
    d.simulation = step.simulation;
    d.stale = true;
    if (d.simulation)
        d.selection.keepBelow(d.worldSize());
}

void StorageView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

void StorageView::pointAt(const std::string& tensor)
{
    m_data->spokenOf = tensor;
    m_data->mustShow = !tensor.empty();
}

std::string StorageView::title() const
{
    return "What a GPU stores";
}

void StorageView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.simulation) {
        drawEmpty(canvas, d.theme, "Nothing is stored yet", hint());
        return;
    }
    if (std::exchange(d.isCompact, isForAudience()) != isForAudience())
        d.laidOutFor = {};
    d.prepare(canvas.area());
    beginNumbers(d.pointed());
    StorageScene scene = d.scene(d.grabbedAt ? std::nullopt : d.sliceUnder(d.pointerAt));
    scene.numbers = &numbers();
    scene.kept = d.kept;
    paintStorage(canvas, scene);
}

/// Of the tensor, else of all that the rank stores.
Becauses StorageView::becauseOf(std::optional<Point> at) const
{
    const Data& d = *m_data;
    if (!d.simulation || d.stale || d.selection.asksForSlice)
        return {};
    if (!at)
        return {{"", [kept = d.kept] { return sim::explainStored(*kept); }}};
    const auto slice = d.sliceUnder(*at);
    if (!slice)
        return {};
    const StorageLine& line = d.table.lines[static_cast<std::size_t>(slice->line)];
    if (d.scene().tensor(line)->bytes.total() == 0) // another's memory
        return {};
    return {{"", [kept = d.kept, line] {
                 return sim::explainStored(
                     *kept, kept->groups[static_cast<std::size_t>(line.group)].tensors[static_cast<std::size_t>(line.tensor)]);
             }}};
}

bool StorageView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.simulation)
        return false;
    if (!d.pointerInside)
        d.prepare(area); // what is shown when the pointer comes stays
    const auto before = d.sliceUnder(d.pointerAt);
    const bool wasOnNumber = isNumberAt(d.pointed());
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    d.prepare(area);
    switch (event.kind) {
    case PointerEvent::Kind::leave: {
        d.grabbedAt.reset();
        d.markedFrom.reset();
        const bool changed = d.selection.hoveredRank.has_value();
        d.selection.hoveredRank.reset();
        return changed || before.has_value();
    }
    case PointerEvent::Kind::move: {
        if (d.grabbedAt)
            return d.scrollBy(*d.grabbedAt + d.pressedAt.y - event.at.y - d.scrollY);
        if (d.markedFrom && d.mark(event.at))
            return true;
        const bool moved = !(before == d.sliceUnder(event.at)) || wasOnNumber != isNumberAt(event.at);
        return d.hover(event.at) || moved;
    }
    case PointerEvent::Kind::press:
        d.pressedAt = event.at;
        if (event.button == PointerButton::left && askNumber(event.at))
            return false;
        if (event.button == PointerButton::left) {
            const auto slice = d.sliceUnder(event.at);
            if (d.selection.asksForSlice) {
                d.markedFrom = slice;
                return d.mark(event.at);
            }
            return slice && d.select(slice->owner);
        }
        d.grabbedAt = d.scrollY;
        return false;
    case PointerEvent::Kind::release:
        d.grabbedAt.reset();
        d.markedFrom.reset();
        return d.hover(event.at);
    case PointerEvent::Kind::doubleClick:
        return false;
    case PointerEvent::Kind::wheel: {
        const bool moved = d.scrollBy(-event.wheelY * kScrollPixels);
        return d.hover(event.at) || moved;
    }
    }
    return false;
}

bool StorageView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.simulation)
        return false;
    d.prepare(area);
    const int presses = fast ? kFastPresses : 1;
    switch (command) {
    case ViewCommand::panUp:
        return d.scrollBy(-kScrollPixels * static_cast<float>(presses));
    case ViewCommand::panDown:
        return d.scrollBy(kScrollPixels * static_cast<float>(presses));
    case ViewCommand::fitAll:
    case ViewCommand::focusSelection:
        return d.scrollBy(-d.scrollY);
    case ViewCommand::next:
        return d.select(d.selection.selectedRank ? *d.selection.selectedRank + presses : 0);
    case ViewCommand::previous:
        return d.select(d.selection.selectedRank ? *d.selection.selectedRank - presses : d.worldSize() - 1);
    case ViewCommand::mark:
        return d.selection.hoveredRank && d.select(*d.selection.hoveredRank);
    case ViewCommand::clear: {
        const Selection before = d.selection;
        d.selection.clear();
        return !(before == d.selection);
    }
    case ViewCommand::because:
        askBecause(d.pointed(), StorageFrame(area).title);
        return false;
    default:
        return false;
    }
}

CursorShape StorageView::cursor() const
{
    const Data& d = *m_data;
    if (d.grabbedAt)
        return CursorShape::grab;
    return d.simulation && d.pointerInside && (d.sliceUnder(d.pointerAt) || isNumberAt(d.pointed())) ? CursorShape::pointingHand
                                                                                                     : CursorShape::arrow;
}

std::string StorageView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.simulation || !d.pointerInside || d.grabbedAt)
        return {};
    if (isNumberAt(d.pointed()))
        return kAskNumber;
    const auto slice = d.sliceUnder(d.pointerAt);
    if (slice && d.selection.asksForSlice)
        return markedText(*d.scene().tensor(d.table.lines[static_cast<std::size_t>(slice->line)]), *slice);
    return slice ? pointedText(d.scene(), *slice) + (becauseOf(d.pointerAt).empty() ? std::string() : askHint()) : std::string();
}

} // namespace app
