#include "sim/legal/rules.h"

#include "sim/error.h"

namespace sim {

bool Rules::isLegal(RulesOf asked)
{
    struct Rule {
        void (Rules::*look)();
        RulesOf of;
    };
    // The first two are what the others count on.
    constexpr std::array<Rule, 21> kRules{{{&Rules::sizes, RulesOf::all},
                                           {&Rules::kind, RulesOf::all},
                                           {&Rules::model, RulesOf::others},
                                           {&Rules::cluster, RulesOf::others},
                                           {&Rules::profile, RulesOf::others},
                                           {&Rules::world, RulesOf::others},
                                           {&Rules::tensorParallel, RulesOf::others},
                                           {&Rules::exchangedHeads, RulesOf::others},
                                           {&Rules::experts, RulesOf::others},
                                           {&Rules::order, RulesOf::others},
                                           {&Rules::sharding, RulesOf::others},
                                           {&Rules::placement, RulesOf::others},
                                           {&Rules::stages, RulesOf::pipeline},
                                           {&Rules::scheduleKind, RulesOf::pipeline},
                                           {&Rules::sequences, RulesOf::others},
                                           {&Rules::batch, RulesOf::others},
                                           {&Rules::microbatches, RulesOf::pipeline},
                                           {&Rules::precisionAndOverlap, RulesOf::others},
                                           {&Rules::recomputedLayers, RulesOf::pipeline},
                                           {&Rules::perturbations, RulesOf::others},
                                           {&Rules::magnitudes, RulesOf::others}}};
    for (std::size_t i = 0; i < kRules.size(); ++i) {
        if (asked != RulesOf::all && kRules[i].of != RulesOf::all && kRules[i].of != asked)
            continue;
        (this->*kRules[i].look)();
        if (!m_isLegal && (!isTold() || i < 2))
            break;
    }
    return m_isLegal;
}

std::string Rules::orElse(const std::string& numbers, const std::string& other)
{
    const char* const alone = other.starts_with("give ") ? "; " : "; nearest: ";
    return numbers + (other.empty() ? "" : (numbers.empty() ? alone : ", or ") + other);
}

std::string Rules::counted(std::int64_t count, std::string_view noun)
{
    return text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string Rules::named(std::string_view key, std::int64_t value) const
{
    return std::string(key.substr(key.rfind('/') + 1)) + " " + text(value) + m_provenance.originOf(key);
}

std::string Rules::valueOf(std::string_view key, std::int64_t value) const
{
    return std::string(key.substr(key.rfind('/') + 1)) + " is " + text(value) + m_provenance.originOf(key);
}

std::vector<Reason> judge(const Scenario& scenario, const Provenance& provenance)
{
    std::vector<Reason> reasons;
    Rules(scenario, provenance, &reasons).isLegal();
    return reasons;
}

bool isLegal(const Scenario& scenario)
{
    return Rules(scenario, {}, nullptr).isLegal();
}

bool isLegalBesidePipeline(const Scenario& scenario)
{
    return Rules(scenario, {}, nullptr).isLegal(RulesOf::others);
}

bool hasLegalPipeline(const Scenario& scenario)
{
    return Rules(scenario, {}, nullptr).isLegal(RulesOf::pipeline);
}

} // namespace sim
