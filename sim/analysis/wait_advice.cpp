#include "sim/analysis/wait_advice.h"

#include "sim/analysis/explain/closed_forms.h"
#include "sim/index.h"
#include "sim/text/number_text.h"

#include <algorithm>

namespace sim {
namespace {

class Adviser {
public:
    Adviser(const Simulation& simulation, const WaitChain& chain)
        : m_simulation(simulation), m_scenario(simulation.scenario()), m_chain(chain)
    {
    }

    std::string advice() const
    {
        if (m_chain.links.empty())
            return {};
        if (const auto slow = slowClass())
            return "another " + std::string(m_simulation.classes().slowdown[asIndex(*slow)].compute > 1 ? "GPU" : "link") +
                   " for rank " + std::to_string(m_simulation.representative(*slow)) + ", which is slow";
        const WaitLink& longest =
            *std::max_element(m_chain.links.begin(), m_chain.links.end(),
                              [](const WaitLink& a, const WaitLink& b) { return a.lengthNs() < b.lengthNs(); });
        switch (longest.kind) {
        case WaitLink::Kind::collective:
            return ofCollective(longest);
        case WaitLink::Kind::copy:
            return "less offloading: the link to the host is the limit";
        default:
            return ofPipeline();
        }
    }

private:
    /// Of the links, one that a perturbation makes longer.
    std::optional<int> slowClass() const
    {
        const auto found = std::find_if(m_chain.links.begin(), m_chain.links.end(),
                                        [&](const WaitLink& link) { return isSlowed(m_simulation, link.classIndex); });
        return found == m_chain.links.end() ? std::nullopt : std::optional(found->classIndex);
    }

    std::string moreMicrobatches() const
    {
        return "a larger batch: more than " + std::to_string(m_scenario.microbatches()) +
               " micro-batches a step do more work for the same traffic";
    }

    std::string ofCollective(const WaitLink& link) const
    {
        const Overlap& overlap = m_scenario.training.overlap;
        const std::size_t place = link.place;
        const auto c = asIndex(link.classIndex);
        const RankProgram& program = m_simulation.program().ranks[asIndex(m_simulation.classes().pipelineRank[c])];
        std::size_t first = m_simulation.times().firstOp[c];
        for (std::int32_t step = 0; step < link.step; ++step)
            first += m_simulation.program().passes[program.steps[asIndex(step)].pass].ops.size();
        const Op& op = m_simulation.program().passes[program.steps[asIndex(link.step)].pass].ops[place - first];
        const bool ofGradients = m_simulation.program().labels[op.label].starts_with("grad.");
        switch (dimensionOf(op.group)) {
        case Dimension::tp:
            if (!m_scenario.layout.sequenceParallel)
                return "sequence parallelism, which shares out what lies between the products";
            if (!overlap.tpComm)
                return "overlapped tensor-parallel communication, which cuts products into pieces that hide it";
            return "a smaller tp: each product is then larger and fewer collectives are on the way";
        case Dimension::cp:
            return "a smaller cp, or longer sequences: attention then hides the ring";
        case Dimension::ep:
            return overlap.epComm
                       ? "a smaller ep: fewer tokens leave the GPU"
                       : "overlapped expert communication, which runs one micro-batch's forward beside another's backward";
        default:
            break;
        }
        if (ofGradients)
            return overlap.gradReduce ? moreMicrobatches()
                                      : "overlapped gradient reduction, which sends gradients while the backward pass still runs";
        return overlap.paramGather
                   ? moreMicrobatches()
                   : "overlapped gathering of parameters, which gathers parameters while the layers before them compute";
    }

    std::string ofPipeline() const
    {
        const Layout& layout = m_scenario.layout;
        if (layout.pp == 1)
            return {};
        const std::string& kind = m_scenario.schedule.kind;
        const bool atEnds = m_chain.gap.beginNs == 0 || !m_chain.gap.next;
        const auto uneven = unevenStages(m_simulation.metrics());
        constexpr double kWorthTelling = 0.05;
        if (!atEnds && uneven && uneven->lag > kWorthTelling)
            return "fewer layers on pipeline rank " + std::to_string(uneven->slowest) + ", which computes " +
                   percentText(uneven->lag) + " longer than the mean";
        if (!m_scenario.training.overlap.p2p)
            return "overlapped messages of the pipeline, which are sent while the next pass computes";
        if (m_scenario.schedule.virtualStages == 1 && (kind == "1f1b" || kind == "gpipe"))
            return "the interleaved schedule: with 2 chunks a rank the pipeline fills and drains in half the time";
        return moreMicrobatchesFor(atEnds ? "filling and draining" : "waiting");
    }
    std::string moreMicrobatchesFor(const char* what) const
    {
        return "more than " + std::to_string(m_scenario.microbatches()) + " micro-batches a step: " + what +
               " then is a smaller part of it";
    }

    const Simulation& m_simulation;
    const Scenario& m_scenario;
    const WaitChain& m_chain;
};

} // namespace

bool isSlowed(const Simulation& simulation, int classIndex)
{
    const RankSlowdown& slow = simulation.classes().slowdown[asIndex(classIndex)];
    return slow.compute > 1 || slow.link > 1;
}

std::string waitAdvice(const Simulation& simulation, const WaitChain& chain)
{
    return Adviser(simulation, chain).advice();
}

} // namespace sim
