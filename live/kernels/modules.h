// Parts of the live backend that need CUDA or NCCL are modules: shared libraries that are loaded when they are wanted, so that
// the program starts the same where those are missing. And the choice of the device, with its reason.
//
// Modules lie beside the program, in lib/rankscope where both were installed, or in a folder of RANKSCOPE_MODULE_PATH (separated
// by colons). They exchange C++ objects with
// the program, so they must be of the same build: the first thing a module says is which it is.
#pragma once

#include "live/build_hash.h"
#include "live/kernels/device.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace live {

inline constexpr int kModuleInterface = 3; ///< 2 had the compiler's version in place of the build

/// First in a module's table: the build that it is of. Its layout never changes.
struct ModuleHeader {
    int interface = kModuleInterface;
    const char* build = kBuildHash; ///< of the headers that program and modules share, and of the compiler
};

/// rankscope_live_cuda: extern "C" const CudaModule* rankscopeCudaModule().
struct CudaModule {
    ModuleHeader header;
    /// 0 if none can be used, with CUDA's reason.
    int (*gpuCount)(std::string* why) = nullptr;
    std::unique_ptr<Device> (*makeDevice)(int gpu, DType activation) = nullptr;
};

std::vector<std::filesystem::path> moduleFolders();

/// "" where a module is of this program's build, else what is wrong with it.
std::string moduleObjection(const std::filesystem::path& file, const ModuleHeader&);

/// The table that function `entry` of module `name` returns; it begins with a ModuleHeader. Stays loaded. Null if it cannot be
/// had: *why says why, in a few words ("libcublasLt.so.13: cannot open shared object file").
const void* loadModule(const std::string& name, const std::string& entry, std::string* why);

/// Before the first call of CUDA in this process: lets every stream have a hardware queue of its own, where CUDA gives eight to
/// all and streams that share one hold each other up. What the environment says already, wins (CUDA_DEVICE_MAX_CONNECTIONS).
void prepareForGpus();

/// Likewise, in one of several processes whose GPUs' kernels wait for each other's: all kernels are loaded when CUDA begins. By
/// itself it loads each where it is first launched, and may wait for all of its GPU to do so: for kernels that wait for another
/// process, which may be waiting for this launch. What the environment says already, wins (CUDA_MODULE_LOADING).
void prepareForPeers();

/// GPUs that this process can use; 0: *why says why. Prepares for them.
int countGpus(std::string* why);

/// Which GPU a process takes that is the `wanted`-th of its machine and sees so many. Where it sees one its launcher has given it
/// that one: srun --gpus-per-task=1, a container a process.
constexpr int gpuAmong(int wanted, int seen)
{
    return seen == 1 ? 0 : wanted;
}

struct DeviceChoice {
    std::unique_ptr<Device> device;
    int gpu = 0;     ///< which it is of those that the process sees, where it is one
    std::string why; ///< "no CUDA device: driver not found (cudaErrorInsufficientDriver); using the CPU"
};

/// requested: "auto", "cpu" or "cuda"; gpu: see gpuAmong(). Throws sim::Error if what was asked for cannot be had.
DeviceChoice chooseDevice(const std::string& requested, DType, int gpu, const std::function<std::unique_ptr<Device>()>& makeCpu);

inline DeviceChoice chooseDevice(const std::string& requested, DType type, WorkerPool* pool, int gpu = 0)
{
    return chooseDevice(requested, type, gpu, [&] { return makeCpuDevice(type, pool); });
}

} // namespace live
