#include "app/views/compare/delta_ribbons.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kHeader = 18, kBelow = 4;
constexpr float kLowestRibbon = 3, kHighestRibbon = 11;
constexpr float kNamedRibbon = 10; ///< pixels from which a ribbon has its name beside it
constexpr float kArrowRoom = 14;   ///< pixels from which a piece shows which way it went
constexpr std::uint64_t kRibbonNodes = (std::uint64_t{1} << 61) + (std::uint64_t{1} << 59);

std::string movedText(double deltaNs)
{
    if (deltaNs == 0)
        return "at the same time";
    return durationText(std::abs(deltaNs)) + (deltaNs > 0 ? " later" : " earlier");
}

/// Of full colour: what few actions exceed, so that one far away does not make all others pale.
double scaleOf(const std::vector<DeltaRibbons::Row>& rows)
{
    constexpr double kMost = 0.95;
    std::vector<double> sizes;
    for (const DeltaRibbons::Row& row : rows)
        for (const DeltaRibbons::Piece& piece : row.pieces)
            if (piece.deltaNs != 0)
                sizes.push_back(std::abs(piece.deltaNs));
    if (sizes.empty())
        return 0;
    const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(kMost * static_cast<double>(sizes.size() - 1));
    std::nth_element(sizes.begin(), place, sizes.end());
    return *place;
}

/// Points to where the piece went.
void paintArrow(Canvas& canvas, Rect area, bool later, Color color)
{
    const float x = std::floor((area.left + area.right) / 2), y = (area.top + area.bottom) / 2;
    const float half = std::min(3.0F, area.height() / 2 - 1), tip = later ? half : -half;
    canvas.fillConvex({{x + tip, y}, {x - tip, y - half}, {x - tip, y + half}}, color);
}

} // namespace

DeltaRibbons::DeltaRibbons(const sim::MatchedActions& matched, const sim::Trace& a, const sim::Trace& b,
                           const std::function<double(double)>& onB)
{
    std::size_t sameStage = 0;
    for (std::size_t i = 0; i < matched.rows.size(); ++i) {
        const sim::MatchedActions::Row& match = matched.rows[i];
        sameStage += i > 0 && match.pipelineRank == matched.rows[i - 1].pipelineRank ? 1 : 0;
        const sim::Track &trackA = a.tracks[match.trackA], &trackB = b.tracks[match.trackB];
        Row row{.name = "pp " + std::to_string(match.pipelineRank), .pieces = {}};
        for (std::size_t span = 0; span < match.ofB.size(); ++span) {
            if (match.ofB[span] == sim::MatchedActions::kNone)
                continue;
            const auto before = static_cast<double>(trackA.startNs[static_cast<std::size_t>(match.ofB[span])]);
            const double delta = std::round(static_cast<double>(trackB.startNs[span]) - onB(before));
            row.pieces.push_back({trackB.startNs[span], trackB.startNs[span] + trackB.durationNs[span], delta});
            row.latestNs = std::max(row.latestNs, delta);
            row.earliestNs = std::min(row.earliestNs, delta);
        }
        m_largestNs = std::max({m_largestNs, row.latestNs, -row.earliestNs});
        m_rows.push_back(std::move(row));
    }
    m_scaleNs = scaleOf(m_rows);
    if (sameStage > 0) // several rows of a stage: names that tell them apart
        for (std::size_t i = 0; i < m_rows.size(); ++i)
            m_rows[i].name =
                "rank " + countText(b.processes[static_cast<std::size_t>(b.tracks[matched.rows[i].trackB].process)].rank);
}

float DeltaRibbons::suitableHeight(float wanted) const
{
    if (m_rows.empty())
        return 0;
    const auto rows = static_cast<float>(m_rows.size());
    const float ribbon = std::floor(std::clamp((wanted - kHeader - kBelow) / rows, kLowestRibbon, kHighestRibbon));
    return kHeader + ribbon * rows + kBelow;
}

Rect DeltaRibbons::rowRect(Rect area, std::size_t row) const
{
    const float height = (area.height() - kHeader - kBelow) / static_cast<float>(m_rows.size());
    const float top = area.top + kHeader + height * static_cast<float>(row);
    return {area.left, std::floor(top), area.right, std::floor(top + height) - (height >= 4 ? 1.0F : 0.0F)};
}

