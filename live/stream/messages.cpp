#include "live/stream/messages.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <limits>

namespace live {
namespace {

/// Of members that may be missing: 0, and nothing that is no whole number of 64 bits.
std::int64_t signedIn(const Json& json, const char* key, std::int64_t otherwise = 0)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_number_integer() ? place->get<std::int64_t>() : otherwise;
}

int intIn(const Json& json, const char* key, int otherwise, int least, int most)
{
    const auto place = json.find(key);
    // Beyond 2^63 a number is read as unsigned: signed it would be another one.
    const bool isHuge = place != json.end() && place->is_number_unsigned() &&
                        place->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const std::int64_t value = isHuge ? std::numeric_limits<std::int64_t>::max() : signedIn(json, key, otherwise);
    if (value < least || value > most)
        throw sim::Error("it says " + cut(key, kRunBudget.nameBytes) + " = " + (isHuge ? place->dump() : std::to_string(value)) +
                         ", where " + std::to_string(least) + " to " + std::to_string(most) + " can be");
    return static_cast<int>(value);
}

/// Refuses what would go too deep or become too much, looking at brackets and separators outside of texts. On what is not JSON
/// it may be wrong, but not before the place where a parser stops.
void checkJson(std::string_view text, const JsonBudget& budget, const std::string& whose)
{
    const auto refuse = [&](std::size_t number, const char* of, std::size_t most) {
        throw sim::Error(whose + " sent " + std::to_string(number) + of + " in one header, where at most " +
                         std::to_string(most) + " are read");
    };
    if (text.size() > budget.bytes)
        refuse(text.size(), " bytes", budget.bytes);
    int depth = 0;
    std::size_t values = 0;
    bool inText = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char character = text[i];
        if (inText) {
            if (character == '\\')
                ++i;
            else if (character == '"')
                inText = false;
            continue;
        }
        switch (character) {
        case '"':
            inText = true;
            break;
        case '[':
        case '{':
            ++values;
            if (++depth > budget.depth)
                refuse(static_cast<std::size_t>(depth), " brackets within each other", static_cast<std::size_t>(budget.depth));
            break;
        case ']':
        case '}':
            --depth;
            break;
        case ',':
            ++values;
            break;
        default:
            break;
        }
        if (values > budget.values)
            refuse(values, " values", budget.values);
    }
}

} // namespace

Json header(const char* type)
{
    return {{"v", kProtocolVersion}, {"type", type}};
}

std::optional<Json> readJson(std::string_view text, const JsonBudget& budget, const std::string& whose)
{
    checkJson(text, budget, whose);
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded())
        return std::nullopt;
    return json;
}

std::optional<Json> readHeader(std::string_view text, const JsonBudget& budget, const std::string& whose, int* version)
{
    std::optional<Json> json = readJson(text, budget, whose);
    if (!json || !json->is_object())
        return std::nullopt;
    const auto theirs = static_cast<int>(std::min<std::uint64_t>(numberIn(*json, "v"), 1U << 20U));
    if (version)
        *version = theirs;
    const auto type = json->find("type");
    if (theirs != kProtocolVersion || type == json->end() || !type->is_string())
        return std::nullopt;
    return json;
}

std::string typeOf(const Json& json)
{
    return textIn(json, "type", 24);
}

std::uint64_t numberIn(const Json& json, const char* key, std::uint64_t otherwise)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_number_unsigned() ? place->get<std::uint64_t>() : otherwise;
}

std::string cut(std::string_view text, std::size_t most)
{
    if (text.size() <= most)
        return std::string(text);
    const std::string mark = "… (" + std::to_string(text.size()) + " bytes)";
    std::size_t end = most - std::min(most, mark.size());
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) // within a character of UTF-8
        --end;
    return std::string(text.substr(0, end)) + mark;
}

