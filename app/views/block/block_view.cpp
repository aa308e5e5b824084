#include "app/views/block/block_view.h"

#include "app/views/block/block_model.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "sim/simulate/action_class.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace app {
namespace {

constexpr float kBlockMargin = 10, kBlockTitle = 24, kBlockHead = 22, kBlockRow = 34, kBlockGap = 2;
constexpr float kLeastRow = 20;         ///< that has room for one line of text; lower ones than kBlockRow have none for two
constexpr float kNarrowestColumn = 250; ///< of a pass; narrower ones stand above each other
constexpr float kMatrixWidth = 34, kScrollBarWidth = 7;

/// A pass of a rank in the picture.
struct BlockColumn {
    const Block* block = nullptr;
    bool forward = true;
    Rect head;              ///< from the top of what is scrolled, as the rows
    std::vector<Rect> rows; ///< by row of the pass
    const BlockPass& pass() const { return forward ? block->forward : block->backward; }
};

struct RowRef {
    std::size_t column = 0, row = 0;
    bool operator==(const RowRef&) const = default;
};

std::string rowText(const BlockRow& row)
{
    std::string text = row.name;
    if (row.again)
        text += ", again";
    text += ": " + row.shape;
    if (row.repeats > 1)
        text += ", " + countText(row.repeats) + " times";
    if (row.bytes > 0)
        text += ", " + bytesText(static_cast<double>(row.bytes));
    text += ", " + durationText(static_cast<double>(row.ns));
    if (row.isCollective())
        text += ", ranks " + rankListText(row.members);
    for (const BlockMatrix& matrix : row.matrices) {
        text += "; " + matrix.name + " " + countText(matrix.rows) + " × " + countText(matrix.columns);
        if (matrix.pieces > 1)
            text += std::string(matrix.split == sim::TensorSplit::rows ? ", rows" : ", columns") + ", piece " +
                    countText(matrix.piece + 1) + " of " + countText(matrix.pieces);
    }
    return text;
}

} // namespace

struct BlockView::Data {
    Selection& selection;
    Theme theme;
    SimulationPtr simulation;
    std::vector<int> ranks; ///< that are shown
    std::vector<Block> blocks;
    std::vector<BlockColumn> columns;
    std::vector<int> ownChoice; ///< ranks that this view selected itself: what is shown stays then
    bool stale = true;
    Rect laidOutFor{};
    float rowHeight = kBlockRow, height = 0, leastHeight = 0, scrollY = 0;
    std::optional<float> grabbedAt; ///< below the top of the scroll bar's handle
    std::optional<Point> pointerAt;
    std::optional<RowRef> current; ///< by the keys, or clicked

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    Rect body(Rect area) const { return {area.left, area.top + kBlockTitle, area.right, area.bottom}; }

