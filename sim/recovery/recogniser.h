// Which of the families' orders a recorded one is most like.
#pragma once

#include "sim/recovery/schedule_kind.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sim {

/// Length of the longest common subsequence over the longer length; for long rows the share of equal places.
template <class T>
double likenessOfRows(const std::vector<T>& a, const std::vector<T>& b)
{
    const std::size_t longer = std::max(a.size(), b.size());
    if (longer == 0 || a == b)
        return 1;
    if (a.size() * b.size() > 1'000'000) {
        std::size_t equal = 0;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
            equal += a[i] == b[i] ? 1U : 0U;
        return static_cast<double>(equal) / static_cast<double>(longer);
    }
    std::vector<std::uint32_t> row(b.size() + 1, 0);
    for (const T& x : a) {
        std::uint32_t diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::uint32_t above = row[j + 1];
            row[j + 1] = x == b[j] ? diagonal + 1 : std::max(above, row[j]);
            diagonal = above;
        }
    }
    return row.back() / static_cast<double>(longer);
}

/// Where nothing says it, sequences are looked for in so many parts at most.
inline constexpr int kMostSlices = 8;

/// What a family made of measured times, which need not be those that the job was planned with.
struct CostPlan {
    std::string kind;
    double alike = 0;
    double held = 0; ///< mostHeld() of the fullest of the recorded ranks
    ScheduleRequest request;
    int stages = 1;
};

/// The families' orders of one size, by how alike what was recorded is to them; the nearest is written to `result`.
class Recogniser {
public:
    explicit Recogniser(RecoveredSchedule& result) : m_result(result) {}

    enum class Plans : std::uint8_t { no, only, too };       ///< families that plan by cost
    using Likeness = std::function<double(const Schedule&)>; ///< 1: the same
    void compare(ScheduleRequest request, const Likeness& likeness, Plans plans = Plans::too);

    /// Whether the nearest has two passes that run as one block.
    bool hasBlocks() const { return m_hasBlocks; }
    /// Of each family that plans by cost, its nearest.
    const std::vector<CostPlan>& plans() const { return m_plans; }

private:
    void keepPlan(const ScheduleFamily& family, const ScheduleRequest& request, const Schedule& schedule, double alike);
    void take(const ScheduleFamily& family, const ScheduleRequest& request, const Schedule& schedule, double alike);

    RecoveredSchedule& m_result;
    bool m_hasBlocks = false;
    std::vector<CostPlan> m_plans;
};

/// Activations that a row holds at most, one of a micro-batch in a chunk as 1, of which the gradient of the input frees half.
double mostHeld(const std::vector<Action>& row);
/// "zb-h1, zb-h2".
std::string possibleText(const std::vector<std::string>& kinds);
/// An order that no family has: one that was searched for, or somebody's own. Adds what comes nearest to the evidence.
void nameNoSchedule(RecoveredSchedule& result);

} // namespace sim
