#include "live/runtime/data.h"

#include "live/kernels/philox.h"
#include "sim/error.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>

namespace live {
namespace {

constexpr std::size_t kByteValues = 256;
constexpr std::uint64_t kPieceOfData = std::uint64_t{1} << 20U;

[[noreturn]] void refuseData(const std::string& why)
{
    throw sim::ScenarioError({{.file = {}, .pointer = "/live/data", .message = why}});
}

std::unique_ptr<PlacedFile> openData(const std::string& data)
{
    const std::filesystem::path path =
        data == "builtin" ? sim::Catalogue::findAssets() / "corpus" / "shakespeare.txt" : std::filesystem::path(data);
    try {
        return std::make_unique<PlacedFile>(path, PlacedFile::Mode::read);
    } catch (const sim::Error& error) {
        refuseData(error.what());
    }
}

void forEachPieceOfData(const PlacedFile& file, const std::function<void(const std::string&)>& use)
{
    const std::uint64_t bytes = file.size();
    std::string piece;
    for (std::uint64_t at = 0; at < bytes; at += kPieceOfData) {
        piece.resize(std::min(kPieceOfData, bytes - at));
        file.read(at, piece.data(), piece.size());
        use(piece);
    }
}

/// Byte -> token.
std::vector<std::int32_t> tokenOfByte(const PlacedFile& text, int vocabulary)
{
    std::vector<std::int32_t> token(kByteValues);
    std::iota(token.begin(), token.end(), 0);
    if (vocabulary >= static_cast<int>(kByteValues))
        return token;
    std::array<std::int64_t, kByteValues> count{};
    forEachPieceOfData(text, [&](const std::string& piece) {
        for (const char c : piece)
            ++count[static_cast<unsigned char>(c)];
    });
    std::array<std::size_t, kByteValues> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
    for (std::size_t place = 0; place < kByteValues; ++place)
        token[order[place]] = std::min(static_cast<std::int32_t>(place), vocabulary - 1);
    return token;
}

/// Where a file's ids begin, how many bytes each has, and whether the first bit is a sign.
struct IdsPlace {
    std::uint64_t begin = 0;
    unsigned width = 2;
    bool isSigned = false;
};

/// Of numpy: as its headers say them.
struct IdType {
    const char* name;
    unsigned width;
    bool isSigned;
};
constexpr std::array<IdType, 7> kIdTypes{{{"'|u1'", 1, false},
                                          {"'<u2'", 2, false},
                                          {"'<i2'", 2, true},
                                          {"'<u4'", 4, false},
                                          {"'<i4'", 4, true},
                                          {"'<u8'", 8, false},
                                          {"'<i8'", 8, true}}};

/// llm.c's header: 256 numbers of 4 bytes, the first two of which tell what it is.
IdsPlace placeInBin(const PlacedFile& file, int vocabulary)
{
    constexpr int kMostOfTwoBytes = 65'536;
    constexpr std::uint64_t kHeaderBytes = 1024;
    constexpr std::uint32_t kMagic = 20'240'520, kTwoBytes = 1, kFourBytes = 7;
    std::array<std::uint32_t, 2> words{};
    if (file.size() >= kHeaderBytes)
        file.read(0, words.data(), sizeof words);
    if (words[0] == kMagic && (words[1] == kTwoBytes || words[1] == kFourBytes))
        return {.begin = kHeaderBytes, .width = words[1] == kTwoBytes ? 2U : 4U};
    return {.begin = 0, .width = vocabulary <= kMostOfTwoBytes ? 2U : 4U};
}

/// numpy's format, versions 1 to 3: magic, version, the header's length, and a dictionary as Python writes it.
IdsPlace placeInNpy(const PlacedFile& file, const std::string& name)
{
    constexpr std::array<unsigned char, 6> kNumpyMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    constexpr std::uint32_t kLongestHeader = 65'536;
    std::array<unsigned char, 12> start{};
    if (file.size() >= start.size())
        file.read(0, start.data(), start.size());
    if (!std::equal(kNumpyMagic.begin(), kNumpyMagic.end(), start.begin()))
        refuseData(name + " is no numpy array (.npy)");
    const bool isShort = start[6] == 1; // the version
    const std::uint32_t shortLength = start[8] | static_cast<std::uint32_t>(start[9]) << 8U;
    const std::uint32_t length =
        isShort ? shortLength
                : shortLength | static_cast<std::uint32_t>(start[10]) << 16U | static_cast<std::uint32_t>(start[11]) << 24U;
    const std::uint64_t begin = isShort ? 10 : 12;
    if (length > kLongestHeader || begin + length > file.size()) // a longer one is none of numbers alone
        refuseData(name + " is no numpy array (.npy): its header would have " + std::to_string(length) + " bytes");
    std::string header(length, '\0');
    file.read(begin, header.data(), header.size());
    const std::string key = "'descr': ";
    const std::size_t found = header.find(key), from = found == std::string::npos ? header.size() : found + key.size();
    const std::string type = header.substr(from, header.find(',', from) - from);
    std::string known;
    for (const IdType& of : kIdTypes) {
        if (type == of.name)
            return {.begin = begin + length, .width = of.width, .isSigned = of.isSigned};
        known += (known.empty() ? "" : &of == &kIdTypes.back() ? " or " : ", ") + std::string(of.name);
    }
    refuseData(name + " is a numpy array of type " + sim::shownText(type) + "; token ids are whole numbers: " + known);
}

/// Refuses ids that do not lie in the order in which numpy reads them, and another number of them than the header says: a file
/// that was cut short. `begin`: of the ids, of which there are `count`.
void checkShape(const PlacedFile& file, const std::string& name, std::uint64_t begin, std::uint64_t count)
{
    std::string header(begin, '\0');
    file.read(0, header.data(), header.size());
    const std::size_t found = header.find("'shape': ("), end = header.find(')', found);
    if (end == std::string::npos)
        refuseData(name + " is no numpy array (.npy): its header does not say its shape");
    const std::string shape = header.substr(header.find('(', found), end + 1 - header.find('(', found));
    int longSides = 0;
    std::uint64_t expected = 1; // stays so for "()"
    for (const char* at = shape.data(); at != shape.data() + shape.size();) {
        std::uint64_t side = 0;
        const auto [next, problem] = std::from_chars(at, shape.data() + shape.size(), side);
        if (next == at) { // between two sides
            ++at;
            continue;
        }
        at = next;
        longSides += side > 1 ? 1 : 0;
        if (problem != std::errc() || __builtin_mul_overflow(expected, side, &expected))
            refuseData(name + " would have more ids than any file: its header says shape " + shape);
    }
    if (expected != count)
        refuseData(name + " has " + std::to_string(count) + " ids, its header says " + std::to_string(expected) + " (shape " +
                   shape + ")" + (count < expected ? ": it was cut short" : ""));
    if (longSides > 1 && header.find("'fortran_order': True") != std::string::npos)
        refuseData(name + " keeps its ids by columns (fortran_order: True, shape " + shape +
                   "), and sequences lie in rows; nearest: np.save(FILE, np.ascontiguousarray(ids))");
}

} // namespace

bool isTokenIds(const std::string& data)
{
    return data.ends_with(".npy") || data.ends_with(".bin");
}

FileMark markOfData(const std::string& data)
{
    return markOf(*openData(data));
}

TokenSource::TokenSource(std::string data, int vocabulary, int sequenceLength, std::uint64_t seed)
    : m_data(std::move(data)), m_file(openData(m_data)), m_bytes(m_file->size()), m_vocabulary(vocabulary),
      m_length(sequenceLength), m_seed(seed)
{
    if (isTokenIds(m_data)) {
        const IdsPlace place = m_data.ends_with(".npy") ? placeInNpy(*m_file, m_data) : placeInBin(*m_file, vocabulary);
        m_begin = place.begin;
        m_width = place.width;
        m_isSigned = place.isSigned;
        if ((m_bytes - m_begin) % m_width != 0)
            refuseData(m_data + " has " + std::to_string(m_bytes - m_begin) + " bytes of ids, no whole number of ids of " +
                       std::to_string(m_width) + " bytes each");
        if (m_data.ends_with(".npy"))
            checkShape(*m_file, m_data, m_begin, (m_bytes - m_begin) / m_width);
    } else {
        m_token = tokenOfByte(*m_file, vocabulary);
    }
    m_count = (m_bytes - m_begin) / m_width;
    if (m_count < static_cast<std::uint64_t>(sequenceLength) + 1)
        refuseData(m_data + " has " + std::to_string(m_count) + (m_token.empty() ? " ids" : " bytes") + ", a sequence needs " +
                   std::to_string(sequenceLength + 1));
    if (m_token.empty())
        tokens(0, std::min(m_count, kPieceOfData)); // of another tokenizer: told before the first step
}

std::vector<std::int32_t> TokenSource::tokens(std::uint64_t first, std::uint64_t count) const
{
    if (m_file->size() != m_bytes)
        refuseData(m_data + " had " + std::to_string(m_bytes) + " bytes when the run began, now it has " +
                   std::to_string(m_file->size()));
    std::vector<unsigned char> bytes(count * m_width);
    m_file->read(m_begin + first * m_width, bytes.data(), bytes.size());
    std::vector<std::int32_t> result(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t id = 0; // little-endian
        std::memcpy(&id, bytes.data() + i * m_width, m_width);
        const std::uint64_t sign = std::uint64_t{1} << (8 * m_width - 1);
        if (m_isSigned && (id & sign) != 0)
            id |= ~(sign - 1); // with the sign in all bits: what is negative is larger than any vocabulary
        if (m_token.empty() && id >= static_cast<std::uint64_t>(m_vocabulary))
            refuseData(m_data + ": id " + std::to_string(first + i) + ", read from " + std::to_string(m_width) + " bytes, is " +
                       (m_isSigned ? std::to_string(static_cast<std::int64_t>(id)) : std::to_string(id)) + "; the model has " +
                       std::to_string(m_vocabulary) + " tokens (model.vocab_size)");
        result[i] = m_token.empty() ? static_cast<std::int32_t>(id) : m_token[id];
    }
    return result;
}

std::vector<std::int32_t> TokenSource::sequence(int step, std::int64_t index) const
{
    const PhiloxCounter words = philox({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                         static_cast<std::uint32_t>(step), 0x64617461U}}, // "data"
                                       philoxKey(m_seed));
    const std::uint64_t starts = m_count - static_cast<std::uint64_t>(m_length);
    const std::uint64_t first = (std::uint64_t{words.word[0]} << 32 | words.word[1]) % starts;
    return tokens(first, static_cast<std::uint64_t>(m_length) + 1);
}

} // namespace live
