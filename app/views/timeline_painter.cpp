#include "app/views/timeline_painter.h"

#include "app/views/color.h"
#include "app/views/labels.h"
#include "app/views/timeline_dependencies.h"
#include "app/views/timeline_memory.h"
#include "app/views/timeline_steps.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kTickPixels = 96;
constexpr std::uint64_t kRowNodes = std::uint64_t{1} << 63; ///< ids of rows, apart from those of spans

class Painter {
public:
    Painter(Canvas& canvas, const TimelineScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model), m_theme(scene.theme), m_frame(scene.frame), m_axis(scene.axis())
    {
    }

    void paint()
    {
        m_canvas.fillRect(m_canvas.area(), m_theme.canvas);
        header();
        if (m_scene.steps)
            story();
        const std::vector<Tick> marks = ticks(m_axis, kTickPixels);
        ruler(marks);
        const Rect all{m_canvas.area().left, m_frame.rows.top - kAirOfText, m_frame.scroll.right,
                       m_frame.rows.bottom + kAirOfText};
        m_canvas.pushClip(all);
        rowNames();
        m_canvas.popClip();
        m_canvas.pushClip({m_frame.rows.left, all.top, m_frame.rows.right, all.bottom});
        for (int row = firstRow(); row < rowCount() && m_scene.rowTop(row) < m_frame.rows.bottom; ++row)
            drawRow(row, marks);
        afterEnd(m_frame.rows);
        range(m_frame.rows);
        dependencies();
        spanOutlines();
        cursorLine(m_frame.rows);
        m_canvas.popClip();
        if (m_frame.memory.height() > 0) {
            paintMemory(m_canvas, m_scene);
            m_canvas.pushClip(m_frame.memory);
            afterEnd(m_frame.memory);
            range(m_frame.memory);
            cursorLine(m_frame.memory);
            m_canvas.popClip();
        }
        scrollBar();
        overview();
    }

    float legend(Rect area)
    {
        if (m_scene.selection.range) {
            const std::string text = fittingRangeText(area.width());
            return textInside(m_canvas, area, text, m_theme.accent, FontFace::bold, Align::right);
        }
        const float width = classChips(area, false);
        if (width > area.width())
            return 0;
        return classChips({area.right - width, area.top, area.right, area.bottom}, true);
    }

private:
    int rowCount() const { return static_cast<int>(m_model.rows().size()); }
    int firstRow() const
    {
        const auto& rows = m_scene.stack.rows;
        const auto first = std::lower_bound(rows.begin(), rows.end(), m_scene.scrollY,
                                            [](const RowPlace& row, float y) { return row.bottom <= y; });
        return static_cast<int>(first - rows.begin());
    }
    const RowPlace& place(int row) const { return m_scene.stack.rows[static_cast<std::size_t>(row)]; }
    const TimelineRow& rowAt(int row) const { return m_model.rows()[static_cast<std::size_t>(row)]; }
    int focusRow() const { return m_scene.selection.focusRank() ? m_model.rowOfRank(*m_scene.selection.focusRank()) : -1; }
    double lengthNs() const { return static_cast<double>(m_model.trace().endNs); }

    void header();
    void story();
    float phaseChips(const TimelineSteps::Story&, Rect);
    float classChips(Rect, bool draw);
    std::string rangeText() const;
    std::string fittingRangeText(float width) const;
    struct Flag {
        float middle, half;
        std::string text;
    };
    std::vector<Flag> flags();
    void ruler(const std::vector<Tick>&);
    void rowNames();
    void rowName(int row, bool focused);
    void drawRow(int row, const std::vector<Tick>&);
    void sparkline(int row, Rect);
    void afterEnd(Rect area);
    void range(Rect area);
    void dependencies();
    void arrow(const Dependency&, Color);
    void hop(const Dependency&, Color);
    void spanOutlines();
    void outline(SpanRef, float thickness);
    void cursorLine(Rect area);
    void scrollBar();
    void overview();

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const TimelineModel& m_model;
    const Theme& m_theme;
    const TimelineFrame& m_frame;
    TimeAxis m_axis;
};

