#include "sim/answers/findings.h"

#include "sim/simulate/memory_cap.h"

namespace sim {

void addMissedCap(Answer& answer, const Simulation& simulation)
{
    if (const auto missed = missedCap(simulation))
        answer["findings"].push_back({{"kind", "cap_missed"}, {"title", missed->text()}});
}

} // namespace sim
