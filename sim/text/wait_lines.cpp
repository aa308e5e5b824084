#include "sim/text/wait_lines.h"

#include "sim/text/number_text.h"

#include <cstddef>

namespace sim {

std::vector<std::string> waitLines(const std::vector<WaitedFor>& told, bool isStepsEnd)
{
    std::vector<std::string> out;
    constexpr std::size_t kMostTold = 6;
    for (std::size_t i = 0; i < told.size(); ++i) {
        if (told.size() > kMostTold && i == kMostTold - 2) {
            const std::size_t more = told.size() - kMostTold + 1;
            std::int64_t between = 0;
            for (std::size_t k = 0; k < more; ++k, ++i)
                between += told[i].ns;
            out.push_back("… and " + std::to_string(more) + " more, " +
                          numberText(static_cast<double>(between) * 1e-9, Unit::seconds));
        }
        out.push_back((!out.empty() ? "which waits for " : isStepsEnd ? "the step ends with " : "waits for ") + told[i].text);
    }
    return out;
}

} // namespace sim
