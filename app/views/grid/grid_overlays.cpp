#include "app/views/grid/grid_overlays.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace app {
namespace {

constexpr float kTinyCell = 7, kLowCell = 24;
constexpr int kFewRanks = 64;          ///< so many show all their messages, more only those of the focus
constexpr float kRoomForWays = 32;     ///< lower cells would vanish under the ways of all pipelines
constexpr double kLingerShare = 0.012; ///< of the step: how long an arrived message fades
constexpr int kPulse = 3;              ///< pixels a running collective's outline grows by

class Overlays {
public:
    Overlays(Canvas& canvas, const GridScene& scene)
        : m_canvas(canvas), m_scene(scene), m_layout(scene.layout), m_theme(scene.theme),
          m_cell(std::min(scene.layout.cellWidth(), scene.layout.cellHeight()) * scene.transform.zoom)
    {
    }

    void paint()
    {
        if (m_scene.motion == nullptr) {
            if (m_scene.reading.lens == GridLens::now && m_scene.instants != nullptr && !m_scene.reading.isLive) {
                collectives();
                messages();
            }
            if (m_scene.reading.lens == GridLens::bubble && m_scene.instants != nullptr)
                waits();
            if (m_scene.focusRank())
                for (const LitGroup& group : m_scene.groups)
                    outline(group.members, m_theme.selection, outlineOf(group.kind));
            if (m_scene.severalSelected() && m_scene.selection.ranks.back() < m_layout.ranks())
                outline(m_scene.selection.ranks, m_theme.selection, {});
        }
        for (const std::optional<int>& rank : {m_scene.selection.selectedRank, m_scene.focusRank()})
            if (rank && *rank >= 0 && *rank < m_layout.ranks()) {
                const Rect cell = m_scene.cellRect(*rank);
                if (m_cell >= kTinyCell && m_cell < kLowCell) { // around it: inside, the ring would cover its number
                    m_canvas.strokeRect(cell.inset(-2), m_theme.selection, 2);
                    continue;
                }
                m_canvas.strokeRect(cell.inset(-2), m_theme.canvas, 1);
                m_canvas.strokeRect(cell, m_theme.selection, m_cell < kTinyCell ? 2.0F : 3.0F);
            }
    }

private:
    /// One line around members that fill a rectangle, else one around each.
    void outline(const std::vector<int>& members, Color color, const Outline& style)
    {
        int left = m_layout.columns(), right = -1, top = m_layout.rows(), bottom = -1;
        for (const int rank : members) {
            const int c = m_layout.column(rank), r = m_layout.row(rank);
            left = std::min(left, c);
            right = std::max(right, c);
            top = std::min(top, r);
            bottom = std::max(bottom, r);
        }
        if (right < 0)
            return;
        const auto places = static_cast<std::size_t>(right - left + 1) * static_cast<std::size_t>(bottom - top + 1);
        if (places == members.size()) {
            Rect around = m_scene.cellRect(members.front());
            for (const int rank : {m_layout.rankAt(left, top), m_layout.rankAt(right, bottom)}) {
                const Rect cell = m_scene.cellRect(rank);
                around = {std::min(around.left, cell.left), std::min(around.top, cell.top), std::max(around.right, cell.right),
                          std::max(around.bottom, cell.bottom)};
            }
            strokeOutline(m_canvas, around.inset(-2), color, style);
            return;
        }
        if (m_cell < kTinyCell)
            return; // filled cells have to do
        for (const int rank : members)
            strokeOutline(m_canvas, m_scene.cellRect(rank).inset(-1), color, style);
    }

    /// Pipelines whose messages are drawn: of few ranks in roomy cells all, of many the focus's.
    std::vector<std::vector<int>> pipelines() const
    {
        const sim::Mesh& mesh = m_scene.simulation.mesh();
        std::vector<std::vector<int>> all;
        if (mesh.worldSize() <= kFewRanks && (m_cell >= kRoomForWays || mesh.groupCount(sim::ProcessGroup::pp) == 1))
            for (int g = 0; g < mesh.groupCount(sim::ProcessGroup::pp); ++g)
                all.push_back(mesh.members(sim::ProcessGroup::pp, g));
        else
            all.push_back(
                mesh.members(sim::ProcessGroup::pp, mesh.groupOf(sim::ProcessGroup::pp, m_scene.focusRank().value_or(0))));
        return all;
    }

