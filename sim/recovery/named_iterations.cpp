#include "sim/recovery/named_iterations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>

namespace sim {

std::optional<std::pair<std::string, std::int64_t>> iterationOfName(std::string_view name)
{
    constexpr std::array<std::string_view, 9> kWords{"iteration",          "iter",          "step",
                                                     "train step",         "training step", "train iteration",
                                                     "training iteration", "training iter", "optimizer step"};
    const auto isDigit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto digits = std::find_if_not(name.rbegin(), name.rend(), isDigit).base();
    std::int64_t number = 0;
    const char* const end = name.data() + name.size();
    if (digits == name.end() || std::from_chars(&*digits, end, number).ec != std::errc())
        return {};
    std::string word;
    for (const char c : name.substr(0, static_cast<std::size_t>(digits - name.begin()))) {
        if (std::isalpha(static_cast<unsigned char>(c)) != 0)
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (std::string_view(" _-:#=").find(c) == std::string_view::npos)
            return {};
        else if (!word.empty() && word.back() != ' ')
            word += ' ';
    }
    if (word.ends_with(' '))
        word.pop_back();
    if (std::find(kWords.begin(), kWords.end(), word) == kWords.end())
        return {};
    return std::pair(std::move(word), number);
}

NamedIterations iterationsOf(const Recording& recording, const RankRecording& rank)
{
    std::map<std::uint32_t, std::optional<std::pair<std::string, std::int64_t>>> byName;
    std::map<std::pair<std::size_t, std::string>, std::vector<RecordedStep>> rows; // of a thread and a word
    for (std::size_t track = 0; track < rank.tracks.size(); ++track)
        for (std::uint32_t i = rank.tracks[track].first; !rank.tracks[track].isDevice && i < rank.tracks[track].last; ++i) {
            if (rank.spans.kind[i] != RecordedKind::annotation)
                continue;
            const std::uint32_t name = rank.spans.name[i];
            const auto [known, isNew] = byName.try_emplace(name);
            if (isNew)
                known->second = iterationOfName(recording.names[name]);
            if (const auto& said = known->second)
                rows[{track, said->first}].push_back(
                    {.number = said->second, .startNs = rank.spans.startNs[i], .endNs = rank.spans.endNs(i)});
        }
    NamedIterations found;
    std::int64_t longest = 0;
    for (auto& [of, steps] : rows) {
        std::stable_sort(steps.begin(), steps.end(),
                         [](const RecordedStep& a, const RecordedStep& b) { return a.startNs < b.startNs; });
        std::int64_t sum = 0;
        bool areInOrder = steps.size() >= 2;
        for (std::size_t k = 0; k < steps.size(); ++k) {
            sum += steps[k].endNs - steps[k].startNs;
            areInOrder =
                areInOrder && (k == 0 || (steps[k].number > steps[k - 1].number && steps[k].startNs >= steps[k - 1].endNs));
        }
        if (areInOrder && sum > longest) {
            longest = sum;
            found = {of.second, std::move(steps)};
        }
    }
    return found;
}

} // namespace sim
