// What an expression may ask about one scenario: the keys of the commands' --json. `simulate` without a prefix (step_time_s, mfu,
// per_pipeline_rank), the others after their name: memory.per_pipeline_rank, traffic.total, describe.layout.tp, schedule.bubble,
// groups(RANK).tp; validate.good and validate.problems also where the scenario is not legal. Worked out when asked for, once.
#pragma once

#include "sim/lesson/expression.h"
#include "sim/scenario/document.h"

#include <functional>
#include <map>
#include <memory>

namespace sim {

class Simulation;

class ScenarioNames final : public Names {
public:
    ScenarioNames(ScenarioDocument, const Catalogue&);
    /// Of a step that has been simulated already.
    explicit ScenarioNames(std::shared_ptr<const Simulation>);
    ~ScenarioNames() override;

    Meaning find(std::string_view name) const override;
    bool takesArguments(std::string_view name) const override;
    Meaning call(std::string_view name, std::span<const double> arguments) const override;
    std::vector<std::string> known() const override;

private:
    const Simulation& simulation() const;
    LessonValue validation() const;
    const LessonValue& answer(const std::string& key, const std::function<LessonValue()>& make) const;

    ScenarioDocument::Resolved m_resolved;
    mutable std::shared_ptr<const Simulation> m_simulation;
    mutable std::map<std::string, LessonValue, std::less<>> m_answers;
    mutable std::size_t m_members = 0; ///< of all groups among the answers
};

} // namespace sim
