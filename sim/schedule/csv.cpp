#include "sim/schedule/csv.h"

#include "sim/error.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace sim {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr int kMostSlices = 4096;

struct Where {
    std::size_t line, cell; ///< from 1
};

[[noreturn]] void fail(const Where& where, std::string_view text, const std::string& why)
{
    constexpr std::size_t kMostShown = 40;
    const bool isLong = text.size() > kMostShown;
    throw Error("line " + std::to_string(where.line) + " (rank " + std::to_string(where.line - 1) + "), cell " +
                std::to_string(where.cell) + ": \"" + std::string(text.substr(0, kMostShown)) + (isLong ? "..." : "") + "\" " +
                why);
}

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view kBlank = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

/// Cells of a CSV line without their quotes. No valid cell holds a comma or a quote, so neither is looked for inside quotes.
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

std::optional<ActionKind> kindOfLetter(std::string_view letters)
{
    for (const ActionKind kind :
         {ActionKind::forward, ActionKind::backward, ActionKind::backwardInput, ActionKind::backwardWeight})
        if (letters.size() == 1 && letters.front() == actionLetter(kind))
            return kind;
    return std::nullopt;
}

int parseNumber(std::string_view digits, const Where& where, std::string_view cellText)
{
    int value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc())
        fail(where, cellText, "has a number too large to be one");
    return value;
}

bool isCommunication(std::string_view letters)
{
    constexpr std::string_view kNames[] = {"SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"};
    return std::find(std::begin(kNames), std::end(kNames), letters) != std::end(kNames);
}

/// An action as written: its micro-batch and slice still apart.
struct Cell {
    Action action;
    int slice = -1; ///< none written
};

Cell parseAction(std::string_view text, const Where& where)
{
    constexpr const char* kGrammar = "is not an action; write stage, F, B, I or W, micro-batch, as in 0F1";
    const std::size_t stageEnd = std::min(text.find_first_not_of(kDigits), text.size());
    const std::size_t lettersEnd = std::min(text.find_first_of(kDigits, stageEnd), text.size());
    const std::string_view stage = text.substr(0, stageEnd);
    const std::string_view letters = text.substr(stageEnd, lettersEnd - stageEnd);
    std::string_view microbatch = text.substr(lettersEnd);
    if (!stage.empty() && isCommunication(letters))
        fail(where, text,
             "is communication, so this is a compute_comms file; sends, receives and sharding follow from the compute "
             "order: give the compute_only file");
    if (!stage.empty() && letters == "BW")
        fail(where, text,
             "is in the dialect of 2024, where B meant the input gradient and BW the full backward; rename B to I, then BW to B");
    const auto kind = kindOfLetter(letters);
    if (stage.empty() || !kind)
        fail(where, text, kGrammar);
    if (microbatch.empty())
        fail(where, text, "has no micro-batch; write " + std::string(text) + "0 for the first one");
    Cell cell;
    if (const std::size_t dot = microbatch.find('.'); dot != std::string_view::npos) {
        const std::string_view slice = microbatch.substr(dot + 1);
        microbatch = microbatch.substr(0, dot);
        if (slice.empty() || slice.find_first_not_of(kDigits) != std::string_view::npos)
            fail(where, text, kGrammar);
        cell.slice = parseNumber(slice, where, text);
    }
    if (microbatch.empty() || microbatch.find_first_not_of(kDigits) != std::string_view::npos)
        fail(where, text, kGrammar);
    cell.action = {.kind = *kind, .stage = parseNumber(stage, where, text), .microbatch = parseNumber(microbatch, where, text)};
    return cell;
}

/// One action, or a block such as (0F8;7B4)OVERLAP_F_B.
void parseCell(std::string_view text, const Where& where, std::vector<Cell>& cells)
{
    constexpr std::string_view kOverlap = "OVERLAP_F_B";
    if (text.front() != '(') {
        cells.push_back(parseAction(text, where));
        return;
    }
    const std::size_t close = text.find(')');
    const std::size_t semicolon = text.find(';');
    if (close == std::string_view::npos || semicolon >= close || trimmed(text.substr(close + 1)) != kOverlap)
        fail(where, text, "is not an overlapped block; write a forward and a backward as in (0F8;7B4)OVERLAP_F_B");
    Cell forward = parseAction(trimmed(text.substr(1, semicolon - 1)), where);
    const Cell backward = parseAction(trimmed(text.substr(semicolon + 1, close - semicolon - 1)), where);
    if (forward.action.kind != ActionKind::forward || backward.action.kind != ActionKind::backward)
        fail(where, text, "must hold one forward (F) and then one full backward (B)");
    forward.action.overlapsNext = true;
    cells.push_back(forward);
    cells.push_back(backward);
}

/// W without any I is the 2024 dialect, where B was the input gradient: read as it stands it would count W twice.
void refuseLegacyDialect(const Schedule& schedule)
{
    const Action* weight = nullptr;
    std::size_t weightRank = 0;
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank)
        for (const Action& action : schedule.actions[rank]) {
            if (action.kind == ActionKind::backwardInput)
                return;
            if (action.kind == ActionKind::backwardWeight && weight == nullptr) {
                weight = &action;
                weightRank = rank;
            }
        }
    if (weight != nullptr)
        throw Error(
            "line " + std::to_string(weightRank + 1) + " (rank " + std::to_string(weightRank) + "): " + actionText(*weight) +
            " is a weight gradient, but no line has an input gradient (I): this is the dialect of 2024, where B meant the "
            "input gradient and BW the full backward; rename B to I, then BW to B");
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

