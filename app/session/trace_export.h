// A simulated step as a trace file for other viewers, written while the window goes on.
#pragma once

#include "app/session/worker.h"
#include "app/step/shown_step.h"

#include <QObject>
#include <QString>

namespace app {

class TraceExport : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    ~TraceExport() override; ///< waits for the file: it was asked for
    bool isBusy() const { return m_busy; }
    /// The format is the path's ending: .pftrace or .json. Only if not busy.
    void start(SimulationPtr, sim::TraceDetail, const QString& path);

Q_SIGNALS:
    void finished(const QString& path, const QString& failure); ///< no failure: the file is there, whole

private:
    bool m_busy = false;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
