#include "app/session/step_picture.h"

#include "app/session/failure.h"
#include "app/session/plain_words.h"
#include "live/stream/as_if_parallel.h"
#include "live/stream/make_trace.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/scenario/document.h"

#include <QObject>

#include <algorithm>
#include <array>
#include <cstdint>

namespace app {
namespace {

/// Above so many ranks a picture of each is no picture any more; and simulating each by itself takes long.
constexpr int kMostPicturedRanks = 1024;

/// Gaps shorter than this share of the whole are narrower than a pixel.
constexpr std::int64_t kInvisibleShare = 1500;

struct Piece {
    std::int64_t startNs = 0, endNs = 0;
    std::uint32_t kind = 0;
    std::int32_t microbatch = -1;
};

/// What counts first, first.
enum Pursuit : std::uint8_t { computing, transferring, waiting, pursuits };

struct Edge {
    std::int64_t timeNs = 0;
    Pursuit pursuit = computing;
    bool begins = false;
    Piece piece;
};

std::vector<Edge> edgesOf(const sim::Trace& trace, int process)
{
    std::vector<Edge> edges;
    for (const sim::Track& track : trace.tracks) {
        sim::checkCancelled();
        if (track.process != process || track.role == sim::TrackRole::actions || track.role == sim::TrackRole::other)
            continue;
        for (std::size_t s = 0; s < track.size(); ++s) {
            const Pursuit pursuit = track.role == sim::TrackRole::compute                      ? computing
                                    : sim::isCommunication(trace.kinds[track.kind[s]].opClass) ? transferring
                                                                                               : waiting;
            const Piece piece{track.startNs[s], track.startNs[s] + track.durationNs[s], track.kind[s], track.microbatch[s]};
            if (piece.endNs <= piece.startNs)
                continue;
            edges.push_back({piece.startNs, pursuit, true, piece});
            edges.push_back({piece.endNs, pursuit, false, piece});
        }
    }
    sim::CancelPoll pollCancel;
    std::stable_sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
        pollCancel();
        return a.timeNs < b.timeNs;
    });
    return edges;
}

/// The first action that has not ended by a time, if it has begun: a search that only goes forward.
class Actions {
public:
    Actions(const sim::Trace& trace, int process)
    {
        for (const sim::Track& track : trace.tracks)
            if (track.process == process && track.role == sim::TrackRole::actions)
                m_track = &track;
    }
    const sim::Track* track() const { return m_track; }
    std::optional<std::size_t> at(std::int64_t timeNs)
    {
        if (!m_track)
            return std::nullopt;
        while (m_next < m_track->size() && m_track->startNs[m_next] + m_track->durationNs[m_next] <= timeNs)
            ++m_next;
        const bool inside = m_next < m_track->size() && m_track->startNs[m_next] <= timeNs;
        return inside ? std::optional(m_next) : std::nullopt;
    }

private:
    const sim::Track* m_track = nullptr;
    std::size_t m_next = 0;
};

sim::Track timeUseOf(const sim::Trace& trace, int process)
{
    sim::Track out{.process = process, .name = "time use", .role = sim::TrackRole::actions};
    const std::int64_t invisibleNs = trace.endNs / kInvisibleShare;
    Actions actions(trace, process);
    const auto add = [&](const Piece& piece) {
        if (!out.startNs.empty() && out.kind.back() == piece.kind && out.microbatch.back() == piece.microbatch &&
            piece.startNs - (out.startNs.back() + out.durationNs.back()) <= invisibleNs) {
            out.durationNs.back() = piece.endNs - out.startNs.back();
            return;
        }
        out.startNs.push_back(piece.startNs);
        out.durationNs.push_back(piece.endNs - piece.startNs);
        out.kind.push_back(piece.kind);
        out.microbatch.push_back(piece.microbatch);
    };
    std::array<std::vector<Piece>, pursuits> running;
    std::int64_t since = 0;
    for (const Edge& edge : edgesOf(trace, process)) {
        const auto first = std::find_if(running.begin(), running.end(), [](const auto& pieces) { return !pieces.empty(); });
        if (first != running.end() && edge.timeNs > since) {
            Piece piece = first->back();
            piece.startNs = since;
            piece.endNs = edge.timeNs;
            if (first == running.begin())
                if (const auto action = actions.at(since)) {
                    piece.kind = actions.track()->kind[*action];
                    piece.microbatch = actions.track()->microbatch[*action];
                }
            add(piece);
        }
        since = edge.timeNs;
        std::vector<Piece>& pieces = running[edge.pursuit];
        if (edge.begins) {
            pieces.push_back(edge.piece);
        } else {
            const auto ended = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
                return piece.startNs == edge.piece.startNs && piece.endNs == edge.piece.endNs && piece.kind == edge.piece.kind;
            });
            pieces.erase(ended);
        }
    }
    return out;
}

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
        auto resolved = sim::ScenarioDocument::parse(scenarioJson).resolve(catalogue);
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
    } catch (const sim::Error& error) {
        out->parallel.problem = QString::fromUtf8(error.what());
    }
    return out;
}

sim::Trace timeUseTrace(const sim::Trace& trace)
{
    sim::Trace out;
    out.title = trace.title;
    out.processes = trace.processes;
    out.kinds = trace.kinds;
    out.counters = trace.counters;
    out.endNs = trace.endNs;
    out.slices = trace.slices;
    for (std::size_t process = 0; process < trace.processes.size(); ++process) {
        sim::checkCancelled();
        out.tracks.push_back(timeUseOf(trace, static_cast<int>(process)));
    }
    return out;
}

} // namespace app
