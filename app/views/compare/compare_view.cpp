#include "app/views/compare/compare_view.h"

#include "app/canvas/area_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/compare/blended_trace.h"
#include "app/views/compare/compare_controls.h"
#include "app/views/compare/compare_geometry.h"
#include "app/views/compare/delta_ribbons.h"
#include "app/views/compare/memory_pair.h"
#include "app/views/compare/stacked_timelines_view.h"
#include "app/views/compare/step_bars.h"
#include "app/views/compare/waterfall.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/purpose_name.h"

#include <algorithm>
#include <array>

namespace app {
namespace {

constexpr float kMostRibbons = 0.35F; ///< of the timelines' height: beyond, there are none
constexpr double kBlendStep = 0.05, kFastBlendStep = 0.25;

constexpr float kLeastStacked = 120; ///< below that bars alone

const char* const kNothingYet = "Pin a baseline with Ctrl+B, or drop a second scenario here. Esc goes back.";

std::string layoutText(const sim::Layout& layout)
{
    std::string text;
    for (const auto& [name, size] :
         {std::pair{"tp", layout.tp}, {"cp", layout.cp}, {"ep", layout.ep}, {"pp", layout.pp}, {"dp", layout.dp}})
        if (size > 1)
            text += (text.empty() ? "" : " ") + std::string(name) + " " + countText(size);
    return text.empty() ? "one GPU" : text;
}

/// "ZB-H1  ·  pp 4  ·  412 ms"
std::string noteOf(const std::string& name, const sim::Simulation& simulation)
{
    return name + (sim::fitsEverywhere(simulation) ? "" : " (does not fit)") + "  ·  " +
           layoutText(simulation.scenario().layout) + "  ·  " + durationText(simulation.metrics().stepTimeSeconds * 1e9);
}

} // namespace

struct CompareView::Data {
    Theme theme;
    Selection& selection;
    Selection blendSelection; ///< its spans are of the blended trace
    Side a, b;
    std::optional<sim::Comparison> comparison;
    std::optional<Waterfall> waterfall;
    std::vector<Further> further;
    bool secondIsFirst = false, causesOnly = false;
    PictureModelPtr timelineA, timelineB; ///< of the two, for several
    StepBars bars;
    StackedTimelinesView several;
    sim::MatchedActions matched;
    DeltaRibbons ribbons;
    ComparedTimelinesView stacked;
    TimelineView blended;
    CompareControls controls;
    std::shared_ptr<const sim::Trace> blendedTrace; ///< nullptr: not made for the present share
    Alignment alignment = Alignment::start;
    Point pointerAt{};
    bool pointerInside = false;
    enum class Held : std::uint8_t { nothing, controls, timelines } held = Held::nothing;
    Rect laidOutFor{};
    bool isForAudience = false;

    Data(Selection& s, const Theme& t) : theme(t), selection(s), several(t), stacked(s, t), blended(blendSelection, t)
    {
        stacked.setTitle("Comparison");
        stacked.setMemoryVisible(false);
        stacked.setPartner([this](SpanRef span, bool ofUpper) { return partnerOf(span, ofUpper); });
        blended.setDense(true);
        blended.setSurroundings({.memory = false});
    }

    bool isComplete() const { return comparison.has_value(); }
    ComparedSteps both() const { return {a.simulation, b.simulation}; }
    std::optional<Point> pointed() const { return pointerInside ? std::optional(pointerAt) : std::nullopt; }
    CompareFrame frame() const { return CompareFrame(laidOutFor, !isForAudience, causesOnly); }

    std::optional<SpanRef> partnerOf(SpanRef span, bool ofA) const
    {
        const auto* row = matched.rowOfTrack(span.track, ofA);
        if (row == nullptr)
            return std::nullopt;
        const auto& partners = ofA ? row->ofA : row->ofB;
        if (span.span >= partners.size() || partners[span.span] == sim::MatchedActions::kNone)
            return std::nullopt;
        return SpanRef{ofA ? row->trackB : row->trackA, static_cast<std::uint32_t>(partners[span.span])};
    }

