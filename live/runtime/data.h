// What is trained on, cut into sequences: the bytes of a text, or token ids that a tokenizer has made. Which sequence is the n-th
// of a step does not depend on the layout. The file is read where a sequence lies, never held: it may be larger than memory.
#pragma once

#include "live/runtime/file_mark.h"
#include "live/runtime/tensor_file.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace live {

/// Whether `data` (live.data) is a file of token ids, by its name: *.npy, a numpy array of integers; *.bin, the ids alone,
/// little-endian, of 2 bytes each or of 4 where the vocabulary has more than 65,536 (as nanoGPT's and Megatron's), behind llm.c's
/// header where there is one. Everything else is a text.
bool isTokenIds(const std::string& data);

/// Whether two runs, or the processes of one, train on the same. Throws sim::ScenarioError: it cannot be read.
FileMark markOfData(const std::string& data);

class TokenSource {
public:
    /// data: "builtin", a text file or a file of token ids. Of a text bytes are tokens; where the vocabulary is smaller than 256,
    /// the most frequent bytes are, and the last token stands for all others. Throws sim::ScenarioError: it cannot be read, is
    /// shorter than a sequence, or does not begin with ids of the vocabulary.
    TokenSource(std::string data, int vocabulary, int sequenceLength, std::uint64_t seed);

    /// sequenceLength + 1 tokens: inputs, and the same shifted by one as targets. Any thread. Throws sim::Error: the file has
    /// changed, or has ids there that are none of the vocabulary.
    std::vector<std::int32_t> sequence(int step, std::int64_t index) const;

private:
    std::vector<std::int32_t> tokens(std::uint64_t first, std::uint64_t count) const;

    const std::string m_data;
    const std::unique_ptr<PlacedFile> m_file;
    const std::uint64_t m_bytes;       ///< of the file
    std::uint64_t m_begin = 0;         ///< of the first id, in bytes
    unsigned m_width = 1;              ///< of an id, in bytes
    bool m_isSigned = false;           ///< an id's first bit is a sign
    std::uint64_t m_count = 0;         ///< of ids
    std::vector<std::int32_t> m_token; ///< of a byte; empty: ids are tokens
    int m_vocabulary;
    int m_length;
    std::uint64_t m_seed;
};

} // namespace live