    int processOf(int rank) const { return m_scene.processOf[static_cast<std::size_t>(rank)]; }
    int rankOf(const std::vector<int>& pipeline, int process) const
    {
        const auto found = std::find_if(pipeline.begin(), pipeline.end(), [&](int rank) { return processOf(rank) == process; });
        return found == pipeline.end() ? -1 : *found;
    }

    static Point centre(Rect r) { return {(r.left + r.right) / 2, (r.top + r.bottom) / 2}; }

    /// From edge to edge of two cells, along the line between their centres.
    std::pair<Point, Point> between(int fromRank, int toRank) const
    {
        const Rect a = m_scene.cellRect(fromRank), b = m_scene.cellRect(toRank);
        const Point from = centre(a), to = centre(b);
        const float dx = to.x - from.x, dy = to.y - from.y;
        const auto leaves = [&](Rect cell) { // share of the way that lies in the cell
            const float x = dx == 0 ? 1 : cell.width() / 2 / std::abs(dx), y = dy == 0 ? 1 : cell.height() / 2 / std::abs(dy);
            return std::min({x, y, 0.5F});
        };
        // A little inside, so that the ways between neighbours can be seen.
        constexpr float kOfCell = 0.86F;
        const float begin = leaves(a) * kOfCell, end = 1 - leaves(b) * kOfCell;
        // Over the cells between them along their edge: the ranks' numbers stand in their middle.
        constexpr float kBeside = 0.44F;
        const bool isAlongRow = m_layout.row(fromRank) == m_layout.row(toRank);
        const bool isAlongColumn = m_layout.column(fromRank) == m_layout.column(toRank);
        const int cells = std::max(std::abs(m_layout.column(fromRank) - m_layout.column(toRank)),
                                   std::abs(m_layout.row(fromRank) - m_layout.row(toRank)));
        const Point aside{cells > 1 && isAlongColumn ? a.width() * kBeside : 0,
                          cells > 1 && isAlongRow ? a.height() * kBeside : 0};
        return {{from.x + dx * begin + aside.x, from.y + dy * begin + aside.y},
                {from.x + dx * end + aside.x, from.y + dy * end + aside.y}};
    }

    void arrow(Point tip, Point from, float size, Color fill, Color edge)
    {
        const float length = std::hypot(tip.x - from.x, tip.y - from.y);
        if (length < 0.5F)
            return;
        const float x = (tip.x - from.x) / length, y = (tip.y - from.y) / length;
        const Point base{tip.x - x * size, tip.y - y * size};
        const float half = size * 0.62F;
        const std::vector<Point> head{tip, {base.x - y * half, base.y + x * half}, {base.x + y * half, base.y - x * half}};
        m_canvas.fillConvex(head, fill);
        m_canvas.polyline({head[0], head[1], head[2], head[0]}, edge, 1);
    }