/// Stage -> rank, and the counts, from the actions.
void inferFrame(Schedule& schedule)
{
    std::size_t actionCount = 0;
    int lastStage = -1;
    int lastMicrobatch = -1;
    for (const auto& actions : schedule.actions)
        for (const Action& action : actions) {
            ++actionCount;
            lastStage = std::max(lastStage, action.stage);
            lastMicrobatch = std::max(lastMicrobatch, action.microbatch);
        }
    const auto requirePlausible = [&](const char* what, int number) {
        if (static_cast<std::size_t>(number) >= actionCount)
            throw Error(std::string("the actions name ") + what + " " + std::to_string(number) + ", but there are only " +
                        std::to_string(actionCount) + " actions");
    };
    requirePlausible("stage", lastStage);
    requirePlausible("micro-batch", lastMicrobatch);

    schedule.ranks = static_cast<int>(schedule.actions.size());
    schedule.microbatches = lastMicrobatch + 1;
    schedule.stageToRank.assign(static_cast<std::size_t>(lastStage) + 1, -1);
    for (int rank = 0; rank < schedule.ranks; ++rank)
        for (const Action& action : schedule.actions[static_cast<std::size_t>(rank)]) {
            int& home = schedule.stageToRank[static_cast<std::size_t>(action.stage)];
            if (home >= 0 && home != rank)
                throw Error("stage " + std::to_string(action.stage) + " is on line " + std::to_string(home + 1) + " (rank " +
                            std::to_string(home) + ") and, with " + actionText(action) + ", on line " + std::to_string(rank + 1) +
                            " (rank " + std::to_string(rank) + "); a stage lives on one rank");
            home = rank;
        }
    std::vector<int> chunks(schedule.actions.size(), 0);
    for (std::size_t stage = 0; stage < schedule.stageToRank.size(); ++stage) {
        if (schedule.stageToRank[stage] < 0)
            throw Error("no line has an action of stage " + std::to_string(stage) + ", though stages up to " +
                        std::to_string(lastStage) + " are named");
        ++chunks[static_cast<std::size_t>(schedule.stageToRank[stage])];
    }
    schedule.virtualStages = *std::max_element(chunks.begin(), chunks.end());
    schedule.chains = chainsOf(schedule);
}

/// Micro-batches are numbered through their slices, once it is known how many slices there are.
void numberSlices(Schedule& schedule, const std::vector<std::vector<Cell>>& rows)
{
    int last = -1;
    bool someWithout = false;
    for (const std::vector<Cell>& row : rows)
        for (const Cell& cell : row) {
            last = std::max(last, cell.slice);
            someWithout = someWithout || cell.slice < 0;
        }
    if (last >= 0 && someWithout)
        throw Error("some actions name a slice of their sequence, as in 0F1.2, and some do not; give all of them one");
    if (last >= kMostSlices)
        throw Error("slice " + std::to_string(last) + " is beyond the " + std::to_string(kMostSlices) +
                    " slices a sequence can have");
    schedule.slices = last < 0 ? 1 : last + 1;
    for (const std::vector<Cell>& row : rows) {
        std::vector<Action>& actions = schedule.actions.emplace_back();
        for (const Cell& cell : row) {
            Action action = cell.action;
            if (action.microbatch >= std::numeric_limits<std::int32_t>::max() / schedule.slices)
                throw Error("micro-batch " + std::to_string(action.microbatch) + " is too large a number");
            action.microbatch = action.microbatch * schedule.slices + std::max(cell.slice, 0);
            actions.push_back(action);
        }
    }
}

template <class Line>
Schedule parseLines(const std::vector<Line>& lines)
{
    std::vector<std::vector<Cell>> rows;
    for (std::size_t row = 0; row < lines.size(); ++row) {
        std::vector<Cell>& parsed = rows.emplace_back();
        const std::vector<std::string_view> cells = splitCells(lines[row]);
        for (std::size_t column = 0; column < cells.size(); ++column)
            if (!cells[column].empty())
                parseCell(cells[column], {row + 1, column + 1}, parsed);
        if (parsed.empty())
            throw Error("line " + std::to_string(row + 1) + " (rank " + std::to_string(row) + ") has no actions");
    }
    if (rows.empty())
        throw Error("the schedule is empty; write one line a pipeline rank, such as 0F0,0B0");
    Schedule schedule;
    schedule.kind = "custom";
    numberSlices(schedule, rows);
    refuseLegacyDialect(schedule);
    inferFrame(schedule);
    return schedule;
}

} // namespace

std::string scheduleCsv(const Schedule& schedule)
{
    std::string text;
    for (const auto& actions : schedule.actions) {
        for (std::size_t i = 0; i < actions.size(); ++i) {
            text += i == 0 ? "" : ",";
            const ActionBlock block = blockAt(actions, i);
            text += blockText(block, schedule.slices);
            i += block.size() - 1;
        }
        text += '\n';
    }
    return text;
}

Schedule parseScheduleCsv(const std::vector<std::string>& lines)
{
    return parseLines(lines);
}

Schedule parseScheduleCsv(std::string_view text)
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
    return parseLines(lines);
}

} // namespace sim
