#include "app/views/grid/grid_rulers.h"

#include "app/views/common/labels.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kSpaceBetween = 8, kRulerMargin = 8;

std::string numberOf(const RulerLabel& label)
{
    return countText(label.first) + (label.last > label.first ? "–" + countText(label.last) : "");
}

/// How one ruler is written at this zoom: names in full, every n-th number, or only the range.
struct Style {
    bool names = false;
    int step = 1;
    bool rangeOnly = false;
    bool open = false; ///< "dp 16…" because "dp 16–23" has no room
};

class RulerPainter {
public:
    RulerPainter(Canvas& canvas, const GridScene& scene, const Ruler& ruler, Rect strip, bool across, GridTargets& targets)
        : m_canvas(canvas), m_scene(scene), m_ruler(ruler), m_strip(strip), m_across(across), m_targets(targets)
    {
    }

    void paint()
    {
        const Style style = chooseStyle();
        m_canvas.pushClip(m_strip);
        if (style.rangeOnly)
            range();
        else
            labels(style);
        m_canvas.popClip();
    }

private:
    float begin(const RulerLabel& label) const
    {
        return m_across ? m_scene.transform.x(label.begin) : m_scene.transform.y(label.begin);
    }
    float end(const RulerLabel& label) const
    {
        return m_across ? m_scene.transform.x(label.end) : m_scene.transform.y(label.end);
    }
    std::string rangeText() const { return m_ruler.axis + " 0…" + countText(m_ruler.axisSize - 1); }

    Style chooseStyle() const
    {
        const auto& labels = m_ruler.labels;
        const float pitch = labels.size() > 1 ? begin(labels[1]) - begin(labels[0]) : end(labels[0]) - begin(labels[0]);
        const std::string widest = numberOf(labels[std::min(labels.size(), static_cast<std::size_t>(m_ruler.groupSize)) - 1]);
        const float nameWidth = m_canvas.textWidth(m_ruler.axis + " " + widest, FontFace::small);
        Style style;
        // Across, a thinned ruler's numbers start at their column; the first of a run also names the axis.
        const float needed = m_across ? nameWidth + kSpaceBetween : m_canvas.textHeight(FontFace::small);
        while (static_cast<float>(style.step) * pitch < needed && style.step < m_ruler.groupSize)
            style.step *= 2;
        style.names = !m_across || style.step == 1;
        style.open = !m_across && nameWidth > m_strip.width() - kRulerMargin;
        style.rangeOnly = style.step > 1 && m_ruler.groupSize / style.step < 2;
        return style;
    }

    void labels(const Style& style)
    {
        const auto rank = m_scene.focusRank();
        const GridLevel& level = m_scene.layout.levels()[static_cast<std::size_t>(m_ruler.level)];
        for (std::size_t i = 0; i < m_ruler.labels.size(); ++i) {
            const RulerLabel& label = m_ruler.labels[i];
            const float from = std::max(begin(label), m_across ? m_strip.left : m_strip.top);
            const float to = std::min(end(label), m_across ? m_strip.right : m_strip.bottom);
            if (to <= from)
                continue;
            const bool lit = rank && holds(label, *rank, level);
            if (style.step == 1)
                bracket(from, to, lit);
            const int place = static_cast<int>(i) % m_ruler.groupSize;
            if (place % style.step != 0)
                continue;
            const bool named = style.names || place == 0;
            const std::string axis = named ? m_ruler.axis + " " : "";
            const std::string text = axis + (style.open ? countText(label.first) + "…" : numberOf(label));
            if (const Rect written = write(text, from, to, style.step > 1, lit); written.width() > 0)
                m_targets.push_back({.rect = written,
                                     .level = m_ruler.level,
                                     .first = label.first,
                                     .last = label.last,
                                     .name = m_ruler.axis + " " + numberOf(label)});
        }
    }

    /// Is the rank at this place of the ruler, that is, in the columns or rows the label spans?
    bool holds(const RulerLabel& label, int rank, const GridLevel& level) const
    {
        const int coordinate = m_scene.layout.coordinate(level, rank);
        const Rect cell = m_scene.layout.cell(rank);
        const float at = m_across ? cell.left : cell.top;
        return coordinate >= label.first && coordinate <= label.last && at >= label.begin && at < label.end;
    }