    void take(Prepared prepared)
    {
        comparison = std::move(prepared.comparison);
        matched = std::move(prepared.matched);
        waterfall.reset();
        blendedTrace.reset();
        if (comparison)
            waterfall.emplace(
                *comparison, sim::dataTransfersOf(std::array<const sim::Simulation*, 2>{a.simulation.get(), b.simulation.get()}));
        controls.setPipelines(a.simulation ? a.simulation->scenario().layout.pp : 0,
                              b.simulation ? b.simulation->scenario().layout.pp : 0);
        makeRibbons();
        const auto side = [](const Side& from, const char* letter, const PictureModelPtr& model) {
            ComparedTimelinesView::Side out{.trace = from.actions,
                                            .simulation = from.simulation,
                                            .caption = letter,
                                            .note = from.name,
                                            .message = from.message,
                                            .model = model};
            if (from.simulation) {
                out.note = noteOf(from.name, *from.simulation);
                out.because = [of = from.simulation] {
                    return Becauses{{"", [of] { return sim::explain(*of, sim::MetricId::stepTime); }}};
                };
            }
            return out;
        };
        stacked.setUpper(side(a, "A", prepared.timelineA));
        stacked.setLower(side(b, "B", prepared.timelineB));
        stacked.setAlignment(alignment);
        timelineA = prepared.timelineA;
        timelineB = prepared.timelineB;
        takeFurther();
    }

    bool isSeveral() const { return isComplete() && !further.empty(); }
    bool leavesOutB() const { return isSeveral() && secondIsFirst; }
    std::vector<StackedTimelinesView::Step> steps() const
    {
        std::vector<StackedTimelinesView::Step> out;
        const auto add = [&](char letter, const Side& side, const PictureModelPtr& model) {
            out.push_back({.step = {side.simulation, side.actions},
                           .model = model,
                           .letter = std::string(1, letter),
                           .note = noteOf(side.name, *side.simulation)});
        };
        if (!isComplete())
            return out;
        add('A', a, timelineA);
        if (!leavesOutB())
            add('B', b, timelineB);
        for (std::size_t i = 0; i < further.size(); ++i)
            add(static_cast<char>('C' + i), further[i].side, further[i].timeline);
        return out;
    }
    void takeFurther()
    {
        bars = {};
        if (!isSeveral()) {
            several.setSteps({});
            return;
        }
        std::vector<sim::Comparison> comparisons;
        std::vector<std::string> names{a.name};
        std::vector<const sim::Simulation*> simulations{a.simulation.get()};
        if (!secondIsFirst) {
            comparisons.push_back(*comparison);
            names.push_back(b.name);
            simulations.push_back(b.simulation.get());
        }
        for (const Further& one : further) {
            comparisons.push_back(one.toA);
            names.push_back(one.side.name);
            simulations.push_back(one.side.simulation.get());
        }
        std::vector<StackedTimelinesView::Step> all = steps();
        std::string letters;
        for (const StackedTimelinesView::Step& step : all)
            letters += step.letter;
        bars = StepBars(comparisons, names, sim::dataTransfersOf(simulations), letters);
        bars.setTall(causesOnly);
        several.setSteps(std::move(all));
    }
    struct SeveralFrame {
        Rect bars, timelines;
    };
    static constexpr float kAroundBars = 8; ///< above and below the bars of several
    SeveralFrame severalFrame(Rect area) const
    {
        const float wanted = bars.suitableHeight(area.height()) + kAroundBars;
        const bool withTimelines = !causesOnly && area.height() - wanted - kAroundBars >= kLeastStacked;
        const float bottom = withTimelines ? area.top + kAroundBars + wanted : area.bottom;
        return {{area.left + kMargin, area.top + kAroundBars, area.right - kMargin, bottom},
                {area.left, bottom, area.right, area.bottom}};
    }

    void makeRibbons()
    {
        ribbons = {};
        if (!isComplete())
            return;
        const auto endA = static_cast<double>(a.actions->endNs), endB = static_cast<double>(b.actions->endNs);
        const Alignment how = alignment;
        ribbons = DeltaRibbons(matched, *a.actions, *b.actions, [=](double ns) {
            return how == Alignment::start ? ns : how == Alignment::end ? ns + endB - endA : endA > 0 ? ns * endB / endA : ns;
        });
    }

