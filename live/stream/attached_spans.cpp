// What attached ranks did: spans, memory and steps, on one clock, as far as it is possible; those of a collective once all
// members have come.
#include "live/stream/attached_run.h"
#include "live/stream/attached_words.h"
#include "live/stream/pack.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace live {
namespace {

constexpr unsigned kGroupShift = 32, kNumberBits = 24; ///< of a rank's correlations; of ours

} // namespace

/// What was held goes on as it is.
void AttachedRun::releaseAll(Rank& rank)
{
    for (const Held& held : rank.held) {
        rank.recorder->spans.push(held.span);
        if (const auto meeting = m_meetings.find(held.meeting);
            meeting != m_meetings.end() && ++meeting->second.released >= meeting->second.came)
            m_meetings.erase(meeting);
    }
    rank.held.clear();
}

/// Whether a step is near what the ranks are at: near their median, so that no rank's nonsense keeps the others' spans out.
bool AttachedRun::isNear(Rank& rank, int step, std::int64_t nowNs)
{
    // Also where it is not taken, as all ranks may have come far while nobody listened; not by what is told once.
    const bool goesOn = rank.told < 0 || std::abs(step - rank.told) <= kRankBudget.stepJump;
    rank.told = step;
    if (goesOn)
        rank.step = step;
    const auto isNearMiddle = [&] { return m_middleStep >= 0 && std::abs(step - m_middleStep) <= kRankBudget.stepJump; };
    if (!isNearMiddle()) {
        constexpr std::size_t kFew = 256; // else once a message
        if (m_ranks.size() > kFew && m_middleNs == nowNs)
            return false;
        std::vector<int> steps;
        for (const auto& [number, other] : m_ranks) {
            if (other->step >= 0 && other->isHere())
                steps.push_back(other->step);
        }
        if (steps.empty())
            return false;
        const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
        std::nth_element(steps.begin(), middle, steps.end());
        m_middleStep = *middle;
        m_middleNs = nowNs;
        return isNearMiddle();
    }
    return true;
}

void AttachedRun::takeKinds(Rank& rank, const Json& json)
{
    const Json* kinds = listIn(json, "kinds");
    if (!kinds)
        return;
    const std::uint64_t from = numberIn(json, "kinds_from");
    if (from != rank.kinds.size())
        refuseRank("kinds of spans from number " + std::to_string(from) + " on after " + std::to_string(rank.kinds.size()));
    if (from + kinds->size() > kRankBudget.kindsOfRank)
        refuseRank(std::to_string(from + kinds->size()) + " kinds of spans, where at most " +
                   std::to_string(kRankBudget.kindsOfRank) + " of a rank are kept");
    for (const Json& kind : *kinds) {
        const std::size_t known = m_kinds.size();
        rank.kinds.push_back(known < kRankBudget.kinds ? m_kinds.id(kindFrom(kind)) : m_otherKind);
    }
}

void AttachedRun::takeData(Rank& rank, const Json& json, std::span<const std::string_view> frames, std::int64_t nowNs)
{
    takeKinds(rank, json);
    const std::uint64_t dropped = std::min<std::uint64_t>(numberIn(json, "dropped"), std::uint64_t{1} << 60U);
    if (dropped > rank.dropped)
        rank.recorder->spans.lost(dropped - rank.dropped);
    rank.dropped = std::max(rank.dropped, dropped);
    std::size_t frame = 0;
    const auto nextFrame = [&] {
        if (frame >= frames.size())
            refuseRank("a message with " + std::to_string(frames.size()) + " parts that should have more");
        return frames[frame++];
    };
    const PackLimits limits{m_worldSize, rank.kinds.size()};
    const auto says = [&](const char* key) {
        const auto place = json.find(key);
        return place != json.end() && place->is_boolean() && place->get<bool>();
    };
    if (says("spans")) {
        std::vector<RankSpan> spans;
        unpackSpans(nextFrame(), limits, spans);
        for (const RankSpan& span : spans) {
            if (span.rank != rank.recorder->rank)
                refuseRank("a span of rank " + std::to_string(span.rank));
            takeSpan(rank, span.span, nowNs);
        }
    }
    if (says("memory")) {
        std::vector<RankMemory> values;
        unpackMemory(nextFrame(), limits, values);
        for (const RankMemory& value : values) {
            const std::int64_t time = value.value.timeNs + rank.offsetNs;
            if (value.rank != rank.recorder->rank || value.value.value < 0 || value.value.value > kRunBudget.heldBytes)
                refuseRank("memory of " + std::to_string(value.value.value) + " bytes of rank " + std::to_string(value.rank));
            if (value.value.timeNs >= 0 && time >= m_begunNs - kRankBudget.beforeNs && time <= nowNs + kRankBudget.aheadNs)
                rank.recorder->memory.push({time, value.value.value});
        }
    }
    takeSteps(rank, json, nowNs);
    release(rank, nowNs);
}

