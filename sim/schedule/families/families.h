// The schedule families. A family is one file that says what it takes, how it places stages and orders actions; families.cpp
// lists them. What a family is like stands here and nowhere else: the rules of the scenario file, the form and the closed forms
// ask for traits, never for names.
#pragma once

#include "sim/schedule/request.h"
#include "sim/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct ChunkRange {
    int least = 1;
    int most = 1; ///< 0 = no upper limit
    bool holds(std::int64_t chunks) const { return chunks >= least && (most == 0 || chunks <= most); }
};

/// The numbers of a job that a family may be particular about.
struct PipelineNumbers {
    std::int64_t ranks = 1;
    std::int64_t chunks = 1; ///< a rank holds
    std::int64_t lines = 0;  ///< of actions that are given
    std::int64_t group = 0;  ///< micro-batches that a chunk takes before the next one, where the family deals in groups
    std::int64_t microbatches = 1;
};

/// What a family asks of a number, beside that there is at least one of it; none if `isMet` is null.
struct Demand {
    bool (*isMet)(const PipelineNumbers&) = nullptr;
    /// What goes after "dualpipe on pp 4 wants ...". `group`: the group as a person is told it, "4 (default)".
    std::string (*text)(const PipelineNumbers&, const std::string& group) = nullptr;
};

/// Share of a step that ranks wait, on equal stages without transfers: [0] of [1] times of a forward and a backward.
struct ClosedForm {
    std::string_view formula; ///< "(p − 1) / (m + p − 1)"
    std::array<int, 2> (*of)(int ranks, int chunks, int microbatches) = nullptr;
    std::string_view source;    ///< paper
    std::string_view ofFewer{}; ///< the formula where there are fewer micro-batches than ranks; empty: the same
    std::string_view formulaFor(int ranks, int microbatches) const
    {
        return microbatches < ranks && !ofFewer.empty() ? ofFewer : formula;
    }
};

/// In the order in which they are looked at: a family is asked about a number only where those before are right.
enum class PipelineNumber : std::uint8_t { ranks, chunks, lines, group, microbatches };

/// A number that a family does not take.
struct UnmetDemand {
    PipelineNumber about = PipelineNumber::ranks;
    std::string says;                  ///< "dualpipe enters from both ends and needs an even number of pipeline ranks"
    std::int64_t has = 0;              ///< the number as it is
    std::vector<std::int64_t> nearest; ///< that would do: the one below, the one above, if there are
    std::vector<std::int64_t> groups;  ///< that would do for as many micro-batches
    std::string_view otherKind;        ///< that would take it; empty if none is near
};

/// What is planned slot by slot on every rank takes memory or time by slots, and these grow with the square of the ranks.
inline constexpr double kMostSlots = 1e8;

struct ScheduleFamily {
    std::string_view kind;      ///< the scenario file's word
    std::string_view title;     ///< for people: "Interleaved 1F1B"
    std::string_view character; ///< one line: what it trades for what
    std::string_view source;    ///< paper or code

    ChunkRange chunks;
    double (*slots)(double ranks, double microbatches) = nullptr; ///< at most kMostSlots; none if null
    std::int64_t mostStages = 0;                                  ///< 0 = any number
    int modelCopies = 1;                                          ///< trained side by side by one pipeline
    int usualSlices = 1;           ///< above 1 the family cuts sequences, into so many unless somebody says
    bool overlapsExperts = false;  ///< has an order that overlaps expert communication where it is asked for
    bool isWrittenOut = false;     ///< its actions are given, not made
    bool plansByCost = false;      ///< looks at times and memory of the request
    bool isSearched = false;       ///< the best order found under the memory cap of the request
    std::string_view wantsRanks{}; ///< what goes after "dualpipe ...", where takesRanks is given
    bool (*takesRanks)(std::int64_t ranks) = nullptr;
    /// Deals micro-batches in groups, of so many where nobody says; groups below the number of ranks leave gaps.
    int (*usualGroup)(int ranks, int microbatches) = nullptr;
    Demand microbatches{};
    ClosedForm bubble{}; ///< no formula: it depends on how long passes take

    /// May assume that `unmet` returned nothing.
    Schedule (*make)(const ScheduleRequest&);
    /// Of the given actions, for a family that is written out.
    std::optional<std::string> (*unmetActions)(const ScheduleRequest&) = nullptr;

    bool cutsSequences() const { return usualSlices > 1; }
    bool dealsInGroups() const { return usualGroup != nullptr; }

    bool holdsRanks(std::int64_t ranks) const { return takesRanks == nullptr || takesRanks(ranks); }
    /// The first number that the family does not take, nothing if it takes all. Allocates nothing.
    std::optional<PipelineNumber> firstUnmet(const PipelineNumbers&) const;
    /// The same with what to say of it. `group` as of Demand.
    std::optional<UnmetDemand> unmetDemand(const PipelineNumbers&, const std::string& group) const;
    /// What the request violates, with the numbers and the nearest legal values; nothing when it can be made.
    std::optional<std::string> unmet(const ScheduleRequest&) const;
};

std::span<const ScheduleFamily> scheduleFamilies();
/// Null if there is none of that name.
const ScheduleFamily* findScheduleFamily(std::string_view kind);
/// Throws Error, with the nearest kinds, if there is none.
const ScheduleFamily& scheduleFamily(std::string_view kind);
/// "1f1b and interleaved-1f1b": the kinds with a trait.
std::string kindsWith(bool (*trait)(const ScheduleFamily&));

/// Throws Error: unknown kind (nearest named), or a constraint unmet.
Schedule makeSchedule(const ScheduleRequest&);

} // namespace sim
