// What a scenario is called where its author gave it no name, and what is said behind a name that the settings have left behind.
#pragma once

#include "sim/scenario/scenario.h"

#include <QString>

namespace app {

/// "Llama 3.1 8B on 64 GPUs: DualPipe, tp 2, pp 4, dp 8, m 8".
QString generatedName(const sim::Scenario&);
/// The author's name of it, or the generated one.
QString nameOf(const sim::Scenario&);
/// "DualPipe, pp 4, m 8": schedule, sizes and micro-batches where they are others than in the file; empty where none is.
QString changedSettings(const sim::Scenario& now, const sim::Scenario& file);

} // namespace app
