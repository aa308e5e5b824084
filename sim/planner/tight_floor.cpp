#include "sim/planner/tight_floor.h"

#include "sim/cost/cost.h"
#include "sim/index.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/planner/floors.h"
#include "sim/planner/stream_clock.h"
#include "sim/program/program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sim {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

/// StepFloor's.
using KnownEnds = std::function<std::span<const double>(int rank)>;

/// What a pass keeps, and takes at most.
struct PassBytes {
    double kept = 0, peak = 0;
};

PassBytes bytesOf(const Pass& pass)
{
    PassBytes bytes;
    for (const Op& op : pass.ops) {
        bytes.kept += static_cast<double>(op.allocBytes);
        bytes.peak = std::max(bytes.peak, bytes.kept);
        bytes.kept -= static_cast<double>(op.freeBytes);
    }
    return bytes;
}

/// Ranks of one pipeline do these together.
bool isJoint(CommunicatorRole group)
{
    return group == CommunicatorRole::embd || group == CommunicatorRole::copies;
}

/// Waits for something that a pass before it has issued, other than kernels and its message; or ranks of other replicas or stages
/// take part in it.
bool reachesOut(const Pass& pass)
{
    auto here = static_cast<StreamMask>(maskOf(Stream::compute) | maskOf(Stream::receive));
    for (const Op& op : pass.ops) {
        if ((op.waits & ~here) != 0 || (maskOf(op.stream) & kDataParallelStreams) != 0 || isJoint(op.group))
            return true;
        here |= maskOf(op.stream);
    }
    return false;
}

/// Of a stage without layers: it hands on what it gets, and no kernel waits for that.
bool onlyHandsOn(const Pass& pass)
{
    return std::none_of(pass.ops.begin(), pass.ops.end(), [](const Op& op) { return op.stream == Stream::compute; });
}

/// A program at the prices of ranks that lie in one way.
class PricedFor {
public:
    PricedFor(const Scenario& scenario, const CostModel& cost, const Program& program, const GroupGeometry& geometry)
        : m_besideTransfers(scenario.cluster.efficiency.besideTransfers), m_alone(program.passes.size())
    {
        const OpDurations durations = cost.price(program, geometry);
        const std::vector<PassLaunches> launches = cost.launches(program);
        for (std::size_t p = 0; p < program.passes.size(); ++p)
            m_passes.push_back(
                pricePass(cost, program.passes[p], durations[p], geometry, launches.empty() ? nullptr : &launches[p]));
    }
    const PricedPass& pass(std::size_t p) const { return m_passes[p]; }

    struct Alone {
        StreamClock clock;
        double sent = 0; ///< when its message is ready
        double sendNs = 0;
        OpPorts sendPorts{};
    };
    /// From its beginning on, with a message that takes so long and uses those ports.
    const Alone& alone(std::size_t p, double sendNs, const OpPorts& sendPorts)
    {
        std::vector<Alone>& known = m_alone[p];
        for (const Alone& of : known)
            if (of.sendNs == sendNs && of.sendPorts == sendPorts)
                return of;
        Alone& made = known.emplace_back(Alone{StreamClock(m_besideTransfers, StreamClock::Begin::ofPass), 0, sendNs, sendPorts});
        made.sent = made.clock.run(m_passes[p], 0, m_passes[p].ops.size(), sendNs, sendPorts);
        return made;
    }

private:
    double m_besideTransfers;
    std::vector<PricedPass> m_passes;
    std::vector<std::vector<Alone>> m_alone; ///< [pass]
};

/// Ranks that make up one pipeline.
struct PipelineRanks {
    std::vector<int> ranks;
    std::vector<std::size_t> geometry; ///< [pipeline coordinate]
    std::vector<int> tiers;            ///< [pipeline coordinate]: between it and the next
    bool liesLike(const PipelineRanks& other) const { return geometry == other.geometry && tiers == other.tiers; }
};

/// Pipelines that lie differently on their nodes: as many as there are, or so many of them.
constexpr std::size_t kMostPipelines = 8;

