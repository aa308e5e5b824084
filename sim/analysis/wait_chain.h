// Why a rank computes nothing for a while: from the kernel that ends the wait back, through what that one had waited for and what
// this had waited for in turn, until something that ran all along when the wait began. Read off the dependencies of the program
// (stream order, waits between streams, members of a collective, messages, launches) and the times of its ops; nothing is
// guessed.
#pragma once

#include "sim/simulate/simulation.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// A stretch of time in which no kernel of a class runs. At the step's end `next` is nothing: the class is done.
struct Gap {
    int classIndex = 0;
    std::int64_t beginNs = 0, endNs = 0;
    std::optional<std::size_t> next; ///< the kernel that ends it: its place among all ops
    bool operator==(const Gap&) const = default;
    std::int64_t lengthNs() const { return endNs - beginNs; }
};

/// What ran for a part of a gap, [beginNs, endNs), and kept the rank waiting.
struct WaitLink {
    enum class Kind : std::uint8_t {
        pass,       ///< kernels of a pass, with the communication inside it that they wait for
        collective, ///< from the arrival of its last member on
        message,    ///< on its way between two pipeline ranks
        copy,       ///< to or from the host, or its work
        launch      ///< by the host, of what could have begun; inside a pass of another rank a part of that
    };
    Kind kind = Kind::pass;
    /// Whose op it is; of a collective its last member, of a message who sends it. Of a pass that several ranks of a stage worked
    /// at in turn, a perturbed one of them.
    int classIndex = 0;
    std::int32_t step = 0; ///< in RankProgram::steps of that class
    std::size_t place = 0; ///< of the op that ended last, among all ops; of a launch, of the one that it is for
    std::int64_t beginNs = 0, endNs = 0;
    std::int64_t lengthNs() const { return endNs - beginNs; }
};

/// Links from the gap's end back to its beginning, each until the one before begins: their lengths add up to the gap's. The last
/// one ran when the gap began.
struct WaitChain {
    Gap gap;
    std::vector<WaitLink> links;
    std::int64_t unexplainedNs = 0; ///< that no dependency accounts for; 0 wherever the program is all there is
    bool isOnlyLaunched() const
    {
        return std::all_of(links.begin(), links.end(), [](const WaitLink& link) { return link.kind == WaitLink::Kind::launch; });
    }
};

/// Looks chains up; what it has found out of the program stays for the next question. The simulation must outlive it.
class WaitChains {
public:
    explicit WaitChains(const Simulation&);
    ~WaitChains();

    /// The gap at a time; nothing while a kernel runs. O(log ops) once the class is known, O(its ops) before.
    std::optional<Gap> gapAt(int classIndex, std::int64_t atNs);
    /// The longest of those that go on at fromNs or begin before toNs. O(log ops + kernels within).
    std::optional<Gap> longestGapIn(int classIndex, std::int64_t fromNs, std::int64_t toNs);
    /// The first of at least leastNs that begins at fromNs or later; the last of them that ends at untilNs or earlier.
    /// O(log ops + kernels on the way).
    std::optional<Gap> firstGapFrom(int classIndex, std::int64_t fromNs, std::int64_t leastNs);
    std::optional<Gap> lastGapUntil(int classIndex, std::int64_t untilNs, std::int64_t leastNs);
    WaitChain chain(const Gap&);
    /// What of a chain went on from one time to another.
    static WaitChain within(WaitChain, std::int64_t fromNs, std::int64_t toNs);
    /// What keeps the class waiting at a time of a gap; nothing where no dependency tells. As long as the chain.
    std::optional<WaitLink> linkAt(const Gap&, std::int64_t atNs);

    /// "B0 of pp 1", "all-reduce of gradients in dp", "message of F3 from pp 0".
    std::string linkText(const WaitLink&) const;
    /// The same of what runs after a gap.
    std::string nextText(const Gap&) const;
    /// How long, for what, what that waits for, of a collective its last member and what it hides behind, how much of the step
    /// that is, and one thing to try: a line each. What would be gained without the wait is what the thing to try says.
    std::vector<std::string> lines(const WaitChain&) const;
    /// What the largest part of it went to, with its time: "the host's launch of optimizer on pp 2, 3.01 ms". Empty without one.
    std::string mostText(const WaitChain&) const;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace sim
