// The lower half of the memory picture: what one rank holds over the step, and what it is at a moment.
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/memory_parts.h"
#include "app/views/common/time_ruler.h"
#include "app/views/memory/memory_painter.h"
#include "sim/analysis/explain/explain_held.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace app {
namespace {

constexpr std::uint64_t kPlotNode = std::uint64_t{1} << 62, kPartNodes = kPlotNode + 1; ///< apart from those of rows

Becauses one(std::function<sim::Explanation()> explain)
{
    return {{"", std::move(explain)}};
}

class OverTimePainter {
public:
    OverTimePainter(Canvas& canvas, const MemoryScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model), m_theme(scene.theme), m_frame(scene.frame),
          m_axis(scene.axis()), m_row(scene.shownRow()), m_held(scene.model.held(m_row)),
          m_scale(memoryScale(std::max(m_held.peak().total(), scene.leastBytes), scene.model.capacity(), 1.14, 0.45))
    {
    }

    void paint()
    {
        caption();
        verticalScale();
        paintTimeRuler(m_canvas, m_theme, m_axis, m_frame.ruler, m_scene.selection, rulerTicks(m_canvas, m_axis));
        m_canvas.pushClip(m_frame.plot);
        areas();
        bandNames();
        m_canvas.popClip();
        limit();
        limitName(peakMark());
        rangeAndCursor();
        if (m_frame.contents.width() > 0)
            contents();
        node();
    }

private:
    const MemoryRow& row() const { return m_model.rows()[static_cast<std::size_t>(m_row)]; }
    double lengthNs() const { return static_cast<double>(m_model.endNs()); }
    float y(std::int64_t bytes) const
    {
        return std::round(m_frame.plot.bottom - m_frame.plot.height() * static_cast<float>(static_cast<double>(bytes) / m_scale));
    }
    float endX() const { return std::clamp(m_axis.x(lengthNs()), m_frame.plot.left, m_frame.plot.right); }
    bool isOver() const { return m_model.capacity() > 0 && m_held.peak().total() > m_model.capacity(); }
    std::string timeTextOf(std::int64_t ns) const { return timeText(static_cast<double>(ns), m_axis.nsPerPixel(), lengthNs()); }
    std::string peakSummary() const;
    float write(Rect area, const std::string& text, Color color, FontFace face, Align align, GiveBecauses because) const
    {
        return writeNumber(m_scene.numbers, m_canvas, m_theme, area, text, color, face, align, std::move(because));
    }
    /// A part at the peak, or at a time.
    GiveBecauses why(sim::MetricId id) const
    {
        return [step = m_model.step(), rank = m_scene.shownRank(), id] { return becauseOfMemory(step, rank, id); };
    }
    GiveBecauses why(sim::MetricId id, std::int64_t atNs) const
    {
        return [step = m_model.step(), rank = m_scene.shownRank(), id, atNs] {
            return one([=] { return sim::explainHeld(*step, id, rank, atNs); });
        };
    }

    void caption();
    void verticalScale();
    void areas();
    void bandNames();
    void limit();
    void limitName(Rect taken);
    Rect peakMark();
    void rangeAndCursor();
    void contents();
    float contentsTable(Rect, const sim::MemoryContents& peak, const sim::MemoryContents* told);
    GiveBecauses whyOfHeld(std::size_t group, std::int64_t atNs) const;
    void contentsList(Rect, const sim::MemoryContents&, const std::string& when, std::int64_t atNs);
    void node();

