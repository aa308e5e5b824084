// Kernels by the shape of what they compute, where the host's operators were recorded with their inputs: arithmetic, rate, and
// how much of the GPU's peak that is.
#pragma once

#include "sim/recovery/recover.h"
#include "sim/scenario/catalogue.h"
#include "sim/trace/recording.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// Calls of one operator with inputs of one shape, of all recorded ranks in the typical step.
struct ShapedWork {
    std::string op;    ///< "aten::mm"
    std::string dtype; ///< as recorded: "c10::BFloat16"
    std::string shape; ///< "m 4096 n 11008 k 4096"; "batch 32, heads 16, 2048 of 2048, 128 wide" of attention
    std::int64_t m = 0, n = 0, k = 0, batch = 1; ///< of products, of which there are `batch`; 0 of attention
    double flops = 0; ///< of a call, a multiply-add is two; of attention the whole square: of a causal one half is needed
    std::size_t calls = 0;
    std::size_t kernels = 0;              ///< that these launched
    std::int64_t totalNs = 0;             ///< of them
    std::vector<std::string> kernelNames; ///< of those that took most, up to three
    std::string gpu;                      ///< the catalogue's id; empty where the trace names none that it has
    std::optional<double> peakFlops;      ///< of that GPU in this precision; nothing where it has none
    double flopsPerSecond() const
    {
        return totalNs > 0 ? flops * static_cast<double>(calls) / (static_cast<double>(totalNs) * 1e-9) : 0;
    }
    std::optional<double> ofPeak() const
    {
        return peakFlops && totalNs > 0 ? std::optional(flopsPerSecond() / *peakFlops) : std::nullopt;
    }
};

/// The longest total first; empty where no operator was recorded with its inputs. A kernel belongs to the innermost such operator
/// around the call that launched it, on the launching thread. `catalogue`: for peaks; nullptr: none are told. O(spans log spans).
std::vector<ShapedWork> shapedWork(const Recording&, const Recovered&, const Catalogue* catalogue);

/// The catalogue's GPU that a driver calls so: "NVIDIA H100 80GB HBM3" is "h100-sxm". Empty where there is none.
std::string gpuOfDeviceName(const Catalogue&, const std::string& deviceName);

} // namespace sim
