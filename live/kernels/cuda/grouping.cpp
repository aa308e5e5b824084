#include "live/kernels/cuda/grouping.h"

#include "live/kernels/cuda/settings.h"

#include <bit>
#include <string_view>

namespace live::cuda {

Grouping groupingWanted()
{
    if (const std::string_view grouped = said("RANKSCOPE_CUDA_GROUPED"); !grouped.empty())
        return grouped == "0" ? Grouping::never : Grouping::whereItCan;
    return wantsTuning() ? Grouping::byTime : Grouping::byShape;
}

// A product by itself takes at least what its launch does, some 7 us on an H100; in one launch parts share it, but the kernel is
// a quarter as fast (docs/measurements.md). A part whose work takes less than the launch is better there: 4 million operations
// for each processor. Gradients of weights wait for memory, which the library's kernels use better unless the weights are small.
bool leavesProcessorsIdle(const GroupedShape& shape, int processors)
{
    if (shape.parts < 2)
        return false;
    constexpr double kOperations = 4e6;
    constexpr std::int64_t kSmallWeight = std::int64_t{1} << 18;
    const std::int64_t elements = shape.outputs * shape.inputs;
    const double rows = static_cast<double>(shape.rows) / static_cast<double>(shape.parts);
    return 2 * rows * static_cast<double>(elements) <= kOperations * processors &&
           (shape.kind != GroupedShape::Kind::weightGradient || elements <= kSmallWeight);
}

GroupingChoice::GroupingChoice(Grouping grouping, int processors) : m_grouping(grouping), m_processors(processors) {}

GroupingChoice::~GroupingChoice()
{
    if (m_start) {
        destroyEvent(m_start);
        destroyEvent(m_end);
    }
}

GroupingChoice::Key GroupingChoice::keyOf(const GroupedShape& shape)
{
    const auto mean = static_cast<std::uint64_t>(shape.rows / shape.parts);
    return {static_cast<std::int64_t>(shape.kind),
            static_cast<std::int64_t>(shape.type),
            shape.outputs,
            shape.inputs,
            static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(shape.parts))),
            static_cast<std::int64_t>(std::bit_width(mean))};
}

GroupingChoice::Trial* GroupingChoice::trialOf(const GroupedShape& shape)
{
    if (m_grouping != Grouping::byTime || shape.parts < 2)
        return nullptr;
    Trial& trial = m_trials[keyOf(shape)];
    return trial.calls < kTrialCalls ? &trial : nullptr;
}

bool GroupingChoice::groups(const GroupedShape& shape) const
{
    switch (m_grouping) {
    case Grouping::never:
        return false;
    case Grouping::whereItCan:
        return true;
    case Grouping::byShape:
        return leavesProcessorsIdle(shape, m_processors);
    case Grouping::byTime:
        break;
    }
    const auto trial = m_trials.find(keyOf(shape));
    return shape.parts > 1 && trial != m_trials.end() && trial->second.best[0] <= trial->second.best[1];
}

void GroupingChoice::begin(Stream stream)
{
    if (!m_start) {
        m_start = createEvent(true);
        m_end = createEvent(true);
    }
    recordEvent(m_start, stream);
}

void GroupingChoice::end(Trial& trial, const GroupedShape& shape, Stream stream)
{
    recordEvent(m_end, stream);
    synchronizeEvent(m_end);
    const int call = trial.calls++;
    if (call < 2) // prepares kernels, plans products
        return;
    const float time = millisecondsBetween(m_start, m_end).value_or(0) / static_cast<float>(shape.rows);
    float& best = trial.best[static_cast<std::size_t>(call % 2)];
    best = best == 0 || time < best ? time : best;
}

} // namespace live::cuda
