// Words of the page of a recorded run.
#pragma once

#include <QString>

class QLabel;
class QLayout;

namespace app {

struct RecoveredRun;

/// "8 of 8 ranks · tp 2 · dp 4 · 12 steps · Kineto"
QString recordedHeadline(const RecoveredRun&);

/// Plain text that wraps and can be selected.
QLabel* wordsLabel(const char* role, const QString& text = QString());
/// With its widgets.
void emptyLayout(QLayout&);
/// Of names that a recorder wrote, which may hold anything: no tabs, no ends of lines.
QString inOneLine(QString text);
/// "+12.3 %", with a true minus.
QString signedPercentText(double fraction);

} // namespace app
