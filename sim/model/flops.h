// Floating-point operations of the model itself, unsharded: the numerators of MFU and HFU.
#pragma once

#include "sim/scenario/scenario.h"

namespace sim {

/// Per token of a sequence of the given length, forward only; a multiply-add counts two.
struct ForwardFlops {
    /// All matrix products with weights, output head, router and prediction modules included (as Megatron-LM counts), embedding
    /// look-up not.
    double linear = 0;
    double trained = 0;       ///< of those, with weights that are trained: all of them, or with LoRA the adapters
    double attentionFull = 0; ///< query x key and scores x value, the causal mask left out of account (Megatron-LM's convention):
                              ///< over the whole sequence, or as far to either side as a layer's window reaches
    double attentionCausal = 0; ///< half of that: what a causal model needs
};
ForwardFlops forwardFlopsPerToken(const Model&, int sequenceLength);

/// Of one training step: the backward pass is twice the forward (PaLM, appendix B). Of weights that LoRA freezes only the input's
/// gradient is needed: 4 FLOPs a parameter and token instead of 6, with which Megatron Bridge counts LoRA as well. Attention has
/// no weights: it keeps its factor 3.
struct StepFlops {
    double modelCausal = 0; ///< attention counted as the scenario's `causal` says
    double modelFull = 0;   ///< attention counted in full
    double hardware = 0;    ///< modelCausal plus what recomputation runs again (Korthikanti et al. 2022, section 6)
};
StepFlops stepFlops(const Scenario&, double attentionShare = 1);

} // namespace sim
