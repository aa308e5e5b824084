#include "sim/recovery/pass_tokens.h"

#include "sim/index.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

namespace sim {
namespace {

constexpr PassToken kNoToken = INT32_MIN; ///< an optimizer's kernel: of no pass

PassToken tokenOfWay(KernelWay way)
{
    switch (way) {
    case KernelWay::forward:
        return kForwardToken;
    case KernelWay::gradient:
        return kGradientToken;
    case KernelWay::weightGradient:
        return kWeightToken;
    case KernelWay::optimizer:
        break;
    }
    return kNoToken;
}

/// What a kernel is for by who launched it, or else by its name.
PassToken tokenOfClass(OpClass opClass, PassToken byName)
{
    switch (opClass) {
    case OpClass::forward:
    case OpClass::recompute:
        return kForwardToken;
    case OpClass::backward:
        return byName == kWeightToken ? kWeightToken : kGradientToken;
    case OpClass::backwardInput:
        return kGradientToken;
    case OpClass::backwardWeight:
        return kWeightToken;
    case OpClass::optimizer:
        return kNoToken;
    default:
        return byName;
    }
}

/// Kernels of one letter after another.
struct TokenRun {
    PassToken token = kForwardToken;
    std::set<std::uint32_t> names; ///< distinct; empty in a schedule
};

/// What lies between two sends, by the rules of recordedTokens(). `weightNames`: distinct on the rank; 0 in a schedule.
void addStretch(std::vector<TokenRun>& stretch, std::size_t weightNames, bool endsWithSend, std::vector<PassToken>& out)
{
    const auto isForward = [](const TokenRun& run) { return run.token == kForwardToken; };
    const bool sendsForward = endsWithSend && !stretch.empty() && isForward(stretch.back());
    std::erase_if(stretch, isForward);
    // Weight gradients of a whole backward follow each operator's own; a pass of them has those of all operators.
    constexpr std::size_t kFewNames = 2;
    std::vector<PassToken> letters;
    const auto add = [&letters](PassToken letter) {
        if (letter == kGradientToken && !letters.empty() && letters.back() == kWholeBackwardToken)
            return; // the rest of it
        if (letters.empty() || letters.back() != letter)
            letters.push_back(letter);
    };
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        TokenRun run = stretch[i];
        while (i + 1 < stretch.size() && stretch[i + 1].token == run.token)
            run.names.merge(stretch[++i].names);
        const bool isPart = run.token == kWeightToken && weightNames > kFewNames && run.names.size() <= kFewNames &&
                            run.names.size() * 2 < weightNames;
        if (!isPart) {
            add(run.token);
        } else {
            if (!letters.empty() && letters.back() == kGradientToken)
                letters.pop_back();
            add(kWholeBackwardToken);
        }
    }
    out.insert(out.end(), letters.begin(), letters.end());
    if (sendsForward)
        out.push_back(kForwardToken);
    stretch.clear();
}

/// To which pipeline rank a pass sends, -1 to none.
int destinationOf(const Schedule& schedule, int rank, const Action& action)
{
    int next = -1;
    if (action.kind == ActionKind::forward && !schedule.leavesAt(action.stage))
        next = action.stage + 1;
    else if ((action.kind == ActionKind::backward || action.kind == ActionKind::backwardInput) &&
             !schedule.entersAt(action.stage))
        next = action.stage - 1;
    return next < 0 || schedule.stageToRank[asIndex(next)] == rank ? -1 : schedule.stageToRank[asIndex(next)];
}

PassToken tokenOfAction(ActionKind kind, const TokenWords& words)
{
    switch (kind) {
    case ActionKind::forward:
        return kForwardToken;
    case ActionKind::backwardInput:
        return kGradientToken;
    case ActionKind::backwardWeight:
        return words.tellsWeights ? kWeightToken : kGradientToken;
    case ActionKind::backward:
        break;
    }
    return words.tellsWeights ? kWholeBackwardToken : kGradientToken;
}

} // namespace

TokenWords tokenWordsOf(const RunEvidence& evidence)
{
    TokenWords words;
    words.kernels = KernelWords(evidence);
    for (const RankEvidence& rank : evidence.ranks)
        for (const WorkSpan& span : rank.work) {
            const PassToken token = tokenOfClass(span.opClass, tokenOfWay(words.kernels.way[span.name]));
            words.tellsWeights |= token == kWeightToken;
            words.tellsGradients |= token == kGradientToken;
        }
    return words;
}

