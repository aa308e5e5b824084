// Puts a queue's launches on the GPU many at a time, as CUDA graphs: where kernels are so short that the GPU waits for the host,
// one call for many costs the host less than a call for each. Kernels, their order and so every bit stay the same.
#pragma once

#include "live/kernels/cuda/runtime.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace live::cuda {

struct BatchRule {
    /// byTime: some steps are timed without and with batches, and what took less stays.
    enum class Use : std::uint8_t { never, always, byTime };
    Use use = Use::never;
    std::size_t launches = 48; ///< of a batch: the GPU begins with the first while the host prepares the next
};
/// RANKSCOPE_CUDA_GRAPHS: "0" never, anything else always; without it by time.
BatchRule batchesWanted();

/// Used by the queue's thread alone, its GPU current.
class LaunchBatches {
public:
    explicit LaunchBatches(const BatchRule& rule) : m_rule(rule), m_isUsed(rule.use == BatchRule::Use::always) {}
    ~LaunchBatches();
    LaunchBatches(const LaunchBatches&) = delete;
    LaunchBatches& operator=(const LaunchBatches&) = delete;

    /// Whether launches are put aside.
    bool isOpen() const { return m_isOpen; }
    /// Whether the next launch must wait until what was put aside has started.
    bool isFull() const { return m_isOpen && m_launches >= m_rule.launches; }
    /// Puts what follows aside, where batches are used.
    void open(Stream);
    /// Before each launch.
    void beforeLaunch(Stream);
    /// Starts what was put aside; false if there was nothing.
    bool start(Stream);
    /// The step's work is done: the next may be done the other way. The i-th batch of a step is like that of the step before.
    void stepDone(std::chrono::steady_clock::time_point now);
    /// Whether this step's launches are put together.
    bool isUsed() const { return m_isUsed; }

private:
    const BatchRule m_rule;
    bool m_isUsed, m_isOpen = false;
    std::size_t m_launches = 0, m_position = 0; ///< of the open batch; of batches in this step
    std::vector<Graph> m_graphs;                ///< by position
    int m_steps = 0;
    std::chrono::steady_clock::time_point m_stepStart;
    double m_best[2] = {0, 0}; ///< seconds of a step without and with batches; 0: none was timed
};

} // namespace live::cuda
