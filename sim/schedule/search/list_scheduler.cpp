#include "sim/schedule/search/list_scheduler.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/schedule/order_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>

namespace sim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class ListScheduler {
public:
    ListScheduler(const PipelineProblem& problem, const ListRules& rules, const Schedule* guide)
        : m_problem(problem), m_rules(rules), m_schedule(problem.frame), m_ranks(problem.ranks()), m_stages(problem.stages())
    {
        m_schedule.actions.assign(problem.ranks(), {});
        const auto microbatches = asIndex(problem.frame.microbatches);
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
            m_ranks[rank].stages = problem.stagesOf(rank);
            double behind = 0;
            const std::vector<std::size_t>& stages = m_ranks[rank].stages;
            for (std::size_t i = stages.size(); i-- > 0;) {
                m_stages[stages[i]].reserve = behind;
                behind += problem.memory[stages[i]].full;
            }
        }
        for (std::size_t s = 0; s < m_stages.size(); ++s) {
            Stage& stage = m_stages[s];
            stage.forwardEnd.reserve(microbatches);
            stage.inputEnd.reserve(microbatches);
            const double lead = m_rules.lead + m_rules.leadSlope * static_cast<double>(m_stages.size() - 1 - s);
            stage.lead = m_rules.lead > 0 ? std::max<std::size_t>(1, asIndex(std::lround(lead))) : microbatches;
        }
        if (guide != nullptr)
            readPlaces(*guide);
    }

    Schedule run()
    {
        for (Rank& rank : m_ranks)
            rank.next = decide(rank);
        CancelPoll poll;
        while (true) {
            poll(m_ranks.size() + 8);
            std::size_t earliest = 0;
            for (std::size_t rank = 1; rank < m_ranks.size(); ++rank)
                if (m_ranks[rank].next.start < m_ranks[earliest].next.start)
                    earliest = rank;
            if (m_ranks[earliest].next.start == kNever)
                return std::move(m_schedule);
            execute(earliest);
        }
    }

