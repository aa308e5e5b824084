#include "app/views/compare/compared_timelines_view.h"

#include "app/canvas/area_canvas.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/compare/caption_text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr float kSideCaptionHeight = 24;
constexpr float kComfortableRow = 16; ///< pixels a row that memory and overview leave
constexpr TimelineView::Surroundings kAroundUpper{.legend = false, .memory = false, .overview = false};
constexpr std::uint64_t kUpperNodes = std::uint64_t{1} << 61; ///< ids of the upper timeline's nodes, apart from the lower's

/// Waiting is pale: what is lost, not what is done.
Theme withPaleWaits(Theme theme)
{
    constexpr auto kWaiting = static_cast<std::size_t>(sim::OpClass::other);
    theme.opClass[kWaiting] = mix(theme.canvas, theme.text, theme.dark ? 0.24F : 0.17F);
    theme.opClassText[kWaiting] = readableOn(theme.opClass[kWaiting]);
    return theme;
}

/// Pixels above and below the rows, as TimelineFrame has them.
float aroundHeight(const TimelineView::Surroundings& around)
{
    constexpr Rect kHigh{0, 0, 1000, 1000};
    const TimelineFrame frame(
        kHigh, {.memory = around.memory, .overview = around.overview, .legend = around.legend, .ruler = around.ruler});
    return kHigh.height() - frame.rows.height();
}

} // namespace

struct ComparedTimelinesView::Data {
    struct Half {
        Side side;
        TimelineView view;
        Half(Selection& selection, const Theme& theme) : view(selection, withPaleWaits(theme)) {}
        bool isEmpty() const { return !side.trace; }
    };

    Theme theme;
    Selection& selection;
    Selection upperSelection; ///< its own spans; the rest follows `selection`
    Half upper, lower;
    bool upperVisible = true, memoryVisible = true;
    std::string title = "Predicted and measured";
    Alignment alignment = Alignment::start;
    Partner partner;
    float betweenHeight = 0;
    Between between;
    Half* held = nullptr; ///< that a button was pressed on
    Half* pointed = nullptr;
    Rect drawnIn{};
    Point pointerAt{};

    Data(Selection& s, const Theme& t) : theme(t), selection(s), upper(upperSelection, t), lower(s, t)
    {
        upper.view.setDense(true);
        lower.view.setDense(true);
    }

    bool showsUpper() const { return upperVisible && !upper.isEmpty(); }

    struct Areas {
        Rect upperCaption, upper, between, lowerCaption, lower;
    };
    /// What stands around the rows of the lower half: one ruler above both is enough, and rows come first.
    TimelineView::Surroundings aroundLower(Rect area) const
    {
        const bool holdsMemory = memoryVisible && !lower.isEmpty() && !lower.side.trace->counters.empty();
        const TimelineView::Surroundings most{
            .legend = false, .ruler = !showsUpper() || alignment != Alignment::start, .memory = holdsMemory};
        const auto fits = [&](const TimelineView::Surroundings& around) {
            const float rows = lower.isEmpty() ? 0 : rowsOf(lower);
            const float height = area.height() - kSideCaptionHeight - aroundHeight(around);
            return showsUpper() ? height - kSideCaptionHeight - aroundHeight(kAroundUpper) - betweenHeight >=
                                      (rows + rowsOf(upper)) * kComfortableRow
                                : height >= rows * kComfortableRow;
        };
        TimelineView::Surroundings without = most;
        without.memory = false;
        if (fits(most))
            return most;
        if (!fits(without))
            without.overview = false;
        return without;
    }
    float rowsOf(const Half& half) const { return half.isEmpty() ? 1.0F : static_cast<float>(half.side.trace->processes.size()); }
    /// Rows of both halves are equally high, unless one has so many more that the other would vanish.
    Areas areas(Rect area) const
    {
        Areas out;
        constexpr float kLeastShare = 0.25F;
        const float share = std::clamp(rowsOf(upper) / (rowsOf(upper) + rowsOf(lower)), kLeastShare, 1 - kLeastShare);
        const float gap = showsUpper() ? betweenHeight : 0;
        const float aroundUpper = kSideCaptionHeight + aroundHeight(kAroundUpper);
        const float forRows = area.height() - gap - aroundUpper - kSideCaptionHeight - aroundHeight(aroundLower(area));
        const float upperEnd = showsUpper() ? std::floor(area.top + aroundUpper + forRows * share) : area.top;
        const float middle = upperEnd + gap;
        out.upperCaption = {area.left, area.top, area.right, std::min(upperEnd, area.top + kSideCaptionHeight)};
        out.upper = {area.left, out.upperCaption.bottom, area.right, upperEnd};
        out.between = {area.left, upperEnd, area.right, middle};
        out.lowerCaption = {area.left, middle, area.right, middle + kSideCaptionHeight};
        out.lower = {area.left, out.lowerCaption.bottom, area.right, area.bottom};
        return out;
    }
    Rect areaOf(const Half& half, Rect area) const { return &half == &upper ? areas(area).upper : areas(area).lower; }
    Half& at(Point point, Rect area) { return showsUpper() && point.y < areas(area).lowerCaption.top ? upper : lower; }

