#include "sim/recovery/evidence.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <cctype>

namespace sim {

std::string_view exchangeName(Exchange exchange)
{
    constexpr std::array<std::string_view, kExchangeCount> kNames{
        "all-reduce", "all-gather", "reduce-scatter", "all-to-all",       "broadcast",       "reduce",
        "barrier",    "send",       "receive",        "send and receive", "unknown exchange"};
    return kNames[static_cast<std::size_t>(exchange)];
}

Exchange exchangeFromName(std::string_view name)
{
    std::string plain;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto has = [&plain](std::string_view part) { return plain.find(part) != std::string::npos; };
    // The longer words first: "reducescatter" holds "reduce".
    if (has("reducescatter"))
        return Exchange::reduceScatter;
    if (has("allreduce") || has("crossdevicereduce"))
        return Exchange::allReduce;
    if (has("allgather") || has("gatherbase"))
        return Exchange::allGather;
    if (has("alltoall") || has("all2all"))
        return Exchange::allToAll;
    if (has("broadcast"))
        return Exchange::broadcast;
    if (has("barrier"))
        return Exchange::barrier;
    if (has("sendrecv") || has("coalesced") || has("batchisend"))
        return Exchange::sendReceive;
    if (has("recv") || has("receive"))
        return Exchange::receive;
    if (has("send"))
        return Exchange::send;
    if (has("reduce"))
        return Exchange::reduce;
    // What names say that call it by its purpose: Rankscope's own, DeepEP's kernels.
    const bool isOfExperts = has("moe") || has("deepep") || has("intranode") || has("internode") || has("hybridep");
    if ((isOfExperts && (has("dispatch") || has("combine") || has("cachednotify"))) || has("epdispatch") || has("epcombine"))
        return Exchange::allToAll;
    if (has("attnring") || has("ringattn") || has("ringshift"))
        return Exchange::sendReceive;
    if (has("gather") || has("attnkeys"))
        return Exchange::allGather;
    // And rankscope-live's: "attn.sum", "loss.sums", "loss.max", "gradient.sequence"; "ring.kv", "ring.dkv".
    if (has("ringkv") || has("ringdkv"))
        return Exchange::sendReceive;
    const bool isLibrarys = has("nccl") || has("rccl") || has("kernel");
    if (!isLibrarys && (plain.ends_with("sum") || plain.ends_with("sums") || plain == "lossmax" || plain == "gradientsequence"))
        return Exchange::allReduce;
    return Exchange::unknown;
}

int RunEvidence::missingRanks() const
{
    std::int64_t stoodFor = 0;
    for (const RankEvidence& rank : ranks)
        stoodFor += rank.multiplicity;
    return static_cast<int>(std::max<std::int64_t>(0, worldOrHighest() - stoodFor));
}

std::string RunEvidence::whyNothingLasts() const
{
    std::int64_t spans = 0;
    for (const RankEvidence& rank : ranks) {
        const auto lasts = [](const auto& span) { return span.endNs > span.startNs; };
        if (!rank.work.empty() || std::any_of(rank.comms.begin(), rank.comms.end(), lasts))
            return {};
        spans += std::ssize(rank.comms);
    }
    return spans == 0 ? std::string()
                      : "none of " + numberText(static_cast<double>(spans), Unit::count) +
                            " collectives and messages has a length, as the recorder does not say when they began";
}

std::string RunEvidence::summedRanks() const
{
    if (missingRanks() == 0)
        return "ranks";
    return "the " + numberText(static_cast<double>(ranks.size()), Unit::count) + " of " +
           numberText(worldOrHighest(), Unit::count) + " ranks that " + (ranks.size() == 1 ? "is" : "are") + " recorded";
}

int RunEvidence::worldOrHighest() const
{
    int world = worldSize;
    for (const RankEvidence& rank : ranks)
        world = std::max(world, rank.rank + 1);
    for (const GroupEvidence& group : groups)
        if (!group.ranks.empty())
            world = std::max(world, group.ranks.back() + 1);
    return world;
}

} // namespace sim
