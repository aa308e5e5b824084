#include "sim/recovery/passes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>

namespace sim {
namespace {

/// Above any stage, micro-batch or slice: sums and products of such numbers fit an int.
constexpr int kMostOfAMark = 1 << 20;

/// A number at the front of `text`, which loses it; nothing where there is none, or one that no job has.
std::optional<int> takeNumber(std::string_view& text)
{
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > kMostOfAMark)
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::optional<ActionKind> kindOfLetter(char letter)
{
    switch (letter) {
    case 'F':
        return ActionKind::forward;
    case 'B':
        return ActionKind::backward;
    case 'I':
        return ActionKind::backwardInput;
    case 'W':
        return ActionKind::backwardWeight;
    default:
        return std::nullopt;
    }
}

/// "2F0", "2F0.1"; "2F" where the recorder tells the micro-batch apart.
std::optional<Action> actionOf(std::string_view text, std::int32_t microbatch, int slices)
{
    const auto stage = takeNumber(text);
    if (!stage || text.empty())
        return std::nullopt;
    const auto kind = kindOfLetter(text.front());
    text.remove_prefix(1);
    if (!kind)
        return std::nullopt;
    Action action{.kind = *kind, .stage = *stage, .microbatch = microbatch};
    if (text.empty())
        return microbatch >= 0 ? std::optional(action) : std::nullopt;
    const auto written = takeNumber(text);
    if (!written)
        return std::nullopt;
    action.microbatch = *written;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        const auto slice = takeNumber(text);
        if (!slice || *slice >= slices || *written > (INT32_MAX - *slice) / slices)
            return std::nullopt;
        action.microbatch = *written * slices + *slice;
    }
    return text.empty() ? std::optional(action) : std::nullopt;
}

/// What a rank's annotation says, before the stage is known of those that do not name it.
struct NamedPass {
    RecoveredPass pass;
    bool saysStage = true;
};

/// Of names that say no stage; a micro-batch of -1 is to be counted.
std::optional<Action> passWithoutStage(std::string_view name)
{
    const auto numbered = [&name](std::string_view word, ActionKind kind) -> std::optional<Action> {
        if (!name.starts_with(word))
            return std::nullopt;
        std::string_view rest = name.substr(word.size());
        const auto number = takeNumber(rest);
        return number && rest.empty() ? std::optional(Action{.kind = kind, .microbatch = *number}) : std::nullopt;
    };
    if (const auto forward = numbered("Forward ", ActionKind::forward))
        return forward;
    if (const auto backward = numbered("Backward ", ActionKind::backward))
        return backward;
    const std::size_t call = name.rfind(": ");
    const std::string_view frame = call == std::string_view::npos ? name : name.substr(call + 2);
    if (frame == "forward_step" || frame == "DeepSpeedEngine.forward")
        return Action{.kind = ActionKind::forward, .microbatch = -1};
    if (frame == "backward_step")
        return Action{.kind = ActionKind::backward, .microbatch = -1};
    return std::nullopt;
}

/// From torch's fully_shard: a module at the root marks where each of its passes begins and ends, on the host alone and without a
/// number (torch/distributed/fsdp/_fully_shard/_fsdp_state.py). A root's label has no name behind it.
class RootPasses {
public:
    struct Mark {
        std::string_view name;
        ActionKind kind;
        bool isEnd;
    };
    static constexpr std::array<Mark, 4> kMarks{{{"FSDP::pre_forward", ActionKind::forward, false},
                                                 {"FSDP::post_forward", ActionKind::forward, true},
                                                 {"FSDP::pre_backward", ActionKind::backward, false},
                                                 {"FSDP::root_post_backward_callback", ActionKind::backward, true}}};
    static const Mark* find(std::string_view name)
    {
        const auto* const found =
            std::find_if(kMarks.begin(), kMarks.end(), [name](const Mark& mark) { return mark.name == name; });
        return found == kMarks.end() ? nullptr : found;
    }

