// Nothing that a finding says stands in it unproved: every number is a claim, and every claim is computed again here by another
// way, from ranks and links one by one, from the schedule alone, or by simulating the edit.
#include "sim/analysis/findings/findings.h"
#include "sim/analysis/traffic/traffic.h"

#include "sim/cost/cost.h"
#include "sim/mesh/subgroups.h"
#include "sim/model/operators.h"
#include "sim/schedule/evaluate.h"
#include "sim/simulate/exposed_transfers.h"
#include "sim/text/number_text.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <regex>
#include <set>

using namespace sim;
using test::Opened;

namespace {

constexpr double kGib = 1073741824.0;

/// What the text says besides its claims.
std::string withoutClaims(const Finding& finding, const Scenario& scenario)
{
    std::string text = finding.title + " " + finding.reason;
    const auto drop = [&text](const std::string& part) {
        for (std::size_t at = text.find(part); !part.empty() && at != std::string::npos; at = text.find(part, at + 1))
            if (at == 0 || std::string("0123456789.,").find(text[at - 1]) == std::string::npos) // not the end of a number
                text.replace(at, part.size(), "#");
    };
    std::vector<std::string> claims;
    for (const Claim& claim : finding.claims)
        claims.push_back(claim.text);
    std::sort(claims.begin(), claims.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const Tier& tier : scenario.cluster.tiers)
        drop(tier.name);
    for (const std::string& claim : claims)
        drop(claim);
    for (const char* name : {"1F1B", "ZeRO 1", "ZeRO 3", "bf16", "fp16", "fp32", "tf32"})
        drop(name);
    return text;
}

/// Mean over ranks, as a share of the step.
template <typename Nanoseconds>
double meanShare(const Simulation& simulation, Nanoseconds of)
{
    double sum = 0;
    for (int c = 0; c < simulation.classCount(); ++c)
        sum += static_cast<double>(of(simulation.timeOfClass(c))) * simulation.classSize(c);
    return sum * 1e-9 / simulation.metrics().worldSize / simulation.metrics().stepTimeSeconds;
}

Dimension dimensionOf(FindingKind kind)
{
    switch (kind) {
    case FindingKind::tensorAcrossNodes:
    case FindingKind::exposedTensor:
        return Dimension::tp;
    case FindingKind::exposedContext:
        return Dimension::cp;
    case FindingKind::exposedExpert:
    case FindingKind::expertsAcrossNodes:
    case FindingKind::unevenRouting:
        return Dimension::ep;
    case FindingKind::exposedPipeline:
        return Dimension::pp;
    default:
        return Dimension::dp;
    }
}

constexpr std::array kScoreKernels{"attn.core", "attn.scores", "attn.softmax", "attn.dropout", "attn.context"};

/// A kernel of attention itself: fused, or one by one.
bool isOfScores(const std::string& name)
{
    return std::any_of(kScoreKernels.begin(), kScoreKernels.end(), [&](const char* kernel) { return name.starts_with(kernel); });
}

/// A kernel of tokens that were sent to experts.
bool isOfRouted(const std::string& name)
{
    static const std::regex kRouted(R"(moe\.(permute|up|act|bias|down|unpermute)(\..*)?)");
    return std::regex_match(name, kRouted);
}

/// One job with what its findings' edits lead to.
class Prover {
public:
    Prover(const Opened& opened, const Finding& finding)
        : m_opened(opened), m_finding(finding), m_simulation(*opened.simulation), m_scenario(m_simulation.scenario()),
          m_metrics(m_simulation.metrics())
    {
    }

