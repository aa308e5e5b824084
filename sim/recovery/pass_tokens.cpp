#include "sim/recovery/pass_tokens.h"

#include "sim/index.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

namespace sim {
namespace {

constexpr PassToken kLossToken = -5; ///< a forward of the last stage, where its loss is told

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
        if (letters.empty() || letters.back() != letter || letter == kLossToken)
            letters.push_back(letter);
    };
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        TokenRun run = stretch[i];
        while (run.token != kLossToken && i + 1 < stretch.size() && stretch[i + 1].token == run.token)
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

/// Kernels of the actions between two sends, in order of their ends.
class Dealing {
public:
    Dealing(std::span<const PassEvent> kernels, std::span<const Action> actions, const TokenWords& words)
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
        const auto isOfNext = [follows](const PassEvent& event) {
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
        const auto isOwn = [token](const PassEvent& event) {
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

    std::span<const PassEvent> m_kernels;
    std::span<const Action> m_actions;
    const TokenWords& m_words;
};

} // namespace

RankTokens recordedTokens(const RankEvidence& rank, const RecoveredAxis& pipeline,
                          const std::pair<std::int64_t, std::int64_t>& window, const TokenWords& words)
{
    const std::vector<PassEvent> events = passEventsOf(rank, pipeline, window, words);
    std::set<std::uint32_t> weightNames;
    for (const PassEvent& event : events)
        if (event.token == kWeightToken)
            weightNames.insert(event.name);
    RankTokens tokens;
    std::vector<TokenRun> stretch;
    const auto endStretch = [&](bool withSend) {
        std::vector<TokenRun> plain = stretch;
        for (TokenRun& run : plain)
            run.token = run.token == kLossToken ? kForwardToken : run.token;
        addStretch(plain, weightNames.size(), withSend, tokens.all);
        addStretch(stretch, weightNames.size(), withSend, tokens.withLosses);
    };
    for (const PassEvent& event : events) {
        if (event.token >= 0) {
            endStretch(true);
            tokens.all.push_back(event.token);
            tokens.withLosses.push_back(event.token);
            ++tokens.sends;
            continue;
        }
        const PassToken token = event.token == kForwardToken && words.kernels.isLoss[event.name] ? kLossToken : event.token;
        if (stretch.empty() || stretch.back().token != token) {
            stretch.push_back({token, {}});
            tokens.losses += token == kLossToken ? 1 : 0;
        }
        stretch.back().names.insert(event.name);
    }
    endStretch(false);
    return tokens;
}

std::vector<RecoveredPass> passesByTokens(const RankEvidence& rank, const RecoveredAxis& pipeline,
                                          const std::pair<std::int64_t, std::int64_t>& window, const TokenWords& words,
                                          const Schedule& schedule)
{
    const int self = RecoveredAxes::coordinate(pipeline, rank.rank);
    const std::vector<Action>& actions = schedule.actions[asIndex(self)];
    const std::vector<PassEvent> events = passEventsOf(rank, pipeline, window, words);
    std::vector<RecoveredPass> passes;
    std::vector<PassEvent> kernels;
    std::size_t first = 0, action = 0;
    for (const PassEvent& event : events) {
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

namespace {

/// Of the last stage, whose end a loss tells.
std::size_t lastForwards(const Schedule& schedule, int rank)
{
    const std::vector<Action>& actions = schedule.actions[asIndex(rank)];
    return static_cast<std::size_t>(std::count_if(actions.begin(), actions.end(), [&](const Action& action) {
        return action.kind == ActionKind::forward && schedule.leavesAt(action.stage);
    }));
}

std::vector<PassToken> scheduleTokens(const Schedule& schedule, int rank, const TokenWords& words, bool losses)
{
    std::vector<PassToken> tokens;
    std::vector<TokenRun> stretch;
    for (const Action& action : schedule.actions[asIndex(rank)]) {
        const bool isLast = losses && action.kind == ActionKind::forward && schedule.leavesAt(action.stage);
        if (words.tellsGradients)
            stretch.push_back({isLast ? kLossToken : tokenOfAction(action.kind, words), {}});
        const int to = destinationOf(schedule, rank, action);
        if (to < 0)
            continue;
        addStretch(stretch, 0, true, tokens);
        tokens.push_back(to);
    }
    addStretch(stretch, 0, false, tokens);
    return tokens;
}

/// Of each of a rank's sends, whether two passes that run as one block come before it; of the first of both sends of a block,
/// that it is that.
struct BlockSends {
    std::vector<bool> ofBlock, beginsPair;
    BlockSends(const Schedule& schedule, int rank)
    {
        const std::vector<Action>& actions = schedule.actions[asIndex(rank)];
        bool anyBlock = false;
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const bool endsBlock = i > 0 && actions[i - 1].overlapsNext;
            anyBlock = anyBlock || actions[i].overlapsNext || endsBlock;
            if (destinationOf(schedule, rank, actions[i]) < 0)
                continue;
            beginsPair.push_back(actions[i].overlapsNext && destinationOf(schedule, rank, actions[i + 1]) >= 0);
            ofBlock.push_back(anyBlock);
            anyBlock = actions[i].overlapsNext;
        }
    }
};

/// Which of the two passes of a block sends first is chance: the lower rank first.
void orderPairs(std::vector<PassToken>& tokens, const std::vector<bool>& beginsPair)
{
    std::vector<std::size_t> sends;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] >= 0)
            sends.push_back(i);
    for (std::size_t i = 0; i + 1 < std::min(sends.size(), beginsPair.size()); ++i)
        if (beginsPair[i] && tokens[sends[i]] > tokens[sends[i + 1]])
            std::swap(tokens[sends[i]], tokens[sends[i + 1]]);
}

} // namespace

TokenRows tokensBeside(const RankTokens& recorded, const Schedule& schedule, int rank, const TokenWords& words)
{
    BlockSends blocks(schedule, rank);
    const bool hasBlocks = std::find(blocks.ofBlock.begin(), blocks.ofBlock.end(), true) != blocks.ofBlock.end();
    const std::size_t forwards = lastForwards(schedule, rank);
    if (hasBlocks || forwards == 0 || recorded.losses == 0 || recorded.losses % forwards != 0) {
        TokenRows rows{recorded.all, scheduleTokens(schedule, rank, words, false), std::move(blocks.ofBlock)};
        orderPairs(rows.recorded, blocks.beginsPair);
        orderPairs(rows.schedule, blocks.beginsPair);
        return rows;
    }
    TokenRows rows{{}, scheduleTokens(schedule, rank, words, true), std::move(blocks.ofBlock)};
    // Modules that predict further tokens have losses of their own.
    const std::size_t each = recorded.losses / forwards;
    std::size_t losses = 0;
    for (const PassToken token : recorded.withLosses)
        if (token != kLossToken || ++losses % each == 0)
            rows.recorded.push_back(token);
    return rows;
}

} // namespace sim
