// How many ranks there are and what they train a step, from the numbers of both that are given.
#include "sim/frameworks/job.h"

#include <algorithm>
#include <numeric>

namespace sim::frameworks {
namespace {

/// What a person says of a size that the files leave to somebody else, in the place of its default.
void takeAnswer(Job& job, const char* pointer, int& size)
{
    const auto answer = job.askedSizes.find(pointer);
    const std::vector<std::string>& open = job.reading.outside();
    if (answer == job.askedSizes.end() || std::find(open.begin(), open.end(), pointer) == open.end())
        return;
    size = std::max(1, answer->second);
    job.reading.takeDefaults(pointer);
}

/// The same of one that may not be said at all.
void takeAnswer(Job& job, const char* pointer, std::optional<int>& size)
{
    if (const auto answer = job.askedSizes.find(pointer); answer != job.askedSizes.end() && !size)
        size = std::max(1, answer->second);
}

} // namespace

void settleWorld(Job& job)
{
    constexpr int kMostOfAxis = 1 << 10;
    constexpr long long kMostRanks = 1 << 20;
    takeAnswer(job, "/layout/tp", job.tp);
    takeAnswer(job, "/layout/cp", job.cp);
    takeAnswer(job, "/layout/pp", job.pp);
    const auto product = [&job] { return static_cast<double>(job.tp) * job.cp * job.pp; };
    if (product() > static_cast<double>(kMostRanks)) {
        job.reading.addNote("world", Became::contradictory,
                            "tp " + std::to_string(job.tp) + " x cp " + std::to_string(job.cp) + " x pp " +
                                std::to_string(job.pp) + " are more ranks than any cluster has: at most " +
                                std::to_string(kMostOfAxis) + " of tp and of pp are taken, cp 1");
        job.tp = std::min(job.tp, kMostOfAxis);
        job.pp = std::min(job.pp, kMostOfAxis);
        job.cp = 1;
    }
    const long long model = 1LL * job.tp * job.cp * job.pp;
    std::optional<int> fromFile = job.gpus;
    if (!fromFile && job.nodes && job.gpusPerNode && 1LL * *job.nodes * *job.gpusPerNode < (1 << 30))
        fromFile = *job.nodes * *job.gpusPerNode;
    const std::string text = "tp " + std::to_string(job.tp) + " x cp " + std::to_string(job.cp) + " x pp " +
                             std::to_string(job.pp) + " = " + std::to_string(model);
    std::optional<int> world = job.askedGpus ? job.askedGpus : fromFile;
    if (job.askedGpus && fromFile && *job.askedGpus != *fromFile)
        job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                            "the file says " + std::to_string(*fromFile) + " GPUs, and " + std::to_string(*job.askedGpus) +
                                " are asked for: those count");
    if (job.givenDp) {
        job.dp = std::max(1, *job.givenDp);
        if (world && model * job.dp != *world)
            job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                                text + ", x dp " + std::to_string(job.dp) + " is " + std::to_string(model * job.dp) +
                                    " ranks, not the " + std::to_string(*world) + " GPUs given: the product counts",
                                "/layout/dp");
    } else if (!world) {
        const int experts = std::clamp(job.expertRanks, 1, 1 << 20);
        const int ofExperts = static_cast<int>(experts / std::gcd<long long>(experts, model));
        const int shards = std::clamp(memberOr<int>(job.layout, "dp_shard", 1), 1, 1 << 20);
        const int ofShards = shards / std::gcd(shards, std::max(1, job.cp));
        job.dp = static_cast<int>(std::min(std::lcm<long long>(ofExperts, ofShards), 1LL << 20));
        const std::string whose = ofExperts == 1 ? "shards" : ofShards == 1 ? "experts" : "experts and shards";
        job.ask("/layout/dp",
                "the file does not say how many GPUs there are: " +
                    (job.dp == 1 ? "one replica of " + std::to_string(model) + (model == 1 ? " rank" : " ranks")
                                 : std::to_string(model * job.dp) + " ranks, the fewest that its " + whose + " lie over,") +
                    " is assumed; give --gpus N");
    } else if (*world % model != 0 || *world < model) {
        const long long below = *world / model * model;
        job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                            std::to_string(*world) + " GPUs are no multiple of " + text +
                                "; nearest: " + (below > 0 ? std::to_string(below) + ", " : "") + std::to_string(below + model) +
                                ", which is taken",
                            "/layout/dp");
        job.dp = static_cast<int>(std::min<long long>((*world + model - 1) / model, 1 << 20));
    } else {
        job.dp = static_cast<int>(*world / model);
    }
    if (const long long most = kMostRanks / model; job.dp > most) {
        job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                            std::to_string(model * job.dp) + " GPUs are more than any cluster has; nearest: " +
                                std::to_string(model * most) + ", which is taken",
                            "/layout/dp");
        job.dp = static_cast<int>(most);
    }
    const long long ranks = model * job.dp;
    job.gpus = static_cast<int>(ranks);
    job.layout["tp"] = job.tp;
    job.layout["cp"] = job.cp;
    job.layout["pp"] = job.pp;
    job.layout["dp"] = job.dp;
}

