// Takes what one file tells in the order of the file, and puts it into a Recording's order.
#pragma once

#include "sim/trace/readers/job_words.h"
#include "sim/trace/recording.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

class RecordingBuilder {
public:
    /// Names, groups, meanings, problems and the file are filled by the reader.
    Recording recording;
    /// What the one rank of the file is, unless its processes are ranks of their own.
    RankRecording about;

    RecordingBuilder() { recording.files.emplace_back(); }
    RecordedFile& file() { return recording.files.front(); }

    /// The row of a process and thread (or stream), as the file names them.
    std::uint32_t track(std::string_view process, std::string_view thread);
    RecordedTrack& at(std::uint32_t track) { return m_tracks[track]; }
    std::size_t trackCount() const { return m_tracks.size(); }
    std::uint32_t trackOf(std::uint32_t span) const { return m_trackOf[span]; }
    void nameProcess(std::string_view process, std::string_view name) { m_processNames[std::string(process)] = name; }
    void labelProcess(std::string_view process, std::string_view label) { m_processLabels[std::string(process)] = label; }
    /// Each process of the file is a worker of its own, of unknown rank where its name says none.
    void splitByProcess() { m_isSplit = true; }
    const std::string& processName(std::string_view process) { return m_processNames[std::string(process)]; }

    /// A span; its number until finish() sorts. Throws Error beyond four thousand million.
    std::uint32_t addSpan(std::uint32_t track, std::int64_t startNs, std::int64_t durationNs, std::uint32_t name, RecordedKind);
    void setKind(std::uint32_t span, RecordedKind kind) { m_spans.kind[span] = kind; }
    void setEnd(std::uint32_t span, std::int64_t endNs);
    void setMeaning(std::uint32_t span, const RecordedMeaning&, std::int32_t microbatch);
    /// What Rankscope's own files say of a span: its kind follows from class and row, and transfers are collectives, of whose
    /// words the group's name and the other end's rank count.
    void setOwn(std::uint32_t span, std::uint32_t track, const RecordedMeaning&, std::int32_t microbatch, std::uint64_t meeting,
                const CollectiveWords& = {});
    std::int64_t lastNs() const; ///< end of the last span so far
    /// A complete event that is left out: the recording lasts over it all the same.
    void addExtent(std::int64_t startNs, std::int64_t endNs);
    /// A micro-batch becomes micro-batch * slices + slice; `sliceOf`: span and slice, 0 for the others.
    void setSlices(int slices, const std::vector<std::pair<std::uint32_t, std::int32_t>>& sliceOf);
    RecordedKind kind(std::uint32_t span) const { return m_spans.kind[span]; }
    std::uint32_t nameOf(std::uint32_t span) const { return m_spans.name[span]; }
    std::int64_t startNs(std::uint32_t span) const { return m_spans.startNs[span]; }
    std::size_t spanCount() const { return m_spans.size(); }

    /// Launches and what they launched meet by correlation.
    void addLaunch(std::int64_t correlation, std::uint32_t span) { m_launches.emplace_back(correlation, span); }
    void addLaunched(std::int64_t correlation, std::uint32_t span) { m_launched.emplace_back(correlation, span); }
    /// What a flow joins: a message's ends; a forward operator and its backward; a library's call and what it asked a device for,
    /// or the framework's operator and that, where no call is known.
    enum class FlowUse : std::uint8_t { message, backward, call, launchingOperator };
    /// An end of a flow that is bound by place: to the span that is open there.
    void addFlowEnd(std::uint64_t id, std::uint32_t track, std::int64_t atNs, bool arrives, FlowUse);
    /// An end that names its span.
    void addFlowEnd(std::uint64_t id, std::uint32_t span, bool arrives);
    /// `externalId` joins the host's call and the kernel; 0: not said.
    void addCollective(RecordedCollective, std::int64_t externalId);
    /// Calls that are exchanges on the host tell how long those took that are in already, where no kernel does: of a word in the
    /// order of both, where they are as many.
    void timeByHostCalls(const std::vector<RecordedCollective>& calls);
    void addCounterPoint(std::uint32_t track, const std::string& name, const std::string& unit, std::int64_t timeNs,
                         double value);
    /// `written`: the inputs as the file has them, by which equal ones are known.
    void addShape(std::uint32_t span, const std::string& written, const RecordedShape& shape);
    void addStep(std::int64_t number, std::uint32_t span, bool isOnDevice);
    void skip(std::string_view what, std::string_view why, std::int64_t byte = -1);

