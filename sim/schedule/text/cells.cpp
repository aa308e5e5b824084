#include "sim/schedule/text/cells.h"

#include "sim/error.h"
#include "sim/index.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sim {

namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::string lineOf(std::size_t rank)
{
    return "line " + std::to_string(rank + 1) + " (rank " + std::to_string(rank) + ")";
}

/// Two copies of the model run side by side (DualPipe) where each half of the stages has only its half of the micro-batches.
int chainsOf(const Schedule& schedule)
{
    if (schedule.stages() % 2 != 0 || schedule.microbatches % 2 != 0)
        return 1;
    for (const auto& actions : schedule.actions)
        for (const Action& action : actions)
            if (action.stage / (schedule.stages() / 2) != action.microbatch / (schedule.microbatches / 2))
                return 1;
    return 2;
}

} // namespace

void failAt(const Where& where, std::string_view text, const std::string& why)
{
    throw Error(lineOf(where.line - 1) + ", cell " + std::to_string(where.cell) + ": " + quotedText(text) + " " + why);
}

std::string_view trimmed(std::string_view text)
{
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::vector<std::string_view> linesOf(std::string_view text)
{
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark))
        text.remove_prefix(kByteOrderMark.size());
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    while (!lines.empty() && trimmed(lines.back()).empty())
        lines.pop_back();
    return lines;
}

// No valid cell holds a comma or a quote, so neither is looked for inside quotes.
std::vector<std::string_view> splitCells(std::string_view line)
{
    std::vector<std::string_view> cells;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        std::string_view text = trimmed(line.substr(begin, end - begin));
        if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
            text = trimmed(text.substr(1, text.size() - 2));
        cells.push_back(text);
        begin = end + 1;
    }
    return cells;
}

std::vector<std::string_view> splitWords(std::string_view line)
{
    constexpr std::string_view kBetween = " \t\r\n,";
    std::vector<std::string_view> words;
    for (std::size_t begin = line.find_first_not_of(kBetween); begin < line.size();) {
        const std::size_t end = std::min(line.find_first_of(kBetween, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(kBetween, end);
    }
    return words;
}

int parseNumber(std::string_view digits, const Where& where, std::string_view cell)
{
    int value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range)
        failAt(where, cell, "has a number too large to be one");
    if (error != std::errc() || rest != digits.data() + digits.size() || value < 0)
        failAt(where, cell, "has no number where one belongs");
    return value;
}

Schedule framedSchedule(std::vector<std::vector<Action>> actions, int slices)
{
    if (actions.empty())
        throw Error("the schedule is empty; write one line a pipeline rank, such as 0F0,0B0");
    Schedule schedule;
    schedule.kind = "custom";
    schedule.ranks = static_cast<int>(actions.size());
    schedule.slices = slices;
    schedule.actions = std::move(actions);
    std::size_t actionCount = 0;
    int lastStage = -1;
    int lastMicrobatch = -1;
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
        if (schedule.actions[rank].empty())
            throw Error(lineOf(rank) + " has no actions");
        actionCount += schedule.actions[rank].size();
        for (const Action& action : schedule.actions[rank]) {
            lastStage = std::max(lastStage, action.stage);
            lastMicrobatch = std::max(lastMicrobatch, action.microbatch);
        }
    }
    const auto requirePlausible = [&](const char* what, int number) {
        if (asIndex(number) >= actionCount)
            throw Error(std::string("the actions name ") + what + " " + std::to_string(number) + ", but there are only " +
                        std::to_string(actionCount) + " actions");
    };
    requirePlausible("stage", lastStage);
    requirePlausible("micro-batch", lastMicrobatch);

    schedule.microbatches = lastMicrobatch + 1;
    schedule.stageToRank.assign(asIndex(lastStage) + 1, -1);
    std::vector<int> chunks(schedule.actions.size(), 0);
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank)
        for (const Action& action : schedule.actions[rank]) {
            int& home = schedule.stageToRank[asIndex(action.stage)];
            if (home >= 0 && home != static_cast<int>(rank))
                throw Error("stage " + std::to_string(action.stage) + " is on " + lineOf(asIndex(home)) + " and, with " +
                            actionText(action, slices) + ", on " + lineOf(rank) + "; a stage lives on one rank");
            chunks[rank] += home < 0 ? 1 : 0;
            home = static_cast<int>(rank);
        }
    for (std::size_t stage = 0; stage < schedule.stageToRank.size(); ++stage)
        if (schedule.stageToRank[stage] < 0)
            throw Error("no line has an action of stage " + std::to_string(stage) + ", though stages up to " +
                        std::to_string(lastStage) + " are named");
    schedule.virtualStages = *std::max_element(chunks.begin(), chunks.end());
    schedule.chains = chainsOf(schedule);
    return schedule;
}

void requirePlainPasses(const Schedule& schedule, const std::string& format)
{
    if (schedule.slices > 1 || schedule.chains > 1)
        throw Error(format + " cannot express slices of a sequence or for copies of the model, which \"" + schedule.kind +
                    "\" runs");
    std::array<const Action*, 2> backwards{}; // a whole one, an input gradient
    for (const std::vector<Action>& actions : schedule.actions)
        for (const Action& action : actions) {
            if (action.overlapsNext)
                throw Error(format + " cannot express the overlapped block that begins with " + actionText(action));
            if (action.kind == ActionKind::backward)
                backwards[0] = &action;
            if (action.kind == ActionKind::backwardInput)
                backwards[1] = &action;
        }
    if (backwards[0] != nullptr && backwards[1] != nullptr)
        throw Error(format + " cannot tell the whole backward " + actionText(*backwards[0]) + " from the input gradient " +
                    actionText(*backwards[1]) + ": split all backwards, or none");
}

} // namespace sim
