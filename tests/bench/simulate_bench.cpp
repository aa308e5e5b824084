// How fast a step is simulated: every gallery file folded, Llama 3 405B on 16,384 GPUs also rank by rank.
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

/// As the program's window does (app/shell/window/application.cpp, keepMemory): a step's columns are those of the step before,
/// not fresh pages.
[[maybe_unused]] const bool kKeepsMemory = [] {
#if defined(__GLIBC__)
    constexpr int kKeptBytes = 512 << 20;
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    mallopt(M_MMAP_THRESHOLD, kKeptBytes);
#endif
    return true;
}();

constexpr const char* kLargest = "42-llama3-405b-16384-gpus";

sim::Scenario galleryScenario(const std::string& name)
{
    return sim::readScenario(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + name + ".json", test::catalogue());
}

/// Peak resident memory since the last reset, bytes; Linux keeps it as VmHWM.
class PeakMemory {
public:
    PeakMemory()
    {
        std::ofstream("/proc/self/clear_refs") << "5";
        m_before = readBytes();
    }
    double grownBytes() const { return readBytes() - m_before; }

private:
    static double readBytes()
    {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;)
            if (double kib = 0; word == "VmHWM:" && status >> kib)
                return kib * 1024;
        return 0;
    }
    double m_before = 0;
};

/// From resolved scenario to metrics.
void simulateFolded(benchmark::State& state, const std::string& name)
{
    const sim::Scenario scenario = galleryScenario(name);
    sim::Metrics metrics;
    for (auto _ : state)
        metrics = sim::simulate(scenario)->metrics();
    state.counters["ops"] = static_cast<double>(metrics.simulatedOps);
    state.counters["ranks"] = scenario.layout.worldSize();
}

/// The same and the timeline's trace: what the app's worker does between two pictures.
void simulateAndTrace(benchmark::State& state, const std::string& name)
{
    const sim::Scenario scenario = galleryScenario(name);
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::simulate(scenario)->trace(sim::TraceDetail::actions).spanCount());
}

void simulateFull(benchmark::State& state, const std::string& name)
{
    const sim::Scenario scenario = galleryScenario(name);
    double ops = 0;
    double bytes = 0;
    for (auto _ : state) {
        const PeakMemory memory;
        ops = static_cast<double>(sim::simulate(scenario, {.full = true})->metrics().simulatedOps);
        bytes = memory.grownBytes();
    }
    state.counters["ops"] = ops;
    state.counters["ops/s"] = benchmark::Counter(ops, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["bytes/op"] = bytes / ops;
}

void readAndResolve(benchmark::State& state)
{
    test::catalogue();
    for (auto _ : state)
        benchmark::DoNotOptimize(galleryScenario(kLargest).layout.tp);
}

const bool kStepsRegistered = [] {
    std::vector<std::string> names;
    for (const std::filesystem::path& file : test::galleryFiles())
        names.push_back(file.stem());
    benchmark::RegisterBenchmark("ReadScenario", readAndResolve)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((std::string("SimulateFull/") + kLargest).c_str(), simulateFull, kLargest)
        ->Unit(benchmark::kSecond)
        ->Iterations(1);
    for (const std::string& name : names) {
        benchmark::RegisterBenchmark(("Simulate/" + name).c_str(), simulateFolded, name)
            ->Unit(benchmark::kMillisecond)
            ->MinTime(0.1);
        benchmark::RegisterBenchmark(("SimulateAndTrace/" + name).c_str(), simulateAndTrace, name)
            ->Unit(benchmark::kMillisecond)
            ->MinTime(0.1);
    }
    return true;
}();

} // namespace
