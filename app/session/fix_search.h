// Off the window's thread: the smallest change with which a job that does not fit its GPUs does.
#pragma once

#include "app/session/edit.h"
#include "app/session/worker.h"
#include "sim/planner/least_change.h"

#include <QObject>
#include <QString>

namespace app {

struct Fix {
    sim::LeastChange change;
    /// What is free on the fullest GPU then is enough that no finding calls it nearly full.
    bool leavesRoom = false;
};

/// With room for what allocators reserve beyond, on as many GPUs; where there is none, what just fits them; on more GPUs with
/// room again.
Fix leastFix(const sim::ScenarioDocument&, const sim::Catalogue&);

class FixSearch : public QObject {
    Q_OBJECT
public:
    /// The catalogue outlives it.
    explicit FixSearch(const sim::Catalogue&, QObject* parent = nullptr);
    ~FixSearch() override; ///< cancels and joins

    void start(const sim::ScenarioDocument&); ///< the search before is forgotten
    void drop();                              ///< nothing is told any more
    bool isRunning() const { return m_isRunning; }

Q_SIGNALS:
    void finished(const app::Fix& fix);  ///< whose change may have found none
    void failed(const QString& message); ///< instead: it cannot be searched, and why

private:
    const sim::Catalogue& m_catalogue;
    bool m_isRunning = false;
    Worker m_worker; ///< last: ends before what it uses
};

/// One undoable step that makes the change.
Edit makeFixEdit(const sim::LeastChange&);

} // namespace app
