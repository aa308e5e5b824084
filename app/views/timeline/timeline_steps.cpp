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
    const int row = m_model.rowOf(ref->track);
    const std::int64_t startNs = track.startNs[ref->span],
                       ownEndNs = ref->span > 0 ? m_model.endNs({ref->track, ref->span - 1}) : 0;
    // "starts 3 ms after F1: it waited for …", where the wait can be seen beside the shortest that it lies between.
    const auto waited = [&](std::int64_t sinceNs, std::int64_t shortestNs, const std::string& after) {
        constexpr std::int64_t kHardly = 100;
        if ((startNs - sinceNs) * kHardly <= shortestNs)
            return std::string();
        const std::string awaited = m_model.awaitedText(row, sinceNs, startNs);
        return name + " starts " + durationText(static_cast<double>(startNs - sinceNs)) + after +
               (awaited.empty() ? "" : ": it waited for " + awaited);
    };
    const std::int64_t takesNs = track.durationNs[ref->span];
    if (lastInput && (ref->span == 0 || m_model.endNs(*lastInput) > ownEndNs)) {
        const std::string input = m_model.nameBeside(*lastInput, row);
        if (m_model.isSimulated(row)) { // of a recorded step nobody knows when its messages came
            const std::int64_t sentNs = std::max(ownEndNs, m_model.endNs(*lastInput));
            const std::int64_t thereNs = m_model.inputThereNs(row, ownEndNs, startNs).value_or(sentNs);
            if (const std::string text = waited(thereNs, takesNs, " after " + input + " is there"); !text.empty())
                return text;
        }
        return name + " starts as soon as " + input + " is there";
    }
    if (ref->span > 0) {
        const SpanRef before{ref->track, ref->span - 1};
        const std::string former = m_model.nameBeside(before, row);
        const std::int64_t shortestNs = std::min(track.durationNs[before.span], takesNs);
        if (const std::string text = waited(ownEndNs, shortestNs, " after " + former); !text.empty())
            return text;
        return name + " starts right after " + former +
               (lastInput && *lastInput != before ? ": " + m_model.nameBeside(*lastInput, row) + " was there already" : "");
    }
    if (const std::string text = m_model.isSimulated(row) ? waited(0, takesNs, " into the step") : std::string(); !text.empty())
        return text;
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
