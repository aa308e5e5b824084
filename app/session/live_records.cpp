#include "app/session/live_records.h"

#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <algorithm>

namespace app {
namespace {

constexpr std::size_t kKeptSteps = 4;
constexpr std::size_t kKeptMemoryValues = 200'000;
/// After a step's numbers its last spans may still be on the way.
constexpr std::chrono::milliseconds kLateSpans{80};
/// From here on a step is shown while it runs.
constexpr std::chrono::milliseconds kLongStep{600};

std::string nameOf(const sim::SpanKind& kind, std::int32_t microbatch, int slices)
{
    const auto action = sim::actionKindOf(kind.opClass);
    return action && microbatch >= 0 ? sim::actionName({.kind = *action, .stage = kind.stage, .microbatch = microbatch}, slices)
                                     : sim::spokenOp(kind.name);
}

} // namespace

void LiveRecords::take(const live::ViewerUpdate& update, Time now)
{
    if (update.description) {
        *this = {};
        m_run = std::make_shared<const live::RunDescription>(*update.description);
        m_ranks.resize(static_cast<std::size_t>(std::max(0, m_run->worldSize)));
    }
    if (!m_run)
        return;
    m_kinds.insert(m_kinds.end(), update.kinds.begin(), update.kinds.end());
    for (const live::RankSpan& span : update.spans) {
        Step& step = m_spans[span.span.step];
        if (step.spans.empty())
            step.firstSeen = now;
        step.lastSeen = now;
        step.spans.push_back(span);
        if (span.span.track == live::SpanTrack::actions)
            m_ranks[static_cast<std::size_t>(span.rank)].lastAction =
                nameOf(m_kinds[span.span.kind], span.span.microbatch, m_run->slices);
    }
    for (const live::RankMemory& value : update.memory) {
        RankReading& rank = m_ranks[static_cast<std::size_t>(value.rank)];
        rank.bytes = value.value.value;
        rank.peakBytes = std::max(rank.peakBytes, rank.bytes);
        m_memory.push_back(value);
    }
    for (const live::StepSummary& step : update.steps)
        if (step.endNs != 0) {
            m_doneAt.try_emplace(step.step, now);
            m_lastDone = std::max(m_lastDone, step.step);
        }
    if (update.run)
        m_state = *update.run;
    m_missed += update.missed;
    forgetOld();
}

void LiveRecords::forgetOld()
{
    while (m_spans.size() > kKeptSteps)
        m_spans.erase(m_spans.begin());
    if (!m_spans.empty())
        m_doneAt.erase(m_doneAt.begin(), m_doneAt.lower_bound(m_spans.begin()->first));
    while (m_memory.size() > kKeptMemoryValues)
        m_memory.pop_front();
}

bool LiveRecords::isComplete(int number, const Step& step, Time now) const
{
    const auto done = m_doneAt.find(number);
    if (done == m_doneAt.end())
        return false;
    return live::hasEnded(m_state.status) || number < m_spans.rbegin()->first ||
           now - std::max(done->second, step.lastSeen) >= kLateSpans;
}

LiveRecords::Choice LiveRecords::choice(int number, Time now) const
{
    const auto found = m_spans.find(number);
    if (found == m_spans.end())
        return {};
    return {number, isComplete(number, found->second, now), found->second.spans.size()};
}

LiveRecords::Choice LiveRecords::newest(Time now) const
{
    Choice best;
    for (const auto& [number, step] : m_spans) {
        const Choice here = choice(number, now);
        const bool grows = !here.complete && (now - step.firstSeen >= kLongStep || live::hasEnded(m_state.status));
        if (here.complete || grows || best.step < 0)
            best = here;
    }
    return best;
}

StepPicturePtr LiveRecords::picture(const Choice& choice, const Prediction* prediction, const StepPictureFunction& make) const
{
    const std::vector<live::RankMemory> memory(m_memory.begin(), m_memory.end());
    return make({.run = *m_run,
                 .kinds = m_kinds,
                 .spans = m_spans.at(choice.step).spans,
                 .memory = memory,
                 .step = choice.step,
                 .complete = choice.complete,
                 .explainsWaits = choice.explainsWaits},
                prediction);
}

StepPicturePtr LiveRecords::pictureOf(const Choice& choice, std::span<const live::RankSpan> spans, const Prediction* prediction,
                                      const StepPictureFunction& make) const
{
    return make({.run = *m_run,
                 .kinds = m_kinds,
                 .spans = spans,
                 .memory = {},
                 .step = choice.step,
                 .complete = true,
                 .explainsWaits = choice.explainsWaits},
                prediction);
}

} // namespace app