    void makeBlended()
    {
        if (blendedTrace || !isComplete())
            return;
        BlendedTrace made = app::blend(*a.actions, *b.actions, matched, controls.blend());
        blendedTrace = std::make_shared<const sim::Trace>(std::move(made.trace));
        blended.setStep({b.simulation, blendedTrace});
        blended.setAxis({0, std::max(a.actions->endNs, b.actions->endNs)}); // the axis holds still while spans move
        blended.setOpacityOfKinds(std::move(made.opacityOfKind));
    }

    void prepare(Rect area, bool forAudience)
    {
        laidOutFor = area;
        isForAudience = forAudience;
        const Rect timelines = frame().timelines;
        stacked.setBetween(ribbonsHeight(timelines.height()),
                           [this](Canvas& canvas, Rect band, const TimeAxis&, const TimeAxis& lower) {
                               ribbons.paint(canvas, theme, band, lower);
                           });
        if (controls.isBlending())
            makeBlended();
    }

    /// What the timelines leave when all their rows are to be seen, and no less than ribbons need.
    float ribbonsHeight(float height) const
    {
        constexpr float kAround = 110; // captions, ruler, overview
        const auto rows = static_cast<float>(a.actions->processes.size() + b.actions->processes.size());
        const float ribbonsNeed = ribbons.suitableHeight(height - kAround - rows * kLowestDenseRow);
        return ribbonsNeed > height * kMostRibbons ? 0 : ribbonsNeed;
    }

    bool follow(CompareControls::Choice before)
    {
        const CompareControls::Choice now = controls.choice();
        if (now == before)
            return false;
        if (now.blend != before.blend)
            blendedTrace.reset();
        if (now.alignment != before.alignment)
            align(now.alignment);
        return true;
    }
    void align(Alignment how)
    {
        alignment = how;
        stacked.setAlignment(how);
        makeRibbons();
    }

    View& timelines() { return controls.isBlending() ? static_cast<View&>(blended) : stacked; }
    const View& timelines() const { return controls.isBlending() ? static_cast<const View&>(blended) : stacked; }
};

CompareView::CompareView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
CompareView::~CompareView() = default;

CompareView::Prepared CompareView::prepare(const ShownStep& a, const ShownStep& b)
{
    Prepared out{.timelineA = TimelineView::prepare(a), .timelineB = TimelineView::prepare(b), .comparison = {}, .matched = {}};
    if (a.simulation && a.trace && b.simulation && b.trace) {
        out.comparison = sim::compare(*a.simulation, *b.simulation);
        out.matched = sim::matchActions(*a.simulation, *a.trace, *b.simulation, *b.trace);
    }
    return out;
}

void CompareView::setSides(Side a, Side b, Prepared prepared)
{
    m_data->a = std::move(a);
    m_data->b = std::move(b);
    m_data->take(std::move(prepared));
}

void CompareView::setSides(Side a, Side b)
{
    Prepared prepared = prepare({a.simulation, a.actions}, {b.simulation, b.actions});
    setSides(std::move(a), std::move(b), std::move(prepared));
}

CompareView::Further CompareView::prepareFurther(const ShownStep& a, Side side)
{
    PictureModelPtr timeline = TimelineView::prepare({side.simulation, side.actions});
    sim::Comparison toA = sim::compare(*a.simulation, *side.simulation);
    return {.side = std::move(side), .timeline = std::move(timeline), .toA = std::move(toA)};
}

void CompareView::setFurther(std::vector<Further> further, bool secondIsFirst)
{
    m_data->further = std::move(further);
    m_data->secondIsFirst = secondIsFirst;
    m_data->takeFurther();
}

bool CompareView::isSecondLeftOut() const
{
    return m_data->leavesOutB();
}

std::vector<StackedTimelinesView::Step> CompareView::steps() const
{
    return m_data->steps();
}

CompareView::Contents CompareView::contents() const
{
    const Data& d = *m_data;
    return {d.a, d.b, {d.timelineA, d.timelineB, d.comparison, d.matched}, d.further, d.secondIsFirst};
}

void CompareView::setContents(Contents contents)
{
    setFurther({}); // they are compared with another A
    setSides(std::move(contents.a), std::move(contents.b), std::move(contents.prepared));
    setFurther(std::move(contents.further), contents.secondIsFirst);
}

void CompareView::setCausesOnly(bool on)
{
    m_data->causesOnly = on;
    m_data->bars.setTall(on);
}

const std::vector<CompareView::Further>& CompareView::further() const
{
    return m_data->further;
}

bool CompareView::showsSeveral() const
{
    return m_data->isSeveral();
}

std::int64_t CompareView::cursorNs() const
{
    return m_data->several.cursorNs();
}

void CompareView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
    m_data->several.setTheme(theme);
    m_data->stacked.setTheme(theme);
    m_data->blended.setTheme(theme);
}

