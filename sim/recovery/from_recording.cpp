#include "sim/recovery/from_recording.h"

#include "sim/cancel.h"
#include "sim/parallel.h"
#include "sim/recovery/named_axes.h"
#include "sim/recovery/rank_evidence.h"
#include "sim/recovery/rank_numbers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

namespace sim {
namespace {

/// Where collectives carry no group but Rankscope's own number of their meeting: who meets is a group, and the same ranks are
/// several where they meet under several names.
void groupByMeetingNumbers(const Recording& recording, const std::vector<int>& numbers, RunEvidence& evidence)
{
    struct Met {
        std::vector<int> ranks;
        std::string description;
    };
    std::map<std::uint64_t, Met> members;
    for (std::size_t r = 0; r < recording.ranks.size(); ++r)
        for (const RecordedCollective& collective : recording.ranks[r].collectives)
            if (collective.meeting != 0 && numbers[r] >= 0 &&
                (collective.group < 0 || recording.groups[static_cast<std::size_t>(collective.group)].ranks.empty())) {
                Met& met = members[collective.meeting & INT64_MAX];
                met.ranks.push_back(numbers[r]);
                if (met.description.empty() && collective.group >= 0)
                    met.description = evidence.groups[static_cast<std::size_t>(collective.group)].description;
            }
    const bool isPart = evidence.isPart();
    std::map<std::pair<std::vector<int>, std::string>, std::int32_t> groupOf;
    std::map<std::uint64_t, std::int32_t> groupOfMeeting;
    for (auto& [meeting, met] : members) {
        std::vector<int>& ranks = met.ranks;
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        if (ranks.size() < 2)
            continue;
        const auto [place, isNew] =
            groupOf.try_emplace({ranks, met.description}, static_cast<std::int32_t>(evidence.groups.size()));
        if (isNew)
            evidence.groups.push_back({.name = {},
                                       .description = met.description,
                                       .ranks = ranks,
                                       .evidence = "ranks that meet in collectives",
                                       .isPartial = isPart});
        groupOfMeeting[meeting] = place->second;
    }
    if (groupOfMeeting.empty())
        return;
    for (RankEvidence& rank : evidence.ranks)
        for (CommSpan& span : rank.comms) {
            const auto found = groupOfMeeting.find(static_cast<std::uint64_t>(span.sequence));
            const bool known = span.group >= 0 && !evidence.groups[static_cast<std::size_t>(span.group)].ranks.empty();
            if (known || span.sequence <= 0 || found == groupOfMeeting.end())
                continue;
            span.group = found->second;
        }
}

/// Of files that are not whole: the file's name and what its reader said of the end.
std::vector<std::string> cutsOf(const Recording& recording)
{
    std::vector<std::string> cuts;
    for (const RecordedFile& file : recording.files) {
        if (file.isComplete)
            continue;
        const std::string name = std::filesystem::path(file.path).filename().string();
        const auto found = std::find_if(recording.problems.begin(), recording.problems.end(),
                                        [&](const std::string& problem) { return problem.starts_with(file.path + ": "); });
        cuts.push_back(found == recording.problems.end() ? name : name + found->substr(file.path.size()));
    }
    return cuts;
}

} // namespace

RunEvidence evidenceOf(const Recording& recording)
{
    RunEvidence evidence;
    evidence.worldSize = recording.worldSize;
    evidence.slices = recording.slices;
    for (std::uint32_t i = 0; i < recording.names.size(); ++i)
        evidence.names.push_back(recording.names[i]);
    for (const RecordedGroup& group : recording.groups) {
        const bool saysNothing = group.description.empty() || group.description == "undefined";
        evidence.groups.push_back({.name = group.name,
                                   .description = saysNothing ? group.name : group.description,
                                   .ranks = group.ranks,
                                   .evidence = group.evidence});
        std::sort(evidence.groups.back().ranks.begin(), evidence.groups.back().ranks.end());
    }
    evidence.cuts = cutsOf(recording);
    const RankNumbers numbers = numbersOf(recording);
    if (!numbers.assumed.empty())
        evidence.problems.push_back(numbers.assumed);
    std::vector<Messages> messageOf(recording.ranks.size()); // [rank]
    for (std::size_t flow = 0; flow < recording.flows.size(); ++flow) {
        const RecordedFlow& ends = recording.flows[flow];
        const auto number = static_cast<std::int64_t>(flow);
        messageOf[ends.fromRank].try_emplace(ends.fromSpan, MessageOfSpan{number, numbers.ofRank[ends.toRank]});
        messageOf[ends.toRank].try_emplace(ends.toSpan, MessageOfSpan{number, numbers.ofRank[ends.fromRank]});
    }
    const LaunchNames launchNames(recording);
    std::size_t unknown = 0;
    std::vector<std::size_t> byNumber(recording.ranks.size()), taken; // somebody may have numbered them since they were read
    std::iota(byNumber.begin(), byNumber.end(), std::size_t{0});
    std::stable_sort(byNumber.begin(), byNumber.end(),
                     [&](std::size_t a, std::size_t b) { return numbers.ofRank[a] < numbers.ofRank[b]; });
    for (const std::size_t r : byNumber) {
        const int rank = numbers.ofRank[r];
        if (rank < 0)
            ++unknown;
        else if (!taken.empty() && numbers.ofRank[taken.back()] == rank)
            evidence.problems.push_back("rank " + std::to_string(rank) + " is recorded twice; the second is left out");
        else
            taken.push_back(r);
    }
    if (unknown == 1)
        evidence.problems.emplace_back(
            "a file does not say which rank it is of, nor does its name: it is left out until somebody says");
    else if (unknown > 1)
        evidence.problems.push_back(
            std::to_string(unknown) +
            " workers do not say which ranks they are, nor do their files' names: they are left out until somebody "
            "says");
    evidence.ranks.resize(taken.size());
    std::vector<std::vector<std::string>> problems(taken.size()); // [place]
    forEachInParallel(taken.size(), 0, [&](std::size_t place) {
        checkCancelled();
        const std::size_t r = taken[place];
        evidence.ranks[place] =
            evidenceOfRank(recording, recording.ranks[r], numbers.ofRank[r], messageOf[r], launchNames, problems[place]);
    });
    for (const std::vector<std::string>& ofRank : problems)
        evidence.problems.insert(evidence.problems.end(), ofRank.begin(), ofRank.end());
    std::vector<NamedAxis> axes;
    for (const TraceAxis& axis : recording.axes)
        axes.push_back({axis.name, axis.size, axis.stride});
    nameAxes(evidence, std::move(axes));
    evidence.isOneClock = recording.isOfOneClock();
    groupByMeetingNumbers(recording, numbers.ofRank, evidence);
    // A group that only its name is known of joins nobody.
    for (RankEvidence& rank : evidence.ranks)
        for (CommSpan& span : rank.comms)
            if (span.group >= 0 && evidence.groups[static_cast<std::size_t>(span.group)].ranks.empty())
                span.group = -1;
    return evidence;
}

} // namespace sim
