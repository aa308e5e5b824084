#include "sim/legal/rules.h"

#include "sim/error.h"

namespace sim {

bool Rules::isLegal()
{
    // The first two are what the others count on.
    constexpr std::array kRules{&Rules::sizes,         &Rules::kind,      &Rules::model,          &Rules::cluster,
                                &Rules::profile,       &Rules::world,     &Rules::tensorParallel, &Rules::experts,
                                &Rules::order,         &Rules::sharding,  &Rules::placement,      &Rules::stages,
                                &Rules::scheduleKind,  &Rules::sequences, &Rules::batch,          &Rules::precisionAndOverlap,
                                &Rules::perturbations, &Rules::magnitudes};
    for (std::size_t i = 0; i < kRules.size(); ++i) {
        (this->*kRules[i])();
        if (!m_isLegal && (!isTold() || i < 2))
            break;
    }
    return m_isLegal;
}

std::string Rules::counted(std::int64_t count, std::string_view noun)
{
    return text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string Rules::named(std::string_view key, std::int64_t value) const
{
    return std::string(key.substr(key.rfind('/') + 1)) + " " + text(value) + m_provenance.originOf(key);
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

} // namespace sim
