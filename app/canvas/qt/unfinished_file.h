// A file that others write piece by piece, under a name of its own until it is whole: "film.mp4.4711.part". While it is written
// it is locked, so that the next who writes the same file can tell one that a killed program has left from one that is still
// being written. Of a long name only the end is in it: there is one for every name that a file can have.
#pragma once

#include <QString>

namespace app {

class UnfinishedFile {
public:
    /// Empty and locked; those of `path` that nobody writes any more are removed. Throws sim::Error where there can be none.
    explicit UnfinishedFile(const QString& path);
    ~UnfinishedFile(); ///< removed unless it was put in place
    UnfinishedFile(const UnfinishedFile&) = delete;
    UnfinishedFile& operator=(const UnfinishedFile&) = delete;

    const QString& name() const { return m_name; }
    /// Of another file that belongs to it, as the frames of a numbered film do.
    static QString nameFor(const QString& path);
    void putInPlace();

private:
    QString m_path, m_name;
    int m_lock = -1;
};

/// In one go: there is always the old file or the new one. Throws sim::Error.
void putInPlace(const QString& part, const QString& path);

} // namespace app
