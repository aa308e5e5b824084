#include "app/views/compare/stacked_timelines_view.h"

#include "app/canvas/area_canvas.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/compare/caption_text.h"
#include "app/views/timeline/timeline_view.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kStackCaption = 22, kRuler = 22, kAroundRows = 10; ///< the last two as of a TimelineFrame
constexpr float kLabelledRow = 13;                                 ///< lower, a row has no name, and its spans have cut ones
constexpr float kStackScroll = 7;
constexpr std::uint64_t kNodesOfStacked = std::uint64_t{1} << 52; ///< between the ids of two timelines' nodes

bool computes(sim::OpClass c)
{
    return !sim::isCommunication(c) && c != sim::OpClass::other && c != sim::OpClass::hostTransfer;
}

} // namespace

struct StackedTimelinesView::Data {
    struct Part {
        Step step;
        Selection selection; ///< spans are of its own trace
        TimelineView view;
        Part(Step of, const Theme& theme) : step(std::move(of)), view(selection, theme) {}
    };
    Theme theme;
    AskBecause ask;
    std::vector<std::unique_ptr<Part>> parts;
    std::vector<std::int64_t> boundaries; ///< where actions of any step begin or end, ascending
    std::int64_t endNs = 0;
    Part* held = nullptr;
    Part* pointed = nullptr;
    Rect drawnIn{};
    bool isForAudience = false; ///< who cannot scroll: all are in sight
    std::size_t firstShown = 0; ///< those before it are scrolled out of sight

    explicit Data(const Theme& t) : theme(t) {}

