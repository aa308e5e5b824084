#include "live/kernels/cuda/mark_log.h"

#include "sim/error.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace live::cuda {
namespace {

constexpr std::size_t kHarvestEvery = 64, kFewMisses = 8;
constexpr std::uint64_t kBeatEvery = 32;

} // namespace

MarkLog::MarkLog(int gpu, Stream stream) : m_gpu(gpu), m_stream(stream)
{
    m_clock = createEvent(true);
    m_beat = createEvent(false);
    setClock();
}

MarkLog::~MarkLog()
{
    for (const Ahead& ahead : m_ahead)
        destroyEvent(ahead.event);
    for (const Gate& gate : m_gates)
        destroyEvent(gate.event);
    for (Event event : m_free)
        destroyEvent(event);
    destroyEvent(m_beat);
    destroyEvent(m_clock);
}

void MarkLog::keep(bool keeps)
{
    const std::lock_guard lock(m_mutex);
    m_keeps = keeps;
}

std::int64_t MarkLog::put(Stream stream)
{
    const std::lock_guard lock(m_mutex);
    ++m_puts;
    if (!m_keeps) {
        if (m_puts % kBeatEvery == 0)
            beat(stream);
        return 0;
    }
    if (m_puts % kHarvestEvery == 0)
        harvest(kFewMisses);
    const Event event = take();
    recordEvent(event, stream);
    return remember(event, 0);
}

std::int64_t MarkLog::putInBatch(Stream stream)
{
    const std::lock_guard lock(m_mutex);
    ++m_puts;
    if (!m_keeps) // batchStarted() shows that the GPU goes on
        return 0;
    if (m_puts % kHarvestEvery == 0)
        harvest(kFewMisses);
    const Event event = take();
    recordEventInBatch(event, stream);
    m_isMarkInBatch = true;
    return remember(event, m_batch);
}

void MarkLog::batchStarted(Stream stream)
{
    const std::lock_guard lock(m_mutex);
    if (!m_keeps)
        beat(stream);
    if (!m_isMarkInBatch)
        return;
    m_isMarkInBatch = false;
    const Event event = take();
    recordEvent(event, stream);
    m_gates.push_back({m_batch++, event});
}

Event MarkLog::take()
{
    if (m_free.empty())
        return createEvent(true);
    const Event event = m_free.back();
    m_free.pop_back();
    return event;
}

std::int64_t MarkLog::remember(Event event, std::uint64_t batch)
{
    m_ahead.push_back({m_times.size(), event, batch});
    m_times.push_back(0);
    return -static_cast<std::int64_t>(m_times.size());
}

void MarkLog::beat(Stream stream)
{
    if (m_beats && !hasPassed(m_beat))
        return;
    m_passed += m_beats ? 1 : 0;
    recordEvent(m_beat, stream);
    m_beats = true;
}

void MarkLog::passGates()
{
    while (!m_gates.empty() && hasPassed(m_gates.front().event)) {
        m_passedBatch = m_gates.front().batch;
        m_free.push_back(m_gates.front().event);
        m_gates.pop_front();
    }
}

bool MarkLog::hasCome(std::int64_t mark)
{
    const std::lock_guard lock(m_mutex);
    const auto number = static_cast<std::size_t>(-1 - mark);
    const auto ahead =
        std::find_if(m_ahead.rbegin(), m_ahead.rend(), [number](const Ahead& each) { return each.mark <= number; });
    if (ahead == m_ahead.rend() || ahead->mark != number)
        return true;
    passGates();
    return !isAside(*ahead) && hasPassed(ahead->event);
}

void MarkLog::harvest(std::size_t misses)
{
    passGates();
    auto kept = m_ahead.begin();
    auto next = m_ahead.begin();
    const auto read = [&] {
        for (std::size_t missed = 0; next != m_ahead.end() && missed < misses; ++next) {
            constexpr double kNsPerMs = 1e6;
            const std::optional<float> time = isAside(*next) ? std::nullopt : millisecondsBetween(m_clock, next->event);
            if (time) {
                m_times[next->mark] = m_clockNs + static_cast<std::int64_t>(static_cast<double>(*time) * kNsPerMs);
                m_free.push_back(next->event);
                ++m_passed;
                continue;
            }
            ++missed;
            *kept++ = *next;
        }
    };
    try {
        read();
    } catch (...) { // an event must not be in both lists
        m_ahead.erase(kept, next);
        throw;
    }
    m_ahead.erase(kept, next);
}

bool MarkLog::isKnown(std::int64_t mark) const
{
    return mark >= 0 || timeOf(mark) != 0;
}

bool MarkLog::read(std::span<std::int64_t> marks)
{
    const std::lock_guard lock(m_mutex);
    if (!std::all_of(marks.begin(), marks.end(), [&](std::int64_t mark) { return isKnown(mark); }))
        return false;
    for (std::int64_t& mark : marks)
        mark = mark < 0 ? timeOf(mark) : mark;
    return true;
}

void MarkLog::readAll(std::span<std::int64_t> marks)
{
    makeCurrent(m_gpu);
    const std::lock_guard lock(m_mutex);
    harvest(std::numeric_limits<std::size_t>::max());
    for (const Gate& gate : m_gates)
        synchronizeEvent(gate.event);
    for (const Ahead& ahead : m_ahead)
        if (ahead.batch == 0)
            synchronizeEvent(ahead.event);
    harvest(std::numeric_limits<std::size_t>::max());
    for (std::int64_t& mark : marks)
        mark = mark < 0 ? timeOf(mark) : mark;
    m_times.clear();
    setClock(); // spans are floats of milliseconds: exact to 60 ns within a second
}

std::uint64_t MarkLog::passed()
{
    const std::unique_lock lock(m_mutex, std::try_to_lock); // whoever holds it may be waiting for them
    if (!lock)
        return m_seen;
    try {
        makeCurrent(m_gpu); // the caller may be a thread that has never used a GPU: CUDA would prepare GPU 0 for it
        harvest(kFewMisses);
        if (m_beats && hasPassed(m_beat)) {
            m_beats = false;
            ++m_passed;
        }
    } catch (const sim::Error&) { // the GPU is lost: nothing passes any more, and its rank says why
    }
    m_seen = m_passed;
    return m_passed;
}

void MarkLog::setClock()
{
    recordEvent(m_clock, m_stream);
    synchronizeEvent(m_clock);
    m_clockNs = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace live::cuda
