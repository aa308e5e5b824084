// What goes wrong on purpose: ranks that are there, failures said once, keys that have an effect.
#include "sim/legal/rules.h"
#include "sim/scenario/words.h"

#include <utility>

namespace sim {

void Rules::perturbations()
{
    const auto& list = m_scenario.perturbations;
    if (!sound({"/perturbations", "/layout"}) || !m_worldIsSound)
        return;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string at = "/perturbations/" + text(static_cast<std::int64_t>(i));
        unusedKeys(list[i].kind, at);
        if (list[i].kind == PerturbationKind::failure)
            failures(i, at);
        if (list[i].rank >= m_scenario.layout.worldSize())
            error(at + "/rank", [&] {
                return "there is no rank " + text(list[i].rank) + "; the layout has ranks 0 to " +
                       text(m_scenario.layout.worldSize() - 1);
            });
    }
}

/// There is one job, which fails so often and is saved so often.
void Rules::failures(std::size_t index, const std::string& at)
{
    const auto& list = m_scenario.perturbations;
    for (std::size_t i = 0; i < index; ++i)
        if (list[i].kind == PerturbationKind::failure)
            return error(at + "/kind", [&] {
                return "failures are described once, and /perturbations/" + text(static_cast<std::int64_t>(i)) + " does";
            });
    const Failures& f = list[index].failures;
    if (f.checkpointSeconds && isWritten(at + "/storage_gbs"))
        warning(at + "/storage_gbs", [] { return std::string("has no effect beside checkpoint_s"); });
    if (f.spares > 0 && f.replaceSeconds == 0)
        warning(at + "/spares",
                [&] { return text(f.spares) + " have no effect: with replace_s 0 another node is there at once"; });
}

/// Keys that another kind of perturbation would have looked at.
void Rules::unusedKeys(PerturbationKind kind, const std::string& at)
{
    const bool isSlow = kind == PerturbationKind::slowGpu || kind == PerturbationKind::slowLink;
    const bool isJitter = kind == PerturbationKind::jitter, isFailure = kind == PerturbationKind::failure;
    for (const auto& [key, isUsed] : {std::pair{"/rank", !isFailure},
                                      {"/factor", isSlow},
                                      {"/sigma", isJitter},
                                      {"/seed", isJitter || isFailure},
                                      {"/mtbf_hours", isFailure},
                                      {"/checkpoint_every_s", isFailure},
                                      {"/checkpoint_s", isFailure},
                                      {"/storage_gbs", isFailure},
                                      {"/restart_s", isFailure},
                                      {"/replace_s", isFailure},
                                      {"/spares", isFailure},
                                      {"/days", isFailure}})
        if (!isUsed && isWritten(at + key))
            warning(at + key, [&] { return "has no effect on " + std::string(toWord(kPerturbationWords, kind)); });
}

} // namespace sim
