#include "sim/answers/traffic_parts.h"

#include "sim/analysis/explain/explain_traffic.h"
#include "sim/answers/answers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sim {
namespace {

/// What a number is, down to the shapes: its formula in symbols and in numbers, and each term alike.
Answer becauseOf(const Explanation& why)
{
    Answer json{{"name", why.name}, {"symbol", why.result.symbol}, {"value", why.result.value}};
    if (why.formula)
        json.update({{"formula", why.inSymbols()}, {"numbers", why.inNumbers()}});
    if (!why.convention.empty())
        json["convention"] = why.convention;
    if (!why.source.empty())
        json["source"] = why.source;
    Answer terms = Answer::array();
    for (const Term& term : why.terms) {
        Answer one{{"symbol", term.quantity.symbol}, {"value", term.quantity.value}, {"meaning", term.meaning}};
        if (term.because)
            one["because"] = becauseOf(*term.because);
        terms.push_back(std::move(one));
    }
    json["terms"] = std::move(terms);
    return json;
}

/// How often a group's ranks talk in a layer.
Answer exchangesIn(const Answer& layer, const std::string& group)
{
    Answer count{{"kind", layer.value("kind", "")}, {"forward", 0}, {"backward", 0}, {"again", 0}};
    for (const char* pass : {"forward", "backward"})
        for (const Answer& op : layer.value(pass, Answer::array()))
            if (op.value("group", "") == group) {
                Answer& of = count[op.contains("again") ? "again" : pass];
                of = of.get<int>() + 1;
            }
    return count;
}

} // namespace

LinkLoad loadOfStep(const Simulation& simulation, const TrafficSenders& senders)
{
    const auto stepNs = static_cast<std::int64_t>(simulation.metrics().stepTimeSeconds * 1e9 + 0.5);
    return linkLoad(simulation, senders, {.beginNs = 0, .endNs = std::max<std::int64_t>(stepNs, 1), .bins = 1});
}

Answer trafficAnswer(const Simulation& simulation)
{
    const TrafficSenders senders = Traffic(simulation).senders();
    const TrafficSums sums = senders.total();
    const LinkLoad load = loadOfStep(simulation, senders);
    const TrafficExplainer explainer(simulation);
    Answer tiers = Answer::array(), groups = Answer::array();
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        const Tier& of = simulation.scenario().cluster.tiers[static_cast<std::size_t>(tier)];
        tiers.push_back(
            {{"name", of.name},
             {"bytes", sums.ofTier(tier)},
             {"bandwidth_gbs_per_gpu",
              bandwidthGBs(simulation.scenario().cluster, static_cast<std::size_t>(tier), senders.gpus()) / senders.ranks},
             {"mean_load", load.share(tier, 0)}});
        if (sums.ofTier(tier) > 0)
            tiers.back()["because"] = becauseOf(explainer.ofTier(tier));
    }
    for (const CommunicatorRole role : kTrafficRoles) {
        if (sums.ofRole(role) == 0)
            continue;
        Answer byTier = Answer::array();
        for (int tier = 0; tier < sums.tiers(); ++tier)
            byTier.push_back(sums.bytes(tier, role));
        groups.push_back({{"group", communicatorRoleName(role)},
                          {"purpose", dimensionName(dimensionOf(role))},
                          {"bytes", sums.ofRole(role)},
                          {"by_tier", byTier},
                          {"because", becauseOf(explainer.ofRole(role))}});
    }
    Answer layers = layersAnswer(simulation);
    for (Answer& group : groups) {
        Answer ofKinds = Answer::array();
        for (const Answer& layer : layers)
            ofKinds.push_back(exchangesIn(layer, group.at("group").get<std::string>()));
        group["per_layer"] = ofKinds.empty() ? exchangesIn(Answer::object(), {}) : ofKinds.front();
        group["per_layer_of_kind"] = std::move(ofKinds);
    }
    Answer exposed;
    for (const Dimension purpose : kDimensions)
        exposed[dimensionName(purpose)] = simulation.metrics().exposedComm[purpose];
    return {{"unit", "bytes sent in a step by all ranks"},
            {"world_size", simulation.metrics().worldSize},
            {"total", sums.total()},
            {"tiers", tiers},
            {"groups", groups},
            {"layer", layers.empty() ? Answer() : layers.front()},
            {"layers", layers},
            {"exposed_comm", exposed}};
}

} // namespace sim
