#include "sim/program/program.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

struct StreamFacts {
    const char* name;
    std::optional<Dimension> dimension;
};
constexpr std::array<StreamFacts, kStreamCount> kStreams{{{"compute", {}},
                                                          {"tp comm", Dimension::tp},
                                                          {"cp comm", Dimension::cp},
                                                          {"ep comm", Dimension::ep},
                                                          {"dp comm", Dimension::dp},
                                                          {"send activations", Dimension::pp},
                                                          {"send gradients", Dimension::pp},
                                                          {"receive", Dimension::pp}}};

struct RoleFacts {
    const char* name;
    Dimension dimension;
};
constexpr std::array<RoleFacts, kGroupRoleCount> kRoles{{{"", Dimension::dp},
                                                         {"tp", Dimension::tp},
                                                         {"cp", Dimension::cp},
                                                         {"ep", Dimension::ep},
                                                         {"expt_tp", Dimension::ep},
                                                         {"dp_cp", Dimension::dp},
                                                         {"dp_replicate", Dimension::dp},
                                                         {"expt_dp", Dimension::dp},
                                                         {"embd", Dimension::dp},
                                                         {"copies", Dimension::dp},
                                                         {"pp", Dimension::pp}}};

} // namespace

const char* streamName(Stream stream)
{
    return kStreams[static_cast<std::size_t>(stream)].name;
}

std::optional<Dimension> dimensionOf(Stream stream)
{
    return kStreams[static_cast<std::size_t>(stream)].dimension;
}

const char* groupRoleName(GroupRole role)
{
    return kRoles[static_cast<std::size_t>(role)].name;
}

Dimension dimensionOf(GroupRole role)
{
    return kRoles[static_cast<std::size_t>(role)].dimension;
}

int groupRoleSize(GroupRole role, const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    const int dataRanks = layout.dp * layout.cp;
    const int shard = layout.zeroStage == 0 ? dataRanks : std::max(1, layout.dpShard);
    switch (role) {
    case GroupRole::none:
        return 1;
    case GroupRole::tp:
        return layout.tp;
    case GroupRole::cp:
        return layout.cp;
    case GroupRole::ep:
        return layout.ep;
    case GroupRole::exptTp:
        return layout.etp;
    case GroupRole::dpShard:
        return shard;
    case GroupRole::dpReplicate:
        return dataRanks / shard;
    case GroupRole::exptDp:
        return layout.worldSize() / std::max(1, layout.etp * layout.ep * layout.pp);
    case GroupRole::embd:
        return layout.pp > 1 ? 2 : 1;
    case GroupRole::copies:
        return scenario.modelCopies();
    case GroupRole::pp:
        return layout.pp;
    }
    return 1;
}

std::int64_t Program::opCount() const
{
    return std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0},
                           [](std::int64_t sum, const RankProgram& rank) { return sum + rank.opCount; });
}

} // namespace sim
