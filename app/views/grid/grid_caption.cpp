#include "app/views/grid/grid_caption.h"

#include "app/step/instant.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/grid/grid_overlays.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kRampWidth = 96, kShortestRamp = 24, kBesideRamp = 8, kMeaningWidth = 300;
constexpr float kBesideMeaning = 132, kNarrowestMeaning = 88; ///< the lens in use; a short scale with its number

class CaptionPainter {
public:
    CaptionPainter(Canvas& canvas, const GridScene& scene) : m_canvas(canvas), m_scene(scene), m_theme(scene.theme) {}

    void paint()
    {
        if (const float width = m_scene.onlyTold ? besideName() : meaningWidth(m_scene.frame); width > 0) {
            const Rect line = m_scene.frame.lenses;
            const LensLegend legend = legendOf(m_scene.reading);
            const Rect room{line.right - width, line.top, line.right, line.bottom};
            if (!m_scene.reading.missing.empty())
                textInside(m_canvas, room, fitting(m_canvas, {legend.title}, room.width(), FontFace::small), m_theme.mutedText,
                           FontFace::small, Align::right);
            else if (m_scene.reading.hasRamp())
                ramp(legend, room);
            else
                swatches(legend, room);
        }
        about();
    }

private:
    /// The lens's name alone stands there, and nothing that is clicked.
    float besideName()
    {
        const Rect line = m_scene.frame.lenses;
        const float name = m_canvas.textWidth(gridLensName(m_scene.reading.lens), FontFace::bold);
        return line.height() > 0 ? line.width() - name - kMargin : 0;
    }
    Rect after(Rect line, float used) const { return {line.left + used, line.top, line.right, line.bottom}; }

    void ramp(const LensLegend& legend, Rect room)
    {
        const float middle = std::floor((room.top + room.bottom) / 2);
        const float highWidth = m_canvas.textWidth(legend.high, FontFace::small);
        const float lowWidth = legend.low.empty() ? 0 : m_canvas.textWidth(legend.low, FontFace::small) + kBesideRamp;
        const float width = std::floor(std::min(kRampWidth, room.width() - highWidth - kBesideRamp - lowWidth));
        if (width < kShortestRamp)
            return;
        const Rect bar{room.right - highWidth - kBesideRamp - width, middle - 5, room.right - highWidth - kBesideRamp,
                       middle + 5};
        textInside(m_canvas, {bar.right + kBesideRamp, room.top, room.right + 1, room.bottom}, legend.high, m_theme.mutedText,
                   FontFace::small);
        constexpr int kSteps = 48;
        for (int i = 0; i < kSteps; ++i) {
            const double share = (i + 0.5) / kSteps;
            const float step = width / kSteps, left = bar.left + step * static_cast<float>(i);
            m_canvas.fillRect({left, bar.top, left + step, bar.bottom}, m_scene.reading.lens == GridLens::straggler
                                                                            ? m_theme.deviationAt(2 * share - 1)
                                                                            : m_theme.heatAt(share));
        }
        for (const double share : legend.marks) {
            const float x = bar.left + std::floor(bar.width() * static_cast<float>(std::clamp(share, 0.0, 1.0)));
            m_canvas.fillRect({x - 1, bar.top - 3, x + 1, bar.bottom + 3}, share > 1 ? m_theme.error : m_theme.text);
        }
        float left = bar.left - kBesideRamp;
        if (!legend.low.empty()) {
            const Rect low{room.left, room.top, left, room.bottom};
            left -= textInside(m_canvas, low, legend.low, m_theme.mutedText, FontFace::small, Align::right) + 10;
        }
        const std::string title = fitting(m_canvas, {legend.title, legend.shortTitle}, left - room.left, FontFace::small);
        textInside(m_canvas, {room.left, room.top, left, room.bottom}, title, legend.warns ? m_theme.error : m_theme.mutedText,
                   FontFace::small, Align::right);
    }

    /// From the right, as many as have room.
    void swatches(const LensLegend& legend, Rect room)
    {
        const LensColors colors(m_theme, m_scene.reading, 0);
        constexpr float kSwatch = 10, kSpace = 12;
        const float middle = std::floor((room.top + room.bottom) / 2);
        float needed = -kSpace;
        for (const auto& [tone, name] : legend.swatches)
            needed += kSwatch + 5 + m_canvas.textWidth(name, FontFace::small) + kSpace;
        const bool withNames = needed <= room.width();
        float right = room.right;
        for (auto i = legend.swatches.rbegin(); i != legend.swatches.rend(); ++i) {
            const auto& [tone, name] = *i;
            const bool waits = tone == GridReading::kWaits;
            const std::string text = withNames || waits ? name : opClassLetter(static_cast<sim::OpClass>(tone - 1));
            const float width = m_canvas.textWidth(text, FontFace::small);
            if (right - width - 5 - kSwatch < room.left)
                break;
            textInside(m_canvas, {right - width, room.top, right + 1, room.bottom}, text, m_theme.mutedText, FontFace::small);
            const Rect swatch{right - width - 5 - kSwatch, middle - 5, right - width - 5, middle + 5};
            m_canvas.fillRect(swatch, colors.fill[tone]);
            if (waits)
                m_canvas.strokeRect(swatch, m_theme.mutedText, 1, LineStyle::dashed);
            right = swatch.left - kSpace;
        }
    }

