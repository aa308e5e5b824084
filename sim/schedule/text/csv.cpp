#include "sim/schedule/text/csv.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/schedule/text/cells.h"
#include "sim/schedule/text/export.h"
#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <utility>

namespace sim {

namespace {

constexpr int kMostSlicesRead = 4096;
constexpr std::string_view kOverlap = "OVERLAP_F_B";

/// A cell as written: its dialect, micro-batch and slice not settled yet.
struct Cell {
    CommStep step;
    bool writtenBW = false; ///< the full backward of 2024
    int slice = -1;         ///< none written
    Where where;
    std::string_view text; ///< with the whole block that it stands in
};
using Rows = std::vector<std::vector<Cell>>;

std::optional<ActionKind> kindOfLetter(std::string_view letters)
{
    for (const ActionKind kind :
         {ActionKind::forward, ActionKind::backward, ActionKind::backwardInput, ActionKind::backwardWeight})
        if (letters.size() == 1 && letters.front() == actionLetter(kind))
            return kind;
    return std::nullopt;
}

/// SEND_F and its like.
std::optional<StepKind> kindOfWord(std::string_view letters)
{
    for (const StepKind kind : {StepKind::sendForward, StepKind::receiveForward, StepKind::sendBackward,
                                StepKind::receiveBackward, StepKind::unshard, StepKind::reshard, StepKind::reduceGradients})
        if (stepWord(kind) == letters)
            return kind;
    return std::nullopt;
}

Cell readAction(std::string_view text, const Where& where, std::string_view wholeCell)
{
    constexpr const char* kGrammar = "is not an action; write stage, F, B, I or W, micro-batch, as in 0F1";
    const std::size_t stageEnd = std::min(text.find_first_not_of(kDigits), text.size());
    const std::size_t lettersEnd = std::min(text.find_first_of(kDigits, stageEnd), text.size());
    const std::string_view letters = text.substr(stageEnd, lettersEnd - stageEnd);
    std::string_view microbatch = text.substr(lettersEnd);
    Cell cell{.where = where, .text = wholeCell};
    cell.writtenBW = letters == "BW";
    const auto pass = cell.writtenBW ? std::optional(ActionKind::backward) : kindOfLetter(letters);
    const auto communication = kindOfWord(letters);
    if (stageEnd == 0 || (!pass && !communication))
        failAt(where, text, kGrammar);
    cell.step.kind = communication.value_or(StepKind::pass);
    cell.step.action.kind = pass.value_or(ActionKind::forward);
    cell.step.action.stage = parseNumber(text.substr(0, stageEnd), where, text);
    if (communication && !hasMicrobatch(*communication)) {
        if (!microbatch.empty())
            failAt(where, text, "names a micro-batch, but is of a whole stage; write " + std::string(text.substr(0, lettersEnd)));
        return cell;
    }
    if (microbatch.empty())
        failAt(where, text, "has no micro-batch; write " + std::string(text) + "0 for the first one");
    if (const std::size_t dot = microbatch.find('.'); dot != std::string_view::npos) {
        const std::string_view slice = microbatch.substr(dot + 1);
        microbatch = microbatch.substr(0, dot);
        if (slice.empty() || slice.find_first_not_of(kDigits) != std::string_view::npos)
            failAt(where, text, kGrammar);
        cell.slice = parseNumber(slice, where, text);
    }
    if (microbatch.empty() || microbatch.find_first_not_of(kDigits) != std::string_view::npos)
        failAt(where, text, kGrammar);
    cell.step.action.microbatch = parseNumber(microbatch, where, text);
    return cell;
}

constexpr const char* kBlockParts = "must hold one forward (F) and then one full backward (B)";

/// One action, or a block such as (0F8;7B4)OVERLAP_F_B.
void readCell(std::string_view text, const Where& where, std::vector<Cell>& cells)
{
    if (text.front() != '(') {
        cells.push_back(readAction(text, where, text));
        return;
    }
    const std::size_t close = text.find(')');
    const std::size_t semicolon = text.find(';');
    if (close == std::string_view::npos || semicolon >= close || trimmed(text.substr(close + 1)) != kOverlap)
        failAt(where, text, "is not an overlapped block; write a forward and a backward as in (0F8;7B4)OVERLAP_F_B");
    Cell forward = readAction(trimmed(text.substr(1, semicolon - 1)), where, text);
    const Cell backward = readAction(trimmed(text.substr(semicolon + 1, close - semicolon - 1)), where, text);
    if (forward.step.kind != StepKind::pass || forward.step.action.kind != ActionKind::forward ||
        backward.step.kind != StepKind::pass || backward.step.action.kind != ActionKind::backward)
        failAt(where, text, kBlockParts);
    forward.step.action.overlapsNext = true;
    cells.push_back(forward);
    cells.push_back(backward);
}

template <class Line>
Rows readRows(const std::vector<Line>& lines)
{
    Rows rows(lines.size());
    CancelPoll poll;
    for (std::size_t row = 0; row < lines.size(); ++row) {
        const std::vector<std::string_view> cells = splitCells(lines[row]);
        for (std::size_t column = 0; column < cells.size(); ++column) {
            poll(8);
            if (!cells[column].empty())
                readCell(cells[column], {row + 1, column + 1}, rows[row]);
        }
    }
    return rows;
}

template <class Predicate>
const Cell* findCell(const Rows& rows, Predicate&& predicate)
{
    for (const std::vector<Cell>& row : rows)
        if (const auto found = std::find_if(row.begin(), row.end(), predicate); found != row.end())
            return &*found;
    return nullptr;
}

bool isPass(const Cell& cell, ActionKind kind)
{
    return cell.step.kind == StepKind::pass && cell.step.action.kind == kind;
}

/// In 2024 B was the input gradient: W without any I, or BW. Read as it stands such a file would count W twice.
ScheduleFormat settleDialect(Rows& rows, ScheduleFormat asked)
{
    const Cell* full = findCell(rows, [](const Cell& cell) { return cell.writtenBW; });
    const Cell* input = findCell(rows, [](const Cell& cell) { return isPass(cell, ActionKind::backwardInput); });
    const Cell* weight = findCell(rows, [](const Cell& cell) { return isPass(cell, ActionKind::backwardWeight); });
    const char* const kNow = "today I is the input gradient and B the full backward; in 2024 B was the input gradient and BW the "
                             "full backward";
    if (full != nullptr && input != nullptr)
        failAt(full->where, full->text,
               "is in the dialect of 2024, but line " + std::to_string(input->where.line) + ", cell " +
                   std::to_string(input->where.cell) + " " + quotedText(input->text) + " is in today's: " + kNow +
                   "; write all of the file in one");
    if (asked == ScheduleFormat::pytorch && full != nullptr)
        failAt(full->where, full->text, std::string("is in the dialect of 2024, not in today's: ") + kNow);
    if (asked == ScheduleFormat::pytorch2024 && input != nullptr)
        failAt(input->where, input->text, std::string("is in today's dialect, not in that of 2024: ") + kNow);
    const bool legacy = full != nullptr || (weight != nullptr && input == nullptr && asked != ScheduleFormat::pytorch);
    if (legacy)
        for (std::vector<Cell>& row : rows)
            for (std::size_t i = 0; i < row.size(); ++i) {
                Cell& cell = row[i];
                if (!isPass(cell, ActionKind::backward) || cell.writtenBW)
                    continue;
                if (i > 0 && row[i - 1].step.action.overlapsNext)
                    failAt(cell.where, cell.text, std::string(kBlockParts) + ", which is BW in the dialect of 2024");
                cell.step.action.kind = ActionKind::backwardInput;
            }
    return legacy || asked == ScheduleFormat::pytorch2024 ? ScheduleFormat::pytorch2024 : ScheduleFormat::pytorch;
}

/// Micro-batches are numbered through their slices, once it is known how many slices there are. Returns the number of slices.
int numberSlices(Rows& rows)
{
    int last = -1;
    bool someWithout = false;
    for (const std::vector<Cell>& row : rows)
        for (const Cell& cell : row) {
            last = std::max(last, cell.slice);
            someWithout = someWithout || (cell.slice < 0 && hasMicrobatch(cell.step.kind));
        }
    if (last >= 0 && someWithout)
        throw Error("some actions name a slice of their sequence, as in 0F1.2, and some do not; give all of them one");
    if (last >= kMostSlicesRead)
        throw Error("slice " + std::to_string(last) + " is beyond the " + std::to_string(kMostSlicesRead) +
                    " slices a sequence can have");
    const int slices = last < 0 ? 1 : last + 1;
    for (std::vector<Cell>& row : rows)
        for (Cell& cell : row) {
            std::int32_t& microbatch = cell.step.action.microbatch;
            if (microbatch >= std::numeric_limits<std::int32_t>::max() / slices)
                failAt(cell.where, cell.text, "has a micro-batch number too large to be one");
            microbatch = microbatch * slices + std::max(cell.slice, 0);
        }
    return slices;
}

ImportedSchedule importedFrom(Rows rows, ScheduleFormat asked)
{
    ImportedSchedule imported;
    imported.format = settleDialect(rows, asked);
    const int slices = numberSlices(rows);
    std::vector<std::vector<Action>> actions(rows.size());
    std::vector<std::vector<CommStep>> steps(rows.size());
    bool communicates = false;
    for (std::size_t rank = 0; rank < rows.size(); ++rank)
        for (const Cell& cell : rows[rank]) {
            steps[rank].push_back(cell.step);
            if (cell.step.kind == StepKind::pass)
                actions[rank].push_back(cell.step.action);
            else
                communicates = true;
        }
    imported.schedule = framedSchedule(std::move(actions), slices);
    if (communicates)
        imported.communication = CommSchedule{imported.schedule, std::move(steps)};
    return imported;
}

template <class Line>
Schedule readComputeOnly(const std::vector<Line>& lines)
{
    Rows rows = readRows(lines);
    if (const Cell* found = findCell(rows, [](const Cell& cell) { return cell.step.kind != StepKind::pass; }))
        failAt(found->where, found->text,
               "is communication, so this is a compute_comms file; sends, receives and sharding follow from the compute "
               "order: give the compute_only file");
    return importedFrom(std::move(rows), ScheduleFormat::automatic).schedule;
}

/// Hands over what was written whenever there is enough of it: a table may be larger than memory should be taken for.
class TextSink {
public:
    explicit TextSink(std::ostream& out) : m_out(out) {}
    ~TextSink() { flush(); }
    TextSink(const TextSink&) = delete;
    TextSink& operator=(const TextSink&) = delete;
    void put(std::string_view text)
    {
        m_text += text;
        if (m_text.size() >= kEnough)
            flush();
    }

private:
    static constexpr std::size_t kEnough = 1U << 16U;
    void flush()
    {
        m_out << m_text;
        m_text.clear();
    }
    std::ostream& m_out;
    std::string m_text;
};

template <class Text>
void writeRows(std::ostream& out, const Schedule& schedule, Text&& textOf)
{
    TextSink sink(out);
    for (const auto& actions : schedule.actions) {
        for (std::size_t i = 0; i < actions.size(); ++i) {
            sink.put(i == 0 ? "" : ",");
            const ActionBlock block = blockAt(actions, i);
            sink.put(textOf(block));
            i += block.size() - 1;
        }
        sink.put("\n");
    }
}

void requirePytorchsWords(const Schedule& schedule)
{
    if (schedule.slices > 1)
        throw Error("PyTorch's CSV has no word for the " + std::to_string(schedule.slices) +
                    " slices of a sequence that this schedule runs; it counts whole micro-batches");
    if (schedule.chains > 1)
        throw Error("PyTorch's CSV has no word for the " + std::to_string(schedule.chains) +
                    " copies of the model that this schedule runs side by side; nearest: dualpipe-v, which has one");
}

} // namespace

void writeScheduleCsv(std::ostream& out, const Schedule& schedule)
{
    writeRows(out, schedule, [&](ActionBlock block) { return blockText(block, schedule.slices); });
}

std::string scheduleCsv(const Schedule& schedule)
{
    std::ostringstream text;
    writeScheduleCsv(text, schedule);
    return std::move(text).str();
}

void writePytorchCsv(std::ostream& out, const Schedule& schedule, ScheduleFormat dialect)
{
    requirePytorchsWords(schedule);
    if (dialect != ScheduleFormat::pytorch2024)
        return writeScheduleCsv(out, schedule);
    const auto textOf = [](const Action& action) {
        constexpr std::array<const char*, 4> kWords = {"F", "BW", "B", "W"}; // by ActionKind
        return std::to_string(action.stage) + kWords[static_cast<std::size_t>(action.kind)] + std::to_string(action.microbatch);
    };
    writeRows(out, schedule, [&](ActionBlock block) {
        if (block.size() == 1)
            return textOf(block[0]);
        return "(" + textOf(block[0]) + ";" + textOf(block[1]) + ")" + std::string(kOverlap);
    });
}

std::string pytorchCsv(const Schedule& schedule, ScheduleFormat dialect)
{
    std::ostringstream text;
    writePytorchCsv(text, schedule, dialect);
    return std::move(text).str();
}

std::string pytorchCommsCsv(const CommSchedule& communication)
{
    std::ostringstream text;
    writePytorchCommsCsv(text, communication);
    return std::move(text).str();
}

void writePytorchCommsCsv(std::ostream& out, const CommSchedule& communication)
{
    requirePytorchsWords(communication.schedule);
    TextSink sink(out);
    for (const std::vector<CommStep>& steps : communication.steps) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            sink.put(i == 0 ? "" : ",");
            if (steps[i].kind == StepKind::pass && steps[i].action.overlapsNext && i + 1 < steps.size()) {
                const std::array<Action, 2> block = {steps[i].action, steps[i + 1].action};
                sink.put(blockText(block));
                ++i;
            } else {
                sink.put(stepText(steps[i]));
            }
        }
        sink.put("\n");
    }
}

ImportedSchedule readPytorchCsv(const std::vector<std::string_view>& lines, ScheduleFormat asked)
{
    return importedFrom(readRows(lines), asked);
}

Schedule parseScheduleCsv(const std::vector<std::string>& lines)
{
    return readComputeOnly(lines);
}

Schedule parseScheduleCsv(std::string_view text)
{
    return readComputeOnly(linesOf(text));
}

} // namespace sim