    double again(const Claim&) const;

private:
    double step() const { return m_metrics.stepTimeSeconds; }
    double exposed(Dimension purpose) const
    {
        return meanShare(m_simulation, [purpose](const TimeShares& t) { return t.exposedNs[purpose]; });
    }
    double exposedHost() const
    {
        return meanShare(m_simulation, [](const TimeShares& t) { return t.exposedHostNs; });
    }
    double launches() const
    {
        return meanShare(m_simulation, [](const TimeShares& t) { return t.launchNs; });
    }
    double busy() const
    {
        return meanShare(m_simulation, [](const TimeShares& t) { return t.busyNs; });
    }
    double bubble() const
    {
        return 1 - meanShare(m_simulation, [](const TimeShares& t) { return t.busyNs + t.waitingNs(); });
    }
    double peakOf(int rank) const { return static_cast<double>(m_simulation.memoryOfClass(m_simulation.classOf(rank)).total()); }
    int fullest() const
    {
        int out = 0;
        for (int rank = 1; rank < m_metrics.worldSize; ++rank)
            out = peakOf(rank) > peakOf(out) ? rank : out;
        return out;
    }
    double capacity() const { return m_scenario.cluster.gpu.memoryGib * kGib; }
    /// Of the finding; of a claim that says so, what each of them is cut into or the other way across.
    std::vector<std::vector<int>> groupsOf(CommunicatorRole role) const
    {
        const bool isShard = role == CommunicatorRole::dpShard || role == CommunicatorRole::exptDp;
        const bool isDense = role == CommunicatorRole::dpShard || role == CommunicatorRole::dpReplicate;
        const Layout& l = m_scenario.layout;
        const ProcessGroup kind = role == CommunicatorRole::none ? kDimensionFacts[dimensionOf(m_finding.kind)].group
                                  : isDense                      ? ProcessGroup::dp_cp
                                                                 : ProcessGroup::expt_dp;
        const Mesh& mesh = m_simulation.mesh();
        std::vector<std::vector<int>> out;
        for (int group = 0; group < mesh.groupCount(kind); ++group) {
            const std::vector<int> members = mesh.members(kind, group);
            const int all = static_cast<int>(members.size()),
                      replicas = l.zeroStage == 0 ? 1 : std::gcd(all, l.dp * l.cp / std::max(1, l.dpShard));
            if (role == CommunicatorRole::none)
                out.push_back(members);
            else
                for (auto& part : subgroups(members, {all / replicas, replicas}, isShard ? 0 : 1))
                    out.push_back(std::move(part));
        }
        return out;
    }
    int tierOf(const std::vector<int>& members) const
    {
        int tier = 0;
        for (const int member : members)
            tier = std::max(tier, m_simulation.placement().tierBetween(members.front(), member));
        return tier;
    }
    int widestTier(CommunicatorRole role) const
    {
        int widest = 0;
        for (const std::vector<int>& members : groupsOf(role))
            widest = std::max(widest, tierOf(members));
        return widest;
    }
    /// Exposed time of the collectives of that name.
    double secondsOf(const std::string& op) const
    {
        const ExposedKinds kinds = exposedKinds(m_simulation);
        double sum = 0;
        for (const auto* list : {&kinds[Dimension::dp], &kinds.ofHost})
            for (const ExposedKind& kind : *list)
                sum += kind.op == op ? kind.seconds : 0;
        return sum;
    }
    double shareOfPart(const std::string& text) const;
    /// Of the time in which the trace's kernels run that are not run again.
    template <typename IsCounted>
    double shareOfKernels(IsCounted isCounted) const
    {
        const Trace trace = m_simulation.trace(TraceDetail::kernels);
        double all = 0, counted = 0;
        for (const Track& track : trace.tracks) {
            if (track.role != TrackRole::compute)
                continue;
            for (std::size_t i = 0; i < track.size(); ++i) {
                const SpanKind& kind = trace.kinds[track.kind[i]];
                if (kind.opClass == OpClass::recompute)
                    continue;
                const double time = 1.0 * static_cast<double>(track.durationNs[i]) *
                                    static_cast<double>(trace.processes[static_cast<std::size_t>(track.process)].multiplicity);
                all += time;
                counted += isCounted(kind) ? time : 0;
            }
        }
        return counted / all;
    }
    /// Of all ranks, had they the GPU to themselves.
    static double secondsOfRoutedKernels(const Simulation& of)
    {
        const CostModel cost(of.scenario());
        double ns = 0;
        for (int rank = 0; rank < of.metrics().worldSize; ++rank)
            for (const Step& each : of.program().ranks[static_cast<std::size_t>(of.mesh().coordinates(rank).pp)].steps) {
                const Pass& pass = of.program().passes[each.pass];
                for (std::size_t i = 0; i < pass.ops.size(); ++i)
                    if (isOfRouted(of.program().labels[pass.ops[i].label]))
                        ns += static_cast<double>(cost.kernelNs(pass.shapes[i]));
            }
        return ns * 1e-9;
    }
    /// Against those of tokens that are routed evenly.
    double expertWait() const
    {
        Scenario even = m_scenario;
        even.training.moe.imbalance = 1;
        const double beyond = secondsOfRoutedKernels(m_simulation) - secondsOfRoutedKernels(*simulate(even));
        return beyond / m_metrics.worldSize / step();
    }
    double busyOfStage(int pp) const
    {
        double sum = 0;
        int ranks = 0;
        for (int rank = 0; rank < m_metrics.worldSize; ++rank)
            if (m_simulation.mesh().coordinates(rank).pp == pp) {
                sum += static_cast<double>(m_simulation.timeOfClass(m_simulation.classOf(rank)).busyNs);
                ++ranks;
            }
        return sum / ranks;
    }
    /// The step with what the finding proposes.
    std::shared_ptr<const Simulation> changed() const
    {
        Scenario scenario = m_scenario;
        switch (m_finding.kind) {
        case FindingKind::replicatedStates:
            scenario.layout.zeroStage = 1;
            break;
        case FindingKind::noSequenceParallel:
            scenario.layout.sequenceParallel = true;
            break;
        case FindingKind::slowRank:
            scenario.perturbations.clear();
            break;
        default:
            scenario = scenarioWith(m_finding.suggestions.at(0), m_opened.document, test::catalogue()).value();
        }
        return simulate(scenario);
    }
    double trafficChange(Dimension purpose) const
    {
        const auto bytes = [purpose](const Simulation& s) {
            double sum = 0;
            const Traffic traffic = Traffic(s);
            std::vector<TrafficFlow> flows;
            for (int rank = 0; rank < s.metrics().worldSize; ++rank) {
                flows.clear();
                traffic.appendReceives(rank, flows);
                for (const TrafficFlow& flow : flows)
                    sum += dimensionOf(flow.role) == purpose ? static_cast<double>(flow.bytes) : 0;
            }
            return sum;
        };
        return bytes(*changed()) / bytes(m_simulation) - 1;
    }
    double layersOf(int pp) const
    {
        std::set<int> stages;
        for (const Action& action : m_simulation.schedule().actions[static_cast<std::size_t>(pp)])
            stages.insert(action.stage);
        double layers = 0;
        for (const int stage : stages)
            layers += m_scenario.schedule.layersPerStage[static_cast<std::size_t>(stage % m_simulation.schedule().chainLength())];
        return layers;
    }

