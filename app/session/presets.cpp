#include "app/session/presets.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>

namespace app {
namespace {

/// Every GPU before the one that took its place in the same sort of machine.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kNextGpu{{{"v100-sxm2-32gb", "a100-sxm-80gb"},
                                                                                  {"a100-sxm-40gb", "h100-sxm"},
                                                                                  {"a100-sxm-80gb", "h100-sxm"},
                                                                                  {"a100-pcie-40gb", "h100-pcie"},
                                                                                  {"a100-pcie-80gb", "h100-pcie"},
                                                                                  {"h800-sxm", "h200-sxm"},
                                                                                  {"h100-sxm", "h200-sxm"},
                                                                                  {"h200-sxm", "b200-sxm"},
                                                                                  {"b200-sxm", "gb200"},
                                                                                  {"gb200", "gb300"},
                                                                                  {"mi250x-gcd", "mi300x"},
                                                                                  {"mi300x", "mi325x"},
                                                                                  {"tpu-v4", "tpu-v5p"},
                                                                                  {"rtx-3090", "rtx-4090"}}};

class Presets {
public:
    explicit Presets(const ScenarioState& state) : m_state(state), m_scenario(*state.lastLegal()) {}

    std::vector<Preset> all()
    {
        sizes();
        batches();
        hardware();
        memory();
        trouble();
        return std::move(m_out);
    }

private:
    using Steps = std::vector<std::pair<std::string_view, std::string>>;

