// Lines of --set, one after the other, on a scenario: each is taken, or refused with Error and then changes nothing; what comes
// out resolves or tells its problems.
#include "parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    auto document = sim::ScenarioDocument::parse(R"({"model":"tiny-gpt","cluster":"laptop","layout":{"dp":2}})");
    std::string_view text(reinterpret_cast<const char*>(data), size);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string before = document.text();
        try {
            document.applyOverride(text.substr(0, end), fuzz::catalogue());
        } catch (const sim::Error&) {
            if (document.text() != before)
                std::abort();
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    fuzz::mustResolveOrTell(document);
    return 0;
}
