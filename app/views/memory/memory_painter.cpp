#include "app/views/memory/memory_painter.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/memory_parts.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kMemoryScrollBar = 10, kScaleHeight = 18, kRulerHeight = 20, kCaptionHeight = 22;
constexpr float kLowestPitch = 17, kHighestPitch = 34;

constexpr float kHeaderHeight = 28, kBesideLegend = 16;

/// How full the fullest GPU gets, as long as half of the width allows.
std::string fullestText(Canvas& canvas, const MemoryModel& model, float width)
{
    const std::int64_t peak = model.rows()[static_cast<std::size_t>(model.fullestRow())].peak.total();
    const auto [most, of] = bytesBesideLimit(static_cast<double>(peak), static_cast<double>(model.capacity()));
    const std::string beyond = bytesText(static_cast<double>(peak - model.capacity())) + " too much";
    return fitting(canvas,
                   model.capacity() > 0 && peak > model.capacity()
                       ? std::vector<std::string>{"does not fit: " + most + " of " + of + ", " + beyond,
                                                  "does not fit: " + most + " of " + of, beyond}
                       : std::vector<std::string>{"fullest GPU " + most + " of " + of, most + " of " + of, most},
                   width * 0.5F, FontFace::bold);
}

/// What any row has at its peak.
sim::MemoryBreakdown everUsed(const MemoryModel& model)
{
    sim::MemoryBreakdown any;
    for (const MemoryRow& r : model.rows()) {
        any.parameters += r.peak.parameters;
        any.gradients += r.peak.gradients;
        any.optimizer += r.peak.optimizer;
        any.activations += r.peak.activations;
        any.buffers += r.peak.buffers;
    }
    return any;
}

class BarsPainter {
public:
    BarsPainter(Canvas& canvas, const MemoryScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model), m_theme(scene.theme), m_frame(scene.frame),
          m_pitch(scene.frame.pitch), m_face(m_pitch >= 24 ? FontFace::body : FontFace::small),
          m_most(m_model.rows()[static_cast<std::size_t>(m_model.fullestRow())].peak.total()),
          m_bytesPerPixel(memoryScale(std::max(m_most, scene.leastBytes), m_model.capacity(), 1.03, 0.25) /
                          static_cast<double>(std::max(1.0F, m_frame.bars.width())))
    {
    }

    void header();
    void bars();
    float write(Rect, const std::string&, Color, FontFace, int row);

private:
    const MemoryRow& row(int index) const { return m_model.rows()[static_cast<std::size_t>(index)]; }
    float limitX() const
    {
        return m_frame.bars.left + std::round(static_cast<float>(static_cast<double>(m_model.capacity()) / m_bytesPerPixel));
    }
    bool limitIsInSight() const { return m_model.capacity() > 0 && limitX() < m_frame.bars.right; }
    void scale();
    void drawRow(int index, float top);
    void scrollBar();

    Canvas& m_canvas;
    const MemoryScene& m_scene;
    const MemoryModel& m_model;
    const Theme& m_theme;
    const MemoryFrame& m_frame;
    float m_pitch;
    FontFace m_face;
    std::size_t m_nameLevel = 0; ///< of all rows alike: the longest names that fit
    std::int64_t m_most;
    double m_bytesPerPixel;
};

/// Left or below: what the colours mean. Right: how full the fullest GPU gets.
void BarsPainter::header()
{
    const Rect area = m_frame.header;
    if (area.height() <= 0)
        return;
    const bool over = m_model.capacity() > 0 && m_most > m_model.capacity();
    const std::string text = fullestText(m_canvas, m_model, area.width());
    const float used = write(area, text, over ? m_theme.error : m_theme.text, FontFace::bold, m_model.fullestRow());
    const bool isBelow = m_frame.legend.height() > 0;
    paintMemoryLegend(m_canvas, m_theme, everUsed(m_model),
                      isBelow ? m_frame.legend : Rect{area.left, area.top, area.right - used - kBesideLegend, area.bottom});
}

/// The peak of a row, at the right.
float BarsPainter::write(Rect area, const std::string& text, Color color, FontFace face, int row)
{
    return writeNumber(
        m_scene.numbers, m_canvas, m_theme, area, text, color, face, Align::right,
        [step = m_model.step(), rank = m_model.rankOf(row, m_scene.selection)] { return becauseOfMemory(step, rank); });
}