    Canvas& m_canvas;
    const MemoryScene& m_scene;
    const MemoryModel& m_model;
    const Theme& m_theme;
    const MemoryFrame& m_frame;
    TimeAxis m_axis;
    int m_row;
    const HeldOverTime& m_held;
    double m_scale;
};

/// What holds the activations at the peak, in a line: "stage 2 · micro-batches 0–3, 3.10 GiB each". All of it: where they do not
/// hold alike, their number and sum.
std::string OverTimePainter::peakSummary() const
{
    const auto& held = m_model.contents(m_row, m_held.peakNs()).microbatches;
    const auto lines = heldLines(m_model.simulation(), held);
    if (lines.size() < 2)
        return lines.empty() ? std::string() : lines.front().names.front() + ", " + lines.front().each;
    std::set<int> stages, numbers;
    for (const sim::HeldMicrobatches& one : held) {
        stages.insert(one.stage);
        numbers.insert(one.microbatches.begin(), one.microbatches.end());
    }
    std::int64_t bytes = 0;
    for (const HeldLine& line : lines)
        bytes += line.bytes;
    const auto listed = [](const std::set<int>& all) { return rankListText({all.begin(), all.end()}); };
    const bool areSlices = m_model.simulation().schedule().slices > 1;
    return (stages.size() == 1 ? "stage " : "stages ") + listed(stages) + " · " +
           (areSlices ? countText(static_cast<std::int64_t>(numbers.size())) + " slices" : "micro-batches " + listed(numbers)) +
           ", " + bytesText(static_cast<double>(bytes)) + " in all";
}

/// Whose memory this is; where nothing stands beside the plot, what is in it at the peak.
void OverTimePainter::caption()
{
    const Rect area = m_frame.caption;
    const auto focus = m_scene.selection.focusRank();
    const std::string pp = m_model.simulation().mesh().pipelineRanks() > 1 ? "pp " + countText(row().pipelineRank) : "";
    const std::string who = focus        ? "Rank " + countText(*focus) + (pp.empty() ? "" : " · " + pp)
                            : pp.empty() ? "Every rank"
                                         : pp + ", the fullest";
    const float used = textInside(m_canvas, area, fitting(m_canvas, {who + ", over the step", who}, area.width(), FontFace::bold),
                                  m_theme.text, FontFace::bold);
    if (m_frame.contents.width() > 0)
        return;
    const Rect rest{area.left + used + 16, area.top, area.right, area.bottom};
    const std::string held = peakSummary();
    const std::string peak = "peak " + bytesText(static_cast<double>(m_held.peak().total()));
    const std::string shown = fitting(m_canvas, {peak + ": " + held, held, peak}, rest.width(), FontFace::small);
    write(rest, shown, m_theme.mutedText, FontFace::small, Align::right,
          shown.starts_with(peak) || shown.ends_with(" in all") ? why(sim::MetricId::peakMemory) : whyOfHeld(0, m_held.peakNs()));
}

void OverTimePainter::verticalScale()
{
    const Rect plot = m_frame.plot;
    m_canvas.fillRect({plot.left, plot.top, endX(), plot.bottom}, mix(m_theme.canvas, m_theme.text, 0.03F));
    const float small = m_canvas.textHeight(FontFace::small);
    const auto marks = memoryTicks(m_scale / static_cast<double>(plot.height()), plot.height(), 34);
    for (const std::int64_t bytes : marks) {
        const float at = y(bytes);
        m_canvas.fillRect({plot.left, at - (bytes == 0 ? 1.0F : 0.0F), plot.right, at + (bytes == 0 ? 0.0F : 1.0F)},
                          mix(m_theme.canvas, m_theme.border, 0.75F));
        const float top = std::clamp(std::floor(at - small / 2), plot.top - small / 2, plot.bottom - small);
        textInside(m_canvas, {m_frame.gutter.left, top, m_frame.gutter.right, top + small}, memoryTickText(bytes, marks.back()),
                   m_theme.mutedText, FontFace::small, Align::right);
    }
}

/// Per pixel column its fullest moment, as it was then. What the GPU has no room for is hatched.
void OverTimePainter::areas()
{
    const Rect plot = m_frame.plot;
    const float right = std::ceil(endX());
    ColumnStacks stacks{.area = {plot.left, plot.top, std::min(right, plot.right), plot.bottom}};
    const MemoryParts colors = memoryParts({}, m_theme);
    for (const MemoryPart& part : colors)
        stacks.colors.push_back(part.color);
    for (const MemoryPart& part : colors)
        stacks.colors.push_back(withoutRoom(part, m_theme));
    const auto height = [&](std::int64_t bytes) { return static_cast<std::uint16_t>(std::max(0.0F, plot.bottom - y(bytes))); };
    const std::uint16_t limit = m_model.capacity() > 0 && isOver() ? height(m_model.capacity()) : std::uint16_t{0xFFFF};
    std::int64_t edge = std::llround(m_axis.ns(plot.left));
    Rect over{plot.left, 0, plot.left, plot.bottom - static_cast<float>(limit)}; // columns that rise above the limit alike
    for (float x = plot.left; x < right; ++x) {
        const std::int64_t next = std::max(edge + 1, static_cast<std::int64_t>(std::llround(m_axis.ns(x + 1))));
        const MemoryParts parts = memoryParts(m_held.fullest(edge, next), m_theme);
        for (const bool hasRoom : {true, false}) {
            std::int64_t sum = 0;
            for (const MemoryPart& part : parts) {
                const std::uint16_t top = height(sum += part.bytes);
                stacks.tops.push_back(hasRoom ? std::min(limit, top) : std::max(top, stacks.tops.back()));
            }
        }
        edge = next;
    }
    m_canvas.stacks(stacks);
    const std::size_t bars = stacks.colors.size();
    for (std::size_t column = 0; limit != 0xFFFF && column < stacks.columns(); ++column) {
        const float x = plot.left + static_cast<float>(column);
        const float top = plot.bottom - static_cast<float>(stacks.tops[column * bars + bars - 1]);
        if (top != over.top) {
            paintHatch(m_canvas, over, m_theme.error);
            over.left = x;
            over.top = top;
        }
        over.right = x + 1;
    }
    if (limit != 0xFFFF)
        paintHatch(m_canvas, over, m_theme.error);
}

/// Into what stays for the whole step, where it is high enough.
void OverTimePainter::bandNames()
{
    if (m_scene.selection.range)
        return; // half of a name would step back with what is outside; the legend says it too
    std::int64_t below = 0;
    sim::MemoryBreakdown states = m_held.states();
    states.buffers = 0; // lies above what varies
    for (const MemoryPart& part : memoryParts(states, m_theme)) {
        const Rect band{m_frame.plot.left + 8, y(below + part.bytes), endX() - 8, y(below)};
        below += part.bytes;
        const std::string bytes = bytesText(static_cast<double>(part.bytes)), name = part.name;
        if (part.bytes > 0 && band.height() >= m_canvas.textHeight(FontFace::small) + 1)
            write(band, fitting(m_canvas, {name + " " + bytes, name, bytes}, band.width(), FontFace::small),
                  readableOn(part.color), FontFace::small, Align::left, why(part.id));
    }
}

void OverTimePainter::limit()
{
    const Rect plot = m_frame.plot;
    const float at = y(m_model.capacity());
    if (m_model.capacity() <= 0 || at < plot.top)
        return;
    const Color color = isOver() ? m_theme.error : m_theme.warning;
    m_canvas.line({plot.left, at}, {plot.right, at}, color, isOver() ? 2.0F : 1.0F, LineStyle::dashed);
}

/// At the left end of its line, else at the right: where the peak's words are not. Below it where there is no room above.
void OverTimePainter::limitName(Rect taken)
{
    const Rect plot = m_frame.plot;
    const float at = y(m_model.capacity());
    if (m_model.capacity() <= 0 || at < plot.top)
        return;
    const Color color = isOver() ? m_theme.error : m_theme.warning;
    const std::string bytes = bytesText(static_cast<double>(m_model.capacity()));
    const std::string text = fitting(m_canvas, {"GPU " + bytes, bytes}, plot.width() - 16, FontFace::small);
    const float small = m_canvas.textHeight(FontFace::small), width = m_canvas.textWidth(text, FontFace::small);
    const bool isAbove = at - small - 2 >= plot.top, isFreeBelow = at + small + 2 <= y(m_held.peak().total());
    const float top = isAbove || !isFreeBelow ? at - small - 2 : at + 2;
    Rect label{plot.left + 8, top, plot.left + 8 + width, top + small};
    const auto isTaken = [&] {
        const Rect both = intersected(label.inset(-4), taken);
        return both.width() > 0 && both.height() > 0;
    };
    if (isTaken())
        label = {plot.right - 8 - width, label.top, plot.right - 8, label.bottom};
    if (label.top < plot.top || label.left < plot.left || label.right > plot.right || isTaken())
        return;
    if (isOver()) // it stands on the hatching
        m_canvas.fillRect({label.left - 4, label.top - 1, label.right + 4, label.bottom + 1}, color);
    write({label.left, label.top, label.right + 1, label.bottom}, text, isOver() ? readableOn(color) : color, FontFace::small,
          Align::left, [step = m_model.step()] { return one([step] { return sim::explainCapacity(*step); }); });
}

/// The place of its words; empty where there are none.
Rect OverTimePainter::peakMark()
{
    const Rect plot = m_frame.plot;
    const float x = std::round(m_axis.x(static_cast<double>(m_held.peakNs()))), top = y(m_held.peak().total());
    if (x < plot.left || x >= endX())
        return {};
    m_canvas.fillConvex({{x, top}, {x - 5, top - 7}, {x + 5, top - 7}}, m_theme.text);
    const std::string bytes = "peak " + bytesText(static_cast<double>(m_held.peak().total()));
    const float small = m_canvas.textHeight(FontFace::small);
    const float right = m_frame.plot.right, left = plot.left + (m_model.capacity() > 0 ? 92.0F : 0.0F);
    for (const bool before : {false, true}) {
        const float room = before ? x - 9 - left : right - x - 9;
        const std::string text = fitting(m_canvas, {bytes + " at " + timeTextOf(m_held.peakNs()), bytes}, room, FontFace::small);
        if (text.empty() || top - small - 2 < plot.top - 4)
            continue;
        const float width = m_canvas.textWidth(text, FontFace::small);
        const float at = std::floor(before ? x - 9 - width : x + 9);
        // The limit's line may run behind the words.
        m_canvas.fillRect({at - 2, top - small - 2, at + width + 2, top - 1}, mix(m_theme.canvas, m_theme.text, 0.03F));
        write({at, top - small - 2, at + width + 1, top - 2}, text, m_theme.text, FontFace::small, Align::left,
              why(sim::MetricId::peakMemory));
        return {at - 2, top - small - 2, at + width + 2, top};
    }
    return {};
}

void OverTimePainter::rangeAndCursor()
{
    const Rect plot = m_frame.plot;
    if (const auto& range = m_scene.selection.range) {
        const float left = std::clamp(m_axis.x(static_cast<double>(range->beginNs)), plot.left, plot.right);
        const float right = std::clamp(m_axis.x(static_cast<double>(range->endNs)), plot.left, plot.right);
        if (right > left) {
            const Color outside = withAlpha(m_theme.canvas, 0.55F);
            m_canvas.fillRect({plot.left, plot.top, left, plot.bottom}, outside);
            m_canvas.fillRect({right, plot.top, plot.right, plot.bottom}, outside);
            m_canvas.fillRect({left, plot.top, left + 1, plot.bottom}, m_theme.accent);
            m_canvas.fillRect({right - 1, plot.top, right, plot.bottom}, m_theme.accent);
        }
    }
    const auto line = [&](std::int64_t ns, Color color) {
        const float x = std::floor(m_axis.x(static_cast<double>(ns)));
        if (x >= plot.left && x < plot.right)
            m_canvas.fillRect({x, plot.top, x + 1, plot.bottom}, color);
    };
    if (m_scene.pointedNs)
        line(*m_scene.pointedNs, withAlpha(m_theme.text, 0.5F));
    if (m_scene.selection.cursorNs > 0)
        line(m_scene.selection.cursorNs, m_theme.accent);
}

void OverTimePainter::contents()
{
    const Rect area = m_frame.contents;
    const std::optional<std::int64_t> told = m_scene.toldNs();
    const sim::MemoryContents* now = told ? &m_model.contents(m_row, *told) : nullptr;
    const sim::MemoryContents& peak = m_model.contents(m_row, m_held.peakNs());
    const float bottom = contentsTable(area, peak, now);
    contentsList({area.left, bottom + 6, area.right, area.bottom}, now ? *now : peak,
                 told ? "at " + timeTextOf(*told) : "at the peak", told.value_or(m_held.peakNs()));
}

/// Parts in rows; the peak in one column and, beside it, the time under the pointer or the cursor.
float OverTimePainter::contentsTable(Rect area, const sim::MemoryContents& peak, const sim::MemoryContents* told)
{
    const float line = m_canvas.textHeight(FontFace::small) + 3;
    constexpr float kColumn = 78;
    const float second = area.right, first = told ? area.right - kColumn : area.right;
    float top = area.top;
    const std::int64_t toldNs = m_scene.toldNs().value_or(0);
    const auto cell = [&](float right, const std::string& text, Color color, GiveBecauses because = {}) {
        write({right - kColumn, top, right, top + line}, text, color, FontFace::small, Align::right, std::move(because));
    };
    cell(first, "at the peak", m_theme.mutedText);
    if (told)
        cell(second, "at " + timeTextOf(toldNs), m_theme.accent);
    top += line + 2;
    const MemoryParts atPeak = memoryParts(peak.sum, m_theme), atTime = memoryParts(told ? told->sum : peak.sum, m_theme);
    for (std::size_t i = 0; i < atPeak.size() && top + line <= area.bottom; ++i) {
        if (atPeak[i].bytes == 0 && atTime[i].bytes == 0)
            continue;
        const float middle = std::floor(top + line / 2);
        m_canvas.fillRect({area.left, middle - 5, area.left + 11, middle + 6}, atPeak[i].color);
        textInside(m_canvas, {area.left + 17, top, first - kColumn, top + line}, atPeak[i].name, m_theme.text, FontFace::small);
        cell(first, bytesText(static_cast<double>(atPeak[i].bytes)), m_theme.text, why(atPeak[i].id));
        if (told)
            cell(second, bytesText(static_cast<double>(atTime[i].bytes)), m_theme.text, why(atTime[i].id, toldNs));
        if (m_canvas.wantsNodes())
            m_canvas.node(
                {.id = kPartNodes + i,
                 .role = "part",
                 .name = std::string(atPeak[i].name) + ", at the peak " + bytesText(static_cast<double>(atPeak[i].bytes)) +
                         (told ? ", at " + timeTextOf(*m_scene.toldNs()) + " " + bytesText(static_cast<double>(atTime[i].bytes))
                               : ""),
                 .rect = {area.left, top, area.right, top + line}});
        top += line;
    }
    if (top + line > area.bottom)
        return top;
    m_canvas.fillRect({area.left, top + 1, area.right, top + 2}, m_theme.border);
    top += 3;
    textInside(m_canvas, {area.left + 17, top, first - kColumn, top + line}, "total", m_theme.text, FontFace::small);
    cell(first, bytesText(static_cast<double>(peak.sum.total())), isOver() ? m_theme.error : m_theme.text,
         why(sim::MetricId::peakMemory));
    if (told)
        cell(second, bytesText(static_cast<double>(told->sum.total())), m_theme.text, why(sim::MetricId::peakMemory, toldNs));
    return top + line;
}

GiveBecauses OverTimePainter::whyOfHeld(std::size_t group, std::int64_t atNs) const
{
    return [step = m_model.step(), rank = m_scene.shownRank(), group, atNs] {
        return one([=] { return sim::explainHeldMicrobatch(*step, rank, atNs, group); });
    };
}

/// What the varying part is: micro-batches by stage, then the tensors that make them up.
void OverTimePainter::contentsList(Rect area, const sim::MemoryContents& held, const std::string& when, std::int64_t atNs)
{
    const auto step = m_model.step();
    const int rank = m_scene.shownRank();
    const float line = m_canvas.textHeight(FontFace::small) + 2;
    float top = area.top;
    const auto add = [&](const std::vector<std::string>& names, const std::string& value, double share, Color color,
                         GiveBecauses because = {}) {
        if (top + line > area.bottom)
            return false;
        if (share > 0) // how much of all this is, behind the words
            m_canvas.fillRect({area.left, top, area.left + std::max(1.0F, area.width() * static_cast<float>(share)), top + line},
                              mix(m_theme.canvas, color, 0.35F));
        const float width = write({area.left, top, area.right - 3, top + line}, value, m_theme.text, FontFace::small,
                                  Align::right, std::move(because));
        const Rect room{area.left + 4, top, area.right - width - 8, top + line};
        textInside(m_canvas, room, fitting(m_canvas, names, room.width(), FontFace::small), m_theme.text, FontFace::small);
        top += line + 2;
        return true;
    };
    const auto heading = [&](const std::string& text) {
        if (top + 2 * line > area.bottom)
            return false;
        textInside(m_canvas, {area.left, top, area.right, top + line}, text, m_theme.mutedText, FontFace::small);
        top += line + 1;
        return true;
    };
    const double all = std::max(1.0, static_cast<double>(held.sum.activations));
    if (held.microbatches.empty()) {
        add({"no activations " + when}, "", 0, m_theme.activations);
    } else if (heading("activations " + when)) {
        std::size_t shown = 0;
        for (const HeldLine& group : heldLines(m_model.simulation(), held.microbatches))
            if (!add(group.names, group.each, static_cast<double>(group.bytes) / all, m_theme.activations,
                     whyOfHeld(group.group, atNs)) ||
                ++shown == 6)
                break;
        top += 3;
    }
    if (held.sum.buffers > 0 && heading("buffers " + when)) {
        const auto buffers = static_cast<double>(held.sum.buffers);
        for (const auto& [name, bytes, part] :
             {std::tuple{"narrow weights", held.narrowWeights, sim::HeldBuffer::narrowWeights},
              {"messages of stages", held.messageBuffers, sim::HeldBuffer::messageBuffers},
              {"gradients' buffers", held.reductionBuffers, sim::HeldBuffer::reductionBuffers},
              {"gathered parameters", held.gatheredParameters, sim::HeldBuffer::gatheredParameters},
              {"gradients not yet reduced", held.wholeGradients, sim::HeldBuffer::wholeGradients},
              {"started ahead", held.startedAhead, sim::HeldBuffer::startedAhead}})
            if (bytes > 0)
                add({name}, bytesText(static_cast<double>(bytes)), static_cast<double>(bytes) / buffers, m_theme.buffers,
                    [step, rank, atNs, which = part] { return one([=] { return sim::explainHeld(*step, which, rank, atNs); }); });
        top += 3;
    }
    if (!held.tensors.empty() && heading("activations by operator"))
        for (std::size_t i = 0; i < held.tensors.size(); ++i) {
            const auto bytes = static_cast<double>(held.tensors[i].bytes);
            if (!add({sim::spokenOp(held.tensors[i].name)}, bytesText(bytes), bytes / all, m_theme.activations,
                     [step, rank, atNs, i] { return one([=] { return sim::explainHeldTensors(*step, rank, atNs, i); }); }))
                break;
        }
}

void OverTimePainter::node()
{
    if (!m_canvas.wantsNodes())
        return;
    const auto focus = m_scene.selection.focusRank();
    const std::string held = peakSummary();
    m_canvas.node({.id = kPlotNode,
                   .role = "memory over time",
                   .name = (focus ? "rank " + countText(*focus) + ", " : "fullest, ") + row().names.front() + ", peak " +
                           bytesText(static_cast<double>(m_held.peak().total())) + " at " +
                           durationText(static_cast<double>(m_held.peakNs())) + (held.empty() ? "" : ": " + held),
                   .rect = {m_frame.gutter.left, m_frame.ruler.top, m_frame.plot.right, m_frame.plot.bottom}});
}

} // namespace

void paintMemoryOverTime(Canvas& canvas, const MemoryScene& scene)
{
    OverTimePainter(canvas, scene).paint();
}

} // namespace app
