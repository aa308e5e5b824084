#include "sim/recovery/group_role.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

namespace sim {
namespace {

struct RoleWord {
    std::string_view word;
    GroupRole role;
};

/// Whole descriptions, as wordOf() leaves them; python/rankscope/_attach/axes.py has the same.
constexpr RoleWord kRoleWords[] = {
    {"tensor_model_parallel", GroupRole::tensor},
    {"tensor_parallel", GroupRole::tensor},
    {"tp", GroupRole::tensor},
    {"context_parallel", GroupRole::context},
    {"cp", GroupRole::context},
    {"data_parallel", GroupRole::data},
    {"dp", GroupRole::data},
    {"data", GroupRole::data},
    {"ddp", GroupRole::data},
    {"batch", GroupRole::data},
    {"data_parallel_with_cp", GroupRole::dataAndContext},
    {"data_parallel_with_cp_ag", GroupRole::dataAndContext},
    {"data_parallel_ag", GroupRole::data},
    {"dp_cp", GroupRole::dataAndContext},
    {"dp_shard_cp", GroupRole::dataAndContext},
    {"fsdp", GroupRole::dataAndContext},
    {"pipeline_model_parallel", GroupRole::pipeline},
    {"pipeline_parallel", GroupRole::pipeline},
    {"pipe", GroupRole::pipeline},
    {"pp", GroupRole::pipeline},
    {"expert_model_parallel", GroupRole::expert},
    {"expert_parallel", GroupRole::expert},
    {"ep", GroupRole::expert},
    {"dp_replicate", GroupRole::dataReplicate},
    {"replicate", GroupRole::dataReplicate},
    {"dp_shard", GroupRole::dataShard},
    {"shard", GroupRole::dataShard},
    {"expert_tensor_parallel", GroupRole::expertTensor},
    {"etp", GroupRole::expertTensor},
    {"expert_data_parallel", GroupRole::expertData},
    {"expert_data_parallel_ag", GroupRole::expertData},
    {"edp", GroupRole::expertData},
    {"efsdp", GroupRole::expertData},
    {"dp_shard_mod_ep", GroupRole::expertData},
    {"embedding", GroupRole::ends},
    {"embd", GroupRole::ends},
    {"position_embedding", GroupRole::ends},
};

/// In lower case, without a leading "mesh_", and without "_group" and "_gloo" wherever they stand: Megatron Core calls the group
/// of its gradients DATA_PARALLEL_GROUP_WITH_CP.
std::string wordOf(std::string_view description)
{
    std::string word;
    for (const char c : description)
        word += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word.starts_with("mesh_"))
        word.erase(0, 5);
    for (const std::string_view part : {"_gloo", "_groups", "_group"})
        for (std::size_t at = word.find(part); at != std::string::npos; at = word.find(part, at))
            if (const std::size_t end = at + part.size(); end == word.size() || word[end] == '_')
                word.erase(at, part.size());
            else
                at = end;
    return word;
}

} // namespace

std::string_view groupRoleName(GroupRole role)
{
    constexpr std::array<std::string_view, 13> kNames{
        "tp", "cp", "dp", "pp", "ep", "dp_replicate", "dp_shard", "dp_cp", "etp", "edp", "embd", "several axes", ""};
    return kNames[static_cast<std::size_t>(role)];
}

GroupRole roleFromDescription(std::string_view description)
{
    const std::string word = wordOf(description);
    for (const RoleWord& known : kRoleWords)
        if (word == known.word)
            return known.role;
    // What Megatron calls by two axes, a level of hierarchical context parallelism, an optimizer's instance, a flattened mesh.
    for (const std::string_view part : {"_parallel", "distributed_optimizer", "hierarchical", "dp_", "_tp", "_cp", "_pp", "_ep"})
        if (word.find(part) != std::string::npos)
            return GroupRole::composite;
    return GroupRole::unknown;
}

bool holdsAllExperts(std::string_view description)
{
    const std::string word = wordOf(description);
    return word == "tp_ep" || word == "expert_tensor_and_model_parallel";
}

double Carried::total() const
{
    return std::accumulate(count.begin(), count.end(), 0.0);
}

Carried& Carried::operator+=(const Carried& other)
{
    const double sum = ranks + other.ranks;
    if (sum <= 0)
        return *this;
    const auto mean = [&](double& mine, double theirs) { mine = (mine * ranks + theirs * other.ranks) / sum; };
    for (std::size_t i = 0; i < count.size(); ++i) {
        mean(count[i], other.count[i]);
        mean(bytes[i], other.bytes[i]);
    }
    mean(earlyReduces, other.earlyReduces);
    mean(attentionGathers, other.attentionGathers);
    mean(attentionAllToAlls, other.attentionAllToAlls);
    mean(guessedAllToAlls, other.guessedAllToAlls);
    mean(namedExperts, other.namedExperts);
    mean(namedTables, other.namedTables);
    mean(apartFromAttention, other.apartFromAttention);
    mean(aroundAttention, other.aroundAttention);
    mean(alongLines, other.alongLines);
    mean(roundRings, other.roundRings);
    mean(untold, other.untold);
    mean(inferring, other.inferring);
    mean(sumsElsewhere, other.sumsElsewhere);
    ranks = sum;
    return *this;
}

