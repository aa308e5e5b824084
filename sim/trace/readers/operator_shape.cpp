#include "sim/trace/readers/operator_shape.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sim {

bool isShapedOperator(std::string_view name)
{
    constexpr auto kShaped = std::to_array<std::string_view>(
        {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm", "aten::_scaled_dot_product_flash_attention",
         "aten::_scaled_dot_product_flash_attention_backward", "aten::_scaled_dot_product_efficient_attention",
         "aten::_scaled_dot_product_efficient_attention_backward", "aten::_scaled_dot_product_cudnn_attention",
         "aten::_scaled_dot_product_cudnn_attention_backward"});
    return name.starts_with("aten::") && std::find(kShaped.begin(), kShaped.end(), name) != kShaped.end();
}

std::vector<std::vector<std::int64_t>> inputDims(std::string_view written)
{
    constexpr std::size_t kMostInputs = 64, kMostDims = 16;
    std::vector<std::vector<std::int64_t>> inputs;
    int depth = 0;
    for (const char* at = written.data(); at < written.data() + written.size();) {
        const char c = *at;
        if (c == '[') {
            if (++depth == 2 && inputs.size() < kMostInputs)
                inputs.emplace_back();
        } else if (c == ']') {
            --depth;
        } else if (c >= '0' && c <= '9') {
            std::int64_t number = 0;
            const auto [end, error] = std::from_chars(at, written.data() + written.size(), number);
            if (error == std::errc() && depth == 2 && !inputs.empty() && inputs.back().size() < kMostDims)
                inputs.back().push_back(number);
            at = end;
            continue;
        }
        ++at;
    }
    return inputs;
}

std::string firstTensorType(std::string_view written)
{
    const auto isOfWord = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' || c == '_';
    };
    for (std::size_t at = 0; at < written.size();) {
        std::size_t end = at;
        while (end < written.size() && isOfWord(written[end]))
            ++end;
        const std::string_view word = written.substr(at, end - at);
        if (!word.empty() && word != "Scalar" && word != "ScalarList" && word != "TensorList")
            return std::string(word);
        at = std::max(end, at + 1);
    }
    return {};
}

} // namespace sim
