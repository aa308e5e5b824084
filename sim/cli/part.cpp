#include "sim/cli/part.h"

#include "sim/cli/command.h"
#include "sim/text/quoted.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace sim::cli {
namespace {

constexpr int kMostParts = 1'000'000;

std::optional<int> wholeNumberIn(std::string_view text)
{
    int value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Of the environment; throws where it is there and no number.
std::optional<int> variable(const char* name)
{
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0')
        return std::nullopt;
    if (const auto value = wholeNumberIn(text))
        return value;
    throw UsageError("--part auto: " + std::string(name) + " is " + quotedText(text) + ", not a whole number");
}

Part checked(int index, int count, const std::string& where)
{
    if (count < 1 || count > kMostParts || index < 0 || index >= count)
        throw UsageError("--part auto: " + where + " say " + std::to_string(index) + " of " + std::to_string(count) +
                         ", counted from 0; that is no part");
    return {.index = index, .count = count};
}

struct LauncherVariables {
    const char* rank;
    const char* size;
    const char* inside; ///< is set where the two mean this process
};
constexpr std::array<LauncherVariables, 4> kLaunchers{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
                                                       {"PMI_RANK", "PMI_SIZE", nullptr},
                                                       {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", nullptr},
                                                       // A batch script has the first two as well, for all tasks together.
                                                       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"}}};

Part fromEnvironment()
{
    Part tasks, array;
    bool isSaid = false;
    for (const LauncherVariables& of : kLaunchers) {
        const auto rank = variable(of.rank), size = variable(of.size);
        if (!rank || !size || (of.inside != nullptr && !variable(of.inside)))
            continue;
        tasks = checked(*rank, *size, std::string(of.rank) + " and " + of.size);
        isSaid = true;
        break;
    }
    if (const auto task = variable("SLURM_ARRAY_TASK_ID")) {
        const auto count = variable("SLURM_ARRAY_TASK_COUNT");
        const int least = variable("SLURM_ARRAY_TASK_MIN").value_or(0), step = variable("SLURM_ARRAY_TASK_STEP").value_or(1);
        if (!count)
            throw UsageError("--part auto: SLURM_ARRAY_TASK_ID is set and SLURM_ARRAY_TASK_COUNT is not; write --part I/N");
        if (step < 1 || *task < least || (*task - least) % step != 0)
            throw UsageError("--part auto: task " + std::to_string(*task) + " of an array from " + std::to_string(least) +
                             " in steps of " + std::to_string(step) + "; write --part I/N");
        array = checked((*task - least) / step, *count, "SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT");
        isSaid = true;
    }
    if (!isSaid)
        throw UsageError("--part auto: no variable of mpirun, srun or a Slurm array is set; write --part I/N, as 1/4");
    const std::int64_t count = std::int64_t{array.count} * tasks.count;
    if (count > kMostParts)
        throw UsageError("--part auto: " + std::to_string(array.count) + " array tasks of " + std::to_string(tasks.count) +
                         " processes are more than " + std::to_string(kMostParts) + " parts");
    return {.index = array.index * tasks.count + tasks.index, .count = static_cast<int>(count)};
}

} // namespace

Part partOf(const std::string& text)
{
    if (text.empty())
        return {};
    if (text == "auto")
        return fromEnvironment();
    const std::size_t slash = text.find('/');
    const auto index = wholeNumberIn(std::string_view(text).substr(0, slash));
    const auto count = slash == std::string::npos ? std::nullopt : wholeNumberIn(std::string_view(text).substr(slash + 1));
    if (!index || !count || *count < 1 || *count > kMostParts || *index < 1 || *index > *count)
        throw UsageError("--part takes I/N with I from 1 to N, as 1/4, or auto; it got " + quotedText(text));
    return {.index = *index - 1, .count = *count};
}

} // namespace sim::cli