/// Left: the colours in use. Right: the step, or what the selected range holds.
void Painter::header()
{
    const Rect area = m_frame.header;
    if (area.height() <= 0)
        return;
    const bool hasRange = m_scene.selection.range.has_value();
    const std::string right = hasRange ? fittingRangeText(area.width() * 0.7F) : "step " + durationText(lengthNs());
    const float rightWidth =
        textInside(m_canvas, area, right, hasRange ? m_theme.accent : m_theme.text, FontFace::bold, Align::right);
    const Rect left{area.left, area.top, area.right - rightWidth - 24, area.bottom};
    if (classChips(left, false) <= left.width())
        classChips(left, true);
}

/// What starts now and why; where the rank in focus stands.
void Painter::story()
{
    const TimelineSteps& steps = *m_scene.steps;
    if (!steps.now())
        return;
    const int row = focusRow() >= 0 ? focusRow() : m_model.rowOf(steps.now()->track);
    const TimelineSteps::Story story = steps.storyOf(row);
    const Rect area = m_frame.story;
    const float line = m_canvas.textHeight(FontFace::body) + 2;
    const Rect first{area.left, area.top, area.right, area.top + line + 6};
    const std::string place = "step " + countText(static_cast<std::int64_t>(steps.current() + 1)) + " of " +
                              countText(static_cast<std::int64_t>(steps.count()));
    const auto& names = rowAt(row).names;
    float x = first.left;
    const std::string name = fitting(m_canvas, names, 160, FontFace::bold);
    x += textInside(m_canvas, {x, first.top, first.right, first.bottom}, name, m_theme.text, FontFace::bold) + 12;
    x += phaseChips(story, {x, first.top, first.right, first.bottom});
    textInside(m_canvas, {x + 12, first.top, first.right, first.bottom},
               fitting(m_canvas, {place + "  ·  keys , and .", place}, first.right - x - 12, FontFace::small), m_theme.mutedText,
               FontFace::small, Align::right);
    const float second = first.bottom + 2;
    textInside(m_canvas, {area.left, second, area.right, second + line}, story.sentence, m_theme.text);
    const std::string now = steps.happens();
    textInside(m_canvas, {area.left, second + line, area.right, second + 2 * line}, now, m_theme.mutedText);
    if (m_canvas.wantsNodes()) {
        constexpr std::uint64_t kStoryNode = (std::uint64_t{1} << 62) | 2;
        m_canvas.node({.id = kStoryNode,
                       .role = "story",
                       .name = place + ". " + now + ". " + name + ": " + story.sentence,
                       .rect = area,
                       .selected = false});
    }
}

/// The three phases side by side, the present one filled. Returns their width; nothing is drawn where they do not fit.
float Painter::phaseChips(const TimelineSteps::Story& story, Rect area)
{
    constexpr float kPadding = 8, kSpace = 6;
    float width = 0;
    for (const std::string& label : story.labels)
        width += m_canvas.textWidth(label, FontFace::small) + 2 * kPadding + kSpace;
    if (width > area.width())
        return 0;
    float x = area.left;
    for (std::size_t i = 0; i < story.labels.size(); ++i) {
        const bool present = story.phase && static_cast<std::size_t>(*story.phase) == i;
        const Rect chip{x, area.top + 2, x + m_canvas.textWidth(story.labels[i], FontFace::small) + 2 * kPadding,
                        area.bottom - 2};
        if (present)
            m_canvas.fillRect(chip, m_theme.accent);
        m_canvas.strokeRect(chip, present ? m_theme.accent : m_theme.border);
        textInside(m_canvas, {chip.left + kPadding, chip.top, chip.right, chip.bottom}, story.labels[i],
                   present ? readableOn(m_theme.accent) : m_theme.mutedText, FontFace::small);
        x = chip.right + kSpace;
    }
    return width;
}

