#include "sim/recovery/step_bounds.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <cstddef>

namespace sim {
namespace {

class StepBounds {
public:
    StepBounds(RecoveredSteps& result, const RunEvidence& evidence, const std::vector<std::vector<HostInStep>>& hosts)
        : m_result(result), m_steps(result.steps), m_evidence(evidence), m_hosts(hosts), m_ranks(evidence.ranks.size())
    {
        for (std::size_t r = 0; r < m_ranks; ++r)
            m_isAscending.push_back(std::is_sorted(m_steps.begin(), m_steps.end(), [r](const auto& a, const auto& b) {
                return a.rankStartNs[r] < b.rankStartNs[r];
            }));
        for (std::size_t r = 0; r < m_ranks; ++r)
            m_usualGap.push_back(usualGap(r));
    }

    void bound(bool isOneClock)
    {
        endWithWindows();
        for (std::size_t r = 0; r < m_ranks; ++r)
            if (m_isAscending[r])
                cutAtNext(r);
        if (isOneClock)
            boundTogether();
        else
            for (std::size_t r = 0; r < m_ranks; ++r)
                if (m_isAscending[r])
                    boundAlone(r);
        for (RecoveredStep& step : m_steps) {
            step.longestNs = 0;
            for (std::size_t r = 0; r < m_ranks; ++r)
                step.longestNs = std::max(step.longestNs, isKnown(step, r) ? step.rankEndNs[r] - step.rankStartNs[r] : 0);
            if (!isOneClock)
                span(step);
        }
        if (isOneClock)
            tellOverlaps();
    }

private:
    static bool isKnown(const RecoveredStep& step, std::size_t r) { return step.rankStartNs[r] <= step.rankEndNs[r]; }

    HostInStep hostIn(std::size_t k, std::size_t r) const
    {
        return m_hosts.empty() ? HostInStep(m_steps[k].rankStartNs[r], m_steps[k].rankEndNs[r]) : m_hosts[k][r];
    }

    /// The step from the first rank's begin to the last one's end.
    void span(RecoveredStep& step) const
    {
        std::int64_t start = INT64_MAX, end = INT64_MIN;
        for (std::size_t r = 0; r < m_ranks; ++r)
            if (isKnown(step, r)) {
                start = std::min(start, step.rankStartNs[r]);
                end = std::max(end, step.rankEndNs[r]);
            }
        if (start <= end) {
            step.startNs = start;
            step.endNs = end;
        }
    }

    std::size_t windowOf(std::size_t r, std::int64_t ns) const
    {
        const auto& windows = m_evidence.ranks[r].windows;
        return static_cast<std::size_t>(
            std::find_if(windows.begin(), windows.end(), [ns](const auto& of) { return ns <= of.second; }) - windows.begin());
    }

    /// Between two recordings nothing is known: a step ends with the one that it began in.
    void endWithWindows()
    {
        if (std::all_of(m_evidence.ranks.begin(), m_evidence.ranks.end(), [](const auto& rank) { return rank.windows.empty(); }))
            return;
        for (RecoveredStep& step : m_steps) {
            for (std::size_t r = 0; r < m_ranks; ++r)
                for (const auto& [first, last] : m_evidence.ranks[r].windows)
                    if (step.rankStartNs[r] >= first && step.rankStartNs[r] <= last)
                        step.rankEndNs[r] = std::min(step.rankEndNs[r], last);
            span(step);
        }
    }

    void cutAtNext(std::size_t r)
    {
        for (std::size_t k = 0; k + 1 < m_steps.size(); ++k)
            if (isKnown(m_steps[k], r) && isKnown(m_steps[k + 1], r))
                m_steps[k].rankEndNs[r] = std::min(m_steps[k].rankEndNs[r], m_steps[k + 1].rankStartNs[r]);
    }

    /// Between hosts' leaving a step and entering the next.
    std::int64_t gapBehind(std::size_t k, std::size_t r) const { return hostIn(k + 1, r).first - hostIn(k, r).second; }

    /// The median, of numbers that follow each other.
    std::int64_t usualGap(std::size_t r) const
    {
        std::vector<std::int64_t> gaps;
        for (std::size_t k = 0; k + 1 < m_steps.size(); ++k)
            if (m_steps[k + 1].number == m_steps[k].number + 1 && isKnown(m_steps[k], r) && isKnown(m_steps[k + 1], r))
                gaps.push_back(gapBehind(k, r));
        const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
        std::nth_element(gaps.begin(), middle, gaps.end());
        return gaps.empty() ? 0 : *middle;
    }

    /// Whether nothing is missing between a step and the one after it: the recorder neither paused nor left one out, nor did the
    /// job do something else for long. A data loader's time may be in nobody's mark, but it is so in all steps.
    bool isFollowed(std::size_t k, std::size_t r) const
    {
        if (k + 1 >= m_steps.size())
            return false;
        const RecoveredStep &step = m_steps[k], &next = m_steps[k + 1];
        if (!isKnown(step, r) || !isKnown(next, r) || windowOf(r, step.rankStartNs[r]) != windowOf(r, next.rankStartNs[r]))
            return false;
        constexpr std::int64_t kTimesUsual = 3, kTimesTheStep = 10;
        const std::int64_t gap = gapBehind(k, r), lasts = step.rankEndNs[r] - step.rankStartNs[r];
        return gap <= lasts / 2 ||
               (next.number == step.number + 1 && gap / kTimesUsual <= m_usualGap[r] && gap / kTimesTheStep <= lasts);
    }