std::vector<PipelineRanks> pipelinesOf(const Scenario& scenario, const Mesh& mesh, const Placement& placement,
                                       std::vector<GroupGeometry>& geometries)
{
    const Layout& layout = scenario.layout;
    const int perNode = gpusTogether(scenario.cluster);
    const bool repeats = layout.placement == PlacementRule::packed && domainsHoldBlocks(scenario);
    std::vector<PipelineRanks> pipelines;
    std::set<std::pair<int, int>> seen; // where first ranks lie in a node, and in their group of tensor parallelism
    const int replicas = layout.cp * layout.dp;
    const CardsOfRoles cards = cardsOfRoles(scenario, mesh, placement);
    const int lanes = perNode % layout.tp == 0 || layout.placement != PlacementRule::packed ? 1 : layout.tp;
    for (int replica = 0; replica < replicas; ++replica)
        for (int t = 0; t < lanes && pipelines.size() < kMostPipelines; ++t) {
            const auto rankAt = [&](int p) { return mesh.rank(t, replica % layout.cp, replica / layout.cp, p); };
            if (!seen.insert({layout.placement == PlacementRule::packed ? (rankAt(0) - t) % perNode : 0, t}).second)
                continue;
            PipelineRanks of;
            for (int p = 0; p < layout.pp; ++p)
                of.ranks.push_back(rankAt(p));
            for (int p = 0; p < layout.pp; ++p) {
                const int rank = of.ranks[asIndex(p)];
                of.tiers.push_back(placement.tierBetween(rank, of.ranks[asIndex((p + 1) % layout.pp)]));
                if (p > 0 && repeats && (rank - of.ranks[asIndex(p - 1)]) % perNode == 0) {
                    of.geometry.push_back(of.geometry.back()); // lies on its nodes as the one before does
                    continue;
                }
                const GroupGeometry here = groupGeometryAt(scenario, mesh, placement, cards, rank);
                const auto known = std::find(geometries.begin(), geometries.end(), here);
                of.geometry.push_back(asIndex(known - geometries.begin()));
                if (known == geometries.end())
                    geometries.push_back(here);
            }
            if (std::none_of(pipelines.begin(), pipelines.end(), [&](const PipelineRanks& other) { return other.liesLike(of); }))
                pipelines.push_back(std::move(of));
        }
    return pipelines;
}

/// Nothing makes one replica other than the next: where one pipeline lies like the next, all do the same at the same time.
bool replicasAreAlike(const Scenario& scenario)
{
    const auto world = scenario.layout.worldSize();
    const int perNode = gpusTogether(scenario.cluster);
    return scenario.perturbations.empty() && !scenario.training.documents.areGiven() &&
           scenario.layout.placement == PlacementRule::packed && (world <= perNode || world % perNode == 0) &&
           domainsHoldBlocks(scenario);
}

/// [step]: when the last kernel of a class's program up to that step has ended, as far as is known.
std::vector<double> kernelEnds(const PreparedStep& step, const EngineProgress& progress, int classIndex)
{
    const auto c = asIndex(classIndex);
    std::vector<double> ends;
    double end = 0;
    std::size_t place = progress.times.firstOp[c];
    for (const Step& of : step.program.ranks[asIndex(step.classes.pipelineRank[c])].steps) {
        for (const Op& op : step.program.passes[of.pass].ops) {
            if (place >= progress.kernelsTo[c])
                return ends;
            if (op.stream == Stream::compute)
                end = static_cast<double>(progress.times.opEndNs[place]);
            ++place;
        }
        ends.push_back(end);
    }
    return ends;
}

/// When the last op of a pipeline can have ended at the earliest.
class PipelineWalk {
public:
    PipelineWalk(const Scenario& scenario, const CostModel& cost, const Program& program, std::vector<bool> goesByOps)
        : m_besideTransfers(scenario.cluster.efficiency.besideTransfers), m_program(program), m_goesByOps(std::move(goesByOps))
    {
        for (const Pass& pass : program.passes)
            m_hasJoint.push_back(std::any_of(pass.ops.begin(), pass.ops.end(), [](const Op& op) { return isJoint(op.group); }));
        for (int tier = 0; tier < static_cast<int>(scenario.cluster.tiers.size()); ++tier) {
            const std::int64_t ns = cost.sendNs(program.sendBytes, tier);
            m_sendNs.push_back(static_cast<double>(ns));
            m_sendPorts.push_back(portsOf(cost.sendUse(program.sendBytes, tier, ns), m_sendNs.back()));
        }
    }

