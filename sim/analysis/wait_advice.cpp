#include "sim/analysis/wait_advice.h"

#include "sim/analysis/balanced_layers.h"
#include "sim/analysis/explain/closed_forms.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/legal/legal.h"
#include "sim/program/states.h"
#include "sim/scenario/balanced_layers.h"
#include "sim/scenario/usual_overlap.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace sim {
namespace {

/// Ops from which a step takes longer to simulate than a person who points at something waits.
constexpr std::int64_t kMostOps = 150'000;
constexpr double kWorthTelling = 0.005; ///< of the time a token

/// An axis gives a factor of two to data parallelism; what followed from the sizes follows again.
void halve(Scenario& scenario, int Layout::*axis)
{
    Layout& layout = scenario.layout;
    const bool shardsAll = layout.dpShard == layout.dp * layout.cp, cutsExperts = layout.etp == layout.tp;
    layout.*axis /= 2;
    layout.dp *= 2;
    if (shardsAll)
        layout.dpShard = layout.dp * layout.cp;
    if (cutsExperts)
        layout.etp = layout.tp;
}

void interleave(Scenario& scenario)
{
    scenario.schedule.kind = "interleaved-1f1b";
    scenario.schedule.virtualStages = 2;
    scenario.schedule.microbatchGroup = scenario.layout.pp;
    scenario.schedule.layersPerStage = balancedLayers(scenario.model.numHiddenLayers, scenario.stages());
}

double secondsOfToken(const Simulation& simulation)
{
    return 1 / simulation.metrics().tokensPerSecond;
}

struct Idea {
    std::string text;
    Scenario scenario; ///< with it
    bool isOfBatch = false;
};

/// What might help: a handful.
class Ideas {
public:
    Ideas(const Simulation& simulation, const WaitChain& chain)
        : m_simulation(simulation), m_scenario(simulation.scenario()), m_chain(chain)
    {
    }

    std::vector<Idea> list()
    {
        if (m_chain.links.empty())
            return {};
        if (const auto slow = slowClass()) {
            const int rank = m_simulation.representative(*slow);
            add("another " + std::string(m_simulation.classes().slowdown[asIndex(*slow)].compute > 1 ? "GPU" : "link") +
                    " for rank " + std::to_string(rank) + ", which is slow",
                [rank](Scenario& s) {
                    std::erase_if(s.perturbations, [rank](const Perturbation& p) {
                        const bool isSlow = p.kind == PerturbationKind::slowGpu || p.kind == PerturbationKind::slowLink;
                        return isSlow && p.rank == rank;
                    });
                });
            return std::move(m_ideas);
        }
        const WaitLink& longest =
            *std::max_element(m_chain.links.begin(), m_chain.links.end(),
                              [](const WaitLink& a, const WaitLink& b) { return a.lengthNs() < b.lengthNs(); });
        if (longest.kind == WaitLink::Kind::collective)
            collective(longest);
        else if (longest.kind == WaitLink::Kind::copy)
            add(std::string("no offloading: the ") + (isHostsWork(longest) ? "host's memory" : "link to the host") +
                    " is the limit",
                [](Scenario& s) { s.training.offload = {}; });
        else if (longest.kind == WaitLink::Kind::launch && m_scenario.training.stack.stepMs > 0 &&
                 opOf(longest).purpose == OpPurpose::optimizer)
            largerBatch("for the same work of the host before the optimizer");
        else if (longest.kind == WaitLink::Kind::launch)
            launch();
        else
            pipeline();
        return std::move(m_ideas);
    }

private:
    template <typename F>
    void add(std::string text, F change, bool isOfBatch = false)
    {
        Idea next{std::move(text), m_scenario, isOfBatch};
        change(next.scenario);
        m_ideas.push_back(std::move(next));
    }

    /// Of the links, one that a perturbation makes longer.
    std::optional<int> slowClass() const
    {
        const auto found = std::find_if(m_chain.links.begin(), m_chain.links.end(), [&](const WaitLink& link) {
            return link.kind != WaitLink::Kind::launch && isSlowed(m_simulation, link.classIndex);
        });
        return found == m_chain.links.end() ? std::nullopt : std::optional(found->classIndex);
    }

