#include "sim/analysis/explain/explain_held.h"

#include "sim/analysis/explain/account.h"
#include "sim/program/states.h"
#include "sim/text/spoken_name.h"

#include <algorithm>

namespace sim {
namespace {

class HeldExplainer {
public:
    HeldExplainer(const Simulation& simulation, int rank, std::int64_t atNs)
        : m_simulation(simulation), m_rank(rank), m_held(simulation.memoryContents(simulation.classOf(rank), atNs)), m_atNs(atNs),
          m_when("at " + numberText(static_cast<double>(atNs) * 1e-9, Unit::seconds))
    {
    }

    Explanation all() const
    {
        Account account("Memory of rank " + numberText(m_rank, Unit::count) + " " + m_when, "M",
                        static_cast<double>(m_held.sum.total()), Unit::bytes);
        std::vector<Formula> parts;
        for (const MetricId id : {MetricId::parameterMemory, MetricId::gradientMemory, MetricId::optimizerMemory,
                                  MetricId::activationMemory, MetricId::bufferMemory})
            if (Explanation part = of(id); part.result.value != 0)
                parts.push_back(account.term(std::move(part)));
        return account.close(Formula::sum(std::move(parts)),
                             "Of several moments at that instant the fullest. What an allocator keeps beyond is not counted.",
                             kSimulated, show());
    }

    Explanation of(MetricId id) const
    {
        switch (id) {
        case MetricId::activationMemory:
            return activations();
        case MetricId::bufferMemory:
            return buffers();
        default:
            return sim::explain(m_simulation, id, m_rank); // the same all along
        }
    }

    Explanation of(HeldBuffer part) const
    {
        if (part == HeldBuffer::narrowWeights) {
            Account account("narrow copies of weights", "b_w", static_cast<double>(m_held.narrowWeights), Unit::bytes);
            return account.close(
                {},
                "What products in 8 or 4 bits read of the weights, forward and backward, is kept from step to step "
                "beside the weights in 16 bits.",
                kSimulated, show());
        }
        if (part == HeldBuffer::messageBuffers) {
            Account account("messages of other stages " + m_when, "b_m", static_cast<double>(m_held.messageBuffers), Unit::bytes);
            return account.close(
                {},
                "For each input and each gradient of the step there is a tensor from the beginning; an input that "
                "has come counts as its micro-batch's until its backward pass has ended. Gradients handed back, and "
                "the last stage's logits where the software gives them back, stay to the end of the step.",
                "torch/distributed/pipelining/stage.py, args_recv_info, grad_recv_info and output_chunks", show());
        }
        if (part == HeldBuffer::reductionBuffers)
            return reductionBuffers();
        if (part == HeldBuffer::startedAhead) {
            Account account("what the host has started ahead " + m_when, "b_a", static_cast<double>(m_held.startedAhead),
                            Unit::bytes);
            return account.close(
                {},
                "Parameters and gradients of passes that the GPU has not come to: an allocator gives memory when "
                "the host starts a kernel, which it does until " +
                    std::to_string(m_simulation.scenario().training.stack.reductionsAhead) + " reductions are to come.",
                kSimulated, show());
        }
        const bool gathered = part == HeldBuffer::gatheredParameters;
        Account account(std::string(gathered ? "gathered parameters " : "gradients not yet reduced ") + m_when,
                        gathered ? "b_p" : "b_g",
                        static_cast<double>(gathered ? m_held.gatheredParameters : m_held.wholeGradients), Unit::bytes);
        return account.close({},
                             gathered ? "Whole layers that are gathered from the shards of ZeRO 3 before they are computed with."
                             : addsUpWhole(m_simulation.scenario())
                                 ? "Gradients of layers add up whole until they are reduced: what that takes beyond the rank's "
                                   "shard of them, which is counted as its gradients."
                                 : "Whole gradients of layers whose reduction to the rank's shard is still to come.",
                             kSimulated, show());
    }

    Explanation microbatch(std::size_t index) const
    {
        const HeldMicrobatches& group = m_held.microbatches.at(index);
        const std::string stage = "stage " + std::to_string(group.stage);
        Account account("what one micro-batch keeps on " + stage + " " + m_when, "a", static_cast<double>(group.bytesEach),
                        Unit::bytes);
        const Formula all = account.term("M", static_cast<double>(group.bytes()), Unit::bytes, "all of them on " + stage);
        return account.close(all / account.term("n", static_cast<double>(group.microbatches.size()), Unit::count,
                                                m_simulation.schedule().slices > 1 ? "slices of micro-batches" : "micro-batches"),
                             "Tensors that its forward pass keeps for its backward pass.", kSimulated, show());
    }

    Explanation tensors(std::size_t index) const
    {
        const HeldTensors& tensor = m_held.tensors.at(index);
        Account account("what " + spokenOp(tensor.name) + " keeps " + m_when, "M_t", static_cast<double>(tensor.bytes),
                        Unit::bytes);
        double others = 0;
        for (const HeldTensors& each : m_held.tensors)
            others += each.name == tensor.name ? 0 : static_cast<double>(each.bytes);
        const Formula all =
            account.term("M_a", others + static_cast<double>(tensor.bytes), Unit::bytes, "activations of all operators");
        return account.close(all - account.term("M_o", others, Unit::bytes, "of the other operators"),
                             "Over all layers and micro-batches that the rank holds at that moment.", kSimulated, show());
    }

private:
    ShowHint show() const { return {.pictures = {"memory"}, .ranks = {m_rank}, .range = TimeSpan{m_atNs, m_atNs + 1}}; }

