#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/profile_file.h"
#include "sim/scenario/resolve/resolver.h"
#include "sim/scenario/schema.h"

#include <algorithm>
#include <limits>

namespace sim {
namespace {

/// {"cudnn": [forward, backward], ...}: one of the pairs of each kernel's rate.
void readKernelPairs(const Json* kernels, Efficiency& efficiency, double AttentionRate::*forward, double AttentionRate::*backward)
{
    if (kernels == nullptr || !kernels->is_object())
        return;
    for (const auto& [word, pair] : kernels->items()) {
        if (!pair.is_array() || pair.size() != 2)
            continue;
        const auto narrow = std::find_if(kNarrowAttentionWords.begin(), kNarrowAttentionWords.end(),
                                         [&word = word](const auto& of) { return of.first == word; });
        AttentionRate& rate =
            narrow != kNarrowAttentionWords.end()
                ? efficiency.narrowAttention[static_cast<std::size_t>(narrow->second)]
                : efficiency.attention[static_cast<std::size_t>(fromWord(kAttentionWords, word, AttentionKernel::automatic))];
        rate.*forward = valueAs<double>(pair[0]).value_or(0);
        rate.*backward = valueAs<double>(pair[1]).value_or(0);
    }
}

} // namespace

void Resolver::readGpu(const Block& cluster, Efficiency& efficiency)
{
    // An object without a base changes the GPU of the cluster's entry.
    const Json* value = cluster.find("gpu");
    const bool isOverride = value != nullptr && value->is_object() && !value->contains("base");
    const Block from = [&] {
        if (!isOverride || !cluster.base.contains("gpu"))
            return basedBlock(cluster, "gpu", "GPU", m_catalogue.gpus(),
                              [this](const std::string& name) { return m_catalogue.gpuJson(name); });
        const auto id = memberOr<std::string>(cluster.base, "gpu", {});
        return block("/cluster/gpu", *value, m_catalogue.gpuJson(id), id);
    }();
    if (m_out.broken.contains("/cluster/gpu"))
        return;
    Gpu& gpu = m_out.scenario.cluster.gpu;
    gpu.base = from.baseId;
    gpu.name = from.baseId.empty() ? "GPU" : from.baseId;
    from.read("name", gpu.name);
    require(from, "memory_gib", gpu.memoryGib, "gpus");
    require(from, "memory_bandwidth_gbs", gpu.memoryBandwidthGBs, "gpus");
    from.read("host_bandwidth_gbs", gpu.hostBandwidthGBs);
    from.read("multiprocessors", gpu.multiprocessors);
    from.read("power_watts", gpu.powerWatts);
    if (from.find("peak_tflops") == nullptr) {
        if (m_out.isSound("/cluster/gpu/peak_tflops"))
            report("/cluster/gpu", "key \"peak_tflops\" is missing; write it, or name a base of assets/gpus");
    }
    for (const Json* rates :
         {memberOf(from.base, "peak_tflops"), from.own.contains("peak_tflops") ? from.find("peak_tflops") : nullptr})
        if (rates != nullptr)
            for (const auto& [word, precision] : kPrecisionWords)
                if (const Json* rate = memberOf(*rates, word);
                    rate != nullptr && m_out.isSound("/cluster/gpu/peak_tflops/" + std::string(word)))
                    gpu.peakTflops[precision] = valueAs<double>(*rate).value_or(0);
    if (const Json* based = memberOf(from.base, "efficiency"))
        readEfficiency(block("/cluster/gpu/efficiency", *based, nullptr, {}), from.baseId, efficiency);
    if (from.own.contains("efficiency"))
        readEfficiency(block(from, "efficiency"), {}, efficiency);
}

void Resolver::readEfficiency(const Block& from, const std::string& id, Efficiency& efficiency)
{
    if (!id.empty())
        efficiency.id = id;
    from.read("id", efficiency.id);
    from.read("gemm", efficiency.gemm);
    from.read("gemm_half_k", efficiency.gemmHalfK);
    // What is said of attention at large replaces what a farther place says of single kernels; of one pass alone it leaves them
    // the other's.
    const bool forwardGiven = from.read("attention_forward", efficiency.attentionForward);
    const bool backwardGiven = from.read("attention_backward", efficiency.attentionBackward);
    const bool lengthGiven = from.read("attention_half_length", efficiency.attentionHalfLength);
    for (AttentionRate& rate : efficiency.attention) {
        if (rate.forward > 0 || rate.backward > 0) {
            rate.forward = forwardGiven ? efficiency.attentionForward : rate.forward;
            rate.backward = backwardGiven ? efficiency.attentionBackward : rate.backward;
        }
        if (forwardGiven && backwardGiven)
            rate.forward = rate.backward = 0;
        if (lengthGiven)
            rate.forwardHalfLength = rate.backwardHalfLength = 0;
    }
    if (forwardGiven || backwardGiven) // in 16 bits: what those in 8 would reach it does not say
        efficiency.narrowAttention = {};
    from.read("memory", efficiency.memory);
    from.read("grouped_gemm", efficiency.groupedGemm);
    from.read("fp8_gemm", efficiency.fp8Gemm);
    from.read("host_link", efficiency.hostLink);
    from.read("host_memory", efficiency.hostMemory);
    from.read("weight_gradient", efficiency.weightGradient);
    from.read("kernel_us", efficiency.kernelUs);
    readKernelPairs(from.find("attention"), efficiency, &AttentionRate::forward, &AttentionRate::backward);
    readKernelPairs(from.find("attention_half_lengths"), efficiency, &AttentionRate::forwardHalfLength,
                    &AttentionRate::backwardHalfLength);
    readKernelPairs(from.find("attention_half_heads"), efficiency, &AttentionRate::forwardHalfHead,
                    &AttentionRate::backwardHalfHead);
    from.read("launch_us", efficiency.launchUs);
    from.read("network", efficiency.network);
    from.read("inter_node", efficiency.interNode);
    from.read("all_to_all", efficiency.allToAll);
    from.read("in_network", efficiency.inNetwork);
    from.read("collective_us", efficiency.collectiveUs);
    from.read("beside_transfers", efficiency.besideTransfers);
    from.read("beside_all_to_all", efficiency.besideAllToAll);
    HardwareProfile& profile = efficiency.profile;
    from.read("device", profile.device);
    from.read("kernels_alone", profile.kernelsAlone);
    if (Precision precision = Precision::fp32; from.read("precision", kPrecisionWords, precision))
        profile.precision = precision;
    if (const Json* curves = from.find("kernels"))
        profile.kernels = curvesFromJson(*curves);
    if (const Json* curves = from.find("transfers"))
        profile.transfers = curvesFromJson(*curves);
}

/// A GPU of the catalogue, or a file beside the scenario.
void Resolver::readNamedEfficiency(const std::string& name, Efficiency& efficiency)
{
    const std::string at = "/cluster/efficiency";
    if (const Json* gpu = m_catalogue.gpuJson(name)) {
        const Json* measured = memberOf(*gpu, "efficiency");
        readEfficiency(block(at, measured != nullptr ? *measured : m_nothing, nullptr, {}), name, efficiency);
        return;
    }
    try {
        const auto profile = m_catalogue.profile(readBeside(name, kMostProfileBytes), name);
        if (profile->problems.empty())
            readEfficiency(block(at, profile->json, nullptr, {}), name, efficiency);
        for (const Problem& problem : profile->problems)
            report(problem.pointer, "in " + shownPlace(name) + ": " + problem.message);
    } catch (const Error& error) {
        report(at, quotedText(name) + " is no GPU of the catalogue" + nearestWords(name, idsOf(m_catalogue.gpus())) +
                       "; and as a file: " + error.what());
    }
}

void Resolver::readTiers(const Block& from, int baseGpusPerNode)
{
    Cluster& cluster = m_out.scenario.cluster;
    const Json* tiers = from.find("tiers");
    if (tiers == nullptr) {
        if (m_out.isSound("/cluster/tiers"))
            report("/cluster", "key \"tiers\" is missing; write it, or name a base of assets/clusters");
        return;
    }
    const bool ofBase = !from.own.contains("tiers");
    for (const Json& entry : *tiers) { // whose keys the schema has found to be there
        Tier tier;
        tier.name = memberOr<std::string>(entry, "name", {});
        tier.span = memberOr<int>(entry, "span", 0); // or "all"
        tier.bandwidthGBs = memberOr<double>(entry, "bandwidth_gbs", 0);
        tier.gpusPerNic = memberOr<int>(entry, "gpus_per_nic", 1);
        tier.latencyUs = memberOr<double>(entry, "latency_us", 0);
        tier.inNetworkReduction = memberOr<bool>(entry, "in_network_reduction", false);
        tier.mesh = memberOr<bool>(entry, "mesh", false);
        if (ofBase && tier.span == baseGpusPerNode) { // the base's node follows gpus_per_node, and so do links to its GPUs
            tier.span = cluster.gpusPerNode;
            if (tier.mesh && baseGpusPerNode > 1)
                tier.bandwidthGBs *= std::max(1.0, tier.span - 1.0) / (baseGpusPerNode - 1);
        }
        cluster.tiers.push_back(std::move(tier));
    }
}

/// Of the entry's node, if the scenario's has as many GPUs; else what a GPU usually has beside it, as the schema says.
void Resolver::readHost(const Block& cluster)
{
    constexpr double kBandwidthGBs = 50, kMemoryGib = 250;
    Cluster& out = m_out.scenario.cluster;
    out.host = {.memoryBandwidthGBs = kBandwidthGBs * out.gpusPerNode, .memoryGib = kMemoryGib * out.gpusPerNode};
    const auto read = [&out](const Block& from) {
        from.read("memory_bandwidth_gbs", out.host.memoryBandwidthGBs);
        from.read("memory_gib", out.host.memoryGib);
    };
    const Json* const based = memberOf(cluster.base, "host");
    if (based != nullptr && memberOr<int>(cluster.base, "gpus_per_node", -1) == out.gpusPerNode)
        read(block("/cluster/host", *based, nullptr, {}));
    if (cluster.own.contains("host"))
        read(block(cluster, "host"));
}

void Resolver::readCluster(const Block& top)
{
    const Block from = basedBlock(top, "cluster", "cluster", m_catalogue.clusters(),
                                  [this](const std::string& id) { return m_catalogue.clusterJson(id); });
    if (m_out.broken.contains("/cluster"))
        return;
    Cluster& cluster = m_out.scenario.cluster;
    cluster.base = from.baseId;
    cluster.name = from.baseId.empty() ? "cluster" : from.baseId;
    from.read("name", cluster.name);
    readGpu(from, cluster.efficiency);
    require(from, "gpus_per_node", cluster.gpusPerNode, "clusters");
    readTiers(from, memberOr<int>(from.base, "gpus_per_node", -1));
    readHost(from);
    if (const Json* based = memberOf(from.base, "efficiency"))
        readEfficiency(block("/cluster/efficiency", *based, nullptr, {}), from.baseId, cluster.efficiency);
    if (from.own.contains("efficiency"))
        if (const Json* efficiency = from.find("efficiency")) {
            if (const auto name = valueAs<std::string>(*efficiency))
                readNamedEfficiency(*name, cluster.efficiency);
            else
                readEfficiency(block("/cluster/efficiency", *efficiency, nullptr, {}), {}, cluster.efficiency);
        }

    // Not the entry's size: a scenario uses as many nodes as its layout needs unless it says otherwise.
    const Layout& layout = m_out.scenario.layout;
    const double world = double{1} * layout.tp * layout.cp * layout.pp * layout.dp;
    if (!(from.own.contains("nodes") && from.read("nodes", cluster.nodes)) && cluster.gpusPerNode > 0)
        cluster.nodes = static_cast<int>(
            std::min<double>((world + cluster.gpusPerNode - 1) / cluster.gpusPerNode, std::numeric_limits<int>::max()));
}

} // namespace sim
