// An entry of the catalogue; the first byte ('m', 'g', 'c' or any) says of which folder. It is refused with ScenarioError, or
// read, and then a scenario that is written on it tells problems or is one.
#include "sim/scenario/catalogue_entry.h"

#include "parts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::array<std::string_view, 3> kKinds = {"cluster", "model", "gpu"};
    if (size == 0)
        return 0;
    const std::string_view kind = kKinds.at(data[0] == 'm' ? 1 : data[0] == 'g' ? 2 : 0);
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    sim::CatalogueEntry entry;
    try {
        entry = sim::readCatalogueEntry(text, "fuzz.json", fuzz::catalogue().schema(), kind);
    } catch (const sim::ScenarioError& error) {
        fuzz::mustBeForeseen(error.problems());
        return 0;
    }
    auto document = sim::ScenarioDocument::parse(
        R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop","layout":{}})");
    document.set(kind == "gpu" ? "cluster.gpu" : kind, entry.json.dump());
    fuzz::mustResolveOrTell(document);
    return 0;
}