    static double lengthOf(const Half& half) { return half.isEmpty() ? 0 : static_cast<double>(half.side.trace->endNs); }
    /// One legend tells what is in both.
    void shareLegend()
    {
        TimelineView::Legend both = lower.view.legend();
        if (showsUpper())
            both.add(upper.view.legend());
        lower.view.setLegend(std::move(both));
    }
    void setAxes()
    {
        const auto up = static_cast<std::int64_t>(showsUpper() ? lengthOf(upper) : 0);
        const auto low = static_cast<std::int64_t>(lengthOf(lower));
        const std::int64_t longer = std::max(up, low);
        switch (alignment) {
        case Alignment::start:
            upper.view.setAxis({0, longer});
            lower.view.setAxis({0, longer});
            break;
        case Alignment::end:
            upper.view.setAxis({up - longer, up});
            lower.view.setAxis({low - longer, low});
            break;
        case Alignment::scaled:
            upper.view.setAxis({0, up});
            lower.view.setAxis({0, low});
            break;
        }
    }
    /// A time of one half on the other's axis.
    std::int64_t across(std::int64_t ns, bool fromUpper) const
    {
        const double from = lengthOf(fromUpper ? upper : lower), to = lengthOf(fromUpper ? lower : upper);
        if (alignment == Alignment::start || from <= 0 || to <= 0)
            return ns;
        const auto time = static_cast<double>(ns);
        return std::llround(alignment == Alignment::end ? time + to - from : time * to / from);
    }
    TimeRange across(TimeRange range, bool fromUpper) const
    {
        return {across(range.beginNs, fromUpper), across(range.endNs, fromUpper)};
    }

    void share(bool fromUpper)
    {
        const Selection& from = fromUpper ? upperSelection : selection;
        Selection& to = fromUpper ? selection : upperSelection;
        to.hoveredRank = from.hoveredRank;
        to.selectedRank = from.selectedRank;
        to.ranks = from.ranks;
        to.classes = from.classes;
        to.range = from.range ? std::optional(across(*from.range, fromUpper)) : std::nullopt;
        to.cursorNs = from.cursorNs == 0 ? 0 : std::max<std::int64_t>(0, across(from.cursorNs, fromUpper)); // 0 is at rest
    }
    void shareSpans(bool fromUpper)
    {
        if (!partner)
            return;
        const Selection& from = fromUpper ? upperSelection : selection;
        Selection& to = fromUpper ? selection : upperSelection;
        const auto partnerOf = [&](const std::optional<SpanRef>& span) {
            return span ? partner(*span, fromUpper) : std::nullopt;
        };
        to.hoveredSpan = partnerOf(from.hoveredSpan);
        to.selectSpan(partnerOf(from.selectedSpan));
    }
    /// The other half goes where this one went.
    void follow(const Half& leader)
    {
        if (leader.isEmpty()) // it has no times of its own
            return;
        const bool isUpper = &leader == &upper;
        Half& other = isUpper ? lower : upper;
        share(isUpper);
        shareSpans(isUpper);
        if (other.isEmpty())
            return;
        if (!(other.view.rows() == leader.view.rows()))
            other.view.setRows(leader.view.rows());
        other.view.setVisibleRange(across(leader.view.visibleRange(), isUpper));
        other.view.setScrolledBy(leader.view.scrolledBy());
    }

