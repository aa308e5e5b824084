#include "app/session/file_export.h"

#include <cassert>
#include <utility>

namespace app {

FileExport::~FileExport()
{
    m_worker.finish();
}

void FileExport::start(const QString& path, std::function<void()> write)
{
    assert(!m_busy);
    m_busy = true;
    const auto end = [this, path](const QString& failure) {
        m_busy = false;
        Q_EMIT finished(path, failure);
    };
    m_worker.submit({.kind = 0,
                     .work =
                         [write = std::move(write), end](const Task& task) {
                             write();
                             task.tell([end] { end({}); });
                         },
                     .failed = end});
}

} // namespace app
