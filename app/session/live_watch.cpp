// What a live run's worker does, turn after turn: take what came, prepare the picture, say how it stands.
#include "app/session/failure.h"
#include "app/session/live_records.h"
#include "app/session/live_run.h"
#include "app/session/plain_words.h"
#include "live/stream/make_trace.h"
#include "sim/error.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/export.h"

#include <utility>

namespace app {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenUpdates{33};
constexpr milliseconds kBetweenPictures{100}; ///< steps that fly by: so many of them can be seen
constexpr milliseconds kLastWords{400};       ///< from a worker's end until its last messages must have come
constexpr milliseconds kNobody{3000};         ///< until it is worth saying that nobody answers

QString stepsText(int steps)
{
    return steps == 1 ? QObject::tr("1 step") : QObject::tr("%1 steps").arg(steps);
}

QString lastLines(const WorkerEnd& end)
{
    return end.lastLines.join(QLatin1Char('\n'));
}

/// Of a run that had begun: before its last words come reports of steps, which the curves show.
QString lastWords(const WorkerEnd& end)
{
    constexpr qsizetype kWords = 3;
    return end.lastLines.mid(std::max<qsizetype>(0, end.lastLines.size() - kWords)).join(QLatin1Char('\n'));
}

/// All that decides what a person is told.
struct Facts {
    live::ViewerStateText viewer;
    const LiveRecords& records;
    std::optional<WorkerEnd> end; ///< of a worker started here, once its last words had time to come
    bool own = false;
    QString endpoint;
    milliseconds sinceStart{};
};

LiveStatus endOf(const Facts& f)
{
    const live::RunState& state = f.records.state();
    const int done = f.records.lastStep();
    const QString message = QString::fromStdString(state.message);
    if (state.status == live::RunStatus::finished)
        return {LivePhase::finished, QObject::tr("Finished · %1").arg(stepsText(done)), message};
    if (state.status == live::RunStatus::stopped)
        return {LivePhase::stopped, done < 0 ? QObject::tr("Stopped") : QObject::tr("Stopped after step %1").arg(done), message};
    return {LivePhase::failed, QObject::tr("The run failed"), message};
}

LiveStatus statusOf(const Facts& f)
{
    const live::RunState& state = f.records.state();
    if (live::hasEnded(state.status))
        return endOf(f);
    if (f.end) {
        if (!f.records.isKnown() || (f.end->isGood() && f.records.lastStep() < 0))
            return {LivePhase::cannotStart, QObject::tr("The training could not be started"),
                    f.end->lastLines.isEmpty() ? QObject::tr("rankscope-live %1 and said nothing.").arg(f.end->text())
                                               : lastLines(*f.end)};
        const QString kept = f.records.lastStep() < 0
                                 ? QObject::tr("What was received is kept.")
                                 : QObject::tr("All that was received up to step %1 is kept.").arg(f.records.lastStep());
        return {LivePhase::crashed, QObject::tr("The worker %1").arg(f.end->text()),
                f.end->lastLines.isEmpty() ? kept : kept + QObject::tr(" It said last:\n") + lastWords(*f.end)};
    }
    const QString said = asSentence(QString::fromStdString(f.viewer.message));
    switch (f.viewer.state) {
    case live::ViewerState::refused:
        return {LivePhase::refused, QObject::tr("The run refused this window"), said};
    case live::ViewerState::lost:
        return {LivePhase::lost, QObject::tr("Connection lost"), said};
    case live::ViewerState::ended:
        return {LivePhase::stopped, QObject::tr("The run has ended"), said};
    case live::ViewerState::connecting:
        if (f.own)
            return {LivePhase::starting, QObject::tr("Starting the worker…"), {}};
        return {LivePhase::starting, QObject::tr("Looking for a run at %1…").arg(f.endpoint),
                f.sinceStart < kNobody ? QString()
                                       : QObject::tr("Nobody answers there yet; still trying. Is the run listening at this very "
                                                     "address (rankscope-live run FILE --listen %1)?")
                                             .arg(f.endpoint)};
    case live::ViewerState::connected:
        break;
    }
    const int planned = f.records.isKnown() ? f.records.run()->plannedSteps : 0;
    const int done = std::max(f.records.lastStep(), 0);
    const QString message = QString::fromStdString(state.message);
    switch (state.status) {
    case live::RunStatus::starting:
        return {LivePhase::planning, QObject::tr("Planning the communication…"), message};
    case live::RunStatus::paused:
        return {LivePhase::paused, QObject::tr("Paused after step %1 of %2").arg(done).arg(planned), message};
    default:
        // A job that something else started does not say how many it will make.
        return {LivePhase::training,
                planned > 0 ? QObject::tr("Training · step %1 of %2").arg(done).arg(planned)
                            : QObject::tr("Training · step %1").arg(done),
                message};
    }
}

} // namespace