    void caption(Canvas& canvas, Rect area, const Side& side, DrawnNumbers& numbers)
    {
        canvas.fillRect(area, theme.panel);
        canvas.line({area.left, area.top}, {area.right, area.top}, theme.border);
        canvas.line({area.left, area.bottom - 1}, {area.right, area.bottom - 1}, theme.border);
        const Rect inner{area.left + kMargin, area.top, area.right - kMargin, area.bottom};
        const float used = textInside(canvas, inner, side.caption, theme.text, FontFace::bold);
        Rect rest{inner.left + used + kMargin, inner.top, inner.right, inner.bottom};
        if (&side == &lower.side && !lower.isEmpty()) {
            const float note = std::min(canvas.textWidth(side.note, FontFace::small) + 2 * kMargin, rest.width() / 2);
            rest.right -=
                lower.view.drawLegend(canvas, {std::min(rest.left + note, rest.right), rest.top, rest.right, rest.bottom});
        }
        const std::string shorter = side.note.substr(0, side.note.find("  ·  "));
        const std::string shown = captionThatFits(canvas, {side.note, shorter}, shorter, rest.width());
        writeNumber(&numbers, canvas, theme, rest, shown, theme.mutedText, FontFace::small, Align::left,
                    shown == side.note ? side.because : GiveBecauses());
        if (canvas.wantsNodes())
            canvas.node({.id = kUpperNodes + (&side == &upper.side ? 1U : 2U) + (std::uint64_t{1} << 60),
                         .role = "caption",
                         .name = side.caption + ": " + (side.note.empty() ? side.message : side.note),
                         .rect = area});
    }
    void half(Canvas& canvas, const View& whole, Half& half, Rect area, std::uint64_t nodeIds) const
    {
        AreaCanvas part(canvas, area, nodeIds);
        if (half.isEmpty())
            drawEmpty(part, theme, "Nothing to show yet", half.side.message);
        else
            drawPart(whole, half.view, part);
    }
};

ComparedTimelinesView::ComparedTimelinesView(Selection& selection, const Theme& theme)
    : m_data(std::make_unique<Data>(selection, theme))
{
}
ComparedTimelinesView::~ComparedTimelinesView() = default;

void ComparedTimelinesView::setAskBecause(AskBecause ask)
{
    for (Data::Half* half : {&m_data->upper, &m_data->lower})
        half->view.setAskBecause(ask);
    AskedView::setAskBecause(std::move(ask));
}

Becauses ComparedTimelinesView::becauseOf(std::optional<Point> at) const
{
    Data& d = *m_data;
    return at && d.drawnIn.contains(*at) ? d.at(*at, d.drawnIn).view.becauseAt(*at) : Becauses{};
}

void ComparedTimelinesView::setUpper(Side side)
{
    Data& d = *m_data;
    if (d.upper.side.trace != side.trace)
        d.upper.view.setStep({side.simulation, side.trace}, side.model);
    d.upper.side = std::move(side);
    d.shareLegend();
    d.setAxes();
}

void ComparedTimelinesView::setLower(Side side)
{
    Data& d = *m_data;
    if (d.lower.side.trace != side.trace)
        d.lower.view.setStep(
            {.simulation = side.simulation, .trace = side.trace, .waits = side.waits, .whyNoWaits = side.whyNoWaits}, side.model);
    d.lower.side = std::move(side);
    d.shareLegend();
    d.setAxes();
    d.follow(d.lower);
}

void ComparedTimelinesView::setUpperVisible(bool visible)
{
    m_data->upperVisible = visible;
    m_data->shareLegend();
    m_data->setAxes();
}

void ComparedTimelinesView::setMemoryVisible(bool visible)
{
    m_data->memoryVisible = visible;
}

void ComparedTimelinesView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
    for (Data::Half* half : {&m_data->upper, &m_data->lower})
        half->view.setTheme(withPaleWaits(theme));
}

TimeRange ComparedTimelinesView::visibleRange() const
{
    return m_data->lower.view.visibleRange();
}

bool ComparedTimelinesView::keepCursorInSight()
{
    Data& d = *m_data;
    if (!d.lower.view.keepCursorInSight())
        return false;
    d.follow(d.lower);
    return true;
}

