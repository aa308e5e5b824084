#include "sim/analysis/explain/explain_holdings.h"

#include "sim/analysis/explain/explainer.h"
#include "sim/index.h"

#include <array>
#include <cmath>
#include <utility>

namespace sim {
namespace {

constexpr const char* kZeroStates = "Rajbhandari et al. 2020 (ZeRO), section 5";

struct State {
    std::int64_t MemoryBreakdown::*bytes;
    const char *name, *symbol;
};
constexpr std::array kStates{State{&MemoryBreakdown::parameters, "parameters", "M_p"},
                             State{&MemoryBreakdown::gradients, "gradients", "M_g"},
                             State{&MemoryBreakdown::optimizer, "optimizer states", "M_o"},
                             State{&MemoryBreakdown::buffers, "gathered or copied for the whole step", "M_b"}};

double bytesOf(const TensorHolding& tensor, const State& state)
{
    return static_cast<double>(tensor.bytes.*(state.bytes));
}

/// Elements of the rank's slice, times bytes of each, over the ranks that share them.
Explanation ofState(const Holdings& holdings, const TensorHolding& tensor, const State& state)
{
    const double bytes = bytesOf(tensor, state), elements = static_cast<double>(tensor.elements);
    Account account(std::string(state.name) + " of " + std::string(tensor.name), state.symbol, bytes, Unit::bytes);
    const ShardGroup& group = tensor.isRouted() ? holdings.routed : holdings.dense;
    for (const double ranks : {1.0, static_cast<double>(group.ranks.size())}) {
        const double each = elements > 0 ? std::round(bytes * ranks / elements) : 0;
        if (each < 1 || std::abs(each * elements / ranks - bytes) > 1e-6 * bytes)
            continue;
        Formula out = account.term("E", elements, Unit::count, "elements of its slice, in all layers of the group");
        out *= account.term("e", each, Unit::bytes, "of each element");
        if (ranks > 1)
            out /= account.term("d", ranks, Unit::count, "ranks that share it out (ZeRO)");
        return account.close(std::move(out), "", ranks > 1 ? kZeroStates : "");
    }
    return account.close({}, "Counted: slices and shards are rounded up to whole elements.", kZeroStates);
}

Explanation sumOf(std::string name, double bytes, std::vector<Explanation> parts, const char* convention)
{
    Account account(std::move(name), "M", bytes, Unit::bytes);
    std::vector<Formula> sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].result.symbol = "M_" + std::to_string(i + 1);
        sum.push_back(account.term(std::move(parts[i])));
    }
    return account.close(Formula::sum(std::move(sum)), convention, kZeroStates, {.pictures = {"storage", "memory"}});
}

std::string nameOf(const HoldingGroup& group)
{
    if (group.layers.empty())
        return group.part == ModelPart::embedding ? "the embedding"
               : group.part == ModelPart::head    ? "the head"
                                                  : "what is no layer's";
    return countedText(static_cast<std::int64_t>(group.layers.size()), "layer") + " from " +
           std::to_string(group.layers.front()) + " on";
}

} // namespace

Explanation explainStored(const Holdings& holdings, const TensorHolding& tensor, std::int64_t MemoryBreakdown::*state)
{
    std::vector<Explanation> parts;
    for (const State& each : kStates) {
        if (each.bytes == state)
            return ofState(holdings, tensor, each);
        if (bytesOf(tensor, each) > 0)
            parts.push_back(ofState(holdings, tensor, each));
    }
    return sumOf("Stored of " + std::string(tensor.name), static_cast<double>(tensor.bytes.total()), std::move(parts),
                 "From step to step.");
}

Explanation explainStored(const Holdings& holdings, const HoldingGroup& group, const std::string& name)
{
    std::vector<Explanation> parts;
    for (const TensorHolding& tensor : group.tensors)
        if (tensor.bytes.total() > 0)
            parts.push_back(explainStored(holdings, tensor));
    return sumOf("Stored of " + name, static_cast<double>(group.bytes.total()), std::move(parts),
                 "From step to step, all of its layers.");
}

Explanation explainStored(const Holdings& holdings)
{
    std::vector<Explanation> parts;
    for (const HoldingGroup& group : holdings.groups)
        if (group.bytes.total() > 0)
            parts.push_back(explainStored(holdings, group, nameOf(group)));
    return sumOf("Stored on rank " + numberText(holdings.rank, Unit::count), static_cast<double>(holdings.bytes.total()),
                 std::move(parts), "From step to step; activations come and go besides.");
}

} // namespace sim