    void about()
    {
        const Rect area = m_scene.frame.legend;
        if (area.height() <= 0)
            return;
        const auto rank = m_scene.focusRank();
        if (!rank && m_scene.onlyTold)
            return;
        m_canvas.line({area.left - kMargin, area.top}, {area.right + kMargin, area.top}, m_theme.border);
        const bool twoLines = area.height() >= 40;
        const Rect first{area.left, area.top + 2, area.right, twoLines ? area.top + area.height() / 2 - 2 : area.bottom};
        const Rect second{area.left, first.bottom, area.right, area.bottom - 4};
        if (!rank) {
            const std::string what = m_scene.reading.known.isKnown() ? "its process groups" : "what was measured of it";
            std::vector<std::string> texts{"Point at a rank to see " + what + "; click to keep it.", "Point at a rank."};
            if (m_scene.reading.isOver)
                texts = {"The step is over: every rank is done. Space plays it from its beginning.", "The step is over."};
            else if (m_scene.reading.lens == GridLens::now && !m_scene.reading.isBegin && !m_scene.reading.isLive)
                texts.insert(texts.begin(), {"Point at a rank to see " + what +
                                                 ". Bars: how far its pass has come, and above what is "
                                                 "communicated. Arrows: what is sent on.",
                                             "Bars: how far a pass has come; above, what is communicated. Arrows: sent on."});
            if (m_scene.reading.isBegin && !m_scene.reading.isOver)
                texts = {"The step begins. Space plays it; the time cursor can be dragged along it.", "The step begins."};
            textInside(m_canvas, area, fitting(m_canvas, texts, area.width(), FontFace::small), m_theme.mutedText,
                       FontFace::small);
            return;
        }
        if (m_scene.severalSelected() && !m_scene.selection.hoveredRank) {
            const auto& ranks = m_scene.selection.ranks;
            const float used = textInside(m_canvas, first, countText(static_cast<std::int64_t>(ranks.size())) + " ranks selected",
                                          m_theme.text, FontFace::bold);
            if (twoLines)
                about(*rank, second);
            const Rect rest = after(first, used + 12);
            textInside(m_canvas, rest, fitting(m_canvas, {rankListText(ranks)}, rest.width(), FontFace::small), m_theme.mutedText,
                       FontFace::small);
            return;
        }
        if (twoLines)
            about(*rank, first);
        groups(twoLines ? second : Rect{first.left, first.top, first.right, area.bottom});
    }

    /// "Rank 13  dp 1 · pp 1  ·  42.1 GiB at peak"
    void about(int rank, Rect line)
    {
        const float used = textInside(m_canvas, line, "Rank " + countText(rank), m_theme.text, FontFace::bold);
        const std::string where = m_scene.reading.placeOf(m_scene.simulation, rank), reads = m_scene.sentenceOf(rank);
        std::vector<std::string> texts{where};
        if (!reads.empty())
            texts.insert(texts.begin(), where + "  ·  " + reads);
        const GridLens lens = m_scene.reading.lens;
        if (lens == GridLens::bubble || lens == GridLens::now)
            if (const std::string waits = waitSentence(m_scene, rank); !waits.empty())
                texts.insert(texts.begin(), where + "  ·  " + (lens == GridLens::now ? "" : reads + "  ·  now ") + waits);
        const Rect rest = after(line, used + 12);
        const std::string text = fitting(m_canvas, texts, rest.width(), FontFace::small);
        GiveBecauses why;
        if (m_scene.reading.hasRamp() && !m_scene.reading.isLive && !m_scene.reading.isMeasured && text != where)
            why = [because = m_scene.because, rank] { return because(rank); };
        writeNumber(m_scene.numbers, m_canvas, m_theme, rest, text, m_theme.mutedText, FontFace::small, Align::left,
                    std::move(why));
    }

