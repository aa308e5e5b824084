#include "live/kernels/cuda/stream_queue.h"

#include "sim/error.h"

namespace live::cuda {

StreamQueue::StreamQueue(int gpu) : m_gpu(gpu)
{
    makeCurrent(gpu);
    m_stream = createStream(false);
    m_marks.emplace(gpu, m_stream);
}

StreamQueue::~StreamQueue()
{
    drain();
    m_marks.reset();
    destroyStream(m_stream);
}

void StreamQueue::drain() noexcept
{
    try {
        synchronizeStream(ready());
    } catch (const sim::Error&) { // NOLINT(bugprone-empty-catch): the GPU is lost, there is nobody to wait for
    }
}

Stream StreamQueue::ready()
{
    makeCurrent(m_gpu);
    m_hasWorkSinceMark = true;
    return m_stream;
}

void StreamQueue::fromHost(const void* host, const Tensor& to)
{
    const auto bytes = static_cast<std::size_t>(to.columns * bytesOf(to.type));
    copyRows(ready(), host, bytes, to.data, static_cast<std::size_t>(to.stride * bytesOf(to.type)), bytes,
             static_cast<std::size_t>(to.rows));
    // Copies from pageable memory "might be synchronous" (the runtime's manual, API synchronization behavior): a GPU that reads
    // the host's pages itself need not put them aside first.
    synchronizeStream(m_stream);
}

void StreamQueue::toHost(const Tensor& from, void* host)
{
    const auto bytes = static_cast<std::size_t>(from.columns * bytesOf(from.type));
    copyRows(ready(), from.data, static_cast<std::size_t>(from.stride * bytesOf(from.type)), host, bytes, bytes,
             static_cast<std::size_t>(from.rows));
    synchronizeStream(m_stream);
}

void StreamQueue::synchronize()
{
    synchronizeStream(ready());
}

void StreamQueue::keepMarks(bool keeps)
{
    m_marks->keep(keeps);
    m_lastMark = 0;
}

/// Where one operation ends the next begins, as long as the GPU has not come there: one event tells both. An event costs a GPU
/// that is busy as much as it costs the host, 2 us. Where the GPU waits for the host the next begins later.
std::int64_t StreamQueue::mark()
{
    if (m_lastMark < 0 && !m_hasWorkSinceMark && !m_marks->hasCome(m_lastMark))
        return m_lastMark;
    m_hasWorkSinceMark = false;
    return m_lastMark = markOn(m_stream);
}

void StreamQueue::resolveMarks(std::span<std::int64_t> marks)
{
    m_marks->readAll(marks);
    m_lastMark = 0;
}

std::int64_t StreamQueue::markOn(Stream stream)
{
    makeCurrent(m_gpu);
    return m_marks->put(stream);
}

} // namespace live::cuda
