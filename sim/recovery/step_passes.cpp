#include "sim/recovery/step_passes.h"

#include <algorithm>

namespace sim {

StepPasses::StepPasses(const Recovered& recovered, std::size_t stepIndex, std::size_t rank)
{
    const RecoveredStep& step = recovered.steps.steps[stepIndex];
    for (const bool onDevice : {true, false}) {
        for (const RecoveredPass& pass : passesOfMarks(recovered.evidence, recovered.evidence.ranks[rank],
                                                       {.onDevice = onDevice,
                                                       .pipelineRank = recovered.passes.pipelineRank[rank],
                                                       .fromNs = step.rankStartNs[rank],
                                                       .toNs = step.rankEndNs[rank]}))
            m_passes.push_back({pass.startNs, pass.endNs, pass.action});
        m_onDevice = onDevice;
        if (!m_passes.empty())
            break;
    }
    if (m_passes.empty() && stepIndex == recovered.steps.typical()) {
        m_onDevice = true;
        for (const RecoveredPass& pass : recovered.passes.ranks[rank])
            m_passes.push_back({pass.startNs, pass.endNs, pass.action});
        std::sort(m_passes.begin(), m_passes.end(), [](const StepPass& a, const StepPass& b) { return a.startNs < b.startNs; });
    }
    std::int64_t end = INT64_MIN;
    for (const StepPass& pass : m_passes)
        m_lastEnd.push_back(end = std::max(end, pass.endNs));
}

const StepPass* StepPasses::of(const WorkSpan& span) const
{
    return at(!m_onDevice && span.launchNs != INT64_MIN ? span.launchNs : span.startNs);
}

const StepPass* StepPasses::at(std::int64_t ns) const
{
    auto i = static_cast<std::size_t>(std::upper_bound(m_passes.begin(), m_passes.end(), ns,
                                                       [](std::int64_t t, const StepPass& pass) { return t < pass.startNs; }) -
                                      m_passes.begin());
    while (i > 0 && m_lastEnd[i - 1] > ns)
        if (m_passes[--i].endNs > ns) {
            while (i > 0 && m_passes[i - 1].startNs == m_passes[i].startNs && m_passes[i - 1].endNs > ns)
                --i;
            return &m_passes[i];
        }
    return nullptr;
}

} // namespace sim
