#include "live/runtime/data.h"

#include "live/kernels/philox.h"
#include "sim/error.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

namespace live {
namespace {

constexpr int kBytes = 256;

/// Byte -> token.
std::array<std::int32_t, kBytes> tokenOfByte(const std::string& text, int vocabulary)
{
    std::array<std::int32_t, kBytes> token{};
    std::iota(token.begin(), token.end(), 0);
    if (vocabulary >= kBytes)
        return token;
    std::array<std::int64_t, kBytes> count{};
    for (const char c : text)
        ++count[static_cast<unsigned char>(c)];
    std::array<int, kBytes> order{};
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return count[static_cast<std::size_t>(a)] > count[static_cast<std::size_t>(b)]; });
    for (int place = 0; place < kBytes; ++place)
        token[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])] = std::min(place, vocabulary - 1);
    return token;
}

} // namespace

std::string trainingText(const std::string& data)
{
    const std::filesystem::path path =
        data == "builtin" ? sim::Catalogue::findAssets() / "corpus" / "shakespeare.txt" : std::filesystem::path(data);
    constexpr std::size_t kMostBytes = std::size_t{1} << 30U; // all of it is held
    try {
        return sim::readFile(path, kMostBytes);
    } catch (const sim::Error& error) {
        throw sim::Error(std::string("training data: ") + error.what());
    }
}

TokenSource::TokenSource(const std::string& data, int vocabulary, int sequenceLength, std::uint64_t seed)
    : m_length(sequenceLength), m_seed(seed)
{
    const std::string text = trainingText(data);
    if (text.size() < static_cast<std::size_t>(sequenceLength) + 1)
        throw sim::Error("training data: " + data + " has " + std::to_string(text.size()) + " bytes, a sequence needs " +
                         std::to_string(sequenceLength + 1));
    const auto token = tokenOfByte(text, vocabulary);
    m_tokens.reserve(text.size());
    for (const char c : text)
        m_tokens.push_back(token[static_cast<unsigned char>(c)]);
}

std::vector<std::int32_t> TokenSource::sequence(int step, std::int64_t index) const
{
    const PhiloxCounter words = philox({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                         static_cast<std::uint32_t>(step), 0x64617461U}}, // "data"
                                       philoxKey(m_seed));
    const std::uint64_t starts = m_tokens.size() - static_cast<std::size_t>(m_length);
    const std::uint64_t first = (std::uint64_t{words.word[0]} << 32 | words.word[1]) % starts;
    const auto begin = m_tokens.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + m_length + 1};
}

} // namespace live
