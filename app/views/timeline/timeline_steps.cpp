#include "app/views/timeline/timeline_steps.h"

#include "app/views/common/labels.h"
#include "app/views/timeline/timeline_dependencies.h"
#include "sim/simulate/action_class.h"

#include <algorithm>
#include <tuple>

namespace app {

TimelineSteps::TimelineSteps(const TimelineModel& model) : m_model(model), m_revealed(model.trace().tracks.size(), 0)
{
    const auto& tracks = model.trace().tracks;
    for (std::uint32_t track = 0; track < tracks.size(); ++track)
        if (tracks[track].role == sim::TrackRole::actions)
            for (std::uint32_t span = 0; span < tracks[track].size(); ++span)
                m_order.push_back({track, span});
    std::sort(m_order.begin(), m_order.end(), [&](const SpanRef& a, const SpanRef& b) {
        return std::tuple(tracks[a.track].startNs[a.span], a.track, a.span) <
               std::tuple(tracks[b.track].startNs[b.span], b.track, b.span);
    });
    if (const sim::Simulation* simulation = model.simulation())
        m_rule = warmUpRule(simulation->schedule());
    if (!m_order.empty()) {
        std::vector<std::int64_t> lengths;
        for (const SpanRef& ref : m_order)
            lengths.push_back(tracks[ref.track].durationNs[ref.span]);
        const auto quarter = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 4);
        std::nth_element(lengths.begin(), quarter, lengths.end());
        m_shortActionNs = *quarter;
    }
    goTo(0);
}

void TimelineSteps::goTo(std::size_t step)
{
    if (m_order.empty())
        return;
    m_current = std::min(step, m_order.size() - 1);
    const auto& tracks = m_model.trace().tracks;
    const std::int64_t nowNs = tracks[now()->track].startNs[now()->span];
    for (std::size_t track = 0; track < tracks.size(); ++track)
        m_revealed[track] = static_cast<std::size_t>(
            std::upper_bound(tracks[track].startNs.begin(), tracks[track].startNs.end(), nowNs) - tracks[track].startNs.begin());
    // Of actions that start together those of later rows are still to come.
    for (std::size_t later = m_current + 1; later < m_order.size(); ++later) {
        const SpanRef ref = m_order[later];
        if (tracks[ref.track].startNs[ref.span] > nowNs)
            break;
        m_revealed[ref.track] = std::min<std::size_t>(m_revealed[ref.track], ref.span);
    }
}

bool TimelineSteps::goToMoment(std::int64_t ns)
{
    if (m_order.empty())
        return false;
    const auto startNs = [&](const SpanRef& ref) { return m_model.trace().tracks[ref.track].startNs[ref.span]; };
    const auto after = std::upper_bound(m_order.begin(), m_order.end(), ns,
                                        [&](std::int64_t at, const SpanRef& ref) { return at < startNs(ref); });
    const std::size_t step = after == m_order.begin() ? 0 : static_cast<std::size_t>(after - m_order.begin()) - 1;
    if (startNs(m_order[step]) == startNs(m_order[m_current]))
        return false;
    goTo(step);
    return true;
}

std::optional<SpanRef> TimelineSteps::now() const
{
    return m_order.empty() ? std::nullopt : std::optional(m_order[m_current]);
}

std::string TimelineSteps::happens() const
{
    const std::optional<SpanRef> ref = now();
    if (!ref)
        return {};
    const sim::Track& track = m_model.trace().tracks[ref->track];
    const std::string name = m_model.nameBeside(*ref, -1);
    std::optional<SpanRef> lastInput;
    for (const Dependency& d : dependenciesOf(m_model, *ref))
        if (d.to == *ref && (!lastInput || m_model.endNs(d.from) > m_model.endNs(*lastInput)))
            lastInput = d.from;
    const std::int64_t ownEnd = ref->span > 0 ? track.startNs[ref->span - 1] + track.durationNs[ref->span - 1] : -1;
    if (lastInput && m_model.endNs(*lastInput) > ownEnd)
        return name + " starts as soon as " + m_model.nameBeside(*lastInput, m_model.rowOf(ref->track)) + " is there";
    if (const SpanRef before{ref->track, ref->span - 1}; ref->span > 0) {
        const int row = m_model.rowOf(ref->track);
        const std::string former = m_model.nameBeside(before, row);
        const std::int64_t gapNs = track.startNs[ref->span] - ownEnd;
        constexpr std::int64_t kHardly = 100; // of the shorter of the two: nobody sees it
        if (gapNs * kHardly > std::min(track.durationNs[ref->span - 1], track.durationNs[ref->span])) {
            const std::string awaited = m_model.awaitedText(row, track.startNs[ref->span]);
            return name + " starts " + durationText(static_cast<double>(gapNs)) + " after " + former +
                   (awaited.empty() ? "" : ": it waited for " + awaited);
        }
        return name + " starts right after " + former +
               (lastInput && *lastInput != before ? ": " + m_model.nameBeside(*lastInput, row) + " was there already" : "");
    }
    return name + " starts the step";
}

TimelineSteps::Story TimelineSteps::storyOf(int row) const
{
    Story story;
    const auto& trace = m_model.trace();
    for (const std::uint32_t track : m_model.rows()[static_cast<std::size_t>(row)].tracks) {
        if (trace.tracks[track].role != sim::TrackRole::actions)
            continue;
        std::vector<sim::ActionKind> kinds;
        std::size_t started = 0;
        for (std::size_t span = 0; span < trace.tracks[track].size(); ++span)
            if (const auto kind = sim::actionKindOf(m_model.opClass(track, span))) {
                kinds.push_back(*kind);
                started += span < m_revealed[track] ? 1U : 0U;
            }
        if (kinds.empty())
            return story;
        const SchedulePhases phases = phasesOf(kinds);
        for (const Phase phase : {Phase::warmUp, Phase::steady, Phase::coolDown})
            story.labels.push_back(phaseLabel(phases, phase));
        if (started == 0) {
            story.sentence = "Waits for its first input";
        } else if (m_revealed[track] == trace.tracks[track].size() && kinds.size() < trace.tracks[track].size()) {
            story.sentence = "All gradients are there: the optimizer updates the weights";
        } else {
            story.phase = phases.at(started - 1);
            const auto* simulation = m_model.simulation();
            const int rank = trace.processes[static_cast<std::size_t>(row)].rank;
            const std::string rule =
                m_rule ? m_rule->worked(simulation->schedule().ranks, simulation->mesh().coordinates(rank).pp) : std::string();
            story.sentence = phaseSentence(phases, *story.phase, rule);
        }
        return story;
    }
    return story;
}

} // namespace app
