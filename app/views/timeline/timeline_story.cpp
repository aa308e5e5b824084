// While actions are revealed one by one: which it is, where the rank in focus stands, what starts now and why. Sentences wrap;
// in a low view those that tell least give way to rows that can be read, and a tip has them.
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/wrapped_lines.h"
#include "app/views/timeline/timeline_painter.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using Lines = std::vector<std::string>;

class Story {
public:
    Story(Canvas& canvas, const TimelineScene& scene)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme), m_row(rowTold(scene)), m_now(scene.steps->happens()),
          m_told(scene.steps->storyOf(m_row)), m_line(canvas.textHeight(FontFace::body) + 2), m_heading(m_line + kHeadingAir)
    {
        const Rect area = canvas.area();
        const float width = area.width() - 2 * kMargin, room = scene.roomForStory(area);
        m_nowLines = wrappedLines(canvas, m_now, width, FontFace::body);
        m_sentenceLines = wrappedLines(canvas, m_told.sentence, width, FontFace::body);
        if (height() > room)
            m_sentenceLines.clear(); // its phase stands in the heading
        if (height() > room)
            m_heading = 0;
        const float most = std::max(1.0F, std::floor((room + kRowsGivenUp * kLowestRow - kBelow) / m_line));
        if (m_heading == 0 && static_cast<float>(m_nowLines.size()) > most) {
            m_nowLines.resize(static_cast<std::size_t>(most));
            std::string& last = m_nowLines.back();
            while (canvas.textWidth(last + " …") > width && last.find(' ') != std::string::npos)
                last.erase(last.rfind(' '));
            last += " …";
        }
    }
    float height() const { return m_heading + m_line * static_cast<float>(m_sentenceLines.size() + m_nowLines.size()) + kBelow; }
    void paint() const;

private:
    static constexpr float kHeadingAir = 8, kBelow = 4;
    static constexpr float kRowsGivenUp = 2; ///< of those that can be read, before what happens is cut

    static int rowTold(const TimelineScene& scene)
    {
        return scene.focusRow() >= 0 ? scene.focusRow() : scene.model().rowOf(scene.steps->now()->track);
    }
    std::string count() const
    {
        return countText(static_cast<std::int64_t>(m_scene.steps->current() + 1)) + " of " +
               countText(static_cast<std::int64_t>(m_scene.steps->count()));
    }
    void heading(Rect) const;
    float phases(Rect) const;

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const Theme& m_theme;
    int m_row;
    std::string m_now;
    TimelineSteps::Story m_told;
    float m_line, m_heading; ///< heights
    Lines m_nowLines, m_sentenceLines;
};

void Story::paint() const
{
    const Rect area = m_scene.frame.story;
    if (m_heading > 0)
        heading({area.left, area.top, area.right, area.top + m_heading - 2});
    Rect line{area.left, area.top + m_heading, area.right, area.top + m_heading + m_line};
    const auto write = [&](const Lines& lines, Color color) {
        float right = line.left;
        for (const std::string& each : lines) {
            right = line.left + textInside(m_canvas, line, each, color);
            line = {line.left, line.bottom, line.right, line.bottom + m_line};
        }
        return right;
    };
    write(m_sentenceLines, m_theme.text);
    const float end = write(m_nowLines, m_theme.mutedText);
    if (m_heading == 0) // beside the last words
        textInside(m_canvas, {end + kMargin, line.top - m_line, line.right, line.top}, count(), m_theme.mutedText,
                   FontFace::small, Align::right);
    const std::string& name = m_scene.model().rows()[static_cast<std::size_t>(m_row)].names.front();
    if (m_sentenceLines.empty())
        m_scene.targets.push_back({.kind = TimelineTarget::Kind::none,
                                   .rect = area,
                                   .tip = "step " + count() + ": " + m_now + "\n" + name + ": " + m_told.sentence});
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = nodeId(TimelineNode::story),
                       .role = "story",
                       .name = "step " + count() + ". " + m_now + ". " + name + ": " + m_told.sentence,
                       .rect = area});
}

void Story::heading(Rect area) const
{
    constexpr float kWidestName = 160;
    const auto& names = m_scene.model().rows()[static_cast<std::size_t>(m_row)].names;
    float x = area.left;
    x += textInside(m_canvas, area, fitting(m_canvas, names, std::min(kWidestName, area.width()), FontFace::bold), m_theme.text,
                    FontFace::bold) +
         kMargin;
    x += phases({x, area.top, area.right - m_canvas.textWidth(count(), FontFace::small), area.bottom});
    const Rect rest{x + kMargin, area.top, area.right, area.bottom};
    const std::string place = "step " + count();
    textInside(m_canvas, rest, fitting(m_canvas, {place + "  ·  keys , and .", place, count()}, rest.width(), FontFace::small),
               m_theme.mutedText, FontFace::small, Align::right);
}

/// The three phases side by side, the present one filled; it alone where there is no room for the others. Returns their width.
float Story::phases(Rect area) const
{
    constexpr float kPadding = 8, kBetween = 6;
    const auto widthOf = [&](std::size_t i) { return m_canvas.textWidth(m_told.labels[i], FontFace::small) + 2 * kPadding; };
    float all = 0;
    for (std::size_t i = 0; i < m_told.labels.size(); ++i)
        all += widthOf(i) + kBetween;
    float x = area.left;
    for (std::size_t i = 0; i < m_told.labels.size(); ++i) {
        const bool isPresent = m_told.phase && static_cast<std::size_t>(*m_told.phase) == i;
        const Rect chip{x, area.top + 2, x + widthOf(i), area.bottom - 2};
        if (chip.right > area.right || (all > area.width() && !isPresent))
            continue;
        if (isPresent)
            m_canvas.fillRect(chip, m_theme.accent);
        m_canvas.strokeRect(chip, isPresent ? m_theme.accent : m_theme.border);
        textInside(m_canvas, {chip.left + kPadding, chip.top, chip.right, chip.bottom}, m_told.labels[i],
                   isPresent ? readableOn(m_theme.accent) : m_theme.mutedText, FontFace::small);
        x = chip.right + kBetween;
    }
    return x - area.left;
}

} // namespace

float storyHeight(Canvas& canvas, const TimelineScene& scene)
{
    return scene.steps && scene.steps->now() ? Story(canvas, scene).height() : 0.0F;
}

void paintStory(Canvas& canvas, const TimelineScene& scene)
{
    if (scene.steps && scene.steps->now())
        Story(canvas, scene).paint();
}

} // namespace app
