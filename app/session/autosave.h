// Nothing is lost on a crash: unsaved work is written beside the settings shortly after each change and taken away again when it
// is saved or given up. A lock tells the work of a running window from what a dead one left.
#pragma once

#include "app/session/file_stamp.h"

#include <QDateTime>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

class QLockFile;

namespace app {

struct Recovery {
    QString autosaveFile;
    QString path; ///< of the scenario file that was open; empty if it had none
    QString text; ///< the document as it was
    QDateTime time;
    QString name{};    ///< its file's, else the scenario's
    FileStamp stamp{}; ///< of the scenario file, as it was opened or saved; none where nobody wrote it down
};

class Autosave {
public:
    explicit Autosave(QString folder); ///< empty: nothing is written
    ~Autosave();
    bool isOn() const { return !m_folder.isEmpty(); }
    /// Atomic. False if there is no folder or the disk would not take it.
    bool write(const QString& scenarioPath, const FileStamp&, const QString& name, const QString& text);
    void remove();

    /// What dead windows left, newest first.
    static std::vector<Recovery> recoverable(const QString& folder);
    static void discard(const QString& autosaveFile);

private:
    QString m_folder, m_file;
    std::unique_ptr<QLockFile> m_lock; ///< held from the first write on
};

} // namespace app