    std::vector<int> wanted() const
    {
        const int world = simulation->mesh().worldSize();
        if (!ownChoice.empty() && selection.ranks == ownChoice && !ranks.empty() && ranks.back() < world)
            return ranks;
        std::vector<int> out;
        if (selection.ranks.size() == 2)
            out = selection.ranks;
        else
            out = {selection.selectedRank.value_or(selection.ranks.empty() ? 0 : selection.ranks.front())};
        std::erase_if(out, [&](int rank) { return rank < 0 || rank >= world; });
        return out.empty() ? std::vector{0} : out;
    }
    void prepare(Rect area)
    {
        std::vector<int> now = wanted();
        if (stale || now != ranks) {
            ranks = std::move(now);
            blocks.clear();
            for (const int rank : ranks)
                blocks.push_back(blockOf(*simulation, rank));
            stale = false;
            laidOutFor = {};
            current.reset();
        }
        if (area == laidOutFor)
            return;
        laidOutFor = area;
        layOut(body(area).inset(kBlockMargin));
        scrollBy(0);
    }
    /// Forward and backward of each rank beside each other as far as they fit. Two ranks stand beside each other before their
    /// passes do: they are compared.
    void layOut(Rect area)
    {
        columns.clear();
        for (const Block& block : blocks)
            for (const bool forward : {true, false})
                columns.push_back({&block, forward, {}, {}});
        const auto count = static_cast<float>(columns.size());
        const float fit = std::clamp(std::floor((area.width() + kBlockMargin) / (kNarrowestColumn + kBlockMargin)), 1.0F, count);
        const auto across = static_cast<std::size_t>(fit == 3 ? 2 : fit);
        if (across == 2 && blocks.size() == 2)
            std::swap(columns[1], columns[2]);
        fitRows(area.height(), across);
        const float width = (area.width() - kBlockMargin * static_cast<float>(across - 1)) / static_cast<float>(across);
        float top = 0, bottom = 0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (i % across == 0 && i > 0)
                top = bottom + kBlockMargin;
            const float left = area.left + static_cast<float>(i % across) * (width + kBlockMargin);
            columns[i].head = {left, top, left + width, top + kBlockHead};
            float y = top + kBlockHead;
            for (std::size_t row = 0; row < columns[i].pass().rows.size(); ++row, y += rowHeight)
                columns[i].rows.push_back({left, y, left + width, y + rowHeight - kBlockGap});
            bottom = std::max(bottom, y);
        }
        height = bottom;
    }
    /// As high as all rows have room in the place; in one that is too low for all, as high as they are read best.
    void fitRows(float room, std::size_t across)
    {
        float heads = 0, rows = 0;
        for (std::size_t i = 0; i < columns.size(); i += across) {
            std::size_t most = 0;
            for (std::size_t j = i; j < std::min(i + across, columns.size()); ++j)
                most = std::max(most, columns[j].pass().rows.size());
            heads += kBlockHead + (i > 0 ? kBlockMargin : 0);
            rows += static_cast<float>(most);
        }
        leastHeight = heads + rows * kLeastRow;
        const float all = rows > 0 ? std::floor((room - heads) / rows) : kBlockRow;
        rowHeight = all < kLeastRow ? kBlockRow : std::min(all, kBlockRow);
    }
    /// In the margin at the right; of no height where all is in sight.
    Rect scrollHandle() const
    {
        const Rect all = body(laidOutFor), area = all.inset(kBlockMargin);
        if (height <= area.height() + 1)
            return {};
        const float length = std::max(24.0F, area.height() * area.height() / height);
        const float top = area.top + (area.height() - length) * scrollY / (height - area.height());
        return {all.right - kScrollBarWidth - 1, top, all.right - 1, top + length};
    }
    bool dragHandle(float y)
    {
        const Rect area = body(laidOutFor).inset(kBlockMargin), handle = scrollHandle();
        const float room = area.height() - handle.height();
        return room > 0 && scrollBy((y - *grabbedAt - area.top) / room * (height - area.height()) - scrollY);
    }
    bool scrollBy(float pixels)
    {
        const float before = scrollY;
        const Rect area = body(laidOutFor).inset(kBlockMargin);
        scrollY = std::clamp(scrollY + pixels, 0.0F, std::max(0.0F, height - area.height()));
        return before != scrollY;
    }
    float offset() const { return body(laidOutFor).top + kBlockMargin - scrollY; }
    Rect onScreen(Rect rect) const { return {rect.left, rect.top + offset(), rect.right, rect.bottom + offset()}; }
    const BlockRow& rowAt(RowRef ref) const { return columns[ref.column].pass().rows[ref.row]; }
    std::optional<RowRef> under(std::optional<Point> at) const
    {
        if (!at || stale || !body(laidOutFor).contains(*at))
            return std::nullopt;
        for (std::size_t c = 0; c < columns.size(); ++c)
            for (std::size_t r = 0; r < columns[c].rows.size(); ++r)
                if (onScreen(columns[c].rows[r]).contains(*at))
                    return RowRef{c, r};
        return std::nullopt;
    }
    /// A collective's group in the grid and its class in the timeline. A kernel's class, and what is sent: traffic has no
    /// kernels.
    bool choose(RowRef ref)
    {
        const Selection before = selection;
        current = ref;
        const BlockRow& row = rowAt(ref);
        const int rank = columns[ref.column].block->rank;
        ClassMask mask = maskOf(row.opClass);
        for (const sim::Dimension dimension : sim::kDimensions)
            if (!row.isCollective())
                mask |= maskOf(sim::opClassOf(dimension));
        selection.classes = selection.classes == mask && selection.ranks == ownChoice ? kAllClasses : mask;
        if (row.isCollective() && !row.members.empty())
            selection.selectRanks(row.members, rank);
        ownChoice = selection.ranks;
        return !(before == selection);
    }
    bool step(int by)
    {
        std::vector<RowRef> all;
        for (std::size_t c = 0; c < columns.size(); ++c)
            for (std::size_t r = 0; r < columns[c].rows.size(); ++r)
                all.push_back({c, r});
        if (all.empty())
            return false;
        const auto found = current ? std::find(all.begin(), all.end(), *current) : all.end();
        const auto place = found == all.end() ? (by > 0 ? std::ptrdiff_t{-1} : std::ssize(all)) : found - all.begin();
        current = all[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(place + by, 0, std::ssize(all) - 1))];
        const Rect row = onScreen(columns[current->column].rows[current->row]), area = body(laidOutFor).inset(kBlockMargin);
        if (row.top < area.top)
            scrollBy(row.top - area.top);
        else if (row.bottom > area.bottom)
            scrollBy(row.bottom - area.bottom);
        return true;
    }
};

