// Whether what somebody opens is a recorded run, which is read and shown otherwise than a scenario.
#pragma once

#include <QString>
#include <QStringList>

#include <string>

namespace app {

/// A folder, or a file that begins as a trace that is known. Reads its first kilobytes; false of what cannot be read.
bool isTrace(const QString& path);
/// Why a folder that somebody names is not taken for that of a recorded run: no file in it (of the first 200, logs last, where it
/// has more) is a trace. Empty: one is. Folders in it are not looked through: all of a home folder is no run.
QString whyNoRun(const QString& folder);
/// "run-7", "rank0.json and 7 others": of what is opened together.
QString traceName(const QStringList& paths);
/// "run-7-rank0-1f0c3a9e": a file name for the profile with this text that was measured in these traces, of no other run and of
/// no other text: what was saved with it goes on to predict as it did.
QString measuredProfileName(const QStringList& paths, const std::string& text);

} // namespace app