    void take(std::string_view name, const MarkSpan& span)
    {
        const Mark* mark = find(name);
        if (mark == nullptr)
            return;
        std::optional<std::int64_t>& beginNs = mark->kind == ActionKind::forward ? m_forwardNs : m_backwardNs;
        if (!mark->isEnd) {
            beginNs = span.startNs;
        } else if (beginNs) {
            passes.push_back({.pass = {{.kind = mark->kind, .microbatch = -1}, *beginNs, span.endNs}, .saysStage = false});
            beginNs.reset();
        }
    }
    std::vector<NamedPass> passes;

private:
    std::optional<std::int64_t> m_forwardNs, m_backwardNs;
};

/// Those without a number: with as many in each of `steps`, micro-batches are counted anew in each.
void countInSteps(std::vector<NamedPass>& passes, std::size_t steps)
{
    for (const ActionKind kind : {ActionKind::forward, ActionKind::backward}) {
        const auto isCounted = [kind](const NamedPass& named) {
            return named.pass.action.kind == kind && named.pass.action.microbatch < 0;
        };
        const auto count = static_cast<std::size_t>(std::count_if(passes.begin(), passes.end(), isCounted));
        const std::size_t each = steps > 0 && count % steps == 0 ? count / steps : count;
        std::size_t at = 0;
        for (NamedPass& named : passes)
            if (isCounted(named))
                named.pass.action.microbatch = static_cast<std::int32_t>(at++ % std::max<std::size_t>(each, 1));
    }
}

/// Those that the best of a rank's annotations tell: with their stages, with a number or counted, or by the roots of fully_shard.
std::vector<NamedPass> passesOf(const RunEvidence& evidence, const RankEvidence& rank, const PassesAsked& asked)
{
    std::vector<NamedPass> named, others;
    RootPasses roots;
    auto from = std::lower_bound(rank.marks.begin(), rank.marks.end(), asked.fromNs,
                                 [](const MarkSpan& mark, std::int64_t at) { return mark.startNs < at; });
    for (; from != rank.marks.end() && from->startNs < asked.toNs; ++from) {
        const MarkSpan& mark = *from;
        if (mark.onDevice != asked.onDevice)
            continue;
        const std::string_view name = evidence.names[mark.name];
        for (const Action& action : actionsFromMark(name, mark.microbatch, evidence.slices))
            named.push_back({.pass = {action, mark.startNs, mark.endNs}, .saysStage = true});
        if (const auto action = passWithoutStage(name))
            others.push_back({.pass = {*action, mark.startNs, mark.endNs}, .saysStage = false});
        roots.take(name, mark);
    }
    if (!named.empty())
        return named;
    std::vector<NamedPass>& told = others.empty() ? roots.passes : others;
    countInSteps(told, asked.steps);
    for (NamedPass& pass : told)
        pass.pass.action.stage = std::max(0, asked.pipelineRank);
    return std::move(told);
}

/// Of passes that each step runs once: those of the step in the middle.
std::vector<NamedPass> middleStep(const std::vector<NamedPass>& passes, std::size_t steps)
{
    std::map<Action, std::size_t> count, seen;
    for (const NamedPass& named : passes)
        ++count[named.pass.action];
    std::vector<NamedPass> middle;
    for (const NamedPass& named : passes) {
        const std::size_t times = count[named.pass.action];
        // A profiler that began within a step holds a part of it first: counted from the end all steps are whole.
        const std::size_t wanted = times - 1 - std::min(times - 1, (std::max<std::size_t>(steps, 1) - 1) / 2);
        if (seen[named.pass.action]++ == wanted)
            middle.push_back(named);
    }
    return middle;
}

} // namespace

bool RecoveredPasses::any() const
{
    return std::any_of(ranks.begin(), ranks.end(), [](const auto& passes) { return !passes.empty(); });
}

