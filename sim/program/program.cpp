#include "sim/program/program.h"

#include "sim/index.h"
#include "sim/program/states.h"

#include <algorithm>
#include <cmath>
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
                                                          {"dp replicas comm", Dimension::dp},
                                                          {"send activations", Dimension::pp},
                                                          {"send gradients", Dimension::pp},
                                                          {"receive", Dimension::pp},
                                                          {"to host", {}},
                                                          {"from host", {}},
                                                          {"host", {}}}};

struct RoleFacts {
    const char* name;
    Dimension dimension;
};
constexpr std::array<RoleFacts, kCommunicatorRoleCount> kRoles{{{"", Dimension::dp},
                                                                {"tp", Dimension::tp},
                                                                {"cp", Dimension::cp},
                                                                {"ep", Dimension::ep},
                                                                {"expt_tp", Dimension::ep},
                                                                {"dp_cp", Dimension::dp},
                                                                {"dp_replicate", Dimension::dp},
                                                                {"expt_dp", Dimension::dp},
                                                                {"expt_replicate", Dimension::dp},
                                                                {"embd", Dimension::dp},
                                                                {"copies", Dimension::dp},
                                                                {"pp", Dimension::pp}}};

} // namespace

const char* streamName(Stream stream)
{
    return kStreams[asIndex(stream)].name;
}

std::optional<Dimension> dimensionOf(Stream stream)
{
    return kStreams[asIndex(stream)].dimension;
}

const char* communicatorRoleName(CommunicatorRole role)
{
    return kRoles[asIndex(role)].name;
}

Dimension dimensionOf(CommunicatorRole role)
{
    return kRoles[asIndex(role)].dimension;
}

double workOverMean(const OpShape& shape, const Scenario& scenario)
{
    return shape.routed ? scenario.training.moe.imbalanceOver(scenario.layout.ep) : 1;
}

OpShape meanShape(const OpShape& shape, const Scenario& scenario)
{
    const double over = workOverMean(shape, scenario);
    OpShape mean = shape;
    if (over == 1)
        return mean;
    const auto fewer = [over](std::int64_t& of) { // what is something stays so
        of = std::max(std::min<std::int64_t>(of, 1), std::int64_t{std::llround(static_cast<double>(of) / over)});
    };
    mean.flops /= over;
    fewer(mean.bytes);
    if (shape.family != KernelFamily::unpermute) // the tokens that a rank gets back are those that it sent
        fewer(shape.pass == KernelPass::weightGradient ? mean.k : mean.m);
    return mean;
}

int communicatorSize(CommunicatorRole role, const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    const int dataRanks = layout.dp * layout.cp;
    const int shard = layout.zeroStage == 0 ? dataRanks : std::max(1, layout.dpShard);
    if (role == CommunicatorRole::copies)
        return scenario.modelCopies();
    const int expertData = expertDataRanks(layout), ends = layout.pp > 1 ? 2 : 1;
    const int expertShard = layout.zeroStage == 0 ? expertData : ShardRanks::of(layout).routed;
    const std::array sizes{
        1,    layout.tp, layout.cp, layout.ep, layout.etp, shard, dataRanks / shard, expertShard, expertData / expertShard,
        ends, 0,         layout.pp};
    return sizes[asIndex(role)];
}

std::vector<CommunicatorRole> rolesUsed(const Program& program)
{
    std::array<bool, kCommunicatorRoleCount> isUsed{};
    for (const Pass& pass : program.passes)
        for (const Op& op : pass.ops)
            isUsed[asIndex(op.kind == OpKind::send ? CommunicatorRole::pp : op.group)] = true;
    std::vector<CommunicatorRole> out;
    for (int role = 1; role < kCommunicatorRoleCount; ++role)
        if (isUsed[asIndex(role)])
            out.push_back(static_cast<CommunicatorRole>(role));
    return out;
}

std::int64_t Program::opCount() const
{
    return std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0},
                           [](std::int64_t sum, const RankProgram& rank) { return sum + rank.opCount; });
}

} // namespace sim