    /// Of a copy: the host's optimizer, not on its way there or back.
    bool isHostsWork(const WaitLink& link) const
    {
        const Program& program = m_simulation.program();
        const RankProgram& ofRank = program.ranks[asIndex(m_simulation.classes().pipelineRank[asIndex(link.classIndex)])];
        std::size_t first = m_simulation.times().firstOp[asIndex(link.classIndex)];
        for (int step = 0; step < link.step; ++step)
            first += program.passes[ofRank.steps[asIndex(step)].pass].ops.size();
        return program.passes[ofRank.steps[asIndex(link.step)].pass].ops[link.place - first].stream == Stream::host;
    }

    /// On as many GPUs.
    void half(const char* text, int Layout::*axis)
    {
        if (m_scenario.layout.*axis % 2 == 0)
            add(text, [axis](Scenario& s) { halve(s, axis); });
    }

    void largerBatch(const std::string& why)
    {
        add(
            "twice the batch: " + std::to_string(2 * m_scenario.microbatches()) + " micro-batches a step " + why,
            [](Scenario& s) { s.training.globalBatchSize *= 2; }, true);
    }

    /// Of the same batch.
    void microBatches(bool larger, const std::string& why)
    {
        const int size = m_scenario.training.microBatchSize, to = larger ? 2 * size : size / 2;
        if (to > 0 && (!larger || m_scenario.microbatches() % 2 == 0))
            add("micro-batch " + std::to_string(size) + " → " + std::to_string(to) + ": " + why,
                [to](Scenario& s) { s.training.microBatchSize = to; });
    }

    void launch()
    {
        add("CUDA graphs, which launch the kernels of a step at once",
            [](Scenario& s) { s.training.stack.cudaGraphs = CudaGraphs::step; });
        microBatches(true, "half as many launches, each of a larger kernel");
        half("half of tp: each kernel is then larger, for the same launch", &Layout::tp);
    }

    const Op& opOf(const WaitLink& link) const
    {
        const RankProgram& program =
            m_simulation.program().ranks[asIndex(m_simulation.classes().pipelineRank[asIndex(link.classIndex)])];
        std::size_t first = m_simulation.times().firstOp[asIndex(link.classIndex)];
        for (std::int32_t step = 0; step < link.step; ++step)
            first += m_simulation.program().passes[program.steps[asIndex(step)].pass].ops.size();
        return m_simulation.program().passes[program.steps[asIndex(link.step)].pass].ops[link.place - first];
    }

    void collective(const WaitLink& link)
    {
        const Op& op = opOf(link);
        const bool ofGradients = m_simulation.program().labels[op.label].starts_with("grad.");
        switch (dimensionOf(op.group)) {
        case Dimension::tp:
            add("sequence parallelism, which shares out what lies between the products",
                [](Scenario& s) { s.layout.sequenceParallel = true; });
            add("overlapped tensor-parallel communication, which cuts products into pieces that hide it",
                [](Scenario& s) { s.training.overlap.tpComm = true; });
            if (!m_scenario.layout.sequenceParallel) // which only hides what it has cut
                add("sequence parallelism, and products in pieces that hide its communication", [](Scenario& s) {
                    s.layout.sequenceParallel = true;
                    s.training.overlap.tpComm = true;
                });
            microBatches(true, "half as many collectives, each with more work around it");
            half("half of tp: each product is then larger and fewer collectives are on the way", &Layout::tp);
            return;
        case Dimension::cp:
            half("half of cp: fewer blocks go round", &Layout::cp);
            return;
        case Dimension::ep:
            add("overlapped expert communication, which runs one micro-batch's forward beside another's backward",
                [](Scenario& s) { s.training.overlap.epComm = true; });
            if (m_scenario.layout.ep % 2 == 0)
                add("half of ep: fewer tokens leave the GPU", [](Scenario& s) { s.layout.ep /= 2; });
            return;
        default:
            break;
        }
        if (ofGradients)
            add("overlapped gradient reduction, which sends gradients while the backward pass still runs",
                [](Scenario& s) { s.training.overlap.gradReduce = true; });
        else
            add("overlapped gathering of parameters, which gathers parameters while the layers before them compute",
                [](Scenario& s) { s.training.overlap.paramGather = true; });
        if (reducesEveryMicrobatch(m_scenario) && m_scenario.microbatches() > 1)
            add("gradients reduced once a step, which each rank has whole until then",
                [](Scenario& s) { s.layout.reduceEachMicrobatch = false; });
        if (const int stage = m_scenario.layout.zeroStage; stage > 0 && !(stage == 2 && addsUpWhole(m_scenario)))
            add("ZeRO " + std::to_string(stage) + " → " + std::to_string(stage - 1) + ": " +
                    (stage == 3   ? "parameters stay whole and are not gathered layer by layer"
                     : stage == 2 ? "gradients stay whole and are reduced once a step"
                                  : "optimizer states stay whole, and no parameters are gathered"),
                [stage](Scenario& s) { setZeroStage(s, stage - 1); });
        microBatches(true, "half as many passes, each with more work beside the traffic");
        largerBatch("do more work for the same traffic");
    }

