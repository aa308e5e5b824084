#include "app/session/live_waits.h"

#include "app/session/failure.h"
#include "sim/cancel.h"
#include "sim/recovery/recover.h"
#include "sim/trace/export.h"
#include "sim/trace/readers/read_recording.h"

#include <QObject>

#include <algorithm>
#include <limits>
#include <sstream>

namespace app {
namespace {

/// All of the recording is the step, whatever repeats in it, from the trace's first moment on.
void takeForOneStep(sim::Recovered& recovered, const sim::Recording& recording, std::int64_t lengthNs)
{
    std::int64_t beginNs = std::numeric_limits<std::int64_t>::max();
    for (const sim::RankRecording& rank : recording.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i)
            beginNs = std::min(beginNs, rank.spans.startNs[i]);
    const std::size_t ranks = recovered.evidence.ranks.size();
    sim::RecoveredStep step{.startNs = beginNs, .endNs = beginNs + lengthNs, .longestNs = lengthNs};
    step.rankStartNs.assign(ranks, step.startNs);
    step.rankEndNs.assign(ranks, step.endNs);
    recovered.steps.steps.assign(1, std::move(step));
}

} // namespace

LiveWaits liveWaits(const sim::Trace& kernels)
{
    constexpr std::size_t kMostSpans = 500'000;
    LiveWaits out;
    std::size_t spans = 0;
    for (const sim::Track& track : kernels.tracks)
        spans += track.size();
    if (spans > kMostSpans) {
        out.whyNone = QObject::tr("why: the step has more spans than a live window looks through").toStdString();
        return out;
    }
    try {
        std::ostringstream file;
        sim::writePerfetto(kernels, file);
        const std::string bytes = std::move(file).str();
        const sim::Recording recording = sim::readRecording(bytes.data(), bytes.size(), "step.pftrace");
        auto recovered = std::make_shared<sim::Recovered>(sim::recover(recording));
        const auto isSame = [](const sim::RankEvidence& rank, const sim::Process& process) { return rank.rank == process.rank; };
        if (!std::equal(recovered->evidence.ranks.begin(), recovered->evidence.ranks.end(), kernels.processes.begin(),
                        kernels.processes.end(), isSame)) {
            out.whyNone = QObject::tr("why: not of every rank something is known in this step").toStdString();
            return out;
        }
        takeForOneStep(*recovered, recording, kernels.endNs);
        out.waits = std::make_shared<sim::RecordedWaits>(std::move(recovered), 0);
    } catch (const sim::Cancelled&) {
        throw;
    } catch (...) {
        out.whyNone = QObject::tr("why: %1").arg(QString::fromStdString(failureText())).toStdString();
    }
    return out;
}

} // namespace app
