// Named cases of a file: half.step_time_s. A case is a scenario, or a pipeline alone (schedule_names.h). It starts from a file
// beside the one that names it or from one of the gallery (`scenario`: a name), from a scenario written out (`scenario`: an
// object), from an earlier case (`from`), from a pipeline (`schedule`), or else from the file itself where that is a scenario;
// and sets keys (`set`: pointer -> value, null erases). A word set that begins with "=" is an expression of the numbers and cases
// that are known by then: a question asked with other numbers has cases of its own (a layer above).
#pragma once

#include "sim/lesson/lesson.h"
#include "sim/lesson/scenario_names.h"
#include "sim/lesson/schedule_names.h"

#include <variant>

namespace sim {

/// What a case is: a scenario, or a pipeline as the schema's definition "schedule" has it.
using CaseSubject = std::variant<ScenarioDocument, LessonValue>;

class Cases final : public Names {
public:
    /// Of a scenario file: names without a prefix are those of the scenario itself.
    Cases(ScenarioDocument own, const Catalogue&);
    /// Of a lesson: `fileName` says beside which file scenarios are looked for.
    Cases(std::string fileName, const Catalogue&);
    /// More cases and numbers, above those of others, which must live as long.
    explicit Cases(const Cases* below);
    Cases(const Cases&) = delete;
    Cases& operator=(const Cases&) = delete;
    ~Cases() override;

    /// Throws ScenarioError for keys that mean nothing and values that cannot be set; nothing is resolved or simulated yet.
    void add(const CaseDefinition&);
    void put(const std::string& name, CaseSubject);
    /// The step of that scenario is there already.
    void put(const std::string& name, ScenarioDocument, std::shared_ptr<const Simulation>);
    void putNumber(const std::string& name, double number);
    /// Another name of a case that is known, in this layer or below: what was worked out of one is known of both.
    void putSame(const std::string& name, std::string_view as);

    Meaning find(std::string_view name) const override;
    bool takesArguments(std::string_view name) const override;
    Meaning call(std::string_view name, std::span<const double> arguments) const override;
    std::vector<std::string> known() const override;

    /// Here or below; nullptr where there is none, or only a number.
    const CaseSubject* subject(std::string_view name) const;
    /// Cases of this layer that nothing has asked for yet.
    std::vector<std::string> unused() const;
    const Catalogue& catalogue() const { return m_catalogue; }

private:
    struct Entry {
        std::variant<CaseSubject, LessonValue> is; ///< a number stands as a LessonValue
        std::shared_ptr<Names> names;              ///< once asked for
    };
    CaseSubject start(const CaseDefinition&) const;
    Entry* entry(std::string_view name) const;
    static void work(Entry&, const Catalogue&);
    Catalogue m_catalogue; ///< a copy: cases outlive who made them
    std::string m_fileName;
    const Cases* m_below = nullptr;
    std::optional<ScenarioDocument> m_ownDocument;
    std::unique_ptr<ScenarioNames> m_own;
    mutable std::map<std::string, Entry, std::less<>> m_entries;
};

/// Does a definition ask for a question's numbers?
bool hasExpressions(const CaseDefinition&);
/// The outermost names that its expressions ask for; of one that cannot be read, none.
std::vector<std::string> namesAsked(const CaseDefinition&);

/// Has a pipeline the keys and values that the schema's definition "schedule" allows? Throws ScenarioError.
void requirePipeline(const LessonValue& schedule, const Catalogue&);

/// Sets and erases keys of a subject. Throws Error.
void setKeys(CaseSubject&, const LessonValue& keys);

/// A scenario by its file's name without ".json": beside `fileName`, else in the gallery. Throws ScenarioError at `pointer`.
ScenarioDocument namedScenario(const std::string& name, const std::string& fileName, const std::string& pointer,
                               const Catalogue&);

} // namespace sim