    void boundAlone(std::size_t r)
    {
        std::int64_t before = INT64_MIN; // end of the step before
        for (std::size_t k = 0; k < m_steps.size(); ++k)
            if (isKnown(m_steps[k], r)) {
                m_steps[k].rankStartNs[r] = std::min(m_steps[k].rankStartNs[r], std::max(before, hostIn(k, r).first));
                before = m_steps[k].rankEndNs[r];
            }
        for (std::size_t k = 0; k < m_steps.size(); ++k) {
            if (!isKnown(m_steps[k], r))
                continue;
            const bool hasNext = k + 1 < m_steps.size() && isKnown(m_steps[k + 1], r);
            const std::int64_t next = hasNext ? m_steps[k + 1].rankStartNs[r] : INT64_MAX;
            const std::int64_t until = isFollowed(k, r) ? next : std::min(next, hostIn(k, r).second);
            m_steps[k].rankEndNs[r] = std::max(m_steps[k].rankEndNs[r], until);
        }
    }

    void boundTogether()
    {
        std::int64_t before = INT64_MIN;
        for (std::size_t k = 0; k < m_steps.size(); ++k) {
            span(m_steps[k]);
            std::int64_t from = INT64_MAX;
            for (std::size_t r = 0; r < m_ranks; ++r)
                if (isKnown(m_steps[k], r))
                    from = std::min(from, hostIn(k, r).first);
            m_steps[k].startNs = std::min(m_steps[k].startNs, std::max(before, from));
            before = m_steps[k].endNs;
        }
        for (std::size_t k = 0; k < m_steps.size(); ++k) {
            const std::int64_t next = k + 1 < m_steps.size() ? m_steps[k + 1].startNs : INT64_MAX;
            std::int64_t until = INT64_MIN;
            bool isFollowedByAll = true;
            for (std::size_t r = 0; r < m_ranks; ++r)
                if (isKnown(m_steps[k], r)) {
                    isFollowedByAll = isFollowedByAll && isFollowed(k, r);
                    until = std::max(until, hostIn(k, r).second);
                }
            m_steps[k].endNs = std::max(m_steps[k].endNs, isFollowedByAll ? next : std::min(next, until));
        }
        for (std::size_t r = 0; r < m_ranks; ++r)
            if (m_isAscending[r])
                fillGaps(r);
    }

    /// A rank's time between its steps belongs to the step that goes on meanwhile; of two that do to the earlier.
    void fillGaps(std::size_t r)
    {
        std::int64_t taken = INT64_MIN;
        for (std::size_t k = 0; k < m_steps.size(); ++k) {
            RecoveredStep& step = m_steps[k];
            if (!isKnown(step, r))
                continue;
            const std::int64_t next = k + 1 < m_steps.size() ? m_steps[k + 1].rankStartNs[r] : INT64_MAX;
            step.rankStartNs[r] = std::min(step.rankStartNs[r], std::max(step.startNs, taken));
            step.rankEndNs[r] = std::max(step.rankEndNs[r], std::min(step.endNs, next));
            taken = step.rankEndNs[r];
        }
    }

    /// A rank may begin a step that others have yet to end: with a pipeline, or where it may run ahead of the last sums.
    void tellOverlaps()
    {
        std::int64_t most = 0;
        for (std::size_t k = 0; k + 1 < m_steps.size(); ++k) {
            RecoveredStep& step = m_steps[k];
            if (const std::int64_t next = m_steps[k + 1].startNs; next > step.startNs && next < step.endNs)
                step.overlapNs = step.endNs - next;
            if (step.overlapsNext())
                most = std::max(most, step.overlapNs);
        }
        if (most > 0)
            m_result.problems.push_back("steps overlap: ranks begin the next one while others are in this one, by up to " +
                                        numberText(static_cast<double>(most) * 1e-9, Unit::seconds) +
                                        "; a step's length is from its begin to the next one's");
    }

    RecoveredSteps& m_result;
    std::vector<RecoveredStep>& m_steps;
    const RunEvidence& m_evidence;
    const std::vector<std::vector<HostInStep>>& m_hosts;
    std::size_t m_ranks;
    std::vector<bool> m_isAscending;      ///< [rank] as steps are
    std::vector<std::int64_t> m_usualGap; ///< [rank]
};

} // namespace

void boundSteps(RecoveredSteps& result, const RunEvidence& evidence, const std::vector<std::vector<HostInStep>>& hosts,
                bool isOneClock)
{
    if (!result.steps.empty())
        StepBounds(result, evidence, hosts).bound(isOneClock);
}

} // namespace sim
