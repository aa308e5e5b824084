#include "app/session/new_scenario.h"

#include "app/session/edit.h"
#include "sim/cancel.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace app {
namespace {

struct Candidate {
    int tp = 1, cp = 1, pp = 1, dp = 1, ep = 1, zeroStage = 1;
    const char* recompute = "none";
};

sim::ScenarioDocument documentOf(const NewScenario& wanted, const Candidate& c)
{
    const Goal& goal = goals().at(wanted.goal);
    auto out = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1})");
    const auto set = [&](const char* pointer, int value) { out.set(pointer, std::to_string(value)); };
    out.set("/model", app::quoted(wanted.model));
    out.set("/cluster/base", app::quoted(wanted.cluster));
    set("/cluster/nodes", wanted.nodes);
    set("/layout/tp", c.tp);
    if (c.cp > 1)
        set("/layout/cp", c.cp);
    set("/layout/pp", c.pp);
    set("/layout/dp", c.dp);
    if (c.ep > 1)
        set("/layout/ep", c.ep);
    if (c.tp > 1)
        out.set("/layout/sequence_parallel", "true");
    if (c.dp > 1)
        set("/layout/zero_stage", c.zeroStage);
    out.set("/schedule/kind", "\"1f1b\"");
    set("/training/sequence_length", goal.sequenceLength);
    set("/training/micro_batch_size", 1);
    set("/training/global_batch_size", std::max(goal.globalBatchSize, c.dp));
    out.set("/training/recompute", app::quoted(std::string_view(c.recompute)));
    return out;
}

/// Layouts that fill the GPUs: tensor parallel inside a node, a pipeline, context parallel for long sequences, the rest data.
std::vector<Candidate> candidates(int gpus, int gpusPerNode, int experts, int sequenceLength)
{
    constexpr int kLongSequence = 32768, kLongestPipeline = 16, kMostContext = 16, kMostExperts = 8;
    std::vector<Candidate> out;
    for (int tp = 1; tp <= std::min(gpusPerNode, 8); tp *= 2)
        for (int pp = 1; pp <= kLongestPipeline; pp *= 2)
            for (int cp = 1; cp <= (sequenceLength >= kLongSequence ? kMostContext : 1); cp *= 2) {
                if (gpus % (tp * pp * cp) != 0)
                    continue;
                const int dp = gpus / (tp * pp * cp);
                const int ep = experts > 0 ? std::min({kMostExperts, experts, dp * cp}) : 1;
                for (const int zeroStage : pp == 1 && dp > 1 ? std::vector{1, 3} : std::vector{1})
                    for (const char* recompute : {"none", "full"})
                        out.push_back({tp, cp, pp, dp, ep, zeroStage, recompute});
            }
    return out;
}

} // namespace

const std::vector<Goal>& goals()
{
    static const std::vector<Goal> kGoals{
        {"Pre-train", "long runs of short texts: 8,192 tokens, batches of 512 sequences", 8192, 512},
        {"Pre-train at scale", "thousands of GPUs: 8,192 tokens, batches of 2,048 sequences, 17 million tokens", 8192, 2048},
        {"Fine-tune", "few examples: 4,096 tokens, batches of 64 sequences", 4096, 64},
        {"Look into a step", "little to wait for: 2,048 tokens, batches of 16 sequences", 2048, 16},
        {"Long context", "131,072 tokens a sequence, batches of 32 sequences", 131072, 32},
    };
    return kGoals;
}

sim::ScenarioDocument makeNewScenario(const NewScenario& wanted, const sim::Catalogue& catalogue)
{
    int gpusPerNode = 1, experts = 0;
    auto probe = documentOf(wanted, {});
    if (const auto resolved = probe.resolve(catalogue); resolved.scenario) {
        gpusPerNode = resolved.scenario->cluster.gpusPerNode;
        experts = resolved.scenario->model.numExperts;
    } else {
        throw sim::ScenarioError(resolved.problems);
    }
    const int gpus = gpusPerNode * wanted.nodes;
    std::optional<sim::ScenarioDocument> best;
    bool bestFits = false;
    int bestBatch = 0;
    double bestValue = std::numeric_limits<double>::infinity();
    std::vector<sim::Problem> why;
    for (const Candidate& c : candidates(gpus, gpusPerNode, experts, goals().at(wanted.goal).sequenceLength)) {
        sim::checkCancelled();
        sim::ScenarioDocument document = documentOf(wanted, c);
        const auto resolved = document.resolve(catalogue);
        if (!resolved.scenario) {
            why = resolved.problems;
            continue;
        }
        const auto step = sim::simulate(*resolved.scenario);
        const sim::Metrics& metrics = step->metrics();
        const bool fits = sim::fitsEverywhere(*step);
        // Some layouts of many GPUs take larger batches than the goal has: as few sequences as there can be, before speed.
        const int batch = resolved.scenario->training.globalBatchSize;
        const double tokens = static_cast<double>(batch) * resolved.scenario->training.sequenceLength;
        const double value = fits ? metrics.stepTimeSeconds / tokens : metrics.peakMemoryGib;
        if (best && (bestFits != fits ? bestFits : fits && batch != bestBatch ? batch > bestBatch : value >= bestValue))
            continue;
        bestBatch = batch;
        best = std::move(document);
        bestFits = fits;
        bestValue = value;
    }
    if (!best)
        throw sim::ScenarioError(why);
    return *best;
}

} // namespace app