    Explanation activations() const
    {
        Account account("activations " + m_when, "M_a", static_cast<double>(m_held.sum.activations), Unit::bytes);
        std::vector<Formula> parts;
        std::int64_t told = 0;
        constexpr std::size_t kMostListed = 12;
        for (const HeldMicrobatches& group : m_held.microbatches) {
            if (parts.size() == kMostListed)
                break;
            const std::string number = std::to_string(parts.size());
            const std::string stage = "stage " + std::to_string(group.stage);
            const Formula count = account.term("n_" + number, static_cast<double>(group.microbatches.size()), Unit::count,
                                               "micro-batches whose backward pass is to come on " + stage);
            parts.push_back(
                count * account.term("a_" + number, static_cast<double>(group.bytesEach), Unit::bytes, "that one keeps there"));
            told += group.bytes();
        }
        if (told != m_held.sum.activations)
            parts.push_back(account.term("a_rest", static_cast<double>(m_held.sum.activations - told), Unit::bytes,
                                         "of other stages, and what a running pass has taken"));
        return account.close(Formula::sum(std::move(parts)), "Tensors that forward passes keep for their backward passes.",
                             kSimulated, show());
    }

    /// A buffer of so many elements, and what is joined of it.
    Explanation reductionBuffers() const
    {
        const Training& training = m_simulation.scenario().training;
        const double bytesEach = StateBytes::of(training).gradient;
        const double bucket = static_cast<double>(training.stack.reduceBucket);
        Account account("where gradients are reduced", "b_r", static_cast<double>(m_held.reductionBuffers), Unit::bytes);
        const double joined = static_cast<double>(m_held.reductionBuffers) / bytesEach - bucket;
        const Formula elements = account.term("B", bucket, Unit::count, "gradients that come together in one buffer") +
                                 account.term("J", joined, Unit::count, "of them joined in another, which is reduced");
        return account.close(elements * account.term("b", bytesEach, Unit::bytes, "of each"),
                             "Both are there from step to step: the second is memory of the reduction's stream, which an "
                             "allocator gives to no other.",
                             "DeepSpeed's contiguous_gradients and reduce_bucket_size", show());
    }

    Explanation buffers() const
    {
        Account account("buffers " + m_when, "M_b", static_cast<double>(m_held.sum.buffers), Unit::bytes);
        std::vector<Formula> parts;
        const auto add = [&](const char* symbol, std::int64_t bytes, const char* meaning) {
            if (bytes != 0)
                parts.push_back(account.term(symbol, static_cast<double>(bytes), Unit::bytes, meaning));
        };
        add("b_w", m_held.narrowWeights, "narrow copies of weights, which products read");
        add("b_m", m_held.messageBuffers, "where messages of other stages arrive, and what is kept of them");
        add("b_r", m_held.reductionBuffers, "where gradients come together before they are reduced");
        add("b_p", m_held.gatheredParameters, "parameters gathered from their shards");
        add("b_g", m_held.wholeGradients, "gradients not yet reduced to the rank's shard");
        add("b_a", m_held.startedAhead, "of what the host has started ahead of the GPU");
        add("b_rest",
            m_held.sum.buffers - m_held.narrowWeights - m_held.messageBuffers - m_held.reductionBuffers -
                m_held.gatheredParameters - m_held.wholeGradients - m_held.startedAhead,
            "messages, workspace of kernels and of communication");
        return account.close(Formula::sum(std::move(parts)),
                             "What comes and goes beside activations, or is kept for computing alone.", kSimulated, show());
    }

    const Simulation& m_simulation;
    const int m_rank;
    const MemoryContents m_held;
    const std::int64_t m_atNs;
    const std::string m_when;
};

} // namespace

Explanation explainCapacity(const Simulation& simulation)
{
    const Gpu& gpu = simulation.scenario().cluster.gpu;
    Account account("Memory of a GPU", "M_gpu", gpu.memoryGib * 1073741824.0, Unit::bytes);
    return account.close({}, "As the type of GPU has it" + (gpu.name.empty() ? "." : ": " + gpu.name + "."), "");
}

Explanation explainHeld(const Simulation& simulation, HeldBuffer part, int rank, std::int64_t atNs)
{
    return HeldExplainer(simulation, rank, atNs).of(part);
}

Explanation explainHeldMicrobatch(const Simulation& simulation, int rank, std::int64_t atNs, std::size_t group)
{
    return HeldExplainer(simulation, rank, atNs).microbatch(group);
}

Explanation explainHeldTensors(const Simulation& simulation, int rank, std::int64_t atNs, std::size_t tensor)
{
    return HeldExplainer(simulation, rank, atNs).tensors(tensor);
}

Explanation explainHeld(const Simulation& simulation, MetricId part, int rank, std::int64_t atNs)
{
    const HeldExplainer held(simulation, rank, atNs);
    return part == MetricId::peakMemory ? held.all() : held.of(part);
}

} // namespace sim