    static float rowsOf(const Part& part)
    {
        return static_cast<float>(std::max<std::size_t>(1, part.step.step.trace->processes.size()));
    }
    struct Place {
        Rect caption, timeline;
    };
    /// What it takes for all its rows to have their names; many rows scroll in a part of the place.
    float heightNeeded(const Part& part, Rect area) const
    {
        constexpr float kMostOfPlace = 0.5F;
        const float around = kStackCaption + kAroundRows;
        const float share = std::floor((area.height() - kRuler) / static_cast<float>(parts.size())) - around;
        const float most = !isForAudience                   ? std::max(kLabelledRow, area.height() * kMostOfPlace)
                           : heightOfAll() <= area.height() ? area.height()
                                                            : share;
        return around + std::min(rowsOf(part) * kLabelledRow, most);
    }
    /// With names at all their rows.
    float heightOfAll() const
    {
        float sum = kRuler;
        for (const auto& part : parts)
            sum += kStackCaption + kAroundRows + rowsOf(*part) * kLabelledRow;
        return sum;
    }
    /// So many from there on are shown whole; at least one.
    std::size_t countFitting(std::size_t from, Rect area) const
    {
        float sum = kRuler;
        std::size_t count = 0;
        while (from + count < parts.size() && sum + heightNeeded(*parts[from + count], area) <= area.height())
            sum += heightNeeded(*parts[from + count++], area);
        return std::max<std::size_t>(1, count);
    }
    /// The last place to scroll to: the end is in sight.
    std::size_t lastFirst(Rect area) const
    {
        for (std::size_t first = 0; first < parts.size(); ++first)
            if (first + countFitting(first, area) >= parts.size())
                return first;
        return 0;
    }
    bool scrollBy(int steps, Rect area)
    {
        const std::size_t before = firstShown;
        const auto wanted = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(firstShown) + steps);
        firstShown = std::min(static_cast<std::size_t>(wanted), lastFirst(area));
        surround();
        return before != firstShown;
    }
    /// Of those in sight, nothing of the others. What they need first, then as their rows are many, the first with the ruler.
    std::vector<Place> places(Rect area) const
    {
        const std::size_t first = std::min(firstShown, lastFirst(area)), shown = countFitting(first, area);
        std::vector<Place> out(first);
        const bool scrolls = shown < parts.size();
        const std::vector<Place> seen =
            placesOf(first, shown, {area.left, area.top, area.right - (scrolls ? kStackScroll + 2 : 0), area.bottom});
        out.insert(out.end(), seen.begin(), seen.end());
        out.resize(parts.size());
        return out;
    }
    std::vector<Place> placesOf(std::size_t first, std::size_t shown, Rect area) const
    {
        float spare = area.height() - kRuler, rows = 0;
        for (std::size_t i = first; i < first + shown; ++i) {
            spare -= heightNeeded(*parts[i], area);
            rows += rowsOf(*parts[i]);
        }
        std::vector<Place> out;
        float top = area.top;
        for (std::size_t i = 0; i < shown; ++i) {
            const Part& part = *parts[first + i];
            const float height =
                heightNeeded(part, area) - kStackCaption + (i == 0 ? kRuler : 0) + std::max(0.0F, spare) * rowsOf(part) / rows;
            const float middle = std::round(top + kStackCaption);
            const float bottom = i + 1 == shown ? area.bottom : std::round(middle + height);
            out.push_back({{area.left, top, area.right, middle}, {area.left, middle, area.right, bottom}});
            top = bottom;
        }
        return out;
    }
    Part* at(Point point, Rect area)
    {
        const auto where = places(area);
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (where[i].timeline.contains(point) || where[i].caption.contains(point))
                return parts[i].get();
        return nullptr;
    }
    Rect areaOf(const Part& part, Rect area) const
    {
        const auto where = places(area);
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i].get() == &part)
                return where[i].timeline;
        return {};
    }
    void surround()
    {
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i]->view.setSurroundings({.legend = false, .ruler = i == firstShown, .memory = false, .overview = false});
    }
    /// One legend tells what is in any of them.
    void shareLegend()
    {
        TimelineView::Legend all;
        for (const auto& part : parts)
            all.add(part->view.legend());
        for (const auto& part : parts)
            part->view.setLegend(all);
    }
    /// All others go where this one went.
    void follow(Part& leader)
    {
        for (const auto& part : parts) {
            if (part.get() == &leader)
                continue;
            part->view.setVisibleRange(leader.view.visibleRange());
            if (!(part->view.rows() == leader.view.rows())) // what stays at the top stays in all of them
                part->view.setRows(leader.view.rows());
            Selection& to = part->selection;
            const Selection& from = leader.selection;
            const std::int64_t end = part->step.step.trace->endNs;
            to.classes = from.classes;
            to.range = from.range && from.range->beginNs < end ? from.range : std::nullopt;
            to.cursorNs = from.cursorNs;
            to.hoveredRank = from.hoveredRank;
            to.selectedRank = from.selectedRank;
            to.ranks = from.ranks;
            to.hoveredSpan.reset();
            to.selectSpan(std::nullopt); // nor is idle time of one that of another
            if (part->step.step.simulation)
                to.keepBelow(part->step.step.simulation->mesh().worldSize());
        }
    }
    /// So far apart boundaries are seen apart: a few pixels, as messages between ranks shift most of them by less.
    std::int64_t leastSeenNs() const
    {
        constexpr float kSeenApart = 3;
        if (parts.empty() || drawnIn.width() <= 0)
            return 1;
        const TimeRange seen = parts.front()->view.visibleRange();
        const float width = TimelineFrame(drawnIn).rows.width();
        return std::max<std::int64_t>(1, std::llround(static_cast<double>(seen.endNs - seen.beginNs) * kSeenApart / width));
    }
    void setCursor(std::int64_t ns)
    {
        for (const auto& part : parts)
            part->selection.cursorNs = std::clamp<std::int64_t>(ns, 0, endNs);
    }
};

StackedTimelinesView::StackedTimelinesView(const Theme& theme) : m_data(std::make_unique<Data>(theme)) {}
StackedTimelinesView::~StackedTimelinesView() = default;

void StackedTimelinesView::setSteps(std::vector<Step> steps)
{
    Data& d = *m_data;
    d.held = d.pointed = nullptr;
    d.parts.clear();
    d.boundaries.clear();
    d.endNs = 0;
    for (Step& step : steps) {
        const sim::Trace& trace = *step.step.trace;
        d.endNs = std::max(d.endNs, trace.endNs);
        for (const sim::Track& track : trace.tracks)
            if (track.role == sim::TrackRole::actions)
                for (std::size_t i = 0; i < track.size(); ++i)
                    for (const std::int64_t ns : {track.startNs[i], track.startNs[i] + track.durationNs[i]})
                        d.boundaries.push_back(ns);
        d.parts.push_back(std::make_unique<Data::Part>(std::move(step), d.theme));
    }
    std::sort(d.boundaries.begin(), d.boundaries.end());
    d.boundaries.erase(std::unique(d.boundaries.begin(), d.boundaries.end()), d.boundaries.end());
    for (const auto& part : d.parts) {
        part->view.setDense(true);
        part->view.setStep(part->step.step, part->step.model);
        part->view.setAxis({0, d.endNs});
        part->view.setAskBecause(d.ask);
    }
    d.firstShown = 0;
    d.surround();
    d.shareLegend();
}

