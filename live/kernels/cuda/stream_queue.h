// What a GPU's queue is besides its kernels: a stream, copies from and to the host, and the instants of its marks.
#pragma once

#include "live/kernels/cuda/gpu_queue.h"
#include "live/kernels/cuda/mark_log.h"

#include <atomic>
#include <optional>

namespace live::cuda {

class StreamQueue : public GpuQueue {
public:
    explicit StreamQueue(int gpu);
    /// Waits for the stream.
    ~StreamQueue() override;
    StreamQueue(const StreamQueue&) = delete;
    StreamQueue& operator=(const StreamQueue&) = delete;

    int gpu() const override { return m_gpu; }
    Stream stream() const override
    {
        m_hasWorkSinceMark = true; // whoever has it may let it wait, or work
        return m_stream;
    }

    void fromHost(const void* host, const Tensor&) override;
    void toHost(const Tensor&, void* host) override;
    void synchronize() override;

    void keepMarks(bool keeps) override;
    std::int64_t mark() override;
    std::int64_t markOn(Stream) override;
    bool readMarks(std::span<std::int64_t> marks) override { return m_marks->read(marks); }
    void resolveMarks(std::span<std::int64_t> marks) override;
    std::uint64_t marksPassed() override { return m_marks->passed(); }

protected:
    /// The stream, its GPU made current for this thread: every kernel begins here.
    Stream ready();
    /// Waits for the stream, or learns that its GPU is lost: before what kernels use is given up.
    void drain() noexcept;

private:
    const int m_gpu;
    Stream m_stream = nullptr;
    std::optional<MarkLog> m_marks;
    std::int64_t m_lastMark = 0; ///< mark()'s; 0: none, or forgotten
    mutable std::atomic<bool> m_hasWorkSinceMark{true};
};

} // namespace live::cuda