/// What no viewer would take is not shown to any: counted as dropped.
bool AttachedRun::isPossible(Rank& rank, const SpanRecord& span, std::int64_t nowNs)
{
    const std::int64_t earliest = std::max<std::int64_t>(0, m_begunNs - kRankBudget.beforeNs);
    if (span.startNs < earliest || span.endNs > nowNs + kRankBudget.aheadNs || span.cpuNs < 0 ||
        span.cpuNs > span.endNs - span.startNs + 1'000'000 || span.bytes < 0 || span.bytes > kRankBudget.spanBytes ||
        span.microbatch > kRunBudget.microbatch)
        return false;
    if (span.step < m_stepBase || span.step > kRunBudget.step || !isNear(rank, span.step, nowNs))
        return false;
    if (m_extents.size() == kRunBudget.stepsWithSpans && !m_extents.contains(span.step)) {
        if (span.step < m_extents.begin()->first)
            return false;
        m_extents.erase(m_extents.begin());
    }
    const auto [place, isNew] = m_extents.try_emplace(span.step, StepExtent{0, span.startNs, span.endNs});
    StepExtent step = place->second;
    ++step.spans;
    step.firstNs = std::min(step.firstNs, span.startNs);
    step.lastNs = std::max(step.lastNs, span.endNs);
    if (static_cast<std::size_t>(step.spans) > kRunBudget.spansOfStep ||
        step.lastNs - step.firstNs + 1'000'000 > kRunBudget.spanNsOfStep / step.spans)
        return false;
    place->second = step;
    m_newestStep = std::max(m_newestStep, span.step);
    return true;
}

/// Gives the span its correlation in the run, and notes that it came; whether it has others to wait for.
bool AttachedRun::meet(const Rank& rank, SpanRecord& span, Held& held)
{
    const std::uint64_t theirs = std::exchange(span.correlation, 0) >> kGroupShift;
    if (theirs == 0)
        return false;
    const std::uint64_t number = held.span.correlation & 0xFFFFFFFFU;
    if (theirs > rank.groups.size())
        refuseRank("a span of group " + std::to_string(theirs - 1) + ", having named " + std::to_string(rank.groups.size()));
    const std::uint32_t group = rank.groups[theirs - 1];
    span.correlation = (std::uint64_t{group + 1} << kNumberBits) | (number & ((1U << kNumberBits) - 1));
    if (m_groups[group].ranks.size() < 2 || commOf(span.track) < 0)
        return false;
    auto place = m_meetings.find(span.correlation);
    if (place == m_meetings.end()) {
        if (m_meetings.size() >= kRankBudget.openMeetings)
            return false;
        place = m_meetings.emplace(span.correlation, Meeting{.group = group}).first;
    }
    ++place->second.came;
    place->second.lastStartNs = std::max(place->second.lastStartNs, span.startNs);
    held.meeting = span.correlation;
    return true;
}

void AttachedRun::takeSpan(Rank& rank, SpanRecord span, std::int64_t nowNs)
{
    span.kind = rank.kinds[span.kind];
    // 36 years: neither sum can overflow.
    const bool isTime =
        span.startNs <= kRunBudget.amount && span.endNs <= kRunBudget.amount && span.step >= 0 && span.step <= kRunBudget.step;
    if (isTime) {
        span.startNs += rank.offsetNs;
        span.endNs += rank.offsetNs;
        span.readyNs = span.startNs;
        span.step += m_stepBase;
    }
    if (!isTime || !isPossible(rank, span, nowNs)) {
        rank.recorder->spans.lost(1);
        return;
    }
    Held held{.span = span, .arrivedNs = nowNs};
    meet(rank, span, held);
    held.span = span;
    rank.held.push_back(held);
}