    const Opened& m_opened;
    const Finding& m_finding;
    const Simulation& m_simulation;
    const Scenario& m_scenario;
    const Metrics& m_metrics;
};

double Prover::shareOfPart(const std::string& text) const
{
    const std::map<std::string, double> parts{{"model FLOPs at peak speed", m_metrics.mfu},
                                              {"recomputation", m_metrics.hfu - m_metrics.mfu},
                                              {"kernels below peak", busy() - m_metrics.hfu},
                                              {"exposed tp communication", exposed(Dimension::tp)},
                                              {"exposed cp communication", exposed(Dimension::cp)},
                                              {"exposed ep communication", exposed(Dimension::ep)},
                                              {"exposed pp communication", exposed(Dimension::pp)},
                                              {"exposed dp communication", exposed(Dimension::dp)},
                                              {"exposed embedding communication", exposed(Dimension::dp)},
                                              {"exposed copies communication", exposed(Dimension::dp)},
                                              {"waiting for the host", exposedHost()},
                                              {"bubble", bubble()}};
    for (const auto& [name, value] : parts)
        if (text.ends_with("% " + name))
            return value;
    ADD_FAILURE() << "no such part of a step: " << text;
    return 0;
}

double Prover::again(const Claim& claim) const
{
    const Layout& l = m_scenario.layout;
    const Training& t = m_scenario.training;
    const Cluster& c = m_scenario.cluster;
    const Schedule& schedule = m_simulation.schedule();
    const Dimension dimension = dimensionOf(m_finding.kind);
    const std::vector<std::vector<int>> groups = groupsOf(claim.role);
    const MemoryBreakdown memory = m_simulation.memoryOfClass(m_simulation.classOf(fullest()));
    const std::vector<std::int64_t> parts{memory.parameters, memory.gradients, memory.optimizer, memory.activations,
                                          memory.buffers};
    switch (claim.of) {
    case ClaimOf::exposedShare:
        return exposed(dimension);
    case ClaimOf::exposedSeconds:
        return exposed(dimension) * step();
    case ClaimOf::gatherSeconds:
        return secondsOf(claim.role == CommunicatorRole::dpShard ? "param.gather" : "param.gather.experts");
    case ClaimOf::reduceSeconds: {
        static const std::map<CommunicatorRole, std::string> kOps{
            {CommunicatorRole::dpShard, "grad.reduce"},        {CommunicatorRole::dpReplicate, "grad.reduce.replicas"},
            {CommunicatorRole::exptDp, "grad.reduce.experts"}, {CommunicatorRole::exptReplicate, "grad.reduce.experts.replicas"},
            {CommunicatorRole::embd, "grad.reduce.embedding"}, {CommunicatorRole::copies, "grad.reduce.copies"}};
        return secondsOf(kOps.at(claim.role));
    }
    case ClaimOf::bubbleShare:
        return bubble();
    case ClaimOf::bubbleWithout: {
        Scenario even = m_scenario;
        even.perturbations.clear();
        return 1 - meanShare(*simulate(even), [](const TimeShares& use) { return use.busyNs + use.waitingNs(); });
    }
    case ClaimOf::idealBubble: // of the same order, run on stages alike
        return evaluateSchedule(schedule).idleOfMakespan;
    case ClaimOf::expertWait:
        return expertWait();
    case ClaimOf::busiestTokens:
        return t.moe.imbalance;
    case ClaimOf::stepTime:
        return static_cast<double>(m_simulation.trace(TraceDetail::actions).endNs) * 1e-9;
    case ClaimOf::shareOfStep:
        return shareOfPart(claim.text);
    case ClaimOf::groupRanks:
        return static_cast<double>(groups.front().size());
    case ClaimOf::innerBandwidth:
        return c.tiers.front().bandwidthGBs;
    case ClaimOf::outerBandwidth:
        return c.tiers[static_cast<std::size_t>(widestTier(claim.role))].bandwidthGBs;
    case ClaimOf::innerDomain:
        return c.tiers.front().span == 0 ? c.gpus() : c.tiers.front().span;
    case ClaimOf::blockRanks: // a layer's experts once: its groups of ep, as many as an expert has slices
        return static_cast<double>(m_simulation.mesh().groupSize(ProcessGroup::ep)) *
               m_simulation.mesh().groupSize(ProcessGroup::expt_tp);
    case ClaimOf::groupsAcross:
        return static_cast<double>(
            std::count_if(groups.begin(), groups.end(), [&](const auto& members) { return tierOf(members) > 0; }));
    case ClaimOf::groups:
        return static_cast<double>(groups.size());
    case ClaimOf::bytesAcross: { // as they are received
        double all = 0, across = 0;
        const Traffic traffic = Traffic(m_simulation);
        std::vector<TrafficFlow> flows;
        for (int rank = 0; rank < m_metrics.worldSize; ++rank)
            traffic.appendReceives(rank, flows);
        for (const TrafficFlow& flow : flows) {
            all += flow.role == CommunicatorRole::ep ? static_cast<double>(flow.bytes) : 0;
            across += flow.role == CommunicatorRole::ep && flow.tier > 0 ? static_cast<double>(flow.bytes) : 0;
        }
        return across / all;
    }
    case ClaimOf::tokensOfRank:
        return static_cast<double>(t.sequenceLength) / l.cp;
    case ClaimOf::expertsOfToken:
        return m_scenario.model.numExpertsPerTok;
    case ClaimOf::chunks:
        return schedule.virtualStages;
    case ClaimOf::microbatches:
        return static_cast<double>(schedule.microbatches) / schedule.slices;
    case ClaimOf::pipelineRanks:
        return schedule.ranks;
    case ClaimOf::fullestRank: // of several that are as full, any
        EXPECT_EQ(peakOf(static_cast<int>(claim.value)), peakOf(fullest()));
        return claim.value;
    case ClaimOf::peakBytes:
        return m_metrics.peakMemoryGib * kGib;
    case ClaimOf::capacityBytes:
        return capacity();
    case ClaimOf::bytesTooMuch:
        return peakOf(fullest()) - capacity();
    case ClaimOf::bytesLeft:
        return capacity() - peakOf(fullest());
    case ClaimOf::shareLeft:
        return (capacity() - peakOf(fullest())) / capacity();
    case ClaimOf::memoryCap:
        return m_scenario.schedule.memoryCapGib * kGib;
    case ClaimOf::keptCap: {
        Scenario capped = m_scenario;
        capped.schedule.memoryCapGib = claim.value / kGib;
        EXPECT_LE(simulate(capped)->metrics().peakMemoryGib, capped.schedule.memoryCapGib);
        return claim.value;
    }
    case ClaimOf::allocatorReserve:
        return 0.04;
    case ClaimOf::largestPartBytes:
        return static_cast<double>(*std::max_element(parts.begin(), parts.end()));
    case ClaimOf::largestPartShare:
        return static_cast<double>(*std::max_element(parts.begin(), parts.end())) / peakOf(fullest());
    case ClaimOf::ranksTooFull: {
        int count = 0;
        for (int rank = 0; rank < m_metrics.worldSize; ++rank)
            count += peakOf(rank) > capacity() ? 1 : 0;
        return count;
    }
    case ClaimOf::worldSize:
        return l.tp * l.cp * l.pp * l.dp;
    case ClaimOf::fullestStage:
        return m_simulation.mesh().coordinates(fullest()).pp;
    case ClaimOf::meanPeakBytes: {
        std::vector<double> most(static_cast<std::size_t>(l.pp));
        for (int rank = 0; rank < m_metrics.worldSize; ++rank) {
            double& stage = most[static_cast<std::size_t>(m_simulation.mesh().coordinates(rank).pp)];
            stage = std::max(stage, peakOf(rank));
        }
        return std::accumulate(most.begin(), most.end(), 0.0) / l.pp;
    }
    case ClaimOf::expertCopies:
        return 1.0 * l.worldSize() / (l.pp * l.ep * l.etp);
    case ClaimOf::stateCopies:
        return m_simulation.mesh().groupSize(ProcessGroup::dp_cp);
    case ClaimOf::bytesShared:
        return static_cast<double>(memory.optimizer - changed()->memoryOfClass(changed()->classOf(fullest())).optimizer);
    case ClaimOf::gradientBytes:
        return static_cast<double>(memory.gradients) /
               static_cast<double>(
                   m_metrics.perPipelineRank[static_cast<std::size_t>(m_simulation.mesh().coordinates(fullest()).pp)].parameters);
    case ClaimOf::parameterBytes:
        return static_cast<double>(memory.parameters) /
               static_cast<double>(
                   m_metrics.perPipelineRank[static_cast<std::size_t>(m_simulation.mesh().coordinates(fullest()).pp)].parameters);
    case ClaimOf::dataTraffic:
        return trafficChange(Dimension::dp);
    case ClaimOf::tensorTraffic:
        return trafficChange(Dimension::tp);
    case ClaimOf::pipelineTraffic:
        return trafficChange(Dimension::pp);
    case ClaimOf::sequenceLength:
        return t.sequenceLength;
    case ClaimOf::shareOfPeak:
        return m_metrics.hfu / busy();
    case ClaimOf::gemmEfficiency:
        return c.efficiency.gemm;
    case ClaimOf::rowsOfProduct:
        return static_cast<double>(Sharding::of(m_scenario).tokens());
    case ClaimOf::rowsOfExpert: // copies of all tokens that come to a rank, over the experts there
        return static_cast<double>(Sharding::of(m_scenario).routedTokens()) * l.ep * l.etp * m_scenario.model.numExpertsPerTok /
               m_scenario.model.numExperts;
    case ClaimOf::timeWithoutFlops:
        return shareOfKernels([](const SpanKind& kind) { return kind.flops <= 0 && !isOfScores(kind.name); });
    case ClaimOf::timeOfAttention:
        return shareOfKernels([](const SpanKind& kind) { return isOfScores(kind.name); });
    case ClaimOf::hiddenSize:
        return m_scenario.model.hiddenSize;
    case ClaimOf::tensorRanks:
        return m_simulation.mesh().groupSize(ProcessGroup::tp);
    case ClaimOf::timeSaved:
        return 1 - changed()->metrics().stepTimeSeconds / step();
    case ClaimOf::peakWithout:
        return changed()->metrics().peakMemoryGib * kGib;
    case ClaimOf::peakOfHalf: {
        const auto bf16 = c.gpu.peakTflops.find(Precision::bf16);
        return (bf16 != c.gpu.peakTflops.end() ? bf16->second : c.gpu.peakTflops.at(Precision::fp16)) /
               c.gpu.peakTflops.at(t.precision);
    }
    case ClaimOf::idleGpus:
        return c.nodes * c.gpusPerNode - m_metrics.worldSize;
    case ClaimOf::clusterGpus:
        return c.nodes * c.gpusPerNode;
    case ClaimOf::slowestStage:
        for (int pp = 0; pp < l.pp; ++pp)
            EXPECT_LE(busyOfStage(pp), busyOfStage(static_cast<int>(claim.value)) * (1 + 1e-9));
        return claim.value;
    case ClaimOf::stageLag: {
        double most = 0, sum = 0;
        for (int pp = 0; pp < l.pp; ++pp) {
            most = std::max(most, busyOfStage(pp));
            sum += busyOfStage(pp);
        }
        return most / (sum / l.pp) - 1;
    }
    case ClaimOf::layersOfStage:
        return layersOf(m_simulation.mesh().coordinates(m_finding.show.ranks.front()).pp);
    case ClaimOf::meanLayers: {
        double sum = 0;
        for (int pp = 0; pp < l.pp; ++pp)
            sum += layersOf(pp);
        return sum / l.pp;
    }
    case ClaimOf::vocabulary:
        return m_scenario.model.vocabSize;
    case ClaimOf::slowRank:
        EXPECT_EQ(m_finding.show.ranks, std::vector<int>{static_cast<int>(claim.value)});
        return claim.value;
    case ClaimOf::slowFactor: {
        double most = 0;
        for (const Perturbation& p : m_scenario.perturbations)
            most = std::max(most, p.factor);
        return most;
    }
    case ClaimOf::microbatchesOfRound:
        return m_scenario.schedule.microbatchGroup;
    case ClaimOf::exposedHostShare:
        return exposedHost();
    case ClaimOf::hostCopySeconds:
        return (exposedHost() - launches()) * step() - secondsOf("optimizer on host");
    case ClaimOf::kernelLaunch:
        return t.stack.launchUs * 1e-6;
    case ClaimOf::launchSeconds:
        return launches() * step() - secondsOf(kHostStep);
    case ClaimOf::expertLaunch:
        return t.stack.expertLaunchUs * 1e-6;
    case ClaimOf::hostStep:
        return t.stack.stepMs * 1e-3;
    case ClaimOf::hostStepSeconds:
        return secondsOf(kHostStep);
    case ClaimOf::hostWorkSeconds:
        return secondsOf("optimizer on host");
    case ClaimOf::hostWorkRate: {
        std::map<int, int> ranksOfNode;
        int most = 0;
        for (int rank = 0; rank < m_metrics.worldSize; ++rank)
            most = std::max(most, ++ranksOfNode[m_simulation.placement().node(rank)]);
        return c.host.memoryBandwidthGBs * c.efficiency.hostMemory / most;
    }
    case ClaimOf::hostLink:
        return c.gpu.hostBandwidthGBs * c.efficiency.hostLink;
    case ClaimOf::hostMemory:
        return m_metrics.hostMemoryGib * kGib;
    case ClaimOf::hostHas:
        return c.host.memoryGib * kGib;
    case ClaimOf::microbatchesTooFew:
        return static_cast<double>(schedule.ranks) - static_cast<double>(schedule.microbatches) / schedule.slices;
    }
    ADD_FAILURE() << "a claim that nobody can prove";
    return 0;
}

/// "tp 16 → 8, dp 4 → 8": what stands in an edit is what the scenario had, and what it has with the edit.
void expectEditSaysWhatItDoes(const SuggestedEdit& edit, const Scenario& before, const Scenario& after)
{
    const std::map<std::string, int (*)(const Scenario&)> values{
        {"tp", [](const Scenario& s) { return s.layout.tp; }},
        {"cp", [](const Scenario& s) { return s.layout.cp; }},
        {"ep", [](const Scenario& s) { return s.layout.ep; }},
        {"etp", [](const Scenario& s) { return s.layout.etp; }},
        {"pp", [](const Scenario& s) { return s.layout.pp; }},
        {"dp", [](const Scenario& s) { return s.layout.dp; }},
        {"nodes", [](const Scenario& s) { return s.cluster.nodes; }},
        {"ZeRO", [](const Scenario& s) { return s.layout.zeroStage; }},
        {"shard group", [](const Scenario& s) { return s.layout.dpShard; }},
        {"micro-batch", [](const Scenario& s) { return s.training.microBatchSize; }},
        {"global batch", [](const Scenario& s) { return s.training.globalBatchSize; }},
        {"chunks a rank", [](const Scenario& s) { return s.schedule.virtualStages; }}};
    std::string text = edit.text;
    static const std::regex kArrow("(^|, )([a-zA-Z][a-zA-Z -]*) ([0-9]+) → ([0-9]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), kArrow), end; at != end; ++at) {
        const auto value = values.find((*at)[2].str());
        if (value == values.end())
            continue; // "stage 0 10 → 8" has a test of its own
        EXPECT_EQ(std::stoi((*at)[3]), value->second(before)) << edit.text;
        EXPECT_EQ(std::stoi((*at)[4]), value->second(after)) << edit.text;
    }
}

class FindingClaims : public testing::Test {
protected:
    void prove(const Opened& opened)
    {
        for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue())) {
            SCOPED_TRACE(finding.title + " | " + finding.reason);
            ++m_kinds[finding.kind];
            const std::string rest = withoutClaims(finding, opened.simulation->scenario());
            EXPECT_FALSE(std::regex_search(rest, std::regex("[0-9]"))) << "a number that is no claim: " << rest;
            static const std::regex kComparison(
                "\\b(more|less|fewer|fewest|longer|longest|shorter|faster|slower|slowest|same|twice|double|half|halves|larger|"
                "largest|smaller|smallest|greater|higher|lower|equally|too|most|least)\\b",
                std::regex::icase);
            EXPECT_FALSE(std::regex_search(rest, kComparison)) << "a comparison that is no claim: " << rest;
            for (const SuggestedEdit& edit : finding.suggestions)
                expectEditSaysWhatItDoes(edit, opened.simulation->scenario(),
                                         scenarioWith(edit, opened.document, test::catalogue()).value());
            const Prover prover(opened, finding);
            for (const Claim& claim : finding.claims) {
                SCOPED_TRACE(claim.text);
                EXPECT_NE((finding.title + " " + finding.reason).find(claim.text), std::string::npos) << "not said";
                const double again = prover.again(claim);
                EXPECT_LE(std::abs(again - claim.value), 1e-6 * std::abs(again) + 1e-9) << claim.value << " is " << again;
                // What is read is what is meant: three digits.
                if (std::isdigit(static_cast<unsigned char>(claim.text.front())) != 0 && claim.of != ClaimOf::idealBubble) {
                    EXPECT_NEAR(asRead(claim.text), std::abs(again), 0.0051 * std::abs(again) + 0.00051) << claim.text;
                }
                m_claims.insert(claim.of);
            }
        }
    }
    /// "12.3 % less" is 0.123, "71.2 GiB" so many bytes.
    static double asRead(const std::string& text)
    {
        std::string number = text;
        std::erase(number, ',');
        double value = std::stod(number);
        const auto unit = number.substr(std::min(number.size(), number.find(' ') + 1));
        const std::map<std::string, double> units{{"%", 0.01},     {"ms", 1e-3},       {"µs", 1e-6},  {"ns", 1e-9},
                                                  {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", kGib}, {"TiB", 1024 * kGib}};
        for (const auto& [name, scale] : units)
            if (number.find(' ') != std::string::npos && unit.starts_with(name))
                return value * scale;
        return value;
    }

    std::map<FindingKind, int> m_kinds;
    std::set<ClaimOf> m_claims;
};

} // namespace

