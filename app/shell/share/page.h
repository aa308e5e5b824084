// A scenario as one page of HTML that opens anywhere, without the program and without a network: what it describes, the numbers
// of its step, every picture to be pointed at and zoomed, and the scenario itself to be taken up again. Its looks are
// assets/page.html.
#pragma once

#include "app/views/common/theme.h"
#include "sim/scenario/document.h"

#include <QByteArray>
#include <QString>

namespace app {

inline constexpr qsizetype kMostPageBytes = 2'000'000;

/// Simulates the scenario and draws it, called `name`; on any thread. Throws sim::ScenarioError where it is not legal, sim::Error
/// where the page would be larger than kMostPageBytes.
QByteArray pageOf(const sim::ScenarioDocument&, const QString& name, const sim::Catalogue&, const Theme&, const QString& version);

/// CommonMark as plain HTML: what a description may hold, and nothing that runs or loads.
QString htmlOfMarkdown(const QString&);

} // namespace app
