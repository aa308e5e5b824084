#include "sim/analysis/explain/explain_order.h"

#include "sim/analysis/explain/account.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sim {
namespace {

constexpr const char* kOrderSource = "Exact times of the order: each action when what it needs is there and its rank is free";
constexpr double kSecondsOfNs = 1e-9;

std::string ppName(std::size_t rank)
{
    return "pp " + std::to_string(rank);
}

class OrderExplainer {
public:
    explicit OrderExplainer(const TimedOrder& of) : m_schedule(of.schedule), m_times(of.times) {}

    Explanation makespan() const
    {
        std::size_t last = 0;
        for (std::size_t rank = 0; rank < m_times.end.size(); ++rank)
            if (endOf(rank) > endOf(last))
                last = rank;
        Account account("Makespan of the order", "T", m_times.makespan * kSecondsOfNs, Unit::seconds);
        // A block of two at once is told by itself.
        struct Passes {
            double ns = 0;
            int count = 0;
        };
        std::map<std::string, Passes> passes;
        const std::vector<Action>& list = m_schedule.actions[last];
        double busy = 0;
        for (std::size_t i = 0; i < list.size();) {
            const auto block = blockAt(list, i);
            double end = m_times.end[last][i];
            std::string letters;
            for (std::size_t k = 0; k < block.size(); ++k) {
                letters += actionLetter(list[i + k].kind);
                end = std::max(end, m_times.end[last][i + k]);
            }
            const double length = end - m_times.start[last][i];
            passes[letters].ns += length;
            ++passes[letters].count;
            busy += length;
            i += block.size();
        }
        std::vector<Formula> parts;
        for (const auto& [letters, all] : passes) {
            Account each((letters.size() > 1 ? "blocks of " : "passes ") + letters + " on " + ppName(last), "t_" + letters,
                         all.ns * kSecondsOfNs, Unit::seconds);
            const Formula count = each.term("n", all.count, Unit::count, "of them");
            parts.push_back(account.term(
                each.close(count * each.term("t", all.ns * kSecondsOfNs / all.count, Unit::seconds, "one of them; their mean"),
                           "As long as they take in the simulated step: the median over its micro-batches.", kSimulated)));
        }
        if (const double waits = m_times.makespan - busy; waits > 0)
            parts.push_back(account.term("t_wait", waits * kSecondsOfNs, Unit::seconds,
                                         "it waits: for the first micro-batch, and for what other ranks send"));
        return account.close(Formula::sum(std::move(parts)),
                             "From the first action to the end of the last, which is on " + ppName(last) +
                                 ". The pipeline alone: no optimizer, no gradient reduction.",
                             kOrderSource);
    }

    Explanation idle() const
    {
        Account account("Idle share of the pipeline rank that is longest at work", "f_idle", m_times.idleOfSpan, Unit::fraction);
        const double most = *std::max_element(m_times.busy.begin(), m_times.busy.end());
        const auto span = [&] {
            return account.term("t_span", m_times.span * kSecondsOfNs, Unit::seconds,
                                "longest time that a rank needs from its first to its last action");
        };
        const Formula all = span();
        return account.close(
            (all - account.term("t_busy", most * kSecondsOfNs, Unit::seconds, "most time that a rank spends in passes")) / span(),
            "The zero-bubble papers' convention: each rank from its own first action to its own last.",
            "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241");
    }

    Explanation held() const
    {
        const double peak = *std::max_element(m_times.peakActivations.begin(), m_times.peakActivations.end());
        const double parts = m_schedule.chainLength();
        Account account("Micro-batches held on the fullest pipeline rank", "n",
                        peak * m_schedule.ranks / (parts * m_schedule.slices), Unit::number);
        Formula held = account.term("k", peak, Unit::number, "chunks' activations alive at once");
        held *= account.term("p", m_schedule.ranks, Unit::count, "pipeline ranks");
        held /= account.term("s", parts, Unit::count, "parts that the model is cut into");
        if (m_schedule.slices > 1)
            held /= account.term("c", m_schedule.slices, Unit::count, "slices of a sequence");
        return account.close(std::move(held),
                             "In micro-batches of a p-th of the model. Held from F to B; of a split backward half of it until W.",
                             kOrderSource);
    }

    Explanation duration(std::size_t rank, std::size_t index) const
    {
        const double start = m_times.start[rank][index], end = m_times.end[rank][index];
        Account account("Time of " + textOf(rank, index) + " on " + ppName(rank), "t", (end - start) * kSecondsOfNs,
                        Unit::seconds);
        const Formula last = account.term("t_end", end * kSecondsOfNs, Unit::seconds, "its end in the order");
        return account.close(
            last - account.term("t_start", start * kSecondsOfNs, Unit::seconds, "its start"),
            "As long as such a pass of its stage takes in the simulated step: the median over its micro-batches.", kSimulated);
    }

    Explanation start(std::size_t rank, std::size_t index) const
    {
        const double start = m_times.start[rank][index];
        Account account("Start of " + textOf(rank, index) + " on " + ppName(rank), "t_start", start * kSecondsOfNs,
                        Unit::seconds);
        double before = 0;
        for (std::size_t i = 0; i < index; ++i)
            if (m_times.end[rank][i] <= start)
                before = std::max(before, m_times.end[rank][i]);
        const Formula free = account.term("t_free", before * kSecondsOfNs, Unit::seconds,
                                          before > 0 ? "end of the actions before it in its row" : "it is the first of its row");
        return account.close(
            free + account.term("t_wait", (start - before) * kSecondsOfNs, Unit::seconds, "until what it needs has arrived"),
            "F needs F of the stage before; a backward F of its own stage and the backward of the stage after; W its I.",
            kOrderSource);
    }

private:
    double endOf(std::size_t rank) const { return m_times.end[rank].empty() ? 0 : m_times.end[rank].back(); }
    std::string textOf(std::size_t rank, std::size_t index) const
    {
        return actionName(m_schedule.actions[rank][index], m_schedule.slices,
                          m_schedule.stagesOfRank(static_cast<int>(rank)).size() > 1);
    }

    const Schedule& m_schedule;
    const ScheduleTimes& m_times;
};

} // namespace

Explanation explain(const TimedOrder& of, OrderNumber number)
{
    const OrderExplainer order(of);
    return number == OrderNumber::makespan ? order.makespan() : number == OrderNumber::idle ? order.idle() : order.held();
}

Explanation explain(const TimedOrder& of, ActionNumber number, std::size_t pipelineRank, std::size_t index)
{
    const OrderExplainer order(of);
    return number == ActionNumber::duration ? order.duration(pipelineRank, index) : order.start(pipelineRank, index);
}

} // namespace sim