float Painter::classChips(Rect area, bool draw)
{
    constexpr float kSwatch = 11, kSpace = 14;
    float x = area.left;
    const float middle = std::floor((area.top + area.bottom) / 2);
    for (const sim::OpClass c : m_model.classesPresent()) {
        const std::string letter = opClassLetter(c);
        const std::string name = (letter.empty() ? "" : letter + " ") + m_model.className(c);
        const float width = m_canvas.textWidth(name, FontFace::small);
        if (draw) {
            m_canvas.fillRect({x, middle - 5, x + kSwatch, middle + 6}, m_theme.fill(c));
            textInside(m_canvas, {x + kSwatch + 5, area.top, x + kSwatch + 6 + width, area.bottom}, name, m_theme.mutedText,
                       FontFace::small);
        }
        x += kSwatch + 5 + width + kSpace;
    }
    return x - kSpace - area.left;
}

std::string Painter::rangeText() const
{
    const TimeRange& range = *m_scene.selection.range;
    std::string text = durationText(static_cast<double>(range.endNs - range.beginNs)) + " selected";
    double busy = 0;
    const auto shares = m_model.shares(range.beginNs, range.endNs);
    for (const sim::OpClass c : m_model.classesPresent()) {
        const double share = shares[static_cast<std::size_t>(c)];
        constexpr double kWorthTelling = 0.0005;
        busy += share;
        if (share >= kWorthTelling)
            text += "  " + (*opClassLetter(c) != '\0' ? std::string(opClassLetter(c)) : std::string(sim::opClassName(c))) + " " +
                    percentText(share);
    }
    return text + "  idle " + percentText(std::max(0.0, 1 - busy));
}

std::string Painter::fittingRangeText(float width) const
{
    const std::string text = rangeText();
    return fitting(m_canvas, {text, text.substr(0, text.find("  "))}, width, FontFace::bold);
}

/// What the ruler says in a box of its own: the time of the cursor and, where that leaves room, the length of the range.
std::vector<Painter::Flag> Painter::flags()
{
    const Rect area = m_frame.ruler;
    std::vector<Flag> out;
    const auto add = [&](float middle, const std::string& text) {
        const float half = std::ceil(m_canvas.textWidth(text, FontFace::small) / 2) + 5;
        if (2 * half > area.width())
            return;
        const float at = std::floor(std::clamp(middle, area.left + half, area.right - half));
        if (out.empty() || std::abs(at - out.front().middle) >= half + out.front().half)
            out.push_back({at, half, text});
    };
    if (const auto cursorNs = static_cast<double>(m_scene.selection.cursorNs); cursorNs > 0)
        if (const float x = m_axis.x(cursorNs); x >= area.left && x < area.right)
            add(x, timeText(cursorNs, m_axis.nsPerPixel(), m_axis.endNs));
    if (const auto& range = m_scene.selection.range) {
        const float left = std::max(m_axis.x(static_cast<double>(range->beginNs)), area.left);
        const float right = std::min(m_axis.x(static_cast<double>(range->endNs)), area.right);
        if (left < right)
            add((left + right) / 2, durationText(static_cast<double>(range->endNs - range->beginNs)));
    }
    return out;
}

