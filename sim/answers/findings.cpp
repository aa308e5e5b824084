#include "sim/answers/findings.h"

#include "sim/simulate/memory_cap.h"

namespace sim {

namespace {

Answer triedAnswer(const Finding& finding, const SuggestedEdit& edit, const EditEffect& effect)
{
    Answer changes = Answer::object();
    for (const Change& change : edit.changes)
        changes[change.pointer] = change.json ? Answer::parse(*change.json) : Answer();
    Answer out{{"edit", edit.text},
               {"changes", std::move(changes)},
               {"step_time_s", effect.stepSeconds},
               {"time_per_token", effect.timePerToken},
               {"interval", {effect.likely.low - 1, effect.likely.high - 1}},
               {"level", effect.likely.level},
               {"can_tell", effect.likely.isKnown() && effect.likely.canTell()},
               {"basis", effect.likely.basis},
               {"peak_memory_gib", effect.peakGib},
               {"fits", effect.fitsAll()},
               {"helps", helps(finding.kind, effect)}};
    return out;
}

} // namespace

void addFindings(Answer& answer, const std::vector<Finding>& findings)
{
    for (const Finding& finding : findings)
        if (finding.kind != FindingKind::capMissed) // told already
            answer["findings"].push_back({{"kind", findingKindName(finding.kind)}, {"title", finding.title}});
}

void addFindings(Answer& answer, const std::vector<Finding>& findings, const Simulation& simulation,
                 const ScenarioDocument& document, const Catalogue& catalogue)
{
    std::vector<Answer> entries(findings.size());
    std::vector<std::vector<EditEffect>> tried(findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Finding& finding = findings[i];
        if (finding.kind == FindingKind::capMissed)
            continue;
        Answer entry{{"kind", findingKindName(finding.kind)}, {"title", finding.title}, {"tried", Answer::array()}};
        for (const SuggestedEdit& edit : finding.suggestions) {
            checkCancelled();
            try {
                if (const auto scenario = scenarioWith(edit, document, catalogue)) {
                    tried[i].push_back(effectOf(simulation, *simulate(*scenario)));
                    entry["tried"].push_back(triedAnswer(finding, edit, tried[i].back()));
                }
            } catch (const Error& error) { // legal, and cannot be simulated
                entry["tried"].push_back({{"edit", edit.text}, {"error", error.what()}});
            }
        }
        entries[i] = std::move(entry);
    }
    for (const std::size_t i : rankedByGain(findings, tried))
        if (!entries[i].is_null())
            answer["findings"].push_back(std::move(entries[i]));
}

void addMissedCap(Answer& answer, const Simulation& simulation)
{
    if (const auto missed = missedCap(simulation))
        answer["findings"].push_back({{"kind", "cap_missed"}, {"title", missed->text()}});
}

} // namespace sim
