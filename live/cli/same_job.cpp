#include "live/cli/same_job.h"

#include "live/cli/training.h"
#include "live/kernels/modules.h"
#include "live/runtime/data.h"

#include <algorithm>
#include <set>

namespace live::cli {
namespace {

using nlohmann::json;

/// "/live/learning_rate" as it is written in a file and on the command line.
std::string settingKey(std::string pointer)
{
    pointer.erase(0, 1);
    std::replace(pointer.begin(), pointer.end(), '/', '.');
    return pointer;
}

std::string valueAt(const json& flat, const std::string& pointer)
{
    constexpr std::size_t kMost = 60;
    if (!flat.contains(pointer))
        return "not given";
    std::string text = flat.at(pointer).dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > kMost)
        text = text.substr(0, kMost) + "…";
    return text;
}

} // namespace

json jobOf(const TrainingRequest& request, const std::string& device, const json& resumed)
{
    json job = json::parse(request.scenarioJson);
    const FileMark data = markOfData(request.scenario.live.data); // it counts, wherever it lies
    job["live"]["data"] = {{"bytes", data.bytes}, {"crc32", data.crc32}};
    job["the build"] = kBuildHash;
    job["the device"] = device;
    job["--resume"] = resumed;
    job["--weights"] = !request.weights.empty();
    job["--save-weights"] = !request.saveWeights.empty();
    job["--checkpoint"] = !request.checkpoint.empty();
    job["--every"] = request.checkpointEvery;
    job["--gradients"] = request.gradients;
    return job;
}

std::string differenceOf(const json& job, const json& first)
{
    if (job == first)
        return {};
    constexpr std::size_t kMost = 5;
    const json here = job.flatten(), there = first.flatten();
    std::set<std::string> differing;
    for (const json* one : {&here, &there})
        for (const auto& [pointer, value] : one->items())
            if (valueAt(here, pointer) != valueAt(there, pointer) || here.value(pointer, json()) != there.value(pointer, json()))
                differing.insert(pointer);
    std::string text;
    std::size_t told = 0;
    for (const std::string& pointer : differing) {
        if (++told > kMost)
            break;
        text += (text.empty() ? "" : "; ") + settingKey(pointer) + " is " + valueAt(here, pointer) + " here, " +
                valueAt(there, pointer) + " there";
    }
    if (differing.size() > kMost)
        text += "; and " + std::to_string(differing.size() - kMost) + " more";
    return "this process was given another job than process 0: " + text + ". Start all with the same files, options and program";
}

} // namespace live::cli