BlockView::BlockView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
BlockView::~BlockView() = default;

void BlockView::take(const ShownStep& step, PictureModelPtr)
{
    Data& d = *m_data;
    d.simulation = step.simulation;
    d.stale = true;
    d.columns.clear();
    if (d.simulation)
        d.selection.keepBelow(d.simulation->mesh().worldSize());
}

void BlockView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

std::string BlockView::title() const
{
    return "A block on a rank";
}

namespace {

/// Of the times and bytes of its rows.
float widestNumbers(Canvas& canvas, const BlockPass& pass)
{
    float widest = 0;
    for (const BlockRow& row : pass.rows) {
        widest = std::max(widest, canvas.textWidth(durationText(static_cast<double>(row.ns)), FontFace::small));
        if (row.bytes > 0)
            widest = std::max(widest, canvas.textWidth(bytesText(static_cast<double>(row.bytes)), FontFace::small));
    }
    return widest;
}

/// Where a matrix is drawn: in its proportions, at the right of the cell.
Rect placeOf(const BlockMatrix& matrix, Rect cell)
{
    const double aspect = static_cast<double>(std::max<std::int64_t>(1, matrix.columns)) /
                          static_cast<double>(std::max<std::int64_t>(1, matrix.rows));
    const auto grown = static_cast<float>(std::clamp(std::sqrt(aspect), 0.4, 1.8)); // sides by their roots: thin ones are seen
    const float high = std::min(cell.height(), cell.width() / grown), wide = high * grown;
    return {cell.right - wide, cell.top + (cell.height() - high) / 2, cell.right, cell.top + (cell.height() + high) / 2};
}

/// A matrix with the part of it that the rank holds: a strip of columns or of rows.
void drawMatrix(Canvas& canvas, const Theme& theme, const BlockMatrix& matrix, Rect whole)
{
    const float wide = whole.width(), high = whole.height();
    canvas.fillRect(whole, mix(theme.canvas, theme.parameters, 0.18F));
    Rect own = whole;
    const auto pieces = static_cast<float>(std::max(1, matrix.pieces)), piece = static_cast<float>(matrix.piece);
    constexpr float kThinnest = 2;
    if (matrix.pieces > 1 && matrix.split == sim::TensorSplit::columns) {
        own.left = whole.left + wide * piece / pieces;
        own.right = std::max(own.left + kThinnest, whole.left + wide * (piece + 1) / pieces);
    } else if (matrix.pieces > 1) {
        own.top = whole.top + high * piece / pieces;
        own.bottom = std::max(own.top + kThinnest, whole.top + high * (piece + 1) / pieces);
    }
    canvas.fillRect(intersected(own, {whole.left, whole.top, whole.right + 1, whole.bottom + 1}), theme.parameters);
    canvas.strokeRect(whole, theme.mutedText);
}

std::string nameOf(const BlockRow& row)
{
    return row.isCollective() ? row.shape + (row.repeats > 1 ? " × " + countText(row.repeats) : std::string()) : row.name;
}

/// As many of its words as fit.
std::string wordsOf(Canvas& canvas, std::string name, bool again, float width)
{
    std::vector<std::string> shorter{name + (again ? ", again" : ""), name};
    for (std::size_t end = name.rfind(' '); end != std::string::npos && end > 0; end = name.rfind(' ', end - 1))
        shorter.push_back(name.substr(0, end) + " …");
    return fitting(canvas, shorter, width, FontFace::bold);
}

/// Name above shape, time above bytes, the matrices between them.
void drawTwoLines(Canvas& canvas, const Theme& theme, const BlockRow& row, Rect rect, float numbersWidth)
{
    float right = rect.right - 6;
    const Rect numbers{right - numbersWidth, rect.top, right, rect.bottom - 3};
    const float middle = (numbers.top + numbers.bottom) / 2;
    textInside(canvas, {numbers.left, numbers.top, numbers.right, middle}, durationText(static_cast<double>(row.ns)), theme.text,
               FontFace::small, Align::right);
    if (row.bytes > 0)
        textInside(canvas, {numbers.left, middle, numbers.right, numbers.bottom}, bytesText(static_cast<double>(row.bytes)),
                   theme.mutedText, FontFace::small, Align::right);
    right = numbers.left - 8;
    const auto count = std::min<std::size_t>(row.matrices.size(), rect.width() > 340 ? 3 : 1);
    for (std::size_t m = count; m-- > 0;) {
        const Rect place = placeOf(row.matrices[m], {right - kMatrixWidth, rect.top + 4, right, rect.bottom - 6});
        drawMatrix(canvas, theme, row.matrices[m], place);
        right = place.left - 5;
    }
    const Rect words{rect.left + 11, rect.top, right, rect.bottom - 3};
    const std::string below = row.isCollective() ? row.name + ", ranks " + runsText(row.members) : row.shape;
    textInside(canvas, {words.left, words.top, words.right, middle}, wordsOf(canvas, nameOf(row), row.again, words.width()),
               theme.text, FontFace::bold);
    textInside(canvas, {words.left, middle, words.right, words.bottom},
               fitting(canvas, {below, row.isCollective() ? row.name : std::string()}, words.width(), FontFace::small),
               theme.mutedText, FontFace::small);
}

/// Name, a matrix and the time; shape and bytes are said by pointing at it.
void drawLine(Canvas& canvas, const Theme& theme, const BlockRow& row, Rect rect)
{
    Rect line{rect.left + 11, rect.top, rect.right - 6, rect.bottom - 3};
    const std::string time = durationText(static_cast<double>(row.ns));
    line.right -= textInside(canvas, line, time, theme.text, FontFace::small, Align::right) + 8;
    if (!row.matrices.empty()) {
        const Rect place = placeOf(row.matrices.front(), {line.right - kMatrixWidth, rect.top + 2, line.right, rect.bottom - 4});
        drawMatrix(canvas, theme, row.matrices.front(), place);
        line.right = place.left - 5;
    }
    textInside(canvas, line, wordsOf(canvas, nameOf(row), row.again, line.width()), theme.text, FontFace::bold);
}

} // namespace