/// While blending, spans lie between those of A and B and are of neither.
void CompareView::setAskBecause(AskBecause ask)
{
    m_data->stacked.setAskBecause(ask);
    m_data->several.setAskBecause(ask);
    AskedView::setAskBecause(std::move(ask));
}

Becauses CompareView::becauseOf(std::optional<Point> at) const
{
    const Data& d = *m_data;
    if (!d.isComplete())
        return {};
    if (!at)
        return Waterfall::becauseOfDifference(d.both());
    if (d.isSeveral())
        return d.several.becauseAt(*at);
    const CompareFrame f = d.frame();
    if (f.waterfall.contains(*at))
        return d.waterfall->becauseAt(f.waterfall, *at, d.both());
    if (f.memory.contains(*at))
        return becauseOfMemoryPair(f.memory, *at, d.both());
    return f.timelines.contains(*at) && !d.controls.isBlending() ? d.stacked.becauseAt(*at) : Becauses{};
}

void CompareView::setAlignment(Alignment alignment)
{
    const auto before = m_data->controls.choice();
    m_data->controls.align(alignment);
    m_data->follow(before);
}

void CompareView::setBlend(double share)
{
    const auto before = m_data->controls.choice();
    m_data->controls.setBlend(share);
    m_data->follow(before);
}

Alignment CompareView::alignment() const
{
    return m_data->alignment;
}

bool CompareView::isBlending() const
{
    return m_data->controls.isBlending();
}

double CompareView::blend() const
{
    return m_data->controls.blend();
}

bool CompareView::canBlend() const
{
    return !m_data->isSeveral() && m_data->controls.canBlend();
}

const std::optional<sim::Comparison>& CompareView::comparison() const
{
    return m_data->comparison;
}

float CompareView::suitableHeight(float least) const
{
    const Data& d = *m_data;
    return d.isSeveral()
               ? std::max(least, std::ceil(2 * Data::kAroundBars + d.bars.suitableHeight() + d.several.suitableHeight()))
               : least;
}

TimeRange CompareView::visibleRange() const
{
    if (m_data->isSeveral())
        return m_data->several.visibleRange();
    return isBlending() ? m_data->blended.visibleRange() : m_data->stacked.visibleRange();
}

std::string CompareView::title() const
{
    return "Comparison";
}

void CompareView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.isComplete()) {
        const std::string& message = !d.b.simulation && !d.b.message.empty() ? d.b.message : d.a.message;
        drawEmpty(canvas, d.theme, "Nothing to compare with yet", message.empty() ? kNothingYet : message);
        return;
    }
    const Rect area = canvas.area();
    if (d.isSeveral()) {
        d.laidOutFor = area;
        canvas.fillRect(area, d.theme.canvas);
        const Data::SeveralFrame frame = d.severalFrame(area);
        d.bars.paint(canvas, d.theme, frame.bars);
        if (frame.timelines.height() > 0) {
            AreaCanvas part(canvas, frame.timelines);
            drawPart(*this, d.several, part);
        }
        return;
    }
    d.prepare(area, isForAudience());
    canvas.fillRect(area, d.theme.canvas);
    const CompareFrame f = d.frame();
    beginNumbers(d.pointed(), 2);
    d.waterfall->paint(canvas, d.theme, f.waterfall, &numbers(), d.both());
    if (f.memory.height() > 0)
        paintMemoryPair(canvas, d.theme, *d.comparison, f.memory, &numbers(), d.both());
    if (f.timelines.height() <= 0)
        return;
    if (!d.isForAudience)
        d.controls.paint(canvas, d.theme, f.controls);
    AreaCanvas part(canvas, f.timelines);
    drawPart(*this, d.timelines(), part);
}

