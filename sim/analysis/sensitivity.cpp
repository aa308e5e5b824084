#include "sim/analysis/sensitivity.h"

#include "sim/cost/cost.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sim {
namespace {

/// One number of the file, or several that belong together and are enlarged together.
struct Constant {
    std::string key, meaning;
    std::function<std::vector<double*>(Scenario&)> find;
    bool isOne = true;
    double without = 0; ///< the value that has no effect: what lies above it is enlarged
};

Constant ofGpu(const char* key, const char* meaning, double Efficiency::*member)
{
    return {std::string("cluster.efficiency.") + key, meaning,
            [member](Scenario& s) { return std::vector<double*>{&(s.cluster.efficiency.*member)}; }};
}

Constant ofStack(const char* key, const char* meaning, double Stack::*member)
{
    return {std::string("training.stack.") + key, meaning,
            [member](Scenario& s) { return std::vector<double*>{&(s.training.stack.*member)}; }};
}

/// What the GPU says of the attention kernel that the scenario takes.
AttentionRate& attentionOf(Scenario& s)
{
    Efficiency& e = s.cluster.efficiency;
    const bool isBlock = s.training.precision == Precision::mxfp8;
    return attentionSpeed(s, true).isNarrow
               ? e.narrowAttention[static_cast<std::size_t>(isBlock ? NarrowScaling::block : NarrowScaling::tensor)]
               : e.attention[static_cast<std::size_t>(s.training.attention)];
}

/// Rates of the attention kernel that the scenario takes, in both directions.
std::vector<double*> attentionRates(Scenario& s)
{
    Efficiency& e = s.cluster.efficiency;
    AttentionRate& own = attentionOf(s);
    if (own.forward > 0)
        return {&own.forward, &own.backward};
    return {&e.attentionForward, &e.attentionBackward};
}

/// Likewise lengths: the GPU's own for this kernel, or what it says of all.
std::vector<double*> attentionHalfLengths(Scenario& s)
{
    AttentionRate& own = attentionOf(s);
    if (own.forwardHalfLength > 0 && own.backwardHalfLength > 0)
        return {&own.forwardHalfLength, &own.backwardHalfLength};
    return {&s.cluster.efficiency.attentionHalfLength};
}

std::vector<double*> fusedTraffic(Scenario& s)
{
    std::vector<double*> out;
    for (const StackPart part : {StackPart::norm, StackPart::activation, StackPart::residual, StackPart::rope, StackPart::softmax,
                                 StackPart::loss, StackPart::embedding, StackPart::permute}) {
        Fusion& fusion = s.training.stack.parts[static_cast<std::size_t>(part)];
        out.insert(out.end(), {&fusion.traffic, &fusion.backwardTraffic});
    }
    Fusion& inSteps = s.training.stack.softmaxInSteps; // instead of softmax, where that is not fused
    out.insert(out.end(), {&inSteps.traffic, &inSteps.backwardTraffic});
    return out;
}

std::vector<Constant> constants(const Scenario& scenario)
{
    std::vector<Constant> out{
        ofGpu("gemm", "share of peak that matrix products reach", &Efficiency::gemm),
        ofGpu("gemm_half_k", "length of sums at which products reach half of that", &Efficiency::gemmHalfK),
        {"cluster.efficiency.attention", "share of peak that the attention kernel reaches, both ways", attentionRates, false},
        {"cluster.efficiency.attention_half_length", "keys at which attention reaches half of that", attentionHalfLengths, false},
        ofGpu("memory", "share of memory bandwidth that other kernels reach", &Efficiency::memory),
        ofGpu("grouped_gemm", "further factor on products of experts", &Efficiency::groupedGemm),
        ofGpu("fp8_gemm", "further factor on products in 8 or 4 bits", &Efficiency::fp8Gemm),
        ofGpu("weight_gradient", "further factor on products of weight gradients", &Efficiency::weightGradient),
        ofGpu("kernel_us", "start and end of a kernel on the GPU", &Efficiency::kernelUs),
        ofGpu("network", "share of a link's bandwidth that collectives reach", &Efficiency::network),
        ofGpu("inter_node", "likewise between nodes", &Efficiency::interNode),
        ofGpu("all_to_all", "further factor on all-to-alls", &Efficiency::allToAll),
        ofGpu("in_network", "further factor on all-reduces that switches add up", &Efficiency::inNetwork),
        ofGpu("collective_us", "start and end of a collective", &Efficiency::collectiveUs),
        {"cluster.efficiency.beside_transfers", "slowing of kernels beside a collective",
         [](Scenario& s) { return std::vector<double*>{&s.cluster.efficiency.besideTransfers}; }, true, 1},
        {"cluster.efficiency.beside_all_to_all", "slowing of kernels beside an all-to-all",
         [](Scenario& s) { return std::vector<double*>{&s.cluster.efficiency.besideAllToAll}; }, true, 1},
        ofStack("launch_us", "the host's time to start a kernel, forward", &Stack::launchUs),
        ofStack("backward_launch_us", "the host's time to start a kernel, backward", &Stack::backwardLaunchUs),
        ofStack("collective_launch_us", "the host's time to start a collective", &Stack::collectiveLaunchUs),
        ofStack("cast_bytes", "memory traffic of casts to 8 or 4 bits", &Stack::castBytes),
        ofStack("sequence_copy_bytes", "memory traffic around sequence parallelism's collectives", &Stack::sequenceCopyBytes),
        ofStack("gather_bytes", "memory traffic around gathered parameters", &Stack::gatherBytes),
        ofStack("optimizer_bytes", "memory traffic around the optimizer's update", &Stack::optimizerBytes),
        ofStack("gradient_bytes", "memory traffic of zeroing and scaling gradients", &Stack::gradientBytes),
        ofStack("step_ms", "host work that every step waits for", &Stack::stepMs),
        {"training.stack", "memory traffic of kernels that are no products", fusedTraffic, false},
    };
    if (scenario.training.offload.isOn()) {
        out.push_back(ofGpu("host_link", "share of the link to the host that copies reach", &Efficiency::hostLink));
        out.push_back(ofGpu("host_memory", "share of host memory bandwidth that its optimizer reaches", &Efficiency::hostMemory));
    }
    for (std::size_t i = 0; i < scenario.cluster.tiers.size(); ++i) {
        const std::string at = "cluster.tiers." + std::to_string(i) + ".";
        const std::string name = spokenNetwork(scenario.cluster.tiers[i].name);
        out.push_back({at + "bandwidth_gbs", "bandwidth of " + name,
                       [i](Scenario& s) { return std::vector<double*>{&s.cluster.tiers[i].bandwidthGBs}; }});
        out.push_back({at + "latency_us", "latency of " + name,
                       [i](Scenario& s) { return std::vector<double*>{&s.cluster.tiers[i].latencyUs}; }});
    }
    return out;
}

} // namespace

