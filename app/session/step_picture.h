// One step of a live run, ready to be drawn and compared: on the wall clock, and as if every rank had a device of its own.
#pragma once

#include "app/session/live_waits.h"
#include "app/session/make_step.h"
#include "live/stream/difference.h"
#include "live/stream/history.h"

#include <QString>
#include <QStringList>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace app {

/// What the simulator says about the same job, rank by rank.
struct Prediction {
    SimulationPtr simulation;  ///< nullptr: `problem` says why there is none
    bool calibrated = false;   ///< with what was measured of this machine
    TracePtr timeUse, kernels; ///< as of a StepPicture
    QString problem;
    QStringList unknownKeys; ///< "training.something": of another version's scenario, predicted without them
};
using PredictionPtr = std::shared_ptr<const Prediction>;
/// Of a resolved scenario's text, without keys that only another version knows; with `measured`, if any, instead of the
/// efficiency that it names. Throws nothing but sim::Cancelled. O(ops of all ranks).
PredictionPtr predict(const std::string& scenarioJson, const sim::Catalogue&, const sim::Efficiency* measured = nullptr);

enum class LiveClock {
    wall,    ///< as it was: on fewer cores than ranks they take turns
    parallel ///< the same work with a device a rank
};

struct StepPicture {
    struct OnClock {
        TracePtr timeUse; ///< timeUseTrace()
        TracePtr kernels; ///< every track
        std::int64_t stepNs = 0;
        double stepSeconds() const { return static_cast<double>(stepNs) * 1e-9; }
        std::optional<live::Difference> difference; ///< of complete steps, where there is a prediction
        LiveWaits waits;                            ///< of complete steps, where they were asked for
        QString problem;                            ///< why there is no picture
    };
    int step = 0;
    bool complete = false;
    OnClock wall, parallel;
    const OnClock& on(LiveClock clock) const { return clock == LiveClock::wall ? wall : parallel; }
};
using StepPicturePtr = std::shared_ptr<const StepPicture>;

/// What is known of a step: its spans, each rank's in their own order, and what the ranks held around that time.
struct StepRecords {
    const live::RunDescription& run;
    const std::vector<sim::SpanKind>& kinds;
    std::span<const live::RankSpan> spans;
    std::span<const live::RankMemory> memory; ///< ascending times a rank; earlier and later values are left out
    int step = 0;
    bool complete = false;
    bool explainsWaits = false; ///< takes as long again, or longer
};
/// `prediction` may be nullptr. O(spans log spans).
StepPicturePtr makeStepPicture(const StepRecords&, const Prediction* prediction);
using StepPictureFunction = std::function<StepPicturePtr(const StepRecords&, const Prediction*)>;

} // namespace app
