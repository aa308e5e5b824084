#include "live/stream/received_run.h"

#include "live/stream/pack.h"
#include "sim/error.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace live {
namespace {

constexpr const RunBudget& kMostOfRun = kRunBudget;

template <class T>
void moveTo(std::vector<T>& to, std::vector<T>&& from)
{
    if (to.empty())
        to = std::move(from);
    else
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

[[noreturn]] void refuse(const std::string& what)
{
    throw sim::Error("it sent " + what);
}
[[noreturn]] void refuse(std::uint64_t number, const std::string& ofWhat, std::uint64_t most)
{
    refuse(std::to_string(number) + ofWhat + ", where at most " + std::to_string(most) + " are taken");
}

void checkAmount(std::int64_t value, const char* what, std::int64_t most = kMostOfRun.amount)
{
    if (value < 0 || value > most)
        refuse("a record with " + std::to_string(value) + what + ", where 0 to " + std::to_string(most) + " can be");
}

void checkSpans(std::span<const RankSpan> spans, const Block& block)
{
    std::int32_t first = kMostOfRun.step, last = -1;
    for (const RankSpan& rankSpan : spans) {
        const SpanRecord& span = rankSpan.span;
        for (const std::int64_t time : {span.startNs, span.endNs, span.readyNs, span.cpuNs})
            checkAmount(time, " ns");
        checkAmount(span.bytes, " bytes", kMostOfRun.spanBytes);
        if (span.microbatch > kMostOfRun.microbatch)
            refuse("a span of micro-batch " + std::to_string(span.microbatch));
        first = std::min(first, span.step);
        last = std::max(last, span.step);
    }
    if (!spans.empty() && (first != block.firstStep || last != block.lastStep))
        refuse("spans of steps " + std::to_string(first) + " to " + std::to_string(last) + " as those of steps " +
               std::to_string(block.firstStep) + " to " + std::to_string(block.lastStep));
}

void checkMemory(std::span<const RankMemory> values)
{
    for (const RankMemory& value : values) {
        checkAmount(value.value.timeNs, " ns");
        checkAmount(value.value.value, " bytes", kMostOfRun.heldBytes);
    }
}

} // namespace

ReceivedRun::Heard ReceivedRun::take(std::span<const std::string_view> frames, Clock::time_point now)
{
    if (frames.size() > kMostOfRun.frames)
        refuse(frames.size(), " parts in one message", kMostOfRun.frames);
    int version = 0;
    const std::optional<Json> json = frames.empty() ? std::nullopt : readHeader(frames[0], kMostOfRun.header, "it", &version);
    if (!json && version != 0 && version != kProtocolVersion)
        return {Meaning::refused, "the run speaks version " + std::to_string(version) +
                                      " of the protocol, this program version " + std::to_string(kProtocolVersion) +
                                      ": use the same Rankscope for both"};
    const std::string type = json ? typeOf(*json) : std::string();
    if (type == "data" && m_greeted) { // else: of before the connection broke
        takeData(*json, frames.subspan(1));
        if (frames.size() == 1)
            countEmpty(now);
        return {Meaning::news, {}};
    }
    countEmpty(now);
    if (type == "run")
        return takeRun(*json);
    if (type == "refused")
        return {Meaning::refused, textIn(*json, "message", kMostOfRun.messageTextBytes)};
    if (type == "who") {
        m_greeted = false;
        return {Meaning::whoAreYou, {}};
    }
    if (type == "reply" && m_greeted)
        return {takeReply(*json) ? Meaning::news : Meaning::nothing, {}};
    if (type == "end" && m_greeted)
        return {Meaning::ended, howItEnded()};
    return {};
}

void ReceivedRun::countEmpty(Clock::time_point now)
{
    if (now - m_second >= std::chrono::seconds(1)) {
        m_second = now;
        m_emptyMessages = 0;
    }
    if (++m_emptyMessages > kMostOfRun.emptyMessagesPerSecond)
        refuse("more than " + std::to_string(kMostOfRun.emptyMessagesPerSecond) + " messages in a second with nothing in them");
}

ReceivedRun::Heard ReceivedRun::takeRun(const Json& json)
{
    const auto run = json.find("run");
    if (run == json.end())
        refuse("no description of itself");
    RunDescription description = descriptionFrom(*run);
    const std::lock_guard lock(m_mutex);
    const std::string& known = m_history.description.runId;
    m_greeted = known.empty() || known == description.runId;
    if (m_history.description.worldSize == 0) {
        m_history.description = description;
        m_pending.description = std::move(description);
    }
    m_received = m_acknowledged = 0; // messages are counted anew
    return {m_greeted ? Meaning::greeted : Meaning::anotherRun, m_history.description.name};
}

std::vector<sim::SpanKind> ReceivedRun::newKinds(const Json& json) const
{
    std::vector<sim::SpanKind> fresh;
    const auto kinds = json.find("kinds");
    if (kinds == json.end() || !kinds->is_array())
        return fresh;
    std::uint64_t number = numberIn(json, "kinds_from");
    if (number > m_history.kinds.size())
        refuse("kinds of spans from number " + std::to_string(number) + " on after " + std::to_string(m_history.kinds.size()));
    if (number + kinds->size() > kMostOfRun.kinds)
        refuse(number + kinds->size(), " kinds of spans", kMostOfRun.kinds);
    for (const Json& kind : *kinds)
        if (number++ >= m_history.kinds.size())
            fresh.push_back(kindFrom(kind));
    return fresh;
}

/// Counts a span to its step; whether it is kept.
bool ReceivedRun::isWithin(const RankSpan& rankSpan)
{
    const SpanRecord& span = rankSpan.span;
    if (m_extents.size() == kMostOfRun.stepsWithSpans && !m_extents.contains(span.step)) {
        if (span.step < m_extents.begin()->first)
            return false;
        m_extents.erase(m_extents.begin());
    }
    const auto [place, isNew] = m_extents.try_emplace(span.step);
    StepExtent& step = place->second;
    if (++step.spans > kMostOfRun.spansOfStep)
        return false;
    step.firstNs = isNew ? span.startNs : std::min(step.firstNs, span.startNs);
    step.lastNs = std::max(step.lastNs, span.endNs);
    step.longestNs = std::max({step.longestNs, step.lastNs - step.firstNs, span.cpuNs});
    if (step.longestNs > kMostOfRun.spanNsOfStep / static_cast<std::int64_t>(step.spans))
        refuse(std::to_string(step.spans) + " spans of step " + std::to_string(span.step) + " that last " +
               std::to_string(step.longestNs) + " ns together");
    return true;
}

/// Spans beyond what is kept of a step are taken out again; returns how many.
std::size_t ReceivedRun::dropExcess(std::vector<RankSpan>& spans, std::size_t first)
{
    const std::size_t before = spans.size();
    spans.erase(std::remove_if(spans.begin() + static_cast<std::ptrdiff_t>(first), spans.end(),
                               [&](const RankSpan& span) { return !isWithin(span); }),
                spans.end());
    return before - spans.size();
}

void ReceivedRun::takeBlock(const Json& header, std::string_view bytes, std::size_t kinds, ViewerUpdate& news,
                            std::vector<std::shared_ptr<const Block>>& blocks)
{
    Block block = blockFrom(header);
    const std::size_t records = recordsOf(bytes);
    const std::size_t before = news.spans.size() + news.memory.size();
    if (records > kMaxRecordsOfBlock || before + records > kMostOfRun.recordsOfMessage)
        refuse(before + records, " records in one message", kMostOfRun.recordsOfMessage);
    if (m_waiting + before + records > kMostOfRun.recordsPending)
        refuse(m_waiting + before + records, " records without waiting until some are looked at", kMostOfRun.recordsPending);
    if (block.sequence < m_nextBlock)
        return;
    if (m_hasBlocks && block.spansBefore > m_spansSeen)
        news.missed += block.spansBefore - m_spansSeen;
    const PackLimits limits{m_history.description.worldSize, kinds};
    std::size_t excess = 0;
    if (block.content == Block::Content::spans) {
        const std::size_t first = news.spans.size();
        unpackSpans(bytes, limits, news.spans);
        checkSpans(std::span(news.spans).subspan(first), block);
        excess = dropExcess(news.spans, first);
        news.missed += excess;
    } else {
        const std::size_t first = news.memory.size();
        unpackMemory(bytes, limits, news.memory);
        checkMemory(std::span(news.memory).subspan(first));
    }
    block.count = static_cast<std::uint32_t>(records);
    m_nextBlock = block.sequence + 1;
    m_spansSeen = block.spansBefore + (block.content == Block::Content::spans ? block.count : 0);
    m_hasBlocks = true;
    if (excess > 0 || records == 0)
        return;
    block.bytes = std::string(bytes);
    blocks.push_back(std::make_shared<const Block>(std::move(block)));
}

/// Ascending, possible, and not of long ago: what is kept of steps costs by their number, never by how they are numbered.
void ReceivedRun::checkSteps(const std::vector<StepSummary>& steps) const
{
    int before = -2;
    for (const StepSummary& step : steps) {
        if (step.step <= before)
            refuse("step " + std::to_string(step.step) + " after step " + std::to_string(before));
        before = step.step;
        if (step.step > kMostOfRun.step)
            refuse("a step numbered " + std::to_string(step.step) + ", where at most " + std::to_string(kMostOfRun.step) +
                   " can be");
        for (const std::int64_t time : {step.startNs, step.endNs, step.sums.computeNs, step.sums.computeCpuNs})
            checkAmount(time, " ns");
        checkAmount(step.sums.spans, " spans");
        for (const auto* sums : {&step.sums.waitNs, &step.sums.transferNs, &step.sums.bytes})
            for (const std::int64_t value : *sums)
                checkAmount(value, " ns or bytes");
        const auto& known = m_history.steps;
        if (known.empty() || step.step >= known.back().step - kMostOfRun.lateSteps)
            continue;
        if (!m_history.find(step.step))
            refuse("step " + std::to_string(step.step) + " for the first time after step " + std::to_string(known.back().step) +
                   ", where steps come at most " + std::to_string(kMostOfRun.lateSteps) + " late");
    }
}

void ReceivedRun::takeData(const Json& json, std::span<const std::string_view> frames)
{
    ViewerUpdate news;
    std::vector<std::shared_ptr<const Block>> blocks;
    {
        const std::lock_guard lock(m_mutex);
        m_waiting = m_pending.spans.size() + m_pending.memory.size();
    }
    news.kinds = newKinds(json);
    std::size_t frame = 0;
    const auto nextFrame = [&] {
        if (frame >= frames.size())
            refuse("a message with " + std::to_string(frames.size()) + " parts that should have more");
        return frames[frame++];
    };
    if (const auto headers = json.find("blocks"); headers != json.end() && headers->is_array())
        for (const Json& header : *headers)
            takeBlock(header, nextFrame(), m_history.kinds.size() + news.kinds.size(), news, blocks);
    if (json.contains("steps"))
        unpackSteps(nextFrame(), news.steps);
    if (news.steps.size() > kMostOfRun.stepsOfMessage)
        refuse(news.steps.size(), " steps in one message", kMostOfRun.stepsOfMessage);
    checkSteps(news.steps);
    if (const auto state = json.find("state"); state != json.end())
        news.run = stateFrom(*state);

    const std::lock_guard lock(m_mutex);
    m_received = std::max(m_received, numberIn(json, "n"));
    m_history.kinds.insert(m_history.kinds.end(), news.kinds.begin(), news.kinds.end());
    for (auto& block : blocks) {
        m_history.add(std::move(block));
        m_history.trim(m_limits);
    }
    for (const StepSummary& step : news.steps) {
        m_history.step(step.step) = step;
        m_pendingSteps[step.step] = step;
    }
    m_history.trim(m_limits);
    while (m_pendingSteps.size() > std::max(m_limits.summaries, std::size_t{1}))
        m_pendingSteps.erase(m_pendingSteps.begin()); // as those of the history
    if (news.run)
        m_history.state = *news.run;

    moveTo(m_pending.kinds, std::move(news.kinds));
    moveTo(m_pending.spans, std::move(news.spans));
    moveTo(m_pending.memory, std::move(news.memory));
    if (news.run)
        m_pending.run = std::move(news.run);
    m_pending.missed += news.missed;
}

bool ReceivedRun::takeReply(const Json& json)
{
    const std::optional<RunRequest> request = requestFrom(textIn(json, "action", kMostOfRun.nameBytes));
    if (!request || m_asked[static_cast<std::size_t>(*request)] == 0)
        return false; // nobody asked
    --m_asked[static_cast<std::size_t>(*request)];
    const auto accepted = json.find("accepted");
    const std::lock_guard lock(m_mutex);
    m_pending.replies.push_back({*request, accepted != json.end() && accepted->is_boolean() && accepted->get<bool>(),
                                 textIn(json, "message", kMostOfRun.messageTextBytes)});
    return true;
}

std::string ReceivedRun::howItEnded() const
{
    const std::lock_guard lock(m_mutex);
    const RunState& run = m_history.state;
    std::string how = "the run has closed its doors";
    if (run.status == RunStatus::stopped)
        how = "the run was stopped";
    else if (hasEnded(run.status))
        how = std::string("the run has ") + (run.status == RunStatus::failed ? "failed" : runStatusName(run.status));
    return run.message.empty() ? how : how + ": " + run.message;
}

std::optional<Json> ReceivedRun::hello() const
{
    const std::lock_guard lock(m_mutex);
    if (m_pending.spans.size() + m_pending.memory.size() > kMostOfRun.recordsPending / 2)
        return std::nullopt;
    Json message = header("hello");
    message["run"] = m_history.description.runId;
    message["kinds"] = m_history.kinds.size();
    message["block"] = m_nextBlock;
    message["spans"] = m_spansSeen;
    return message;
}

std::uint64_t ReceivedRun::acknowledged() const
{
    const std::lock_guard lock(m_mutex);
    return m_acknowledged;
}

void ReceivedRun::asked(RunRequest request)
{
    ++m_asked[static_cast<std::size_t>(request)];
}

void ReceivedRun::notAsked(RunRequest request, const std::string& why)
{
    const std::lock_guard lock(m_mutex);
    m_pending.replies.push_back({request, false, why});
}

bool ReceivedRun::poll(ViewerUpdate& update)
{
    const std::lock_guard lock(m_mutex);
    update = std::exchange(m_pending, {});
    update.steps.reserve(m_pendingSteps.size());
    for (const auto& [number, step] : std::exchange(m_pendingSteps, {}))
        update.steps.push_back(step);
    return std::exchange(m_acknowledged, m_received) < m_received;
}

RunHistory ReceivedRun::history() const
{
    const std::lock_guard lock(m_mutex);
    return m_history;
}

} // namespace live
