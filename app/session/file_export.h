// A file that takes a while to make (a trace, a page), written while the window goes on. One at a time.
#pragma once

#include "app/session/worker.h"

#include <QObject>
#include <QString>

#include <functional>

namespace app {

class FileExport : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    ~FileExport() override; ///< waits for the file: it was asked for
    bool isBusy() const { return m_busy; }
    /// `write` makes the file at that path, on a thread of its own; whatever it throws is told. Only if not busy.
    void start(const QString& path, std::function<void()> write);

Q_SIGNALS:
    void finished(const QString& path, const QString& failure); ///< no failure: the file is there, whole

private:
    bool m_busy = false;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
