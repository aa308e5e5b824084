#include "sim/lesson/schedule_names.h"

#include "sim/answers/schedule.h"
#include "sim/scenario/json_text.h"
#include "sim/schedule/check.h"
#include "sim/schedule/text/csv.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

template <std::size_t N>
std::array<double, N> numbersAt(const LessonValue& given, std::string_view key, std::array<double, N> usual)
{
    const auto list = memberOr<std::vector<double>>(given, key, {});
    if (list.size() == N)
        std::copy(list.begin(), list.end(), usual.begin());
    return usual;
}

/// An order as its author wrote it: parts with blanks between, or commas.
std::vector<std::string> rowsOf(const LessonValue& given)
{
    auto rows = memberOr<std::vector<std::string>>(given, "actions", {});
    for (std::string& row : rows) {
        std::string cells;
        for (const char c : row)
            if (c != ' ' && c != ',')
                cells += c;
            else if (!cells.empty() && cells.back() != ',')
                cells += ',';
        row = cells.ends_with(',') ? cells.substr(0, cells.size() - 1) : cells;
    }
    return rows;
}

LessonValue waitsOf(const Schedule& schedule)
{
    LessonValue waits = LessonValue::array();
    for (const Wait& wait : deadlockCycle(schedule))
        waits.push_back({{"rank", wait.rank},
                         {"blocked", actionText(wait.blocked)},
                         {"needed", actionText(wait.needed)},
                         {"provider", wait.provider}});
    return waits;
}

LessonValue answerOf(const LessonValue& given)
{
    ScheduleRequest request = lessonSchedule(given);
    ChosenSchedule chosen;
    LessonValue waits = LessonValue::array(), problems = LessonValue::array();
    if (given.contains("actions")) {
        chosen.schedule = parseScheduleCsv(rowsOf(given));
        waits = waitsOf(chosen.schedule);
        problems = checkSchedule(chosen.schedule);
    } else {
        chosen = chooseSchedule(request);
    }
    LessonValue answer;
    if (problems.empty())
        answer =
            scheduleAnswer(chosen, evaluateSchedule(chosen.schedule, request.times, request.memory),
                           runInOrder(lowerCommunication(chosen.schedule, {}), request.times, CommStreams::shared, "shared"));
    answer["hangs"] = !waits.empty();
    answer["waits"] = std::move(waits);
    answer["problems"] = std::move(problems);
    return answer;
}

} // namespace

ScheduleRequest lessonSchedule(const LessonValue& given)
{
    constexpr double kMostActions = 200'000, kMostSearched = 4096;
    ScheduleRequest request;
    request.kind = memberOr<std::string>(given, "kind", request.kind);
    request.customActions = rowsOf(given);
    const auto [forward, input, weight, comm] = numbersAt<4>(given, "times", {1, 1, 1, 0});
    const auto [full, untilWeight] = numbersAt<2>(given, "memory", {1, 1});
    request.times = {{.forward = forward, .backwardInput = input, .backwardWeight = weight, .comm = comm}};
    request.memory = {{.full = full, .weight = untilWeight}};
    request.memoryCap = memberOr(given, "memory_cap", 0.0);
    if (!request.customActions.empty())
        return request;
    const ScheduleFamily& family = scheduleFamily(request.kind);
    if (family.isWrittenOut)
        throw Error(request.kind + " needs actions");
    for (const char* key : {"stages", "microbatches"})
        if (!given.contains(key))
            throw Error(request.kind + " needs " + key);
    request.ranks = memberOr(given, "stages", 1);
    request.microbatches = memberOr(given, "microbatches", 1);
    request.virtualStages = memberOr(given, "virtual", family.chunks.least);
    request.microbatchGroup = memberOr(given, "group", 0);
    request.slices = memberOr(given, "slices", family.usualSlices);
    const double actions = 3.0 * request.ranks * request.microbatches * request.virtualStages * request.slices;
    if (const double most = family.isSearched ? kMostSearched : kMostActions; actions > most)
        throw Error("a pipeline of " + shownValue(actions) + " actions is more than the " + shownValue(most) +
                    " of a lesson; take fewer micro-batches");
    return request;
}

bool isSameWork(const LessonValue& a, const LessonValue& b)
{
    const auto forwards = [](const LessonValue& given) {
        const Schedule schedule =
            given.contains("actions") ? parseScheduleCsv(rowsOf(given)) : chooseSchedule(lessonSchedule(given)).schedule;
        std::vector<std::pair<int, int>> all;
        for (const auto& row : schedule.actions)
            for (const Action& action : row)
                if (action.kind == ActionKind::forward)
                    all.emplace_back(action.stage, action.microbatch);
        std::sort(all.begin(), all.end());
        return std::pair(schedule.ranks, std::move(all));
    };
    try {
        return forwards(a) == forwards(b);
    } catch (const Error&) {
        return false;
    }
}

const LessonValue& ScheduleNames::answer() const
{
    if (!m_answer)
        m_answer = answerOf(m_given);
    return *m_answer;
}

Names::Meaning ScheduleNames::find(std::string_view name) const
{
    const LessonValue& all = answer();
    if (name == "schedule")
        return &all;
    const auto found = all.find(std::string(name));
    if (found != all.end())
        return &*found;
    if (const LessonValue& problems = all.at("problems"); !problems.empty())
        throw Error("this order cannot run: " + problems.front().get<std::string>());
    return {};
}

std::vector<std::string> ScheduleNames::known() const
{
    std::vector<std::string> names;
    for (const auto& [key, unused] : answer().items())
        names.push_back(key);
    return names;
}

} // namespace sim
