// What sail-sg's zero-bubble code prints of a schedule (viz_node): type and micro-batch, lower case for a rank's chunk 0.
#include "sim/error.h"
#include "sim/index.h"
#include "sim/schedule/check.h"
#include "sim/schedule/text/cells.h"
#include "sim/schedule/text/export.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace sim {

namespace {

enum class Placement : std::uint8_t { line, vee, loop };

/// Stage of a rank's chunk.
int stageOf(Placement placement, int ranks, int rank, int chunk)
{
    if (chunk == 0)
        return rank;
    return placement == Placement::vee ? 2 * ranks - 1 - rank : ranks + rank;
}

/// A step whose stage is still the number of its chunk.
CommStep readCommStep(std::string_view text, const Where& where)
{
    const std::size_t lettersEnd = std::min(text.find_first_of("0123456789"), text.size());
    const std::string_view letters = text.substr(0, lettersEnd);
    std::string lower(letters);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
    std::string upper(letters);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
    if (lower == "pv" || lower == "rpv" || lower == "spv")
        failAt(where, text, "is the optimizer's post-validation, which is no part of a pipeline's order; remove it");
    constexpr std::array<std::pair<std::string_view, CommStep>, 7> kWords = {{
        {"f", {.action = {.kind = ActionKind::forward}}},
        {"b", {.action = {.kind = ActionKind::backward}}},
        {"w", {.action = {.kind = ActionKind::backwardWeight}}},
        {"sf", {.kind = StepKind::sendForward}},
        {"rf", {.kind = StepKind::receiveForward}},
        {"sb", {.kind = StepKind::sendBackward}},
        {"rb", {.kind = StepKind::receiveBackward}},
    }};
    const auto found =
        std::find_if(kWords.begin(), kWords.end(), [&](const auto& word) { return word.first == std::string_view(lower); });
    if (found == kWords.end() || (letters != lower && letters != upper) || lettersEnd == text.size())
        failAt(where, text,
               "is not an action; write f, b or w and a micro-batch, as in f0, in capitals for the rank's second chunk");
    CommStep step = found->second;
    step.action.stage = letters == lower ? 0 : 1;
    step.action.microbatch = parseNumber(text.substr(lettersEnd), where, text);
    return step;
}

CommSchedule placed(std::vector<std::vector<CommStep>> steps, Placement placement)
{
    std::vector<std::vector<Action>> actions(steps.size());
    for (std::size_t rank = 0; rank < steps.size(); ++rank)
        for (CommStep& step : steps[rank]) {
            step.action.stage = stageOf(placement, static_cast<int>(steps.size()), static_cast<int>(rank), step.action.stage);
            if (step.kind == StepKind::pass)
                actions[rank].push_back(step.action);
        }
    return {framedSchedule(std::move(actions)), std::move(steps)};
}

Placement placementOf(const Schedule& schedule)
{
    const int chunks = schedule.virtualStages;
    if (chunks <= 2 && schedule.stages() == schedule.ranks * chunks)
        for (const Placement placement : {Placement::vee, Placement::loop}) {
            bool fits = true;
            for (int rank = 0; rank < schedule.ranks; ++rank)
                for (int chunk = 0; chunk < chunks; ++chunk)
                    fits = fits && schedule.stageToRank[asIndex(stageOf(placement, schedule.ranks, rank, chunk))] == rank;
            if (fits)
                return chunks == 1 ? Placement::line : placement;
        }
    throw Error("sail's strings know one chunk a rank, or two in a V or a loop; \"" + schedule.kind + "\" has " +
                std::to_string(chunks) + (chunks <= 2 ? ", placed otherwise" : ""));
}

/// Which of the two placements of two chunks a reader will see.
CommSchedule readablePlacement(const std::vector<std::vector<CommStep>>& steps)
{
    CommSchedule vee = placed(steps, Placement::vee);
    if (checkSchedule(vee.schedule).empty())
        return vee;
    CommSchedule loop = placed(steps, Placement::loop);
    return checkSchedule(loop.schedule).empty() ? loop : vee;
}

} // namespace

ImportedSchedule readSailStrings(const std::vector<std::string_view>& lines)
{
    std::vector<std::vector<CommStep>> steps(lines.size());
    bool split = false;
    bool twoChunks = false;
    bool communicates = false;
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        const std::vector<std::string_view> words = splitWords(lines[rank]);
        for (std::size_t i = 0; i < words.size(); ++i) {
            const CommStep& step = steps[rank].emplace_back(readCommStep(words[i], {rank + 1, i + 1}));
            split = split || step.action.kind == ActionKind::backwardWeight;
            twoChunks = twoChunks || step.action.stage == 1;
            communicates = communicates || step.kind != StepKind::pass;
        }
    }
    if (split)
        for (std::vector<CommStep>& list : steps)
            for (CommStep& step : list)
                if (step.action.kind == ActionKind::backward)
                    step.action.kind = ActionKind::backwardInput;
    CommSchedule read = twoChunks ? readablePlacement(steps) : placed(std::move(steps), Placement::line);
    ImportedSchedule imported{.schedule = read.schedule, .format = ScheduleFormat::sail, .communication = std::nullopt};
    if (communicates)
        imported.communication = std::move(read);
    return imported;
}

std::string sailStrings(const Schedule& schedule)
{
    const Placement placement = placementOf(schedule);
    requirePlainPasses(schedule, "sail's strings");
    std::string text;
    std::vector<std::vector<CommStep>> written(schedule.actions.size());
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
        std::string line;
        for (const Action& action : schedule.actions[rank]) {
            constexpr std::array<std::array<char, 4>, 2> kLetters = {
                {{'f', 'b', 'b', 'w'}, {'F', 'B', 'B', 'W'}}}; // by ActionKind
            const int chunk = action.stage == static_cast<int>(rank) ? 0 : 1;
            line +=
                (line.empty() ? "" : " ") + (kLetters[asIndex(chunk)][asIndex(action.kind)] + std::to_string(action.microbatch));
            written[rank].push_back({.action = action});
            written[rank].back().action.stage = chunk;
        }
        text += line + "\n";
    }
    if (placement == Placement::loop && readablePlacement(written).schedule.stageToRank != schedule.stageToRank)
        throw Error("sail's strings do not say how chunks are placed, and the loop of \"" + schedule.kind +
                    "\" would be read as a V, in which it runs too");
    return text;
}

} // namespace sim
