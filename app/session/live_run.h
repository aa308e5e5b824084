// A running training as the window sees it: the worker's process where it was started here, and a viewer attached to it. What
// arrives is prepared on a thread of its own; the newest comes to the GUI thread as `updated`, some tens of times a second.
#pragma once

#include "app/session/step_picture.h"
#include "app/session/worker.h"
#include "app/session/worker_process.h"
#include "live/stream/viewer.h"

#include <QObject>
#include <QString>
#include <QTemporaryDir>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace app {

enum class LivePhase {
    starting, ///< nobody has answered yet
    planning, ///< the run is there and not yet training
    training,
    paused,
    lost, ///< silent; goes on trying
    finished,
    stopped,
    failed,  ///< the run ended and said why
    crashed, ///< the worker's process is gone
    refused, ///< wrong key, wrong version, no place
    cannotStart
};
bool hasEnded(LivePhase);
bool isSilent(LivePhase); ///< nothing more comes, or not now: the step that was under way broke off
bool isWorse(LivePhase);  ///< something went wrong

struct LiveStatus {
    LivePhase phase = LivePhase::starting;
    QString headline; ///< "Training · step 12 of 20"
    QString detail;   ///< why, what is kept, what to do; may be empty
    bool operator==(const LiveStatus&) const = default;
};

/// What a rank holds, and its last action.
struct RankReading {
    std::int64_t bytes = 0, peakBytes = 0;
    std::string lastAction; ///< "F3"
};

struct LiveUpdate {
    LiveStatus status;
    std::shared_ptr<const live::RunDescription> run; ///< once it is known
    std::vector<live::StepSummary> steps;            ///< new or changed since the last update
    std::vector<RankReading> ranks;                  ///< by rank
    StepPicturePtr picture;                          ///< if it changed
    PredictionPtr prediction;                        ///< if it changed
    live::RunState state;
    std::uint64_t missed = 0; ///< spans this viewer did not get, ever
    QStringList replies;      ///< to what was asked of the run, since the last update
};

struct LaunchOptions {
    sim::Scenario scenario; ///< with its live settings as they shall be
    QString program;        ///< empty: findWorkerProgram()
};
struct AttachOptions {
    QString endpoint;
    std::optional<live::ViewerKeys> keys;
    std::chrono::milliseconds silence{2000};
};

bool isOnThisMachine(const live::RunDescription&);
/// The one process that trains, if it does so on this machine, whoever started it; 0: it is elsewhere, or there are several.
qint64 processHere(const live::RunDescription&);

class LiveRun : public QObject {
    Q_OBJECT
public:
    /// Starts a worker and attaches to it.
    LiveRun(const LaunchOptions&, sim::Catalogue, QObject* parent = nullptr, StepPictureFunction = makeStepPicture);
    /// Attaches to a run that somebody else started.
    LiveRun(AttachOptions, sim::Catalogue, QObject* parent = nullptr, StepPictureFunction = makeStepPicture);
    /// Ends a worker that was started here; leaves other runs alone.
    ~LiveRun() override;

    bool isOwn() const { return m_worker != nullptr; }
    qint64 workerId() const { return m_worker ? m_worker->processId() : 0; }
    const LiveStatus& status() const { return m_status; }

    void pause();
    void resume();
    /// The run ends after its step; a worker of this window that does not is ended by force.
    void stop();
    /// The picture stays on this step; nothing: follows the run.
    void pin(std::optional<int> step);
    std::optional<int> pinned() const;
    /// Predicts the run anew, with what was measured of its machine.
    void predictWith(const sim::Efficiency& measured);
    /// All steps whose spans are kept, as .pftrace or .json. Answers by traceSaved or traceNotSaved.
    void saveTrace(const QString& path);

Q_SIGNALS:
    void updated(const app::LiveUpdate& update);
    void traceSaved(const QString& path);
    void traceNotSaved(const QString& message);

private:
    void attach(const std::string& endpoint, std::optional<live::ViewerKeys>, std::chrono::milliseconds silence);
    void startWatching();
    void launch(const LaunchOptions&);
    void request(live::RunRequest);
    void wake();
    class Watch; // in live_watch.cpp
    void watch(const Task&);
    void deliver();

    const sim::Catalogue m_catalogue;
    const StepPictureFunction m_makePicture;
    std::unique_ptr<QTemporaryDir> m_folder; ///< of the socket and the scenario of a worker started here
    std::string m_scenarioText;              ///< of a worker started here
    std::unique_ptr<WorkerProcess> m_worker; ///< of the owner's thread alone
    std::unique_ptr<live::Viewer> m_viewer;
    LiveStatus m_status; ///< as delivered last

    mutable std::mutex m_mutex;
    std::condition_variable_any m_wake;
    // Guarded by m_mutex:
    bool m_news = false;
    std::optional<WorkerEnd> m_end;
    QString m_failure; ///< why nothing was started
    std::optional<int> m_pinned;
    QString m_savePath;
    std::optional<sim::Efficiency> m_measured; ///< not predicted with yet
    std::optional<LiveUpdate> m_update;        ///< not delivered yet

    Worker m_preparing; ///< last: ends before what it uses
};

} // namespace app