bool CompareView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.isComplete())
        return false;
    if (d.isSeveral()) {
        const Rect timelines = d.severalFrame(area).timelines;
        d.pointerAt = event.at;
        d.pointerInside = event.kind != PointerEvent::Kind::leave;
        d.laidOutFor = area;
        return timelines.height() > 0 && d.several.pointer(event, timelines);
    }
    d.prepare(area, isForAudience());
    const bool wasOnNumber = isNumberAt(d.pointed());
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    const CompareFrame f = d.frame();
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left &&
        (f.waterfall.contains(event.at) || f.memory.contains(event.at))) {
        askPlace(event.at);
        return false;
    }
    if (event.kind == PointerEvent::Kind::press)
        d.held = f.controls.contains(event.at)    ? Data::Held::controls
                 : f.timelines.contains(event.at) ? Data::Held::timelines
                                                  : Data::Held::nothing;
    const auto before = d.controls.choice();
    const bool toTimelines = d.held == Data::Held::timelines ||
                             (d.held == Data::Held::nothing && (f.timelines.contains(event.at) || !d.pointerInside));
    const bool drawn = d.controls.pointer(event, f.controls, d.held == Data::Held::controls);
    bool changed = d.follow(before) || drawn || wasOnNumber != isNumberAt(d.pointed());
    if (toTimelines && f.timelines.height() > 0)
        changed = d.timelines().pointer(event, f.timelines) || changed;
    if (event.kind == PointerEvent::Kind::release || event.kind == PointerEvent::Kind::leave)
        d.held = Data::Held::nothing;
    return changed;
}

bool CompareView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.isComplete())
        return false;
    if (d.isSeveral())
        return d.several.command(command, fast, d.severalFrame(area).timelines);
    d.prepare(area, isForAudience());
    if (d.controls.isBlending() && (command == ViewCommand::next || command == ViewCommand::previous)) {
        const double step = fast ? kFastBlendStep : kBlendStep;
        const double before = d.controls.blend();
        setBlend(before + (command == ViewCommand::next ? step : -step));
        return d.controls.blend() != before;
    }
    if (command == ViewCommand::because && !(d.pointerInside && d.frame().timelines.contains(d.pointerAt))) {
        askBecause(d.pointed(), d.frame().waterfall);
        return false;
    }
    return d.timelines().command(command, fast, d.frame().timelines);
}

CursorShape CompareView::cursor() const
{
    const Data& d = *m_data;
    if (!d.isComplete() || !d.pointerInside)
        return CursorShape::arrow;
    if (d.isSeveral())
        return d.several.cursor();
    const CompareFrame f = d.frame();
    if (d.held == Data::Held::controls || f.controls.contains(d.pointerAt))
        return d.controls.cursor();
    if (isNumberAt(d.pointerAt))
        return CursorShape::pointingHand;
    return f.timelines.contains(d.pointerAt) ? d.timelines().cursor() : CursorShape::arrow;
}

std::string CompareView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.isComplete() || !d.pointerInside)
        return {};
    if (d.isSeveral()) {
        const std::string bar = d.bars.describe(d.severalFrame(d.laidOutFor).bars, d.pointerAt);
        return bar.empty() ? d.several.tooltip() : bar;
    }
    const CompareFrame f = d.frame();
    const std::string told = f.waterfall.contains(d.pointerAt) ? d.waterfall->describe(f.waterfall, d.pointerAt)
                             : f.memory.contains(d.pointerAt)  ? describeMemoryPair(*d.comparison, f.memory, d.pointerAt)
                                                               : std::string();
    if (!told.empty())
        return told + askHint();
    if (isNumberAt(d.pointerAt))
        return kAskNumber;
    if (f.controls.contains(d.pointerAt))
        return d.controls.tooltip();
    if (!d.controls.isBlending())
        if (const Rect band = d.stacked.betweenArea(f.timelines); band.contains(d.pointerAt))
            return d.ribbons.describe(band, d.stacked.axis(false, f.timelines), d.pointerAt);
    return f.timelines.contains(d.pointerAt) ? d.timelines().tooltip() : std::string();
}

std::optional<Rect> CompareView::tooltipKeepsClearOf() const
{
    const Data& d = *m_data;
    if (!d.isComplete() || !d.pointerInside)
        return std::nullopt;
    if (d.isSeveral())
        return d.several.tooltipKeepsClearOf();
    return d.frame().timelines.contains(d.pointerAt) ? d.timelines().tooltipKeepsClearOf() : std::nullopt;
}

} // namespace app