namespace {

std::string eachText(double count)
{
    return numberText(count, Unit::number) + " a step and rank";
}

/// What tells that all-to-alls carry tokens to experts and back; nothing where nothing does.
std::optional<GuessedRole> expertsFromUse(const Carried& carried, bool isPart)
{
    const double count = carried.of(Exchange::allToAll);
    const std::string each = eachText(count);
    std::optional<GuessedRole> role;
    const auto told = [&](double sure, const std::string& why) {
        role = {GroupRole::expert, sure, "all-to-alls, " + each + ", " + why};
    };
    constexpr double kOfALayer = 4; // there and back, forwards and backwards
    if (carried.namedExperts > 0)
        told(0.8, "and experts are named");
    else if (carried.namedTables > 0)
        return {};
    else if (carried.aroundAttention >= 1 && 2 * carried.apartFromAttention >= carried.aroundAttention &&
             carried.apartFromAttention <= 3 * carried.aroundAttention) // twice as often where forwards run again
        told(0.7, "and what is computed between them is attention and something else in turn");
    else if (isPart && count >= kOfALayer && std::fmod(count, 2) == 0)
        told(0.6, "in pairs as of tokens that go and come back, of a part of the ranks");
    if (role && 2 * carried.guessedAllToAlls >= count)
        return GuessedRole{GroupRole::expert, 0.4,
                           "sends and receives that end together, and do not say whether with all or with a neighbour, " + each};
    return role;
}

} // namespace

bool exchangesHeads(const Carried& carried)
{
    // About half bring what attention waits for, the others take its result away.
    return carried.attentionAllToAlls >= 1 && carried.attentionAllToAlls >= 0.3 * carried.of(Exchange::allToAll);
}

std::vector<GuessedRole> rolesFromUse(const Carried& carried, bool isPart)
{
    std::vector<GuessedRole> roles;
    const double total = carried.total();
    if (carried.ranks <= 0 || total <= 0)
        return roles;
    const auto each = eachText;
    const double oneWay = carried.of(Exchange::send) + carried.of(Exchange::receive);
    const double bothWays = carried.of(Exchange::sendReceive);
    const double allToAll = carried.of(Exchange::allToAll);
    const double gathers = carried.of(Exchange::allGather);
    const double reducing = carried.of(Exchange::allReduce) + carried.of(Exchange::reduceScatter) + carried.of(Exchange::reduce);
    const bool isRing = carried.roundRings > carried.alongLines;
    constexpr double kOfUntold = 0.65; // a context's 60 % is for what it is seen to be waited for beside
    const bool isPipeline = !isRing && (oneWay > 0 || carried.alongLines > 0);
    if (isPipeline)
        roles.push_back({GroupRole::pipeline, 0.9, "sends and receives between neighbours, " + each(oneWay + bothWays)});
    const bool areHeads = exchangesHeads(carried);
    if (areHeads)
        roles.push_back({GroupRole::context, 0.7, "all-to-alls that attention waits for, " + each(carried.attentionAllToAlls)});
    else if (const auto experts = allToAll > 0 ? expertsFromUse(carried, isPart) : std::nullopt)
        roles.push_back(*experts);
    if (carried.earlyReduces > 0)
        roles.push_back({GroupRole::tensor, 0.8, "sums before any backward has ended, " + each(reducing)});
    if (oneWay + bothWays > 0 && !isPipeline && !areHeads)
        roles.push_back({GroupRole::context, 0.7, "rings of sends and receives, " + each(oneWay + bothWays)});
    else if (!areHeads && carried.earlyReduces <= 0 && carried.attentionGathers >= 1 && carried.attentionGathers >= 0.3 * gathers)
        roles.push_back({GroupRole::context, 0.6, "all-gathers that attention waits for, " + each(carried.attentionGathers)});
    double summed = 0;
    for (const Exchange exchange : {Exchange::allReduce, Exchange::reduceScatter, Exchange::reduce})
        summed += carried.bytes[static_cast<std::size_t>(exchange)];
    constexpr double kFewBytes = 4096; // counts and times, of whoever
    const bool areFew = summed > 0 && summed < kFewBytes * reducing;
    const bool isTold = 2 * carried.untold <= 1, infers = 2 * carried.inferring > 1 && !areFew;
    if (reducing > 0 && carried.earlyReduces <= 0)
        roles.push_back(isTold   ? GuessedRole{GroupRole::data, 0.7, "sums only after the first backward, " + each(reducing)}
                        : infers ? GuessedRole{GroupRole::tensor, 0.6,
                                               "sums, and nothing of a backward or an optimizer is recorded, " + each(reducing)}
                                 : GuessedRole{GroupRole::data, kOfUntold,
                                               "sums that may be of gradients, no backward is told, " + each(reducing)});
    else if (gathers > 0 && roles.empty() && 2 * carried.sumsElsewhere > 1) {
        if (infers) // whose sums name no group: those of its own, or of kernels that are no library's
            roles.push_back({GroupRole::tensor, 0.5,
                             "gathers beside sums that name no group, and nothing of a backward or an optimizer is recorded, " +
                                 each(gathers)});
        else
            roles.push_back({GroupRole::data, 0.4, "gathers beside sums that name no group, " + each(gathers)});
    } else if (gathers > 0 && roles.empty())
        roles.push_back({GroupRole::data, 0.5, "gathers and never sums, " + each(gathers)});
    return roles;
}

} // namespace sim