class LiveRun::Watch {
public:
    Watch(LiveRun& run, const Task& task) : m_run(run), m_task(task), m_isOwn(!run.m_scenarioText.empty()) {}

    /// Until nobody waits for it any more. What a turn throws is told, and the next one begins.
    void run()
    {
        m_predictedText = m_run.m_scenarioText;
        if (!m_predictedText.empty()) // what was launched here is known before it answers
            m_prediction = m_early = predict(m_predictedText, m_run.m_catalogue);
        while (waitForTurn()) {
            try {
                turn(takeWishes());
            } catch (const sim::Cancelled&) {
                throw;
            } catch (...) {
                tellFailure(QString::fromStdString(failureText()));
            }
        }
    }

private:
    /// What the owner's thread wants, and knows.
    struct Wishes {
        std::optional<WorkerEnd> end;
        std::optional<int> pinned;
        QString failure, savePath;
        std::optional<sim::Efficiency> measured; ///< to be predicted with from now on
        bool isTaken = true;                     ///< the last update was
    };

    /// So often is enough for eyes; what comes meanwhile is taken together. False: it is over.
    bool waitForTurn()
    {
        if (std::exchange(m_isFirst, false))
            return !m_task.isCancelled();
        const std::stop_token stop = m_task.stopToken();
        std::unique_lock lock(m_run.m_mutex);
        m_run.m_wake.wait_for(lock, stop, kBetweenUpdates, [] { return false; });
        if (!stop.stop_requested())
            m_run.m_wake.wait_for(lock, stop, kBetweenUpdates, [this] { return m_run.m_news; });
        return !stop.stop_requested();
    }

    Wishes takeWishes()
    {
        const std::lock_guard lock(m_run.m_mutex);
        m_run.m_news = false;
        return {.end = m_run.m_end,
                .pinned = m_run.m_pinned,
                .failure = m_run.m_failure,
                .savePath = std::exchange(m_run.m_savePath, QString()),
                .measured = std::exchange(m_run.m_measured, std::nullopt),
                .isTaken = !m_run.m_update};
    }

    void turn(const Wishes& wishes)
    {
        m_now = Clock::now();
        LiveUpdate out;
        bool changed = takeNews(out, wishes.measured);
        if (wishes.end && !m_endedAt)
            m_endedAt = m_now;
        // A picture is prepared when the one before has been taken, so that a slow window is not flooded.
        if (m_records.isKnown() && wishes.isTaken && m_now - m_lastPicture >= kBetweenPictures)
            changed = preparePicture(out, wishes.pinned) || changed;
        out.status = statusNow(wishes);
        changed = changed || !(out.status == m_told);
        m_told = out.status;
        if (changed)
            put(std::move(out));
        if (!wishes.savePath.isEmpty())
            save(wishes.savePath);
    }

    /// Whether there is anything new.
    bool takeNews(LiveUpdate& out, const std::optional<sim::Efficiency>& measured)
    {
        bool changed = false;
        if (m_early) {
            out.prediction = std::exchange(m_early, nullptr);
            changed = true;
        }
        if (measured)
            m_measured = measured;
        live::ViewerUpdate update;
        if (m_run.m_viewer && m_run.m_viewer->poll(update)) {
            m_records.take(update, m_now);
            out.steps = update.steps;
            for (const live::RunReply& reply : update.replies)
                if (!reply.accepted || reply.request == live::RunRequest::checkpoint)
                    out.replies << QString::fromStdString(reply.message);
            changed = true;
            if (update.description)
                m_shown = {};
        }
        const bool isAnotherJob = update.description && update.description->scenarioJson != m_predictedText;
        if (isAnotherJob)
            m_predictedText = update.description->scenarioJson;
        if (isAnotherJob || (measured && !m_predictedText.empty())) {
            m_prediction = out.prediction = predict(m_predictedText, m_run.m_catalogue, m_measured ? &*m_measured : nullptr);
            m_shown = {}; // its differences are others now
            changed = true;
        }
        return changed;
    }

