#include "live/stream/collector.h"

#include "live/stream/pack.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <utility>

namespace live {

Collector::Collector(RunDescription description, const SpanKinds& kinds, std::vector<Recorder*> recorders,
                     CollectorOptions options)
    : m_kinds(kinds), m_options(options), m_recorders(std::move(recorders))
{
    describe(std::move(description));
    start();
}

Collector::Collector(const SpanKinds& kinds, CollectorOptions options) : m_kinds(kinds), m_options(options)
{
    start();
}

void Collector::start()
{
    m_thread = std::jthread([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any sleep;
        std::unique_lock lock(mutex);
        while (!sleep.wait_for(lock, stop, m_options.interval, [&] { return stop.stop_requested(); }))
            collect();
    });
}

Collector::~Collector()
{
    m_thread.request_stop();
    m_thread.join();
    collect();
}

void Collector::describe(RunDescription description)
{
    const std::lock_guard lock(m_mutex);
    assert(!m_isDescribed);
    m_description = std::move(description);
    m_history.description = m_description;
    m_isDescribed = true;
}

void Collector::add(std::shared_ptr<Recorder> recorder)
{
    const std::lock_guard taking(m_takingMutex);
    m_recorders.push_back(recorder.get());
    m_kept.push_back(std::move(recorder));
}

void Collector::collect()
{
    const std::lock_guard taking(m_takingMutex);
    takeSpans();
    takeMemory();
    std::uint64_t dropped = 0;
    for (const Recorder* recorder : m_recorders)
        dropped += recorder->spans.dropped();
    const std::lock_guard lock(m_mutex);
    const std::uint64_t forgotten = m_history.trim(m_options.history);
    while (!m_history.steps.empty() && m_changeOfStep.size() > m_history.steps.size()) {
        const auto oldest = m_changeOfStep.begin(); // as those whose summaries went
        m_stepOfChange.erase(oldest->second);
        m_changeOfStep.erase(oldest);
    }
    RunState& state = m_history.state;
    if (forgotten > 0 || state.spansDropped != dropped || state.spansRecorded != m_spansTaken) {
        state.spansForgotten += forgotten;
        state.spansDropped = dropped;
        state.spansRecorded = m_spansTaken;
        changeState();
    }
}

void Collector::takeSpans()
{
    m_taken.clear();
    for (Recorder* recorder : m_recorders) {
        m_spans.clear();
        recorder->spans.drain(m_spans);
        for (const SpanRecord& span : m_spans)
            m_taken.push_back({recorder->rank, span});
    }
    if (m_taken.empty())
        return;
    // Kinds are read after the spans: all that these name are there.
    // Only this function, by one thread at a time, adds kinds.
    const std::vector<sim::SpanKind> newKinds = m_kinds.from(m_history.kinds.size());

    std::vector<Block> blocks;
    for (std::size_t first = 0; first < m_taken.size(); first += kMaxRecordsOfBlock) {
        const std::span<const RankSpan> part(m_taken.data() + first, std::min(kMaxRecordsOfBlock, m_taken.size() - first));
        const auto [least, most] = std::minmax_element(
            part.begin(), part.end(), [](const RankSpan& a, const RankSpan& b) { return a.span.step < b.span.step; });
        blocks.push_back({.content = Block::Content::spans,
                          .firstStep = least->span.step,
                          .lastStep = most->span.step,
                          .count = static_cast<std::uint32_t>(part.size()),
                          .bytes = packSpans(part)});
    }
    std::unique_lock lock(m_mutex);
    m_history.kinds.insert(m_history.kinds.end(), newKinds.begin(), newKinds.end());
    for (Block& block : blocks)
        append(lock, std::move(block));
    int step = -1;
    for (const RankSpan& taken : m_taken) {
        if (taken.span.step != step) {
            step = taken.span.step;
            touch(step);
        }
        m_history.step(step).sums.add(taken.span);
    }
}

void Collector::takeMemory()
{
    m_takenMemory.clear();
    for (Recorder* recorder : m_recorders) {
        m_values.clear();
        recorder->memory.drain(m_values);
        for (const CounterRecord& value : m_values)
            m_takenMemory.push_back({recorder->rank, value});
    }
    for (std::size_t first = 0; first < m_takenMemory.size(); first += kMaxRecordsOfBlock) {
        const std::span<const RankMemory> part(m_takenMemory.data() + first,
                                               std::min(kMaxRecordsOfBlock, m_takenMemory.size() - first));
        Block block{
            .content = Block::Content::memory, .count = static_cast<std::uint32_t>(part.size()), .bytes = packMemory(part)};
        std::unique_lock lock(m_mutex);
        block.firstStep = block.lastStep = m_history.blocks.empty() ? 0 : m_history.blocks.back()->lastStep;
        append(lock, std::move(block));
    }
}

void Collector::append([[maybe_unused]] std::unique_lock<std::mutex>& lock, Block block)
{
    assert(lock.owns_lock());
    block.bytes.shrink_to_fit();
    block.sequence = m_nextBlock++;
    block.spansBefore = m_spansTaken;
    if (block.content == Block::Content::spans)
        m_spansTaken += block.count;
    m_history.add(std::make_shared<const Block>(std::move(block)));
}

void Collector::touch(int step)
{
    std::uint64_t& change = m_changeOfStep[step];
    m_stepOfChange.erase(change);
    change = ++m_change;
    m_stepOfChange[change] = step;
}

void Collector::changeState()
{
    m_stateChange = ++m_change;
}

void Collector::stepDone(const StepFacts& facts)
{
    const std::lock_guard lock(m_mutex);
    StepSummary& step = m_history.step(facts.step);
    step.loss = facts.loss;
    step.gradientNorm = facts.gradientNorm;
    step.tokensPerSecond = facts.tokensPerSecond;
    step.startNs = facts.startNs;
    step.endNs = facts.endNs;
    touch(facts.step);
}

void Collector::setStatus(RunStatus status, const std::string& message)
{
    collect();
    const std::lock_guard lock(m_mutex);
    m_history.state.status = status;
    m_history.state.message = message;
    changeState();
}

RunHistory Collector::history() const
{
    const std::lock_guard lock(m_mutex);
    return m_history;
}

RunState Collector::state() const
{
    const std::lock_guard lock(m_mutex);
    return m_history.state;
}

Collector::Cursor Collector::beginning() const
{
    const std::lock_guard lock(m_mutex);
    Cursor cursor;
    cursor.nextBlock = m_history.blocks.empty() ? m_nextBlock : m_history.blocks.front()->sequence;
    cursor.spansSeen = m_history.blocks.empty() ? m_spansTaken : m_history.blocks.front()->spansBefore;
    return cursor;
}

Collector::News Collector::since(Cursor& cursor, const Portion& most) const
{
    const std::lock_guard lock(m_mutex);
    News news;
    const auto& kinds = m_history.kinds;
    news.kinds.assign(kinds.begin() + static_cast<std::ptrdiff_t>(std::min(cursor.kinds, kinds.size())), kinds.end());
    cursor.kinds = kinds.size();

    if (!m_history.blocks.empty()) {
        const Block& oldest = *m_history.blocks.front();
        if (cursor.nextBlock < oldest.sequence) {
            news.missed = oldest.spansBefore - std::min(cursor.spansSeen, oldest.spansBefore);
            cursor.nextBlock = oldest.sequence;
            cursor.spansSeen = oldest.spansBefore;
        }
        std::size_t bytes = 0, records = 0;
        for (auto i = static_cast<std::size_t>(cursor.nextBlock - oldest.sequence); i < m_history.blocks.size(); ++i) {
            const auto& block = m_history.blocks[i];
            bytes += block->bytes.size();
            records += block->count;
            if (!news.blocks.empty() && (bytes > most.bytes || records > most.records)) {
                news.more = true;
                break;
            }
            news.blocks.push_back(block);
            cursor.nextBlock = block->sequence + 1;
            cursor.spansSeen = block->spansBefore + (block->content == Block::Content::spans ? block->count : 0);
        }
    }
    if (cursor.change < m_change) {
        const std::uint64_t before = std::exchange(cursor.change, m_change);
        for (auto changed = m_stepOfChange.upper_bound(before); changed != m_stepOfChange.end(); ++changed) {
            if (news.steps.size() == most.steps) {
                cursor.change = std::prev(changed)->first;
                news.more = true;
                break;
            }
            if (const StepSummary* step = m_history.find(changed->second))
                news.steps.push_back(*step);
        }
        std::sort(news.steps.begin(), news.steps.end(),
                  [](const StepSummary& a, const StepSummary& b) { return a.step < b.step; });
        news.stateChanged = m_stateChange > before;
    }
    news.state = m_history.state;
    return news;
}

} // namespace live
