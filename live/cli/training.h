// One training as a program runs it: device, ranks, stream, watchdog, checkpoints, and what is said of it.
#pragma once

#include "live/runtime/run.h"
#include "sim/scenario/scenario.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace live::cli {

struct TrainingRequest {
    sim::Scenario scenario;
    std::string scenarioJson; ///< resolved
    int workers = 0;          ///< 0: one a core
    std::string trace;        ///< file; empty: none
    bool kernelTimes = false; ///< the GPU's kernels one by one into the record
    std::string listen;       ///< endpoint; empty: nobody can attach
    std::string key;          ///< file of the run's own key, for viewers on other machines
    std::string allowed;      ///< file of the viewers' public keys
    std::string checkpoint;   ///< folder to write to; empty: none
    int checkpointEvery = 0;  ///< steps; 0: only at the end
    bool gradients = false;   ///< into checkpoints too
    std::string resume;       ///< folder to begin from
    std::string weights;      ///< of a Hugging Face model to begin from; empty: random ones
    std::string saveWeights;  ///< where to write them as one at the end; empty: nowhere
    std::chrono::milliseconds deadline{30'000};
    std::uint64_t orderSeed = 1; ///< of the emulated device
    std::string repeat;          ///< the command that does the same again, for its messages
    bool quiet = false;
};

struct TrainingReport {
    std::string device;
    std::optional<std::uint64_t> orderSeed; ///< of the emulated device
    int worldSize = 1;
    std::vector<double> losses, gradientNorms, stepSeconds;
    double tokensPerSecond = 0;                ///< over all steps but the first, which warms caches
    std::optional<double> finalParametersNorm; ///< nothing: the run failed
    std::uint64_t spansRecorded = 0, spansDropped = 0;
    std::optional<double> asIfParallelSeconds;  ///< the last step, had every rank had a device
    std::vector<std::int64_t> peakBytes;        ///< by rank of this process
    std::vector<std::int64_t> reservedBytes;    ///< likewise: most that was taken from the device
    std::int64_t memoryNeededBytes = 0;         ///< of the host's memory, as it was known before the run: this process
    std::int64_t peakResidentBytes = 0;         ///< and as it was
    std::optional<std::int64_t> gpuNeededBytes; ///< of the GPU's memory, as it was known before the run: this process
    std::optional<std::int64_t> gpuTakenBytes;  ///< and what there was less of it at the end: by all who use the GPU
    bool stopped = false;                       ///< by request, before all steps were done
    std::string failed;                         ///< why the run ended; "": it did not fail
    bool isFirstProcess = true;                 ///< of several, the one that tells
};

using TellReport = std::function<void(const TrainingReport&)>;
/// Throws sim::Error: bad input, or why the run ended. tell: on the first process, once, when no step is to come, of a run that
/// has failed too: before the trace is written, and before this throws.
TrainingReport train(const TrainingRequest&, const TellReport& tell = {});

/// What --report writes.
std::string reportJson(const std::string& scenarioName, const TrainingReport&);

} // namespace live::cli