void Painter::ruler(const std::vector<Tick>& marks)
{
    const Rect area = m_frame.ruler;
    if (area.height() <= 0)
        return;
    m_canvas.fillRect({area.left, area.bottom - 1, area.right, area.bottom}, m_theme.border);
    const float textTop = area.top + 1;
    const std::vector<Flag> boxes = flags();
    for (const Tick& tick : marks) {
        const float x = std::floor(m_axis.x(static_cast<double>(tick.ns)));
        if (x < area.left || x >= area.right)
            continue;
        m_canvas.fillRect({x, area.bottom - (tick.major ? 6.0F : 3.0F), x + 1, area.bottom},
                          tick.major ? m_theme.mutedText : m_theme.border);
        const float end = x + 4 + m_canvas.textWidth(tick.label, FontFace::small);
        const bool covered = std::any_of(boxes.begin(), boxes.end(), [&](const Flag& flag) {
            return end > flag.middle - flag.half && x < flag.middle + flag.half;
        });
        if (tick.major && end <= area.right && !covered)
            m_canvas.text({x + 4, textTop}, tick.label, m_theme.mutedText, FontFace::small);
    }
    if (const auto& range = m_scene.selection.range) {
        const float left = std::clamp(m_axis.x(static_cast<double>(range->beginNs)), area.left, area.right);
        const float right = std::clamp(m_axis.x(static_cast<double>(range->endNs)), area.left, area.right);
        m_canvas.fillRect({left, area.bottom - 4, right, area.bottom}, m_theme.accent);
    }
    for (const Flag& flag : boxes) {
        m_canvas.fillRect(
            {flag.middle - flag.half, area.top, flag.middle + flag.half, area.top + m_canvas.textHeight(FontFace::small) + 2},
            m_theme.accent);
        m_canvas.text({flag.middle, textTop}, flag.text, readableOn(m_theme.accent), FontFace::small, Align::center);
    }
}

void Painter::rowNames()
{
    const int focused = focusRow();
    for (int row = firstRow(); row < rowCount() && m_scene.rowTop(row) < m_frame.rows.bottom; ++row)
        rowName(row, row == focused);
}

void Painter::rowName(int row, bool focused)
{
    const RowPlace& p = place(row);
    const float top = m_scene.rowTop(row), bottom = top + p.bottom - p.top;
    const Rect gutter = m_frame.gutter;
    const Rect whole{gutter.left - 9, top, m_frame.rows.right, bottom};
    if (focused) {
        m_canvas.fillRect({gutter.left - 9, top, m_frame.rows.left - 2, bottom}, withAlpha(m_theme.accent, 0.14F));
        m_canvas.fillRect({gutter.left - 9, top, gutter.left - 6, bottom}, m_theme.accent);
    }
    const TimelineRow& data = rowAt(row);
    const bool severalLanes = data.tracks.size() > 1;
    const float small = m_canvas.textHeight(FontFace::small), body = m_canvas.textHeight(FontFace::body);
    const float room = severalLanes ? p.laneHeight : bottom - top;
    const FontFace face = room >= body ? FontFace::body : FontFace::small;
    const std::string name = fitting(m_canvas, data.names, gutter.width(), face);
    const bool two = !severalLanes && room >= body + small + 4;
    const float nameHeight = m_canvas.textHeight(face);
    const auto inSight = [&](float textTop, float height) {
        return textTop >= m_frame.rows.top - kAirOfText && textTop + height <= m_frame.rows.bottom + kAirOfText;
    };
    const float nameTop = std::floor(top + (two ? (room - body - small) / 2 : (room - nameHeight) / 2));
    if (nameHeight <= room + 3 && inSight(nameTop, nameHeight))
        m_canvas.text({gutter.left, nameTop}, name, focused ? m_theme.accent : m_theme.text, face);
    if (two && inSight(nameTop + body, small))
        m_canvas.text({gutter.left, nameTop + body}, fitting(m_canvas, data.details, gutter.width(), FontFace::small),
                      m_theme.mutedText, FontFace::small);
    for (std::size_t lane = 1; lane < data.tracks.size() && p.laneHeight + 3 >= small; ++lane) {
        const float laneTop = top + p.laneHeight * static_cast<float>(lane);
        if (inSight(laneTop + (p.laneHeight - small) / 2, small))
            textInside(m_canvas, {gutter.left, laneTop, gutter.right, laneTop + p.laneHeight},
                       m_model.trace().tracks[data.tracks[lane]].name, m_theme.mutedText, FontFace::small, Align::right);
    }
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = kRowNodes | static_cast<std::uint64_t>(row),
                       .role = "row",
                       .name = (data.names.empty() ? std::string() : data.names.front()) +
                               (data.details.empty() ? std::string() : ", " + data.details.front()),
                       .rect = whole,
                       .selected = focused});
}

