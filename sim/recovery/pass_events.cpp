#include "sim/recovery/pass_events.h"

#include <algorithm>

namespace sim {
namespace {

constexpr PassToken kNoToken = INT32_MIN; ///< an optimizer's kernel: of no pass

PassToken tokenOfWay(KernelWay way)
{
    switch (way) {
    case KernelWay::forward:
        return kForwardToken;
    case KernelWay::gradient:
        return kGradientToken;
    case KernelWay::weightGradient:
        return kWeightToken;
    case KernelWay::optimizer:
        break;
    }
    return kNoToken;
}

/// What a kernel is for by who launched it, or else by its name.
PassToken tokenOfClass(OpClass opClass, PassToken byName)
{
    switch (opClass) {
    case OpClass::forward:
    case OpClass::recompute:
        return kForwardToken;
    case OpClass::backward:
        return byName == kWeightToken ? kWeightToken : kGradientToken;
    case OpClass::backwardInput:
        return kGradientToken;
    case OpClass::backwardWeight:
        return kWeightToken;
    case OpClass::optimizer:
        return kNoToken;
    default:
        return byName;
    }
}

} // namespace

TokenWords tokenWordsOf(const RunEvidence& evidence)
{
    TokenWords words;
    words.kernels = KernelWords(evidence);
    for (const RankEvidence& rank : evidence.ranks)
        for (const WorkSpan& span : rank.work) {
            const PassToken token = tokenOfClass(span.opClass, tokenOfWay(words.kernels.way[span.name]));
            words.tellsWeights |= token == kWeightToken;
            words.tellsGradients |= token == kGradientToken;
        }
    return words;
}

std::vector<PassEvent> passEventsOf(const RankEvidence& rank, const RecoveredAxis& pipeline,
                                    const std::pair<std::int64_t, std::int64_t>& window, const TokenWords& words)
{
    constexpr std::int64_t kRightAfterNs = 2000;
    std::vector<PassEvent> events;
    const int self = RecoveredAxes::coordinate(pipeline, rank.rank);
    const auto take = [&](std::int64_t startNs, Exchange exchange, int peer) {
        if (exchange == Exchange::send && peer >= 0 && startNs >= window.first && startNs <= window.second)
            if (const int to = RecoveredAxes::coordinate(pipeline, peer); to != self)
                events.push_back({.ns = startNs + kRightAfterNs, .token = to});
    };
    for (const CommSpan& span : rank.comms)
        take(span.startNs, span.exchange, span.peer);
    // Hosts ask long before their devices send: when, the kernel says.
    for (const AskedTransfer& transfer : rank.asked)
        if (transfer.kernel >= 0)
            take(rank.comms[static_cast<std::size_t>(transfer.kernel)].startNs, transfer.exchange, transfer.peer);
    if (words.tellsGradients) {
        for (const WorkSpan& span : rank.work) {
            if (span.work != DeviceWork::kernel || span.startNs < window.first || span.startNs > window.second)
                continue;
            const PassToken token = tokenOfClass(span.opClass, tokenOfWay(words.kernels.way[span.name]));
            if (token != kNoToken)
                events.push_back(
                    {.ns = span.endNs, .token = token, .name = span.name, .startNs = span.startNs, .endNs = span.endNs});
        }
    }
    std::stable_sort(events.begin(), events.end(), [](const PassEvent& a, const PassEvent& b) { return a.ns < b.ns; });
    return events;
}

} // namespace sim
