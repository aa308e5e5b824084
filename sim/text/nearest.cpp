#include "sim/text/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sim {
namespace {

/// Edits (insert, delete, replace) that turn one word into the other.
std::size_t editDistance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
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

/// Edits, or less where a person took the right parts in the wrong order, too many or too few of them.
std::size_t distanceOf(std::string_view word, std::string_view candidate)
{
    const std::size_t edits = editDistance(word, candidate);
    const auto given = partsOf(word), wanted = partsOf(candidate);
    if (given == wanted)
        return std::min<std::size_t>(edits, 1);
    const auto holds = [](const auto& all, const auto& some) {
        return !some.empty() && std::includes(all.begin(), all.end(), some.begin(), some.end());
    };
    const bool inside =
        word.size() >= 2 && (candidate.find(word) != std::string_view::npos || word.find(candidate) != std::string_view::npos);
    return inside || holds(given, wanted) || holds(wanted, given) ? std::min<std::size_t>(edits, 2) : edits;
}

} // namespace

std::string nearestWords(std::string_view word, const std::vector<std::string>& words)
{
    constexpr std::size_t kLongestWord = 80, kMost = 3, kFew = 16;
    std::vector<std::pair<std::size_t, std::string_view>> close;
    if (word.size() <= kLongestWord)
        for (const std::string& candidate : words) {
            const std::size_t distance = distanceOf(word, candidate);
            if (distance <= std::max<std::size_t>(2, word.size() / 3))
                close.emplace_back(distance, candidate);
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
