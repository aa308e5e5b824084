#include "tests/sim/schedule/oracle.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace oracle {

using sim::Action;
using sim::ActionKind;

std::optional<std::vector<std::vector<double>>> longestPath(const sim::Schedule& schedule, const sim::PassTimes& times)
{
    struct Place {
        std::size_t rank, index;
    };
    using Key = std::tuple<ActionKind, int, int>;
    std::map<Key, Place> places;
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank)
        for (std::size_t index = 0; index < schedule.actions[rank].size(); ++index) {
            const Action& action = schedule.actions[rank][index];
            places[{action.kind, action.stage, action.microbatch}] = {rank, index};
        }
    const auto find = [&](ActionKind kind, int stage, int microbatch) {
        const auto at = places.find({kind, stage, microbatch});
        return at == places.end() ? std::nullopt : std::optional(at->second);
    };
    /// What publishes a gradient: I, or the whole of B.
    const auto gradient = [&](int stage, int microbatch) {
        const auto split = find(ActionKind::backwardInput, stage, microbatch);
        return split ? split : find(ActionKind::backward, stage, microbatch);
    };

    std::vector<std::vector<double>> ends;
    std::size_t left = 0;
    for (const auto& actions : schedule.actions) {
        ends.emplace_back(actions.size(), -1.0);
        left += actions.size();
    }
    // Relax until nothing changes: an action has a time once all that it needs has one.
    for (bool progress = true; progress && left > 0;) {
        progress = false;
        for (std::size_t rank = 0; rank < ends.size(); ++rank)
            for (std::size_t index = 0; index < ends[rank].size(); ++index) {
                if (ends[rank][index] >= 0)
                    continue;
                double start = 0;
                double duration = 0;
                bool isReady = true;
                const auto after = [&](std::optional<Place> place) {
                    if (!place)
                        return;
                    const double end = ends[place->rank][place->index];
                    isReady = isReady && end >= 0;
                    start = std::max(start, end + (place->rank == rank ? 0 : times.comm));
                };
                if (index > 0)
                    after(Place{rank, index - 1});
                const std::size_t count = schedule.actions[rank][index].overlapsNext ? 2 : 1;
                for (std::size_t i = index; i < index + count; ++i) {
                    const Action& action = schedule.actions[rank][i];
                    if (action.kind == ActionKind::forward) {
                        after(find(ActionKind::forward, action.stage - 1, action.microbatch));
                        duration += times.forward;
                    } else if (action.kind == ActionKind::backwardWeight) {
                        after(find(ActionKind::backwardInput, action.stage, action.microbatch));
                        duration += times.backwardWeight;
                    } else {
                        after(find(ActionKind::forward, action.stage, action.microbatch));
                        after(gradient(action.stage + 1, action.microbatch));
                        duration += times.backwardInput;
                        if (action.kind == ActionKind::backward)
                            duration += times.backwardWeight;
                    }
                }
                if (!isReady)
                    break;
                for (std::size_t i = index; i < index + count; ++i)
                    ends[rank][i] = start + duration;
                left -= count;
                progress = true;
            }
    }
    return left == 0 ? std::optional(ends) : std::nullopt;
}

sim::ScheduleRequest randomRequest(std::mt19937& random)
{
    const auto upTo = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    sim::ScheduleRequest request;
    request.ranks = upTo(6);
    request.microbatches = upTo(13);
    static const std::vector<std::string> kinds = {
        "gpipe", "1f1b",   "looped-bfs", "interleaved-1f1b", "zb-h1",    "zb-h2",      "zb-1p",   "zb-2p",
        "zb-v",  "v-half", "v-min",      "interleaved-zb",   "dualpipe", "dualpipe-v", "seq-1f1b"};
    request.kind = kinds[random() % kinds.size()];
    if (const sim::ScheduleFamily* family = sim::findScheduleFamily(request.kind); family->chunks.most == 0)
        request.virtualStages = family->chunks.least + upTo(3) - 1;
    else
        request.virtualStages = family->chunks.least;
    if (request.kind == "1f1b") {
        request.overlapExpertComm = random() % 2 == 0;
    } else if (request.kind == "interleaved-1f1b") {
        request.ranks = 1 + upTo(5);
        request.microbatchGroup = request.ranks + upTo(4) - 1;
        // Whole groups, and a last one that still fills the pipeline.
        request.microbatches = request.microbatchGroup * upTo(3);
        if (random() % 2 == 0)
            request.microbatches +=
                request.ranks + static_cast<int>(random() % static_cast<unsigned>(request.microbatchGroup - request.ranks + 1));
        request.overlapExpertComm = random() % 2 == 0;
    } else if (request.kind == "interleaved-zb") {
        request.microbatchGroup = request.ranks + upTo(3) - 1;
        request.microbatches = request.microbatchGroup * upTo(3);
    } else if (request.kind == "dualpipe") {
        request.ranks = 2 * upTo(3);
        request.microbatches = 2 * (request.ranks + upTo(5) - 1);
    } else if (request.kind == "dualpipe-v") {
        request.microbatches = 2 * request.ranks + upTo(8) - 1;
    } else if (request.kind == "seq-1f1b") {
        request.slices = upTo(5);
    } else if (request.kind == "zb-1p" || request.kind == "zb-2p") {
        request.times = {{1.0 + upTo(9), 1.0 + upTo(9), 1.0 + upTo(9), static_cast<double>(upTo(3) - 1)}};
    }
    return request;
}

sim::Schedule withSplitBackwards(const sim::Schedule& schedule, std::mt19937& random)
{
    sim::Schedule split = schedule;
    for (auto& actions : split.actions) {
        std::vector<Action> cut;
        std::vector<Action> waiting;
        const auto flush = [&](std::size_t keep) {
            while (waiting.size() > keep) {
                cut.push_back(waiting.front());
                waiting.erase(waiting.begin());
            }
        };
        for (Action action : actions) {
            action.overlapsNext = false;
            if (action.kind == ActionKind::backward) {
                action.kind = ActionKind::backwardInput;
                waiting.push_back({.kind = ActionKind::backwardWeight, .stage = action.stage, .microbatch = action.microbatch});
            }
            cut.push_back(action);
            flush(random() % 4);
        }
        flush(0);
        actions = cut;
    }
    return split;
}

} // namespace oracle
