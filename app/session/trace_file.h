// Whether what somebody opens is a recorded run, which is read and shown otherwise than a scenario.
#pragma once

#include <QString>
#include <QStringList>

namespace app {

/// A folder, or a file that begins as a trace that is known. Reads its first kilobytes; false of what cannot be read.
bool isTrace(const QString& path);
/// "run-7", "rank0.json and 7 others": of what is opened together.
QString traceName(const QStringList& paths);

} // namespace app