std::vector<Action> actionsFromMark(std::string_view name, std::int32_t microbatch, int slices)
{
    if (name.starts_with("PP:"))
        name.remove_prefix(3);
    constexpr std::string_view kBlock = ")OVERLAP_F_B";
    if (name.starts_with('(') && name.ends_with(kBlock)) {
        const std::string_view both = name.substr(1, name.size() - 1 - kBlock.size());
        const std::size_t middle = both.find(';');
        if (middle == std::string_view::npos)
            return {};
        auto first = actionOf(both.substr(0, middle), -1, slices);
        const auto second = actionOf(both.substr(middle + 1), -1, slices);
        if (!first || !second)
            return {};
        first->overlapsNext = true;
        return {*first, *second};
    }
    if (const auto action = actionOf(name, microbatch, slices))
        return {*action};
    return {};
}

std::vector<RecoveredPass> passesOfMarks(const RunEvidence& evidence, const RankEvidence& rank, const PassesAsked& asked)
{
    std::vector<RecoveredPass> passes;
    for (const NamedPass& named : passesOf(evidence, rank, asked))
        passes.push_back(named.pass);
    return passes;
}

bool isMarkOfPass(std::string_view name, std::int32_t microbatch, int slices)
{
    return passWithoutStage(name) || RootPasses::find(name) != nullptr || !actionsFromMark(name, microbatch, slices).empty();
}

RecoveredPasses recoverPasses(const RunEvidence& evidence, const RecoveredAxes& axes, std::size_t steps)
{
    RecoveredPasses result;
    result.pipelineRank.assign(evidence.ranks.size(), -1);
    const RecoveredAxis* pipeline = axes.find("pp");
    result.pipelineRanks = pipeline == nullptr ? 1 : pipeline->size;
    std::set<std::vector<int>> stagesTogether;
    std::vector<std::vector<int>> stagesOf(evidence.ranks.size());
    bool saysStages = false;
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        const RankEvidence& rank = evidence.ranks[r];
        if (pipeline != nullptr)
            result.pipelineRank[r] = RecoveredAxes::coordinate(*pipeline, rank.rank);
        // The host's marks order what it asked for; the device's twins say when it was done.
        PassesAsked asked{.onDevice = true, .pipelineRank = result.pipelineRank[r], .steps = steps};
        std::vector<NamedPass> named = middleStep(passesOf(evidence, rank, asked), steps);
        if (asked.onDevice = false; named.empty())
            named = middleStep(passesOf(evidence, rank, asked), steps);
        std::vector<RecoveredPass>& passes = result.ranks.emplace_back();
        std::set<int> stages;
        for (NamedPass& pass : named) {
            saysStages |= pass.saysStage;
            stages.insert(pass.pass.action.stage);
            passes.push_back(pass.pass);
        }
        stagesOf[r].assign(stages.begin(), stages.end());
        if (!stages.empty())
            stagesTogether.insert(stagesOf[r]);
    }
    const bool isGridKnown = !evidence.axes.empty(); // then ranks of several stages are no pipeline in it
    if (pipeline == nullptr && !isGridKnown && stagesTogether.size() > 1) {
        // No groups tell pipeline ranks apart: the stages they run do.
        result.pipelineRanks = static_cast<int>(stagesTogether.size());
        for (std::size_t r = 0; r < stagesOf.size(); ++r)
            if (!stagesOf[r].empty())
                result.pipelineRank[r] =
                    static_cast<int>(std::distance(stagesTogether.begin(), stagesTogether.find(stagesOf[r])));
    } else if (pipeline == nullptr) {
        std::fill(result.pipelineRank.begin(), result.pipelineRank.end(), 0);
    }
    if (result.any()) {
        result.evidence =
            saysStages ? "annotations name stage, pass and micro-batch" : "annotations name or count passes and micro-batches";
        result.sure = saysStages ? 0.98 : 0.85;
    }
    return result;
}

} // namespace sim
