// The mixture-of-experts half of a layer: router, dispatch of tokens to the ranks of their experts, grouped MLP, and the way
// back, beside them experts that every token goes to. Shazeer et al. 2017; load-balancing loss of the Switch Transformer (Fedus
// et al. 2021) per micro-batch; DeepSeek-V3's scores, groups and choice (DeepSeek-AI 2024, section 2.1.2).
//
// Tokens go to ranks of their experts by an all-to-all over ep, and from there to the ranks with the experts' other slices by a
// gathering over expt_tp; outputs come back by a reduction over expt_tp, which sums the slices, and an all-to-all: as Megatron
// Core's MoEAlltoAllTokenDispatcher does it, and as the simulator has it. Where tp ranks have the same tokens, each sends its
// share of them, and the results are put together over tp: so it does not matter how the axes are ordered.
#pragma once

#include "live/model/feed_forward.h"
#include "live/model/input.h"
#include "live/model/norm.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace live {

/// Kept from the forward pass on.
struct MoeSaved {
    Array input, statistics, normalized;
    Array logits, probabilities, experts, weights;   ///< of the router
    Array order, place;                              ///< see Queue::sortByExpert
    std::vector<std::int64_t> sendRows, receiveRows; ///< by member of ep
    std::vector<std::int64_t> sliceRows;             ///< by member of expt_tp: rows that came to it
    std::int64_t paddedRows = 0; ///< what each of them gives to the others: the most of these; of several slices at least one
    std::vector<std::int64_t> expertRows; ///< by local expert
    Array toSorted, fromSorted;    ///< i32: rows that came to any slice in the order of local experts, and back, without padding
    Array expertInput, up, hidden; ///< in that order
    Array routed;                  ///< what came back, by slot in the order of experts
    Array dUp, dExpertOutput, dLogits; ///< from the input gradient to the weight gradient
    FeedForwardSaved shared;
};

class Moe {
public:
    Moe(RankContext&, const Shape&, Bucket& dense, Bucket& experts, const std::string& prefix, int stage, int layer);

    Task<Array> forward(const Input&, Array x, MoeSaved&);
    /// As Attention's.
    Task<> restore(const Input&, MoeSaved&);
    /// The input gradient; `ofWeights`: also those of the experts that every token goes to, as FeedForward's.
    Task<Array> backwardInput(const Input&, Array dy, MoeSaved&, bool ofWeights);
    /// The rest of the weights' gradients; `withShared`: backwardInput was not asked for theirs.
    Task<> backwardWeight(MoeSaved&, bool withShared);

    /// The load-balancing losses of the micro-batches so far, counted once over all ranks; an exact sum.
    std::array<std::int64_t, kExactSumWords> auxiliaryLoss{};

private:
    /// Of the load-balancing loss, from the first slice of a micro-batch that goes forward to the last that comes back.
    struct Balance {
        std::vector<std::int64_t> chosen;      ///< [expert]: how often, in the slices so far
        std::vector<std::vector<double>> sums; ///< [slice][expert]: of probabilities, on this rank
        Array gradient;                        ///< [1, experts]: of the probabilities; once all slices are here
        int taken = 0;                         ///< slices that have used it
    };
    struct Expert {
        Parameter *gate = nullptr, *up = nullptr, *down = nullptr;
        Parameter *gateBias = nullptr, *upBias = nullptr, *downBias = nullptr; ///< null: none
    };
    /// From the norm to the sum of the experts' outputs.
    Task<Array> run(const Input&, MoeSaved&);
    void drop(MoeSaved&) const;
    Task<> route(const Input&, MoeSaved&);
    Task<> balance(const Input&, const MoeSaved&);
    Task<> planExchange(MoeSaved&);
    /// Rows by slot in the order of experts, to the experts' ranks, in the order of local experts.
    Task<Array> exchangeOut(Tensor slots, const MoeSaved&);
    /// And back, slices summed.
    Task<Array> exchangeBack(Tensor sorted, const MoeSaved&);
    Tensor upOf(const Expert&, bool gradient) const;
    Tensor upBiasOf(const Expert&, bool gradient) const; ///< empty: none
    /// Of several ranks with slices of an expert, whose outputs are summed, one adds its bias.
    bool addsDownBias(const Expert& expert) const { return expert.downBias && m_context.coordinates.exptTp == 0; }
    template <class Weight, class Bias>
    std::vector<LinearPart> parts(const MoeSaved&, const Weight&, const Bias&) const;
    std::vector<LinearPart> upParts(const MoeSaved&, bool gradient) const;
    std::vector<LinearPart> downParts(const MoeSaved&) const;
    std::vector<LinearPart> downGradientParts(const MoeSaved&) const;
    bool repeatsTokens() const { return m_shape.tp > 1 && !m_shape.sequenceParallel; }
    /// The rows whose tokens this rank sends.
    Tensor ownRows(const Tensor& local) const { return local.rowRange(m_firstRow, m_rows); }
    /// Of local rows: this rank's are what `make` puts there, the others come from the other tp ranks.
    template <class Make>
    Task<Array> wholeRows(Make make);

    RankContext& m_context;
    const Shape& m_shape;
    const int m_layer;
    const sim::RecomputeModules m_dropped;
    Norm m_norm;
    bool m_gated;
    ActivationFunction m_activation;
    std::int64_t m_experts, m_choices, m_columns;
    std::int64_t m_firstRow = 0, m_rows; ///< of local rows, those whose tokens this rank sends
    RouterRule m_rule;
    std::map<int, Balance> m_balances; ///< by micro-batch
    /// By member of tp_ep: which slices it has, and of which experts: its places in expt_tp and in ep.
    struct Place {
        int slice = 0, expertRank = 0;
    };
    std::vector<Place> m_places;
    Parameter *m_router, *m_routerBias = nullptr;
    std::unique_ptr<FeedForward> m_shared; ///< none: no such experts
    std::vector<Expert> m_local;
    KernelLabel m_routeLabel, m_permuteLabel, m_upLabel, m_activationLabel, m_downLabel, m_combineLabel, m_addLabel;
};

} // namespace live
