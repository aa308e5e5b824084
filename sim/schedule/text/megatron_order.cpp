// Megatron Core's convert_schedule_table_to_order, which Transformer Engine's graph capture takes too: a number a pass, its
// rank's chunk from 1, negative for the backward; half a chunk further from zero for the weight gradient.
#include "sim/error.h"
#include "sim/index.h"
#include "sim/schedule/text/cells.h"
#include "sim/schedule/text/export.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

namespace sim {

namespace {

struct Word {
    ActionKind kind = ActionKind::forward; ///< a backward may yet turn out to be of the input alone
    int chunk = 0;                         ///< from 0
};

Word readOrderWord(std::string_view text, const Where& where)
{
    constexpr std::string_view kHalf = ".5";
    std::string_view digits = text;
    Word word;
    if (digits.starts_with('-')) {
        word.kind = ActionKind::backward;
        digits.remove_prefix(1);
        if (digits.ends_with(kHalf)) {
            word.kind = ActionKind::backwardWeight;
            digits.remove_suffix(kHalf.size());
        }
    }
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
        failAt(where, text,
               "is not a chunk; write 1 for a forward of the first chunk, -1 for its backward, -1.5 for its weight gradient");
    const int chunk = parseNumber(digits, where, text);
    if (chunk == 0)
        failAt(where, text, "names chunk 0; they count from 1");
    word.chunk = chunk - 1;
    return word;
}

/// Chunk c of rank r is stage c * ranks + r?
void requireLoop(const Schedule& schedule)
{
    for (int stage = 0; stage < schedule.stages(); ++stage)
        if (schedule.stageToRank[asIndex(stage)] != stage % schedule.ranks)
            throw Error("Megatron's order numbers the chunks of a rank and places them in a loop, where stage " +
                        std::to_string(stage) + " lives on rank " + std::to_string(stage % schedule.ranks) + "; in \"" +
                        schedule.kind + "\" it lives on rank " + std::to_string(schedule.stageToRank[asIndex(stage)]));
}

} // namespace

ImportedSchedule readMegatronOrder(const std::vector<std::string_view>& lines)
{
    std::vector<std::vector<Action>> actions(lines.size());
    bool split = false;
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        std::map<std::pair<ActionKind, int>, int> counted;
        const std::vector<std::string_view> words = splitWords(lines[rank]);
        for (std::size_t i = 0; i < words.size(); ++i) {
            const Where where{rank + 1, i + 1};
            const Word word = readOrderWord(words[i], where);
            const std::int64_t stage =
                std::int64_t{word.chunk} * static_cast<std::int64_t>(lines.size()) + static_cast<std::int64_t>(rank);
            if (stage > std::numeric_limits<std::int32_t>::max())
                failAt(where, words[i], "has a number too large to be one");
            split = split || word.kind == ActionKind::backwardWeight;
            actions[rank].push_back(
                {.kind = word.kind, .stage = static_cast<std::int32_t>(stage), .microbatch = counted[{word.kind, word.chunk}]++});
        }
    }
    if (split)
        for (std::vector<Action>& list : actions)
            for (Action& action : list)
                if (action.kind == ActionKind::backward)
                    action.kind = ActionKind::backwardInput;
    return {.schedule = framedSchedule(std::move(actions)), .format = ScheduleFormat::megatron, .communication = std::nullopt};
}

std::string megatronOrder(const Schedule& schedule)
{
    requireLoop(schedule);
    requirePlainPasses(schedule, "Megatron's order");
    std::string text;
    for (const std::vector<Action>& list : schedule.actions) {
        std::map<std::pair<ActionKind, int>, int> counted;
        std::string line;
        for (const Action& action : list) {
            int& next = counted[{action.kind, action.stage}];
            if (action.microbatch != next)
                throw Error("Megatron's order counts micro-batches: the next " + std::string(1, actionLetter(action.kind)) +
                            " of stage " + std::to_string(action.stage) + " would be read as micro-batch " +
                            std::to_string(next) + ", but is " + actionText(action));
            ++next;
            line += (line.empty() ? "" : " ") + std::string(action.kind == ActionKind::forward ? "" : "-") +
                    std::to_string(action.stage / schedule.ranks + 1) + (action.kind == ActionKind::backwardWeight ? ".5" : "");
        }
        text += line + "\n";
    }
    return text;
}

} // namespace sim
