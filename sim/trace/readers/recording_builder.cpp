#include "sim/trace/readers/recording_builder.h"

#include "sim/error.h"
#include "sim/trace/readers/reading.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace sim {

std::uint32_t RecordingBuilder::track(std::string_view process, std::string_view thread)
{
    const std::pair key{m_places.add(process), m_places.add(thread)};
    const auto [found, isNew] = m_trackIds.try_emplace(key, static_cast<std::uint32_t>(m_tracks.size()));
    if (isNew) {
        RecordedTrack& row = m_tracks.emplace_back();
        row.process = process;
        row.name = thread;
        std::from_chars(thread.data(), thread.data() + thread.size(), row.number);
    }
    return found->second;
}

std::uint32_t RecordingBuilder::addSpan(std::uint32_t track, std::int64_t startNs, std::int64_t durationNs, std::uint32_t name,
                                        RecordedKind kind)
{
    if (m_spans.size() >= kNoSpan - 1)
        throw Error(file().path + ": holds more than 4294967293 spans; record fewer steps");
    m_spans.startNs.push_back(startNs);
    m_spans.durationNs.push_back(lasting(startNs, durationNs));
    m_spans.name.push_back(name);
    m_spans.kind.push_back(kind);
    m_trackOf.push_back(track);
    if (!m_spans.meaning.empty()) {
        m_spans.meaning.push_back(kNoSpan);
        m_spans.microbatch.push_back(-1);
    }
    return static_cast<std::uint32_t>(m_spans.size() - 1);
}

std::int64_t RecordingBuilder::lasting(std::int64_t startNs, std::int64_t durationNs)
{
    const std::int64_t most = std::min(kMostTraceNs, kMostTraceNs - startNs);
    if (durationNs > most)
        skip("end of a span", "times go up to 4e18 ns, 126.8 years: it was cut off there");
    return std::min(durationNs, most);
}

void RecordingBuilder::setEnd(std::uint32_t span, std::int64_t endNs)
{
    m_spans.durationNs[span] = lasting(m_spans.startNs[span], std::max<std::int64_t>(0, endNs - m_spans.startNs[span]));
}

void RecordingBuilder::setMeaning(std::uint32_t span, const RecordedMeaning& meaning, std::int32_t microbatch)
{
    if (m_spans.meaning.empty()) {
        m_spans.meaning.assign(m_spans.size(), kNoSpan);
        m_spans.microbatch.assign(m_spans.size(), -1);
    }
    auto& meanings = recording.meanings;
    std::string key = std::to_string(static_cast<int>(meaning.opClass)) + ' ' + std::to_string(meaning.stage) + ' ' +
                      std::to_string(meaning.layer) + ' ' + std::to_string(meaning.bytes) + ' ' + std::to_string(meaning.flops) +
                      ' ' + meaning.group;
    const auto [found, isNew] = m_meaningIds.try_emplace(std::move(key), static_cast<std::uint32_t>(meanings.size()));
    if (isNew)
        meanings.push_back(meaning);
    m_spans.meaning[span] = found->second;
    m_spans.microbatch[span] = microbatch;
}

void RecordingBuilder::setOwn(std::uint32_t span, std::uint32_t track, const RecordedMeaning& meaning, std::int32_t microbatch,
                              std::uint64_t meeting, const CollectiveWords& words)
{
    setMeaning(span, meaning, microbatch);
    const bool isAction = m_tracks[track].name.starts_with("actions");
    if (m_tracks[track].name.starts_with("thread ")) { // a host's, of a foreign trace that was converted
        m_spans.kind[span] = isCommunication(meaning.opClass) ? RecordedKind::hostCommunication : RecordedKind::other;
        return;
    }
    // Of a live run: a rank waits for the others of a collective, and computes nothing.
    const bool isWait = meaning.opClass == OpClass::other && !m_tracks[track].name.starts_with("compute");
    const RecordedKind kind = isAction                                   ? RecordedKind::annotation
                              : isWait                                   ? RecordedKind::other
                              : isCommunication(meaning.opClass)         ? RecordedKind::communication
                              : meaning.opClass == OpClass::hostTransfer ? RecordedKind::memcpy
                                                                         : RecordedKind::kernel;
    m_spans.kind[span] = kind;
    m_tracks[track].isDevice = !isAction;
    if (kind != RecordedKind::communication)
        return;
    RecordedCollective collective;
    collective.span = span;
    collective.name = m_spans.name[span];
    collective.bytes = meaning.bytes;
    collective.meeting = meeting;
    collective.isPointToPoint = isPointToPointName(recording.names[collective.name]);
    collective.sourceRank = words.sourceRank;
    collective.destinationRank = words.destinationRank;
    if (!words.group.empty())
        collective.group = group(words.group, meaning.group, {}, 0, "group of the span");
    else if (!meaning.group.empty())
        collective.group = group(meaning.group, "", {}, 0, "group of the span");
    addCollective(collective, 0);
}

std::int64_t RecordingBuilder::lastNs() const
{
    std::int64_t last = 0;
    for (std::size_t span = 0; span < m_spans.size(); ++span)
        last = span == 0 ? m_spans.endNs(span) : std::max(last, m_spans.endNs(span));
    return last;
}

void RecordingBuilder::addExtent(std::int64_t startNs, std::int64_t endNs)
{
    endNs = std::min(endNs, kMostTraceNs);
    m_extent =
        m_extent ? std::pair(std::min(m_extent->first, startNs), std::max(m_extent->second, endNs)) : std::pair(startNs, endNs);
}

