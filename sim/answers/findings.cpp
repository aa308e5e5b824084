#include "sim/answers/findings.h"

#include "sim/simulate/memory_cap.h"

namespace sim {

void addFindings(Answer& answer, const std::vector<Finding>& findings)
{
    for (const Finding& finding : findings)
        if (finding.kind != FindingKind::capMissed) // told already
            answer["findings"].push_back({{"kind", findingKindName(finding.kind)}, {"title", finding.title}});
}

void addMissedCap(Answer& answer, const Simulation& simulation)
{
    if (const auto missed = missedCap(simulation))
        answer["findings"].push_back({{"kind", "cap_missed"}, {"title", missed->text()}});
}

} // namespace sim