    /// Long texts if all fit, else short ones.
    void groups(Rect line)
    {
        if (const std::string& unknown = m_scene.reading.known.whyUnknown; !unknown.empty()) {
            textInside(m_canvas, line, fitting(m_canvas, {unknown, "grid not known"}, line.width(), FontFace::small),
                       m_theme.mutedText, FontFace::small);
            return;
        }
        constexpr float kSwatch = 22, kSpace = 20;
        for (const bool withMembers : {true, false}) {
            const auto membersOf = [&](const LitGroup& group) {
                return withMembers ? group.membersText() : countText(static_cast<std::int64_t>(group.members.size()));
            };
            float width = -kSpace;
            for (const LitGroup& group : m_scene.groups)
                width += kSwatch + 8 + kSpace + m_canvas.textWidth(group.name, FontFace::bold) + 6 +
                         m_canvas.textWidth(membersOf(group), FontFace::small);
            if (width > line.width() && withMembers)
                continue;
            float x = line.left;
            for (const LitGroup& group : m_scene.groups) {
                const std::string members = membersOf(group);
                const float nameWidth = m_canvas.textWidth(group.name, FontFace::bold);
                const float membersWidth = m_canvas.textWidth(members, FontFace::small);
                if (x + kSwatch + 8 + nameWidth + 6 + membersWidth > line.right)
                    return;
                const float middle = std::floor((line.top + line.bottom) / 2);
                Outline sample = outlineOf(group.kind);
                sample.inset = 0;
                strokeOutline(m_canvas, {x + 1, middle - 6, x + kSwatch - 1, middle + 6}, m_theme.selection, sample);
                x += kSwatch + 8;
                textInside(m_canvas, {x, line.top, x + nameWidth + 1, line.bottom}, group.name, m_theme.text, FontFace::bold);
                x += nameWidth + 6;
                textInside(m_canvas, {x, line.top, x + membersWidth + 1, line.bottom}, members, m_theme.mutedText,
                           FontFace::small);
                x += membersWidth + kSpace;
            }
            return;
        }
    }

    Canvas& m_canvas;
    const GridScene& m_scene;
    const Theme& m_theme;
};

} // namespace

std::vector<std::string> worldTexts(const sim::Simulation& simulation, const KnownGrid& known)
{
    const sim::RankGrid& grid = simulation.mesh().dense();
    if (!known.isKnown())
        return {countText(grid.size()) + " ranks  ·  grid not known", countText(grid.size()) + " ranks"};
    std::string product;
    for (int axis = 0; axis < grid.axisCount(); ++axis)
        if (grid.axis(axis).size > 1)
            product +=
                (product.empty() ? "" : " × ") + known.wordOf(grid.axis(axis).name) + " " + countText(grid.axis(axis).size);
    const std::string ranks = countText(grid.size()) + (grid.size() == 1 ? " rank" : " ranks");
    product = product.empty() ? ranks : product + " = " + ranks;
    if (!known.areNodesKnown)
        return {product, ranks};
    const int perNode = simulation.scenario().cluster.gpusPerNode;
    const int nodes = (grid.size() + perNode - 1) / std::max(perNode, 1);
    const std::string onNodes = "  ·  " + (nodes == 1 ? "one node of " : countText(nodes) + " nodes of ") +
                                std::to_string(perNode) + (perNode == 1 ? " GPU" : " GPUs");
    return {product + onNodes, product, ranks};
}

float meaningWidth(const GridFrame& frame)
{
    const float room = std::min(kMeaningWidth, frame.lenses.width() - kBesideMeaning);
    return frame.lenses.height() > 0 && room >= kNarrowestMeaning ? room : 0;
}

std::string rankTip(const sim::Simulation& simulation, const GridReading& reading, const std::vector<RankNow>* live, int rank)
{
    std::string text = "rank " + countText(rank) + "\n" + reading.placeOf(simulation, rank);
    std::string node;
    if (reading.known.areNodesKnown)
        node = "\nnode " + countText(simulation.placement().node(rank));
    if (reading.namesGpus())
        node += ", GPU " + std::to_string(simulation.placement().gpuOfNode(rank));
    if (reading.isMeasured) {
        const std::string reads = reading.tones.empty() ? std::string() : reading.sentence(reading.unitOf(simulation, rank));
        return text + node + (reads.empty() ? "" : "\n" + reads);
    }
    const std::vector<int> stages = simulation.schedule().stagesOfRank(simulation.mesh().coordinates(rank).pp);
    if (simulation.schedule().stages() > 1) {
        text += stages.size() == 1 ? "\nstage " : "\nstages ";
        for (std::size_t i = 0; i < stages.size(); ++i)
            text += (i == 0 ? "" : ", ") + std::to_string(stages[i]);
        text += " of 0–" + std::to_string(simulation.schedule().stages() - 1);
    }
    text += node;
    if (live != nullptr) {
        const RankNow& now = (*live)[static_cast<std::size_t>(rank)];
        return text + "\n" + bytesText(static_cast<double>(now.bytes)) + " now, at most " +
               bytesText(static_cast<double>(now.peakBytes)) + (now.doing.empty() ? "" : "\nlast action " + now.doing);
    }
    constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
    const auto [peak, has] = bytesBesideLimit(static_cast<double>(simulation.memoryOfClass(simulation.classOf(rank)).total()),
                                              simulation.scenario().cluster.gpu.memoryGib * kBytesPerGib);
    text += "\n" + peak + " of " + has + " at peak";
    if (reading.lens != GridLens::memory && !reading.tones.empty())
        if (const std::string reads = reading.sentence(reading.unitOf(simulation, rank)); !reads.empty())
            text += "\n" + reads;
    return text;
}

void paintCaption(Canvas& canvas, const GridScene& scene)
{
    CaptionPainter(canvas, scene).paint();
}

} // namespace app