void RecordingBuilder::setSlices(int slices, const std::vector<std::pair<std::uint32_t, std::int32_t>>& sliceOf)
{
    recording.slices = slices;
    for (std::int32_t& microbatch : m_spans.microbatch)
        if (microbatch >= 0)
            microbatch *= slices;
    for (const auto& [span, slice] : sliceOf)
        if (m_spans.microbatch[span] >= 0)
            m_spans.microbatch[span] += slice;
}

void RecordingBuilder::addFlowEnd(std::uint64_t id, std::uint32_t track, std::int64_t atNs, bool arrives, FlowUse use)
{
    m_flowEnds.push_back({id, atNs, track, arrives, use});
}

void RecordingBuilder::addFlowEnd(std::uint64_t id, std::uint32_t span, bool arrives)
{
    m_flowEnds.push_back({id, span, kNoSpan, arrives, FlowUse::message});
}

void RecordingBuilder::timeByHostCalls(const std::vector<RecordedCollective>& calls)
{
    const auto wordOf = [this](const RecordedCollective& collective) { // "_allgather_base" and "all_gather" are one
        std::string word = recording.names[collective.name];
        if (word.ends_with("_base"))
            word.erase(word.size() - 5);
        std::erase(word, '_');
        return word;
    };
    using Spans = std::vector<std::pair<std::int64_t, std::size_t>>; // by start: places
    std::map<std::string, std::pair<Spans, Spans>> byWord;           // of those told of, and of calls
    for (std::size_t i = 0; i < m_collectives.size(); ++i) {
        const RecordedCollective& told = m_collectives[i].first;
        if (told.span != kNoSpan)
            return; // kernels have times of their own
        if (told.hostSpan != kNoSpan)
            byWord[wordOf(told)].first.emplace_back(m_spans.startNs[told.hostSpan], i);
    }
    for (std::size_t i = 0; i < calls.size(); ++i)
        byWord[wordOf(calls[i])].second.emplace_back(m_spans.startNs[calls[i].hostSpan], i);
    for (auto& [word, both] : byWord) {
        auto& [told, made] = both;
        std::sort(told.begin(), told.end());
        std::sort(made.begin(), made.end());
        if (told.size() != made.size() ||
            !std::equal(told.begin(), told.end(), made.begin(), [](const auto& a, const auto& b) { return a.first <= b.first; }))
            continue;
        for (std::size_t i = 0; i < told.size(); ++i)
            m_collectives[told[i].second].first.hostSpan = calls[made[i].second].hostSpan;
    }
}

void RecordingBuilder::addCollective(RecordedCollective collective, std::int64_t externalId)
{
    m_collectives.emplace_back(collective, externalId);
}

void RecordingBuilder::addCounterPoint(std::uint32_t track, const std::string& name, const std::string& unit, std::int64_t timeNs,
                                       double value)
{
    CounterOf& of = m_counters.try_emplace({m_tracks[track].process, name}, CounterOf{track, {name, unit, {}, {}}}).first->second;
    of.counter.timeNs.push_back(timeNs);
    of.counter.value.push_back(value);
}

void RecordingBuilder::addStep(std::int64_t number, std::uint32_t span, bool isOnDevice)
{
    m_steps.push_back({number, span, isOnDevice});
}

void RecordingBuilder::skip(std::string_view what, std::string_view why, std::int64_t byte)
{
    for (RecordedSkip& skipped : recording.skipped)
        if (skipped.what == what) {
            ++skipped.count;
            return;
        }
    recording.skipped.push_back(
        {.what = std::string(what), .count = 1, .why = std::string(why), .firstByte = byte, .file = file().path});
}

bool RecordingBuilder::takeUnlistedMembers(std::size_t count)
{
    constexpr std::size_t kMost = std::size_t{4} << 20; // a rank in twenty groups of two hundred thousand
    if (count > kMost - m_unlistedMembers) {
        skip("members of a group", "the groups before hold " + std::to_string(m_unlistedMembers) + ", and more than " +
                                       std::to_string(kMost) + " are not written out: only the group's size is kept");
        return false;
    }
    m_unlistedMembers += count;
    return true;
}

std::int32_t RecordingBuilder::group(std::string_view name, std::string_view description, std::vector<int> ranks, int size,
                                     std::string_view evidence)
{
    const auto [found, isNew] =
        m_groupIds.try_emplace({std::string(name), ranks}, static_cast<std::int32_t>(recording.groups.size()));
    if (isNew) {
        RecordedGroup& group = recording.groups.emplace_back();
        group.name = name;
        group.size = size > 0 ? size : static_cast<int>(ranks.size());
        group.ranks = std::move(ranks);
        group.evidence = evidence;
    }
    RecordedGroup& group = recording.groups[static_cast<std::size_t>(found->second)];
    if (group.description.empty() || group.description == "undefined")
        group.description = description;
    return found->second;
}

void RecordingBuilder::addShape(std::uint32_t span, const std::string& written, const RecordedShape& shape)
{
    const auto [known, isNew] = m_shapeIds.try_emplace(written, static_cast<std::uint32_t>(recording.shapes.size()));
    if (isNew)
        recording.shapes.push_back(shape);
    about.shapeOf.emplace_back(span, known->second);
}

} // namespace sim