    void messages()
    {
        const Instants& instants = *m_scene.instants;
        const auto linger = static_cast<std::int64_t>(kLingerShare * static_cast<double>(instants.trace().endNs));
        const std::int64_t now = m_scene.selection.cursorNs;
        const auto underWay = instants.underWay(now, linger);
        if (underWay.empty() || m_scene.reading.isOver || !m_scene.selection.shows(sim::OpClass::ppComm))
            return;
        const float size = std::clamp(m_cell / 5, 5.0F, 11.0F);
        for (const std::vector<int>& pipeline : pipelines())
            for (const Message* message : underWay) {
                const int from = rankOf(pipeline, message->from), to = rankOf(pipeline, message->to);
                if (from < 0 || to < 0 || from == to)
                    continue;
                const auto [begin, end] = between(from, to);
                const auto way = static_cast<float>(std::max<std::int64_t>(1, message->hereNs - message->sentNs));
                const float share = std::clamp(static_cast<float>(now - message->sentNs) / way, 0.0F, 1.0F);
                const float faded = now < message->hereNs ? 0
                                                          : static_cast<float>(now - message->hereNs) /
                                                                static_cast<float>(std::max<std::int64_t>(1, linger));
                const float strength = 1 - faded;
                const Point tip{begin.x + (end.x - begin.x) * share, begin.y + (end.y - begin.y) * share};
                m_canvas.line(begin, end, withAlpha(m_theme.selection, 0.45F * strength), m_cell < kTinyCell ? 1.0F : 2.0F);
                arrow(share > 0 ? tip : end, begin, size, withAlpha(m_theme.fill(sim::OpClass::ppComm), strength),
                      withAlpha(m_theme.selection, strength));
                if (m_canvas.wantsNodes())
                    m_canvas.node({.id = (std::uint64_t{2} << 32U) + static_cast<std::uint64_t>(from),
                                   .role = "message",
                                   .name = "rank " + countText(from) + " to rank " + countText(to) +
                                           (faded > 0 ? ", arrived" : ", " + percentText(share) + " of the way"),
                                   .rect = {std::min(begin.x, end.x), std::min(begin.y, end.y), std::max(begin.x, end.x) + 1,
                                            std::max(begin.y, end.y) + 1}});
            }
    }

    /// The outline of a group swells and fades while its collective runs.
    void collectives()
    {
        if (!m_scene.instants->knowsTransfers())
            return;
        const sim::Mesh& mesh = m_scene.simulation.mesh();
        std::set<std::pair<sim::ProcessGroup, int>> drawn;
        const auto pulse = [&](int rank) {
            const int process = processOf(rank);
            const auto running =
                process < 0 ? std::nullopt : m_scene.instants->communication(process, m_scene.selection.cursorNs);
            if (!running || !m_scene.selection.shows(running->opClass))
                return;
            const sim::Track& track = m_scene.instants->trace().tracks[running->span.track];
            const sim::SpanKind& span = m_scene.instants->trace().kinds[track.kind[running->span.span]];
            const auto kind = sim::processGroupFromName(span.group);
            if (!kind || *kind == sim::ProcessGroup::pp || mesh.groupOf(*kind, rank) < 0 ||
                !drawn.emplace(*kind, mesh.groupOf(*kind, rank)).second)
                return;
            constexpr float kHalfTurn = 3.14159265F;
            const float swell = std::sin(kHalfTurn * running->progress);
            Outline style = outlineOf(*kind);
            style.thickness += std::round(kPulse * swell);
            std::vector<int> members = mesh.members(*kind, mesh.groupOf(*kind, rank));
            std::sort(members.begin(), members.end());
            outline(members, withAlpha(m_theme.fill(running->opClass), 0.5F + 0.5F * swell), style);
            if (m_canvas.wantsNodes())
                m_canvas.node({.id = (std::uint64_t{3} << 32U) + static_cast<std::uint64_t>(rank),
                               .role = "collective",
                               .name = span.name + " of " + span.group + " group, " +
                                       countText(static_cast<int>(members.size())) + " ranks, " + percentText(running->progress) +
                                       " done",
                               .rect = m_scene.cellRect(rank)});
        };
        if (mesh.worldSize() <= kFewRanks)
            for (int rank = 0; rank < mesh.worldSize(); ++rank)
                pulse(rank);
        else
            pulse(m_scene.focusRank().value_or(0));
    }

