// An entry of the catalogue; the first byte ('m', 'g', 'c' or any) says of which folder. It is refused with ScenarioError, or
// read, and then a scenario that is written on it tells problems or is one.
#include "sim/scenario/catalogue_entry.h"

#include "sim/scenario/unforeseen.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    constexpr std::array<std::string_view, 3> kKinds = {"cluster", "model", "gpu"};
    if (size == 0)
        return 0;
    const std::string_view kind = kKinds.at(data[0] == 'm' ? 1 : data[0] == 'g' ? 2 : 0);
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    sim::CatalogueEntry entry;
    try {
        entry = sim::readCatalogueEntry(text, "fuzz.json", catalogue.schema(), kind);
    } catch (const sim::ScenarioError& error) {
        for (const sim::Problem& problem : error.problems())
            if (problem.message.starts_with(sim::kUnforeseen))
                std::abort();
        return 0;
    }
    auto document = sim::ScenarioDocument::parse(
        R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop","layout":{}})");
    document.set(kind == "gpu" ? "cluster.gpu" : kind, entry.json);
    const auto resolved = document.resolve(catalogue);
    if (!resolved.scenario && resolved.problems.empty())
        std::abort();
    for (const sim::Problem& problem : resolved.problems)
        if (problem.message.starts_with(sim::kUnforeseen))
            std::abort();
    return 0;
}
