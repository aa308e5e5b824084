#include "sim/answers/recording.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

/// What is not said is null.
Json said(const std::string& text)
{
    return text.empty() ? Json(nullptr) : Json(text);
}

Json rankOf(const RankRecording& rank, const Recording& recording)
{
    return {{"rank", rank.rank >= 0 ? Json(rank.rank) : Json(nullptr)},
            {"rank_from", said(rank.rankEvidence)},
            {"host", said(rank.host)},
            {"device", rank.device >= 0 ? Json(rank.device) : Json(nullptr)},
            {"device_name", said(rank.deviceName)},
            {"backend", said(rank.backend)},
            {"file", recording.files[static_cast<std::size_t>(rank.file)].path},
            {"stands_for", rank.multiplicity},
            {"events", rank.events},
            {"spans", rank.spans.size()},
            {"kernels", kernelCount(rank)},
            {"collectives", communicationCount(rank)},
            {"first_ns", rank.firstNs},
            {"last_ns", rank.lastNs},
            {"busy_ns", busyNs(rank)},
            {"peak_memory_bytes", peakMemoryBytes(rank) > 0 ? Json(peakMemoryBytes(rank)) : Json(nullptr)}};
}

/// Steps over ranks: which may hold different ones.
Json stepsOf(const Recording& recording)
{
    struct Step {
        std::int64_t startNs = 0, endNs = 0;
        std::size_t ranks = 0;
    };
    std::map<std::pair<std::size_t, std::int64_t>, Step> steps; // each of several recordings may count anew
    for (const RankRecording& rank : recording.ranks) {
        std::map<std::int64_t, std::size_t> times; // that a number was there
        for (const RecordedStep& step : rank.steps) {
            Step& of = steps[{times[step.number]++, step.number}];
            const std::int64_t end = std::max(step.endNs, step.deviceEndNs);
            of.startNs = of.ranks == 0 ? step.startNs : std::min(of.startNs, step.startNs);
            of.endNs = of.ranks == 0 ? end : std::max(of.endNs, end);
            ++of.ranks;
        }
    }
    Json out = Json::array();
    for (const auto& [key, step] : steps)
        out.push_back({{"step", key.second},
                       {"first_ns", step.startNs},
                       {"last_ns", step.endNs},
                       {"duration_ns", step.endNs - step.startNs},
                       {"ranks", step.ranks}});
    return out;
}

} // namespace

Json traceInfoAnswer(const Recording& recording, const Json* recovered)
{
    Json answer;
    answer["files"] = Json::array();
    for (const RecordedFile& file : recording.files)
        answer["files"].push_back({{"path", file.path},
                                   {"format", file.format},
                                   {"bytes", file.bytes},
                                   {"text_bytes", file.textBytes},
                                   {"events", file.events},
                                   {"complete", file.isComplete}});
    answer["events"] = recording.events();
    answer["world_size"] = recording.worldSize > 0 ? Json(recording.worldSize) : Json(nullptr);
    answer["ranks"] = Json::array();
    for (const RankRecording& rank : recording.ranks)
        answer["ranks"].push_back(rankOf(rank, recording));
    answer["steps"] = stepsOf(recording);
    answer["groups"] = Json::array();
    for (const RecordedGroup& group : recording.groups)
        answer["groups"].push_back({{"name", group.name},
                                    {"description", said(group.description == "undefined" ? std::string() : group.description)},
                                    {"backend", said(group.backend)},
                                    {"size", group.size},
                                    {"ranks", group.ranks},
                                    {"evidence", group.evidence}});
    answer["axes"] = Json::array();
    answer["schedule"] = nullptr;
    answer["clock"] = Json::array();
    Json problems = recording.problems;
    if (recovered != nullptr)
        for (const auto& [key, value] : recovered->items()) {
            if (key == "problems") // beside those of reading
                problems.insert(problems.end(), value.begin(), value.end());
            else
                answer[key] = value;
        }
    answer["skipped"] = Json::array();
    for (const RecordedSkip& skip : recording.skipped)
        answer["skipped"].push_back({{"what", skip.what},
                                     {"count", skip.count},
                                     {"why", skip.why},
                                     {"byte", skip.firstByte >= 0 ? Json(skip.firstByte) : Json(nullptr)},
                                     {"file", said(skip.file)}});
    answer["problems"] = std::move(problems);
    return answer;
}

} // namespace sim
