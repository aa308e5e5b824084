#include "sim/cli/schedule_print.h"

#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include <algorithm>
#include <cmath>
#include <iostream>

namespace sim::cli {
namespace {

constexpr std::size_t kMostColumns = 400;
constexpr double kFarthest = 1e15; ///< column that a number holds to the last digit

/// "F3" where a rank holds one stage, "1F3" where it holds several; "F3&B1" is an overlapped block, "F3.0" the first slice.
std::string labelOf(const Schedule& schedule, ActionBlock block)
{
    std::string label;
    for (const Action& action : block) {
        const std::string text = actionText(action, schedule.slices);
        label +=
            (label.empty() ? "" : "&") + (schedule.virtualStages > 1 ? text : text.substr(text.find(actionLetter(action.kind))));
    }
    return label;
}

/// What a drawing is measured in.
class Columns {
public:
    Columns(const Schedule& schedule, const ScheduleTimes& times, const PassTimes& passes) : m_slot(shortest(passes))
    {
        for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank)
            forEachBlock(schedule.actions[rank], [&](std::size_t i, ActionBlock block) {
                const std::size_t wide = last(times, rank, i) - first(times, rank, i);
                m_width = std::max(m_width, labelOf(schedule, block).size() / wide + 1);
            });
    }
    double exactlyAt(double time) const { return std::round(time / m_slot); }
    std::size_t at(double time) const { return static_cast<std::size_t>(std::min(exactlyAt(time), kFarthest)); }
    std::size_t first(const ScheduleTimes& times, std::size_t rank, std::size_t action) const
    {
        return at(times.start[rank][action]);
    }
    /// A pass has one at least.
    std::size_t last(const ScheduleTimes& times, std::size_t rank, std::size_t action) const
    {
        return std::max(first(times, rank, action) + 1, at(times.end[rank][action]));
    }
    std::size_t width() const { return m_width; } ///< letters

private:
    static double shortest(const PassTimes& passes)
    {
        double slot = passes.total();
        for (const double time : {passes.forward, passes.backwardInput, passes.backwardWeight})
            if (time > 0)
                slot = std::min(slot, time);
        if (slot <= 0)
            throw UsageError("--times 0,0,0: passes that take no time cannot be drawn");
        return slot;
    }
    double m_slot;
    std::size_t m_width = 1;
};

} // namespace

/// The timeline as text: a line a rank, a column the time of the shortest pass.
void printAscii(const Schedule& schedule, const ScheduleTimes& times, const PassTimes& passes, const InOrderOutcome& inOrder)
{
    const Columns columns(schedule, times, passes);
    const std::size_t rankDigits = std::to_string(schedule.ranks - 1).size();
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
        const std::string number = std::to_string(rank);
        std::string line = "rank ";
        line.append(rankDigits - number.size(), ' ').append(number).append("  ");
        const std::size_t margin = line.size();
        forEachBlock(schedule.actions[rank], [&](std::size_t i, ActionBlock block) {
            const std::size_t first = columns.first(times, rank, i);
            const std::size_t last = columns.last(times, rank, i);
            if (last > kMostColumns)
                return;
            std::string text = labelOf(schedule, block);
            text.resize(std::max(text.size(), (last - first) * columns.width() - 1), last - first > 1 ? '-' : ' ');
            line.resize(std::max(line.size(), margin + first * columns.width()), ' ');
            line += text + " ";
        });
        line.erase(line.find_last_not_of(' ') + 1);
        std::cout << line << "\n";
    }
    if (const double all = columns.exactlyAt(times.makespan); all > kMostColumns)
        std::cout << "(the first " << kMostColumns << (all < kFarthest ? " of " + fixed(all, 0) : "") << " columns)\n";
    const double peak = *std::max_element(times.peakActivations.begin(), times.peakActivations.end());
    std::cout << "\nmakespan " << times.makespan << ", span " << times.span << "; idle " << percent(times.idleOfMakespan)
              << " of the makespan as the mean of the ranks, " << percent(times.idleOverIdeal) << " over ideal; at most " << peak
              << (peak == 1 ? " activation" : " activations") << " held\n";
    const char* const where = inOrder.streams == "shared" ? "one stream a rank" : "one stream a pair of ranks";
    if (!inOrder.problems.empty())
        std::cout << "with sends and receives in order on " << where << ": " << inOrder.problems.front() << "\n";
    else if (inOrder.times.blocked > 0)
        std::cout << "with sends and receives in order on " << where << ": makespan " << inOrder.times.makespan << ", "
                  << inOrder.times.blocked << " of it lost to their order\n";
}

} // namespace sim::cli
