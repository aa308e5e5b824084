#include "app/session/step_picture.h"

#include "app/session/failure.h"
#include "app/session/plain_words.h"
#include "live/stream/as_if_parallel.h"
#include "live/stream/make_trace.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/scenario/document.h"
#include "sim/scenario/pointer_text.h"
#include "sim/scenario/schema.h"
#include "sim/trace/time_use.h"

#include <QObject>

#include <algorithm>

namespace app {
namespace {

/// Above so many ranks a picture of each is no picture any more; and simulating each by itself takes long.
constexpr int kMostPicturedRanks = 1024;

/// Values in the span of time, and the last one before it of each rank, moved to its beginning.
std::vector<live::RankMemory> memoryWithin(std::span<const live::RankMemory> memory, std::int64_t beginNs, std::int64_t endNs)
{
    std::vector<std::optional<live::RankMemory>> before;
    std::vector<live::RankMemory> within;
    sim::CancelPoll poll;
    for (live::RankMemory value : memory) {
        poll();
        if (value.value.timeNs > endNs || value.rank < 0)
            continue;
        if (value.value.timeNs >= beginNs) {
            within.push_back(value);
            continue;
        }
        before.resize(std::max(before.size(), static_cast<std::size_t>(value.rank) + 1));
        value.value.timeNs = beginNs;
        before[static_cast<std::size_t>(value.rank)] = value;
    }
    std::vector<live::RankMemory> out;
    for (const auto& value : before)
        if (value)
            out.push_back(*value);
    out.insert(out.end(), within.begin(), within.end());
    return out;
}

void fill(StepPicture::OnClock& clock, const StepRecords& records, std::span<const live::RankSpan> spans,
          std::span<const live::RankMemory> memory, const Prediction* prediction)
{
    sim::Trace kernels = live::makeTrace(records.run, records.kinds, spans, memory);
    if (memory.empty())
        kernels.counters.clear(); // replayed, nobody knows what was held when: a lane for it would stay empty
    clock.kernels = std::make_shared<const sim::Trace>(std::move(kernels));
    clock.timeUse = std::make_shared<const sim::Trace>(timeUseTrace(*clock.kernels));
    clock.stepNs = clock.kernels->endNs;
    if (records.complete && records.explainsWaits)
        clock.waits = liveWaits(*clock.kernels);
    else
        clock.waits.whyNone = QObject::tr("why: a step tells when it is done and stays on screen").toStdString();
    if (!records.complete || !prediction || !prediction->simulation)
        return;
    try {
        clock.difference = live::explainDifference(*prediction->simulation, spans);
    } catch (const sim::Error&) { // another number of ranks: nothing to compare
        clock.difference.reset();
    }
}

} // namespace

PredictionPtr predict(const std::string& scenarioJson, const sim::Catalogue& catalogue, const sim::Efficiency* measured)
{
    auto out = std::make_shared<Prediction>();
    out->calibrated = measured != nullptr;
    try {
        auto document = sim::ScenarioDocument::parse(scenarioJson);
        auto resolved = document.resolve(catalogue);
        if (!resolved.scenario) { // the run may be of a newer version
            for (const sim::Problem& problem : resolved.problems)
                if (problem.severity == sim::Severity::error && problem.message.starts_with(sim::Schema::kUnknownKey)) {
                    document.erase(problem.pointer);
                    out->unknownKeys << QString::fromStdString(sim::dotted(problem.pointer));
                }
            if (!out->unknownKeys.isEmpty())
                resolved = document.resolve(catalogue);
        }
        if (!resolved.scenario) {
            out->problem = resolved.problems.empty() ? QObject::tr("its scenario is not legal")
                                                     : plainWords(QString::fromStdString(resolved.problems.front().text()));
            return out;
        }
        if (const int ranks = resolved.scenario->layout.worldSize(); ranks > kMostPicturedRanks) {
            out->problem =
                QObject::tr("%1 ranks are too many to predict each by itself; up to %2").arg(ranks).arg(kMostPicturedRanks);
            return out;
        }
        if (measured)
            resolved.scenario->cluster.efficiency = *measured;
        const SimulationPtr simulation = sim::simulate(*resolved.scenario, {.full = true});
        out->kernels = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::kernels));
        out->timeUse = std::make_shared<const sim::Trace>(timeUseTrace(*out->kernels));
        out->simulation = simulation;
    } catch (const sim::Cancelled&) {
        throw;
    } catch (...) {
        out->problem = QString::fromStdString(failureText());
    }
    return out;
}

StepPicturePtr makeStepPicture(const StepRecords& records, const Prediction* prediction)
{
    auto out = std::make_shared<StepPicture>();
    out->step = records.step;
    out->complete = records.complete;
    if (records.spans.empty()) {
        out->wall.problem = out->parallel.problem = QObject::tr("no spans of step %1 are kept").arg(records.step);
        return out;
    }
    std::int64_t beginNs = records.spans.front().span.startNs, endNs = 0;
    sim::CancelPoll poll;
    for (const live::RankSpan& span : records.spans) {
        poll();
        beginNs = std::min(beginNs, span.span.startNs);
        endNs = std::max(endNs, span.span.endNs);
    }
    fill(out->wall, records, records.spans, memoryWithin(records.memory, beginNs, endNs), prediction);
    if (!records.complete) {
        out->parallel.problem = QObject::tr("step %1 is not done yet").arg(records.step);
        return out;
    }
    try {
        const live::AsIfParallel replay =
            live::asIfParallel(records.spans, records.run.worldSize, records.run.groupSizes, records.kinds);
        fill(out->parallel, records, replay.spans, {}, prediction);
    } catch (const live::StepInPart& part) {
        out->parallel.problem = QObject::tr("only a part of step %1 came: %2 of %3 ranks told of a communication that all of "
                                            "them take part in, so it is not known how long it would take in parallel")
                                    .arg(records.step)
                                    .arg(part.members)
                                    .arg(part.expected);
    } catch (const sim::Error& error) {
        out->parallel.problem = QString::fromUtf8(error.what());
    }
    return out;
}

} // namespace app
