#include "sim/lesson/challenge.h"

#include "sim/scenario/balanced_layers.h"
#include "sim/scenario/changed_keys.h"
#include "sim/scenario/json_text.h"
#include "sim/schedule/families/families.h"

#include <algorithm>

namespace sim {
namespace {

/// "/schedule" covers "/schedule" and "/schedule/kind".
bool covers(const std::string& pointer, const std::string& key)
{
    return key.starts_with(pointer) && (key.size() == pointer.size() || key[pointer.size()] == '/');
}
bool isCovered(const std::vector<std::string>& pointers, const std::string& key)
{
    return std::any_of(pointers.begin(), pointers.end(), [&](const std::string& pointer) { return covers(pointer, key); });
}

/// A default that hangs on other keys, such as reshard_after_forward on pp: nobody wrote it, then or now.
bool isUnwritten(const std::string& pointer, const ScenarioDocument& start, const ScenarioDocument& mine)
{
    return !covers("/model", pointer) && !covers("/cluster", pointer) && !start.get(pointer) && !mine.get(pointer);
}

/// Whether this key is as the app lets it follow others: dp gives way to tp, cp and pp; a shard group that was all of dp × cp
/// goes on being that; nodes are as many as the ranks need; chunks are as many as another kind of schedule has at least; a
/// division of layers becomes the even one where there are more or fewer stages to divide them into.
bool follows(const std::string& pointer, const Scenario& start, const Scenario& mine)
{
    const Layout &before = start.layout, &now = mine.layout;
    if (pointer == "/layout/dp")
        return before.tp != now.tp || before.cp != now.cp || before.pp != now.pp;
    if (pointer == "/layout/dp_shard")
        return before.dpShard == before.dp * before.cp && now.dpShard == now.dp * now.cp;
    if (pointer == "/cluster/nodes")
        return before.worldSize() != now.worldSize() && now.worldSize() <= mine.cluster.gpus() &&
               mine.cluster.gpus() - now.worldSize() < mine.cluster.gpusPerNode;
    if (pointer == "/schedule/virtual_stages")
        return start.schedule.kind != mine.schedule.kind &&
               mine.schedule.virtualStages == scheduleFamily(mine.schedule.kind).chunks.least;
    if (pointer != "/schedule/layers_per_stage")
        return false;
    const std::vector<int>&divided = mine.schedule.layersPerStage, &was = start.schedule.layersPerStage;
    return divided.size() != was.size() && divided == balancedLayers(mine.model.numHiddenLayers, mine.stages());
}

void findChanged(ChallengeState& state, const ScenarioDocument& startDocument, const ScenarioDocument& mineDocument,
                 const Scenario& start, const Scenario& mine)
{
    for (const ChangedKey& key : changedKeys(start, mine)) {
        if (isUnwritten(key.pointer, startDocument, mineDocument))
            continue;
        (follows(key.pointer, start, mine) ? state.followed : state.changed).push_back(key.pointer);
    }
}

std::vector<std::string> changedOf(const LessonValue& start, const LessonValue& mine)
{
    std::vector<std::string> changed;
    for (const auto& [key, value] : mine.items())
        if (const LessonValue* before = memberOf(start, key); before == nullptr || *before != value)
            changed.push_back("/" + key);
    for (const auto& [key, unused] : start.items())
        if (!mine.contains(key))
            changed.push_back("/" + key);
    return changed;
}

bool isSame(const CaseSubject& a, const CaseSubject& b)
{
    if (const auto* document = std::get_if<ScenarioDocument>(&a))
        return document->text() == std::get<ScenarioDocument>(b).text();
    return std::get<LessonValue>(a) == std::get<LessonValue>(b);
}

} // namespace

std::string ChallengeState::text() const
{
    if (!problem.empty())
        return problem;
    if (!forbidden.empty())
        return forbidden.front() + " may not be changed here";
    if (isTooMuch())
        return std::to_string(changed.size()) + " changes, " + std::to_string(mostChanges) +
               (mostChanges == 1 ? " is possible" : " are possible");
    return unmet.empty() ? "reached" : unmet.front();
}

bool mayChange(const Challenge& challenge, const std::string& pointer)
{
    return (challenge.allow.empty() || isCovered(challenge.allow, pointer)) && !isCovered(challenge.forbid, pointer);
}

const CaseSubject& startOf(const Challenge& challenge, const Cases& cases)
{
    const CaseSubject* start = cases.subject(challenge.from);
    if (start == nullptr)
        throw Error("there is no case \"" + challenge.from + "\"");
    return *start;
}

ChallengeState stateOf(const Challenge& challenge, const CaseSubject& mine, const Cases& cases,
                       const std::shared_ptr<const Simulation>& simulation)
{
    ChallengeState state;
    state.mostChanges = challenge.changes;
    const CaseSubject& start = startOf(challenge, cases);
    if (start.index() != mine.index())
        throw Error("what is on screen is of another kind than the challenge's start");
    if (const auto* document = std::get_if<ScenarioDocument>(&mine)) {
        const auto& from = std::get<ScenarioDocument>(start);
        const Scenario fromScenario = resolvedScenario(from, cases.catalogue());
        try {
            findChanged(state, from, *document, fromScenario, resolvedScenario(*document, cases.catalogue()));
        } catch (const Error& error) {
            state.problem = error.what();
            return state;
        }
    } else {
        try { // an answer file has any values that somebody wrote
            requirePipeline(std::get<LessonValue>(mine), cases.catalogue());
        } catch (const Error& error) {
            state.problem = error.what();
            return state;
        }
        state.changed = changedOf(std::get<LessonValue>(start), std::get<LessonValue>(mine));
    }
    for (const std::string& key : state.changed)
        if (!mayChange(challenge, key))
            state.forbidden.push_back(key);
    Cases names(&cases);
    if (isSame(mine, start)) // untouched: its step is known
        names.putSame("mine", challenge.from);
    else if (simulation != nullptr && std::holds_alternative<ScenarioDocument>(mine))
        names.put("mine", std::get<ScenarioDocument>(mine), simulation);
    else
        names.put("mine", mine);
    for (const std::string& goal : challenge.goal)
        if (auto why = whyNot(goal, names))
            state.unmet.push_back(std::move(*why));
    return state;
}

} // namespace sim
