// A small file of the gallery (chosen by the first byte), changed by lines of --set: whatever is accepted and small enough to be
// quick simulates to numbers that can be, or is refused with Error.
#include "sim/analysis/traffic/traffic.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// What takes milliseconds. Larger ones are as legal; others try them.
bool isSmall(const sim::Scenario& s)
{
    const bool searches = s.schedule.kind == "auto";
    return s.layout.worldSize() <= 64 && s.stages() <= (searches ? 4 : 16) && s.microbatches() <= (searches ? 8 : 32) &&
           s.model.numHiddenLayers <= 32 && s.model.numExperts <= 64 && s.schedule.sequenceSlices <= 8 &&
           s.perturbations.size() <= 8;
}

const std::vector<sim::ScenarioDocument>& smallFiles(const sim::Catalogue& catalogue)
{
    static const std::vector<sim::ScenarioDocument> documents = [&] {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
            if (entry.path().extension() == ".json")
                files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        std::vector<sim::ScenarioDocument> small;
        for (const auto& file : files) {
            auto document = sim::ScenarioDocument::readFile(file);
            if (const auto resolved = document.resolve(catalogue); resolved.scenario && isSmall(*resolved.scenario))
                small.push_back(std::move(document));
        }
        return small;
    }();
    return documents;
}

void require(bool holds)
{
    if (!holds)
        std::abort();
}

void requirePossible(const sim::Metrics& m)
{
    constexpr double kRounding = 1e-9;
    for (const double value : {m.stepTimeSeconds, m.tokensPerSecond, m.tokensPerSecondPerGpu, m.modelTflopsPerGpu,
                               m.hardwareTflopsPerGpu, m.mfu, m.mfuFullAttention, m.hfu, m.peakMemoryGib})
        require(std::isfinite(value) && value >= 0);
    require(m.stepTimeSeconds > 0);
    require(m.bubbleFraction >= -kRounding && m.bubbleFraction <= 1 + kRounding);
    for (const double share : m.exposedComm)
        require(share >= -kRounding && share <= 1 + kRounding);
    for (const sim::PipelineRankMetrics& rank : m.perPipelineRank)
        require(rank.busySeconds >= 0 && rank.busySeconds <= m.stepTimeSeconds * (1 + kRounding) && rank.memory.total() >= 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    if (size == 0)
        return 0;
    const auto& files = smallFiles(catalogue);
    sim::ScenarioDocument document = files[data[0] % files.size()];
    std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        try {
            document.applyOverride(text.substr(0, end), catalogue);
        } catch (const sim::Error&) {
            // the other lines count
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    const auto resolved = document.resolve(catalogue);
    if (!resolved.scenario || !isSmall(*resolved.scenario))
        return 0;
    try {
        const auto simulation = sim::simulate(*resolved.scenario);
        requirePossible(simulation->metrics());
        static_cast<void>(simulation->trace(sim::TraceDetail::kernels));
        static_cast<void>(sim::Traffic(*simulation));
    } catch (const sim::Error&) {
        // numbers that no machine has
    }
    return 0;
}