std::string textIn(const Json& json, const char* key, std::size_t most)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_string() ? cut(place->get_ref<const std::string&>(), most) : std::string();
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
    constexpr const RunBudget& kMost = kRunBudget;
    if (!json.is_object())
        throw sim::Error("it does not describe itself");
    RunDescription run;
    run.runId = textIn(json, "run_id", kMost.nameBytes);
    run.name = textIn(json, "name", kMost.nameBytes);
    run.device = textIn(json, "device", kMost.nameBytes);
    run.host = textIn(json, "host", kMost.nameBytes);
    run.processId = signedIn(json, "process_id");
    run.worldSize = intIn(json, "world_size", 0, 1, kMost.ranks);
    run.plannedSteps = intIn(json, "planned_steps", 0, 0, std::numeric_limits<int>::max());
    run.slices = intIn(json, "slices", 1, 1, 1 << 20);
    run.startedNs = signedIn(json, "started_ns");
    run.startedUnixNs = signedIn(json, "started_unix_ns");
    const auto controllable = json.find("controllable");
    run.controllable = controllable != json.end() && controllable->is_boolean() && controllable->get<bool>();
    if (const auto scenario = json.find("scenario"); scenario != json.end() && scenario->is_string()) {
        run.scenarioJson = scenario->get<std::string>(); // a part of it would be another one
        checkJson(run.scenarioJson, {kMost.scenarioBytes, kMost.scenarioDepth, kMost.header.values}, "its scenario");
    }
    const auto names = json.find("rank_names");
    if (names != json.end() && names->is_array()) {
        if (names->size() > static_cast<std::size_t>(run.worldSize))
            throw sim::Error("it names " + std::to_string(names->size()) + " ranks of " + std::to_string(run.worldSize));
        for (const Json& name : *names)
            run.rankNames.push_back(name.is_string() ? cut(name.get_ref<const std::string&>(), kMost.nameBytes) : "");
    }
    const auto sizes = json.find("group_sizes");
    if (sizes != json.end() && sizes->is_object()) {
        if (sizes->size() > kMost.groups)
            throw sim::Error("it has " + std::to_string(sizes->size()) + " kinds of process groups, where at most " +
                             std::to_string(kMost.groups) + " can be");
        for (const auto& [name, size] : sizes->items())
            if (size.is_number_integer())
                run.groupSizes[cut(name, kMost.nameBytes)] = intIn(*sizes, name.c_str(), 0, 0, run.worldSize);
    }
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
    kind.name = textIn(json, "name", kRunBudget.nameBytes);
    kind.opClass =
        static_cast<sim::OpClass>(intIn(json, "class", static_cast<int>(sim::OpClass::other), 0, sim::kOpClassCount - 1));
    kind.stage = intIn(json, "stage", -1, -1, kRunBudget.stages - 1);
    kind.layer = intIn(json, "layer", -1, -1, kRunBudget.layers - 1);
    kind.group = textIn(json, "group", kRunBudget.nameBytes);
    kind.bytes = signedIn(json, "bytes");
    const auto flops = json.find("flops");
    kind.flops = flops != json.end() && flops->is_number() ? flops->get<double>() : 0;
    if (kind.bytes < 0 || kind.bytes > kRunBudget.spanBytes || !(kind.flops >= 0))
        throw sim::Error("it says that " + kind.name + " moves " + std::to_string(kind.bytes) + " bytes with " +
                         std::to_string(kind.flops) + " operations");
    return kind;
}

Json toJson(const RunState& state)
{
    return {{"status", static_cast<int>(state.status)},
            {"message", cut(state.message, kRunBudget.messageTextBytes)},
            {"recorded", state.spansRecorded},
            {"dropped", state.spansDropped},
            {"forgotten", state.spansForgotten}};
}

RunState stateFrom(const Json& json)
{
    return {.status = static_cast<RunStatus>(intIn(json, "status", 0, 0, static_cast<int>(RunStatus::failed))),
            .message = textIn(json, "message", kRunBudget.messageTextBytes),
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
    block.firstStep = intIn(json, "first", 0, -1, kRunBudget.step);
    block.lastStep = intIn(json, "last", 0, block.firstStep, kRunBudget.step);
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
