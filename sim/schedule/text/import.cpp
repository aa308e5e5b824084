#include "sim/schedule/text/import.h"

#include "sim/error.h"
#include "sim/schedule/text/cells.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <array>

namespace sim {

namespace {

/// By its first cell: PyTorch's begin with a stage and go on with a letter, sail's begin with a letter, Megatron's are numbers.
ScheduleFormat detectedFormat(const std::vector<std::string_view>& lines)
{
    for (std::size_t row = 0; row < lines.size(); ++row) {
        const std::vector<std::string_view> words = splitWords(lines[row]);
        const auto first = std::find_if(words.begin(), words.end(),
                                        [](std::string_view word) { return word.find_first_not_of('"') < word.size(); });
        if (first == words.end())
            continue; // idle cells only, or no line at all
        const std::string_view word = first->substr(first->find_first_not_of('"'));
        const std::size_t numberEnd = std::min(word.find_first_not_of(kDigits), word.size());
        if (word.front() == '(' || (numberEnd > 0 && numberEnd < word.size() && isLetter(word[numberEnd])))
            return ScheduleFormat::pytorch;
        if (isLetter(word.front()))
            return ScheduleFormat::sail;
        if (word.find_first_not_of("+-.0123456789") == std::string_view::npos)
            return ScheduleFormat::megatron;
        failAt({row + 1, static_cast<std::size_t>(first - words.begin()) + 1}, word,
               "is of no known format; known: PyTorch's CSV (0F0,0B0), Megatron's order (1 1 -1 -1), sail's strings (f0 b0)");
    }
    return ScheduleFormat::pytorch;
}

} // namespace

std::string_view formatTitle(ScheduleFormat format)
{
    constexpr std::array<std::string_view, 5> kTitles{"detected", "PyTorch's CSV", "PyTorch's CSV, dialect of 2024",
                                                      "Megatron's order", "sail's strings"};
    return kTitles[asIndex(format)];
}

ImportedSchedule importSchedule(std::string_view text, ScheduleFormat format)
{
    const std::vector<std::string_view> lines = linesOf(text);
    const ScheduleFormat family = format == ScheduleFormat::automatic ? detectedFormat(lines) : format;
    switch (family) {
    case ScheduleFormat::megatron:
        return readMegatronOrder(lines);
    case ScheduleFormat::sail:
        return readSailStrings(lines);
    default:
        return readPytorchCsv(lines, format);
    }
}

} // namespace sim
