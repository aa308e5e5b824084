#include "sim/scenario/resolve/resolver.h"

namespace sim {

void Resolver::readPerturbations(const Block& top)
{
    const Json* list = top.find("perturbations");
    if (list == nullptr)
        return;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const Block from = block("/perturbations/" + std::to_string(i), (*list)[i], nullptr, {});
        Perturbation perturbation;
        from.read("kind", kPerturbationWords, perturbation.kind);
        const bool hasRank = from.read("rank", perturbation.rank);
        const bool hasFactor = from.read("factor", perturbation.factor);
        const bool hasSigma = from.read("sigma", perturbation.sigma);
        from.read("seed", perturbation.seed);
        const std::string kind(toWord(kPerturbationWords, perturbation.kind));
        const auto need = [&](bool given, const char* key) {
            if (!given)
                report(from.pointer, kind + " needs \"" + key + "\"");
        };
        const bool isJitter = perturbation.kind == PerturbationKind::jitter;
        const bool isFailure = perturbation.kind == PerturbationKind::failure;
        need(hasRank || isJitter || isFailure, "rank");
        need(hasFactor || isJitter || isFailure, "factor");
        need(hasSigma || !isJitter, "sigma");
        readFailures(from, perturbation.failures);
        m_out.scenario.perturbations.push_back(perturbation);
    }
}

void Resolver::readFailures(const Block& from, Failures& failures)
{
    from.read("mtbf_hours", failures.mtbfHours);
    for (const auto& [key, seconds] :
         {std::pair{"checkpoint_every_s", &failures.checkpointEverySeconds}, {"checkpoint_s", &failures.checkpointSeconds}})
        if (double given = 0; from.read(key, given))
            *seconds = given;
    from.read("storage_gbs", failures.storageGBs);
    from.read("restart_s", failures.restartSeconds);
    from.read("replace_s", failures.replaceSeconds);
    from.read("spares", failures.spares);
    from.read("days", failures.days);
}

} // namespace sim
