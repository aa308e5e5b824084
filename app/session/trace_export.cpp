#include "app/session/trace_export.h"

#include "sim/trace/export.h"

#include <cassert>
#include <utility>

namespace app {

TraceExport::~TraceExport()
{
    m_worker.finish();
}

void TraceExport::start(SimulationPtr simulation, sim::TraceDetail detail, const QString& path)
{
    assert(!m_busy);
    m_busy = true;
    const auto end = [this, path](const QString& failure) {
        m_busy = false;
        Q_EMIT finished(path, failure);
    };
    m_worker.submit({.kind = 0,
                     .work =
                         [simulation = std::move(simulation), detail, path, end](const Task& task) {
                             sim::saveTrace(simulation->trace(detail), path.toStdString());
                             task.tell([end] { end({}); });
                         },
                     .failed = end});
}

} // namespace app