private:
    struct Stage {
        std::vector<double> forwardEnd, inputEnd; ///< of what has run
        int weights = 0;
        std::size_t lead = 0;
        double reserve = 0;                       ///< that later chunks of the rank must find free, or all could wait for ever
        std::array<std::vector<int>, 3> places{}; ///< [F, I, W][micro-batch] in the guide's list
    };
    struct Decision {
        double start = kNever;
        ActionKind kind = ActionKind::forward;
        std::size_t stage = 0;
    };
    struct Rank {
        std::vector<std::size_t> stages;
        double clock = 0, held = 0;
        bool lastWasForward = false;
        Decision next;
    };
    /// A pass that could run, when its inputs are there, and how much it is wanted: less is better.
    struct Option {
        Decision decision;
        double preference = 0;
    };

    void readPlaces(const Schedule& guide)
    {
        m_guided = true;
        for (const auto& actions : guide.actions)
            for (std::size_t i = 0; i < actions.size(); ++i)
                m_stages[asIndex(actions[i].stage)].places[kindIndex(actions[i].kind)].push_back(static_cast<int>(i));
    }
    static std::size_t kindIndex(ActionKind kind)
    {
        return kind == ActionKind::forward ? 0 : kind == ActionKind::backwardInput ? 1 : 2;
    }

    double forwardReady(std::size_t s) const
    {
        if (s == 0)
            return 0;
        const std::size_t microbatch = m_stages[s].forwardEnd.size();
        const Stage& before = m_stages[s - 1];
        return microbatch < before.forwardEnd.size() ? before.forwardEnd[microbatch] + m_problem.times[s - 1].comm : kNever;
    }
    double inputReady(std::size_t s) const
    {
        const std::size_t microbatch = m_stages[s].inputEnd.size();
        if (microbatch >= m_stages[s].forwardEnd.size())
            return kNever;
        if (s + 1 == m_stages.size())
            return 0;
        const Stage& behind = m_stages[s + 1];
        return microbatch < behind.inputEnd.size() ? behind.inputEnd[microbatch] + m_problem.times[s].comm : kNever;
    }
    bool admits(std::size_t s) const
    {
        const Stage& stage = m_stages[s];
        return stage.forwardEnd.size() < asIndex(m_problem.frame.microbatches) &&
               stage.forwardEnd.size() - stage.inputEnd.size() < stage.lead;
    }

    double preference(const Rank& rank, ActionKind kind, std::size_t s) const
    {
        const Stage& stage = m_stages[s];
        if (m_guided) {
            const std::size_t done = kind == ActionKind::forward         ? stage.forwardEnd.size()
                                     : kind == ActionKind::backwardInput ? stage.inputEnd.size()
                                                                         : asIndex(stage.weights);
            return stage.places[kindIndex(kind)][done];
        }
        const bool forwardFirst = m_rules.prefer == ListRules::Prefer::forward ||
                                  (m_rules.prefer == ListRules::Prefer::alternate && !rank.lastWasForward);
        const bool isForward = kind == ActionKind::forward;
        const auto depth = static_cast<double>(s) / static_cast<double>(m_stages.size());
        return (isForward == forwardFirst ? 0.0 : 2.0) + (isForward == m_rules.deepFirst ? 1 - depth : depth);
    }

    /// The pending weight gradient of the rank that comes first.
    std::optional<std::size_t> pendingWeight(const Rank& rank) const
    {
        std::optional<std::size_t> best;
        double bestKey = kNever;
        for (const std::size_t s : rank.stages) {
            const Stage& stage = m_stages[s];
            const auto done = asIndex(stage.weights);
            if (done >= stage.inputEnd.size())
                continue;
            const double key = m_guided ? stage.places[2][done] : stage.inputEnd[done];
            if (key < bestKey) {
                bestKey = key;
                best = s;
            }
        }
        return best;
    }

    Decision decide(const Rank& rank) const
    {
        std::vector<Option>& options = m_options;
        options.clear();
        double earliest = kNever;
        bool blocked = false; // a forward is ready that only memory keeps out
        for (const std::size_t s : rank.stages) {
            const auto consider = [&](ActionKind kind, double ready) {
                if (ready == kNever)
                    return;
                const double start = std::max(ready, rank.clock);
                earliest = std::min(earliest, start);
                options.push_back({{start, kind, s}, preference(rank, kind, s)});
            };
            consider(ActionKind::backwardInput, inputReady(s));
            if (admits(s)) {
                const double ready = forwardReady(s);
                if (m_problem.fits(rank.held + m_problem.memory[s].full + m_stages[s].reserve))
                    consider(ActionKind::forward, ready);
                else
                    blocked = blocked || ready <= rank.clock;
            }
        }
        const auto weight = pendingWeight(rank);
        const auto weightNow = [&] { return Decision{rank.clock, ActionKind::backwardWeight, *weight}; };
        if (weight) {
            const double length = m_problem.times[*weight].backwardWeight;
            const double gap = earliest - rank.clock;
            if (gap > 0 && gap >= m_rules.patience * length)
                return weightNow();
            if (blocked && m_rules.prefer == ListRules::Prefer::forward)
                return weightNow();
        }
        const Option* chosen = nullptr;
        for (const Option& option : options)
            if (option.decision.start <= earliest && (chosen == nullptr || option.preference < chosen->preference))
                chosen = &option;
        if (chosen == nullptr)
            return {};
        if (m_guided && weight && preference(rank, ActionKind::backwardWeight, *weight) < chosen->preference)
            return weightNow();
        return chosen->decision;
    }

    void execute(std::size_t r)
    {
        Rank& rank = m_ranks[r];
        const auto [start, kind, s] = rank.next;
        Stage& stage = m_stages[s];
        const PassTimes& times = m_problem.times[s];
        const PassMemory& memory = m_problem.memory[s];
        auto& actions = m_schedule.actions[r];
        const auto number = static_cast<int>(s);
        switch (kind) {
        case ActionKind::forward:
            rank.clock = start + times.forward;
            rank.held += memory.full;
            actions.push_back(forwardOf(number, static_cast<int>(stage.forwardEnd.size())));
            stage.forwardEnd.push_back(rank.clock);
            if (s + 1 < m_stages.size())
                reconsider(s + 1);
            break;
        case ActionKind::backwardInput:
            rank.clock = start + times.backwardInput;
            rank.held -= memory.full - memory.weight;
            actions.push_back(inputGradientOf(number, static_cast<int>(stage.inputEnd.size())));
            stage.inputEnd.push_back(rank.clock);
            if (s > 0)
                reconsider(s - 1);
            break;
        default:
            rank.clock = start + times.backwardWeight;
            rank.held -= memory.weight;
            actions.push_back(weightGradientOf(number, stage.weights++));
        }
        rank.lastWasForward = kind == ActionKind::forward || (kind == ActionKind::backwardWeight && rank.lastWasForward);
        rank.next = decide(rank);
    }
    void reconsider(std::size_t stage)
    {
        Rank& rank = m_ranks[m_problem.rankOf(stage)];
        rank.next = decide(rank);
    }

    const PipelineProblem& m_problem;
    const ListRules& m_rules;
    bool m_guided = false;
    Schedule m_schedule;
    std::vector<Rank> m_ranks;
    std::vector<Stage> m_stages;
    mutable std::vector<Option> m_options; ///< of one decision; kept for its memory
};

} // namespace

std::string ListRules::text() const
{
    std::ostringstream text;
    text << (prefer == Prefer::gradient ? "gradients first" : prefer == Prefer::forward ? "forwards first" : "in turn");
    if (patience > 0)
        text << ", waits for " << patience << " W";
    if (lead > 0)
        text << ", lead " << lead << " + " << leadSlope << " a stage";
    if (!deepFirst)
        text << ", breadth first";
    return text.str();
}

std::vector<ListRules> listRules(bool severalChunks)
{
    struct Lead {
        double slope;
        int lead;
    };
    std::vector<ListRules> grid;
    for (const auto prefer : {ListRules::Prefer::gradient, ListRules::Prefer::forward, ListRules::Prefer::alternate})
        for (const double patience : {0.0, 0.25, 0.5, 1.0})
            for (const Lead lead : {Lead{0, 0}, Lead{0.5, 2}, Lead{1, 1}, Lead{1.5, 1}, Lead{1.75, 1}, Lead{2, 1}, Lead{2, 2}})
                for (const bool deepFirst : {true, false})
                    if (deepFirst || severalChunks)
                        grid.push_back({.prefer = prefer,
                                        .patience = patience,
                                        .leadSlope = lead.slope,
                                        .lead = lead.lead,
                                        .deepFirst = deepFirst});
    return grid;
}

Schedule listSchedule(const PipelineProblem& problem, const ListRules& rules)
{
    return ListScheduler(problem, rules, nullptr).run();
}

Schedule followSchedule(const PipelineProblem& problem, const Schedule& guide)
{
    const ListRules rules{.patience = 1};
    return ListScheduler(problem, rules, &guide).run();
}

} // namespace sim
