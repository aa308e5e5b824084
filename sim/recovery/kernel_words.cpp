#include "sim/recovery/kernel_words.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace sim {
namespace {

bool holdsOneOfWords(std::string_view name, std::initializer_list<std::string_view> words)
{
    return std::any_of(words.begin(), words.end(),
                       [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

} // namespace

bool namesGradient(std::string_view lowered)
{
    return holdsOneOfWords(lowered, {"backward", "bwd", "bprop", "dgrad", "grad_input"});
}

bool namesWeightGradient(std::string_view lowered)
{
    return holdsOneOfWords(lowered, {"wgrad", "weight_grad"});
}

bool namesOptimizer(std::string_view lowered)
{
    return holdsOneOfWords(lowered, {"optimizer", "adam", "multi_tensor_apply", "grad_norm", "gradnorm"});
}

bool namesFusedAttention(std::string_view lowered)
{
    return holdsOneOfWords(lowered, {"flash", "fmha", "fused_attention", "flex_attention", "sdpa", "attention_kernel", "mha_",
                                     "attn_fwd", "attn_bwd", "bwd_kernel_dk_dv", "bwd_kernel_dq", "bwd_kernel_fuse"});
}

bool namesProduct(std::string_view lowered)
{
    return holdsOneOfWords(lowered, {"gemm", "gemv", "cutlass", "cublas", "nvjet", "wgmma", "xmma", "hmma", "cijk_", "matmul",
                                     "_mm_", "splitkreduce"});
}

bool namesExperts(std::string_view lowered)
{
    if (holdsOneOfWords(lowered, {"expert", "router", "deep_ep", "deepep", "dpsk::ep::", "grouped_gemm", "groupedgemm",
                                  "grouped_mm", "unpermute", "token_dispatch", "token_combine"}))
        return true;
    // "fused_moe_kernel", "MoELayer", and no word that only ends so.
    constexpr std::string_view kMixture = "moe";
    for (std::size_t at = lowered.find(kMixture); at != std::string_view::npos; at = lowered.find(kMixture, at + 1))
        if (at == 0 || std::isalpha(static_cast<unsigned char>(lowered[at - 1])) == 0)
            return true;
    return false;
}

bool namesTables(std::string_view lowered)
{
    return holdsOneOfWords(lowered, {"all2all_data", "sparse_data_dist", "kjtlist", "kjtalltoall", "kjt ", "pooledembedding",
                                     "pooled_embedding", "embeddingbag", "embedding_bag", "split_embedding", "sparse_arch",
                                     "sparse_features", "sparse_data_kernel", "global_emb"});
}

std::string loweredName(std::string_view name)
{
    std::string lowered(name);
    std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                   [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
    return lowered;
}

KernelWords::KernelWords(const RunEvidence& evidence)
{
    for (const std::string& written : evidence.names) {
        const std::string name = loweredName(written);
        way.push_back(namesOptimizer(name)        ? KernelWay::optimizer
                      : namesWeightGradient(name) ? KernelWay::weightGradient
                      : namesGradient(name)       ? KernelWay::gradient
                                                  : KernelWay::forward);
        isAttention.push_back(namesFusedAttention(name) ||
                              holdsOneOfWords(name, {"attention", "attn.core", "attn.scores", "softmax", "bmm"}));
        isLoss.push_back(way.back() == KernelWay::forward &&
                         holdsOneOfWords(name, {"loss", "cross_entropy", "crossentropy", "logsoftmax", "log_softmax"}));
    }
}

} // namespace sim
