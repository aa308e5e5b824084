#include "live/cli/training.h"

#include <nlohmann/json.hpp>

namespace live::cli {

std::string reportJson(const std::string& scenarioName, const TrainingReport& report)
{
    nlohmann::ordered_json json = {{"scenario", scenarioName},
                                   {"device", report.device},
                                   {"world_size", report.worldSize},
                                   {"losses", report.losses},
                                   {"grad_norms", report.gradientNorms},
                                   {"tokens_per_second", report.tokensPerSecond},
                                   {"step_time_s", report.stepSeconds},
                                   {"final_parameters_norm", nullptr},
                                   {"spans_recorded", report.spansRecorded},
                                   {"spans_dropped", report.spansDropped},
                                   {"peak_memory_bytes", report.peakBytes},
                                   {"reserved_memory_bytes", report.reservedBytes},
                                   {"memory_needed_bytes", report.memoryNeededBytes},
                                   {"peak_resident_bytes", report.peakResidentBytes},
                                   {"stopped", report.stopped}};
    if (report.finalParametersNorm)
        json["final_parameters_norm"] = *report.finalParametersNorm;
    if (!report.failed.empty())
        json["failed"] = report.failed;
    if (report.gpuNeededBytes)
        json["gpu_memory_needed_bytes"] = *report.gpuNeededBytes;
    if (report.gpuTakenBytes)
        json["gpu_memory_taken_bytes"] = *report.gpuTakenBytes;
    if (report.orderSeed)
        json["order_seed"] = *report.orderSeed;
    if (report.asIfParallelSeconds)
        json["as_if_parallel_step_s"] = *report.asIfParallelSeconds;
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"; // names of files may be anything
}

} // namespace live::cli
