// Which members of a recording a cache holds, in their order: one list for writing and for reading.
#pragma once

#include "sim/trace/cache/cache_bytes.h"
#include "sim/trace/cache/recording_cache.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sim {

/// Names of the files and folders that were opened, in texts that are kept: another time the same are named otherwise.
class OpenedNames {
public:
    explicit OpenedNames(const std::vector<std::filesystem::path>& opened);
    std::string withoutNames(const std::string&) const;
    /// Throws Error where a text names one that was not opened.
    std::string withNames(const std::string&) const;

private:
    std::vector<std::string> m_names;
    std::vector<std::size_t> m_byLength; ///< the longest first
};

/// A recording's parts but for its ranks.
Recording copyOfShared(const Recording&);

template <typename Archive>
void cacheOrigin(Archive& archive, CacheOrigin& origin)
{
    archive.list(origin.sources, [&](auto& source) {
        archive(source.path);
        archive(source.opened);
        archive(source.bytes);
        archive(source.modifiedNs);
        archive(source.headHash);
    });
    archive(origin.pythonFunctions);
}

/// `Of`: a Recording to read into, a const one to write.
template <typename Archive, typename Of>
void cacheShared(Archive& archive, Of& recording, const OpenedNames& names)
{
    const auto each = [&](auto& value) { archive(value); };
    const auto named = [&](auto& text) {
        if constexpr (Archive::kReads) {
            archive(text);
            text = names.withNames(text);
        } else {
            archive(names.withoutNames(text));
        }
    };
    const auto counted = [&](auto& number) { // a size_t is 64 bits wide in the file
        static_assert(sizeof(number) == 8);
        archive(number);
    };
    archive.list(recording.files, [&](auto& file) {
        named(file.path);
        archive(file.format);
        archive(file.bytes);
        archive(file.textBytes);
        counted(file.events);
        archive(file.isComplete);
    });
    archive.list(recording.groups, [&](auto& group) {
        archive(group.name);
        archive(group.description);
        archive(group.backend);
        archive.list(group.ranks, each);
        archive(group.size);
        archive(group.evidence);
        archive.list(group.toldBy, each);
    });
    archive.list(recording.flows, [&](auto& flow) {
        archive(flow.fromRank);
        archive(flow.fromSpan);
        archive(flow.toRank);
        archive(flow.toSpan);
    });
    archive.list(recording.meanings, [&](auto& meaning) {
        archive(meaning.opClass);
        archive(meaning.stage);
        archive(meaning.layer);
        archive(meaning.group);
        archive(meaning.bytes);
        archive(meaning.flops);
    });
    archive.list(recording.shapes, [&](auto& shape) {
        archive(shape.op);
        archive(shape.dtype);
        archive.list(shape.dims, [&](auto& dims) { archive.list(dims, each); });
    });
    std::vector<std::string> texts;
    for (std::uint32_t i = 0; !Archive::kReads && i < recording.names.size(); ++i)
        texts.push_back(recording.names[i]);
    archive.list(texts, each);
    if constexpr (Archive::kReads)
        for (const std::string& text : texts)
            if (recording.names.add(text) != static_cast<std::uint32_t>(&text - texts.data()))
                throw Error("a name is there twice");
    archive.list(recording.axes, [&](auto& axis) {
        archive(axis.name);
        archive(axis.size);
        archive(axis.stride);
    });
    archive(recording.worldSize);
    archive(recording.isEpoch);
    archive(recording.hasManyClocks);
    archive(recording.slices);
    archive.list(recording.otherRuns, [&](auto& run) {
        archive.list(run.files, named);
        named(run.why);
    });
    archive.list(recording.skipped, [&](auto& skip) {
        archive(skip.what);
        counted(skip.count);
        named(skip.why);
        archive(skip.firstByte);
        named(skip.file);
    });
    archive.list(recording.problems, named);
}

/// What its files say of a rank.
template <typename Archive, typename Of>
void cacheRank(Archive& archive, Of& rank)
{
    archive(rank.rank);
    archive(rank.rankEvidence);
    archive(rank.name);
    archive(rank.multiplicity);
    archive(rank.worldSize);
    archive(rank.host);
    archive(rank.deviceName);
    archive(rank.backend);
    archive(rank.device);
    archive(rank.file);
    archive(rank.events);
    archive(rank.firstNs);
    archive(rank.lastNs);
    archive.list(rank.windows, [&](auto& window) {
        archive(window.first);
        archive(window.second);
    });
}

/// What of a rank is neither a column nor said by cacheRank().
template <typename Archive, typename Of>
void cacheRankRecords(Archive& archive, Of& rank)
{
    const auto each = [&](auto& value) { archive(value); };
    archive.list(rank.tracks, [&](auto& track) {
        archive(track.name);
        archive(track.process);
        archive(track.number);
        archive(track.isDevice);
        archive(track.device);
        archive(track.first);
        archive(track.last);
    });
    archive.list(rank.collectives, [&](auto& of) {
        archive(of.span);
        archive(of.hostSpan);
        archive(of.name);
        archive(of.dtype);
        archive(of.group);
        archive(of.sourceRank);
        archive(of.destinationRank);
        archive(of.inElements);
        archive(of.outElements);
        archive(of.bytes);
        archive(of.sequence);
        archive(of.meeting);
        archive(of.startNs);
        archive(of.durationNs);
        archive(of.asker);
        archive(of.isPointToPoint);
        archive(of.isEnqueuedOnly);
    });
    archive.list(rank.progress, [&](auto& of) {
        archive(of.group);
        archive(of.lastAsked);
        archive(of.lastOver);
        archive(of.areTransfersCounted);
    });
    archive(rank.areStartsTold);
    archive.list(rank.steps, [&](auto& step) {
        archive(step.number);
        archive(step.startNs);
        archive(step.endNs);
        archive(step.deviceStartNs);
        archive(step.deviceEndNs);
    });
    archive.list(rank.shapeOf, [&](auto& of) {
        archive(of.first);
        archive(of.second);
    });
    archive.list(rank.counters, [&](auto& counter) {
        archive(counter.name);
        archive(counter.unit);
        archive.list(counter.timeNs, each);
        archive.list(counter.value, each);
    });
}

} // namespace sim
