// A schedule whose actions are being put into another order: what each move costs, or why it would hang.
#pragma once

#include "sim/analysis/explain/explain_order.h"
#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace app {

/// One action of a schedule by its place. Of an overlapped block the first.
struct ActionPlace {
    std::size_t rank = 0, index = 0;
    bool operator==(const ActionPlace&) const = default;
};

class OrderDraft {
public:
    /// `times` as in sim::evaluateSchedule, nanoseconds. The schedule must be able to run.
    OrderDraft(sim::Schedule, std::vector<sim::PassTimes> times);

    const sim::Schedule& schedule() const { return m_schedule; }
    const sim::Schedule& original() const { return m_original; }
    bool isChanged() const { return m_schedule.actions != m_original.actions; }
    bool canRun() const { return m_problems.empty(); }
    const std::vector<std::string>& problems() const { return m_problems; }
    const std::vector<sim::Wait>& cycle() const { return m_cycle; }
    const sim::ScheduleTimes& originalTimes() const { return m_originalTimes; }
    /// Of the present order if it can run. Else of the last one that could, with the rows that differ laid out in their new
    /// order: for drawing only.
    const sim::ScheduleTimes& times() const { return m_times; }

    /// Takes the block at a place out of its row and puts it in before the action that then is `to`-th. Where the block is now.
    ActionPlace move(ActionPlace, std::size_t to);
    /// One block further in its row; the same place at the ends.
    ActionPlace moveEarlier(ActionPlace);
    ActionPlace moveLater(ActionPlace);
    /// Another order of the same actions, such as an earlier state of this draft.
    void setOrder(const std::vector<std::vector<sim::Action>>&);
    /// First action of the block that holds a place.
    ActionPlace blockOf(ActionPlace) const;
    std::size_t blockSize(ActionPlace) const;

    /// "Makespan 649 ms", "+12 ms (+1.9 %)" …, or the reason why it would hang.
    std::string verdict() const;
    /// The verdict in parts, each a number: they are told one after the other, `before` between them.
    enum class VerdictNumber : std::uint8_t { none, makespan, change, idle, held };
    struct VerdictPart {
        VerdictNumber number = VerdictNumber::none;
        const char* before = "";
        std::string text;
    };
    std::vector<VerdictPart> verdictParts() const;
    /// Where such a number of it comes from; `number` is not none.
    sim::Explanation explain(VerdictNumber number) const;
    sim::Explanation explain(sim::ActionNumber, ActionPlace) const;

private:
    void evaluate();
    void layOutChangedRows();

    sim::Schedule m_schedule;
    const sim::Schedule m_original;
    const std::vector<sim::PassTimes> m_passTimes;
    sim::ScheduleTimes m_originalTimes, m_times;
    sim::ScheduleTimes m_lastTimes; ///< of m_lastOrder, the newest that could run
    std::vector<std::vector<sim::Action>> m_lastOrder;
    std::vector<std::string> m_problems;
    std::vector<sim::Wait> m_cycle;
};

} // namespace app
