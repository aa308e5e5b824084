// Why a recorded rank computes nothing for a while: from the kernel that ends the wait back through what led to it
// (cause_walk.h), until something that ran all along when the wait began. What the files do not tell is said.
#pragma once

#include "sim/recovery/cause_walk.h"
#include "sim/recovery/rank_time.h"
#include "sim/recovery/step_passes.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// A stretch of time, from the step's begin on, in which no kernel of a rank runs. Of a rank without any kernel, a communication.
struct RecordedGap {
    std::uint32_t rank = 0; ///< index into RunEvidence::ranks
    std::int64_t beginNs = 0, endNs = 0;
    std::optional<std::uint32_t> next; ///< the kernel that ends it, of RankEvidence::work; nothing: the rank is done
    std::optional<std::uint32_t> comm; ///< that it is, of RankEvidence::comms
    bool isInsidePass = false;         ///< the kernels before and after are of one pass
    std::int64_t lengthNs() const { return endNs - beginNs; }
};

/// What went on for a part of a gap, [beginNs, endNs), and kept the rank waiting.
struct RecordedWaitLink {
    enum class Kind : std::uint8_t {
        computing,     ///< kernels of one pass, or of none, in a row, with what they themselves waited for inside it
        communicating, ///< from the arrival of its last member on; a message from its send on
        launching      ///< a host that had not yet asked for the kernel
    };
    Kind kind = Kind::computing;
    std::uint32_t rank = 0; ///< index into RunEvidence::ranks; of a communication who waits in it
    std::int64_t beginNs = 0, endNs = 0;
    std::optional<Action> pass; ///< of kernels, where passes are known
    bool isOptimizer = false, isCopy = false;
    bool isRest = false;      ///< the pass had begun before the wait did
    std::uint32_t span = 0;   ///< of a communication: of RankEvidence::comms
    std::size_t kernels = 0;  ///< that it is made of
    std::int64_t hostNs = 0;  ///< of it: until kernels were asked for
    std::uint32_t name = 0;   ///< of the kernel that took longest, index into RunEvidence::names
    std::int64_t longest = 0; ///< what that took, ns
    std::int64_t lengthNs() const { return endNs - beginNs; }
};

/// Links from the gap's end back to its beginning.
struct RecordedWait {
    RecordedGap gap;
    std::vector<RecordedWaitLink> links;
    std::int64_t unexplainedNs = 0;    ///< in which nothing was recorded
    std::uint32_t unexplainedRank = 0; ///< where the longest stretch of it is, index into RunEvidence::ranks
    std::int64_t hostNs = 0;           ///< of short stretches until kernels were asked for: no links of their own
};

/// Of the gap: shorter waits for a host are told in sum.
inline constexpr double kWaitWorthALink = 0.05;

class RecordedWaits {
public:
    /// `step`: an index into RecoveredSteps::steps. O(spans log spans).
    RecordedWaits(std::shared_ptr<const Recovered>, std::size_t step);

    /// The longest wait of a rank (index into RunEvidence::ranks) that goes on at fromNs or begins before toNs, times from the
    /// step's begin on. Nothing while kernels run, and where none was recorded and the rank does not communicate: whyNone().
    std::optional<RecordedWait> longestIn(std::uint32_t rank, std::int64_t fromNs, std::int64_t toNs);
    /// The first of at least leastNs that begins at fromNs or later; the last of them that ends at untilNs or earlier.
    std::optional<RecordedWait> firstFrom(std::uint32_t rank, std::int64_t fromNs, std::int64_t leastNs);
    std::optional<RecordedWait> lastUntil(std::uint32_t rank, std::int64_t untilNs, std::int64_t leastNs);
    /// Why nothing can be said of a rank's waits; empty where it can.
    std::string whyNone(std::uint32_t rank) const;
    /// How long, for what, what that waits for, of a collective its last member, how much of the step that is, and what is
    /// missing to say more: a line each.
    std::vector<std::string> lines(const RecordedWait&);

private:
    struct OfRank {
        StepPasses passes;
        bool hasStages = false; ///< several: actions name theirs
        std::vector<RecordedGap> gaps;
        std::int64_t insidePassesNs = 0; ///< in gaps inside passes
    };
    OfRank& of(std::uint32_t rank);
    std::vector<RecordedGap> communicationsOf(std::uint32_t rank) const;
    std::vector<std::string> linesOfCommunication(const RecordedWait&);
    std::string besides(const RecordedWait&);
    RecordedWait waitOf(const RecordedGap&);
    int pipelineRankOf(std::uint32_t rank) const;
    std::string rankText(std::uint32_t rank) const;
    std::string passText(std::uint32_t rank, const Action&);
    std::string linkText(const RecordedWaitLink&);
    std::string aboutMembers(const std::vector<RecordedWaitLink>&);
    std::string missingOf(const RecordedWaitLink&) const;
    bool isOptimizer(const WorkSpan&) const;
    bool hasLaunches(std::uint32_t rank) const;

    std::shared_ptr<const Recovered> m_recovered;
    const RunEvidence& m_evidence;
    const RecoveredStep& m_step;
    std::size_t m_stepIndex;
    CauseWalk m_walk;
    AxesOfGroups m_axes;
    std::int64_t m_endNs = 0;                       ///< of the step, from its begin on
    std::vector<std::unique_ptr<OfRank>> m_ofRanks; ///< [rank]; nullptr: nobody has asked
};

} // namespace sim
