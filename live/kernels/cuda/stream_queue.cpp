#include "live/kernels/cuda/stream_queue.h"

#include "sim/error.h"

#include <chrono>

namespace live::cuda {

StreamQueue::StreamQueue(int gpu, const BatchRule& batches) : m_gpu(gpu)
{
    makeCurrent(gpu);
    m_stream = createStream(false);
    m_batches.emplace(batches);
    m_marks.emplace(gpu, m_stream);
}

StreamQueue::~StreamQueue()
{
    drain();
    m_batches.reset();
    m_marks.reset();
    destroyStream(m_stream);
}

void StreamQueue::drain() noexcept
{
    try {
        synchronizeStream(stream());
    } catch (const sim::Error&) { // NOLINT(bugprone-empty-catch): the GPU is lost, there is nobody to wait for
    }
}

Launcher StreamQueue::ready()
{
    makeCurrent(m_gpu);
    if (m_batches->isFull())
        startBatch();
    m_hasWorkSinceMark = true;
    return {m_stream, m_batches->open()};
}

Launcher StreamQueue::readyApart()
{
    startBatch();
    m_batches->countApart();
    m_hasWorkSinceMark = true;
    return {m_stream};
}

Stream StreamQueue::stream()
{
    startBatch();
    m_hasWorkSinceMark = true; // whoever has it may let it wait, or work
    return m_stream;
}

void StreamQueue::startBatch()
{
    makeCurrent(m_gpu);
    if (!m_batches->start(m_stream, *m_marks))
        return;
    m_marks->batchStarted(m_stream);
    m_lastMark = 0; // whether the GPU has come there depends on time, and batches must not
}

void StreamQueue::stepDone()
{
    startBatch();
    m_batches->stepDone(std::chrono::steady_clock::now());
}

void StreamQueue::fromHost(const void* host, const Tensor& to)
{
    const auto bytes = static_cast<std::size_t>(to.columns * bytesOf(to.type));
    copyRows(stream(), host, bytes, to.data, static_cast<std::size_t>(to.stride * bytesOf(to.type)), bytes,
             static_cast<std::size_t>(to.rows));
    // Copies from pageable memory "might be synchronous" (the runtime's manual, API synchronization behavior): a GPU that reads
    // the host's pages itself need not put them aside first.
    synchronizeStream(m_stream);
}

void StreamQueue::toHost(const Tensor& from, void* host)
{
    const auto bytes = static_cast<std::size_t>(from.columns * bytesOf(from.type));
    copyRows(stream(), from.data, static_cast<std::size_t>(from.stride * bytesOf(from.type)), host, bytes, bytes,
             static_cast<std::size_t>(from.rows));
    synchronizeStream(m_stream);
}

void StreamQueue::synchronize()
{
    synchronizeStream(stream());
}

void StreamQueue::keepMarks(bool keeps)
{
    startBatch();
    m_marks->keep(keeps);
    m_lastMark = 0;
}

/// Where one operation ends the next begins, as long as the GPU has not come there: one event tells both. An event costs a GPU
/// that is busy as much as it costs the host, 2 us. Where the GPU waits for the host the next begins later.
std::int64_t StreamQueue::mark()
{
    if (m_batches->isFull()) { // the next operation begins with the next batch
        startBatch();
        m_batches->open();
    }
    if (m_lastMark < 0 && !m_hasWorkSinceMark && !m_marks->hasCome(m_lastMark))
        return m_lastMark;
    m_hasWorkSinceMark = false;
    LaunchTape* const tape = m_batches->tape();
    m_lastMark = tape ? m_marks->promise() : markOn(m_stream);
    if (tape && m_lastMark < 0)
        tape->putMark(m_lastMark);
    return m_lastMark;
}

void StreamQueue::resolveMarks(std::span<std::int64_t> marks)
{
    startBatch();
    m_marks->readAll(marks);
    m_lastMark = 0;
}

std::int64_t StreamQueue::markOn(Stream stream)
{
    makeCurrent(m_gpu);
    return m_marks->put(stream);
}

} // namespace live::cuda
