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
               {"can_tell", effect.likely.canTell()},
               {"basis", effect.likely.basis},
               {"peak_memory_gib", effect.peakGib},
               {"fits", effect.fits},
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
    for (const Finding& finding : findings) {
        if (finding.kind == FindingKind::capMissed)
            continue;
        Answer entry{{"kind", findingKindName(finding.kind)}, {"title", finding.title}, {"tried", Answer::array()}};
        for (const SuggestedEdit& edit : finding.suggestions) {
            checkCancelled();
            try {
                if (const auto scenario = scenarioWith(edit, document, catalogue))
                    entry["tried"].push_back(triedAnswer(finding, edit, effectOf(simulation, *simulate(*scenario))));
            } catch (const Error& error) { // legal, and cannot be simulated
                entry["tried"].push_back({{"edit", edit.text}, {"error", error.what()}});
            }
        }
        answer["findings"].push_back(std::move(entry));
    }
}

void addMissedCap(Answer& answer, const Simulation& simulation)
{
    if (const auto missed = missedCap(simulation))
        answer["findings"].push_back({{"kind", "cap_missed"}, {"title", missed->text()}});
}

} // namespace sim
