// Whatever the bytes of a file are, it is refused with ScenarioError, or resolving it gives problems or a scenario, never neither
// and nothing else; what is accepted is written and read back.
#include "parts.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const auto document = sim::ScenarioDocument::parse(text, "fuzz.json");
        const auto resolved = fuzz::mustResolveOrTell(document);
        const std::string written = document.text();
        if (sim::ScenarioDocument::parse(written).text() != written)
            std::abort();
        if (resolved.scenario) {
            const auto again = sim::ScenarioDocument::parse(sim::resolvedText(*resolved.scenario)).resolve(fuzz::catalogue());
            if (!again.scenario || sim::resolvedText(*again.scenario) != sim::resolvedText(*resolved.scenario))
                std::abort();
        }
    } catch (const sim::ScenarioError& error) { // what a file may be
        fuzz::mustBeForeseen(error.problems());
    }
    return 0;
}
