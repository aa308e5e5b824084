#include "app/views/timeline/schedule_phases.h"

#include "app/views/common/labels.h"

#include <algorithm>

namespace app {
namespace {

bool isGradient(sim::ActionKind kind)
{
    return kind == sim::ActionKind::backward || kind == sim::ActionKind::backwardInput;
}

PhaseCounts countsOf(std::span<const sim::ActionKind> kinds)
{
    PhaseCounts counts;
    for (const sim::ActionKind kind : kinds)
        ++(kind == sim::ActionKind::forward ? counts.forwards : isGradient(kind) ? counts.gradients : counts.weights);
    return counts;
}

/// "3 forwards", "1 forward"
std::string counted(int count, const std::string& what)
{
    return countText(count) + " " + what + (count == 1 ? "" : "s");
}

bool splits(const SchedulePhases& phases)
{
    return phases.warmUp.weights + phases.steady.weights + phases.coolDown.weights > 0;
}

std::string gradients(const SchedulePhases& phases, int count)
{
    return counted(count, splits(phases) ? "input gradient" : "backward");
}

} // namespace

SchedulePhases phasesOf(std::span<const sim::ActionKind> kinds)
{
    SchedulePhases phases;
    const auto place = [&](auto found) { return static_cast<std::size_t>(found - kinds.begin()); };
    const std::size_t firstBackward =
        place(std::find_if(kinds.begin(), kinds.end(), [](auto k) { return k != sim::ActionKind::forward; }));
    const auto lastForward = std::find(kinds.rbegin(), kinds.rend(), sim::ActionKind::forward);
    const std::size_t afterForwards = static_cast<std::size_t>(kinds.rend() - lastForward);
    if (afterForwards <= firstBackward) {
        phases.steadyBegin = phases.coolDownBegin = firstBackward;
    } else {
        phases.steadyBegin = firstBackward == 0 ? 0 : firstBackward - 1;
        const auto from = kinds.begin() + static_cast<std::ptrdiff_t>(afterForwards);
        const auto paired = std::find_if(from, kinds.end(), isGradient);
        const auto next = paired == kinds.end() ? kinds.end() : std::find_if(paired + 1, kinds.end(), isGradient);
        phases.coolDownBegin = place(next);
        if (next == kinds.end() && paired != kinds.end()) { // weight gradients are all that is left
            const bool ownWeight = paired + 1 != kinds.end();
            phases.coolDownBegin = place(paired) + (ownWeight ? 2 : 1);
        }
    }
    phases.warmUp = countsOf(kinds.first(phases.steadyBegin));
    phases.steady = countsOf(kinds.subspan(phases.steadyBegin, phases.coolDownBegin - phases.steadyBegin));
    phases.coolDown = countsOf(kinds.subspan(phases.coolDownBegin));
    return phases;
}

std::vector<sim::ActionKind> kindsOf(const std::vector<sim::Action>& actions)
{
    std::vector<sim::ActionKind> kinds;
    kinds.reserve(actions.size());
    for (const sim::Action& action : actions)
        kinds.push_back(action.kind);
    return kinds;
}

std::string WarmUpRule::text() const
{
    return with("p", "r");
}

std::string WarmUpRule::worked(int ranks, int rank) const
{
    const std::string values = with(std::to_string(ranks), std::to_string(rank));
    return values == text() ? values : text() + " = " + values;
}

std::string WarmUpRule::with(const std::string& p, const std::string& r) const
{
    std::string out;
    if (perRankBelow > 0)
        out = p + " − 1 − " + r;
    if (perRankBelow > 1)
        out = std::to_string(perRankBelow) + " (" + out + ")";
    if (constant > 0)
        out += (out.empty() ? "" : " + ") + std::to_string(constant);
    return out.empty() ? "0" : out;
}

std::optional<WarmUpRule> warmUpRule(const sim::Schedule& schedule)
{
    if (schedule.actions.size() < 2)
        return std::nullopt;
    std::vector<int> counts;
    for (const auto& list : schedule.actions)
        counts.push_back(phasesOf(kindsOf(list)).warmUp.forwards);
    const int last = counts.back(), step = counts[counts.size() - 2] - last;
    if (step < 0 || step + last == 0)
        return std::nullopt;
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
        if (counts[rank] != last + step * static_cast<int>(counts.size() - 1 - rank))
            return std::nullopt;
    return WarmUpRule{step, last};
}

std::string phaseLabel(const SchedulePhases& phases, Phase phase)
{
    const std::string gradient = splits(phases) ? " I" : " B";
    switch (phase) {
    case Phase::warmUp:
        return "Warm-up " + countText(phases.warmUp.forwards) + " F";
    case Phase::steady: {
        const PhaseCounts& c = phases.steady;
        const std::string turn = " × F" + gradient;
        return c.forwards == 0             ? "No steady state"
               : c.forwards == c.gradients ? "Steady " + countText(c.forwards) + turn
                                           : "Steady " + countText(c.forwards) + " F " + countText(c.gradients) + gradient;
    }
    case Phase::coolDown: {
        std::string text = "Cool-down " + countText(phases.coolDown.gradients) + gradient;
        if (phases.coolDown.weights > 0)
            text += " " + countText(phases.coolDown.weights) + " W";
        return text;
    }
    }
    return {};
}

std::string phaseSentence(const SchedulePhases& phases, Phase phase, const std::string& rule)
{
    switch (phase) {
    case Phase::warmUp: {
        std::string text = "Warm-up: " + counted(phases.warmUp.forwards, "forward");
        if (!rule.empty())
            text += " = " + rule;
        return text + (phases.steady.forwards > 0 ? ", to keep the ranks after it busy until the first gradient comes back"
                                                  : ": all of them, before any backward");
    }
    case Phase::steady: {
        const PhaseCounts& c = phases.steady;
        const std::string turns =
            c.forwards == c.gradients
                ? countText(c.forwards) + " times one forward and one " + (splits(phases) ? "input gradient" : "backward")
                : counted(c.forwards, "forward") + " and " + gradients(phases, c.gradients) + " in turn";
        return "Steady state: " + turns +
               (splits(phases) ? "; weight gradients fill the waits" : "; each backward frees what a forward took");
    }
    case Phase::coolDown: {
        std::string text = "Cool-down: ";
        if (phases.coolDown.gradients > 0)
            text += "the last " + gradients(phases, phases.coolDown.gradients);
        if (phases.coolDown.weights > 0)
            text += (phases.coolDown.gradients > 0 ? ", and " : "") + counted(phases.coolDown.weights, "weight gradient") +
                    " in the waits between and after them";
        else if (phases.coolDown.gradients > 0)
            text += ", with no forward left to fill the waits between them";
        else
            text += "nothing left to do";
        return text;
    }
    }
    return {};
}

} // namespace app
