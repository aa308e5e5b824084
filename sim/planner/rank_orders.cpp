#include "sim/planner/rank_orders.h"

#include "sim/error.h"
#include "sim/index.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace sim {
namespace {

/// Two numbers, so that no two orders of a search have the same by chance.
class Fingerprint {
public:
    void add(std::uint64_t value)
    {
        m_hash.first = (m_hash.first ^ value) * 0x100000001b3; // FNV-1a
        m_hash.second = (m_hash.second + value + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
        m_hash.second ^= m_hash.second >> 29;
    }
    const std::pair<std::uint64_t, std::uint64_t>& value() const { return m_hash; }

private:
    std::pair<std::uint64_t, std::uint64_t> m_hash{0xcbf29ce484222325, 0};
};

/// Axes that have more than one rank, in their order: two orders that agree in them number every rank alike.
std::string tellingAxes(const Layout& layout, const RankOrder& order)
{
    const std::int64_t expertData = layout.worldSize() / layout.pp / std::max(1, layout.ep * layout.etp);
    std::string dense, expert;
    for (std::size_t begin = 0; begin <= order.axes.size();) {
        const std::size_t end = std::min(order.axes.find('-', begin), order.axes.size());
        const std::string axis = order.axes.substr(begin, end - begin);
        const auto sizeIn = [&](std::int64_t tp, std::int64_t cp, std::int64_t ep, std::int64_t dp) {
            return axis == "tp" ? tp : axis == "cp" ? cp : axis == "ep" ? ep : axis == "dp" ? dp : layout.pp;
        };
        if (sizeIn(layout.tp, layout.cp, 1, layout.dp) > 1)
            dense += axis;
        if (sizeIn(layout.etp, 1, layout.ep, expertData) > 1)
            expert += axis;
        begin = end + 1;
    }
    // Without experts' axis their grid is the dense one; what else a mesh may be asks whether pp stands last.
    return dense + (layout.pp == 1 || order.axes.ends_with("pp") ? "" : "|pp not last") + "|" +
           (order.axes.find("ep") == std::string::npos ? "" : expert) +
           (order.placement == PlacementRule::packed ? "" : "|round-robin");
}

/// Nothing where the order is none that this layout may have: then no file that says it can be read.
std::optional<Mesh> meshOf(const Layout& layout)
{
    try {
        return Mesh(layout);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Of the dense grid in one order: in which domain of each tier each rank lies, and behind which network card where GPUs share
/// them, both counted as they are met, and its place among the experts.
std::pair<std::uint64_t, std::uint64_t> fingerprint(const Scenario& scenario, const Mesh& mesh)
{
    const Layout& layout = scenario.layout;
    const Placement placement(layout, scenario.cluster);
    std::vector<int> spans{scenario.cluster.gpusPerNode};
    for (const Tier& tier : scenario.cluster.tiers)
        if (tier.span > 0 && tier.span < scenario.cluster.gpus()) // dealt in turn, ranks lie on all nodes
            spans.push_back(tier.span);
    const bool sharesNics = gpusPerNic(scenario.cluster) > 1;
    std::vector<std::map<int, std::uint64_t>> met(spans.size());
    std::map<int, std::uint64_t> metNics;
    const bool hasExperts = layout.ep > 1 || layout.etp != layout.tp;
    Fingerprint print;
    for (int pp = 0; pp < layout.pp; ++pp)
        for (int dp = 0; dp < layout.dp; ++dp)
            for (int cp = 0; cp < layout.cp; ++cp)
                for (int tp = 0; tp < layout.tp; ++tp) {
                    const int rank = mesh.rank(tp, cp, dp, pp);
                    for (std::size_t i = 0; i < spans.size(); ++i)
                        print.add(met[i].try_emplace(placement.gpu(rank) / spans[i], met[i].size()).first->second);
                    if (sharesNics)
                        print.add(
                            metNics.try_emplace(nicOf(scenario.cluster, placement.gpu(rank)), metNics.size()).first->second);
                    if (!hasExperts)
                        continue;
                    const Coordinates at = mesh.coordinates(rank);
                    for (const int place : {at.ep, at.exptTp, at.exptDp})
                        print.add(static_cast<std::uint64_t>(place));
                }
    return print.value();
}

} // namespace

std::vector<std::string> allAxisOrders(bool hasExperts)
{
    std::vector<std::string> orders;
    std::vector<std::vector<std::string>> axes{{"cp", "dp", "pp", "tp"}};
    if (hasExperts)
        axes.push_back({"cp", "dp", "ep", "pp", "tp"});
    for (std::vector<std::string>& of : axes)
        do {
            std::string joined;
            for (const std::string& axis : of)
                joined += (joined.empty() ? "" : "-") + axis;
            orders.push_back(std::move(joined));
        } while (std::next_permutation(of.begin(), of.end()));
    return orders;
}

std::string withoutExpertAxis(std::string order)
{
    for (const char* axis : {"-ep", "ep-"})
        if (const std::size_t at = order.find(axis); at != std::string::npos)
            order.erase(at, 3);
    return order;
}

std::vector<AlikeOrders> alikeOrders(Scenario scenario, std::span<const RankOrder> orders, bool byNumber)
{
    std::vector<AlikeOrders> alike;
    std::map<std::string, std::size_t> byAxes; // index into alike
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> byDomains;
    for (std::size_t i = 0; i < orders.size(); ++i) {
        scenario.layout.order = orders[i].axes;
        scenario.layout.placement = orders[i].placement;
        const std::optional<Mesh> mesh = meshOf(scenario.layout);
        if (!mesh)
            continue;
        const auto [known, isNew] = byAxes.try_emplace(tellingAxes(scenario.layout, orders[i]), alike.size());
        if (isNew) {
            const auto print = fingerprint(scenario, *mesh);
            const auto domains = byDomains.find(print);
            if (domains != byDomains.end() && !byNumber) {
                known->second = domains->second;
            } else {
                byDomains[print] = alike.size();
                alike.push_back({.first = static_cast<int>(i), .count = 0});
            }
        }
        ++alike[known->second].count;
    }
    return alike;
}

} // namespace sim
