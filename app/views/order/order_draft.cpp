#include "app/views/order/order_draft.h"

#include "app/views/common/labels.h"
#include "sim/analysis/explain/explain_rank.h"

#include <algorithm>
#include <map>
#include <regex>

namespace app {
namespace {

std::ptrdiff_t offset(std::size_t index)
{
    return static_cast<std::ptrdiff_t>(index);
}

double largest(const std::vector<double>& values)
{
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// A schedule knows pipeline ranks alone; beside the grid, where rank 3 is another thing, they are pp 0, pp 1…
std::string amongRanks(const std::string& problem)
{
    return std::regex_replace(problem, std::regex("\\brank (?=[0-9])"), "pp ");
}

std::string signedText(const std::string& text, double value)
{
    return (value < 0 ? "−" : "+") + text;
}

} // namespace

OrderDraft::OrderDraft(sim::Schedule schedule, std::vector<sim::PassTimes> times)
    : m_schedule(std::move(schedule)), m_original(m_schedule), m_passTimes(std::move(times))
{
    evaluate();
    m_originalTimes = m_times;
}

void OrderDraft::evaluate()
{
    m_problems = sim::checkSchedule(m_schedule);
    m_cycle = m_problems.empty() ? std::vector<sim::Wait>() : sim::deadlockCycle(m_schedule);
    if (!canRun()) {
        layOutChangedRows();
        return;
    }
    const sim::PassMemory memory{};
    m_times = sim::evaluateSchedule(m_schedule, m_passTimes, std::span(&memory, 1));
    m_lastTimes = m_times;
    m_lastOrder = m_schedule.actions;
}

void OrderDraft::layOutChangedRows()
{
    m_times = m_lastTimes;
    for (std::size_t rank = 0; rank < m_schedule.actions.size(); ++rank) {
        const std::vector<sim::Action>&now = m_schedule.actions[rank], &before = m_lastOrder[rank];
        if (now == before)
            continue;
        const std::vector<double>&starts = m_lastTimes.start[rank], &ends = m_lastTimes.end[rank];
        std::map<sim::Action, double> lengths; // the flag that marks a block travels with its action
        for (std::size_t i = 0; i < before.size(); ++i)
            lengths[before[i]] = ends[i] - starts[i];
        double clock = 0;
        for (std::size_t i = 0; i < now.size(); ++i) {
            const bool second = i > 0 && now[i - 1].overlapsNext;
            const double wait = i == 0 ? starts[0] : std::max(0.0, starts[i] - ends[i - 1]);
            m_times.start[rank][i] = second ? m_times.start[rank][i - 1] : clock + wait;
            m_times.end[rank][i] = second ? m_times.end[rank][i - 1] : m_times.start[rank][i] + lengths[now[i]];
            clock = m_times.end[rank][i];
        }
    }
}

ActionPlace OrderDraft::blockOf(ActionPlace place) const
{
    const auto& list = m_schedule.actions[place.rank];
    if (place.index > 0 && list[place.index - 1].overlapsNext)
        --place.index;
    return place;
}

std::size_t OrderDraft::blockSize(ActionPlace place) const
{
    return sim::blockAt(m_schedule.actions[place.rank], place.index).size();
}

ActionPlace OrderDraft::move(ActionPlace place, std::size_t to)
{
    place = blockOf(place);
    auto& list = m_schedule.actions[place.rank];
    const std::size_t size = blockSize(place);
    const std::vector<sim::Action> block(list.begin() + offset(place.index), list.begin() + offset(place.index + size));
    list.erase(list.begin() + offset(place.index), list.begin() + offset(place.index + size));
    to = std::min(to, list.size());
    if (to > 0 && to < list.size() && list[to - 1].overlapsNext) // not into a block
        ++to;
    list.insert(list.begin() + offset(to), block.begin(), block.end());
    evaluate();
    return {place.rank, to};
}

ActionPlace OrderDraft::moveEarlier(ActionPlace place)
{
    place = blockOf(place);
    return place.index == 0 ? place : move(place, blockOf({place.rank, place.index - 1}).index);
}

ActionPlace OrderDraft::moveLater(ActionPlace place)
{
    place = blockOf(place);
    const std::size_t next = place.index + blockSize(place);
    if (next >= m_schedule.actions[place.rank].size())
        return place;
    return move(place, place.index + blockSize({place.rank, next}));
}

void OrderDraft::setOrder(const std::vector<std::vector<sim::Action>>& actions)
{
    m_schedule.actions = actions;
    evaluate();
}

std::vector<OrderDraft::VerdictPart> OrderDraft::verdictParts() const
{
    if (!canRun())
        return {{VerdictNumber::none, "", (m_cycle.empty() ? "Cannot run: " : "Would hang: ") + amongRanks(m_problems.front())}};
    const double before = m_originalTimes.makespan, now = m_times.makespan, change = now - before;
    std::vector<VerdictPart> out{{VerdictNumber::makespan, "", "Makespan " + durationText(now)}};
    constexpr double kNoticed = 1e-6;
    if (std::abs(change) > kNoticed * before)
        out.push_back({VerdictNumber::change, ", ",
                       signedText(durationText(std::abs(change)), change) + " (" +
                           signedText(percentText(std::abs(change) / before), change) + ")"});
    else if (isChanged())
        out.push_back({VerdictNumber::none, ", ", "no longer and no shorter than before"});
    out.push_back({VerdictNumber::idle, " · ", "slowest rank idle " + percentText(m_times.idleOfSpan) + " of its time"});
    // In micro-batches of a p-th of the model, whatever the cut.
    const double unit =
        static_cast<double>(m_schedule.ranks) / (static_cast<double>(m_schedule.chainLength()) * m_schedule.slices);
    const double peakBefore = largest(m_originalTimes.peakActivations) * unit, peak = largest(m_times.peakActivations) * unit;
    out.push_back({VerdictNumber::held, " · ", "at most " + threeDigits(peak) + " micro-batches held"});
    if (peak != peakBefore)
        out.back().text += " (" + threeDigits(peakBefore) + " before)";
    return out;
}

std::string OrderDraft::verdict() const
{
    std::string text;
    for (const VerdictPart& part : verdictParts())
        text += part.before + part.text;
    return text;
}

sim::Explanation OrderDraft::explain(VerdictNumber number) const
{
    const sim::TimedOrder now{m_schedule, m_times};
    switch (number) {
    case VerdictNumber::change:
        return sim::explainDifference(sim::explain({m_original, m_originalTimes}, sim::OrderNumber::makespan),
                                      sim::explain(now, sim::OrderNumber::makespan), "the order before", "the order now");
    case VerdictNumber::idle:
        return sim::explain(now, sim::OrderNumber::idle);
    case VerdictNumber::held:
        return sim::explain(now, sim::OrderNumber::held);
    default:
        return sim::explain(now, sim::OrderNumber::makespan);
    }
}

sim::Explanation OrderDraft::explain(sim::ActionNumber number, ActionPlace place) const
{
    return sim::explain({m_schedule, m_times}, number, place.rank, place.index);
}

} // namespace app
