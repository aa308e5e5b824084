#include "live/kernels/modules.h"

#include "sim/error.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sstream>

namespace live {

std::vector<std::filesystem::path> moduleFolders()
{
    std::vector<std::filesystem::path> folders;
    if (const char* const path = std::getenv("RANKSCOPE_MODULE_PATH")) { // NOLINT(concurrency-mt-unsafe): nobody writes it
        std::istringstream list(path);
        for (std::string folder; std::getline(list, folder, ':');)
            if (!folder.empty())
                folders.emplace_back(folder);
    }
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
        folders.push_back(program.parent_path());
        folders.push_back((program.parent_path() / RANKSCOPE_INSTALLED_MODULES).lexically_normal());
    }
    return folders;
}

std::string moduleObjection(const std::filesystem::path& file, const ModuleHeader& header)
{
    const bool isOld = header.interface != kModuleInterface; // then the rest may mean something else
    if (!isOld && std::strcmp(header.build, kBuildHash) == 0)
        return {};
    return file.string() + " is of another build (" + (isOld ? "of an earlier or later interface" : header.build) +
           "; this program is of " + kBuildHash + "): build them together";
}

const void* loadModule(const std::string& name, const std::string& entry, std::string* why)
{
    std::string searched;
    for (const std::filesystem::path& folder : moduleFolders()) {
        const std::filesystem::path file = folder / (name + ".so");
        std::error_code error;
        if (!std::filesystem::exists(file, error)) {
            searched += (searched.empty() ? "" : ", ") + folder.string();
            continue;
        }
        // Modules keep threads and GPU memory: they are never unloaded.
        void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!library) {
            *why = dlerror(); // NOLINT(concurrency-mt-unsafe): thread-local in glibc
            return nullptr;
        }
        void* const symbol = dlsym(library, entry.c_str());
        if (!symbol) {
            *why = file.string() + " has no " + entry;
            return nullptr;
        }
        using Entry = const void* (*)();
        const void* const table = reinterpret_cast<Entry>(symbol)();
        *why = moduleObjection(file, *static_cast<const ModuleHeader*>(table));
        if (!why->empty())
            return nullptr;
        return table;
    }
    *why = name + ".so was not built: not in " + searched;
    return nullptr;
}

void prepareForGpus()
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); // NOLINT(concurrency-mt-unsafe): before there are threads that read it
}

void prepareForPeers()
{
    prepareForGpus();
    setenv("CUDA_MODULE_LOADING", "EAGER", 0); // NOLINT(concurrency-mt-unsafe): as above
}

namespace {

/// The module that drives GPUs, and how many it has found; none: why.
struct Gpus {
    const CudaModule* module = nullptr;
    int count = 0;
    std::string why;
};

Gpus findGpus()
{
    prepareForGpus();
    Gpus gpus;
    gpus.module = static_cast<const CudaModule*>(loadModule("rankscope_live_cuda", "rankscopeCudaModule", &gpus.why));
    if (gpus.module)
        gpus.count = gpus.module->gpuCount(&gpus.why);
    return gpus;
}

} // namespace

int countGpus(std::string* why)
{
    const Gpus gpus = findGpus();
    *why = gpus.why;
    return gpus.count;
}

DeviceChoice chooseDevice(const std::string& requested, DType type, int wanted,
                          const std::function<std::unique_ptr<Device>()>& makeCpu)
{
    const bool mustBeGpu = requested == "cuda";
    if (!mustBeGpu && requested != "auto" && requested != "cpu")
        throw sim::Error("live.device is \"" + requested + "\"; it can be auto, cpu or cuda.");
    if (requested == "cpu")
        return {.device = makeCpu(), .why = "the CPU, as asked for"};
    if (type == DType::f64 && mustBeGpu)
        throw sim::Error("live.device is cuda and live.dtype fp64: GPUs compute in bf16 or fp32 here. Use the CPU for fp64.");
    if (type == DType::f64)
        return {.device = makeCpu(), .why = "fp64 is computed on the CPU"};
    const Gpus gpus = findGpus();
    if (gpus.count == 0) {
        const std::string reason = (gpus.module ? "no CUDA device: " : "no CUDA: ") + gpus.why;
        if (mustBeGpu)
            throw sim::Error("cuda is asked for, but there is " + reason + ". Use auto or cpu.");
        if (type == DType::bf16)
            throw sim::Error("live.dtype is bf16, which needs a GPU, but there is " + reason + ". Use fp32 on the CPU.");
        return {.device = makeCpu(), .why = reason + "; using the CPU"};
    }
    const int gpu = gpuAmong(wanted, gpus.count);
    if (gpu < 0 || gpu >= gpus.count)
        throw sim::Error("GPU " + std::to_string(gpu) + " was asked for; this process sees " + std::to_string(gpus.count) +
                         ", counted from 0. Start at most one process a GPU; of those that are started by hand LOCAL_RANK says "
                         "which it is on its machine, and LOCAL_WORLD_SIZE of how many.");
    DeviceChoice choice{.device = gpus.module->makeDevice(gpu, type), .gpu = gpu, .why = {}};
    choice.why = choice.device->info().name + " (GPU " + std::to_string(gpu) + " of " + std::to_string(gpus.count) + ")";
    return choice;
}

} // namespace live
