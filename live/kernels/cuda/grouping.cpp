#include "live/kernels/cuda/grouping.h"

#include <bit>
#include <cstdlib>
#include <string_view>

namespace live::cuda {

Grouping groupingWanted()
{
    const auto said = [](const char* name) {
        const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody writes it
        return std::string_view(value ? value : "");
    };
    if (const std::string_view grouped = said("RANKSCOPE_CUDA_GROUPED"); !grouped.empty())
        return grouped == "0" ? Grouping::never : Grouping::whereItCan;
    const std::string_view tune = said("RANKSCOPE_CUDA_TUNE");
    return tune.empty() || tune == "0" ? Grouping::byShape : Grouping::byTime;
}

bool leavesProcessorsIdle(const GroupedShape& shape, int processors)
{
    if (shape.parts < 2)
        return false;
    constexpr std::int64_t kTile = 128;
    const auto tiles = [](std::int64_t size) { return (size + kTile - 1) / kTile; };
    const std::int64_t rows = (shape.rows + shape.parts - 1) / shape.parts;
    std::int64_t single = 0; // tiles of one product
    switch (shape.kind) {
    case GroupedShape::Kind::forward:
        single = tiles(rows) * tiles(shape.outputs);
        break;
    case GroupedShape::Kind::inputGradient:
        single = tiles(rows) * tiles(shape.inputs);
        break;
    case GroupedShape::Kind::weightGradient:
        single = tiles(shape.outputs) * tiles(shape.inputs);
        break;
    }
    return single < processors;
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