    double endNs(const PipelineRanks& pipeline, std::vector<PricedFor>& prices, const Placement& placement,
                 StreamClock::Replicas replicas, const KnownEnds& knownOf) const
    {
        struct Standing {
            StreamClock clock;
            std::size_t step = 0;
            std::vector<double> mailbox;
            std::size_t op = 0;
            std::array<double, 2> joins{kNotYet, kNotYet}; ///< when it came to what it does with the last, the other copy
            int peer = -1;                                 ///< that it sent to last, and over which tier
            std::size_t tier = 0;
            std::span<const double> known; ///< [step]
        };
        const std::size_t ranks = m_program.ranks.size();
        std::vector<Standing> standing(
            ranks, {.clock = StreamClock(m_besideTransfers, StreamClock::Begin::ofStep, replicas), .mailbox = {}});
        for (std::size_t r = 0; r < ranks; ++r) {
            standing[r].mailbox.assign(asIndex(m_program.ranks[r].slots), kNotYet);
            if (knownOf)
                standing[r].known = knownOf(pipeline.ranks[r]);
        }
        // Whether all have come that do it together, and when the last has.
        const auto joint = [&](std::size_t r, CommunicatorRole role) {
            double latest = 0;
            const std::size_t which = role == CommunicatorRole::embd ? 0 : 1;
            const std::size_t last = ranks - 1;
            for (const std::size_t other : which == 0 ? std::array{std::size_t{0}, last} : std::array{r, last - r})
                latest = std::max(latest, standing[other].joins[which]);
            return latest;
        };
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t r = 0; r < ranks; ++r) {
                Standing& here = standing[r];
                PricedFor& priced = prices[pipeline.geometry[r]];
                const std::vector<Step>& steps = m_program.ranks[r].steps;
                for (; here.step < steps.size(); ++here.step) {
                    const Step& step = steps[here.step];
                    const bool receives = step.receiveSlot != kNoSlot;
                    const double arrival = receives ? here.mailbox[asIndex(step.receiveSlot)] : StreamClock::kLongAgo;
                    if (arrival == kNotYet)
                        break;
                    const bool sends = step.sendSlot != kNoSlot && step.sendTo >= 0;
                    if (sends && step.sendTo != here.peer) {
                        here.peer = step.sendTo;
                        here.tier = asIndex(placement.tierBetween(pipeline.ranks[r], pipeline.ranks[asIndex(step.sendTo)]));
                    }
                    const double sendNs = sends ? m_sendNs[here.tier] : 0;
                    const OpPorts sendPorts = sends ? m_sendPorts[here.tier] : OpPorts{};
                    double sent = 0;
                    const double begin = std::max(here.clock.tail(Stream::compute), arrival);
                    if (m_goesByOps[step.pass] ||
                        here.clock.isBesideFrom(begin)) { // some of it goes before its message is there: gathers, what runs again
                        const PricedPass& pass = priced.pass(step.pass);
                        if (receives)
                            here.clock.setTail(Stream::receive, arrival);
                        bool waits = false;
                        while (here.op < pass.ops.size() && !waits) {
                            const PricedOp& op = pass.ops[here.op];
                            const std::size_t to = m_hasJoint[step.pass] ? here.op + 1 : pass.ops.size();
                            if (m_hasJoint[step.pass] && isJoint(op.group)) {
                                double& joins = here.joins[op.group == CommunicatorRole::embd ? 0 : 1];
                                moved = moved || joins == kNotYet;
                                joins = here.clock.readyNs(op);
                                const double latest = joint(r, op.group);
                                waits = latest == kNotYet;
                                if (waits)
                                    break;
                                here.clock.holdUntil(op.stream, latest);
                            }
                            sent = std::max(sent, here.clock.run(pass, here.op, to, sendNs, sendPorts));
                            here.op = to;
                        }
                        if (waits)
                            break;
                        here.op = 0;
                    } else {
                        const PricedFor::Alone& alone = priced.alone(step.pass, sendNs, sendPorts);
                        sent = begin + alone.sent;
                        here.clock.append(alone.clock, arrival);
                    }
                    if (here.step < here.known.size())
                        here.clock.holdUntil(Stream::compute, here.known[here.step]);
                    if (sends)
                        standing[asIndex(step.sendTo)].mailbox[asIndex(step.sendSlot)] = sent + sendNs;
                    moved = true;
                }
            }
        }
        double end = 0;
        for (const Standing& here : standing)
            end = std::max(end, here.clock.endNs());
        return end;
    }

