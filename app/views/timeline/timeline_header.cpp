// The line above the timeline: the op classes, each a switch; the step's length, what a selected range holds, or what the
// critical path consists of.
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/timeline/range_because.h"
#include "app/views/timeline/timeline_painter.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace app {
namespace {

constexpr double kWorthTelling = 0.0005; ///< shares below would read 0.0 %

/// "F", "tp".
std::string shortName(sim::OpClass c)
{
    const std::string name = sim::opClassName(c);
    return *opClassLetter(c) != '\0' ? opClassLetter(c) : name.substr(0, name.find(' '));
}

class HeaderPainter {
public:
    HeaderPainter(Canvas& canvas, const TimelineScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model()), m_theme(scene.theme), m_range(scene.rangeStatistics()),
          m_path(scene.criticalPath()), m_found(scene.search() ? scene.search()->summary(scene.selection.selectedSpan) : "")
    {
    }

    /// So many lines its classes take, each by its letter, and beside the last of them how long the step is.
    int legendLines(Rect area)
    {
        const ChipFlow flow = chips(area, ChipStyle::letters, false, true);
        const float step = m_canvas.textWidth(stepText(), FontFace::bold) + kSpace;
        return flow.lines + (flow.line.width() < step && !m_scene.surroundings.isForAudience ? 1 : 0);
    }

    void header()
    {
        Rect area = m_scene.frame.header;
        if (area.height() <= 0)
            return;
        if (m_scene.legendLines > 1 && m_range == nullptr)
            return severalLines(area);
        area.bottom = area.top + area.height() / static_cast<float>(m_scene.legendLines);
        if (m_range != nullptr && rangeHeader(area))
            return;
        const std::vector<std::string> texts = rightTexts();
        float rightWidth = 0;
        for (const ChipStyle style : {ChipStyle::letters, ChipStyle::compact}) {
            const float beside = std::min(area.width() * kRightShare, area.width() - chips(area, style, false).width() - kSpace);
            rightWidth = rightText({area.right - std::max(0.0F, beside), area.top, area.right, area.bottom}, texts);
            if (rightWidth > 0 || m_scene.surroundings.isForAudience)
                break;
        }
        const bool tellsMore = m_range != nullptr || m_path != nullptr || !m_found.empty(); // than colours do: it was asked for
        if (rightWidth <= 0 && !m_scene.surroundings.isForAudience && tellsMore)
            rightWidth = rightText(area, texts);
        someChips({area.left, area.top, area.right - (rightWidth > 0 ? rightWidth + kSpace : 0), area.bottom});
    }

    /// Of the chips what has room, the most telling first: whole names, letters beside the colours, letters in them, and at last
    /// as many of these as fit, with a sign whose tooltip names the rest. Returns the width that it took, from the side that it
    /// is aligned to.
    float someChips(Rect area, Align align = Align::left)
    {
        for (const ChipStyle style : {ChipStyle::names, ChipStyle::letters, ChipStyle::compact})
            if (const float width = chips(area, style, false).width(); width <= area.width() || style == ChipStyle::compact) {
                const float left = align == Align::right ? std::max(area.left, area.right - width) : area.left;
                const float taken = chips({left, area.top, area.right, area.bottom}, style, true).width();
                return align == Align::right ? area.right - left : std::min(area.width(), taken);
            }
        return 0;
    }

    /// The longest of the texts that fits, at the right. Returns its width.
    float rightText(Rect area, const std::vector<std::string>& texts)
    {
        const std::string right = fitting(m_canvas, texts, area.width(), FontFace::bold);
        const Color color = m_range != nullptr || !m_found.empty() ? m_theme.accent : m_theme.text;
        GiveBecauses why;
        if (m_range != nullptr)
            why = m_scene.ofRange(becauseOfRange);
        else if (right.starts_with("step ") && m_scene.hasBecause(0))
            why = [because = m_scene.becauseOfStep()] { return because; };
        const float width =
            writeNumber(m_scene.numbers, m_canvas, m_theme, area, right, color, FontFace::bold, Align::right, std::move(why));
        const Rect place{area.right - width, area.top, area.right, area.bottom};
        if (m_path != nullptr && m_range == nullptr && width > 0)
            node(TimelineNode::path, "critical path", right, place);
        if (!m_found.empty() && width > 0)
            node(TimelineNode::found, "search", m_found, place);
        return width;
    }

