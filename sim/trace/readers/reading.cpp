#include "sim/trace/readers/reading.h"

#include "sim/cancel.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <utility>

namespace sim {
namespace {

std::string inLowerCase(std::string_view text)
{
    std::string out;
    for (const char c : text)
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

} // namespace

std::string readAll(ByteSource& source, const ReadingFile& file, std::size_t most)
{
    constexpr std::size_t kPiece = std::size_t{128} << 10;
    std::string text;
    for (;;) {
        checkCancelled();
        const std::size_t had = text.size();
        text.resize(had + kPiece);
        const std::size_t got = source.read(text.data() + had, kPiece);
        text.resize(had + got);
        if (file.progress)
            file.progress(source.fileBytesRead());
        if (text.size() > most)
            throw Error(file.path + ": is over " + std::to_string(most >> 20) + " MiB, more than such a file holds");
        if (got < kPiece)
            return text;
    }
}

namespace {

/// Behind a word that says so; -1: no such word.
int rankByWord(const std::string& name)
{
    for (const std::string_view word : {"rank", "worker"})
        for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
            std::size_t digit = at + word.size();
            while (digit < name.size() && (name[digit] == '-' || name[digit] == '_' || name[digit] == '.'))
                ++digit;
            int rank = -1;
            const auto [after, error] = std::from_chars(name.data() + digit, name.data() + name.size(), rank);
            if (digit < name.size() && isDigit(name[digit]) && error == std::errc() && rank < kMostRanksOfAJob)
                return rank;
        }
    return -1;
}

/// At the end of a name, by itself; -1: none.
int numberAtEnd(std::string_view name)
{
    constexpr auto kEndings = std::to_array<std::string_view>({".gz", ".zst", ".json", ".trace", ".pt", ".pickle", ".pkl"});
    std::string_view stem = name;
    for (bool again = true; again;) {
        again = false;
        for (const std::string_view ending : kEndings)
            if (stem.ends_with(ending)) {
                stem.remove_suffix(ending.size());
                again = true;
            }
    }
    std::size_t first = stem.size();
    while (first > 0 && isDigit(stem[first - 1]))
        --first;
    int number = -1;
    const bool isAlone = first == 0 || stem[first - 1] == '_' || stem[first - 1] == '-';
    constexpr std::size_t kMostDigits = 5; // more are a time or a process
    if (first < stem.size() && isAlone && stem.size() - first <= kMostDigits)
        std::from_chars(stem.data() + first, stem.data() + stem.size(), number);
    return number;
}

std::string nameOfFile(const std::string& path)
{
    return inLowerCase(std::filesystem::path(path).filename().string());
}

} // namespace

void nameRankByFile(RankRecording& of, const std::string& path)
{
    const std::string name = nameOfFile(path);
    of.rank = rankByWord(name);
    of.rankEvidence = of.rank >= 0 ? "file name" : "";
    if (of.rank >= 0)
        return;
    of.rank = numberAtEnd(name);
    of.rankEvidence = of.rank >= 0 ? kNumberOfFile : "";
}

std::string collectiveOfKernelName(const std::string& name)
{
    const std::string lower = inLowerCase(name);
    constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
        {"allreduce", "allreduce"},
        {"all_reduce", "allreduce"},
        {"allgather", "allgather"},
        {"all_gather", "allgather"},
        {"reducescatter", "reduce_scatter"},
        {"reduce_scatter", "reduce_scatter"},
        {"alltoall", "all_to_all"},
        {"all_to_all", "all_to_all"},
        {"sendrecv", "sendrecv"},
        {"broadcast", "broadcast"},
        {"reduce", "reduce"},
    });
    for (const auto& [word, collective] : kWords)
        if (lower.find(word) != std::string::npos)
            return std::string(collective);
    return {};
}

bool isPointToPointName(const std::string& name)
{
    const std::string lower = inLowerCase(name);
    return lower.find("send") != std::string::npos || lower.find("recv") != std::string::npos ||
           lower.find("receive") != std::string::npos;
}

std::vector<int> ranksOfText(const std::string& text)
{
    std::vector<int> ranks;
    for (std::size_t at = 0; at < text.size();) {
        if (isDigit(text[at])) {
            int rank = 0;
            const auto [after, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
            if (error != std::errc() || rank >= kMostRanksOfAJob)
                return {};
            ranks.push_back(rank);
            at = static_cast<std::size_t>(after - text.data());
        } else if (text[at] == '[' || text[at] == ']' || text[at] == ',' || text[at] == ' ') {
            ++at;
        } else {
            return {};
        }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

} // namespace sim