void StackedTimelinesView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
    for (const auto& part : m_data->parts)
        part->view.setTheme(theme);
}

void StackedTimelinesView::setAskBecause(AskBecause ask)
{
    m_data->ask = ask;
    for (const auto& part : m_data->parts)
        part->view.setAskBecause(ask);
    AskedView::setAskBecause(std::move(ask));
}

Becauses StackedTimelinesView::becauseOf(std::optional<Point> at) const
{
    Data& d = *m_data;
    Data::Part* const part = at ? d.at(*at, d.drawnIn) : nullptr;
    return part ? part->view.becauseAt(*at) : Becauses{};
}

std::int64_t StackedTimelinesView::cursorNs() const
{
    return m_data->parts.empty() ? 0 : m_data->parts.front()->selection.cursorNs;
}

void StackedTimelinesView::setCursor(std::int64_t ns)
{
    m_data->setCursor(ns);
}

bool StackedTimelinesView::stepCursor(bool forward, int changes)
{
    Data& d = *m_data;
    const std::int64_t before = cursorNs();
    std::int64_t now = before;
    for (int i = 0; i < changes; ++i) {
        if (forward) {
            const auto next = std::lower_bound(d.boundaries.begin(), d.boundaries.end(), now + d.leastSeenNs());
            now = next == d.boundaries.end() ? now : *next;
        } else {
            const auto next = std::upper_bound(d.boundaries.begin(), d.boundaries.end(), now - d.leastSeenNs());
            now = next == d.boundaries.begin() ? now : *(next - 1);
        }
    }
    if (now == before)
        return false;
    d.setCursor(now);
    for (const auto& part : d.parts)
        part->view.keepCursorInSight();
    if (!d.parts.empty())
        d.follow(*d.parts.front());
    return true;
}

std::string StackedTimelinesView::atCursor(std::size_t step) const
{
    const sim::Trace& trace = *m_data->parts[step]->step.step.trace;
    const std::int64_t now = cursorNs();
    if (now <= 0)
        return {};
    if (now >= trace.endNs)
        return "ended";
    std::vector<bool> busy(trace.processes.size(), false);
    for (const sim::Track& track : trace.tracks) {
        const auto after = std::upper_bound(track.startNs.begin(), track.startNs.end(), now) - track.startNs.begin();
        // Spans of a lane of actions follow each other, but for two that run at once: the one before is looked at, too.
        for (auto i = std::max<std::ptrdiff_t>(0, after - 2); i < after; ++i) {
            const auto s = static_cast<std::size_t>(i);
            if (now < track.startNs[s] + track.durationNs[s] && computes(trace.kinds[track.kind[s]].opClass))
                busy[static_cast<std::size_t>(track.process)] = true;
        }
    }
    const auto count = std::count(busy.begin(), busy.end(), true);
    return countText(count) + " of " + sim::countedText(static_cast<std::int64_t>(busy.size()), "row") +
           (count == 1 ? " computes" : " compute");
}

float StackedTimelinesView::suitableHeight() const
{
    return m_data->heightOfAll();
}

TimeRange StackedTimelinesView::visibleRange() const
{
    return m_data->parts.empty() ? TimeRange{} : m_data->parts.front()->view.visibleRange();
}

