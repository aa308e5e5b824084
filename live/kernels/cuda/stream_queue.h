// What a GPU's queue is besides its kernels: a stream, copies from and to the host, and the instants of its marks.
#pragma once

#include "live/kernels/cuda/gpu_queue.h"
#include "live/kernels/cuda/launch_batches.h"
#include "live/kernels/cuda/launcher.h"
#include "live/kernels/cuda/mark_log.h"

#include <atomic>
#include <optional>

namespace live::cuda {

class StreamQueue : public GpuQueue {
public:
    explicit StreamQueue(int gpu, const BatchRule& = {});
    /// Waits for the stream.
    ~StreamQueue() override;
    StreamQueue(const StreamQueue&) = delete;
    StreamQueue& operator=(const StreamQueue&) = delete;

    int gpu() const override { return m_gpu; }
    Stream stream() override;

    void fromHost(const void* host, const Tensor&) override;
    void toHost(const Tensor&, void* host) override;
    void synchronize() override;
    void flush() override { startBatch(); }
    void stepDone() override;

    void keepMarks(bool keeps) override;
    std::int64_t mark() override;
    std::int64_t markOn(Stream) override;
    bool readMarks(std::span<std::int64_t> marks) override { return m_marks->read(marks); }
    void resolveMarks(std::span<std::int64_t> marks) override;
    std::uint64_t marksPassed() override { return m_marks->passed(); }

protected:
    /// What launches are made with, its GPU made current for this thread: every kernel begins here. They may be put aside.
    Launcher ready();
    /// The same for operations whose arguments differ in every step, which no other launch is to suffer for: at once.
    Launcher readyApart();
    /// Waits for the stream, or learns that its GPU is lost: before what kernels use is given up.
    void drain() noexcept;

private:
    void startBatch();

    const int m_gpu;
    Stream m_stream = nullptr;
    std::optional<LaunchBatches> m_batches;
    std::optional<MarkLog> m_marks;
    std::int64_t m_lastMark = 0; ///< mark()'s; 0: none, or forgotten
    std::atomic<bool> m_hasWorkSinceMark{true};
};

} // namespace live::cuda
