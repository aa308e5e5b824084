// Tells whether a file is still the one that was read or written.
#pragma once

#include <QDateTime>
#include <QFileInfo>

namespace app {

struct FileStamp {
    QDateTime modified;
    qint64 bytes = -1;
    bool operator==(const FileStamp&) const = default;

    static FileStamp of(const QString& path)
    {
        const QFileInfo file(path);
        return path.isEmpty() || !file.exists() ? FileStamp{} : FileStamp{file.lastModified(), file.size()};
    }
};

} // namespace app
