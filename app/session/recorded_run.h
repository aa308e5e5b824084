// A recorded run as the window sees it: files of other profilers are read, who is who is recovered, and what was asked of it is
// answered, all on a thread of its own. What is ready comes to the GUI thread; what fails says why in words.
#pragma once

#include "app/session/desk.h"
#include "app/session/step_picture.h"
#include "app/session/worker.h"
#include "app/step/known_grid.h"
#include "app/step/measured_rank.h"
#include "sim/calibration/calibrate.h"
#include "sim/recovery/run_answers.h"
#include "sim/recovery/run_difference.h"
#include "sim/recovery/run_digest.h"
#include "sim/trace/cache/cached_reading.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace app {

/// All that was found out of a recording at once; never changed.
struct RecoveredRun {
    /// From a cache with a digest who was recorded and how much, without what it was: spans are read where somebody asks.
    std::shared_ptr<const sim::Recording> recording;
    bool isDigest = false; ///< `recovered` and `answers` as of a sim::RunDigest
    std::vector<sim::DigestedStep> digested;
    sim::Recovered recovered;
    sim::RunAnswers answers;
    std::vector<sim::NamedAxis> said; ///< the grid as the person said it; empty: as recovered
    /// A simulation of the grid of ranks alone, of a model that is nobody's; nullptr: `whyNoGrid`.
    SimulationPtr grid;
    QString whyNoGrid;
    KnownGrid known;         ///< how much of it the recording tells
    QString whyNotFromCache; ///< a cache lies beside the files and was not taken
    const sim::RecoveredSteps& steps() const { return recovered.steps; }
};
using RecoveredRunPtr = std::shared_ptr<const RecoveredRun>;

/// What is drawn of a rank.
enum class RecordedRows { timeUse, streams, hostThreads };

/// One step, ready to be drawn.
struct RecordedStepPicture {
    std::size_t step = 0; ///< index into RecoveredSteps::steps
    bool hostThreads = false;
    /// As of a StepPicture: one lane a rank; every stream, of as many ranks as are drawn at once, and nullptr where nobody asked
    /// for streams and the lanes were at hand without them.
    TracePtr timeUse, streams;
    std::vector<bool> hasStreams;         ///< [process of streams] is drawn
    InstantsPtr instants;                 ///< of timeUse
    PictureModelPtr ofTimeUse, ofStreams; ///< as the timeline prepares them
    std::vector<MeasuredRank> ranks;      ///< [rank] of the world
    sim::RankPath path;                   ///< the critical one through the step
    std::int64_t originNs = 0;            ///< what the recording's clock says at the picture's 0
};
using RecordedStepPicturePtr = std::shared_ptr<const RecordedStepPicture>;

/// The simulation of the same job, and what the recording makes of its costs.
struct RecordedPrediction {
    QString name;                         ///< of the scenario that gave model and cluster
    sim::Scenario scenario;               ///< with the recovered layout
    std::vector<sim::UnknownKey> unknown; ///< what of it is whose
    PredictionPtr prediction;             ///< with its own costs
    PictureModelPtr ofTimeUse;            ///< of the prediction
    std::optional<sim::RunCalibration> calibration;
    QString whyNotCalibrated;
};
using RecordedPredictionPtr = std::shared_ptr<const RecordedPrediction>;

class RecordedRun : public QObject {
    Q_OBJECT
public:
    /// Begins to read. `prepare` makes what the timeline shows of a trace.
    RecordedRun(QStringList paths, sim::Catalogue, PrepareFunction prepare, QObject* parent = nullptr);
    ~RecordedRun() override; ///< gives up what is under way

    const QStringList& paths() const { return m_paths; }
    QString name() const;
    bool isReading() const { return m_isReading; }
    bool isBusy() const { return m_worker.isBusy() || m_wholeReader.isBusy(); }
    const RecoveredRunPtr& run() const { return m_run; }                     ///< nullptr until it is read
    const RecordedStepPicturePtr& picture() const { return m_picture; }      ///< newest
    const RecordedPredictionPtr& prediction() const { return m_prediction; } ///< nullptr while nobody said what was trained

    void cancel(); ///< reading: cancelled() follows
    /// Nobody wants it any more: tells nothing more, and goes as soon as its thread has noticed, which nobody waits for.
    static void giveUp(std::unique_ptr<RecordedRun>);
    /// Makes the picture of a step; pictureReady() follows. `aroundRank`: that has streams in any case, of a run of which not all
    /// can be drawn at once; -1: the first.
    void showStep(std::size_t step, RecordedRows rows, int aroundRank = -1);
    /// Recovers anew with the grid that a person says; an empty one: as it was recovered. recovered() follows, or failed().
    void sayGrid(std::vector<sim::NamedAxis>);
    /// `text` is a scenario's JSON that gives model, cluster and batch. predicted() follows, or failed().
    void predict(const QString& name, const std::string& text);
    /// Reads another run of the same job beside this one. compared() follows, or failed().
    void compareWith(const QStringList& paths);
    /// As .pftrace or .json. saved() follows, or failed().
    void save(const QString& path);
    /// Whether a cache can be kept beside the files: they were read, and none was.
    bool mayKeepCache() const { return m_run && m_cacheOrigin && !m_isCached; }
    bool isFromCache() const { return m_isFromCache; }
    /// So much that opening it again would take a person's time: from a million spans or 256 MiB of text on.
    bool isLarge() const;
    /// Writes the cache, to which the person agreed. saved() follows, or failed().
    void keepCache();

Q_SIGNALS:
    void progressed(const QString& what, double share); ///< below 0: nobody knows how far
    void recovered();                                   ///< run() is there, or another
    void cancelled();
    void notRead(const QString& why); ///< there is no run
    void pictureReady();
    void predicted();
    void compared(const QString& with, const sim::RunDifference& difference);
    void saved(const QString& path);
    void failed(const QString& what, const QString& why); ///< one thing of many; the run stays

private:
    using AskOfWhole = std::function<void(const RecoveredRunPtr& whole)>;
    void read();
    void takeRead(const RecoveredRunPtr&, const std::optional<sim::CacheOrigin>&, bool isFromCache);
    /// With the run's spans: of a digest once they are read, which the first who asks begins. Who asked the same before is not
    /// wanted any more; `failed` begins what is told where they cannot be read.
    void withWhole(int kind, const QString& failed, AskOfWhole);
    void readWhole();

    const QStringList m_paths;
    const sim::Catalogue m_catalogue;
    const PrepareFunction m_prepare;
    bool m_isReading = true;
    bool m_isFromCache = false, m_isCached = false; ///< read from one; one is there, or being written
    std::optional<sim::CacheOrigin> m_cacheOrigin;  ///< the files as they were read
    RecoveredRunPtr m_run;
    QString m_saving;        ///< that is being written; empty: none
    RecoveredRunPtr m_whole; ///< of a digest, once somebody needed it
    struct Waiting {
        QString failed;
        AskOfWhole ask;
    };
    std::map<int, Waiting> m_waiting; ///< for it, by kind of job
    RecordedStepPicturePtr m_picture;
    RecordedPredictionPtr m_prediction;
    Worker m_wholeReader; ///< what it reads for a minute is not given up for a picture
    Worker m_worker;      ///< last: end before what they use
};

} // namespace app
