// The cases of a file: the scenario itself, without a prefix, and named variants of it: half.step_time_s. A case starts from the
// file itself, from an earlier case (`from`), or from another file beside it (`scenario`), and sets keys: pointer -> value, null
// erases.
#pragma once

#include "sim/lesson/scenario_names.h"

namespace sim {

class Cases final : public Names {
public:
    /// `cases` is the file's key of that name, or null. What is wrong with one is thrown when its name is asked for.
    /// Throws ScenarioError for keys that mean nothing.
    Cases(ScenarioDocument own, const LessonValue& cases, const Catalogue&);

    Meaning find(std::string_view name) const override;
    bool takesArguments(std::string_view name) const override;
    Meaning call(std::string_view name, std::span<const double> arguments) const override;
    std::vector<std::string> known() const override;

    /// Cases that nothing has asked for yet.
    std::vector<std::string> unused() const;

private:
    struct Case {
        ScenarioDocument document;
        std::unique_ptr<ScenarioNames> names; ///< once asked for
    };
    const Catalogue& m_catalogue;
    ScenarioNames m_own;
    mutable std::map<std::string, Case, std::less<>> m_cases;
};

} // namespace sim
