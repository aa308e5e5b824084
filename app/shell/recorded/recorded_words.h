// Words of the page of a recorded run.
#pragma once

#include <QString>

class QLabel;
class QLayout;

namespace sim {
struct RecoveredStep;
struct RecoveredSteps;
struct RunCalibration;
} // namespace sim

namespace app {

struct RecoveredRun;

/// "8 of 8 ranks · tp 2 · dp 4 · 12 steps · Kineto"
QString recordedHeadline(const RecoveredRun&);

/// "step 3"; of a recording in which nothing tells steps apart what it is instead.
QString stepName(const sim::RecoveredSteps&, const sim::RecoveredStep&);

/// Plain text that wraps and can be selected.
QLabel* wordsLabel(const char* role, const QString& text = QString());
/// With its widgets.
void emptyLayout(QLayout&);
/// Of names that a recorder wrote, which may hold anything: no tabs, no ends of lines.
QString inOneLine(QString text);
/// "+12.3 %", with a true minus.
QString signedPercentText(double fraction);

/// What a scenario that predicts from a run is told to be: first what is unlike that run in it, as a slow rank that is slow no
/// longer, for its step is then not the one that was measured.
QString whatIfText(const QString& run, const sim::RunCalibration&);

} // namespace app
