#include "app/session/trace_export.h"

#include "sim/trace/export.h"

#include <cassert>
#include <exception>
#include <utility>

namespace app {

TraceExport::~TraceExport() = default; // joins m_thread while the QObject that it posts to is still whole

void TraceExport::start(SimulationPtr simulation, sim::TraceDetail detail, const QString& path)
{
    assert(!m_busy);
    m_busy = true;
    m_thread = std::jthread([this, simulation = std::move(simulation), detail, path] {
        QString failure;
        try {
            sim::saveTrace(simulation->trace(detail), path.toStdString());
        } catch (const std::exception& error) {
            failure = QString::fromUtf8(error.what());
        }
        QMetaObject::invokeMethod(
            this,
            [this, path, failure] {
                m_busy = false;
                emit finished(path, failure);
            },
            Qt::QueuedConnection);
    });
}

} // namespace app