    void pipeline()
    {
        if (m_scenario.layout.pp == 1)
            return;
        const std::string& kind = m_scenario.schedule.kind;
        const bool atEnds = m_chain.gap.beginNs == 0 || !m_chain.gap.next;
        const auto uneven = unevenStages(m_simulation.metrics());
        constexpr double kClearly = 0.05;
        if (!atEnds && uneven && uneven->lag > kClearly)
            if (const auto layers = balancedLayers(m_simulation))
                add("fewer layers on pipeline rank " + std::to_string(uneven->slowest) + ", which computes " +
                        percentText(uneven->lag) + " longer than the mean",
                    [&](Scenario& s) { s.schedule.layersPerStage = *layers; });
        add("overlapped messages of the pipeline, which are sent while the next pass computes",
            [](Scenario& s) { s.training.overlap.p2p = true; });
        if (m_scenario.schedule.virtualStages == 1 && (kind == "1f1b" || kind == "gpipe") &&
            m_scenario.model.numHiddenLayers >= 2 * m_scenario.layout.pp)
            add("the interleaved schedule: with 2 chunks a rank the pipeline fills and drains in half the time", interleave);
        microBatches(false, "the pipeline fills and drains with shorter passes");
        largerBatch(std::string("make ") + (atEnds ? "filling and draining" : "waiting") + " a smaller part of it");
    }

    const Simulation& m_simulation;
    const Scenario& m_scenario;
    const WaitChain& m_chain;
    std::vector<Idea> m_ideas;
};

} // namespace

bool isSlowed(const Simulation& simulation, int classIndex)
{
    const RankSlowdown& slow = simulation.classes().slowdown[asIndex(classIndex)];
    return slow.compute > 1 || slow.link > 1;
}

/// Of the time a token; 1 where it cannot be, does not fit, or changes nothing.
const LikelyRatio& WaitAdviser::changeOf(const std::string& text, const Scenario& scenario)
{
    if (const auto known = m_changes.find(text); known != m_changes.end())
        return known->second;
    const auto change = [&] {
        if (scenario == m_simulation.scenario())
            return LikelyRatio();
        try {
            if (!isLegal(scenario))
                return LikelyRatio();
            const auto tried = simulate(scenario);
            const Metrics &before = m_simulation.metrics(), &after = tried->metrics();
            const bool counts = (after.fits || !before.fits) && (after.hostFits || !before.hostFits);
            return counts ? likelyRatio(m_simulation.scenario(), tried->scenario(),
                                        secondsOfToken(*tried) / secondsOfToken(m_simulation))
                          : LikelyRatio();
        } catch (const Error&) { // a schedule that cannot be made
            return LikelyRatio();
        }
    }; // cancelled: it is asked again
    return m_changes.emplace(text, change()).first->second;
}

std::string WaitAdviser::advice(const WaitChain& chain)
{
    if (m_simulation.metrics().simulatedOps > kMostOps)
        return "the step is too large to try edits here: see Findings";
    constexpr double kOfBatch = 0.4; ///< what such a gain counts: less than half of one that leaves the training as it is
    struct Worth {
        bool isTold = false; ///< the model can tell it from nothing
        double gain = 0;
        auto operator<=>(const Worth&) const = default;
    } best;
    std::string text;
    for (const Idea& idea : Ideas(m_simulation, chain).list()) {
        const LikelyRatio& change = changeOf(idea.text, idea.scenario);
        const double gain = 1 - change.predicted;
        const Worth worth{!change.isKnown() || change.canTell(), gain * (idea.isOfBatch ? kOfBatch : 1)};
        if (gain <= kWorthTelling || !(best < worth))
            continue;
        best = worth;
        const std::string sure = sureText(change);
        text = "try: " + idea.text + " (" + percentText(gain) + " less time a token" + (sure.empty() ? "" : ", " + sure) + ")";
    }
    return text;
}

} // namespace sim
