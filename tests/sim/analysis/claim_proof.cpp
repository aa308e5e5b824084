#include "tests/sim/analysis/claim_proof.h"

#include "sim/analysis/traffic/traffic.h"
#include "sim/cost/cost.h"
#include "sim/engine/priced_program.h"
#include "sim/mesh/subgroups.h"
#include "sim/model/operators.h"
#include "sim/schedule/evaluate.h"
#include "sim/simulate/exposed_transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <utility>

namespace test {
namespace {

using namespace sim;

constexpr double kGib = 1073741824.0;

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
    /// In how many places of the pipeline the model begins.
    int firstStages() const
    {
        const Schedule& schedule = m_simulation.schedule();
        int count = 0;
        for (int stage = 0; stage < schedule.stages(); ++stage)
            count += schedule.entersAt(stage) ? 1 : 0;
        return count;
    }
    /// Queries and keys of the largest product of unfused attention.
    std::pair<double, double> largestScores() const
    {
        std::pair<double, double> out;
        for (const Pass& pass : m_simulation.program().passes)
            for (std::size_t i = 0; i < pass.ops.size(); ++i)
                if (m_simulation.program().labels[pass.ops[i].label] == "attn.scores")
                    out = std::max(out, std::pair(static_cast<double>(pass.shapes[i].m), static_cast<double>(pass.shapes[i].n)));
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
    /// What all-to-alls are priced at, with what they lose to others that they meet; a mean rank's.
    double secondsOfExpertTransfers() const
    {
        const Program& program = m_simulation.program();
        double ns = 0;
        for (int rank = 0; rank < m_metrics.worldSize; ++rank) {
            const int c = m_simulation.classOf(rank);
            const std::size_t first = m_simulation.times().firstOp[static_cast<std::size_t>(c)];
            std::size_t place = first;
            for (const Step& each : program.ranks[static_cast<std::size_t>(m_simulation.mesh().coordinates(rank).pp)].steps)
                for (std::size_t i = 0; i < program.passes[each.pass].ops.size(); ++i, ++place)
                    if (program.passes[each.pass].ops[i].stream == Stream::ep)
                        ns += static_cast<double>(opDurationNs(m_simulation.prices(), m_simulation.classes(), program, c, each, i,
                                                               static_cast<std::int64_t>(place - first)) +
                                                  m_simulation.times().stretchedByNs(place));
        }
        return ns * 1e-9 / m_metrics.worldSize;
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
            scenario = scenarioWith(m_finding.suggestions.at(0), m_opened.document, catalogue()).value();
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
                                              {"recomputed FLOPs at peak speed", m_metrics.hfu - m_metrics.mfu},
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
    case ClaimOf::transferSeconds:
        return secondsOfExpertTransfers();
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
    case ClaimOf::gpusOfCard:
        return c.tiers[static_cast<std::size_t>(widestTier(claim.role))].gpusPerNic;
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
        return 1.0 * l.worldSize() / (l.pp * l.ep * l.etp) * firstStages();
    case ClaimOf::stateCopies:
        return m_simulation.mesh().groupSize(ProcessGroup::dp_cp) * firstStages();
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
    case ClaimOf::queriesOfKernel:
        return largestScores().first;
    case ClaimOf::sequenceLength:
        return largestScores().second;
    case ClaimOf::shareOfPeak:
        return m_metrics.hfu / busy();
    case ClaimOf::gemmEfficiency:
        return c.efficiency.gemm * t.stack.gemm * (isNarrow(t.precision) ? c.efficiency.fp8Gemm : 1);
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
            most = p.rank == m_finding.show.ranks.at(0) ? std::max(most, p.factor) : most;
        return most;
    }
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
        return schedule.ranks - schedule.microbatches; // slices are counted one by one there
    }
    ADD_FAILURE() << "a claim that nobody can prove";
    return 0;
}

} // namespace

double provenAgain(const Opened& opened, const sim::Finding& finding, const sim::Claim& claim)
{
    return Prover(opened, finding).again(claim);
}

} // namespace test
