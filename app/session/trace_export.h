// A simulated step as a trace file for other viewers, written while the window goes on.
#pragma once

#include "app/views/step_view.h"

#include <QObject>
#include <QString>

#include <thread>

namespace app {

class TraceExport : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    ~TraceExport() override; ///< waits for the file
    bool isBusy() const { return m_busy; }
    /// The format is the path's ending: .pftrace or .json. Only if not busy.
    void start(SimulationPtr, sim::TraceDetail, const QString& path);

signals:
    void finished(const QString& path, const QString& failure); ///< no failure: the file is there, whole

private:
    std::jthread m_thread;
    bool m_busy = false;
};

} // namespace app
