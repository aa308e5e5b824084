#include "sim/trace/readers/job_words.h"

#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace sim {
namespace {

using WordsJson = nlohmann::json;

constexpr std::int64_t kMostRanksTold = 1 << 24;

std::optional<std::int64_t> numberAt(const WordsJson& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

/// Within [least, kMostRanksTold), else `otherwise`.
int rankNumberAt(const WordsJson& object, const char* key, int least, int otherwise)
{
    const auto number = numberAt(object, key);
    return number && *number >= least && *number < kMostRanksTold ? static_cast<int>(*number) : otherwise;
}

std::string textAt(const WordsJson& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool isDeep(std::string_view text)
{
    constexpr int kMostDepth = 16;
    int depth = 0;
    for (const char c : text) {
        depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (depth > kMostDepth)
            return true;
    }
    return false;
}

} // namespace

void CollectiveWords::take(std::string_view key, std::string_view text, std::int64_t number)
{
    const auto small = static_cast<int>(number >= 0 && number < kMostRanksTold ? number : -1);
    if (key == "Collective name")
        name = text;
    else if (key == "dtype")
        dtype = text;
    else if (key == "Process Group Name")
        group = text;
    else if (key == "Src Rank")
        sourceRank = small;
    else if (key == "Dst Rank")
        destinationRank = small;
    else if (key == "In msg nelems")
        inElements = std::max<std::int64_t>(number, -1);
    else if (key == "Out msg nelems")
        outElements = std::max<std::int64_t>(number, -1);
    else if (key == "bytes")
        bytes = std::max<std::int64_t>(number, -1);
    else if (key == "Seq")
        sequence = std::max<std::int64_t>(number, -1);
    else if (key == "External id")
        externalId = number;
}

RecordedKind kindOfWrittenWord(std::string_view category, RecordedKind other)
{
    constexpr auto kWords = std::to_array<std::pair<std::string_view, RecordedKind>>({
        {"communication", RecordedKind::communication},
        {"host communication", RecordedKind::hostCommunication},
        {"python_function", RecordedKind::pythonFunction},
        {"cuda_sync", RecordedKind::synchronization},
        {"overhead", RecordedKind::overhead},
    });
    for (const auto& [word, kind] : kWords)
        if (word == category)
            return kind;
    return other;
}

void takeCollectiveWords(RecordingBuilder& builder, std::uint32_t track, std::uint32_t span, const CollectiveWords& words,
                         std::uint64_t correlation)
{
    const RecordedKind kind = builder.kind(span);
    if (kind == RecordedKind::gpuAnnotation)
        builder.at(track).isDevice = true;
    if (correlation != 0 && correlation <= INT64_MAX) {
        if (kind == RecordedKind::runtime)
            builder.addLaunch(static_cast<std::int64_t>(correlation), span);
        else if (isDeviceWork(kind))
            builder.addLaunched(static_cast<std::int64_t>(correlation), span);
    }
    const bool isKernel = kind == RecordedKind::communication;
    if (!isKernel && words.name.empty() && (kind != RecordedKind::hostCommunication || words.externalId == 0))
        return;
    RecordedCollective collective;
    (isDeviceWork(kind) ? collective.span : collective.hostSpan) = span;
    std::string said = words.name;
    if (said.empty() && isKernel)
        said = collectiveOfKernelName(builder.recording.names[builder.nameOf(span)]);
    collective.name = builder.recording.names.add(said);
    collective.isPointToPoint = isPointToPointName(said);
    collective.dtype = builder.recording.names.add(words.dtype);
    collective.sourceRank = words.sourceRank;
    collective.destinationRank = words.destinationRank;
    collective.inElements = words.inElements;
    collective.outElements = words.outElements;
    collective.bytes = words.bytes;
    collective.sequence = words.sequence;
    if (!words.group.empty())
        collective.group = builder.group(words.group, "", {}, 0, "arguments of collectives");
    builder.addCollective(collective, words.externalId);
}

bool JobWords::takeDescription(std::string_view description, RecordingBuilder& builder)
{
    constexpr std::string_view kStart = "distributedInfo ";
    if (!description.starts_with(kStart) || isDeep(description))
        return false;
    return take(WordsJson::parse(description.substr(kStart.size()), nullptr, false), builder);
}

bool JobWords::take(const WordsJson& info, RecordingBuilder& builder)
{
    if (!info.is_object() || m_isSaid)
        return false;
    const auto ranks = info.find("ranks");
    const bool isOwn = ranks != info.end() && ranks->is_array() &&
                       std::all_of(ranks->begin(), ranks->end(), [](const WordsJson& rank) { return rank.is_object(); });
    if (!isOwn)
        return false;
    m_isSaid = true;
    builder.splitByProcess();
    m_worldSize = rankNumberAt(info, "world_size", 1, 0);
    builder.recording.hasManyClocks = textAt(info, "clocks") == "several";
    for (const WordsJson& said : *ranks) {
        RankRecording& rank = m_ranks[textAt(said, "name")];
        rank.host = textAt(said, "host_name");
        rank.deviceName = textAt(said, "device_name");
        rank.backend = textAt(said, "backend");
        rank.rankEvidence = textAt(said, "rank_from");
        rank.device = rankNumberAt(said, "device", 0, -1);
        rank.worldSize = rankNumberAt(said, "world_size", 1, 0);
        rank.firstNs = numberAt(said, "first_ns").value_or(0);
        rank.lastNs = numberAt(said, "last_ns").value_or(0);
    }
    if (const auto groups = info.find("pg_config"); groups != info.end() && groups->is_array())
        for (const WordsJson& group : *groups)
            if (group.is_object())
                takeGroup(group, builder);
    takeGrid(info, builder);
    return true;
}

void JobWords::takeGroup(const WordsJson& said, RecordingBuilder& builder)
{
    constexpr std::size_t kMostMembers = std::size_t{8} << 20; // of all groups
    const int size = rankNumberAt(said, "pg_size", 0, 0);
    std::vector<int> ranks;
    if (const auto list = said.find("ranks"); list != said.end() && list->is_array()) {
        for (const WordsJson& rank : *list)
            if (rank.is_number_integer() && rank.get<std::int64_t>() >= 0 && rank.get<std::int64_t>() < kMostRanksTold)
                ranks.push_back(rank.get<int>());
    } else {
        const int start = rankNumberAt(said, "global_rank_start", 0, -1), stride = rankNumberAt(said, "global_rank_stride", 1, 0);
        const std::int64_t last = start + static_cast<std::int64_t>(std::max(0, size - 1)) * stride;
        if (start >= 0 && stride > 0 && last < kMostRanksTold && m_members + static_cast<std::size_t>(size) <= kMostMembers)
            for (int i = 0; i < size; ++i)
                ranks.push_back(start + i * stride);
    }
    m_members += ranks.size();
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    const std::int32_t index =
        builder.group(textAt(said, "pg_name"), textAt(said, "pg_desc"), std::move(ranks), size, "distributedInfo");
    RecordedGroup& group = builder.recording.groups[static_cast<std::size_t>(index)];
    group.backend = textAt(said, "backend_config");
    group.size = std::max(size, static_cast<int>(group.ranks.size()));
    if (const std::string evidence = textAt(said, "evidence"); !evidence.empty())
        group.evidence = evidence;
    m_groups.push_back(index);
}

void JobWords::takeGrid(const WordsJson& info, RecordingBuilder& builder)
{
    const auto names = info.find("mesh_dim_names"), sizes = info.find("mesh_shape"), strides = info.find("mesh_strides");
    for (const auto& list : {names, sizes, strides})
        if (list == info.end() || !list->is_array() || list->size() != names->size())
            return;
    std::vector<TraceAxis> axes;
    for (std::size_t i = 0; i < names->size(); ++i) {
        const auto isNumber = [](const WordsJson& number) {
            return number.is_number_integer() && number.get<std::int64_t>() >= 1 && number.get<std::int64_t>() < kMostRanksTold;
        };
        if (!(*names)[i].is_string() || !isNumber((*sizes)[i]) || !isNumber((*strides)[i]))
            return;
        axes.push_back({(*names)[i].get<std::string>(), (*sizes)[i].get<int>(), (*strides)[i].get<int>()});
    }
    builder.recording.axes = std::move(axes);
}

void JobWords::settle(Recording& recording) const
{
    if (!m_isSaid)
        return;
    for (RankRecording& rank : recording.ranks) {
        rank.worldSize = m_worldSize;
        const auto found = m_ranks.find(rank.name);
        if (found == m_ranks.end())
            continue;
        const RankRecording& said = found->second;
        rank.host = said.host;
        rank.deviceName = said.deviceName;
        rank.backend = said.backend;
        if (rank.rank >= 0 && !said.rankEvidence.empty())
            rank.rankEvidence = said.rankEvidence;
        rank.device = said.device;
        if (said.worldSize > 0)
            rank.worldSize = said.worldSize;
        // With what was left out: it lay around what is here.
        if (said.firstNs < said.lastNs && rank.spans.size() > 0) {
            rank.firstNs = std::min(rank.firstNs, said.firstNs);
            rank.lastNs = std::max(rank.lastNs, said.lastNs);
        }
    }
    recording.worldSize = m_worldSize;
    for (const RankRecording& rank : recording.ranks)
        recording.worldSize = std::max(recording.worldSize, rank.worldSize);

    std::map<std::string, std::vector<std::int32_t>> byName;
    std::vector<std::int32_t> order; // groups that stay, told of first
    std::set<std::int32_t> told;
    for (const std::int32_t group : m_groups)
        if (told.insert(group).second) {
            byName[recording.groups[static_cast<std::size_t>(group)].name].push_back(group);
            order.push_back(group);
        }
    std::map<std::pair<std::int32_t, int>, std::int32_t> meant; // group as the span names it, rank
    std::set<std::int32_t> others;
    for (RankRecording& rank : recording.ranks)
        for (RecordedCollective& collective : rank.collectives) {
            if (collective.group < 0)
                continue;
            const auto [known, isNew] = meant.try_emplace({collective.group, rank.rank}, collective.group);
            const RecordedGroup& named = recording.groups[static_cast<std::size_t>(collective.group)];
            if (const auto same = byName.find(named.name); isNew && named.ranks.empty() && same != byName.end())
                for (const std::int32_t group : same->second) {
                    const std::vector<int>& ranks = recording.groups[static_cast<std::size_t>(group)].ranks;
                    if (std::binary_search(ranks.begin(), ranks.end(), rank.rank)) {
                        known->second = group;
                        break;
                    }
                }
            collective.group = known->second;
            others.insert(collective.group);
        }
    for (const std::int32_t group : order)
        others.erase(group);
    order.insert(order.end(), others.begin(), others.end());
    std::map<std::int32_t, std::int32_t> placeOf;
    std::vector<RecordedGroup> groups;
    for (const std::int32_t group : order) {
        placeOf[group] = static_cast<std::int32_t>(groups.size());
        groups.push_back(std::move(recording.groups[static_cast<std::size_t>(group)]));
    }
    for (RankRecording& rank : recording.ranks)
        for (RecordedCollective& collective : rank.collectives)
            if (collective.group >= 0)
                collective.group = placeOf.at(collective.group);
    recording.groups = std::move(groups);
}

} // namespace sim
