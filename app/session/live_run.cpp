#include "app/session/live_run.h"

#include "app/session/failure.h"
#include "sim/scenario/document.h"

#include <QDir>
#include <QFile>
#include <QSysInfo>
#include <QTimer>

#include <utility>

namespace app {
namespace {

using std::chrono::milliseconds;

constexpr int kStopPatienceMs = 5000; ///< for a step to end before the worker is told to

} // namespace

bool hasEnded(LivePhase phase)
{
    return phase >= LivePhase::finished;
}

bool isSilent(LivePhase phase)
{
    return phase == LivePhase::lost || hasEnded(phase);
}

bool isWorse(LivePhase phase)
{
    return phase == LivePhase::lost || phase >= LivePhase::failed;
}

LiveRun::LiveRun(const LaunchOptions& options, sim::Catalogue catalogue, QObject* parent, StepPictureFunction makePicture)
    : QObject(parent), m_catalogue(std::move(catalogue)), m_makePicture(std::move(makePicture))
{
    launch(options);
    if (!m_worker) // why there is none is told
        startWatching();
}

LiveRun::LiveRun(AttachOptions options, sim::Catalogue catalogue, QObject* parent, StepPictureFunction makePicture)
    : QObject(parent), m_catalogue(std::move(catalogue)), m_makePicture(std::move(makePicture))
{
    attach(options.endpoint.toStdString(), std::move(options.keys), options.silence);
    startWatching();
}

void LiveRun::startWatching()
{
    m_preparing.submit({.kind = 0, .work = [this](const Task& task) { watch(task); }, .failed = {}});
}

LiveRun::~LiveRun()
{
    if (m_viewer && m_worker)
        m_viewer->request(live::RunRequest::stop);
    m_preparing.stop(); // it reads everything else until then
    m_worker.reset();
    m_viewer.reset(); // calls wake() until then
}

void LiveRun::attach(const std::string& endpoint, std::optional<live::ViewerKeys> keys, milliseconds silence)
{
    try {
        m_viewer = std::make_unique<live::Viewer>(
            endpoint,
            live::ViewerOptions{.keys = std::move(keys), .history = {}, .wake = [this] { wake(); }, .silence = silence});
    } catch (...) {
        m_failure = QString::fromStdString(failureText());
    }
}

void LiveRun::launch(const LaunchOptions& options)
{
    const QString program = options.program.isEmpty() ? findWorkerProgram() : options.program;
    if (program.isEmpty()) {
        m_failure = noWorkerText();
        return;
    }
    // Only this user may enter: QTemporaryDir makes folders of mode 0700.
    m_folder = std::make_unique<QTemporaryDir>(QDir::tempPath() + QStringLiteral("/rankscope-live-XXXXXX"));
    const QString file = m_folder->filePath(QStringLiteral("scenario.json"));
    QFile out(file);
    const std::string text = m_scenarioText = sim::resolvedText(options.scenario);
    if (!m_folder->isValid() || !out.open(QIODevice::WriteOnly) || out.write(text.data(), static_cast<qint64>(text.size())) < 0 ||
        !out.flush()) {
        m_failure = tr("The scenario cannot be written for the worker: %1")
                        .arg(m_folder->isValid() ? out.errorString() : m_folder->errorString());
        return;
    }
    out.close();
    const QString endpoint = QStringLiteral("ipc://") + m_folder->filePath(QStringLiteral("run"));
    attach(endpoint.toStdString(), std::nullopt, milliseconds{2000});
    m_worker = std::make_unique<WorkerProcess>();
    connect(m_worker.get(), &WorkerProcess::failedToStart, this, [this, program](const QString& message) {
        {
            const std::lock_guard lock(m_mutex);
            m_failure = tr("%1 cannot be started: %2").arg(program, message);
        }
        wake();
    });
    connect(m_worker.get(), &WorkerProcess::ended, this, [this](const WorkerEnd& end) {
        {
            const std::lock_guard lock(m_mutex);
            m_end = end;
        }
        wake();
    });
    startWatching(); // before the process forks: ThreadSanitizer loses sight of what a thread hands over after that
    const sim::LiveSettings& live = options.scenario.live;
    m_worker->start(program, {QStringLiteral("run"), file, QStringLiteral("--listen"), endpoint, QStringLiteral("--device"),
                              QString::fromStdString(live.device), QStringLiteral("--steps"), QString::number(live.steps)});
}

void LiveRun::pause()
{
    request(live::RunRequest::pause);
}

void LiveRun::resume()
{
    request(live::RunRequest::resume);
}

void LiveRun::stop()
{
    request(live::RunRequest::stop);
    if (m_worker && m_worker->isRunning()) {
        if (m_status.phase == LivePhase::starting || m_status.phase == LivePhase::lost)
            m_worker->terminate(kStopPatienceMs); // nobody there to hear the wish
        else
            QTimer::singleShot(kStopPatienceMs, m_worker.get(), [this] { m_worker->terminate(kStopPatienceMs); });
    }
}

void LiveRun::request(live::RunRequest what)
{
    if (m_viewer)
        m_viewer->request(what);
}

void LiveRun::pin(std::optional<int> step)
{
    {
        const std::lock_guard lock(m_mutex);
        m_pinned = step;
    }
    wake();
}

bool isOnThisMachine(const live::RunDescription& run)
{
    return run.host == QSysInfo::machineHostName().toStdString();
}

qint64 processHere(const live::RunDescription& run)
{
    return isOnThisMachine(run) ? run.processId : 0;
}

std::optional<int> LiveRun::pinned() const
{
    const std::lock_guard lock(m_mutex);
    return m_pinned;
}

void LiveRun::predictWith(const sim::Efficiency& measured)
{
    {
        const std::lock_guard lock(m_mutex);
        m_measured = measured;
    }
    wake();
}

void LiveRun::saveTrace(const QString& path)
{
    {
        const std::lock_guard lock(m_mutex);
        m_savePath = path;
    }
    wake();
}

void LiveRun::wake()
{
    {
        const std::lock_guard lock(m_mutex);
        m_news = true;
    }
    m_wake.notify_one();
}

void LiveRun::deliver()
{
    std::optional<LiveUpdate> update;
    {
        const std::lock_guard lock(m_mutex);
        update = std::exchange(m_update, std::nullopt);
    }
    if (update) {
        m_status = update->status;
        Q_EMIT updated(*update);
    }
}

} // namespace app