bool Sensitivity::isShown() const
{
    return std::abs(stepTimeChange) >= kLeastPercentShown;
}

std::vector<Sensitivity> sensitivities(const Simulation& simulation)
{
    constexpr double kNoticed = 1e-5;
    const auto before = static_cast<double>(simulation.times().endNs);
    std::vector<Sensitivity> out;
    for (const Constant& constant : constants(simulation.scenario())) {
        Scenario changed = simulation.scenario();
        const std::vector<double*> found = constant.find(changed);
        const std::optional<double> value = constant.isOne ? std::optional(*found.front()) : std::nullopt;
        for (double* number : found)
            *number = constant.without + (*number - constant.without) * (1 + kSensitivityChange);
        const Program program = lowerProgram(changed, simulation.schedule());
        const EngineResult times = runEngine(program, simulation.classes(), priceProgram(changed, program, simulation.classes()));
        const double change = static_cast<double>(times.endNs) / before - 1;
        const double enlarged = value && *value > 0 ? *found.front() / *value - 1 : kSensitivityChange;
        if (std::abs(change) >= kNoticed)
            out.push_back({constant.key, constant.meaning, value, change, constant.without > 0 ? enlarged : kSensitivityChange});
    }
    std::stable_sort(out.begin(), out.end(), [](const Sensitivity& a, const Sensitivity& b) {
        return std::abs(a.stepTimeChange) > std::abs(b.stepTimeChange);
    });
    return out;
}

std::string sensitivityText(const std::vector<Sensitivity>& found)
{
    constexpr std::size_t kMost = 3;
    std::string out;
    for (std::size_t i = 0; i < std::min(found.size(), kMost) && found[i].isShown(); ++i) {
        const double change = found[i].stepTimeChange;
        out += (i == 0 ? chosenPercentText(kSensitivityChange) + " more of the " : "; of the ") + found[i].meaning +
               (i == 0 ? ", and the step is " : ", ") + percentText(std::abs(change)) + (change < 0 ? " shorter" : " longer");
    }
    return out.empty() ? out : out + ".";
}

} // namespace sim
