#include "sim/recovery/launch_class.h"

#include "sim/recovery/recorded_places.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

namespace sim {
namespace {

bool isOptimizer(const std::string& name)
{
    return name.starts_with("Optimizer.step") || name == "optimizer" || name.find("optimizer_step") != std::string::npos ||
           name == "optimizer.step";
}

/// Kernels that reach into the memory of other ranks' devices: sums of vLLM, SGLang and AITER (cross_device_…), of PyTorch's
/// symmetric memory (multimem_…, one_shot_…), of TensorRT-LLM, and what is sent to experts by DeepEP (in whatever namespace it
/// was built: DeepSeek's own traces say dpsk::ep), which also waits for all in notify_…, by MoRI and by TensorRT-LLM.
bool exchangesWithPeers(const std::string& name)
{
    constexpr auto kWords = std::to_array<std::string_view>({"cross_device_reduce",
                                                             "cross_device_store",
                                                             "multimem_all_",
                                                             "multimem_one_shot",
                                                             "one_shot_all_reduce",
                                                             "two_shot_all_reduce",
                                                             "oneShotAllReduce",
                                                             "twoShotAllReduce",
                                                             "allreduce_fusion_kernel",
                                                             "allreduce_prototype",
                                                             "intranode::dispatch",
                                                             "intranode::combine",
                                                             "intranode::notify_dispatch",
                                                             "intranode::cached_notify",
                                                             "internode::dispatch",
                                                             "internode::combine",
                                                             "internode::notify_dispatch",
                                                             "internode::cached_notify",
                                                             "internode_ll::dispatch",
                                                             "internode_ll::combine",
                                                             "hybrid_ep::dispatch",
                                                             "hybrid_ep::combine",
                                                             "EpDispatchIntra",
                                                             "EpDispatchInter",
                                                             "EpCombineIntra",
                                                             "EpCombineInter",
                                                             "moeAllToAllKernel",
                                                             "nvshmem"});
    return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// Of a mark that ends with its pass in brackets.
OpClass passOfMark(std::string_view name)
{
    constexpr auto kPasses = std::to_array<std::pair<std::string_view, OpClass>>({{"(F)", OpClass::forward},
                                                                                  {"(B)", OpClass::backward},
                                                                                  {"(I)", OpClass::backwardInput},
                                                                                  {"(W)", OpClass::backwardWeight}});
    for (const auto& [ending, pass] : kPasses)
        if (name.size() > ending.size() && name.ends_with(ending))
            return pass;
    return OpClass::other;
}

/// Spans of time, one in another or one after another.
class Intervals {
public:
    void add(std::int64_t startNs, std::int64_t endNs) { m_all.emplace_back(startNs, endNs); }
    void sort()
    {
        std::sort(m_all.begin(), m_all.end());
        std::vector<std::pair<std::int64_t, std::int64_t>> outermost;
        for (const auto& one : m_all)
            if (outermost.empty() || one.first >= outermost.back().second)
                outermost.push_back(one);
            else
                outermost.back().second = std::max(outermost.back().second, one.second);
        m_all = std::move(outermost);
    }
    bool isEmpty() const { return m_all.empty(); }
    bool hold(std::int64_t ns) const
    {
        const auto next = std::upper_bound(m_all.begin(), m_all.end(), std::pair(ns, INT64_MAX));
        return next != m_all.begin() && std::prev(next)->second > ns;
    }

private:
    std::vector<std::pair<std::int64_t, std::int64_t>> m_all;
};

} // namespace

LaunchNames::LaunchNames(const Recording& recording)
{
    for (std::uint32_t name = 0; name < recording.names.size(); ++name) {
        isAutograd.push_back(recording.names[name].starts_with("autograd::engine::evaluate_function"));
        isOptimizer.push_back(sim::isOptimizer(recording.names[name]));
        isWait.push_back(recording.names[name].starts_with("wait"));
        isExchange.push_back(exchangesWithPeers(recording.names[name]));
        markOf.push_back(passOfMark(recording.names[name]));
    }
}

ClassOfStart::ClassOfStart(const Recording& recording, const RankRecording& rank, const LaunchNames& names)
{
    const RecordedSpans& spans = rank.spans;
    if (!spans.meaning.empty()) {
        for (const RecordedTrack& track : rank.tracks)
            for (std::uint32_t i = track.first; track.isDevice && i < track.last; ++i)
                if (spans.meaning[i] != kNoSpan)
                    m_classes.push_back({spans.startNs[i], streamOf(rank, i), recording.meanings[spans.meaning[i]].opClass});
        std::stable_sort(m_classes.begin(), m_classes.end(), isBefore);
        return;
    }
    // Nodes of the graph run on the engine's own threads, and some on the one that called it.
    Intervals optimizers;
    std::vector<Intervals> backwards(rank.tracks.size());
    std::vector<std::vector<std::uint32_t>> marks(rank.tracks.size()); // spans, by start
    bool anyBackward = false, anyMark = false;
    for (std::size_t t = 0; t < rank.tracks.size(); ++t)
        for (std::uint32_t i = rank.tracks[t].first; !rank.tracks[t].isDevice && i < rank.tracks[t].last; ++i) {
            if (names.isAutograd[spans.name[i]]) {
                backwards[t].add(spans.startNs[i], spans.endNs(i));
                anyBackward = true;
            }
            if (names.isOptimizer[spans.name[i]])
                optimizers.add(spans.startNs[i], spans.endNs(i));
            if (names.markOf[spans.name[i]] != OpClass::other && spans.kind[i] == RecordedKind::annotation) {
                marks[t].push_back(i);
                anyMark = true;
            }
        }
    const auto markAt = [&](std::size_t track, std::int64_t ns) { // the innermost
        constexpr int kMostNested = 16;
        const std::vector<std::uint32_t>& of = marks[track];
        auto after = std::upper_bound(of.begin(), of.end(), ns,
                                      [&spans](std::int64_t at, std::uint32_t mark) { return at < spans.startNs[mark]; });
        for (int i = 0; i < kMostNested && after != of.begin(); ++i)
            if (--after; spans.endNs(*after) > ns)
                return names.markOf[spans.name[*after]];
        return OpClass::other;
    };
    optimizers.sort();
    for (Intervals& thread : backwards)
        thread.sort();
    if (!anyBackward && !anyMark && optimizers.isEmpty())
        return;
    for (const RecordedLink& link : rank.links) {
        if (link.kind != RecordedLink::Kind::launch)
            continue;
        const std::size_t track = std::max(1U, streamOf(rank, link.from)) - 1;
        const std::int64_t at = spans.startNs[link.from];
        const OpClass marked = markAt(track, at);
        const OpClass opClass = marked != OpClass::other    ? marked
                                : optimizers.hold(at)       ? OpClass::optimizer
                                : backwards[track].hold(at) ? OpClass::backward
                                : anyBackward               ? OpClass::forward
                                                            : OpClass::other;
        m_classes.push_back({spans.startNs[link.to], streamOf(rank, link.to), opClass});
    }
    std::stable_sort(m_classes.begin(), m_classes.end(), isBefore);
}

OpClass ClassOfStart::of(std::int64_t startNs, std::uint32_t stream) const
{
    const Begun asked{startNs, stream, OpClass::other};
    const auto found = std::lower_bound(m_classes.begin(), m_classes.end(), asked, isBefore);
    return found != m_classes.end() && !isBefore(asked, *found) ? found->opClass : OpClass::other;
}

void ClassOfStart::align(const ClockAlignment& clock, std::size_t rank)
{
    if (!clock.isAligned)
        return;
    for (Begun& of : m_classes)
        of.startNs = clock.aligned(rank, of.startNs);
    std::stable_sort(m_classes.begin(), m_classes.end(), isBefore); // times round to one that were apart
}

} // namespace sim