    /// Whether there is another one than before.
    bool preparePicture(LiveUpdate& out, std::optional<int> pinned)
    {
        LiveRecords::Choice wanted = !pinned                  ? m_records.newest(m_now)
                                     : m_records.has(*pinned) ? m_records.choice(*pinned, m_now)
                                                              : LiveRecords::Choice{*pinned, true, 0};
        // Steps that fly by are explained now and then, so that no more than a twentieth of a core goes into it.
        const live::RunStatus status = m_records.state().status;
        const bool stays = pinned || live::hasEnded(status) || status == live::RunStatus::paused;
        wanted.explainsWaits = wanted.complete && (stays || m_now >= m_nextExplained);
        LiveRecords::Choice explained = wanted;
        explained.explainsWaits = true;
        if (wanted.step < 0 || wanted == m_shown || explained == m_shown)
            return false;
        out.picture = pictureOf(wanted);
        if (wanted.explainsWaits)
            m_nextExplained = Clock::now() + 20 * (Clock::now() - m_now);
        m_shown = wanted;
        m_lastPicture = m_now;
        return true;
    }

    /// A step that cannot be drawn says why; the others can.
    StepPicturePtr pictureOf(const LiveRecords::Choice& wanted) const
    {
        try {
            return m_records.has(wanted.step)
                       ? m_records.picture(wanted, m_prediction.get(), m_run.m_makePicture)
                       : m_records.pictureOf(wanted, spansOf(wanted.step), m_prediction.get(), m_run.m_makePicture);
        } catch (const sim::Cancelled&) {
            throw;
        } catch (...) {
            auto none = std::make_shared<StepPicture>();
            none->step = wanted.step;
            none->complete = wanted.complete;
            none->wall.problem = none->parallel.problem =
                tr("step %1 cannot be drawn: %2").arg(wanted.step).arg(QString::fromStdString(failureText()));
            return none;
        }
    }

    std::vector<live::RankSpan> spansOf(int step) const
    {
        try {
            return m_run.m_viewer->history().spans({step, step});
        } catch (const sim::Error&) { // a broken block: as good as none
            return {};
        }
    }

    LiveStatus statusNow(const Wishes& wishes) const
    {
        if (!wishes.failure.isEmpty())
            return {LivePhase::cannotStart, m_isOwn ? tr("The training could not be started") : tr("The run cannot be watched"),
                    wishes.failure};
        const bool lastWordsCame = m_endedAt && (m_now - *m_endedAt >= kLastWords || live::hasEnded(m_records.state().status));
        return statusOf({.viewer = m_run.m_viewer->state(),
                         .records = m_records,
                         .end = lastWordsCame ? wishes.end : std::nullopt,
                         .own = m_isOwn,
                         .endpoint = QString::fromStdString(m_run.m_viewer->endpoint()),
                         .sinceStart = std::chrono::duration_cast<milliseconds>(m_now - m_begin)});
    }

    void put(LiveUpdate out)
    {
        out.run = m_records.run();
        out.ranks = m_records.ranks();
        out.state = m_records.state();
        out.missed = m_records.missed();
        {
            const std::lock_guard lock(m_run.m_mutex);
            if (const auto& before = m_run.m_update) { // not taken yet: what came before is still news
                out.steps.insert(out.steps.begin(), before->steps.begin(), before->steps.end());
                out.replies = before->replies + out.replies;
                if (!out.picture)
                    out.picture = before->picture;
                if (!out.prediction)
                    out.prediction = before->prediction;
            }
            m_run.m_update = std::move(out);
        }
        m_task.tell([&run = m_run] { run.deliver(); });
    }

    /// Once, however often it happens.
    void tellFailure(const QString& why)
    {
        if (std::exchange(m_failure, why) == why)
            return;
        LiveUpdate out;
        out.status = m_told;
        out.replies << tr("Not all of the run can be shown: %1").arg(why);
        put(std::move(out));
    }

    void save(const QString& path) const
    {
        QString problem;
        try {
            if (!m_run.m_viewer)
                throw sim::Error("there is no run");
            sim::saveTrace(live::makeTrace(m_run.m_viewer->history()), path.toStdString());
        } catch (const sim::Cancelled&) {
            throw;
        } catch (...) {
            problem = QString::fromStdString(failureText());
        }
        m_task.tell([&run = m_run, path, problem] {
            if (problem.isEmpty())
                Q_EMIT run.traceSaved(path);
            else
                Q_EMIT run.traceNotSaved(problem);
        });
    }

    LiveRun& m_run;
    const Task& m_task;
    const bool m_isOwn;
    LiveRecords m_records;
    std::string m_predictedText;
    PredictionPtr m_prediction, m_early;
    std::optional<sim::Efficiency> m_measured;
    LiveRecords::Choice m_shown;
    LiveStatus m_told;
    QString m_failure;
    Clock::time_point m_now{}, m_lastPicture{}, m_nextExplained{};
    std::optional<Clock::time_point> m_endedAt;
    const Clock::time_point m_begin = Clock::now();
    bool m_isFirst = true;
};

void LiveRun::watch(const Task& task)
{
    Watch(*this, task).run();
}

} // namespace app
