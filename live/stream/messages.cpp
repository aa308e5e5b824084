#include "live/stream/messages.h"

#include "sim/error.h"

#include <algorithm>
#include <array>

namespace live {
namespace {

constexpr int kMostRanks = 1 << 20;

std::int64_t signedIn(const Json& json, const char* key, std::int64_t otherwise = 0)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_number_integer() ? place->get<std::int64_t>() : otherwise;
}

int intIn(const Json& json, const char* key, int otherwise, int least, int most)
{
    const std::int64_t value = signedIn(json, key, otherwise);
    if (value < least || value > most)
        throw sim::Error("the run's message says " + std::string(key) + " = " + std::to_string(value));
    return static_cast<int>(value);
}

} // namespace

Json header(const char* type)
{
    return {{"v", kProtocolVersion}, {"type", type}};
}

std::optional<Json> readHeader(std::string_view text, int* version)
{
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object())
        return std::nullopt;
    const auto theirs = static_cast<int>(std::min<std::uint64_t>(numberIn(json, "v"), 1U << 20U));
    if (version)
        *version = theirs;
    const auto type = json.find("type");
    if (theirs != kProtocolVersion || type == json.end() || !type->is_string())
        return std::nullopt;
    return json;
}

std::string typeOf(const Json& json)
{
    return textIn(json, "type", 16);
}

std::uint64_t numberIn(const Json& json, const char* key, std::uint64_t otherwise)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_number_unsigned() ? place->get<std::uint64_t>() : otherwise;
}

std::string textIn(const Json& json, const char* key, std::size_t most)
{
    const auto place = json.find(key);
    if (place == json.end() || !place->is_string())
        return {};
    const auto& text = place->get_ref<const std::string&>();
    return text.size() <= most ? text : std::string();
}

Json toJson(const RunDescription& run)
{
    return {{"run_id", run.runId},
            {"name", run.name},
            {"scenario", run.scenarioJson},
            {"device", run.device},
            {"host", run.host},
            {"process_id", run.processId},
            {"world_size", run.worldSize},
            {"planned_steps", run.plannedSteps},
            {"rank_names", run.rankNames},
            {"group_sizes", run.groupSizes},
            {"slices", run.slices},
            {"started_ns", run.startedNs},
            {"started_unix_ns", run.startedUnixNs},
            {"controllable", run.controllable}};
}

RunDescription descriptionFrom(const Json& json)
{
    RunDescription run;
    run.runId = textIn(json, "run_id");
    run.name = textIn(json, "name");
    run.scenarioJson = textIn(json, "scenario", kMostRunBytes);
    run.device = textIn(json, "device");
    run.host = textIn(json, "host");
    run.processId = signedIn(json, "process_id");
    run.worldSize = intIn(json, "world_size", 0, 1, kMostRanks);
    run.plannedSteps = intIn(json, "planned_steps", 0, 0, std::numeric_limits<int>::max());
    run.slices = intIn(json, "slices", 1, 1, 1 << 20);
    run.startedNs = signedIn(json, "started_ns");
    run.startedUnixNs = signedIn(json, "started_unix_ns");
    const auto controllable = json.find("controllable");
    run.controllable = controllable != json.end() && controllable->is_boolean() && controllable->get<bool>();
    const auto names = json.find("rank_names");
    if (names != json.end() && names->is_array())
        for (const Json& name : *names)
            run.rankNames.push_back(name.is_string() ? name.get<std::string>() : "");
    run.rankNames.resize(std::min(run.rankNames.size(), static_cast<std::size_t>(run.worldSize)));
    const auto sizes = json.find("group_sizes");
    if (sizes != json.end() && sizes->is_object())
        for (const auto& [name, size] : sizes->items())
            if (size.is_number_integer())
                run.groupSizes[name] = static_cast<int>(std::clamp<std::int64_t>(size.get<std::int64_t>(), 0, kMostRanks));
    return run;
}

Json toJson(const sim::SpanKind& kind)
{
    return {{"name", kind.name},   {"class", static_cast<int>(kind.opClass)},
            {"stage", kind.stage}, {"layer", kind.layer},
            {"group", kind.group}, {"bytes", kind.bytes},
            {"flops", kind.flops}};
}

sim::SpanKind kindFrom(const Json& json)
{
    sim::SpanKind kind;
    kind.name = textIn(json, "name");
    kind.opClass =
        static_cast<sim::OpClass>(intIn(json, "class", static_cast<int>(sim::OpClass::other), 0, sim::kOpClassCount - 1));
    kind.stage = intIn(json, "stage", -1, -1, std::numeric_limits<int>::max());
    kind.layer = intIn(json, "layer", -1, -1, std::numeric_limits<int>::max());
    kind.group = textIn(json, "group");
    kind.bytes = signedIn(json, "bytes");
    const auto flops = json.find("flops");
    kind.flops = flops != json.end() && flops->is_number() ? flops->get<double>() : 0;
    return kind;
}

Json toJson(const RunState& state)
{
    return {{"status", static_cast<int>(state.status)},
            {"message", state.message},
            {"recorded", state.spansRecorded},
            {"dropped", state.spansDropped},
            {"forgotten", state.spansForgotten}};
}

RunState stateFrom(const Json& json)
{
    return {.status = static_cast<RunStatus>(intIn(json, "status", 0, 0, static_cast<int>(RunStatus::failed))),
            .message = textIn(json, "message", kMostRunBytes),
            .spansRecorded = numberIn(json, "recorded"),
            .spansDropped = numberIn(json, "dropped"),
            .spansForgotten = numberIn(json, "forgotten")};
}

Json toJson(const Block& block)
{
    return {{"content", static_cast<int>(block.content)},
            {"first", block.firstStep},
            {"last", block.lastStep},
            {"count", block.count},
            {"sequence", block.sequence},
            {"before", block.spansBefore}};
}

Block blockFrom(const Json& json)
{
    Block block;
    block.content = static_cast<Block::Content>(intIn(json, "content", 0, 0, 1));
    block.firstStep = intIn(json, "first", 0, -1, std::numeric_limits<int>::max());
    block.lastStep = intIn(json, "last", 0, block.firstStep, std::numeric_limits<int>::max());
    block.sequence = numberIn(json, "sequence");
    block.spansBefore = numberIn(json, "before");
    return block;
}

std::optional<RunRequest> requestFrom(const std::string& name)
{
    for (const RunRequest request : {RunRequest::pause, RunRequest::resume, RunRequest::stop, RunRequest::checkpoint})
        if (name == runRequestName(request))
            return request;
    return std::nullopt;
}

} // namespace live