    /// Of few ranks everyone points at whom it waits for; the chain of the rank in focus is drawn strongly.
    void waits()
    {
        const std::int64_t now = m_scene.selection.cursorNs;
        const std::optional<int> focus = m_scene.focusRank();
        for (const std::vector<int>& pipeline : pipelines()) {
            std::vector<int> strong;
            if (focus && std::find(pipeline.begin(), pipeline.end(), *focus) != pipeline.end() && processOf(*focus) >= 0)
                strong = m_scene.instants->waitChain(processOf(*focus), now);
            for (const int rank : pipeline) {
                if (processOf(rank) < 0)
                    continue;
                const auto waiting = m_scene.instants->waiting(processOf(rank), now);
                const int target = waiting && waiting->waitsFor >= 0 ? rankOf(pipeline, waiting->waitsFor) : -1;
                if (target < 0 || target == rank)
                    continue;
                const auto link = std::find(strong.begin(), strong.end(), processOf(rank));
                const bool isStrong = link != strong.end() && link + 1 != strong.end();
                const auto [begin, end] = between(rank, target);
                const Color color = withAlpha(m_theme.selection, isStrong || !focus ? 0.9F : 0.35F);
                m_canvas.line(begin, end, color, isStrong ? 3.0F : 1.5F,
                              waiting->messageUnderWay ? LineStyle::solid : LineStyle::dashed);
                arrow(end, begin, std::clamp(m_cell / 6, 5.0F, isStrong ? 12.0F : 9.0F), color, color);
                if (m_canvas.wantsNodes())
                    m_canvas.node({.id = (std::uint64_t{4} << 32U) + static_cast<std::uint64_t>(rank),
                                   .role = "wait",
                                   .name = "rank " + countText(rank) + " waits for rank " + countText(target),
                                   .rect = {std::min(begin.x, end.x), std::min(begin.y, end.y), std::max(begin.x, end.x) + 1,
                                            std::max(begin.y, end.y) + 1}});
            }
        }
    }

    Canvas& m_canvas;
    const GridScene& m_scene;
    const GridLayout& m_layout;
    const Theme& m_theme;
    float m_cell; ///< the shorter side on screen
};

/// What keeps a rank that no message is missing: "its host to launch F0", "the all-gather of parameters in dp".
std::string keptText(const GridScene& scene, int rank, int process)
{
    const std::int64_t now = scene.selection.cursorNs;
    const int ofRank = scene.simulation.classOf(rank);
    if (scene.waits == nullptr || !scene.instants->waiting(process, now)->next)
        return {};
    const auto gap = scene.waits->gapAt(ofRank, now);
    const auto link = gap ? scene.waits->linkAt(*gap, now) : std::nullopt;
    if (!link)
        return {};
    return link->kind == sim::WaitLink::Kind::launch && link->classIndex == ofRank
               ? "its host to launch " + scene.waits->nextText(*gap)
               : scene.waits->linkText(*link);
}

} // namespace

void paintOverlays(Canvas& canvas, const GridScene& scene)
{
    Overlays(canvas, scene).paint();
}

std::string waitSentence(const GridScene& scene, int rank)
{
    if (scene.instants == nullptr)
        return {};
    const int process = scene.processOf[static_cast<std::size_t>(rank)];
    const std::int64_t now = scene.selection.cursorNs;
    if (process < 0 || !scene.instants->waiting(process, now))
        return {};
    const std::vector<int> chain = scene.instants->waitChain(process, now);
    if (chain.size() < 2) {
        const std::string kept = keptText(scene, rank, process);
        return kept.empty() ? kept : "waits for " + kept;
    }
    const sim::Mesh& mesh = scene.simulation.mesh();
    std::string text = "waits for ";
    int last = rank;
    for (std::size_t i = 1; i < chain.size(); ++i) {
        int other = -1;
        for (const int member : mesh.members(sim::ProcessGroup::pp, mesh.groupOf(sim::ProcessGroup::pp, rank)))
            if (scene.processOf[static_cast<std::size_t>(member)] == chain[i])
                other = member;
        if (other < 0)
            return {};
        text += (i == 1 ? "rank " : " → ") + countText(other);
        last = other;
    }
    if (scene.instants->waiting(chain[chain.size() - 2], now)->messageUnderWay)
        return text + ", whose message is under way";
    if (const auto doing = scene.instants->action(chain.back(), now))
        return text + ", which does " + scene.instants->label(doing->span);
    const std::string kept = keptText(scene, last, chain.back());
    return kept.empty() ? text : text + ", which waits for " + kept;
}

} // namespace app
