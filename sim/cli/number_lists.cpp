#include "sim/cli/number_lists.h"

#include "sim/cli/command.h"
#include "sim/text/quoted.h"

#include <charconv>

namespace sim::cli {

std::vector<std::string> splitWords(const std::string& list, char between)
{
    std::vector<std::string> words(1);
    for (const char c : list)
        if (c == between)
            words.emplace_back();
        else
            words.back() += c;
    return words;
}

std::vector<int> splitNumbers(const std::string& list, char between, const std::string& usage, int most)
{
    std::vector<int> numbers;
    for (const std::string& word : splitWords(list, between)) {
        int number = 0;
        const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (problem != std::errc() || end != word.data() + word.size() || number < 1 || number > most)
            throw UsageError(usage + "; it got " + shownText(word.empty() ? list : word));
        numbers.push_back(number);
    }
    return numbers;
}

} // namespace sim::cli
