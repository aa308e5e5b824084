// Whether several layers' products are made in one launch (grouped.h) or one after the other by cuBLASLt.
#pragma once

#include "live/kernels/cuda/runtime.h"
#include "live/tensor/tensor.h"

#include <array>
#include <cstdint>
#include <map>

namespace live::cuda {

/// A launch's worth of products of one shape.
struct GroupedShape {
    enum class Kind : std::uint8_t { forward, inputGradient, weightGradient };
    Kind kind = Kind::forward;
    DType type = DType::bf16;
    std::int64_t outputs = 0, inputs = 0; ///< of each layer
    std::int64_t parts = 0, rows = 0;     ///< layers that have rows; rows of all
};

/// How the choice is made.
enum class Grouping : std::uint8_t {
    byShape, ///< by the shape alone: the same in every run and on every rank
    byTime,  ///< both ways are timed where a shape is met first; runs may then differ in the last bits
    never,
    whereItCan, ///< always, where rows can be read as the kernel wants them
};

/// Grouping from the environment: RANKSCOPE_CUDA_GROUPED (0: never, 1: where it can) before RANKSCOPE_CUDA_TUNE (by time).
Grouping groupingWanted();

/// Whether single products of this shape leave most of the GPU idle, of a GPU with so many processors.
bool leavesProcessorsIdle(const GroupedShape&, int processors);

/// One queue's choices. Not for several threads at once.
class GroupingChoice {
public:
    GroupingChoice(Grouping, int processors);
    ~GroupingChoice();
    GroupingChoice(const GroupingChoice&) = delete;
    GroupingChoice& operator=(const GroupingChoice&) = delete;

    /// Calls the one that pays. Where both are timed each call does its work once, on the stream, and waits for it.
    template <class Grouped, class Single>
    void run(const GroupedShape& shape, Stream stream, const Grouped& grouped, const Single& single)
    {
        Trial* const trial = trialOf(shape);
        const bool together = trial ? trial->calls % 2 == 0 : groups(shape);
        if (trial)
            begin(stream);
        if (together)
            grouped();
        else
            single();
        if (trial)
            end(*trial, shape, stream);
    }

private:
    static constexpr int kTrialCalls = 8; ///< of both in turn; the first of each is not counted
    /// Rows differ in every micro-batch: shapes whose mean is within a factor of two are one.
    using Key = std::array<std::int64_t, 6>;
    struct Trial {
        int calls = 0;
        std::array<float, 2> best{}; ///< milliseconds a row: grouped, single; 0: not timed yet
    };
    static Key keyOf(const GroupedShape&);
    Trial* trialOf(const GroupedShape&); ///< null: nothing is timed (any more)
    bool groups(const GroupedShape&) const;
    void begin(Stream);
    void end(Trial&, const GroupedShape&, Stream);

    const Grouping m_grouping;
    const int m_processors;
    std::map<Key, Trial> m_trials;
    Event m_start = nullptr, m_end = nullptr;
};

} // namespace live::cuda