/// A rank's spans go on in their order, those of a collective once the last member has come: then it is known when it could
/// begin.
void AttachedRun::release(Rank& rank, std::int64_t nowNs)
{
    const std::int64_t patience = std::chrono::nanoseconds(kRankBudget.meetingPatience).count();
    while (!rank.held.empty()) {
        Held& held = rank.held.front();
        const auto meeting = held.meeting == 0 ? m_meetings.end() : m_meetings.find(held.meeting);
        if (meeting != m_meetings.end()) {
            Meeting& here = meeting->second;
            const Group& group = m_groups[here.group];
            const bool all = here.came >= (m_collector.isDescribed() ? group.present : static_cast<int>(group.ranks.size()));
            if (!all && nowNs - held.arrivedNs < patience && rank.held.size() <= kRankBudget.heldOfRank)
                return;
            if (here.came > 1)
                held.span.readyNs = std::clamp(here.lastStartNs, held.span.startNs, held.span.endNs);
            if (++here.released >= here.came)
                m_meetings.erase(meeting);
        }
        rank.recorder->spans.push(held.span);
        rank.held.pop_front();
    }
}

void AttachedRun::takeSteps(Rank& rank, const Json& json, std::int64_t nowNs)
{
    const Json* steps = listIn(json, "steps");
    if (!steps)
        return;
    if (steps->size() > kRankBudget.stepsOfMessage)
        refuseRank(std::to_string(steps->size()) + " steps in one message");
    for (const Json& told : *steps) { // [step, start, end, loss, gradient norm, tokens]
        if (!told.is_array() || told.size() < 3 || !told[0].is_number_integer() || !told[1].is_number_unsigned() ||
            !told[2].is_number_unsigned())
            refuseRank("a step that is none");
        const auto number = told[0].get<std::int64_t>();
        const auto amount = static_cast<std::uint64_t>(kRunBudget.amount);
        if (number < 0 || number > kRunBudget.step || told[1].get<std::uint64_t>() > amount ||
            told[2].get<std::uint64_t>() > amount)
            continue;
        const std::int64_t step = number + m_stepBase;
        const std::int64_t start = told[1].get<std::int64_t>() + rank.offsetNs, end = told[2].get<std::int64_t>() + rank.offsetNs;
        if (step > kRunBudget.step || start < 0 || end < start || !isNear(rank, static_cast<int>(step), nowNs))
            continue;
        m_newestStep = std::max(m_newestStep, static_cast<int>(step));
        const auto [place, isNew] = m_openSteps.try_emplace(static_cast<int>(step));
        OpenStep& open = place->second;
        open.startNs = isNew ? start : std::min(open.startNs, start);
        open.endNs = std::max(open.endNs, end);
        ++open.told;
        if (const auto loss = finiteAt(told, 3)) {
            open.loss += *loss;
            ++open.losses;
        }
        if (const auto norm = finiteAt(told, 4)) {
            open.norm += *norm;
            ++open.norms;
        }
        open.tokens += std::max(0.0, finiteAt(told, 5).value_or(0));
        if (open.told >= present()) {
            stepDone(place->first, open);
            m_openSteps.erase(place);
        }
        while (m_openSteps.size() > kRankBudget.openSteps) {
            stepDone(m_openSteps.begin()->first, m_openSteps.begin()->second);
            m_openSteps.erase(m_openSteps.begin());
        }
    }
}

void AttachedRun::stepDone(int step, const OpenStep& open)
{
    const double seconds = static_cast<double>(open.endNs - open.startNs) * 1e-9;
    m_collector.stepDone({.step = step,
                          .loss = open.losses > 0 ? open.loss / open.losses : kUnknown,
                          .gradientNorm = open.norms > 0 ? open.norm / open.norms : kUnknown,
                          .tokensPerSecond = open.tokens > 0 && seconds > 0 ? open.tokens / seconds : kUnknown,
                          .startNs = open.startNs,
                          .endNs = open.endNs});
}

} // namespace live