void Painter::drawRow(int row, const std::vector<Tick>& marks)
{
    const RowPlace& p = place(row);
    const TimelineRow& data = rowAt(row);
    const float top = m_scene.rowTop(row);
    const float endX = std::clamp(m_axis.x(lengthNs()), m_frame.rows.left, m_frame.rows.right);
    const Color idle = mix(m_theme.canvas, m_theme.text, 0.045F);
    const Color grid = mix(m_theme.canvas, m_theme.text, 0.11F);
    const auto lanes = static_cast<float>(data.tracks.size());
    const float lanesBottom = top + p.laneHeight * lanes;
    const float beginX = std::clamp(m_axis.x(0), m_frame.rows.left, endX);
    m_canvas.fillRect({beginX, top, endX, lanesBottom - (lanes > 1 ? 1.0F : 0.0F)}, idle);
    for (const Tick& tick : marks)
        if (tick.major)
            if (const float x = std::floor(m_axis.x(static_cast<double>(tick.ns))); x >= beginX && x < endX)
                m_canvas.fillRect({x, top, x + 1, top + p.bottom - p.top}, grid);
    for (std::size_t lane = 0; lane < data.tracks.size(); ++lane) {
        const Rect area = m_scene.lane(row, static_cast<int>(lane));
        if (area.bottom > m_frame.rows.top && area.top < m_frame.rows.bottom)
            paintLane(m_canvas, m_scene, data.tracks[lane], area);
    }
    if (p.sparklineHeight > 0 && data.memory)
        sparkline(row, {beginX, lanesBottom + 1, endX, lanesBottom + 1 + p.sparklineHeight});
}

/// Memory over time: per pixel column the highest value, on one scale for all rows.
void Painter::sparkline(int row, Rect area)
{
    paintCounter(m_canvas, m_model.counter(*rowAt(row).memory), m_axis, area,
                 static_cast<double>(std::max<std::int64_t>(m_model.memoryScaleBytes(), 1)),
                 mix(m_theme.canvas, m_theme.heat[4], m_theme.dark ? 0.45F : 0.4F));
    m_canvas.fillRect({area.left, area.bottom - 1, area.right, area.bottom}, mix(m_theme.canvas, m_theme.heat[5], 0.7F));
}

void Painter::afterEnd(Rect area)
{
    const float x = m_axis.x(lengthNs());
    if (x < area.left || x >= area.right)
        return;
    m_canvas.line({std::floor(x), area.top}, {std::floor(x), area.bottom}, m_theme.mutedText, 1, LineStyle::dashed);
}

void Painter::range(Rect area)
{
    if (!m_scene.selection.range)
        return;
    const TimeRange& range = *m_scene.selection.range;
    const float left = std::clamp(m_axis.x(static_cast<double>(range.beginNs)), area.left - 1, area.right);
    const float right = std::clamp(m_axis.x(static_cast<double>(range.endNs)), area.left - 1, area.right);
    const Color outside = withAlpha(m_theme.canvas, 0.62F);
    m_canvas.fillRect({area.left, area.top, left, area.bottom}, outside);
    m_canvas.fillRect({right, area.top, area.right, area.bottom}, outside);
    m_canvas.fillRect({left, area.top, left + 1, area.bottom}, m_theme.accent);
    m_canvas.fillRect({right - 1, area.top, right, area.bottom}, m_theme.accent);
}

/// Arrows of the span in focus: from what it needs in the colour of text, to what it feeds in the accent.
void Painter::dependencies()
{
    const Selection& selection = m_scene.selection;
    const std::optional<SpanRef> span = selection.hoveredSpan ? selection.hoveredSpan : selection.selectedSpan;
    const auto& tracks = m_model.trace().tracks;
    if (!span || span->track >= tracks.size() || span->span >= tracks[span->track].size())
        return;
    for (const Dependency& d : dependenciesOf(m_model, *span)) {
        if (m_scene.steps && !(m_scene.steps->isRevealed(d.from) && m_scene.steps->isRevealed(d.to)))
            continue;
        const Color color = d.to == *span ? m_theme.selection : m_theme.accent;
        if (d.transfer)
            arrow(d, color);
        else
            hop(d, color);
        outline(d.from, 1);
        outline(d.to, 1);
    }
}