    /// The classes on lines below each other, and what else there is beside the last.
    void severalLines(Rect area)
    {
        const float height = area.height() / static_cast<float>(m_scene.legendLines);
        const ChipFlow flow = chips({area.left, area.top, area.right, area.top + height}, ChipStyle::letters, true, true);
        Rect rest = flow.line;
        if (flow.lines < m_scene.legendLines)
            rest = {area.left, rest.bottom, area.right, rest.bottom + height};
        rightText({rest.left + (rest.left > area.left ? kSpace : 0), rest.top, rest.right, rest.bottom}, rightTexts());
    }

    float legend(Rect area)
    {
        if (m_range != nullptr) {
            const std::string text = fitting(m_canvas, rangeTexts(), area.width(), FontFace::bold);
            return writeNumber(m_scene.numbers, m_canvas, m_theme, area, text, m_theme.accent, FontFace::bold, Align::right,
                               m_scene.ofRange(becauseOfRange));
        }
        return someChips(area, Align::right);
    }

private:
    static constexpr float kRightShare = 0.7F; ///< of the header at most
    static constexpr float kSpace = 20;

    void node(TimelineNode kind, const char* role, const std::string& name, Rect rect) const
    {
        if (m_canvas.wantsNodes())
            m_canvas.node({.id = nodeId(kind), .role = role, .name = name, .rect = rect});
    }
    std::vector<std::string> rightTexts() const
    {
        if (m_range != nullptr)
            return rangeTexts();
        if (!m_found.empty())
            return {m_found};
        if (m_path == nullptr)
            return {stepText()};
        std::vector<std::string> texts = criticalPathTexts(m_model, m_path->path);
        texts.push_back(stepText());
        return texts;
    }
    std::string stepText() const { return "step " + durationText(m_scene.lengthNs()); }
    std::string lengthText() const { return durationText(static_cast<double>(m_range->lengthNs())) + " selected"; }
    std::string nameOf(sim::OpClass c) const
    {
        if (c == sim::OpClass::other && names().othersWait())
            return names()[c];
        const std::string& name = names()[c]; // "embedding comm"
        return name == sim::opClassName(c) ? shortName(c) : name.substr(0, name.find(' '));
    }
    /// All in one line, and the length alone.
    std::vector<std::string> rangeTexts() const
    {
        std::string text = lengthText();
        for (const sim::OpClass c : m_model.classesPresent())
            if (const double share = m_range->share[static_cast<std::size_t>(c)];
                m_scene.selection.shows(c) && share >= kWorthTelling)
                text += "  " + nameOf(c) + " " + percentText(share);
        return {text + "  idle " + percentText(m_range->idle), lengthText()};
    }
    /// What the range's strip ends with, the most wanted first.
    struct Detail {
        RangeNumber number;
        std::string text;
    };
    std::vector<Detail> rangeDetails() const
    {
        const RangeStatistics& s = *m_range;
        std::vector<Detail> out{{RangeNumber::idle, "idle " + percentText(s.idle)}};
        if (s.other >= kWorthTelling)
            out.push_back({RangeNumber::otherClasses, "other classes " + percentText(s.other)});
        out.push_back({RangeNumber::spans, countText(s.spans) + (s.spans == 1 ? " span" : " spans")});
        if (s.rows.size() > 1)
            out.push_back({RangeNumber::busy, std::string(s.busyWord()) + " " + percentText(s.leastBusy) + " to " +
                                                  percentText(s.mostBusy) + ", mean " + percentText(s.counted)});
        if (s.mfu)
            out.push_back({RangeNumber::mfu, "MFU " + percentText(*s.mfu)});
        if (s.bytes() > 0)
            out.push_back({RangeNumber::moved, bytesText(s.bytes()) + " moved"});
        return out;
    }
    static constexpr const char* kBetweenDetails = "  ·  ";
    /// Right-aligned, as many as there is room for. False: not even the first.
    bool paintDetails(Rect area, std::vector<Detail> details, bool draw)
    {
        const float between = m_canvas.textWidth(kBetweenDetails, FontFace::small);
        const auto widthOf = [&] {
            float width = -between;
            for (const Detail& each : details)
                width += m_canvas.textWidth(each.text, FontFace::small) + between;
            return width;
        };
        while (!details.empty() && widthOf() > area.width())
            details.pop_back();
        float x = area.right - widthOf();
        for (std::size_t i = 0; draw && i < details.size(); ++i) {
            const auto& [number, text] = details[i];
            const float width = m_canvas.textWidth(text, FontFace::small);
            writeNumber(m_scene.numbers, m_canvas, m_theme, {x, area.top, x + width + 1, area.bottom}, text, m_theme.text,
                        FontFace::small, Align::left,
                        m_scene.ofRange([number](const TimelineModel& model, const RangeStatistics& statistics) {
                            return becauseOf(model, statistics, number);
                        }));
            x += width;
            if (i + 1 < details.size())
                textInside(m_canvas, {x, area.top, x + between + 1, area.bottom}, kBetweenDetails, m_theme.text, FontFace::small);
            x += between;
        }
        return !details.empty();
    }
    /// Length, a chip a class with its share, and the rest. False: that does not fit.
    bool rangeHeader(Rect area)
    {
        const std::string length = lengthText();
        const float lengthWidth = m_canvas.textWidth(length, FontFace::bold);
        const Rect middle{area.left + lengthWidth + kSpace, area.top, area.right, area.bottom};
        const float chipsWidth = chips(middle, ChipStyle::letters, false).width();
        const Rect rest{middle.left + chipsWidth + kSpace, area.top, area.right, area.bottom};
        const std::vector<Detail> details = rangeDetails();
        if (!paintDetails(rest, details, false))
            return false;
        writeNumber(m_scene.numbers, m_canvas, m_theme, area, length, m_theme.accent, FontFace::bold, Align::left,
                    m_scene.ofRange([](const TimelineModel& model, const RangeStatistics& statistics) {
                        return becauseOf(model, statistics, RangeNumber::length);
                    }));
        chips(middle, ChipStyle::letters, true);
        paintDetails(rest, details, true);
        std::string all = rangeTexts().front();
        for (std::size_t i = 0; i < details.size(); ++i)
            all += (i == 0 ? "; " : kBetweenDetails) + details[i].text;
        node(TimelineNode::range, "range", all, area);
        return true;
    }
    enum class ChipStyle : std::uint8_t {
        names,   ///< "F forward"
        letters, ///< "F"
        compact, ///< the same, in the colour
    };
    /// Where chips stand one after the other, on lines below each other where they may.
    struct ChipFlow {
        Rect line;  ///< what is left of it
        float left; ///< where lines begin
        bool wraps = false;
        int lines = 1;
        float between = 14;
        float width() const { return std::max(0.0F, line.left - between - left); }
        void makeRoom(float chip)
        {
            if (!wraps || line.left <= left || chip <= line.width())
                return;
            line = {left, line.bottom, line.right, line.bottom + line.height()};
            ++lines;
        }
        void take(float chip) { line.left += chip + between; }
    };
    ChipFlow chips(Rect area, ChipStyle, bool draw, bool wraps = false);
    /// Narrow, with its letters inside. No room for more than a sign after it: the sign, which names all that comes.
    void compactChip(sim::OpClass, Rect);
    ChipFlow compactChips(Rect area, bool draw);
    std::string bandName() const
    {
        const auto names = (m_scene.legend ? m_scene.legend->bands : m_model.bands()).names();
        return names.empty() ? std::string() : names.front();
    }
    const std::vector<sim::OpClass>& classesTold() const
    {
        return m_scene.legend ? m_scene.legend->classes : m_model.classesPresent();
    }
    const ClassNames& names() const
    {
        return m_scene.legend && m_scene.legend->names ? *m_scene.legend->names : m_model.classNames();
    }
    void classTarget(sim::OpClass, Rect);

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const TimelineModel& m_model;
    const Theme& m_theme;
    const RangeStatistics* m_range;
    const PreparedTrace::Path* m_path;
    std::string m_found; ///< what the search has to say
};

/// Swatch and name of each class, with its share where a range is selected. One that does not count is an empty box.
HeaderPainter::ChipFlow HeaderPainter::chips(Rect whole, ChipStyle style, bool draw, bool wraps)
{
    if (style == ChipStyle::compact)
        return compactChips(whole, draw);
    const bool letters = style == ChipStyle::letters;
    constexpr float kSwatch = 11, kToName = kSwatch + 5;
    ChipFlow flow{.line = whole, .left = whole.left, .wraps = wraps};
    const auto& legend = m_scene.legend;
    const bool withShares = m_range != nullptr && !wraps; // lines stay as many while a range is dragged
    for (const sim::OpClass c : withShares ? m_model.classesPresent() : classesTold()) {
        const std::string letter = opClassLetter(c);
        std::string name = letters ? nameOf(c) : (letter.empty() ? "" : letter + " ") + names()[c], share;
        if (withShares) {
            const double part = m_range->share[static_cast<std::size_t>(c)];
            if (part < kWorthTelling && m_scene.selection.shows(c))
                continue;
            name += " ";
            share = percentText(part);
        }
        const float nameWidth = m_canvas.textWidth(name, FontFace::small);
        const float width = nameWidth + m_canvas.textWidth(share, FontFace::small);
        const bool shown = m_scene.selection.shows(c);
        flow.makeRoom(kToName + width);
        const Rect area = flow.line;
        const float x = area.left, middle = std::floor((area.top + area.bottom) / 2);
        if (draw) {
            const Rect swatch{x, middle - 5, x + kSwatch, middle + 6};
            if (shown)
                m_canvas.fillRect(swatch, m_theme.fill(c));
            else
                m_canvas.strokeRect(swatch, m_theme.mutedText);
            const float left = x + kToName;
            const bool drawn = textInside(m_canvas, {left, area.top, left + nameWidth + 1, area.bottom}, name, m_theme.mutedText,
                                          FontFace::small) > 0;
            writeNumber(m_scene.numbers, m_canvas, m_theme, {left + nameWidth, area.top, left + width + 1, area.bottom}, share,
                        m_theme.mutedText, FontFace::small, Align::left,
                        m_scene.ofRange([c](const TimelineModel& model, const RangeStatistics& statistics) {
                            return becauseOf(model, statistics, c);
                        }));
            if (!shown && drawn)
                m_canvas.fillRect({left, middle, left + width, middle + 1}, m_theme.mutedText); // struck through
            classTarget(c, {x - 4, area.top, left + width + 4, area.bottom});
        }
        flow.take(kToName + width);
    }
    if (const auto names = (legend ? legend->bands : m_model.bands()).names(); !names.empty() && !withShares) {
        const std::string& name = letters ? names.back() : names.front();
        const float width = m_canvas.textWidth(name, FontFace::small);
        flow.makeRoom(kToName + width);
        const Rect area = flow.line;
        const float x = area.left, middle = std::floor((area.top + area.bottom) / 2);
        if (draw) {
            const Rect swatch{x, middle - 5, x + kSwatch, middle + 6};
            m_canvas.fillRect(swatch, mix(m_theme.canvas, m_theme.text, 0.2F));
            m_canvas.fillRect({swatch.left, swatch.top, swatch.right, swatch.top + 4}, kChunkColor);
            const Rect text{x + kToName, area.top, x + kToName + width + 1, area.bottom};
            textInside(m_canvas, text, name, m_theme.mutedText, FontFace::small);
            m_scene.targets.push_back({.kind = TimelineTarget::Kind::none,
                                       .rect = {x - 4, area.top, text.right + 4, area.bottom},
                                       .tip = "a band along the top: " + names.front()});
            node(TimelineNode::band, "legend", names.front(), {x - 4, area.top, text.right + 4, area.bottom});
        }
        flow.take(kToName + width);
    }
    return flow;
}

/// That a click takes it out, or in again.
void HeaderPainter::classTarget(sim::OpClass c, Rect target)
{
    const bool shown = m_scene.selection.shows(c);
    m_scene.targets.push_back({.kind = TimelineTarget::Kind::opClass,
                               .value = static_cast<int>(c),
                               .rect = target,
                               .tip = names()[c] + (shown ? ": click to leave it out" : ": click to count it") +
                                      "\nAlt+click or double click: only this"});
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = nodeId(TimelineNode::legend, static_cast<int>(c)),
                       .role = "class",
                       .name = names()[c] + (shown ? "" : ", left out"),
                       .rect = target,
                       .selected = shown});
}

