// What was found out of a recording, in bytes that a cache keeps beside it: a run of any size opens with it at once, and its
// spans are looked at where somebody asks for what is not in it.
#pragma once

#include "sim/recovery/recover.h"
#include "sim/recovery/run_answers.h"
#include "sim/trace/recording.h"
#include "sim/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// The name under which a cache keeps it: another one whenever recovery, answers or this file change what they say.
inline constexpr std::string_view kDigestName = "digest 10";

/// A step as it is first shown.
struct DigestedStep {
    std::size_t step = 0;        ///< index into RecoveredSteps::steps
    std::int64_t originNs = 0;   ///< what the recording's one clock says at the trace's 0
    Trace timeUse;               ///< one lane a rank, as timeUseOfStep() makes it
    std::vector<RankTime> ranks; ///< as RunEvidence::ranks, of this step
    RankPath path;               ///< the critical one through it
};

struct RunDigest {
    /// Without spans, marks and meetings: of ranks, who they are. A function that goes over these finds nothing in it.
    Recovered recovered;
    RunAnswers answers; ///< without Arrivals::list
    std::vector<DigestedStep> steps;
    const DigestedStep* find(std::size_t step) const; ///< nullptr where it is not among them
};

/// Of the typical step, and of as many around it as `mostSpans` lanes' spans allow. O(spans log spans) of these steps.
std::vector<DigestedStep> digestSteps(const Recording&, const Recovered&, const RunAnswers&, std::size_t mostSpans = 8'000'000);

std::string digestBytes(const Recovered&, const RunAnswers&, const std::vector<DigestedStep>&);
/// Throws Error where the bytes are none, or name what is not there. O(bytes).
RunDigest readDigest(std::span<const std::byte>);

} // namespace sim