void BarsPainter::bars()
{
    const auto fits = [&](const MemoryRow& r) {
        const std::string& name = r.names[std::min(m_nameLevel, r.names.size() - 1)];
        return m_canvas.textWidth(name, m_face) <= m_frame.names.width() - 2;
    };
    const auto& all = m_model.rows();
    while (m_nameLevel + 1 < all.front().names.size() && !std::all_of(all.begin(), all.end(), fits))
        ++m_nameLevel;
    scale();
    const Rect rows{m_frame.names.left - 4, m_frame.bars.top, m_frame.values.right + 4, m_frame.bars.bottom};
    m_canvas.pushClip({rows.left, rows.top - 1, rows.right, rows.bottom + 1});
    const int first = std::max(0, static_cast<int>(m_scene.scrollY / m_pitch));
    const int count = static_cast<int>(m_model.rows().size());
    for (int i = first; i < count; ++i) {
        const float top = m_frame.bars.top + static_cast<float>(i) * m_pitch - m_scene.scrollY;
        if (top >= m_frame.bars.bottom)
            break;
        drawRow(i, top);
    }
    if (limitIsInSight()) {
        const float bottom = std::min(m_frame.bars.bottom, m_frame.bars.top + static_cast<float>(count) * m_pitch);
        m_canvas.fillRect({limitX() - 1, m_frame.bars.top - 2, limitX() + 1, bottom},
                          m_most > m_model.capacity() ? m_theme.error : m_theme.warning);
    }
    m_canvas.popClip();
    scrollBar();
}

/// Bytes above the bars, with fine lines through them; the GPU's limit before round numbers.
void BarsPainter::scale()
{
    const Rect area = m_frame.scale;
    const float bottom = std::min(m_frame.bars.bottom, m_frame.bars.top + static_cast<float>(m_model.rows().size()) * m_pitch);
    Rect taken{};
    const bool over = m_most > m_model.capacity();
    if (m_model.capacity() > 0) {
        const std::string bytes = bytesText(static_cast<double>(m_model.capacity())), gpu = "GPU " + bytes;
        const float room = m_frame.values.right - area.left; // nothing else stands above the values
        const std::string text = fitting(m_canvas, {limitIsInSight() ? gpu : gpu + " →", gpu, bytes}, room, FontFace::small);
        const float width = m_canvas.textWidth(text, FontFace::small);
        const float left = limitIsInSight() ? std::clamp(limitX() - width / 2, area.left, m_frame.values.right - width)
                                            : m_frame.values.right - width;
        m_canvas.text({std::floor(left), area.top}, text, over ? m_theme.error : m_theme.warning, FontFace::small);
        taken = {left - 6, area.top, left + width + 6, area.bottom};
    }
    const auto ticks = memoryTicks(m_bytesPerPixel, m_frame.bars.width(), 72);
    for (const std::int64_t bytes : ticks) {
        const float x = m_frame.bars.left + std::round(static_cast<float>(static_cast<double>(bytes) / m_bytesPerPixel));
        m_canvas.fillRect({x, area.bottom - 3, x + 1, bottom}, mix(m_theme.canvas, m_theme.border, 0.75F));
        const std::string text = memoryTickText(bytes, ticks.back());
        const float half = m_canvas.textWidth(text, FontFace::small) / 2;
        const float middle = std::floor(std::max(x, m_frame.bars.left + half));
        if (middle + half < taken.left || middle - half > taken.right)
            if (middle + half <= m_frame.values.right)
                m_canvas.text({middle, area.top}, text, m_theme.mutedText, FontFace::small, Align::center);
    }
}