void HeaderPainter::compactChip(sim::OpClass c, Rect area)
{
    const bool shown = m_scene.selection.shows(c);
    const float middle = std::floor((area.top + area.bottom) / 2),
                half = std::floor(m_canvas.textHeight(FontFace::small) / 2) + 2;
    const Rect swatch{area.left, middle - half, area.right, middle + half};
    if (shown)
        m_canvas.fillRect(swatch, m_theme.fill(c));
    else
        m_canvas.strokeRect(swatch, m_theme.mutedText);
    textInside(m_canvas, swatch, nameOf(c), shown ? readableOn(m_theme.fill(c)) : m_theme.mutedText, FontFace::small,
               Align::center);
    if (!shown)
        m_canvas.fillRect({swatch.left + 2, middle, swatch.right - 2, middle + 1}, m_theme.mutedText); // struck through
    classTarget(c, {area.left - 2, area.top, area.right + 2, area.bottom});
}

HeaderPainter::ChipFlow HeaderPainter::compactChips(Rect area, bool draw)
{
    constexpr float kPadding = 4;
    ChipFlow flow{.line = area, .left = area.left, .between = 4};
    const std::vector<sim::OpClass>& all = classesTold();
    const auto widthOf = [&](const std::string& text) {
        return std::ceil(m_canvas.textWidth(text, FontFace::small)) + 2 * kPadding;
    };
    const std::string band = bandName();
    const auto signOf = [](std::size_t rest) { return "+" + countText(static_cast<std::int64_t>(rest)); };
    const std::size_t entries = all.size() + (band.empty() ? 0 : 1);
    // What is written, and the room for a sign of the rest, where there is one.
    std::vector<float> widths;
    for (const sim::OpClass c : all)
        widths.push_back(widthOf(nameOf(c)));
    const auto takes = [&](std::size_t count) {
        float sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += widths[i] + flow.between;
        return count < entries ? sum + widthOf(signOf(entries - count)) : sum - flow.between;
    };
    std::size_t count = all.size();
    while (draw && count > 0 && takes(count) > area.width())
        --count;
    for (std::size_t i = 0; i < count; ++i) {
        if (draw)
            compactChip(all[i], {flow.line.left, area.top, flow.line.left + widths[i], area.bottom});
        flow.take(widths[i]);
    }
    if (count == entries)
        return flow;
    const float width = widthOf(signOf(entries - count));
    if (draw && width > area.width()) // what was asked for has all of it
        return flow;
    if (draw) {
        std::string rest;
        for (std::size_t i = count; i < all.size(); ++i)
            rest += (rest.empty() ? "" : "\n") + names()[all[i]];
        if (!band.empty())
            rest += (rest.empty() ? "" : "\n") + ("a band along the top: " + band);
        const Rect sign{flow.line.left, area.top, flow.line.left + width, area.bottom};
        textInside(m_canvas, sign, signOf(entries - count), m_theme.mutedText, FontFace::small, Align::center);
        m_scene.targets.push_back({.kind = TimelineTarget::Kind::none, .rect = sign, .tip = rest});
        node(TimelineNode::band, "legend", rest, sign);
    }
    flow.take(width);
    return flow;
}

} // namespace

