// A recorded run against the simulation of the same job: by kind of kernel and collective the time measured over the time
// predicted, and a hardware profile made of them with which scenarios predict from that run. Own files (simulated or live steps)
// are matched op by op, by name and size; those of other profilers by what a kernel's name says of its kind.
#pragma once

#include "sim/recovery/recover.h"
#include "sim/recovery/to_scenario.h"
#include "sim/scenario/scenario.h"
#include "sim/trace/recording.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace sim {

class Catalogue;

/// Ops that are measured together.
struct CalibratedClass {
    std::string name; ///< "attn.qkv, forward"; "matrix products"; "all-reduce over dp"
    /// Of a step, mean over recorded ranks. Measured kernels take what they take on the median of a rank's peers, as peersOf()
    /// has them; transfers are without waiting.
    double measuredSeconds = 0, predictedSeconds = 0;
    double measuredCount = 0, predictedCount = 0; ///< of a step, mean over recorded ranks
    double ratio = 0;                             ///< measured over predicted; 0 where the other side has none
    std::size_t points = 0;                       ///< shapes that stand in the profile from it
    std::string note; ///< why there are none, or how it was matched where not by name and size; may be empty
};

/// Steps that the calibration has not seen.
struct HeldOut {
    std::size_t learnt = 0, held = 0;                 ///< steps
    double measuredSeconds = 0, predictedSeconds = 0; ///< median of the held; by the profile of the learnt
    double error() const { return measuredSeconds > 0 ? predictedSeconds / measuredSeconds - 1 : 0; }
};

/// A rank whose kernels take clearly longer, all together, than on the median of its peers. Where there are experts only kernels
/// whose sizes were recorded tell: others may have had more tokens.
struct SlowRankOfRun {
    int rank = 0;
    double factor = 1; ///< times as long, as a scenario's slow_gpu has it
};

struct RunCalibration {
    std::vector<CalibratedClass> kernels, transfers; ///< the longest first
    HardwareProfile profile;
    std::optional<double> interNode;      ///< Efficiency::interNode that collectives beyond a node meet; curves are of one domain
    std::vector<SlowRankOfRun> slowRanks; ///< in no curve: these have what kernels take on the median of peers
    std::size_t steps = 0;
    double measuredSeconds = 0;   ///< median step
    double predictedSeconds = 0;  ///< before
    double calibratedSeconds = 0; ///< with the profile, and slow ranks
    std::optional<HeldOut> heldOut;
    std::vector<std::string> problems;

    double errorBefore() const { return predictedSeconds / measuredSeconds - 1; }
    double errorAfter() const { return calibratedSeconds / measuredSeconds - 1; }
};

/// The job as a scenario: `base` where what was recovered does not contradict it, else its model, cluster and batch with the
/// recovered layout; `unknown` says which keys are whose. Throws ScenarioError where these do not fit each other, and Error where
/// the layout would have to be recovered and is not known.
Scenario scenarioOfRun(const Recovered&, const Scenario& base, const Catalogue&, std::vector<UnknownKey>& unknown);

/// `recovered` is what recover() made of the recording. Throws Error where no kernel of a rank that is known was recorded. Takes
/// the step's simulation twice or three times, and what reading its spans takes.
RunCalibration calibrate(const Recording&, const Recovered&, const Scenario&);

/// The same scenario with what was measured: the profile, and slow ranks as perturbations.
Scenario withMeasured(Scenario, const RunCalibration&);

/// A file that `cluster.efficiency` can name.
std::string calibratedProfileText(const std::string& id, const RunCalibration&);
nlohmann::ordered_json calibrationJson(const RunCalibration&, const std::vector<UnknownKey>&);
std::string calibrationText(const RunCalibration&, const std::vector<UnknownKey>&);

} // namespace sim