void BarsPainter::drawRow(int index, float top)
{
    const MemoryRow& r = row(index);
    const Selection& selection = m_scene.selection;
    const bool selected = std::any_of(selection.ranks.begin(), selection.ranks.end(),
                                      [&](int rank) { return std::binary_search(r.ranks.begin(), r.ranks.end(), rank); });
    const bool focused = selection.focusRank() && m_scene.shownRow() == index;
    const bool over = m_model.capacity() > 0 && r.peak.total() > m_model.capacity();
    const float gap = m_pitch < 20 ? 2.0F : 5.0F;
    const Rect line{m_frame.names.left - 4, top, m_frame.values.right + 4, top + m_pitch};
    if (focused || m_scene.hoveredRow == index)
        m_canvas.fillRect(line, m_theme.hover);
    if (selected)
        m_canvas.fillRect({line.left, top + 1, line.left + 3, line.bottom - 1}, m_theme.selection);
    textInside(m_canvas, {m_frame.names.left + 2, top, m_frame.names.right, line.bottom},
               r.names[std::min(m_nameLevel, r.names.size() - 1)], m_theme.text, m_face);
    const Rect bar{m_frame.bars.left, top + std::floor(gap / 2), m_frame.bars.right, line.bottom - std::ceil(gap / 2)};
    m_canvas.pushClip(bar);
    paintMemoryBar(m_canvas, m_theme, r.peak, bar, m_bytesPerPixel, m_model.capacity());
    m_canvas.popClip();
    const double total = static_cast<double>(r.peak.total());
    const std::string share =
        m_model.capacity() > 0 ? " · " + percentText(total / static_cast<double>(m_model.capacity())) : std::string();
    write({m_frame.values.left, top, m_frame.values.right, line.bottom},
          fitting(m_canvas, {bytesText(total) + share, bytesText(total)}, m_frame.values.width(), m_face),
          over ? m_theme.error : m_theme.text, m_face, index);
    if (m_canvas.wantsNodes()) {
        const auto [most, of] = bytesBesideLimit(total, static_cast<double>(m_model.capacity()));
        m_canvas.node({.id = static_cast<std::uint64_t>(index),
                       .role = "bar",
                       .name = r.names.front() + ", peak " + (m_model.capacity() > 0 ? most + " of " + of : bytesText(total)) +
                               (over ? ", does not fit: " : ": ") + memoryPartsText(r.peak),
                       .rect = intersected(line, {line.left, m_frame.bars.top, line.right, m_frame.bars.bottom}),
                       .selected = selected});
    }
}

void BarsPainter::scrollBar()
{
    const float content = m_pitch * static_cast<float>(m_model.rows().size()), view = m_frame.bars.height();
    if (content <= view + 1)
        return;
    const Rect track = m_frame.scroll;
    const float length = std::max(24.0F, track.height() * view / content);
    const float top = track.top + (track.height() - length) * m_scene.scrollY / (content - view);
    m_canvas.fillRect({track.left + 2, top, track.right - 2, top + length}, mix(m_theme.border, m_theme.mutedText, 0.35F));
}

} // namespace

int legendLinesBelow(Canvas& canvas, const MemoryModel& model, float width)
{
    const float inside = width - 2 * kMargin, used = canvas.textWidth(fullestText(canvas, model, inside), FontFace::bold);
    const sim::MemoryBreakdown any = everUsed(model);
    constexpr int kLinesBeside = static_cast<int>(kHeaderHeight / kMemoryLegendLine);
    const bool isBeside = memoryLegendLines(canvas, any, inside - used - kBesideLegend) <= kLinesBeside;
    return isBeside ? 0 : memoryLegendLines(canvas, any, inside);
}

MemoryFrame::MemoryFrame(Rect area, std::size_t rows, bool allRows, int legendLines)
{
    const float below = static_cast<float>(legendLines) * kMemoryLegendLine;
    const float headerHeight = area.height() >= 150 + below ? kHeaderHeight + below : 0.0F;
    const Rect inner{area.left + kMargin, area.top + headerHeight + (headerHeight > 0 ? 0.0F : 4.0F), area.right - kMargin,
                     area.bottom - 8};
    header = {inner.left, area.top, inner.right, area.top + std::min(headerHeight, kHeaderHeight)};
    if (headerHeight > 0)
        legend = {inner.left, header.bottom, inner.right, inner.top};
    const auto wanted = kScaleHeight + static_cast<float>(rows) * 26.0F;
    constexpr float kLowestPlot = 104, kLowestBars = 60, kWideForBoth = 880, kLowForBeside = 300, kBetween = 10;
    const bool beside = inner.width() >= kWideForBoth && inner.height() < kLowForBeside && inner.height() >= kLowestPlot;
    constexpr std::size_t kFewRows = 4; // that are seen at once, and not all but one of them
    allRows = allRows || rows <= kFewRows;
    const float lowest = kScaleHeight + static_cast<float>(rows) * kLowestPitch,
                highest = inner.height() - kBetween - kLowestPlot;
    const bool needsAll = allRows && lowest > highest && lowest <= inner.height();
    const bool above = !beside && !needsAll && inner.height() >= kLowestPlot + kLowestBars + 2 * kBetween;
    Rect left = inner, time{};
    if (beside) {
        left.right = std::floor(inner.left + inner.width() * 0.42F);
        time = {left.right + 2 * kBetween, inner.top, inner.right, inner.bottom};
    } else if (above) {
        const float room = inner.height() - kBetween;
        const float most = std::max({room * 0.45F, kLowestBars, allRows ? lowest : 0.0F});
        left.bottom = std::floor(inner.top + std::clamp(wanted, kLowestBars, std::min(most, room - kLowestPlot)));
        time = {inner.left, left.bottom + kBetween, inner.right, inner.bottom};
    }

    const bool narrow = left.width() < 420;
    const float nameWidth = std::floor(std::clamp(left.width() * 0.16F, 44.0F, 170.0F));
    const float valueWidth = narrow ? 68.0F : 124.0F;
    const float barsTop = left.top + kScaleHeight;
    const auto count = static_cast<float>(std::max<std::size_t>(1, rows));
    pitch = std::floor(std::clamp((left.bottom - barsTop) / count, kLowestPitch, kHighestPitch));
    const float inSight = std::max(1.0F, std::floor((left.bottom - barsTop) / pitch));
    const float scrollWidth = count > inSight ? kMemoryScrollBar : 0.0F;
    left.bottom = barsTop + std::min(count, inSight) * pitch;
    bars = {left.left + nameWidth, barsTop, std::max(left.left + nameWidth + 1, left.right - valueWidth - scrollWidth),
            left.bottom};
    names = {left.left, barsTop, bars.left - 8, left.bottom};
    scale = {bars.left, left.top, bars.right, barsTop};
    values = {bars.right + 6, barsTop, left.right - scrollWidth, left.bottom};
    scroll = {left.right - scrollWidth, barsTop, left.right, left.bottom};
    if (time.height() <= 0)
        return;
    constexpr float kGutter = 64, kContents = 272, kWideForContents = 600;
    const float contentsWidth = time.width() >= kWideForContents && time.height() >= 130 ? kContents : 0.0F;
    const float right = time.right - (contentsWidth > 0 ? contentsWidth + 16 : 0.0F);
    caption = {time.left, time.top, right, time.top + kCaptionHeight};
    ruler = {time.left + kGutter, caption.bottom, right, caption.bottom + kRulerHeight};
    plot = {ruler.left, ruler.bottom, right, time.bottom};
    gutter = {time.left, plot.top, plot.left - 6, plot.bottom};
    contents = {time.right - contentsWidth, time.top, time.right, time.bottom};
}