void BlockView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.simulation) {
        drawEmpty(canvas, d.theme, "No block to look into yet", hint());
        return;
    }
    d.prepare(canvas.area());
    const Theme& theme = d.theme;
    const Rect area = canvas.area();
    canvas.fillRect(area, theme.canvas);
    const Rect head{area.left + kBlockMargin, area.top, area.right - kBlockMargin, area.top + kBlockTitle};
    const sim::Scenario& scenario = d.simulation->scenario();
    const Block& first = d.blocks.front();
    const std::string layer =
        first.layer < 0 ? "no layers here"
                        : "layer " + countText(first.layer) + ", of " + countText(scenario.model.numHiddenLayers) + " from 0";
    const std::string how = first.isShared ? ", parameters gathered for it (FSDP)" : "";
    const std::string more = d.ranks.size() == 1 && d.simulation->mesh().worldSize() > 1 && !isForAudience()
                                 ? " · select two ranks to compare them"
                                 : "";
    textInside(canvas, head, fitting(canvas, {layer + how + more, layer + how, layer}, head.width()), theme.mutedText);
    const Rect body = d.body(area);
    canvas.pushClip(body);
    std::int64_t longest = 1;
    for (const Block& block : d.blocks)
        longest = std::max(longest, block.longestNs());
    const auto hovered = d.under(d.pointerAt);
    for (std::size_t c = 0; c < d.columns.size(); ++c) {
        const BlockColumn& column = d.columns[c];
        const std::string rank = "Rank " + countText(column.block->rank);
        const std::string at = coordinatesText(d.simulation->mesh(), column.block->rank);
        const std::string pass = column.forward ? "forward" : "backward";
        const std::string time = durationText(static_cast<double>(column.pass().ns)) + " of kernels";
        const Rect columnHead = d.onScreen(column.head);
        const float timeWidth = textInside(canvas, columnHead, time, theme.mutedText, FontFace::small, Align::right);
        const Rect left{columnHead.left, columnHead.top, columnHead.right - timeWidth - kBlockMargin, columnHead.bottom};
        textInside(canvas, left,
                   fitting(canvas, {rank + ", " + pass + " · " + at, rank + ", " + pass, pass}, left.width(), FontFace::bold),
                   theme.text, FontFace::bold);
        const float numbersWidth = widestNumbers(canvas, column.pass());
        for (std::size_t r = 0; r < column.rows.size(); ++r) {
            const Rect rect = d.onScreen(column.rows[r]);
            if (rect.bottom <= body.top || rect.top >= body.bottom)
                continue;
            const BlockRow& row = column.pass().rows[r];
            const RowRef ref{c, r};
            const bool isCurrent = d.current == ref;
            const Color fill = theme.fill(row.opClass);
            // Collectives stand out: filled over the whole width, and their group said; kernels have a stripe of their class.
            canvas.fillRect(rect, row.isCollective() ? mix(theme.canvas, fill, 0.28F)
                                  : hovered == ref   ? theme.hover
                                                     : theme.panel);
            canvas.fillRect({rect.left, rect.top, rect.left + 5, rect.bottom}, fill);
            const auto share = static_cast<float>(static_cast<double>(row.ns) / static_cast<double>(longest));
            canvas.fillRect(
                {rect.left + 5, rect.bottom - 3, rect.left + 5 + std::max(1.0F, (rect.width() - 5) * share), rect.bottom}, fill);
            if (d.rowHeight >= kBlockRow)
                drawTwoLines(canvas, theme, row, rect, numbersWidth);
            else
                drawLine(canvas, theme, row, rect);
            if (isCurrent)
                canvas.strokeRect(rect, theme.selection, 2);
            if (canvas.wantsNodes())
                canvas.node({.id = (static_cast<std::uint64_t>(c) << 32U) + r + 1,
                             .role = row.isCollective() ? "button" : "row",
                             .name = rank + ", " + pass + ", " + rowText(row),
                             .rect = intersected(rect, body),
                             .selected = isCurrent});
        }
        if (column.rows.empty())
            textInside(canvas, {columnHead.left, columnHead.bottom, columnHead.right, columnHead.bottom + kBlockRow},
                       "nothing of a layer runs here", theme.mutedText);
    }
    canvas.popClip();
    const Rect handle = d.scrollHandle();
    if (handle.height() > 0)
        canvas.fillRect(handle, mix(theme.border, theme.mutedText, d.grabbedAt ? 0.7F : 0.35F));
}

