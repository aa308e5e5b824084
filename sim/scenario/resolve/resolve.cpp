#include "sim/scenario/resolve/resolver.h"

#include "sim/scenario/files.h"
#include "sim/scenario/named_files.h"
#include "sim/scenario/schema.h"

#include <filesystem>

namespace sim {

std::vector<std::string> idsOf(const std::vector<Catalogue::Entry>& entries)
{
    std::vector<std::string> ids;
    for (const Catalogue::Entry& entry : entries)
        ids.push_back(entry.id);
    return ids;
}

Resolver::Resolver(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue& catalogue)
    : m_root(root), m_file(file), m_catalogue(catalogue), m_out(root)
{
    m_out.problems = std::move(shape);
    for (const Problem& problem : m_out.problems)
        if (!problem.message.starts_with(Schema::kUnknownKey))
            m_out.broken.insert(problem.pointer);
    for (const char* key : {"model", "cluster", "layout"})
        if (!root.contains(key))
            m_out.broken.insert(childPointer("", key));
}

Resolution Resolver::run()
{
    Scenario& scenario = m_out.scenario;
    const Block top = block("", m_root, nullptr, {});
    top.read("name", scenario.name);
    top.read("description", scenario.description);
    top.read("source", scenario.source);
    readModel(top);
    readLayout(top);
    readCluster(top);
    readSchedule(top);
    readTraining(top);
    readPerturbations(top);
    readLive(top);
    const Cluster& cluster = scenario.cluster; // a profile of a machine may have a name of its own
    scenario.uncertainty = m_catalogue.uncertainty(m_catalogue.isCpu(cluster.gpu.base) ? cluster.gpu.base : cluster.efficiency.id,
                                                   scenario.training.stack.id, scenario.model.numExperts > 0);
    return std::move(m_out);
}

bool Resolution::isUsable(std::string_view pointer, const Json& value) const
{
    if (broken.contains(pointer))
        return false;
    const std::string inside = std::string(pointer) + "/";
    const auto next = broken.lower_bound(inside);
    return !value.is_array() || next == broken.end() || !next->starts_with(inside);
}

Resolver::Block Resolver::block(std::string pointer, const Json& own, const Json* base, std::string baseId)
{
    if (base != nullptr)
        m_out.based.push_back({pointer, base, baseId});
    return {*this, std::move(pointer), own.is_object() ? own : m_nothing, base != nullptr ? *base : m_nothing, std::move(baseId)};
}

Resolver::Block Resolver::block(const Block& parent, std::string_view key)
{
    const Json* value = parent.find(key);
    return block(childPointer(parent.pointer, key), value != nullptr ? *value : m_nothing, nullptr, {});
}

/// The schema has told it better, where it knows the key.
void Resolver::refuseKind(const std::string& pointer)
{
    if (m_out.isSound(pointer))
        report(pointer, "is of another kind than this key has");
}

void Resolver::report(const std::string& pointer, std::string message)
{
    m_out.problems.push_back({m_file, pointer, std::move(message)});
    m_out.broken.insert(pointer);
}

std::string Resolver::readBeside(const std::string& name, std::size_t mostBytes) const
{
    return readFile(pathBeside(m_file, name), mostBytes);
}

bool Resolution::isGiven(std::string_view pointer) const
{
    const Json* value = findAt(*file, splitPointer(pointer));
    return value != nullptr && isUsable(pointer, *value);
}

std::string Resolution::originOf(std::string_view pointer) const
{
    if (isGiven(pointer))
        return {};
    const std::size_t slash = pointer.rfind('/');
    for (const Based& block : based)
        if (block.pointer == pointer.substr(0, slash) && memberOf(*block.entry, pointer.substr(slash + 1)) != nullptr)
            return " (of " + block.id + ")";
    return " (default)";
}

bool Resolution::isSound(std::string_view pointer) const
{
    for (const std::string& bad : broken)
        if (bad == pointer || (!bad.empty() && pointer.starts_with(bad) && pointer[bad.size()] == '/') ||
            (bad.starts_with(pointer) && bad[pointer.size()] == '/'))
            return false;
    return true;
}

Resolution resolveScenario(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue& catalogue)
{
    return Resolver(root, file, std::move(shape), catalogue).run();
}

} // namespace sim
