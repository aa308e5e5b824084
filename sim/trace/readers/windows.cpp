#include "sim/trace/readers/windows.h"

#include "sim/cancel.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace sim {
namespace {

template <typename T>
void arrange(RecordedColumn<T>& column, const std::vector<std::uint32_t>& order)
{
    if (column.empty())
        return;
    std::vector<T> sorted(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        sorted[i] = column[order[i]];
    column.own() = std::move(sorted);
}

} // namespace

std::string workerKey(const RankRecording& of)
{
    const auto says = [&of](const RecordedTrack& row) {
        return !row.isDevice && std::any_of(of.spans.kind.begin() + row.first, of.spans.kind.begin() + row.last, [](auto kind) {
            return kind == RecordedKind::cpuOp || kind == RecordedKind::runtime || kind == RecordedKind::annotation;
        });
    };
    const auto row = std::find_if(of.tracks.begin(), of.tracks.end(), says);
    if (row == of.tracks.end() || row->process.empty())
        return {};
    return of.host + '\x1f' + row->process + '\x1f' + std::to_string(of.device);
}

void noteWindows(RankRecording& into, const RankRecording& from)
{
    if (into.windows.empty())
        into.windows.emplace_back(into.firstNs, into.lastNs);
    if (from.windows.empty())
        into.windows.emplace_back(from.firstNs, from.lastNs);
    into.windows.insert(into.windows.end(), from.windows.begin(), from.windows.end());
    std::sort(into.windows.begin(), into.windows.end());
}

std::vector<std::uint32_t> joinRows(RankRecording& rank)
{
    std::map<std::tuple<bool, int, std::string, std::int64_t, std::string>, std::vector<std::size_t>> rows;
    std::vector<std::vector<std::size_t>*> inOrder;
    for (std::size_t row = 0; row < rank.tracks.size(); ++row) {
        const RecordedTrack& of = rank.tracks[row];
        std::vector<std::size_t>& same = rows[{of.isDevice, of.device, of.process, of.number, of.name}];
        if (same.empty())
            inOrder.push_back(&same);
        same.push_back(row);
    }
    if (inOrder.size() == rank.tracks.size())
        return {};
    // The host's before the device's, as in a file of its own.
    std::stable_partition(inOrder.begin(), inOrder.end(), [&](const auto* same) { return !rank.tracks[same->front()].isDevice; });
    std::vector<std::uint32_t> order;
    order.reserve(rank.spans.size());
    std::vector<RecordedTrack> joined;
    for (const std::vector<std::size_t>* same : inOrder) {
        checkCancelled();
        const auto first = static_cast<std::ptrdiff_t>(order.size());
        for (const std::size_t row : *same)
            for (std::uint32_t span = rank.tracks[row].first; span < rank.tracks[row].last; ++span)
                order.push_back(span);
        std::stable_sort(order.begin() + first, order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return rank.spans.startNs[a] != rank.spans.startNs[b] ? rank.spans.startNs[a] < rank.spans.startNs[b]
                                                                  : rank.spans.durationNs[a] > rank.spans.durationNs[b];
        });
        RecordedTrack row = rank.tracks[same->front()];
        row.first = static_cast<std::uint32_t>(first);
        row.last = static_cast<std::uint32_t>(order.size());
        joined.push_back(std::move(row));
    }
    rank.tracks = std::move(joined);
    arrange(rank.spans.startNs, order);
    arrange(rank.spans.durationNs, order);
    arrange(rank.spans.name, order);
    arrange(rank.spans.kind, order);
    arrange(rank.spans.meaning, order);
    arrange(rank.spans.microbatch, order);
    std::vector<std::uint32_t> placeOf(order.size());
    for (std::uint32_t place = 0; place < order.size(); ++place)
        placeOf[order[place]] = place;
    const auto move = [&placeOf](std::uint32_t& span) {
        if (span != kNoSpan)
            span = placeOf[span];
    };
    for (RecordedLink& link : rank.links.own()) {
        move(link.from);
        move(link.to);
    }
    std::stable_sort(rank.links.own().begin(), rank.links.own().end(),
                     [](const RecordedLink& a, const RecordedLink& b) { return a.to < b.to; });
    for (RecordedCollective& collective : rank.collectives) {
        move(collective.span);
        move(collective.hostSpan);
    }
    for (auto& [span, shape] : rank.shapeOf)
        move(span);
    std::sort(rank.shapeOf.begin(), rank.shapeOf.end());
    for (std::uint32_t& span : rank.annotations.own())
        move(span);
    std::stable_sort(rank.annotations.own().begin(), rank.annotations.own().end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rank.spans.startNs[a] < rank.spans.startNs[b]; });
    return placeOf;
}

} // namespace sim
