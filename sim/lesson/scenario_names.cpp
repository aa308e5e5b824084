#include "sim/lesson/scenario_names.h"

#include "sim/answers/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim {
namespace {

constexpr std::array<std::string_view, 6> kPrefixes = {"memory", "traffic", "describe", "schedule", "validate", "groups"};

/// The groups stand beside the coordinates: groups(5).tp.
LessonValue groupsAnswer(const Simulation& simulation, int rank)
{
    LessonValue answer = rankAnswer(simulation.mesh(), simulation.placement(), rank);
    const LessonValue groups = answer.at("groups");
    answer.erase("groups");
    answer.update(groups);
    return answer;
}

} // namespace

ScenarioNames::ScenarioNames(ScenarioDocument document, const Catalogue& catalogue) : m_resolved(document.resolve(catalogue)) {}
ScenarioNames::ScenarioNames(std::shared_ptr<const Simulation> simulation) : m_simulation(std::move(simulation))
{
    m_resolved.scenario = m_simulation->scenario();
}
ScenarioNames::~ScenarioNames() = default;

const Simulation& ScenarioNames::simulation() const
{
    if (!m_resolved.scenario)
        throw ScenarioError(m_resolved.problems);
    if (!m_simulation)
        m_simulation = simulate(*m_resolved.scenario);
    return *m_simulation;
}

/// Also what only a schedule that is made can tell: that its order hangs.
LessonValue ScenarioNames::validation() const
{
    LessonValue problems = LessonValue::array();
    try {
        simulation();
    } catch (const ScenarioError& error) {
        for (Problem problem : error.problems())
            if (problem.severity == Severity::error) {
                problem.file.clear(); // wherever the file lies
                problems.push_back(problem.text());
            }
    } catch (const Error& error) {
        problems.push_back(error.what());
    }
    const bool good = problems.empty();
    return {{"good", good}, {"problems", std::move(problems)}};
}

const LessonValue& ScenarioNames::answer(const std::string& key, const std::function<LessonValue()>& make) const
{
    const auto found = m_answers.find(key);
    return found != m_answers.end() ? found->second : m_answers.emplace(key, make()).first->second;
}

Names::Meaning ScenarioNames::find(std::string_view name) const
{
    if (name == "memory")
        return &answer("memory", [&] { return memoryAnswer(simulation()); });
    if (name == "traffic")
        return &answer("traffic", [&] { return trafficAnswer(simulation()); });
    if (name == "describe")
        return &answer("describe", [&] { return describeAnswer(simulation()); });
    if (name == "schedule")
        return &answer("schedule", [&] { return scheduleAnswer(simulation().scenario()); });
    if (name == "validate")
        return &answer("validate", [&] { return validation(); });
    if (name == "groups")
        throw Error("say of which rank: groups(0)");
    const LessonValue& step = answer("simulate", [&] { return stepAnswer(simulation()); });
    const auto found = step.find(std::string(name));
    if (found == step.end())
        return {};
    return &*found;
}

bool ScenarioNames::takesArguments(std::string_view name) const
{
    return name == "groups";
}

Names::Meaning ScenarioNames::call(std::string_view name, std::span<const double> arguments) const
{
    if (!takesArguments(name))
        return {};
    if (arguments.size() != 1)
        throw Error("takes one rank");
    const int worldSize = simulation().metrics().worldSize;
    const double rank = arguments.front();
    if (rank != std::floor(rank) || rank < 0 || rank >= worldSize)
        throw Error("there is no rank " + shownValue(rank) + "; the layout has ranks 0 to " + std::to_string(worldSize - 1));
    const int index = static_cast<int>(rank);
    constexpr std::size_t kMostMembers = 8'000'000; // of the groups that are kept for later
    if (m_members > kMostMembers)
        throw Error("more groups are asked for than are kept at a time");
    return &answer("groups " + std::to_string(index), [&] {
        LessonValue groups = groupsAnswer(simulation(), index);
        for (const LessonValue& members : groups)
            m_members += members.size();
        return groups;
    });
}

std::vector<std::string> ScenarioNames::known() const
{
    std::vector<std::string> names(kPrefixes.begin(), kPrefixes.end());
    if (m_resolved.scenario)
        for (const auto& [key, unused] : answer("simulate", [&] { return stepAnswer(simulation()); }).items())
            names.push_back(key);
    return names;
}

} // namespace sim
