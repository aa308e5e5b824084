#include "sim/recovery/counted_passes.h"

#include "sim/index.h"
#include "sim/recovery/pass_events.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

namespace sim {
namespace {

/// What one rank did in a step, as numbers of kernels.
class RankKernels {
public:
    RankKernels(const RankEvidence& rank, const RecoveredAxis& pipeline, const std::pair<std::int64_t, std::int64_t>& window,
                const TokenWords& words)
        : m_stage(RecoveredAxes::coordinate(pipeline, rank.rank)), m_stages(pipeline.size), m_words(words)
    {
        for (PassEvent& event : passEventsOf(rank, pipeline, window, words)) {
            if (event.token == m_stage + 1)
                m_forwardsBeforeSend.push_back(m_forwards.size());
            else if (event.token == m_stage - 1 && m_stage > 0)
                m_gradientsBeforeSend.push_back(m_gradients.size());
            else if (event.token >= 0)
                m_sendsElsewhere = true;
            else
                (event.token == kForwardToken    ? m_forwards
                 : event.token == kGradientToken ? m_gradients
                                                 : m_weights)
                    .push_back({event, m_kernels++});
        }
    }

    /// How many micro-batches it sent, nothing where it sends otherwise than a rank of one stage.
    std::optional<std::size_t> microbatches() const
    {
        const bool isFirst = m_stage == 0, isLast = m_stage + 1 == m_stages;
        if (m_sendsElsewhere || (!isFirst && !isLast && m_forwardsBeforeSend.size() != m_gradientsBeforeSend.size()))
            return std::nullopt;
        return isLast ? m_gradientsBeforeSend.size() : m_forwardsBeforeSend.size();
    }
    /// Nothing where kernels are not those of so many micro-batches.
    std::optional<std::vector<RecoveredPass>> passes(std::size_t microbatches) const;
    /// Whether it is told when its forwards end.
    bool tellsForwards(std::size_t microbatches) const
    {
        return m_stage + 1 < m_stages || (lossEnds().size() >= microbatches && lossEnds().size() % microbatches == 0);
    }

private:
    struct Kernel {
        PassEvent event;
        std::size_t place; ///< among all of the rank
    };
    using Kernels = std::span<const Kernel>;

    /// Of each run of kernels of losses the last, by place among forwards.
    std::vector<std::size_t> lossEnds() const
    {
        std::vector<std::size_t> ends;
        for (std::size_t i = 0; i < m_forwards.size(); ++i) {
            if (!m_words.kernels.isLoss[m_forwards[i].event.name])
                continue;
            if (!ends.empty() && ends.back() + 1 == i && m_forwards[i - 1].place + 1 == m_forwards[i].place)
                ends.back() = i;
            else
                ends.push_back(i);
        }
        return ends;
    }
    std::vector<Kernels> forwards(std::size_t microbatches) const;
    std::vector<Kernels> gradients(std::size_t microbatches) const;
    static RecoveredPass passOf(ActionKind kind, int stage, std::size_t microbatch, Kernels kernels)
    {
        RecoveredPass pass{.action = {.kind = kind, .stage = stage, .microbatch = static_cast<std::int32_t>(microbatch)},
                           .startNs = kernels.front().event.startNs,
                           .endNs = kernels.back().event.endNs};
        for (const Kernel& kernel : kernels)
            pass.startNs = std::min(pass.startNs, kernel.event.startNs);
        return pass;
    }
    /// Whether passes run the same kernels: what was cut in the wrong places does not.
    static bool areAlike(const std::vector<Kernels>& passes)
    {
        const auto names = [](Kernels kernels) {
            std::vector<std::uint32_t> out;
            for (const Kernel& kernel : kernels)
                out.push_back(kernel.event.name);
            std::sort(out.begin(), out.end());
            return out;
        };
        const std::vector<std::uint32_t> first = names(passes.front());
        return std::all_of(passes.begin() + 1, passes.end(), [&](Kernels pass) { return names(pass) == first; });
    }
    static std::vector<Kernels> equalShares(Kernels all, std::size_t count)
    {
        std::vector<Kernels> shares;
        if (all.empty() || all.size() % count != 0)
            return shares;
        const std::size_t each = all.size() / count;
        for (std::size_t i = 0; i < count; ++i)
            shares.push_back(all.subspan(i * each, each));
        return shares;
    }

