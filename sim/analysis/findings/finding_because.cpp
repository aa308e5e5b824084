#include "sim/analysis/findings/finding_because.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sim {
namespace {

MetricId exposedBy(FindingKind kind)
{
    switch (kind) {
    case FindingKind::exposedTensor:
    case FindingKind::tensorAcrossNodes:
        return MetricId::exposedTp;
    case FindingKind::exposedContext:
        return MetricId::exposedCp;
    case FindingKind::exposedExpert:
    case FindingKind::expertsAcrossNodes:
        return MetricId::exposedEp;
    case FindingKind::exposedPipeline:
        return MetricId::exposedPp;
    default:
        return MetricId::exposedDp;
    }
}

std::optional<MetricId> metricOf(const Finding& finding, ClaimOf of)
{
    switch (of) {
    case ClaimOf::stepTime:
        return MetricId::stepTime;
    case ClaimOf::exposedShare:
        return exposedBy(finding.kind);
    case ClaimOf::bubbleShare:
        return MetricId::bubble;
    case ClaimOf::peakBytes:
        return MetricId::peakMemory;
    default:
        return std::nullopt;
    }
}

} // namespace

bool hasBecause(ClaimOf of)
{
    return metricOf({}, of).has_value();
}

std::vector<ClaimBecause> becauseOf(const Simulation& simulation, const Finding& finding)
{
    std::vector<ClaimBecause> out;
    std::vector<MetricId> told;
    for (const Claim& claim : finding.claims) {
        const auto id = metricOf(finding, claim.of);
        if (!id || std::find(told.begin(), told.end(), *id) != told.end())
            continue;
        told.push_back(*id);
        out.push_back({claim.text, claim.value, explain(simulation, *id)});
    }
    return out;
}

} // namespace sim
