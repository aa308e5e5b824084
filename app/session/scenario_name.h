// What a scenario is called where its author gave it no name, and what is said behind a name that the settings have left behind.
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/scenario.h"

#include <QString>

namespace app {

/// "Llama 3.1 8B on 64 GPUs".
QString modelOnGpus(const sim::Scenario&);
/// "Llama 3.1 8B on 64 GPUs: DualPipe, tp 2, pp 4, dp 8, m 8".
QString generatedName(const sim::Scenario&);
/// The author's name of it, or the generated one.
QString nameOf(const sim::Scenario&);
/// The same of what is in a file; the file's own name where it is no legal scenario.
QString nameOfFile(const sim::ScenarioDocument&, const QString& path, const sim::Catalogue&);
/// A scenario with the text that it is of.
struct WrittenScenario {
    const sim::ScenarioDocument& document;
    const sim::Scenario& scenario;
};
/// "DualPipe, pp 4, m 8, ZeRO 1, placement round-robin": what is another than in the file, the schedule, sizes, micro-batches and
/// what else decides memory and speed first; empty where nothing is.
QString changedSettings(const WrittenScenario& now, const WrittenScenario& file);
/// What a scenario is shown as wherever it is shown, window, page, figure and film: its name, and behind one that it has from its
/// file what has changed since.
QString shownName(const WrittenScenario& now, const WrittenScenario& file);

/// Its description, plain; where the settings have left its file behind, with a line before it that says so, since it speaks of
/// the file's.
QString shownDescription(const sim::Scenario& now, bool isAsWritten);

} // namespace app
