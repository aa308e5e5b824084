// What the environment says of the GPU's kernels (docs/live.md).
#pragma once

#include <cstdlib>
#include <string_view>

namespace live::cuda {

/// "" where it says nothing.
inline std::string_view said(const char* name)
{
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody writes it
    return value ? value : "";
}
inline bool isOn(const char* name)
{
    return !said(name).empty() && said(name) != "0";
}

/// Timing the candidates makes products faster and runs unequal in the last bits, so it is asked for.
inline bool wantsTuning()
{
    return isOn("RANKSCOPE_CUDA_TUNE");
}

} // namespace live::cuda