void StackedTimelinesView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    d.drawnIn = canvas.area();
    d.isForAudience = isForAudience();
    canvas.fillRect(canvas.area(), d.theme.canvas);
    d.scrollBy(0, canvas.area());
    const auto where = d.places(canvas.area());
    std::size_t shown = 0;
    for (std::size_t i = 0; i < d.parts.size(); ++i) {
        if (where[i].caption.height() <= 0)
            continue;
        ++shown;
        Data::Part& part = *d.parts[i];
        {
            AreaCanvas area(canvas, where[i].timeline, kNodesOfStacked * i);
            drawPart(*this, part.view, area);
        }
        const Rect caption = where[i].caption;
        canvas.fillRect(caption, d.theme.panel);
        canvas.line({caption.left, caption.top}, {caption.right, caption.top}, d.theme.border);
        const Rect inner{caption.left + kMargin, caption.top, caption.right - kMargin, caption.bottom};
        const float used = textInside(canvas, inner, part.step.letter, d.theme.text, FontFace::bold);
        Rect rest{inner.left + used + kMargin, inner.top, inner.right, inner.bottom};
        const std::string now = atCursor(i);
        const std::string ending = now.empty() ? std::string() : "  ·  at the cursor: " + now;
        const std::string note = part.step.note + ending;
        const std::string shorter = part.step.note.substr(0, part.step.note.find("  ·  "));
        if (i == d.firstShown) { // colors are known by then: what the cursor tells has more of the room than they
            const float most = rest.width() * (now.empty() ? 0.5F : 0.7F);
            const float needed = std::min(canvas.textWidth(note, FontFace::small) + 2 * kMargin, most);
            rest.right -=
                part.view.drawLegend(canvas, {std::min(rest.left + needed, rest.right), rest.top, rest.right, rest.bottom});
        }
        textInside(canvas, rest,
                   captionThatFits(canvas, {note, shorter + ending, part.step.note, shorter}, shorter, rest.width()),
                   d.theme.mutedText, FontFace::small);
        if (canvas.wantsNodes())
            canvas.node(
                {.id = (std::uint64_t{1} << 62) + i, .role = "caption", .name = part.step.letter + ": " + note, .rect = caption});
    }
    if (shown < d.parts.size()) {
        const Rect area = canvas.area();
        const auto all = static_cast<float>(d.parts.size());
        const float top = area.top + area.height() * static_cast<float>(d.firstShown) / all;
        canvas.fillRect({area.right - kStackScroll, top, area.right - 1, top + area.height() * static_cast<float>(shown) / all},
                        mix(d.theme.border, d.theme.mutedText, 0.35F));
    }
}

bool StackedTimelinesView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    Data::Part* under = d.held ? d.held : d.at(event.at, area);
    bool changed = false;
    if (d.pointed && d.pointed != under) {
        changed = d.pointed->view.pointer({.kind = PointerEvent::Kind::leave, .at = event.at}, d.areaOf(*d.pointed, area));
        d.follow(*d.pointed); // the others light up what it did
    }
    d.pointed = event.kind == PointerEvent::Kind::leave ? nullptr : under;
    if (event.kind == PointerEvent::Kind::press)
        d.held = under;
    else if (event.kind == PointerEvent::Kind::release || event.kind == PointerEvent::Kind::leave)
        d.held = nullptr;
    if (event.kind == PointerEvent::Kind::wheel && event.wheelY != 0 && !event.control && !event.shift && !event.alt &&
        d.lastFirst(area) > 0) {
        // The rows under the pointer come first; the stack takes what they leave.
        if (under) {
            const Rect place = d.areaOf(*under, area);
            changed = under->view.pointer({.kind = PointerEvent::Kind::move, .at = event.at}, place) || changed;
            const bool hasScrolled = under->view.pointer(event, place);
            d.follow(*under);
            if (hasScrolled)
                return true;
        }
        return d.scrollBy(event.wheelY > 0 ? -1 : 1, area) || changed;
    }
    if (!under)
        return changed;
    changed = under->view.pointer(event, d.areaOf(*under, area)) || changed;
    d.follow(*under);
    return changed;
}

bool StackedTimelinesView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (d.parts.empty())
        return false;
    if (command == ViewCommand::next || command == ViewCommand::previous)
        return stepCursor(command == ViewCommand::next, fast ? kFastPresses : 1);
    const bool isPointedSeen = d.pointed && d.areaOf(*d.pointed, area).height() > 0; // else the stack was scrolled meanwhile
    Data::Part& target = isPointedSeen ? *d.pointed : *d.parts[std::min(d.firstShown, d.parts.size() - 1)];
    const bool changed = target.view.command(command, fast, d.areaOf(target, area));
    d.follow(target);
    if (!changed && (command == ViewCommand::panUp || command == ViewCommand::panDown) && d.lastFirst(area) > 0)
        return d.scrollBy(command == ViewCommand::panUp ? -1 : 1, area); // what its rows left
    return changed;
}

CursorShape StackedTimelinesView::cursor() const
{
    return m_data->pointed ? m_data->pointed->view.cursor() : CursorShape::arrow;
}

std::string StackedTimelinesView::tooltip() const
{
    return m_data->pointed ? m_data->pointed->view.tooltip() : std::string();
}

std::optional<Rect> StackedTimelinesView::tooltipKeepsClearOf() const
{
    return m_data->pointed ? m_data->pointed->view.tooltipKeepsClearOf() : std::nullopt;
}

} // namespace app
