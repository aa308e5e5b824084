// Settings of any kind: the first byte chooses the kind (or none: it is recognised), the rest is the file. It becomes a scenario
// that is JSON with a note on each setting, or is refused with Error; never anything else.
#include "parts.h"

#include "sim/frameworks/frameworks.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const auto kinds = sim::frameworkKinds();
    const std::size_t chosen = data[0] % (kinds.size() + 1);
    sim::ImportOptions options;
    if (chosen < kinds.size())
        options.kind = kinds[chosen].id;
    if (data[0] % 2 == 0)
        options.gpus = 16;
    try {
        const sim::Imported imported = sim::importSettings(
            {{"fuzz", std::string(reinterpret_cast<const char*>(data) + 1, size - 1)}}, options, fuzz::catalogue());
        if (imported.notes.empty())
            std::abort();
        fuzz::mustResolveOrTell(sim::ScenarioDocument::parse(imported.scenario));
    } catch (const sim::Error&) {
    }
    return 0;
}