std::vector<std::string> criticalPathTexts(const TimelineModel& model, const sim::CriticalPath& path)
{
    const std::string title = "critical path";
    const auto length = static_cast<double>(path.lengthNs);
    if (path.steps.empty() || length <= 0)
        return {title + ": nothing ran"};
    // Where computing is done: a place in the pipeline where there is one, else a rank.
    std::map<std::string, double> places;
    for (std::size_t p = 0; p < path.computeByProcess.size(); ++p) {
        const int rank = model.trace().processes[p].rank;
        const sim::Simulation* simulation = model.simulation();
        const bool staged = simulation && simulation->mesh().pipelineRanks() > 1 && rank < simulation->mesh().worldSize();
        const std::string place = staged ? "pp " + countText(simulation->mesh().coordinates(rank).pp) : "rank " + countText(rank);
        places["compute of " + place] += static_cast<double>(path.computeByProcess[p]) / length;
    }
    std::vector<std::pair<double, std::string>> parts;
    for (const auto& [name, share] : places)
        parts.emplace_back(share, name);
    // Many places with a little each are one part.
    constexpr std::size_t kManyPlaces = 4;
    constexpr double kMostOfIt = 0.4;
    if (const auto most = std::max_element(parts.begin(), parts.end()); parts.size() > kManyPlaces && most->first < kMostOfIt) {
        double all = 0;
        for (const auto& [share, name] : parts)
            all += share;
        const std::string where = most->second.substr(std::string("compute of ").size());
        parts = {{all, "compute (" + where + " most, " + percentText(most->first) + ")"}};
    }
    for (const sim::OpClass c : model.classesPresent())
        if (sim::isCommunication(c) || c == sim::OpClass::hostTransfer)
            parts.emplace_back(static_cast<double>(path.byClass[static_cast<std::size_t>(c)]) / length, model.className(c));
    parts.emplace_back(static_cast<double>(path.transferNs) / length, "transfers");
    parts.emplace_back(static_cast<double>(path.launchNs) / length, "launches");
    parts.emplace_back(static_cast<double>(path.unexplainedNs) / length, "other waits");
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text = title;
    std::vector<std::string> out{title};
    constexpr std::size_t kMostParts = 6;
    for (std::size_t i = 0; i < std::min(parts.size(), kMostParts); ++i) {
        if (parts[i].first < kWorthTelling)
            break;
        text += (i == 0 ? ": " : " · ") + percentText(parts[i].first) + " " + parts[i].second;
        out.insert(out.begin(), text);
    }
    return out;
}

void paintHeader(Canvas& canvas, const TimelineScene& scene)
{
    HeaderPainter(canvas, scene).header();
}

int legendLines(Canvas& canvas, const TimelineScene& scene)
{
    return HeaderPainter(canvas, scene).legendLines(TimelineFrame(canvas.area()).header);
}

float paintLegend(Canvas& canvas, const TimelineScene& scene, Rect area)
{
    return HeaderPainter(canvas, scene).legend(area);
}

} // namespace app