void DeltaRibbons::paint(Canvas& canvas, const Theme& theme, Rect area, const TimeAxis& axis) const
{
    canvas.fillRect(area, theme.panel);
    canvas.fillRect({area.left, area.top, area.right, area.top + 1}, theme.border);
    const float small = canvas.textHeight(FontFace::small);
    const Rect header{area.left + 12, area.top + 2, area.right - 12, area.top + kHeader};
    const std::string most = durationText(m_scaleNs) + (m_largestNs > m_scaleNs ? " or more" : "");
    float used = 0;
    if (m_largestNs > 0) {
        // The legend: how strong a colour means how much, and which arrow means which way.
        constexpr float kRamp = 90;
        const std::string left = most + " earlier", right = most + " later";
        const float width = canvas.textWidth(left, FontFace::small) + canvas.textWidth(right, FontFace::small) + kRamp + 16;
        if (width < header.width() * 0.6F) {
            used = width + 16;
            float x = header.right - width;
            canvas.text({x, header.top + (header.height() - small) / 2}, left, theme.mutedText, FontFace::small);
            x += canvas.textWidth(left, FontFace::small) + 8;
            const Rect ramp{x, header.top + 4, x + kRamp, header.bottom - 3};
            constexpr int kSteps = 30;
            for (int i = 0; i < kSteps; ++i)
                canvas.fillRect({ramp.left + kRamp * static_cast<float>(i) / kSteps, ramp.top,
                                 ramp.left + kRamp * static_cast<float>(i + 1) / kSteps, ramp.bottom},
                                theme.deviationAt(2.0 * (i + 0.5) / kSteps - 1));
            paintArrow(canvas, {ramp.left, ramp.top, ramp.left + kArrowRoom, ramp.bottom}, false,
                       readableOn(theme.deviation.front()));
            paintArrow(canvas, {ramp.right - kArrowRoom, ramp.top, ramp.right, ramp.bottom}, true,
                       readableOn(theme.deviation.back()));
            canvas.text({ramp.right + 8, header.top + (header.height() - small) / 2}, right, theme.mutedText, FontFace::small);
        }
    }
    const std::vector<std::string> titles{m_largestNs > 0 ? "When each action of B starts, against A"
                                                          : "Every action starts when it does in A",
                                          m_largestNs > 0 ? "B against A" : "no difference"};
    textInside(canvas, {header.left, header.top, header.right - used, header.bottom},
               fitting(canvas, titles, header.width() - used, FontFace::small), theme.mutedText, FontFace::small);
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const Rect rect = rowRect(area, i);
        const Rect gutter{area.left + 12, rect.top, axis.left - 8, rect.bottom};
        if (rect.height() >= kNamedRibbon - 1)
            textInside(canvas, {gutter.left, gutter.top - 2, gutter.right, gutter.bottom + 2}, m_rows[i].name, theme.mutedText,
                       FontFace::small);
        canvas.pushClip({axis.left, rect.top, axis.right, rect.bottom});
        paintRow(canvas, theme, {axis.left, rect.top, axis.right, rect.bottom}, axis, m_rows[i]);
        canvas.popClip();
        if (canvas.wantsNodes()) {
            std::string name = m_rows[i].name + ": ";
            if (m_rows[i].latestNs == 0 && m_rows[i].earliestNs == 0)
                name += "every action at the same time";
            if (m_rows[i].latestNs > 0)
                name += "up to " + movedText(m_rows[i].latestNs);
            if (m_rows[i].earliestNs < 0)
                name += (m_rows[i].latestNs > 0 ? ", up to " : "up to ") + movedText(m_rows[i].earliestNs);
            canvas.node(
                {.id = kRibbonNodes + i, .role = "ribbon", .name = name, .rect = {area.left, rect.top, area.right, rect.bottom}});
        }
    }
}

/// A column of pixels that several pieces share shows the one that moved farthest.
void DeltaRibbons::paintRow(Canvas& canvas, const Theme& theme, Rect area, const TimeAxis& axis, const Row& row) const
{
    const auto first = std::lower_bound(row.pieces.begin(), row.pieces.end(), axis.beginNs,
                                        [](const Piece& piece, double ns) { return static_cast<double>(piece.endNs) <= ns; });
    float openLeft = area.left;
    double openDelta = 0;
    const auto flush = [&](float until) {
        if (until > openLeft && openDelta != 0)
            canvas.fillRect({openLeft, area.top, until, area.bottom}, theme.deviationAt(openDelta / m_scaleNs));
    };
    for (auto piece = first; piece != row.pieces.end() && static_cast<double>(piece->beginNs) < axis.endNs; ++piece) {
        const float left = std::max(area.left, std::floor(axis.x(static_cast<double>(piece->beginNs))));
        const float right = std::min(area.right, std::floor(axis.x(static_cast<double>(piece->endNs))));
        if (right - left < 2) { // many in few pixels
            if (left >= openLeft + 1) {
                flush(openLeft + 1);
                openLeft = left;
                openDelta = 0;
            }
            if (std::abs(piece->deltaNs) > std::abs(openDelta))
                openDelta = piece->deltaNs;
            continue;
        }
        flush(openLeft + 1);
        openDelta = 0;
        openLeft = right;
        const Color fill = theme.deviationAt(m_scaleNs > 0 ? piece->deltaNs / m_scaleNs : 0);
        const Rect rect{left, area.top, right - (right - left > 6 ? 1.0F : 0.0F), area.bottom};
        if (piece->deltaNs == 0) {
            canvas.fillRect(rect, mix(theme.canvas, theme.text, 0.06F));
            continue;
        }
        canvas.fillRect(rect, fill);
        if (rect.width() >= kArrowRoom && rect.height() >= 6)
            paintArrow(canvas, rect, piece->deltaNs > 0, withAlpha(readableOn(fill), 0.8F));
    }
    flush(openLeft + 1);
}

std::string DeltaRibbons::describe(Rect area, const TimeAxis& axis, Point at) const
{
    if (at.x < axis.left || at.x >= axis.right)
        return {};
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const Rect rect = rowRect(area, i);
        if (at.y < rect.top || at.y >= rect.bottom + 1)
            continue;
        const double ns = axis.ns(at.x);
        for (const Piece& piece : m_rows[i].pieces)
            if (ns >= static_cast<double>(piece.beginNs) && ns < static_cast<double>(piece.endNs))
                return m_rows[i].name + "\n" + "B starts this action " + movedText(piece.deltaNs) +
                       (piece.deltaNs == 0 ? " as A" : " than A");
        return m_rows[i].name + "\nno action that both have";
    }
    return {};
}

} // namespace app