    void bracket(float from, float to, bool lit)
    {
        const Color color = lit ? m_scene.theme.accent : m_scene.theme.border;
        if (to - from < 4)
            return;
        if (m_across)
            m_canvas.fillRect({from, m_strip.bottom - 2, to, m_strip.bottom - (lit ? 0.0F : 1.0F)}, color);
        else
            m_canvas.fillRect({m_strip.right - 4, from, m_strip.right - (lit ? 2.0F : 3.0F), to}, color);
    }

    /// Where it was written; empty if there is no room.
    Rect write(const std::string& text, float from, float to, bool fromStart, bool lit)
    {
        const Theme& theme = m_scene.theme;
        const Color color = lit ? theme.accent : theme.mutedText;
        const float height = m_canvas.textHeight(FontFace::small);
        const float width = m_canvas.textWidth(text, FontFace::small);
        if (m_across) {
            const float room = fromStart ? m_strip.right - from : to - from;
            const float x = fromStart ? from : std::floor((from + to) / 2);
            const float textLeft = fromStart ? x : x - width / 2;
            if (width > room || textLeft < m_strip.left || textLeft + width > m_strip.right)
                return {};
            m_canvas.text({x, m_strip.top}, text, color, FontFace::small, fromStart ? Align::left : Align::center);
            return {textLeft, m_strip.top, textLeft + width, m_strip.bottom};
        }
        // A thinned ruler's first number belongs to a row that is lower than itself.
        const float y = std::max(std::floor((from + to - height) / 2), fromStart ? m_strip.top : -1e9F);
        if (width > m_strip.width() - kRulerMargin || y < m_strip.top || y + height > m_strip.bottom)
            return {};
        m_canvas.text({m_strip.right - 7, y}, text, color, FontFace::small, Align::right);
        return {m_strip.right - 7 - width, y, m_strip.right - 7, y + height};
    }

    /// "tp 0…7" over each run, or over as many as have room.
    void range()
    {
        const std::string text = rangeText();
        const float width = m_canvas.textWidth(text, FontFace::small), height = m_canvas.textHeight(FontFace::small);
        const auto& labels = m_ruler.labels;
        const auto group = static_cast<std::size_t>(m_ruler.groupSize);
        float free = m_across ? m_strip.left : m_strip.top;
        for (std::size_t i = 0; i < labels.size(); i += group) {
            const float from = begin(labels[i]), to = end(labels[std::min(i + group, labels.size()) - 1]);
            const float middle = (from + to) / 2, half = (m_across ? width : height) / 2;
            const float at = std::floor(std::max(middle - half, from));
            if (at < free || at + 2 * half > (m_across ? m_strip.right : m_strip.bottom) ||
                (m_across ? m_strip.top + height > m_scene.frame.plot.bottom : width > m_strip.width() - kRulerMargin))
                continue;
            if (i > 0 && (!m_across || to - from < 2 * half))
                break; // once is enough
            if (m_across)
                m_canvas.text({at, m_strip.top}, text, m_scene.theme.mutedText, FontFace::small);
            else
                m_canvas.text({m_strip.right - 7, at}, text, m_scene.theme.mutedText, FontFace::small, Align::right);
            free = at + 2 * half + kSpaceBetween;
        }
    }

    Canvas& m_canvas;
    const GridScene& m_scene;
    const Ruler& m_ruler;
    Rect m_strip;
    bool m_across;
    GridTargets& m_targets;
};

} // namespace

void paintRulers(Canvas& canvas, const GridScene& scene, GridTargets& targets)
{
    const Rect cells = scene.cellsArea;
    float top = cells.top - GridLayout::kRulerRow * static_cast<float>(scene.layout.across().size());
    if (cells.width() <= 0 || cells.height() <= 0)
        return;
    for (const Ruler& ruler : scene.layout.across()) {
        RulerPainter(canvas, scene, ruler, {cells.left, top, cells.right, top + GridLayout::kRulerRow}, true, targets).paint();
        top += GridLayout::kRulerRow;
    }
    float left = cells.left - scene.layout.widthOfRulers();
    for (const Ruler& ruler : scene.layout.down()) {
        RulerPainter(canvas, scene, ruler, {left, cells.top, left + ruler.column, cells.bottom}, false, targets).paint();
        left += ruler.column;
    }
}

} // namespace app