TEST_F(FindingClaims, OfTheGalleryAndOfEveryKindOfTroubleAreTrue)
{
    for (const auto& file : test::galleryFiles()) {
        SCOPED_TRACE(file.filename().string());
        if (const Opened opened = test::open(file); opened.simulation->metrics().worldSize <= 2048)
            prove(opened);
    }
    const std::string slow = R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":0.1,"latency_us":10}])";
    const std::vector<std::pair<const char*, std::vector<std::string>>> troubles = {
        {"17", {"cluster.gpu.memory_gib=17"}},
        {"17", {"cluster.gpu.memory_gib=18"}},
        {"17", {"cluster.gpu.memory_gib=20"}},
        {"73", {"schedule.memory_cap_gib=3"}},
        {"53", {"layout.zero_stage=0"}},
        {"02", {"layout.order=dp-tp-cp-ep-pp"}},
        {"02", {"layout.tp=4", "layout.dp=4", "cluster.gpus_per_node=6", "cluster.nodes=3"}},
        {"11", {"training.sequence_length=1024", "training.micro_batch_size=1"}},
        {"86", {"layout.zero_stage=1", "training.global_batch_size=8", "training.overlap.param_gather=false"}},
        {"86", {"layout.zero_stage=3", "training.global_batch_size=64", "training.overlap.grad_reduce=false"}},
        {"02", {"cluster.nodes=4"}},
        {"03", {"training.precision=fp32"}},
        {"10", {"training.precision=tf32"}},
        {"60", {"cluster=dgx-1-v100", "training.precision=fp32"}},
        {"01", {"training.overlap.grad_reduce=false"}},
        {"17", {"training.sequence_length=128", "training.micro_batch_size=1"}},
        {"51", {"training.sequence_length=256", "training.micro_batch_size=1"}},
        {"03",
         {"training.sequence_length=65536", "cluster.efficiency.attention_forward=0.2",
          "cluster.efficiency.attention_backward=0.2"}},
        {"18", {"schedule.microbatch_group=5", "training.micro_batch_size=1", "training.global_batch_size=14"}},
        {"61", {slow}},
        {"58", {slow}},
        {"18", {slow}},
        {"58", {slow, "layout.zero_stage=3"}},
        {"58", {"training.global_batch_size=2", "training.micro_batch_size=1"}},
        {"50", {"training.moe.imbalance=2"}},
        {"52", {"training.overlap.ep_comm=true"}},
        {"52", {"cluster.gpus_per_node=6", "cluster.nodes=43"}},
        {"50", {R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":10,"latency_us":10}])"}},
        {"02", {"training.overlap.tp_comm=true"}},
        {"17", {"training.offload.activation_layers=8"}},
        {"17", {"training.offload.optimizer=0.5", "cluster.host.memory_gib=1"}},
        {"86", {"training.offload.optimizer=1"}},
        {"01", {"perturbations=[{\"kind\":\"jitter\",\"sigma\":0.2,\"seed\":3}]"}},
    };
    for (const auto& [number, overrides] : troubles) {
        SCOPED_TRACE(std::string(number) + " " + testing::PrintToString(overrides));
        prove(test::openNumber(number, overrides));
    }
    for (int kind = 0; kind <= static_cast<int>(FindingKind::composition); ++kind)
        EXPECT_TRUE(m_kinds.contains(static_cast<FindingKind>(kind))) << "no job here has the finding number " << kind;
    for (int of = 0; of <= static_cast<int>(ClaimOf::hostHas); ++of)
        EXPECT_TRUE(m_claims.contains(static_cast<ClaimOf>(of))) << "nobody claims number " << of;
}

TEST_F(FindingClaims, OfRandomJobsAreTrue)
{
    std::mt19937 random(91);
    int jobs = 0;
    for (int i = 0; i < 250; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        if (scenario.schedule.kind == "auto")
            continue; // plans by costs of its own
        auto document = ScenarioDocument::parse(resolvedText(scenario));
        const auto resolved = document.resolve(test::catalogue());
        if (!resolved.scenario)
            continue;
        std::shared_ptr<const Simulation> simulation;
        try {
            simulation = simulate(*resolved.scenario);
        } catch (const Error&) { // an order that fits in so little memory does not exist
            continue;
        }
        prove({std::move(document), std::move(simulation)});
        ++jobs;
    }
    EXPECT_GT(jobs, 100);
}