void ComparedTimelinesView::setTitle(std::string title)
{
    m_data->title = std::move(title);
}

void ComparedTimelinesView::setAlignment(Alignment alignment)
{
    m_data->alignment = alignment;
    m_data->setAxes();
    m_data->follow(m_data->lower);
}

void ComparedTimelinesView::setPartner(Partner partner)
{
    m_data->partner = std::move(partner);
}

void ComparedTimelinesView::setBetween(float height, Between between)
{
    m_data->betweenHeight = between ? height : 0;
    m_data->between = std::move(between);
}

Rect ComparedTimelinesView::betweenArea(Rect area) const
{
    return m_data->areas(area).between;
}

TimeAxis ComparedTimelinesView::axis(bool upper, Rect area) const
{
    const Rect rows = TimelineFrame(area).rows;
    const TimeRange range = (upper ? m_data->upper : m_data->lower).view.visibleRange();
    return {static_cast<double>(range.beginNs), static_cast<double>(range.endNs), rows.left, rows.right};
}

std::string ComparedTimelinesView::title() const
{
    return m_data->title;
}

void ComparedTimelinesView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    canvas.fillRect(canvas.area(), d.theme.canvas);
    d.upper.view.setSurroundings(kAroundUpper);
    d.lower.view.setSurroundings(d.aroundLower(canvas.area()));
    d.share(false);
    d.drawnIn = canvas.area();
    beginNumbers(d.pointed ? std::optional(d.pointerAt) : std::nullopt, 1);
    const Data::Areas areas = d.areas(canvas.area());
    if (d.showsUpper()) {
        d.caption(canvas, areas.upperCaption, d.upper.side, numbers());
        d.half(canvas, *this, d.upper, areas.upper, kUpperNodes);
        if (areas.between.height() > 0)
            d.between(canvas, areas.between, axis(true, canvas.area()), axis(false, canvas.area()));
    }
    d.half(canvas, *this, d.lower, areas.lower, 0); // laid out before its legend is drawn
    d.caption(canvas, areas.lowerCaption, d.lower.side, numbers());
}

bool ComparedTimelinesView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    const bool wasOnNumber = d.pointed && isNumberAt(d.pointerAt);
    d.pointerAt = event.at;
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && askNumber(event.at))
        return false;
    Data::Half& under = d.held ? *d.held : d.at(event.at, area);
    bool changed = wasOnNumber != (event.kind != PointerEvent::Kind::leave && isNumberAt(event.at));
    if (d.pointed && d.pointed != &under) // it has left the other one
        changed =
            d.pointed->view.pointer({.kind = PointerEvent::Kind::leave, .at = event.at}, d.areaOf(*d.pointed, area)) || changed;
    d.pointed = event.kind == PointerEvent::Kind::leave ? nullptr : &under;
    if (event.kind == PointerEvent::Kind::press)
        d.held = &under;
    else if (event.kind == PointerEvent::Kind::release || event.kind == PointerEvent::Kind::leave)
        d.held = nullptr;
    changed = under.view.pointer(event, d.areaOf(under, area)) || changed;
    d.follow(under);
    return changed;
}

bool ComparedTimelinesView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    Data::Half& target = d.pointed ? *d.pointed : d.lower;
    if (command == ViewCommand::because && d.pointed && askNumber(d.pointerAt))
        return false;
    const bool changed = target.view.command(command, fast, d.areaOf(target, area));
    d.follow(target);
    return changed;
}

CursorShape ComparedTimelinesView::cursor() const
{
    if (m_data->pointed && isNumberAt(m_data->pointerAt))
        return CursorShape::pointingHand;
    return m_data->pointed ? m_data->pointed->view.cursor() : CursorShape::arrow;
}

std::string ComparedTimelinesView::tooltip() const
{
    if (m_data->pointed && isNumberAt(m_data->pointerAt))
        return kAskNumber;
    return m_data->pointed ? m_data->pointed->view.tooltip() : std::string();
}

std::optional<Rect> ComparedTimelinesView::tooltipKeepsClearOf() const
{
    return m_data->pointed ? m_data->pointed->view.tooltipKeepsClearOf() : std::nullopt;
}

} // namespace app