/// From row to row: a curve that leaves and arrives level.
void Painter::arrow(const Dependency& d, Color color)
{
    const Rect fromLane = m_scene.laneOf(d.from.track), toLane = m_scene.laneOf(d.to.track);
    const float x0 = m_axis.x(static_cast<double>(m_model.endNs(d.from)));
    const float x1 = m_axis.x(static_cast<double>(m_model.trace().tracks[d.to.track].startNs[d.to.span]));
    const float y0 = (fromLane.top + fromLane.bottom) / 2, y1 = (toLane.top + toLane.bottom) / 2;
    const float reach = std::max(12.0F, std::abs(x1 - x0) / 2);
    std::vector<Point> curve;
    constexpr int kPieces = 20;
    for (int i = 0; i <= kPieces; ++i) { // a cubic Bézier curve
        const float t = static_cast<float>(i) / kPieces, u = 1 - t;
        const float a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, e = t * t * t;
        curve.push_back({a * x0 + b * (x0 + reach) + c * (x1 - reach) + e * x1, (a + b) * y0 + (c + e) * y1});
    }
    m_canvas.polyline(curve, m_theme.canvas, 4);
    m_canvas.polyline(curve, color, 2);
    m_canvas.fillConvex({{x1 + 1, y1}, {x1 - 7, y1 - 4}, {x1 - 7, y1 + 4}}, color);
}

/// Within a row: along its upper edge and down into the span that waits.
void Painter::hop(const Dependency& d, Color color)
{
    const Rect lane = m_scene.laneOf(d.from.track);
    const auto& starts = m_model.trace().tracks[d.from.track].startNs;
    const float from =
        (m_axis.x(static_cast<double>(starts[d.from.span])) + m_axis.x(static_cast<double>(m_model.endNs(d.from)))) / 2;
    const float to = (m_axis.x(static_cast<double>(starts[d.to.span])) + m_axis.x(static_cast<double>(m_model.endNs(d.to)))) / 2;
    const float top = std::max(lane.top - 3, m_frame.rows.top + 1), tip = lane.top + 6;
    const std::vector<Point> path{{from, lane.top + 3}, {from, top}, {to, top}, {to, tip}};
    m_canvas.polyline(path, m_theme.canvas, 4);
    m_canvas.polyline(path, color, 2);
    m_canvas.fillConvex({{to, tip + 2}, {to - 4, tip - 4}, {to + 4, tip - 4}}, color);
}

void Painter::spanOutlines()
{
    if (const auto& span = m_scene.selection.hoveredSpan)
        outline(*span, 1);
    if (const auto& span = m_scene.selection.selectedSpan)
        outline(*span, 2);
}

void Painter::outline(SpanRef ref, float thickness)
{
    const sim::Trace& trace = m_model.trace();
    if (ref.track >= trace.tracks.size() || ref.span >= trace.tracks[ref.track].size())
        return;
    const Rect lane = m_scene.laneOf(ref.track);
    const float left = std::floor(m_axis.x(static_cast<double>(trace.tracks[ref.track].startNs[ref.span])) + 0.5F);
    const float right = std::floor(m_axis.x(static_cast<double>(m_model.endNs(ref))) + 0.5F);
    if (right < m_frame.rows.left || left > m_frame.rows.right)
        return;
    const float far = 8; // no line along the view's edge where the span goes on
    m_canvas.strokeRect({std::max(left, m_frame.rows.left - far) - 1, lane.top - 1,
                         std::min(std::max(right, left + 2), m_frame.rows.right + far), lane.bottom + 1},
                        m_theme.selection, thickness + 1);
}

