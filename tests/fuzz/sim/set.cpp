// Lines of --set, one after the other, on a scenario: each is taken, or refused with Error and then changes nothing; what comes
// out resolves or tells its problems.
#include "sim/scenario/document.h"
#include "sim/scenario/unforeseen.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    auto document = sim::ScenarioDocument::parse(R"({"model":"tiny-gpt","cluster":"laptop","layout":{"dp":2}})");
    std::string_view text(reinterpret_cast<const char*>(data), size);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string before = document.text();
        try {
            document.applyOverride(text.substr(0, end));
        } catch (const sim::Error&) {
            if (document.text() != before)
                std::abort();
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    const auto resolved = document.resolve(catalogue);
    if (!resolved.scenario && resolved.problems.empty())
        std::abort();
    for (const sim::Problem& problem : resolved.problems)
        if (problem.message.starts_with(sim::kUnforeseen))
            std::abort();
    return 0;
}
