#include "sim/recovery/kernel_words.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace sim {

KernelWords::KernelWords(const RunEvidence& evidence)
{
    for (std::string name : evidence.names) {
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
        const auto holdsOneOf = [&name](std::initializer_list<const char*> words) {
            return std::any_of(words.begin(), words.end(),
                               [&name](const char* word) { return name.find(word) != std::string::npos; });
        };
        way.push_back(holdsOneOf({"optimizer", "adam", "multi_tensor_apply", "grad_norm", "gradnorm"}) ? KernelWay::optimizer
                      : holdsOneOf({"wgrad", "weight_grad"})                                           ? KernelWay::weightGradient
                      : holdsOneOf({"backward", "bwd", "bprop", "dgrad", "grad_input"})                ? KernelWay::gradient
                                                                                                       : KernelWay::forward);
        isAttention.push_back(holdsOneOf({"flash", "fmha", "sdpa", "attention", "attn.core", "attn.scores", "softmax", "bmm"}));
        isLoss.push_back(way.back() == KernelWay::forward &&
                         holdsOneOf({"loss", "cross_entropy", "crossentropy", "logsoftmax", "log_softmax"}));
    }
}

} // namespace sim
