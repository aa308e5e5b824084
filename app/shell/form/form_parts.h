// The parts of the scenario form from top to bottom: which fold away, what they are called, and what they say when folded.
#pragma once

#include "app/session/scenario_keys.h"

#include <QStringList>

#include <span>

namespace app {

struct FormPart {
    KeySection section;
    const char* fold = nullptr;    ///< begins a part of its own that folds; null: goes on with the one before
    const char* heading = nullptr; ///< inside the fold; of lists every entry has one of its own
    bool isOpen = true;            ///< until the user folds it
    /// The most important first: only what fits is shown.
    QStringList (*summary)(const sim::Scenario&) = nullptr;
};
std::span<const FormPart> formParts();

/// Below the number of nodes: how large the cluster is, and what of it is not used.
QString clusterNote(const sim::Scenario&);
/// Below the global batch: what it comes to.
QString batchNote(const sim::Scenario&);

} // namespace app