private:
    double m_besideTransfers;
    const Program& m_program;
    std::vector<bool> m_goesByOps, m_hasJoint; ///< [pass]
    std::vector<double> m_sendNs;              ///< [tier]
    std::vector<OpPorts> m_sendPorts;
};

} // namespace

struct StepFloor::Parts {
    Placement placement;
    std::vector<PricedFor> prices; ///< [geometry]
    std::vector<PipelineRanks> pipelines;
    StreamClock::Replicas replicas = StreamClock::Replicas::differ;
    PipelineWalk walk;
};

StepFloor::StepFloor(const Scenario& scenario, const Program& program)
{
    const CostModel cost(scenario);
    const Mesh mesh(scenario.layout);
    const Placement placement(scenario.layout, scenario.cluster);
    std::vector<bool> reaches;
    for (const Pass& pass : program.passes)
        reaches.push_back(reachesOut(pass) || beginsBeforeMessage(pass) || onlyHandsOn(pass));
    m_parts =
        std::make_unique<Parts>(Parts{.placement = placement, .walk = PipelineWalk(scenario, cost, program, std::move(reaches))});
    std::vector<GroupGeometry> geometries;
    m_parts->pipelines = pipelinesOf(scenario, mesh, placement, geometries);
    m_parts->prices.reserve(geometries.size());
    for (const GroupGeometry& geometry : geometries)
        m_parts->prices.emplace_back(scenario, cost, program, geometry);
    if (m_parts->pipelines.size() == 1 && replicasAreAlike(scenario))
        m_parts->replicas = StreamClock::Replicas::areAlike;
}

StepFloor::~StepFloor() = default;

double StepFloor::ns(const KnownEnds& known)
{
    double ns = 0;
    for (const PipelineRanks& pipeline : m_parts->pipelines)
        ns = std::max(ns, m_parts->walk.endNs(pipeline, m_parts->prices, m_parts->placement, m_parts->replicas, known));
    return ns;
}

double StepFloor::ns(const PreparedStep& step, const EngineProgress& progress)
{
    std::map<int, std::vector<double>> ends; // [class][step]
    return ns([&](int rank) -> std::span<const double> {
        const int c = step.classes.classOf[asIndex(rank)];
        const auto [known, isNew] = ends.try_emplace(c);
        if (isNew)
            known->second = kernelEnds(step, progress, c);
        return known->second;
    });
}

TightFloor tightFloor(const Scenario& scenario, const Schedule& schedule)
{
    const Program program = lowerProgram(scenario, schedule);
    TightFloor floor{.stepNs = StepFloor(scenario, program).ns()};
    std::vector<PassBytes> bytes;
    for (const Pass& pass : program.passes)
        bytes.push_back(bytesOf(pass));
    for (std::size_t r = 0; r < program.ranks.size(); ++r) {
        double held = 0, peak = 0;
        for (const Step& step : program.ranks[r].steps) {
            peak = std::max(peak, held + bytes[step.pass].peak);
            held += bytes[step.pass].kept;
        }
        const ModelStates& states = program.ranks[r].states;
        peak += static_cast<double>(states.parameters + states.gradients + states.optimizer + states.buffers);
        if (peak > floor.peakBytes) {
            floor.peakBytes = peak;
            floor.fullestRank = static_cast<int>(r);
        }
    }
    return floor;
}

} // namespace sim
