#include "sim/scenario/schedule_kinds.h"

#include <algorithm>
#include <array>

namespace sim {

namespace {

struct Kind {
    std::string_view name;
    ChunkRange chunks;
};

constexpr std::array<Kind, 17> kKinds{{{"gpipe", {1, 1}},
                                       {"1f1b", {1, 1}},
                                       {"interleaved-1f1b", {2, 0}},
                                       {"looped-bfs", {1, 0}},
                                       {"zb-h1", {1, 1}},
                                       {"zb-h2", {1, 1}},
                                       {"zb-1p", {1, 1}},
                                       {"zb-2p", {1, 1}},
                                       {"zb-v", {2, 2}},
                                       {"v-half", {2, 2}},
                                       {"v-min", {2, 2}},
                                       {"interleaved-zb", {1, 0}},
                                       {"dualpipe", {2, 2}},
                                       {"dualpipe-v", {2, 2}},
                                       {"seq-1f1b", {1, 1}},
                                       {"auto", {1, 0}},
                                       {"custom", {1, 0}}}};

} // namespace

const std::vector<std::string>& availableScheduleKinds()
{
    static const std::vector<std::string> kinds = [] {
        std::vector<std::string> names;
        for (const Kind& kind : kKinds)
            names.emplace_back(kind.name);
        return names;
    }();
    return kinds;
}

ChunkRange chunksOfKind(std::string_view kind)
{
    const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& of) { return of.name == kind; });
    return found == kKinds.end() ? ChunkRange{1, 0} : found->chunks;
}

bool isLegalGroup(std::int64_t ranks, std::int64_t group, std::int64_t microbatches)
{
    return group >= ranks && group <= microbatches && (microbatches % group == 0 || microbatches % group >= ranks);
}

bool takesRanks(std::string_view kind, std::int64_t ranks)
{
    if (kind == "dualpipe")
        return ranks % 2 == 0;
    return kind != "interleaved-1f1b" || ranks > 1;
}

bool takesMicrobatches(std::string_view kind, std::int64_t ranks, std::int64_t group, std::int64_t microbatches)
{
    if (kind == "interleaved-1f1b")
        return isLegalGroup(ranks, group, microbatches);
    if (kind == "interleaved-zb") // PyTorch: rounds of equal size
        return group >= ranks && microbatches >= group && microbatches % group == 0;
    if (kind == "dualpipe")
        return microbatches >= 2 * ranks && microbatches % 2 == 0;
    if (kind == "dualpipe-v")
        return microbatches >= 2 * ranks;
    return microbatches >= 1;
}

} // namespace sim
