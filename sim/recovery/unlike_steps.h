// Which steps are unlike the others, so that no means are taken over them: recorded in part, or of another length.
#pragma once

#include "sim/recovery/steps.h"

namespace sim {

/// `mayBeCut`: nothing marks the steps, and the recorder may have begun or stopped anywhere in the first and the last.
void findUnlikeSteps(RecoveredSteps&, const RunEvidence&, bool mayBeCut);

} // namespace sim