std::optional<std::int64_t> MemoryScene::toldNs() const
{
    if (pointedNs)
        return pointedNs;
    return selection.cursorNs > 0 ? std::optional(std::min(selection.cursorNs, model.endNs())) : std::nullopt;
}

std::vector<HeldLine> heldLines(const sim::Simulation& simulation, const std::vector<sim::HeldMicrobatches>& held)
{
    struct Group {
        std::vector<int> stages;
        const sim::HeldMicrobatches* like;
    };
    std::vector<Group> groups;
    for (const sim::HeldMicrobatches& one : held) {
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
            return g.like->microbatches == one.microbatches && g.like->bytesEach == one.bytesEach;
        });
        if (same == groups.end())
            groups.push_back({{one.stage}, &one});
        else
            same->stages.push_back(one.stage);
    }
    const int slices = simulation.schedule().slices;
    std::vector<HeldLine> lines;
    for (const Group& group : groups) {
        const std::vector<int>& numbers = group.like->microbatches;
        const bool one = numbers.size() == 1;
        std::string few = countText(static_cast<std::int64_t>(numbers.size())), which;
        if (slices == 1) {
            few += one ? " micro-batch" : " micro-batches";
            which = (one ? "micro-batch " : "micro-batches ") + rankListText(numbers);
        } else {
            std::vector<int> whole;
            for (const int slice : numbers)
                if (whole.empty() || whole.back() != slice / slices)
                    whole.push_back(slice / slices);
            few += one ? " slice" : " slices";
            which = few + " of " + (whole.size() == 1 ? "micro-batch " : "micro-batches ") + rankListText(whole);
        }
        const std::string stages = (group.stages.size() == 1 ? "stage " : "stages ") + rankListText(group.stages);
        const auto many = static_cast<std::int64_t>(group.stages.size()) * static_cast<std::int64_t>(numbers.size());
        lines.push_back({{stages + " · " + which, stages + " · " + few, stages},
                         bytesText(static_cast<double>(group.like->bytesEach)) + (many > 1 ? " each" : ""),
                         group.like->bytesEach * many,
                         static_cast<std::size_t>(group.like - held.data())});
    }
    std::stable_sort(lines.begin(), lines.end(), [](const HeldLine& a, const HeldLine& b) { return a.bytes > b.bytes; });
    return lines;
}

void paintMemoryPicture(Canvas& canvas, const MemoryScene& scene)
{
    canvas.fillRect(canvas.area(), scene.theme.canvas);
    BarsPainter bars(canvas, scene);
    bars.header();
    bars.bars();
    if (scene.frame.hasPlot())
        paintMemoryOverTime(canvas, scene);
}

} // namespace app
