// What this machine can train on, and why not on more: the first thing to run where a GPU is new, and what to send where it
// fails.
#include "live/cli/command.h"

#include "live/comm/gpu_modules.h"
#include "live/comm/launch.h"
#include "live/kernels/modules.h"
#include "live/runtime/memory_limits.h"
#include "live/runtime/processors.h"
#include "sim/error.h"
#include "sim/text/number_text.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <vector>

namespace live::cli {
namespace {

void say(const std::string& what, const std::string& text)
{
    constexpr std::size_t kWidth = 12;
    std::cout << what << std::string(what.size() < kWidth ? kWidth - what.size() : 1, ' ') << text << "\n";
}

/// y = x weight^T + bias of small whole numbers, which any arithmetic gets exactly; "" where it is right.
std::string productProblem(Device& device)
{
    constexpr std::int64_t kRows = 64, kInputs = 32, kOutputs = 48;
    const auto element = [](std::int64_t i) { return static_cast<float>(i % 5 - 2); };
    const auto numbers = [&](std::int64_t count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            values[static_cast<std::size_t>(i)] = element(i);
        return values;
    };
    Memory memory(device);
    const auto queue = device.makeQueue();
    const Array x = memory.allocate(DType::f32, kRows, kInputs), weight = memory.allocate(DType::f32, kOutputs, kInputs),
                bias = memory.allocate(DType::f32, 1, kOutputs), y = memory.allocate(DType::f32, kRows, kOutputs);
    queue->fromHost(numbers(kRows * kInputs).data(), x);
    queue->fromHost(numbers(kOutputs * kInputs).data(), weight);
    queue->fromHost(numbers(kOutputs).data(), bias);
    queue->linear(x, weight, bias, y);
    std::vector<float> found(static_cast<std::size_t>(kRows * kOutputs));
    queue->toHost(y, found.data());
    for (std::int64_t row = 0; row < kRows; ++row)
        for (std::int64_t column = 0; column < kOutputs; ++column) {
            float expected = element(column);
            for (std::int64_t i = 0; i < kInputs; ++i)
                expected += element(row * kInputs + i) * element(column * kInputs + i);
            const float is = found[static_cast<std::size_t>(row * kOutputs + column)];
            if (is != expected)
                return "element (" + std::to_string(row) + ", " + std::to_string(column) + ") of a product is " +
                       std::to_string(is) + " and not " + std::to_string(expected);
        }
    return {};
}

bool isWell(const std::string& name, Device& device)
{
    try {
        const std::string problem = productProblem(device);
        say(name, device.info().name + ", " + bytesText(device.info().memoryBytes) +
                      (device.freeBytes() ? ", " + bytesText(*device.freeBytes()) + " free" : "") + ": " +
                      (problem.empty() ? "a product is right" : "WRONG: " + problem));
        return problem.empty();
    } catch (const sim::Error& error) {
        say(name, std::string("FAILS: ") + error.what());
        return false;
    }
}

/// NCCL's processes of one machine meet there, and containers give it 64 MiB where nobody says otherwise.
void saySharedMemory()
{
    constexpr const char* kFolder = "/dev/shm";
    constexpr std::int64_t kEnough = std::int64_t{1} << 30;
    struct statvfs told {};
    if (::statvfs(kFolder, &told) != 0)
        return say("shared", std::string(kFolder) + " is not there: NCCL cannot use it between processes");
    const auto block = static_cast<std::int64_t>(told.f_frsize);
    const std::int64_t free = static_cast<std::int64_t>(told.f_bavail) * block,
                       all = static_cast<std::int64_t>(told.f_blocks) * block;
    say("shared", bytesText(free) + " of " + bytesText(all) + " free: " + kFolder +
                      (free < kEnough ? ", little where GPUs do not reach each other's memory: NCCL then needs it (docker run "
                                        "--shm-size, --ipc=host)"
                                      : ""));
}

std::string limitText(int resource, rlim_t unit)
{
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0)
        return "?";
    return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur / unit);
}

void examine()
{
    bool well = true;
    say("build", kBuildHash);
    std::string folders;
    for (const std::filesystem::path& folder : moduleFolders())
        folders += (folders.empty() ? "" : ", ") + folder.string();
    say("modules", "looked for in " + folders);
    const Processors cores = processors();
    say("processor", sim::countedText(cores.usable, "core") + ": " + cores.why);
    for (const MemoryLimit& limit : hostMemoryLimits())
        say("memory", bytesText(limit.free) + " of " + bytesText(limit.all) + " free: " + limit.name);
    saySharedMemory();
    say("ulimit",
        "-n (open files) " + limitText(RLIMIT_NOFILE, 1) + ", -l (locked memory, KiB) " + limitText(RLIMIT_MEMLOCK, 1024));
    well = isWell("CPU", *makeCpuDevice(DType::f32, nullptr)) && well;

    std::string why;
    const int gpus = countGpus(&why);
    if (gpus == 0)
        say("CUDA", "no: " + why);
    const CudaModule* const module =
        gpus > 0 ? static_cast<const CudaModule*>(loadModule("rankscope_live_cuda", "rankscopeCudaModule", &why)) : nullptr;
    for (int gpu = 0; module != nullptr && gpu < gpus; ++gpu) {
        try {
            const std::unique_ptr<Device> device = module->makeDevice(gpu, DType::f32);
            well = isWell("GPU " + std::to_string(gpu), *device) && well;
        } catch (const sim::Error& error) {
            say("GPU " + std::to_string(gpu), std::string("FAILS: ") + error.what());
            well = false;
        }
    }
    const std::string problem = ncclProblem();
    say("NCCL", problem.empty() ? "can be loaded" : "no: " + problem);
    for (const auto& [name, value] : environmentVariables())
        for (const char* start : {"CUDA_", "NCCL_", "RANKSCOPE_", "SLURM_NTASKS", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"})
            if (name.starts_with(start))
                say("variable", name + "=" + value);
    if (!well)
        throw sim::Error("something that is there does not work: see above");
    say("next", gpus == 0   ? "rankscope-live run FILE --device emulated --check-serial"
                : gpus == 1 ? "rankscope-live run FILE --device cuda --steps 3"
                            : "rankscope-live run FILE --device cuda --gpus 1 --steps 3, then without --gpus");
}

} // namespace

void addDoctor(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("doctor", "Say what this machine can train on, try each device, and say why not more");
    command->callback(examine);
}

} // namespace live::cli
