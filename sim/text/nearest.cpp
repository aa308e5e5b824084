#include "sim/text/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace sim {
namespace {

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// Edits (insert, delete, replace) that turn one word into the other; another digit counts twice.
std::size_t editDistance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const bool areDigits = isDigit(from[i - 1]) && isDigit(to[j - 1]); // "gpt2" is not "gpt3" mistyped
            const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : areDigits ? 2 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

/// The parts of "interleaved-1f1b", sorted.
std::vector<std::string_view> partsOf(std::string_view word)
{
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t end = std::min(word.find_first_of("-_ ", begin), word.size());
        if (end > begin)
            parts.push_back(word.substr(begin, end - begin));
        begin = end + 1;
    }
    std::sort(parts.begin(), parts.end());
    return parts;
}

/// The last part of a path, as in "Qwen/Qwen3-8B", in lower case.
std::string plainOf(std::string_view word)
{
    std::string plain(word.substr(word.rfind('/') + 1));
    std::transform(plain.begin(), plain.end(), plain.begin(),
                   [](unsigned char c) { return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
    return plain;
}

std::string withoutDashes(std::string_view word)
{
    std::string out(word);
    std::erase_if(out, [](char c) { return c == '-' || c == '_' || c == ' ' || c == '.'; });
    return out;
}

/// Whether both have a part that names one thing of many: letters with digits, as "h100" and "70b".
bool shareName(std::string_view word, std::string_view candidate)
{
    constexpr std::size_t kShortest = 3;
    const auto isName = [](std::string_view part) {
        const auto digits = std::count_if(part.begin(), part.end(), isDigit);
        return part.size() >= kShortest && digits > 0 && static_cast<std::size_t>(digits) < part.size();
    };
    const auto given = partsOf(word), wanted = partsOf(candidate);
    return std::any_of(given.begin(), given.end(), [&](std::string_view part) {
        return isName(part) && std::find(wanted.begin(), wanted.end(), part) != wanted.end();
    });
}

/// Edits, or less where a person took the right parts in the wrong order, too many or too few of them.
std::size_t distanceOf(std::string_view word, std::string_view candidate)
{
    const std::string joined = withoutDashes(word), wantedJoined = withoutDashes(candidate);
    const std::size_t edits = joined == wantedJoined ? std::min<std::size_t>(1, editDistance(word, candidate))
                              : joined.size() >= 3 && wantedJoined.starts_with(joined) ? 1
                                                                                       : editDistance(word, candidate);
    const auto given = partsOf(word), wanted = partsOf(candidate);
    const bool areSwapped = edits == 2 && std::is_permutation(word.begin(), word.end(), candidate.begin(), candidate.end());
    if (given == wanted || areSwapped)
        return std::min<std::size_t>(edits, 1);
    const auto holds = [](const auto& all, const auto& some) {
        return !some.empty() && std::includes(all.begin(), all.end(), some.begin(), some.end());
    };
    const bool inside =
        word.size() >= 2 && (candidate.find(word) != std::string_view::npos || word.find(candidate) != std::string_view::npos);
    return inside || holds(given, wanted) || holds(wanted, given) ? std::min<std::size_t>(edits, 2) : edits;
}

} // namespace

std::string nearestWords(std::string_view given, const std::vector<std::string>& words)
{
    constexpr std::size_t kLongestWord = 80, kMost = 3, kFew = 16;
    std::vector<std::pair<std::size_t, std::string_view>> close;
    if (given.size() <= kLongestWord) {
        const std::string word = plainOf(given);
        const auto isOfTheName = [&](const std::string& candidate) { return shareName(word, candidate); };
        const bool hasName = std::any_of(words.begin(), words.end(), isOfTheName);
        const std::size_t farthest = word.size() < 4 ? 1 : std::max<std::size_t>(2, word.size() / 3);
        for (const std::string& candidate : words) {
            const std::size_t distance = distanceOf(word, plainOf(candidate));
            if (hasName ? isOfTheName(candidate) : distance <= farthest)
                close.emplace_back(distance, candidate);
        }
        const auto isFar = [&](const auto& one) { return one.first > farthest; };
        if (!std::all_of(close.begin(), close.end(), isFar))
            std::erase_if(close, isFar);
    }
    std::stable_sort(close.begin(), close.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (close.size() > kMost)
        close.resize(kMost);
    const bool listAll = close.empty();
    if (listAll) {
        if (words.size() > kFew)
            return {};
        for (const std::string& candidate : words)
            close.emplace_back(0, candidate);
    }
    std::string text;
    for (const auto& [distance, candidate] : close)
        text += (text.empty() ? "" : ", ") + ("\"" + std::string(candidate) + "\"");
    return (listAll ? "; possible: " : "; nearest: ") + text;
}

std::string numbersText(const std::vector<std::int64_t>& values)
{
    std::string text;
    for (const std::int64_t value : values)
        text += (text.empty() ? "" : ", ") + std::to_string(value);
    return text;
}

std::string nearestText(const std::vector<std::int64_t>& values)
{
    return values.empty() ? std::string() : "; nearest: " + numbersText(values);
}

} // namespace sim
