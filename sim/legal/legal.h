// What a legal job is, said once: the rules between the values of a scenario, what frameworks refuse and what is legal but
// unwise. Without JSON and catalogue: a planner asks for a million jobs a second, the reader of the file (sim/scenario) for all
// that is wrong with one, and adds where the values came from. Lies below that reader: of sim/scenario it sees the struct alone.
#pragma once

#include "sim/scenario/scenario.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Of a step: as the schema lets global_batch_size itself be.
inline constexpr std::int64_t kMostSequences = 1 << 30;

/// A rule that a job breaks, or one that it had better keep.
struct Reason {
    std::string key;     ///< "/layout/tp": what it is about, as the file names it
    std::string message; ///< with the numbers in it and the nearest values that would be right
    bool isWarning = false;
};

/// What is known of values beside the values. As it stands: somebody chose each of them.
class Provenance {
public:
    virtual ~Provenance() = default;
    /// False: it could not be read; rules on it are not looked at.
    virtual bool isSound(std::string_view /*key*/) const { return true; }
    /// False: it follows from others.
    virtual bool isGiven(std::string_view /*key*/) const { return true; }
    /// True: it stands in a file, so that somebody wants to hear where nothing looks at it.
    virtual bool isWritten(std::string_view /*key*/) const { return false; }
    /// " (default)", " (of llama3-405b)": what a message says behind the value.
    virtual std::string originOf(std::string_view /*key*/) const { return {}; }
    /// So many there are to be, so that a message names no size that does not divide them; 0: any.
    virtual int ranks() const { return 0; }
};

/// Everything there is to say, in the order of the file's blocks.
std::vector<Reason> judge(const Scenario&, const Provenance& = {});

/// Whether `judge` would only warn. Some hundred nanoseconds; allocates nothing unless ranks are placed by a list or perturbed.
/// Where both halves below hold, and nowhere else.
bool isLegal(const Scenario&);
/// All but the pipeline's own rules. Of the schedule they look at nothing but into how many slices it cuts a sequence.
bool isLegalBesidePipeline(const Scenario&);
/// Kind of schedule, stages and micro-batches: the same for jobs of one model with the same schedule, as many pipeline ranks and
/// micro-batches, and the same recomputation.
bool hasLegalPipeline(const Scenario&);

} // namespace sim