std::optional<float> BlockView::contentHeight(float width)
{
    Data& d = *m_data;
    if (!d.simulation)
        return std::nullopt;
    d.prepare({0, 0, width, kBlockTitle + 3 * kBlockMargin});
    return kBlockTitle + 2 * kBlockMargin + d.height;
}

std::optional<float> BlockView::leastHeight(float width)
{
    return contentHeight(width) ? std::optional(kBlockTitle + 2 * kBlockMargin + m_data->leastHeight) : std::nullopt;
}

bool BlockView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.simulation)
        return false;
    d.prepare(area);
    const auto before = d.under(d.pointerAt);
    d.pointerAt = event.kind == PointerEvent::Kind::leave ? std::nullopt : std::optional(event.at);
    const auto now = d.under(d.pointerAt);
    switch (event.kind) {
    case PointerEvent::Kind::press: {
        Rect handle = d.scrollHandle();
        handle.left -= kBlockMargin - kScrollBarWidth; // the whole margin
        if (event.button == PointerButton::left && handle.height() > 0 && handle.contains(event.at)) {
            d.grabbedAt = event.at.y - handle.top;
            return true;
        }
        return event.button == PointerButton::left && now && (d.choose(*now), true);
    }
    case PointerEvent::Kind::release:
        return std::exchange(d.grabbedAt, std::nullopt).has_value();
    case PointerEvent::Kind::leave:
        return std::exchange(d.grabbedAt, std::nullopt).has_value() || before != now;
    case PointerEvent::Kind::move:
        return d.grabbedAt ? d.dragHandle(event.at.y) : before != now;
    case PointerEvent::Kind::wheel:
        return d.scrollBy(-event.wheelY * kScrollPixels);
    default:
        return before != now;
    }
}

