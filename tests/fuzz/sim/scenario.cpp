// Whatever the bytes of a file are, it is refused with ScenarioError, or resolving it gives problems or a scenario, never neither
// and nothing else; what is accepted is written and read back.
#include "sim/scenario/document.h"
#include "sim/scenario/unforeseen.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const auto document = sim::ScenarioDocument::parse(text, "fuzz.json");
        const auto resolved = document.resolve(catalogue);
        if (!resolved.scenario && resolved.problems.empty())
            std::abort();
        for (const sim::Problem& problem : resolved.problems)
            if (problem.message.starts_with(sim::kUnforeseen))
                std::abort();
        const std::string written = document.text();
        if (sim::ScenarioDocument::parse(written).text() != written)
            std::abort();
        if (resolved.scenario) {
            const auto again = sim::ScenarioDocument::parse(sim::resolvedText(*resolved.scenario)).resolve(catalogue);
            if (!again.scenario || sim::resolvedText(*again.scenario) != sim::resolvedText(*resolved.scenario))
                std::abort();
        }
    } catch (const sim::ScenarioError& error) { // what a file may be
        if (error.problems().front().message.starts_with(sim::kUnforeseen))
            std::abort();
    }
    return 0;
}