void settleBatch(Job& job)
{
    const auto text = [](long long value) { return std::to_string(value); };
    for (std::optional<int>* const size : {&job.microBatch, &job.globalBatch, &job.accumulation})
        if (*size && **size < 1) {
            job.reading.addNote("batch", Became::contradictory,
                                "a batch of " + text(**size) + " trains nothing: as if it were not given",
                                "/training/global_batch_size");
            size->reset();
        }
    takeAnswer(job, "/training/micro_batch_size", job.microBatch);
    takeAnswer(job, "/training/global_batch_size", job.globalBatch);
    if (!job.microBatch && job.globalBatch && job.accumulation) {
        const long long parts = 1LL * std::max(1, *job.accumulation) * job.dp;
        job.microBatch = static_cast<int>(std::max<long long>(1, *job.globalBatch / parts));
    }
    if (!job.microBatch) {
        job.microBatch = 1;
        job.ask("/training/micro_batch_size", "the micro-batch is not in the file: 1 is assumed");
    }
    const long long step = 1LL * *job.microBatch * job.dp;
    if (!job.globalBatch && job.accumulation)
        job.globalBatch = static_cast<int>(std::min<long long>(step * *job.accumulation, 1 << 30));
    else if (job.globalBatch && job.accumulation && step * *job.accumulation != *job.globalBatch)
        job.reading.addNote("global batch", Became::contradictory,
                            "the file's global batch is " + text(*job.globalBatch) + ", but micro-batch " +
                                text(*job.microBatch) + " x accumulation " + text(*job.accumulation) + " x dp " + text(job.dp) +
                                " = " + text(step * *job.accumulation) + ": the global batch counts",
                            "/training/global_batch_size");
    if (!job.globalBatch) {
        job.globalBatch = static_cast<int>(std::min<long long>(step, 1 << 30));
        job.reading.byDefault("global batch", *job.globalBatch, "/training/global_batch_size",
                              "is not given: one micro-batch of each of the dp " + text(job.dp) + " replicas");
    } else if (*job.globalBatch % step != 0) {
        const long long below = *job.globalBatch / step * step;
        job.reading.addNote("global batch", Became::contradictory,
                            "a global batch of " + text(*job.globalBatch) + " is not a multiple of " + text(step) +
                                " = micro-batch " + text(*job.microBatch) + " x dp " + text(job.dp) +
                                "; nearest: " + (below > 0 ? text(below) + ", " : "") + text(below + step),
                            "/training/global_batch_size");
    }
    job.training["micro_batch_size"] = *job.microBatch;
    job.training["global_batch_size"] = *job.globalBatch;
}

} // namespace sim::frameworks
