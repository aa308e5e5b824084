// PyTorch's NCCL flight recorder: a ring of the last collectives, also of a job that hangs. Facts of the fields: PyTorch's
// torch/csrc/distributed/c10d/FlightRecorder.hpp.
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/pickle.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace sim {
namespace {

using nlohmann::json;

constexpr std::size_t kMostFlightBytes = std::size_t{64} << 20;

const json* memberOf(const json& object, const char* key)
{
    if (!object.is_object())
        return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t numberOf(const json& object, const char* key, std::int64_t otherwise)
{
    const json* value = memberOf(object, key);
    if (value == nullptr || !value->is_number())
        return otherwise;
    if (value->is_number_float()) {
        const double number = value->get<double>();
        return number > -9e18 && number < 9e18 ? static_cast<std::int64_t>(number) : otherwise;
    }
    if (value->is_number_unsigned() &&
        value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return otherwise;
    return value->get<std::int64_t>();
}

std::string textOf(const json& object, const char* key)
{
    const json* value = memberOf(object, key);
    return value == nullptr     ? std::string()
           : value->is_string() ? value->get<std::string>()
           : value->is_number() ? value->dump()
                                : std::string();
}

/// Elements of the first tensor: of [[4, 8], …], or of [4, 8].
std::int64_t elementsOf(const json& entry, const char* key)
{
    const json* sizes = memberOf(entry, key);
    if (sizes == nullptr || !sizes->is_array())
        return -1;
    std::int64_t sum = 0;
    const auto product = [](const json& shape) {
        std::int64_t elements = 1;
        for (const json& extent : shape) {
            if (!extent.is_number_integer() || extent.get<std::int64_t>() < 0 ||
                __builtin_mul_overflow(elements, extent.get<std::int64_t>(), &elements) || elements > (std::int64_t{1} << 50))
                return std::int64_t{-1};
        }
        return elements;
    };
    if (sizes->empty())
        return 0;
    if (!sizes->front().is_array())
        return product(*sizes);
    for (const json& shape : *sizes) {
        const std::int64_t elements = shape.is_array() ? product(shape) : -1;
        if (elements < 0 || sum > (std::int64_t{1} << 60))
            return -1;
        sum += elements;
    }
    return sum;
}

struct Peers {
    std::size_t from = 0, to = 0; ///< places in the group
};

/// "send 0->1", "recv 0<-1": a rank writes its own place first.
std::optional<Peers> peersOf(const std::string& name)
{
    std::size_t own = 0, other = 0;
    char word[8] = {}, arrow[3] = {};
    if (std::sscanf(name.c_str(), "%7[a-z] %zu%2[-<>]%zu", word, &own, arrow, &other) != 4)
        return {};
    if (std::string_view(arrow) == "->")
        return Peers{own, other};
    if (std::string_view(arrow) == "<-")
        return Peers{other, own};
    return {};
}

/// Sends and receives that torch gives to NCCL as one (batch_isend_irecv) stay "scheduled" for ever; the entry "nccl:coalesced"
/// of their group and number behind them tells when they ran. By place of the entry; null: not one of these.
std::vector<const json*> coalescedWith(const json& entries)
{
    std::vector<const json*> all(entries.size(), nullptr);
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> waiting; // group and number -> places
    for (std::size_t place = 0; place < entries.size(); ++place) {
        const json& entry = entries[place];
        const std::pair key{numberOf(entry, "pg_id", -1), numberOf(entry, "p2p_seq_id", -1)};
        const json* isP2p = memberOf(entry, "is_p2p");
        if (isP2p != nullptr && isP2p->is_boolean() && isP2p->get<bool>() && textOf(entry, "state") == "scheduled") {
            waiting[key].push_back(place);
        } else if (textOf(entry, "profiling_name").ends_with(":coalesced")) {
            for (const std::size_t one : waiting[key])
                all[one] = &entry;
            waiting.erase(key);
        }
    }
    return all;
}

std::int64_t timeOf(const json& entry, const char* key)
{
    return std::clamp<std::int64_t>(numberOf(entry, key, 0), 0, kMostTraceNs);
}

/// What an entry says of how long its work took, by CUDA's events; -1: nothing.
std::int64_t durationOf(const json& entry)
{
    const json* value = memberOf(entry, "duration_ms");
    constexpr double kNsOfMs = 1e6;
    const double ns = value != nullptr && value->is_number() ? value->get<double>() * kNsOfMs : -1;
    return ns >= 0 && ns <= static_cast<double>(kMostTraceNs) ? static_cast<std::int64_t>(ns + 0.5) : -1;
}

/// Where work of a known length ends: not behind where its recorder saw that it had, and a group's collectives one after the
/// other. The watchdog looks every 100 ms and sees the ends of many at once. By place of the entry; 0: its length is not said.
std::vector<std::int64_t> endsOfTimed(const json& entries, const std::vector<const json*>& coalesced)
{
    std::vector<std::int64_t> ends(entries.size(), 0);
    std::map<std::string, std::int64_t> nextOf; // group -> where its next collective begins
    for (std::size_t place = entries.size(); place-- > 0;) {
        const json& timed = coalesced[place] != nullptr ? *coalesced[place] : entries[place];
        const std::int64_t length = durationOf(timed), completed = timeOf(timed, "time_discovered_completed_ns");
        if (length < 0 || completed == 0)
            continue;
        const json* group = memberOf(entries[place], "process_group");
        const json* isP2p = memberOf(entries[place], "is_p2p");
        ends[place] = completed;
        if (isP2p != nullptr && isP2p->is_boolean() && isP2p->get<bool>())
            continue;
        std::int64_t& next = nextOf.try_emplace(group == nullptr ? std::string() : group->dump(), completed).first->second;
        ends[place] = std::max(std::min(completed, next), timeOf(entries[place], "time_created_ns") + length);
        next = ends[place] - length;
    }
    return ends;
}

/// A number alone at a file's name's end need not be a rank: its groups, all of which it is in, may contradict that.
bool isInLargest(const std::vector<RecordedGroup>& groups, int rank)
{
    const auto largest = std::max_element(groups.begin(), groups.end(), [](const RecordedGroup& a, const RecordedGroup& b) {
        return a.ranks.size() < b.ranks.size();
    });
    return largest == groups.end() || largest->ranks.empty() ||
           std::binary_search(largest->ranks.begin(), largest->ranks.end(), rank);
}

/// Whether the recorder let go of what an entry tells of: it was over.
bool isRetired(const json& entry)
{
    const json* retired = memberOf(entry, "retired");
    return retired != nullptr && retired->is_boolean() && retired->get<bool>();
}

bool isOfTransfers(const json& entry)
{
    const json* isP2p = memberOf(entry, "is_p2p");
    return numberOf(entry, "p2p_seq_id", 0) > 0 || (isP2p != nullptr && isP2p->is_boolean() && isP2p->get<bool>());
}

/// How far a group has come, as the dump counts: numbers of the last that was asked for, and that was over; -1: none was, and
/// nothing where the dump does not say. They are of its sends and receives as well where it has any.
struct CountsOfGroup {
    std::optional<std::int64_t> asked, over;
    bool isOpen() const { return asked && over && *asked > *over; } ///< some are asked for that are not over
};

std::optional<std::int64_t> countOf(const json& status, const char* key)
{
    const auto count = wholeNumber(textOf(status, key));
    return count ? std::optional(std::max<std::int64_t>(-1, *count)) : std::nullopt;
}

/// `number`: the rank's own of the group.
CountsOfGroup countsOf(const json& document, const std::string& number)
{
    const json* groups = memberOf(document, "pg_status");
    const json* status = groups == nullptr ? nullptr : memberOf(*groups, number.c_str());
    if (status == nullptr)
        return {};
    return {countOf(*status, "last_enqueued_collective"), countOf(*status, "last_completed_collective")};
}

std::optional<std::string> groupNameOf(const json& entry)
{
    const json* pair = memberOf(entry, "process_group");
    if (pair == nullptr || !pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string())
        return {};
    return (*pair)[0].get<std::string>();
}

/// Names of groups by the rank's own numbers of them, by which pg_status goes. Entries say both. A dump without entries of a
/// group lists its groups twice, by name and by number, and both count up in the order in which the groups were made.
std::map<std::int64_t, std::string> namesByNumber(const json& document, const json& entries)
{
    std::map<std::int64_t, std::string> said, listed;
    for (const json& entry : entries)
        if (const auto name = groupNameOf(entry); name && numberOf(entry, "pg_id", -1) >= 0)
            said.emplace(numberOf(entry, "pg_id", -1), *name);
    const json *status = memberOf(document, "pg_status"), *config = memberOf(document, "pg_config");
    if (status == nullptr || config == nullptr || !status->is_object() || !config->is_object() ||
        status->size() != config->size())
        return said;
    std::map<std::int64_t, std::string> names; // by themselves
    for (const auto& [key, value] : config->items()) {
        const std::string name = textOf(value, "name").empty() ? key : textOf(value, "name");
        const auto number = wholeNumber(name);
        if (!number || !names.emplace(*number, name).second)
            return said;
    }
    std::set<std::int64_t> numbers;
    for (const auto& item : status->items())
        numbers.insert(wholeNumber(item.key()).value_or(-1));
    if (numbers.size() != names.size() || numbers.contains(-1))
        return said;
    auto name = names.begin();
    for (const std::int64_t number : numbers)
        listed.emplace(number, (name++)->second);
    for (const auto& [number, known] : said)
        if (const auto found = listed.find(number); found == listed.end() || found->second != known)
            return said;
    return listed;
}

/// Names of groups that have sends and receives.
std::set<std::string> groupsWithTransfers(const json& entries)
{
    std::set<std::string> names;
    for (const json& entry : entries)
        if (const auto name = groupNameOf(entry); name && isOfTransfers(entry))
            names.insert(*name);
    return names;
}

/// How far the rank is in each group that is told of, by place of the group.
std::vector<RecordedProgress> progressOf(const json& document, const json& entries,
                                         const std::map<std::string, std::int32_t>& groups,
                                         const std::set<std::string>& withTransfers)
{
    std::map<std::int32_t, RecordedProgress> progress;
    for (const auto& [number, name] : namesByNumber(document, entries)) {
        const CountsOfGroup counts = countsOf(document, std::to_string(number));
        const auto group = groups.find(name);
        if (!counts.asked || !counts.over || group == groups.end()) // one of the two alone does not tell what is open
            continue;
        progress.try_emplace(group->second, RecordedProgress{.group = group->second,
                                                             .lastAsked = *counts.asked,
                                                             .lastOver = *counts.over,
                                                             .areTransfersCounted = withTransfers.contains(name)});
    }
    std::vector<RecordedProgress> list;
    for (const auto& [group, of] : progress)
        list.push_back(of);
    return list;
}

/// Without NCCL's timing PyTorch records no start, and what runs stays "scheduled".
bool areStartsTold(const json& document, const json& entries)
{
    if (std::any_of(entries.begin(), entries.end(), [](const json& entry) {
            return numberOf(entry, "time_discovered_started_ns", 0) > 0 || textOf(entry, "state") == "started";
        }))
        return true;
    const json* statuses = memberOf(document, "pg_status");
    return statuses != nullptr && statuses->is_object() &&
           std::any_of(statuses->begin(), statuses->end(),
                       [](const json& status) { return countOf(status, "last_started_collective").value_or(-1) >= 0; });
}

/// The innermost of the program's own frames where an entry was asked for, else of all; empty where none were recorded.
std::string askerOf(const json& entry)
{
    constexpr std::size_t kMostFrames = 2, kMostLetters = 200;
    const json* frames = memberOf(entry, "frames");
    if (frames == nullptr || !frames->is_array())
        return {};
    const auto isOfTorch = [](const std::string& file) {
        return file.find("/torch/") != std::string::npos || file.find("torch/csrc") != std::string::npos;
    };
    for (const bool isOwn : {true, false}) {
        std::string text;
        std::size_t count = 0;
        for (const json& frame : *frames) {
            const std::string file = textOf(frame, "filename"), name = textOf(frame, "name");
            if ((file.empty() && name.empty()) || (isOwn && isOfTorch(file)))
                continue;
            const std::size_t slash = file.find_last_of('/');
            text += (text.empty() ? "" : " in ") + name + " (" + file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
                    std::to_string(numberOf(frame, "line", 0)) + ")";
            if (++count == kMostFrames || text.size() > kMostLetters)
                break;
        }
        if (!text.empty())
            return text.substr(0, 2 * kMostLetters);
    }
    return {};
}

/// `damage`: why the document is no more than a part of the dump; empty where it is whole.
Recording recordingOf(const json& document, const ReadingFile& file, std::uint64_t bytes, const std::string& damage)
{
    // PyTorch 2.2 dumped the list alone.
    const bool isEntries = document.is_array() && !document.empty() && memberOf(document.front(), "profiling_name") != nullptr;
    const json* entries = isEntries ? &document : memberOf(document, "entries");
    const bool isList = entries != nullptr && entries->is_array();
    if (!damage.empty() && (!isList || entries->empty()))
        throw Error(file.path + ": is no whole flight recorder's dump: " + damage + ", and no entry before that is whole");
    if (!isList)
        throw Error(file.path + ": is no flight recorder's dump: it has no list \"entries\"");
    RecordingBuilder builder;
    builder.file() = {.path = file.path,
                      .format = "NCCL flight recorder",
                      .bytes = file.bytes,
                      .textBytes = bytes,
                      .events = 0,
                      .isComplete = damage.empty()};
    if (!damage.empty())
        builder.recording.problems.push_back(
            file.path + ": " + damage + "; the " +
            std::to_string(std::count_if(entries->begin(), entries->end(), [](const json& of) { return of.is_object(); })) +
            " entries that can be read are kept, what came last may be missing");
    RankRecording& about = builder.about;
    about.rank = static_cast<int>(std::clamp<std::int64_t>(numberOf(document, "rank", -1), -1, kMostRanksOfAJob - 1));
    about.rankEvidence = about.rank >= 0 ? "flight recorder" : "";
    if (about.rank < 0)
        nameRankByFile(about, file.path);
    about.host = textOf(document, "host_name");
    std::map<std::string, std::int32_t> groups;
    if (const json* config = memberOf(document, "pg_config"); config != nullptr && config->is_object())
        for (const auto& [key, value] : config->items()) {
            const std::string name = textOf(value, "name").empty() ? key : textOf(value, "name");
            if (name.empty()) // Gloo's: the last group's, by places in it
                continue;
            std::vector<int> ranks;
            if (const json* list = memberOf(value, "ranks"); list != nullptr && list->is_string())
                ranks = ranksOfText(list->get<std::string>());
            else if (list != nullptr && list->is_array())
                for (const json& rank : *list)
                    if (rank.is_number_integer() && rank.get<std::int64_t>() >= 0 && rank.get<std::int64_t>() < kMostRanksOfAJob)
                        ranks.push_back(rank.get<int>());
            std::sort(ranks.begin(), ranks.end());
            ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
            const std::string description = textOf(value, "desc");
            if (description == "default_pg" || name == "0")
                about.worldSize = std::max(about.worldSize, static_cast<int>(ranks.size()));
            groups[name] = builder.group(name, description, std::move(ranks), 0, "flight recorder");
        }
    if (about.rankEvidence == kNumberOfFile && !isInLargest(builder.recording.groups, about.rank)) {
        about.rank = -1;
        about.rankEvidence.clear();
    }
    const std::set<std::string> withTransfers = groupsWithTransfers(*entries);
    about.progress = progressOf(document, *entries, groups, withTransfers);
    about.areStartsTold = areStartsTold(document, *entries);
    std::size_t unfinished = 0;
    const std::vector<const json*> coalesced = coalescedWith(*entries);
    const std::vector<std::int64_t> endOf = endsOfTimed(*entries, coalesced);
    std::size_t place = 0;
    for (const json& entry : *entries) {
        const json* with = coalesced[place];
        const std::int64_t end = endOf[place++];
        ++builder.file().events;
        if (!entry.is_object()) {
            builder.skip("damaged event", "an entry is no object");
            continue;
        }
        std::string name = textOf(entry, "profiling_name");
        if (const std::size_t colon = name.find(':'); colon != std::string::npos)
            name = name.substr(colon + 1);
        std::string group = "?", description;
        if (const json* pair = memberOf(entry, "process_group");
            pair != nullptr && pair->is_array() && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_string()) {
            group = (*pair)[0].get<std::string>();
            description = (*pair)[1].get<std::string>();
        }
        RecordedCollective collective;
        const auto known = groups.find(group);
        collective.group = known != groups.end() ? known->second : builder.group(group, description, {}, 0, "flight recorder");
        if (const auto peers = peersOf(name)) {
            const std::vector<int>& ranks = builder.recording.groups[static_cast<std::size_t>(collective.group)].ranks;
            const auto rankOf = [&](std::size_t member) { return member < ranks.size() ? ranks[member] : -1; };
            collective.sourceRank = rankOf(peers->from);
            collective.destinationRank = rankOf(peers->to);
            name = name.substr(0, name.find(' '));
        }
        collective.name = builder.recording.names.add(name);
        if (const json* types = memberOf(entry, "input_dtypes"); types != nullptr)
            collective.dtype = builder.recording.names.add(types->is_string() ? types->get<std::string>()
                                                           : types->is_array() && !types->empty() && types->front().is_string()
                                                               ? types->front().get<std::string>()
                                                               : std::string());
        collective.asker = builder.recording.names.add(askerOf(entry));
        collective.inElements = elementsOf(entry, "input_sizes");
        collective.outElements = elementsOf(entry, "output_sizes");
        const json* isP2p = memberOf(entry, "is_p2p");
        collective.isPointToPoint = isP2p != nullptr && isP2p->is_boolean() ? isP2p->get<bool>() : isPointToPointName(name);
        collective.sequence = numberOf(entry, collective.isPointToPoint ? "p2p_seq_id" : "collective_seq_id", -1);
        if (collective.sequence < 0) // one number for both, before 2.4
            collective.sequence = numberOf(entry, "seq_id", -1);
        const json& timed = with != nullptr ? *with : entry;
        const std::int64_t created = timeOf(entry, "time_created_ns"), started = timeOf(timed, "time_discovered_started_ns");
        const std::int64_t completed = timeOf(timed, "time_discovered_completed_ns");
        const std::string state = with != nullptr && completed > 0 ? "completed" : textOf(timed, "state");
        collective.startNs = started > 0 ? started : created;
        collective.isEnqueuedOnly = state == "scheduled";
        const bool isOver = completed > 0 && completed >= collective.startNs && !collective.isEnqueuedOnly;
        // A watchdog that looks every 100 ms discovers both ends, often at once; from when it was asked for on it also waited for
        // what was asked for before.
        const std::int64_t said = durationOf(timed);
        const std::int64_t length = said >= 0 ? said : started > 0 ? completed - started : -1;
        const CountsOfGroup counts = countsOf(document, textOf(entry, "pg_id"));
        if (isOver) {
            if (said >= 0)
                collective.startNs = std::max(created, end - said);
            collective.durationNs = length >= 0 ? length : kUntimed;
            // Without a length it is an instant where it was asked for: their order is told all the same.
            const std::uint32_t track =
                builder.track("NCCL", description.empty() || description == "undefined" ? "group " + group : description);
            collective.hostSpan = builder.addSpan(track, collective.startNs, std::max<std::int64_t>(0, length), collective.name,
                                                  RecordedKind::hostCommunication);
        } else if (isRetired(entry) || (!collective.isPointToPoint && collective.sequence > 0 && !withTransfers.contains(group) &&
                                        collective.sequence <= counts.over.value_or(-1))) {
            // The recorder saw its work over, and does not say since when it ran: Gloo's has no times at all.
            collective.isEnqueuedOnly = false;
            collective.durationNs = kUntimed;
        } else if (state.empty() && started == 0 && !counts.isOpen()) {
            builder.skip("collective without a state", "nor does any time or count say whether it ended");
            continue;
        } else {
            collective.isEnqueuedOnly = collective.isEnqueuedOnly || started == 0;
            ++unfinished;
        }
        builder.addCollective(collective, 0);
    }
    if (unfinished > 0)
        builder.recording.problems.push_back(file.path + ": " + std::to_string(unfinished) + " of " +
                                             std::to_string(entries->size()) + " collectives never ended when this was dumped");
    return builder.finish(0);
}

/// A list's whole members in front of what is damaged; true where that is its end.
bool readWholeMembers(const char*& at, const char* end, json& list)
{
    for (;;) {
        skipSpace(at, end);
        if (at < end && *at == ',') {
            ++at;
            continue;
        }
        if (at >= end)
            return false;
        if (*at == ']') {
            ++at;
            return true;
        }
        std::string_view member;
        if (scanValue(at, end, member) != Scan::done)
            return false;
        json value = json::parse(member, nullptr, false);
        list.push_back(value.is_discarded() ? json() : std::move(value));
    }
}

/// What of a damaged dump can be read: of the list of entries the whole ones, and the values before it.
json startOfDump(std::string_view text)
{
    const char *at = text.data() + std::min(text.find('{'), text.size() - 1) + 1, *const end = text.data() + text.size();
    json document = json::object();
    for (;;) {
        skipSpace(at, end);
        std::string_view key, value;
        if (at < end && *at == ',')
            ++at;
        skipSpace(at, end);
        if (at >= end || *at != '"' || scanString(++at, end, key) != Scan::done)
            return document;
        skipSpace(at, end);
        if (at >= end || *at != ':')
            return document;
        skipSpace(++at, end);
        if (key == "entries" && at < end && *at == '[') {
            json& entries = document["entries"] = json::array();
            if (!readWholeMembers(++at, end, entries))
                return document;
            continue;
        }
        if (scanValue(at, end, value) != Scan::done)
            return document;
        if (json parsed = json::parse(value, nullptr, false); !parsed.is_discarded())
            document[meantText(key)] = std::move(parsed);
    }
    return document;
}

} // namespace

Recording readFlightRecorderJson(ByteSource& source, const ReadingFile& file)
{
    const std::string text = readAll(source, file, kMostFlightBytes);
    if (isNestedDeeper(text, kMostJsonDepth))
        throw Error(file.path + ": is no flight recorder's dump: it is nested more than " + std::to_string(kMostJsonDepth) +
                    " deep");
    json document;
    std::string damage;
    try {
        document = json::parse(text);
    } catch (const json::parse_error& error) {
        const bool endsEarly = error.byte > text.size(); // it counts from 1 on
        damage = (endsEarly ? "it ends too early, at byte " + std::to_string(text.size())
                            : "it is damaged at byte " + std::to_string(std::max<std::size_t>(error.byte, 1) - 1) + " of " +
                                  std::to_string(text.size())) +
                 (source.damage().empty() ? "" : " (" + source.damage() + ")");
        document = startOfDump(text);
    }
    return recordingOf(document, file, text.size(), damage);
}

Recording readFlightRecorderPickle(ByteSource& source, const ReadingFile& file)
{
    const std::string bytes = readAll(source, file, kMostFlightBytes);
    PickledStart start;
    try {
        start = readPickleStart(bytes);
    } catch (const Error&) {
        try {
            start = readPickleStart(bytes, "frames"); // most of its bytes where long stacks were recorded
        } catch (const Error& error) {
            throw Error(file.path + ": " + error.what());
        }
    }
    return recordingOf(start.value, file, bytes.size(), start.why);
}

} // namespace sim