void Painter::cursorLine(Rect area)
{
    if (m_scene.selection.cursorNs <= 0)
        return;
    const float x = std::floor(m_axis.x(static_cast<double>(m_scene.selection.cursorNs)));
    if (x >= area.left && x < area.right)
        m_canvas.fillRect({x, area.top, x + 1, area.bottom}, m_theme.accent);
}

void Painter::scrollBar()
{
    const float content = m_scene.stack.height, view = m_frame.rows.height();
    if (content <= view + 1)
        return;
    const Rect track = m_frame.scroll;
    const float length = std::max(24.0F, track.height() * view / content);
    const float top = track.top + (track.height() - length) * m_scene.scrollY / (content - view);
    m_canvas.fillRect({track.left + 2, top, track.right - 2, top + length}, mix(m_theme.border, m_theme.mutedText, 0.35F));
}

/// The whole trace in small, all rows together; bright is what the rows above show.
void Painter::overview()
{
    const Rect area = m_frame.overview;
    if (area.height() <= 0 || m_scene.overview.empty())
        return;
    m_canvas.fillRect(area, mix(m_theme.canvas, m_theme.text, 0.045F));
    const TimeWindow whole = m_scene.window.whole();
    const TimeAxis axis{whole.beginNs, whole.endNs, area.left, area.right};
    const float beginX = axis.x(0), endX = axis.x(lengthNs());
    const float step = (endX - beginX) / static_cast<float>(m_scene.overview.size());
    for (std::size_t i = 0; i < m_scene.overview.size(); ++i) {
        float bottom = area.bottom;
        const float left = beginX + step * static_cast<float>(i);
        for (std::size_t c = 0; c < m_scene.overview[i].size(); ++c) {
            const float height = area.height() * static_cast<float>(m_scene.overview[i][c]);
            if (height <= 0)
                continue;
            m_canvas.fillRect({left, bottom - height, left + step, bottom}, m_theme.opClass[c]);
            bottom -= height;
        }
    }
    textInside(m_canvas, {m_frame.gutter.left, area.top, m_frame.gutter.right, area.bottom},
               fitting(m_canvas, {"all ranks", "all"}, m_frame.gutter.width(), FontFace::small), m_theme.mutedText,
               FontFace::small);
    if (m_scene.window.showsAll())
        return;
    const float left = axis.x(m_scene.window.beginNs), right = std::max(left + 3, axis.x(m_scene.window.endNs));
    const Color outside = withAlpha(m_theme.canvas, 0.7F);
    m_canvas.fillRect({area.left, area.top, left, area.bottom}, outside);
    m_canvas.fillRect({right, area.top, area.right, area.bottom}, outside);
    m_canvas.strokeRect({left - 1, area.top - 1, right + 1, area.bottom + 1}, m_theme.accent, 2);
}

} // namespace

Rect TimelineScene::lane(int row, int lane) const
{
    const RowPlace& place = stack.rows[static_cast<std::size_t>(row)];
    const float top = rowTop(row) + place.laneHeight * static_cast<float>(lane);
    const bool several = model.rows()[static_cast<std::size_t>(row)].tracks.size() > 1;
    return {frame.rows.left, top, frame.rows.right, top + place.laneHeight - (several ? 1.0F : 0.0F)};
}

Rect TimelineScene::laneOf(std::uint32_t track) const
{
    const int row = model.rowOf(track);
    const auto& tracks = model.rows()[static_cast<std::size_t>(row)].tracks;
    return lane(row, static_cast<int>(std::find(tracks.begin(), tracks.end(), track) - tracks.begin()));
}

void paintTimeline(Canvas& canvas, const TimelineScene& scene)
{
    Painter(canvas, scene).paint();
}

float paintLegend(Canvas& canvas, const TimelineScene& scene, Rect area)
{
    return Painter(canvas, scene).legend(area);
}

} // namespace app