namespace {

/// A kernel counts when it ends, a send when it begins: a little later, as clocks of streams are not that exact and what is sent
/// ended before.
struct TokenEvent {
    std::int64_t ns = 0;
    PassToken token = 0;
    std::uint32_t name = 0;
    std::int64_t startNs = 0, endNs = 0; ///< of a kernel
};

std::vector<TokenEvent> eventsOf(const RankEvidence& rank, const RecoveredAxis& pipeline,
                                 const std::pair<std::int64_t, std::int64_t>& window, const TokenWords& words)
{
    constexpr std::int64_t kRightAfterNs = 2000;
    std::vector<TokenEvent> events;
    const int self = RecoveredAxes::coordinate(pipeline, rank.rank);
    const auto takeFrom = [&](const std::vector<CommSpan>& spans) {
        for (const CommSpan& span : spans)
            if (span.exchange == Exchange::send && span.peer >= 0 && span.startNs >= window.first &&
                span.startNs <= window.second)
                if (const int to = RecoveredAxes::coordinate(pipeline, span.peer); to != self)
                    events.push_back({.ns = span.startNs + kRightAfterNs, .token = to});
    };
    takeFrom(rank.comms);
    if (events.empty())
        takeFrom(rank.asked);
    if (words.tellsGradients) {
        for (const WorkSpan& span : rank.work) {
            if (span.work != DeviceWork::kernel || span.startNs < window.first || span.startNs > window.second)
                continue;
            const PassToken token = tokenOfClass(span.opClass, tokenOfWay(words.kernels.way[span.name]));
            if (token != kNoToken)
                events.push_back(
                    {.ns = span.endNs, .token = token, .name = span.name, .startNs = span.startNs, .endNs = span.endNs});
        }
    }
    std::stable_sort(events.begin(), events.end(), [](const TokenEvent& a, const TokenEvent& b) { return a.ns < b.ns; });
    return events;
}

/// Kernels of the actions between two sends, in order of their ends.
class Dealing {
public:
    Dealing(std::span<const TokenEvent> kernels, std::span<const Action> actions, const TokenWords& words)
        : m_kernels(kernels), m_actions(actions), m_words(words)
    {
    }
    /// A whole backward holds kernels of either gradient: beside a pass of one of them nothing tells which are whose.
    bool areTold() const
    {
        for (std::size_t i = 1; i < m_actions.size(); ++i) {
            const PassToken a = tokenOf(i - 1), b = tokenOf(i);
            if (a != b && a != kForwardToken && b != kForwardToken && (a == kWholeBackwardToken || b == kWholeBackwardToken))
                return false;
        }
        return true;
    }
    void addTo(std::vector<RecoveredPass>& passes) const
    {
        std::size_t kernel = 0;
        for (std::size_t first = 0; first < m_actions.size();) {
            std::size_t last = first + 1;
            while (last < m_actions.size() && tokenOf(last) == tokenOf(first))
                ++last;
            const std::size_t end = last == m_actions.size() ? m_kernels.size() : endOf(kernel, tokenOf(first), last);
            const std::size_t count = last - first;
            for (std::size_t i = 0; i < count; ++i)
                add(passes, m_actions[first + i], kernel + (end - kernel) * i / count, kernel + (end - kernel) * (i + 1) / count);
            kernel = end;
            first = last;
        }
    }

private:
    PassToken tokenOf(std::size_t action) const { return tokenOfAction(m_actions[action].kind, m_words); }
    /// Where kernels of actions of a letter end, which begin at `kernel`; `next`: the action that follows.
    std::size_t endOf(std::size_t kernel, PassToken token, std::size_t next) const
    {
        const PassToken follows = tokenOf(next);
        const auto isOfNext = [follows](const TokenEvent& event) {
            return follows == kWholeBackwardToken ? event.token != kForwardToken : event.token == follows;
        };
        const auto isLastGroup = [&] {
            for (std::size_t i = next; i < m_actions.size(); ++i)
                if (tokenOf(i) != follows)
                    return false;
            return true;
        }();
        if (follows == kForwardToken && isLastGroup) { // those before the last other kernel are run again
            std::size_t end = m_kernels.size();
            while (end > kernel && isOfNext(m_kernels[end - 1]))
                --end;
            return end;
        }
        std::size_t end = kernel;
        const auto isOwn = [token](const TokenEvent& event) {
            return token == kWholeBackwardToken ? event.token != kForwardToken : event.token == token;
        };
        while (end < m_kernels.size() && !isOwn(m_kernels[end]))
            ++end;
        while (end < m_kernels.size() && !isOfNext(m_kernels[end]))
            ++end;
        return end;
    }
    void add(std::vector<RecoveredPass>& passes, const Action& action, std::size_t first, std::size_t end) const
    {
        if (first >= end)
            return;
        RecoveredPass pass{.action = action, .startNs = m_kernels[first].startNs, .endNs = m_kernels[end - 1].endNs};
        pass.action.overlapsNext = false;
        for (std::size_t i = first; i < end; ++i)
            pass.startNs = std::min(pass.startNs, m_kernels[i].startNs);
        passes.push_back(pass);
    }