    /// The same number of GPUs unless dp itself is set.
    void add(std::string name, std::string what, const Steps& steps)
    {
        Preset preset{.name = std::move(name), .what = std::move(what), .edit = {}, .whyNot = {}};
        sim::ScenarioDocument after = m_state.document();
        for (const auto& [pointer, json] : steps) {
            const ScenarioState now(after, m_state.lastLegal(), m_state.catalogue());
            const bool resizes = pointer == Control::dp;
            const Edit step = makeEdit(now, pointer, json, resizes ? LayoutRule::resize : LayoutRule::keepGpus);
            apply(after, step);
            preset.edit.assignments.insert(preset.edit.assignments.end(), step.assignments.begin(), step.assignments.end());
        }
        preset.edit.text = preset.name;
        const auto resolved = after.resolve(m_state.catalogue());
        if (!resolved.scenario) {
            const auto error = std::find_if(resolved.problems.begin(), resolved.problems.end(),
                                            [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
            preset.whyNot = error == resolved.problems.end() ? "not possible" : error->message;
        }
        m_out.push_back(std::move(preset));
    }

    static std::string text(int value) { return std::to_string(value); }

    void sizes()
    {
        const sim::Layout& l = m_scenario.layout;
        const int batch = m_scenario.training.globalBatchSize;
        add("Double the GPUs", "Twice the replicas share the same global batch", {{Control::dp, text(l.dp * 2)}});
        add("Double the GPUs and the batch", "Twice the replicas, each with as much to do as before",
            {{Control::dp, text(l.dp * 2)}, {Control::globalBatchSize, text(batch * 2)}});
        if (l.dp % 2 == 0)
            add("Halve the GPUs", "Half the replicas share the same global batch", {{Control::dp, text(l.dp / 2)}});
        if (l.tp % 2 == 0)
            add("Halve tensor parallelism", "Data parallelism takes the GPUs that become free", {{Control::tp, text(l.tp / 2)}});
        if (l.pp % 2 == 0)
            add("Halve the pipeline", "Data parallelism takes the GPUs that become free", {{Control::pp, text(l.pp / 2)}});
    }

    void batches()
    {
        const sim::Training& t = m_scenario.training;
        if (t.microBatchSize % 2 == 0)
            add("Halve the micro-batch", "Twice as many micro-batches of half the size",
                {{Control::microBatchSize, text(t.microBatchSize / 2)}});
        add("Double the micro-batch", "Half as many micro-batches of twice the size",
            {{Control::microBatchSize, text(t.microBatchSize * 2)}});
        if (t.globalBatchSize % 2 == 0)
            add("Twice the sequence, half the batch", "As many tokens a step as before",
                {{Control::sequenceLength, text(t.sequenceLength * 2)}, {Control::globalBatchSize, text(t.globalBatchSize / 2)}});
    }

    void hardware()
    {
        const std::string& gpu = m_scenario.cluster.gpu.base;
        const auto next = std::find_if(kNextGpu.begin(), kNextGpu.end(), [&](const auto& pair) { return pair.first == gpu; });
        if (next != kNextGpu.end()) {
            const auto& gpus = m_state.catalogue().gpus();
            const auto entry = std::find_if(gpus.begin(), gpus.end(), [&](const auto& e) { return e.id == next->second; });
            if (entry != gpus.end())
                add("Next GPU generation: " + entry->name, "The GPUs change, the links between them stay",
                    {{"/cluster/gpu", app::quoted(entry->id)}});
        }
        const auto& tiers = m_scenario.cluster.tiers;
        if (tiers.size() > 1) {
            std::vector<std::string> pointers;
            for (std::size_t i = 1; i < tiers.size(); ++i)
                pointers.push_back("/cluster/tiers/" + std::to_string(i) + "/bandwidth_gbs");
            Steps halved, doubled;
            for (std::size_t i = 1; i < tiers.size(); ++i) {
                halved.emplace_back(pointers[i - 1], jsonNumber(tiers[i].bandwidthGBs / 2));
                doubled.emplace_back(pointers[i - 1], jsonNumber(tiers[i].bandwidthGBs * 2));
            }
            add("Half the network", "Every link beyond " + sim::spokenNetwork(tiers.front().name) + " at half its bandwidth",
                halved);
            add("Twice the network", "Every link beyond " + sim::spokenNetwork(tiers.front().name) + " at twice its bandwidth",
                doubled);
        }
    }

    void memory()
    {
        constexpr std::array<std::string_view, 4> kZero{"Replicate everything (ZeRO 0)", "Shard the optimizer (ZeRO 1)",
                                                        "Shard optimizer and gradients (ZeRO 2)",
                                                        "Shard everything (ZeRO 3, FSDP)"};
        for (int stage = 0; stage < 4 && m_scenario.layout.dp * m_scenario.layout.cp > 1; ++stage) {
            if (stage != m_scenario.layout.zeroStage)
                add(std::string(kZero[static_cast<std::size_t>(stage)]),
                    "What data parallel ranks share out instead of each holding it", {{"/layout/zero_stage", text(stage)}});
        }
        if (m_scenario.training.recompute != sim::Recompute::full)
            add("Recompute whole layers", "Less memory for activations, one more forward pass",
                {{"/training/recompute", "\"full\""}});
        if (m_scenario.training.recompute != sim::Recompute::none)
            add("Recompute nothing", "Every activation is kept for the backward pass", {{"/training/recompute", "\"none\""}});
        if (m_scenario.training.precision != sim::Precision::fp8 &&
            m_scenario.cluster.gpu.peakTflops.contains(sim::Precision::fp8))
            add("Train in FP8", "Matrix products at the GPU's FP8 rate", {{"/training/precision", "\"fp8\""}});
    }

    void trouble()
    {
        if (m_scenario.layout.worldSize() < 2)
            return;
        const std::string at = "/perturbations/" + std::to_string(m_scenario.perturbations.size());
        add("One GPU 20 % slower", "Rank 0 takes 1.2 times as long for every kernel",
            {{at, R"({ "kind": "slow_gpu", "rank": 0, "factor": 1.2 })"}});
    }

    const ScenarioState& m_state;
    const sim::Scenario& m_scenario;
    std::vector<Preset> m_out;
};

} // namespace

std::vector<Preset> presets(const ScenarioState& state)
{
    return state.lastLegal() ? Presets(state).all() : std::vector<Preset>();
}

} // namespace app
