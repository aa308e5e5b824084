#include "sim/analysis/closed_forms.h"

#include "sim/analysis/number_text.h"

namespace sim {

std::optional<BubbleForm> bubbleForm(const Scenario& scenario)
{
    const std::string& kind = scenario.schedule.kind;
    const int p = scenario.layout.pp, v = scenario.schedule.virtualStages, m = scenario.microbatches();
    const bool interleaved = kind == "interleaved-1f1b";
    if (p < 2 || (!interleaved && kind != "1f1b" && kind != "gpipe"))
        return std::nullopt;
    const int all = v * m + p - 1;
    BubbleForm out{.share = static_cast<double>(p - 1) / all};
    out.text = std::string(interleaved ? "(p − 1) / (v × m + p − 1) = " : "(p − 1) / (m + p − 1) = ") + std::to_string(p - 1) +
               " / " + numberText(all, Unit::count) + " = " + percentText(out.share);
    out.source = interleaved       ? "Narayanan et al. 2021, section 2.2.2"
                 : kind == "gpipe" ? "Huang et al. 2019 (GPipe), section 2.3"
                                   : "Narayanan et al. 2021, section 2.2.1";
    return out;
}

} // namespace sim
