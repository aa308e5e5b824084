// What a scenario is called where its author gave it no name, and what is said behind a name that the settings have left behind.
#pragma once

#include "sim/scenario/scenario.h"

#include <QString>

namespace app {

/// "Llama 3.1 8B on 64 GPUs".
QString modelOnGpus(const sim::Scenario&);
/// "Llama 3.1 8B on 64 GPUs: DualPipe, tp 2, pp 4, dp 8, m 8".
QString generatedName(const sim::Scenario&);
/// The author's name of it, or the generated one.
QString nameOf(const sim::Scenario&);
/// "DualPipe, pp 4, m 8, ZeRO 1": schedule, sizes, micro-batches and what else decides memory and speed, where it is another
/// than in the file; empty where nothing is.
QString changedSettings(const sim::Scenario& now, const sim::Scenario& file);

} // namespace app