    std::span<const TokenEvent> m_kernels;
    std::span<const Action> m_actions;
    const TokenWords& m_words;
};

} // namespace

std::vector<PassToken> recordedTokens(const RankEvidence& rank, const RecoveredAxis& pipeline,
                                      const std::pair<std::int64_t, std::int64_t>& window, const TokenWords& words)
{
    const std::vector<TokenEvent> events = eventsOf(rank, pipeline, window, words);
    std::set<std::uint32_t> weightNames;
    for (const TokenEvent& event : events)
        if (event.token == kWeightToken)
            weightNames.insert(event.name);
    std::vector<PassToken> tokens;
    std::vector<TokenRun> stretch;
    for (const TokenEvent& event : events) {
        if (event.token >= 0) {
            addStretch(stretch, weightNames.size(), true, tokens);
            tokens.push_back(event.token);
            continue;
        }
        if (stretch.empty() || stretch.back().token != event.token)
            stretch.push_back({event.token, {}});
        stretch.back().names.insert(event.name);
    }
    addStretch(stretch, weightNames.size(), false, tokens);
    return tokens;
}

std::vector<RecoveredPass> passesByTokens(const RankEvidence& rank, const RecoveredAxis& pipeline,
                                          const std::pair<std::int64_t, std::int64_t>& window, const TokenWords& words,
                                          const Schedule& schedule)
{
    const int self = RecoveredAxes::coordinate(pipeline, rank.rank);
    const std::vector<Action>& actions = schedule.actions[asIndex(self)];
    const std::vector<TokenEvent> events = eventsOf(rank, pipeline, window, words);
    std::vector<RecoveredPass> passes;
    std::vector<TokenEvent> kernels;
    std::size_t first = 0, action = 0;
    for (const TokenEvent& event : events) {
        if (event.token < 0) {
            kernels.push_back(event);
            continue;
        }
        while (action < actions.size() && destinationOf(schedule, self, actions[action]) < 0)
            ++action;
        if (action == actions.size() || destinationOf(schedule, self, actions[action]) != event.token)
            return {};
        ++action;
        const Dealing dealing(kernels, std::span(actions).subspan(first, action - first), words);
        if (!dealing.areTold())
            return {};
        dealing.addTo(passes);
        kernels.clear();
        first = action;
    }
    for (std::size_t i = first; i < actions.size(); ++i)
        if (destinationOf(schedule, self, actions[i]) >= 0)
            return {};
    const Dealing dealing(kernels, std::span(actions).subspan(first), words);
    if (!dealing.areTold())
        return {};
    dealing.addTo(passes);
    return passes;
}

std::vector<PassToken> scheduleTokens(const Schedule& schedule, int rank, const TokenWords& words)
{
    std::vector<PassToken> tokens;
    std::vector<TokenRun> stretch;
    for (const Action& action : schedule.actions[asIndex(rank)]) {
        if (words.tellsGradients)
            stretch.push_back({tokenOfAction(action.kind, words), {}});
        const int to = destinationOf(schedule, rank, action);
        if (to < 0)
            continue;
        addStretch(stretch, 0, true, tokens);
        tokens.push_back(to);
    }
    addStretch(stretch, 0, false, tokens);
    return tokens;
}

} // namespace sim
