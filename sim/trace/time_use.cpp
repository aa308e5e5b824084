#include "sim/trace/time_use.h"

#include "sim/cancel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace sim {
namespace {

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
    std::size_t piece = 0;
    Pursuit pursuit = computing;
    bool begins = false;
};

struct Edges {
    std::vector<Piece> pieces;
    std::vector<Edge> inTime;
};

Edges edgesOf(const Trace& trace, int process)
{
    Edges found;
    std::vector<Edge>& edges = found.inTime;
    for (const Track& track : trace.tracks) {
        checkCancelled();
        if (track.process != process || track.role == TrackRole::actions || track.role == TrackRole::other)
            continue;
        for (std::size_t s = 0; s < track.size(); ++s) {
            const Pursuit pursuit = track.role == TrackRole::compute                      ? computing
                                    : isCommunication(trace.kinds[track.kind[s]].opClass) ? transferring
                                                                                          : waiting;
            const Piece piece{track.startNs[s], track.startNs[s] + track.durationNs[s], track.kind[s], track.microbatch[s]};
            if (piece.endNs <= piece.startNs)
                continue;
            edges.push_back({piece.startNs, found.pieces.size(), pursuit, true});
            edges.push_back({piece.endNs, found.pieces.size(), pursuit, false});
            found.pieces.push_back(piece);
        }
    }
    CancelPoll pollCancel;
    std::stable_sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
        pollCancel();
        return a.timeNs < b.timeNs;
    });
    return found;
}

/// The first action that has not ended by a time, if it has begun: a search that only goes forward.
class Actions {
public:
    Actions(const Trace& trace, int process)
    {
        for (const Track& track : trace.tracks)
            if (track.process == process && track.role == TrackRole::actions)
                m_track = &track;
    }
    const Track* track() const { return m_track; }
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
    const Track* m_track = nullptr;
    std::size_t m_next = 0;
};

} // namespace

Track timeUseTrack(const Trace& trace, int process, std::int64_t wholeNs)
{
    Track out{.process = process, .name = "time use", .role = TrackRole::actions};
    const std::int64_t invisibleNs = wholeNs / kInvisibleShare;
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
    const Edges edges = edgesOf(trace, process);
    // Of each pursuit what began, the last on top; what ended below others goes when these have.
    std::array<std::vector<std::size_t>, pursuits> running;
    std::vector<bool> isOver(edges.pieces.size(), false);
    std::int64_t since = 0;
    CancelPoll pollCancel;
    for (const Edge& edge : edges.inTime) {
        pollCancel();
        const auto first = std::find_if(running.begin(), running.end(), [](const auto& pieces) { return !pieces.empty(); });
        if (first != running.end() && edge.timeNs > since) {
            Piece piece = edges.pieces[first->back()];
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
        std::vector<std::size_t>& pieces = running[edge.pursuit];
        if (edge.begins)
            pieces.push_back(edge.piece);
        else
            isOver[edge.piece] = true;
        while (!pieces.empty() && isOver[pieces.back()])
            pieces.pop_back();
    }
    return out;
}

std::int64_t computingNs(const Trace& trace, int process, std::int64_t wholeNs)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> busy;
    bool computes = false;
    for (const Track& track : trace.tracks) {
        if (track.process != process || track.role != TrackRole::compute)
            continue;
        computes = true;
        for (std::size_t s = 0; s < track.size(); ++s)
            if (!isCommunication(trace.kinds[track.kind[s]].opClass) && track.startNs[s] < wholeNs)
                busy.emplace_back(track.startNs[s], std::min(track.startNs[s] + track.durationNs[s], wholeNs));
    }
    if (!std::is_sorted(busy.begin(), busy.end())) // of one row it is
        std::sort(busy.begin(), busy.end());
    std::int64_t sum = 0, until = 0;
    for (const auto& [start, end] : busy) {
        if (end > until)
            sum += end - std::max(start, until);
        until = std::max(until, end);
    }
    return computes ? sum : -1;
}

Trace timeUseTrace(const Trace& trace)
{
    Trace out;
    out.title = trace.title;
    out.processes = trace.processes;
    out.kinds = trace.kinds;
    out.counters = trace.counters;
    out.endNs = trace.endNs;
    out.slices = trace.slices;
    out.axes = trace.axes;
    for (std::size_t process = 0; process < trace.processes.size(); ++process) {
        checkCancelled();
        out.processes[process].computingNs = computingNs(trace, static_cast<int>(process), trace.endNs);
        out.tracks.push_back(timeUseTrack(trace, static_cast<int>(process), trace.endNs));
    }
    return out;
}

} // namespace sim