    int m_stage, m_stages;
    const TokenWords& m_words;
    std::vector<Kernel> m_forwards, m_gradients, m_weights;
    std::vector<std::size_t> m_forwardsBeforeSend, m_gradientsBeforeSend;
    bool m_sendsElsewhere = false;
    std::size_t m_kernels = 0;
};

/// Those right before their send, each as many as the pass that had fewest: others before it are run again for a gradient.
std::vector<RankKernels::Kernels> RankKernels::forwards(std::size_t microbatches) const
{
    std::vector<Kernels> out;
    const Kernels all(m_forwards);
    if (m_stage + 1 < m_stages) {
        std::size_t each = m_forwards.size(), before = 0;
        for (const std::size_t until : m_forwardsBeforeSend) {
            each = std::min(each, until - before);
            before = until;
        }
        for (const std::size_t until : m_forwardsBeforeSend)
            if (each > 0)
                out.push_back(all.subspan(until - each, each));
        return out;
    }
    const std::vector<std::size_t> losses = lossEnds();
    const std::size_t each = losses.size() / microbatches; // modules that predict further tokens have one of their own
    std::size_t before = 0;
    for (std::size_t i = each; i <= losses.size(); i += each) {
        const std::size_t last = losses[i - 1];
        std::size_t first = losses[i - each];
        while (first > before && m_forwards[first - 1].place + 1 == m_forwards[first].place)
            --first;
        out.push_back(all.subspan(first, last + 1 - first));
        before = last + 1;
    }
    return out;
}

std::vector<RankKernels::Kernels> RankKernels::gradients(std::size_t microbatches) const
{
    const Kernels all(m_gradients);
    if (m_stage == 0)
        return equalShares(all, microbatches);
    std::vector<Kernels> out;
    std::size_t before = 0;
    for (const std::size_t until : m_gradientsBeforeSend) {
        if (until == before)
            return {};
        out.push_back(all.subspan(before, until - before));
        before = until;
    }
    return out;
}

std::optional<std::vector<RecoveredPass>> RankKernels::passes(std::size_t microbatches) const
{
    std::vector<RecoveredPass> passes;
    const auto add = [&](ActionKind kind, std::size_t microbatch, Kernels kernels) {
        passes.push_back(passOf(kind, m_stage, microbatch, kernels));
    };
    const std::vector<Kernels> ahead = forwards(microbatches), back = gradients(microbatches),
                               weights = equalShares(m_weights, microbatches);
    if (ahead.size() != microbatches || back.size() != microbatches || weights.size() != microbatches || !areAlike(ahead) ||
        !areAlike(back) || !areAlike(weights))
        return std::nullopt;
    // Forwards that are run again are those of no forward.
    std::vector<Kernel> again;
    auto next = ahead.begin();
    for (std::size_t i = 0; i < m_forwards.size(); ++i) {
        while (next != ahead.end() && next->data() + next->size() <= &m_forwards[i])
            ++next;
        if (next == ahead.end() || &m_forwards[i] < next->data())
            again.push_back(m_forwards[i]);
    }
    const std::vector<Kernels> recomputed = equalShares(again, microbatches);
    for (std::size_t i = 0; i < microbatches; ++i) {
        add(ActionKind::forward, i, ahead[i]);
        // Weight gradients of a whole backward follow each operator's own gradient.
        const bool isWhole = weights[i].front().place < back[i].back().place;
        add(isWhole ? ActionKind::backward : ActionKind::backwardInput, i, back[i]);
        if (!recomputed.empty())
            passes.back().startNs = std::min(passes.back().startNs, recomputed[i].front().event.startNs);
        if (isWhole)
            passes.back().endNs = std::max(passes.back().endNs, weights[i].back().event.endNs);
        else
            add(ActionKind::backwardWeight, i, weights[i]);
    }
    std::stable_sort(passes.begin(), passes.end(),
                     [](const RecoveredPass& a, const RecoveredPass& b) { return a.endNs < b.endNs; });
    return passes;
}

} // namespace

void countPasses(const RunEvidence& evidence, const RecoveredAxes& axes,
                 const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow, RecoveredPasses& passes)
{
    const RecoveredAxis* pipeline = axes.find("pp");
    if (passes.any() || pipeline == nullptr || pipeline->size < 2 || stepWindow.size() != evidence.ranks.size())
        return;
    const TokenWords words = tokenWordsOf(evidence);
    if (!words.tellsWeights || !words.tellsGradients)
        return;
    std::optional<std::size_t> microbatches;
    std::vector<std::vector<RecoveredPass>> counted(evidence.ranks.size());
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        const RankKernels rank(evidence.ranks[r], *pipeline, stepWindow[r], words);
        const auto own = rank.microbatches();
        if (!own || *own == 0 || (microbatches && *microbatches != *own))
            return;
        microbatches = own;
        if (!rank.tellsForwards(*microbatches))
            continue;
        auto told = rank.passes(*microbatches);
        if (!told)
            return;
        counted[r] = std::move(*told);
    }
    passes.ranks = std::move(counted);
    if (passes.any()) {
        passes.areCounted = true;
        passes.evidence = "no annotations: kernels for forwards, gradients and weight gradients, counted between sends";
        passes.sure = 0.85;
    }
}

std::vector<Action> numberedAsTheyCome(std::vector<Action> row)
{
    std::map<std::pair<ActionKind, int>, std::int32_t> seen;
    for (Action& action : row)
        action.microbatch = seen[{action.kind, action.stage}]++;
    return row;
}

} // namespace sim
