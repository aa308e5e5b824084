#include "sim/scenario/validate.h"

#include "sim/scenario/rules.h"

#include <algorithm>
#include <utility>

namespace sim {

void Rules::run()
{
    model();
    cluster();
    profile();
    world();
    tensorParallel();
    experts();
    order();
    sharding();
    placement();
    stages();
    scheduleKind();
    sequences();
    batch();
    precisionAndOverlap();
    perturbations();
    magnitudes();
}

bool Rules::sound(Pointers pointers) const
{
    return std::all_of(pointers.begin(), pointers.end(), [this](std::string_view p) { return m_resolution.isSound(p); });
}

bool Rules::isGiven(std::string_view pointer) const
{
    return m_resolution.origins.given.contains(pointer);
}

std::string Rules::counted(std::int64_t count, std::string_view noun)
{
    return text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string Rules::named(std::string_view pointer, std::int64_t value) const
{
    return std::string(pointer.substr(pointer.rfind('/') + 1)) + " " + text(value) + m_resolution.origins.of(pointer);
}

void Rules::error(std::string_view pointer, std::string message)
{
    m_problems.push_back({m_file, std::string(pointer), std::move(message)});
}

void Rules::warning(std::string_view pointer, std::string message)
{
    m_problems.push_back({m_file, std::string(pointer), std::move(message), Severity::warning});
}

void validate(const Resolution& resolution, const std::string& file, std::vector<Problem>& problems)
{
    Rules(resolution, file, problems).run();
}

} // namespace sim
