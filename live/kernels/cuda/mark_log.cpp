#include "live/kernels/cuda/mark_log.h"

#include "sim/error.h"

#include <algorithm>
#include <cassert>
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
        if (ahead.run == 0)
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
    const std::int64_t mark = next(kAhead);
    putEvent(mark, stream);
    return mark;
}

std::int64_t MarkLog::promise()
{
    const std::lock_guard lock(m_mutex);
    return m_keeps ? next(kPromised) : 0;
}

void MarkLog::putPromised(std::int64_t mark, Stream stream)
{
    const std::lock_guard lock(m_mutex);
    if (++m_puts % kHarvestEvery == 0)
        harvest(kFewMisses);
    putEvent(mark, stream);
}

std::uint64_t MarkLog::graphStarted(std::span<const std::int64_t> marks, std::span<const Event> events, Stream stream)
{
    if (marks.empty())
        return 0;
    const std::lock_guard lock(m_mutex);
    harvest(kFewMisses);
    const Event gate = take();
    recordEvent(gate, stream);
    m_gates.push_back({++m_run, gate});
    for (std::size_t i = 0; i < marks.size(); ++i) {
        m_times[placeOf(marks[i])] = kAhead;
        m_ahead.push_back({placeOf(marks[i]), events[i], m_run});
    }
    return m_run;
}

void MarkLog::awaitRun(std::uint64_t run)
{
    const std::lock_guard lock(m_mutex);
    if (run == 0 || std::none_of(m_ahead.begin(), m_ahead.end(), [run](const Ahead& each) { return each.run == run; }))
        return;
    for (const Gate& gate : m_gates)
        if (gate.run == run)
            synchronizeEvent(gate.event);
    harvest(std::numeric_limits<std::size_t>::max());
}

void MarkLog::batchStarted(Stream stream)
{
    const std::lock_guard lock(m_mutex);
    if (!m_keeps)
        beat(stream);
}

Event MarkLog::take()
{
    if (m_free.empty())
        return createEvent(true);
    const Event event = m_free.back();
    m_free.pop_back();
    return event;
}

std::int64_t MarkLog::next(std::int64_t state)
{
    m_times.push_back(state);
    return -static_cast<std::int64_t>(m_times.size());
}

void MarkLog::putEvent(std::int64_t mark, Stream stream)
{
    const Event event = take();
    recordEvent(event, stream);
    m_times[placeOf(mark)] = kAhead;
    m_ahead.push_back({placeOf(mark), event, 0});
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
        m_passedRun = m_gates.front().run;
        m_free.push_back(m_gates.front().event);
        m_gates.pop_front();
    }
}

bool MarkLog::hasCome(std::int64_t mark)
{
    const std::lock_guard lock(m_mutex);
    if (isKnown(mark))
        return true;
    if (timeOf(mark) == kPromised)
        return false;
    // From the end: who asks, asks after one of the last that were put.
    const auto ahead = std::find_if(m_ahead.rbegin(), m_ahead.rend(),
                                    [number = placeOf(mark)](const Ahead& each) { return each.mark == number; });
    if (ahead == m_ahead.rend())
        return false;
    passGates();
    return !isOld(*ahead) && hasPassed(ahead->event);
}

void MarkLog::harvest(std::size_t misses)
{
    passGates();
    auto kept = m_ahead.begin();
    auto next = m_ahead.begin();
    const auto read = [&] {
        for (std::size_t missed = 0; next != m_ahead.end() && missed < misses; ++next) {
            constexpr double kNsPerMs = 1e6;
            const std::optional<float> time = isOld(*next) ? std::nullopt : millisecondsBetween(m_clock, next->event);
            if (time) {
                m_times[next->mark] = m_clockNs + static_cast<std::int64_t>(static_cast<double>(*time) * kNsPerMs);
                if (next->run == 0)
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
    return mark >= 0 || timeOf(mark) > 0;
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
        if (ahead.run == 0)
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