bool BlockView::command(ViewCommand command, bool fast, Rect area)
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
    case ViewCommand::stepDown:
    case ViewCommand::next:
        return d.step(presses);
    case ViewCommand::stepUp:
    case ViewCommand::previous:
        return d.step(-presses);
    case ViewCommand::mark:
        return d.current && d.choose(*d.current);
    case ViewCommand::fitAll:
    case ViewCommand::focusSelection:
        return d.scrollBy(-d.scrollY);
    case ViewCommand::clear: {
        const Selection before = d.selection;
        d.current.reset();
        const bool wasOwn = !d.ownChoice.empty() && d.selection.ranks == d.ownChoice && d.ownChoice != d.ranks;
        if (wasOwn) // back to what is shown, before it is left
            d.selection.selectRanks(d.ranks, d.ranks.front());
        else
            d.selection.selectRank(std::nullopt);
        d.selection.classes = kAllClasses;
        d.ownChoice.clear();
        return !(before == d.selection);
    }
    default:
        return false;
    }
}

CursorShape BlockView::cursor() const
{
    const Data& d = *m_data;
    return d.simulation && d.under(d.pointerAt) ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string BlockView::tooltip() const
{
    const Data& d = *m_data;
    const auto at = d.simulation ? d.under(d.pointerAt) : std::nullopt;
    if (!at)
        return {};
    const BlockRow& row = d.rowAt(*at);
    return rowText(row) + (row.isCollective() ? "\nA click selects its group and its class of spans; Esc goes back." : "");
}

} // namespace app
