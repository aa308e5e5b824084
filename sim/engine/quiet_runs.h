// Ops in a row which nothing outside can touch: kernels, waits, and collectives whose members all do the same at the same time
// and which meet no others. Once the first can begin, the times of all are known, the same each time that the pass is executed;
// so they are worked out once, and then only moved to where they begin.
#pragma once

#include "sim/engine/priced_program.h"
#include "sim/program/program.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// A bit for each role whose collectives are a class's own affair.
using RoleMask = std::uint32_t;

struct QuietRun {
    /// Since a moment; OpLaunch::kNever of what does not depend on it.
    struct Times {
        std::vector<std::int64_t> starts;               ///< [op]
        std::array<std::int64_t, kStreamCount> tails{}; ///< of streams with an op
        std::int64_t hostBeganNs = OpLaunch::kNever;    ///< HostClock's, behind the last
    };
    Times ofStreams;                                   ///< since the first can begin
    Times ofHost;                                      ///< since the host began the pass; an op begins when both have come
    std::vector<std::int64_t> durations;               ///< [op]
    std::int64_t hostLeadNs = OpLaunch::kNever;        ///< by which the first must come after that, so that nothing waits for it
    StreamMask streams = 0;                            ///< that it needs or uses
    StreamMask used = 0;                               ///< that its ops lie on
    StreamMask passing = 0;                            ///< streams on which something behind it can begin before its kernels end
    RoleMask roles = 0;                                ///< of its collectives
    std::int64_t activations = 0, buffers = 0;         ///< bytes more at its end than at its beginning
    std::int64_t peakActivations = 0, peakBuffers = 0; ///< likewise where the sum is largest; 0 where it only frees
    std::size_t peakAt = 0;
    std::size_t lastKernel = 0; ///< op of the compute stream; size() where there is none
    std::size_t size() const { return ofStreams.starts.size(); }
};

/// What a pass has that need not wait for the kernels issued before it.
struct FreeStreams {
    std::vector<StreamMask> behind; ///< [op]: with something behind it in its pass that does not depend on the kernels from it on
    StreamMask atStart = 0;         ///< with something that depends on no kernel, not even of the passes before
    std::size_t lastKernel = 0;     ///< op of the compute stream; the number of ops where there is none
};
FreeStreams freeStreams(const Pass&);

/// The runs of all passes as ranks of one geometry see them, that nothing makes slower.
class QuietRuns {
public:
    QuietRuns(const Program&, const PricedProgram&, std::size_t geometry, RoleMask ownAffairs);

    /// The run that begins with this op; null where none does.
    const QuietRun* at(std::uint32_t pass, std::size_t op)
    {
        Runs& of = m_runs[pass];
        if (!of.known)
            find(pass);
        const std::int32_t index = of.at[op];
        return index < 0 ? nullptr : &of.runs[static_cast<std::size_t>(index)];
    }

private:
    struct Runs {
        bool known = false;
        std::vector<std::int32_t> at; ///< [op] index into runs, -1: none
        std::vector<QuietRun> runs;
    };
    void find(std::uint32_t pass);
    bool isQuiet(const Op& op) const;

    const Program& m_program;
    const PricedProgram& m_prices;
    const OpDurations& m_durations;
    const RoleMask m_ownAffairs;
    std::vector<Runs> m_runs; ///< [pass]
};

} // namespace sim
