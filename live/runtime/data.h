// What is trained on: text as tokens, cut into sequences. Which sequence is the n-th of a step does not depend on the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace live {

/// `data`: "builtin" or a text file. Throws sim::Error.
std::string trainingText(const std::string& data);

class TokenSource {
public:
    /// data: of trainingText(). Bytes are tokens; where the vocabulary is smaller than 256, the most frequent bytes are,
    /// and the last token stands for all others. Throws sim::Error if the text is shorter than a sequence.
    TokenSource(const std::string& data, int vocabulary, int sequenceLength, std::uint64_t seed);

    /// sequenceLength + 1 tokens: inputs, and the same shifted by one as targets.
    std::vector<std::int32_t> sequence(int step, std::int64_t index) const;

private:
    std::vector<std::int32_t> m_tokens;
    int m_length;
    std::uint64_t m_seed;
};

} // namespace live
