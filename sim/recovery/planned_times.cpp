#include "sim/recovery/planned_times.h"

#include "sim/index.h"

#include <algorithm>
#include <array>
#include <map>

namespace sim {
namespace {

/// What is sent between stages takes no longer than the shortest time from a forward to the same micro-batch's on the next stage.
void addTransfers(const RecoveredPasses& passes, std::vector<PassTimes>& times)
{
    std::vector<std::vector<std::int64_t>> start(times.size()), end(times.size()); // of forwards, by micro-batch
    for (const auto& rank : passes.ranks)
        for (const RecoveredPass& pass : rank) {
            const auto stage = asIndex(pass.action.stage), microbatch = asIndex(pass.action.microbatch);
            if (pass.action.kind != ActionKind::forward)
                continue;
            start[stage].resize(std::max(start[stage].size(), microbatch + 1), INT64_MAX);
            end[stage].resize(start[stage].size(), INT64_MAX);
            // Ranks of one stage do the same at nearly the same time: of these the last.
            start[stage][microbatch] = pass.startNs;
            end[stage][microbatch] = pass.endNs;
        }
    for (std::size_t stage = 0; stage + 1 < times.size(); ++stage) {
        std::int64_t least = INT64_MAX;
        for (std::size_t i = 0; i < std::min(end[stage].size(), start[stage + 1].size()); ++i)
            if (end[stage][i] != INT64_MAX && start[stage + 1][i] != INT64_MAX)
                least = std::min(least, start[stage + 1][i] - end[stage][i]);
        times[stage].comm = least == INT64_MAX ? 0 : static_cast<double>(std::max<std::int64_t>(0, least));
    }
}

} // namespace

std::vector<PassTimes> measuredTimes(const RecoveredPasses& passes, int stages)
{
    struct Sums {
        std::array<double, 4> sum{}, count{};
        void add(const RecoveredPass& pass)
        {
            sum[static_cast<std::size_t>(pass.action.kind)] += static_cast<double>(pass.endNs - pass.startNs);
            ++count[static_cast<std::size_t>(pass.action.kind)];
        }
        double mean(ActionKind kind, double otherwise) const
        {
            const auto k = static_cast<std::size_t>(kind);
            return count[k] > 0 ? sum[k] / count[k] : otherwise;
        }
        PassTimes times() const
        {
            PassTimes times;
            times.forward = mean(ActionKind::forward, 1);
            times.backwardInput = mean(ActionKind::backwardInput, mean(ActionKind::backward, 2 * times.forward) / 2);
            times.backwardWeight = mean(ActionKind::backwardWeight, mean(ActionKind::backward, 2 * times.forward) / 2);
            return times;
        }
    };
    std::map<int, PassTimes> byStage;
    Sums all;
    for (const auto& rank : passes.ranks) {
        std::map<int, Sums> own;
        for (const RecoveredPass& pass : rank) {
            own[pass.action.stage].add(pass);
            all.add(pass);
        }
        for (const auto& [stage, sums] : own) {
            if (sums.count[0] <= 0)
                continue;
            const PassTimes times = sums.times();
            if (const auto [place, isNew] = byStage.try_emplace(stage, times); !isNew && times.total() < place->second.total())
                place->second = times;
        }
    }
    std::vector<PassTimes> times;
    for (const auto& [stage, of] : byStage)
        if (stage == static_cast<int>(times.size()))
            times.push_back(of);
    if (static_cast<int>(times.size()) != stages)
        return {all.times()};
    addTransfers(passes, times);
    return times;
}

std::vector<PassMemory> guessedMemory(const std::vector<PassTimes>& times, double weight, double head)
{
    std::vector<PassMemory> memory;
    for (const PassTimes& of : times)
        memory.push_back({.full = of.forward, .weight = of.forward});
    memory.back().full *= 1 + head;
    for (PassMemory& of : memory)
        of.weight = weight * of.full;
    return memory;
}

} // namespace sim