    /// Whether so many members may be written out that the file does not list one by one; they count as written where true. Words
    /// of a few bytes stand for any number of them, so a file has a budget.
    bool takeUnlistedMembers(std::size_t count);
    /// The group with these words; made where there is none. `ranks` ascending.
    std::int32_t group(std::string_view name, std::string_view description, std::vector<int> ranks, int size,
                       std::string_view evidence);

    /// All, sorted, with links; processes named "rank N…" become ranks of their own. Times get `baseNs` added.
    Recording finish(std::int64_t baseNs);

private:
    struct FlowEnd {
        std::uint64_t id;
        std::int64_t atNs; ///< or the span, where track is kNoSpan
        std::uint32_t track;
        bool arrives;
        FlowUse use;
    };
    std::vector<std::uint32_t> sortedSpans();
    void nameTracks();
    void joinLaunches(const std::vector<std::uint32_t>& placeOf);
    void joinFlows(const std::vector<std::uint32_t>& placeOf);
    void joinCollectives(const std::vector<std::uint32_t>& placeOf);
    void nameCollectivesByAnnotations();
    bool isSplit() const; ///< processes are workers of their own
    void splitMergedRanks();
    void splitIntoRanks();
    /// What a span lasts of what a file says that it does.
    std::int64_t lasting(std::int64_t startNs, std::int64_t durationNs);
    bool canShiftBy(std::int64_t ns) const; ///< all times stay times
    std::uint32_t spanAt(std::uint32_t track, std::int64_t ns) const;

    struct PairHash {
        std::size_t operator()(const std::pair<std::uint32_t, std::uint32_t>& p) const
        {
            return (static_cast<std::uint64_t>(p.first) << 32 | p.second) * 0x9E3779B97F4A7C15ULL >> 16;
        }
    };
    RecordedSpans m_spans;
    std::vector<std::uint32_t> m_trackOf; ///< [span]
    std::vector<RecordedTrack> m_tracks;
    NameTable m_places; ///< processes and threads as written
    std::unordered_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t, PairHash> m_trackIds;
    std::map<std::string, std::string> m_processNames, m_processLabels;
    std::vector<std::pair<std::int64_t, std::uint32_t>> m_launches, m_launched;
    std::vector<FlowEnd> m_flowEnds;
    std::vector<std::pair<RecordedCollective, std::int64_t>> m_collectives; ///< and external id
    struct Step {
        std::int64_t number;
        std::uint32_t span;
        bool isOnDevice;
    };
    std::vector<Step> m_steps; ///< from finish() on by place
    std::vector<bool> rowsOfCopies() const;
    std::vector<RecordedStep> stepsOf(const std::vector<Step>&, const std::vector<bool>& copiesAlone) const;
    struct CounterOf {
        std::uint32_t track;
        RecordedCounter counter;
    };
    std::map<std::pair<std::string, std::string>, CounterOf> m_counters; ///< process, name
    std::vector<std::uint32_t> m_rowOf;                                  ///< [track as added] -> place after sorting
    bool m_isSplit = false;
    std::optional<std::pair<std::int64_t, std::int64_t>> m_extent; ///< of what was left out
    std::unordered_map<std::string, std::uint32_t> m_meaningIds, m_shapeIds;
    std::map<std::pair<std::string, std::vector<int>>, std::int32_t> m_groupIds; ///< name, members
    std::size_t m_unlistedMembers = 0;
};

/// What follows from the spans: annotations, first and last time, events where none were counted.
void describeRank(RankRecording&);

} // namespace sim
