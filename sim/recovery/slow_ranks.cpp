#include "sim/recovery/slow_ranks.h"

#include "sim/recovery/named_ranks.h"
#include "sim/recovery/run_findings.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace sim {
namespace {

constexpr double kClearlySlower = 1.05; ///< times as long

double middleTimeOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.size() % 2 == 1 ? values[values.size() / 2] : (values[values.size() / 2 - 1] + values[values.size() / 2]) / 2;
}

} // namespace

std::vector<std::vector<std::size_t>> peersOf(const Recovered& recovered)
{
    const RecoveredAxis* const context = recovered.axes.find("cp");
    std::map<std::pair<int, int>, std::vector<std::size_t>> alike; // of a stage and a slice
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r) {
        const int slice = context == nullptr ? 0 : RecoveredAxes::coordinate(*context, recovered.evidence.ranks[r].rank);
        alike[{recovered.passes.pipelineRank[r], slice}].push_back(r);
    }
    std::vector<std::vector<std::size_t>> all;
    for (auto& [place, peers] : alike)
        all.push_back(std::move(peers));
    return all;
}

std::vector<RunFinding> slowHosts(const Recovered& recovered, const RunAnswers& answers)
{
    std::vector<RunFinding> all;
    const std::vector<RankEvidence>& ranks = recovered.evidence.ranks;
    std::map<std::pair<int, std::string>, std::vector<double>> computing; // of a stage on a host
    for (std::size_t r = 0; r < answers.times.ranks.size(); ++r)
        computing[{recovered.passes.pipelineRank[r], ranks[r].host}].push_back(
            static_cast<double>(answers.times.ranks[r].computingNs));
    std::map<std::string, std::vector<std::pair<double, double>>> slower; // host -> of each stage: how many times, by how much
    for (const auto& [place, own] : computing) {
        std::vector<double> others;
        for (const auto& [beside, times] : computing)
            if (beside.first == place.first && beside.second != place.second)
                others.push_back(middleTimeOf(times));
        if (place.second.empty() || others.empty() || middleTimeOf(others) <= 0)
            continue;
        const double usual = middleTimeOf(others);
        // One slow rank of it is not its host's doing.
        const bool areAll = std::all_of(own.begin(), own.end(), [&](double time) { return time > kClearlySlower * usual; });
        slower[place.second].emplace_back(areAll && own.size() > 1 ? middleTimeOf(own) / usual : 1, middleTimeOf(own) - usual);
    }
    for (const auto& [host, stages] : slower) {
        const auto least = std::min_element(stages.begin(), stages.end());
        if (least->first <= 1)
            continue;
        RunFinding finding{.kind = "slow-host",
                           .title = "All ranks on " + host + " compute " + percentText(least->first - 1) +
                                    " longer than their peers on other hosts",
                           .detail = "What they share may be slow, such as power, cooling "
                                     "or clocks of that host.",
                           .seconds = secondsOf(least->second)};
        for (const RankEvidence& rank : ranks)
            if (rank.host == host)
                finding.ranks.push_back(rank.rank);
        all.push_back(std::move(finding));
    }
    return all;
}

std::vector<RunFinding> slowRanks(const Recovered& recovered, const RunAnswers& answers, std::span<const int> told)
{
    const std::vector<RankEvidence>& ranks = recovered.evidence.ranks;
    if (answers.times.ranks.empty()) // no step was recovered
        return {};
    double windowNs = 0;
    for (const RankTime& rank : answers.times.ranks)
        windowNs += static_cast<double>(rank.windowNs) / static_cast<double>(answers.times.ranks.size());
    const auto isTold = [&](int rank) {
        return std::find(told.begin(), told.end(), rank) != told.end() ||
               std::any_of(answers.experts.begin(), answers.experts.end(), [&](const GroupLoad& load) {
                   return load.busiest == rank && load.ofSection > load.ofSectionElsewhere + (kClearlySlower - 1);
               });
    };
    struct SlowRank {
        int rank = 0, stage = 0;
        double longer = 0, ns = 0;
        std::size_t peers = 0;
    };
    std::vector<SlowRank> slow;
    for (const std::vector<std::size_t>& peers : peersOf(recovered))
        for (const std::size_t r : peers) {
            std::vector<double> others;
            for (const std::size_t peer : peers)
                if (peer != r)
                    others.push_back(static_cast<double>(answers.times.ranks[peer].computingNs));
            const double usual = others.empty() ? 0 : middleTimeOf(others);
            const auto own = static_cast<double>(answers.times.ranks[r].computingNs);
            constexpr double kWorthwhile = 0.01; // of the step
            if (usual > 0 && own > kClearlySlower * usual && own - usual > kWorthwhile * windowNs && !isTold(ranks[r].rank))
                slow.push_back({ranks[r].rank, recovered.passes.pipelineRank[r], own / usual - 1, own - usual, others.size()});
        }
    if (slow.empty())
        return {};
    std::stable_sort(slow.begin(), slow.end(), [](const SlowRank& a, const SlowRank& b) { return a.ns > b.ns; });
    const SlowRank& slowest = slow.front();
    const std::string ofStage = answers.times.stages.size() > 1 ? " of stage " + std::to_string(slowest.stage) : std::string();
    RunFinding finding{.kind = "slow-rank", .seconds = secondsOf(slowest.ns)};
    for (const SlowRank& of : slow)
        finding.ranks.push_back(of.rank);
    finding.title = slow.size() == 1
                        ? "Rank " + std::to_string(slowest.rank) + " computes " + percentText(slowest.longer) +
                              " longer than its peers" + ofStage
                        : std::to_string(slow.size()) + " ranks compute longer than their peers: " + namedRanks(finding.ranks) +
                              ", up to " + percentText(slowest.longer);
    constexpr std::size_t kMostRanks = 4;
    for (std::size_t i = 0; slow.size() > 1 && i < std::min(kMostRanks, slow.size()); ++i)
        finding.detail += (i == 0 ? "Rank " : ", rank ") + std::to_string(slow[i].rank) + " by " + percentText(slow[i].longer);
    finding.detail += finding.detail.empty() ? "" : slow.size() > kMostRanks ? ", … " : ". ";
    finding.detail += timeText(secondsOf(slowest.ns)) + " a step more than the median of the " +
                      (slowest.peers == 1 ? std::string("other rank") : std::to_string(slowest.peers) + " other ranks") +
                      " that rank " + std::to_string(slowest.rank) +
                      " shares its layers with, which wait for it sooner or later: its GPU is slower, or has more to compute.";
    return {std::move(finding)};
}

} // namespace sim
