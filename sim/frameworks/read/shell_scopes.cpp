// What assignments of a script change, and what comes back behind a command, a subshell, a function or an arm of a branch.
#include "sim/frameworks/read/shell_reader.h"

#include <algorithm>
#include <iterator>

namespace sim::frameworks {

void ShellReader::assignText(const std::string& name, ShellText value)
{
    if (m_ofStatement != nullptr)
        remember(*m_ofStatement, name);
    assign(name, {.pieces = {std::move(value)}});
}

void ShellReader::assign(const std::string& name, ShellVariable value, bool isMore, const std::string& key)
{
    const auto scope =
        std::find_if(m_scopes.rbegin(), m_scopes.rend(), [](const Scope& one) { return one.of != ScopeOf::function; });
    if (scope != m_scopes.rend())
        keepFor(*scope, name);
    const int open = openBranch();
    for (std::vector<ShellText>* const texts : {&value.pieces, &value.elements})
        for (ShellText& one : *texts)
            one.branch = moreOpen(one.branch, open);
    value.branch = open;
    ShellVariable& target = m_variables[name];
    if (!key.empty()) {
        spend(costOfLook(target)); // each of which is looked at
        putElement(target, key, std::move(value.pieces.front()));
    } else if (!isMore) {
        target = std::move(value);
    } else {
        target.isArray = target.isArray || value.isArray;
        target.branch = moreOpen(target.branch, open);
        std::move(value.pieces.begin(), value.pieces.end(), std::back_inserter(target.pieces));
        std::move(value.elements.begin(), value.elements.end(), std::back_inserter(target.elements));
    }
    if (m_exportsAll)
        m_exported.insert(name);
    if (m_order.size() < 5000 && m_ordered.insert(name).second)
        m_order.push_back(name);
}

void ShellReader::spendOn(const ShellVariable& variable)
{
    for (const std::vector<ShellText>* const texts : {&variable.pieces, &variable.elements})
        for (const ShellText& one : *texts)
            spend(one.text.size());
}

std::optional<ShellVariable> ShellReader::takeVariable(const std::string& name)
{
    const auto found = m_variables.find(name);
    if (found == m_variables.end())
        return std::nullopt;
    std::optional<ShellVariable> value = std::move(found->second);
    m_variables.erase(found);
    return value;
}

void ShellReader::putBack(const std::string& name, std::optional<ShellVariable> value)
{
    if (value)
        m_variables[name] = std::move(*value);
}

void ShellReader::remember(std::vector<Assigned>& before, const std::string& name)
{
    before.push_back({name});
    if (const auto found = m_variables.find(name); found != m_variables.end()) {
        spendOn(found->second);
        before.back().before = found->second;
    }
}

void ShellReader::changePlaces(Assigned& one)
{
    std::optional<ShellVariable> now = takeVariable(one.name);
    putBack(one.name, std::exchange(one.before, std::move(now)));
}

void ShellReader::endAssigned(std::vector<Assigned>& before, std::size_t from)
{
    for (; !before.empty(); before.pop_back()) {
        auto& [name, old, isExported] = before.back();
        if (isExported)
            m_exported.erase(name);
        std::optional<ShellVariable> value = takeVariable(name);
        putBack(name, std::move(old));
        if (!value)
            continue;
        for (std::size_t i = from; i < m_commands.size(); ++i) {
            spendOn(*value);
            m_commands[i].environment.try_emplace(name, *value);
        }
        if (from >= m_commands.size())
            m_ended[name] = std::move(*value);
    }
}

void ShellReader::keepFor(Scope& scope, const std::string& name)
{
    const auto [kept, isNew] = scope.before.try_emplace(name);
    const auto found = m_variables.find(name);
    if (!isNew || found == m_variables.end())
        return;
    spendOn(found->second);
    kept->second = found->second;
}

void ShellReader::keepLocal(const std::string& name)
{
    const auto scope =
        std::find_if(m_scopes.rbegin(), m_scopes.rend(), [](const Scope& one) { return one.of != ScopeOf::construct; });
    if (scope != m_scopes.rend())
        keepFor(*scope, name);
}

void ShellReader::nextArm(const Branch& branch)
{
    if (m_scopes.size() <= branch.scopes) // none of its arms is read
        return;
    Scope& scope = m_scopes[branch.scopes];
    for (auto& [name, before] : scope.before) {
        if (std::optional<ShellVariable> given = takeVariable(name))
            scope.ofArms[name] = std::move(*given);
        putBack(name, std::move(before));
    }
    scope.before.clear();
}

void ShellReader::closeScopes(std::size_t left)
{
    for (; m_scopes.size() > left; m_scopes.pop_back()) {
        Scope& scope = m_scopes.back();
        for (auto& [name, given] : scope.ofArms) // where the last arm says nothing
            if (scope.before.find(name) == scope.before.end()) {
                scope.before[name] = takeVariable(name);
                putBack(name, std::move(given));
            }
        const auto outer = std::find_if(std::next(m_scopes.rbegin()), m_scopes.rend(),
                                        [](const Scope& one) { return one.of != ScopeOf::function; });
        for (auto& [name, before] : scope.before) {
            if (scope.of == ScopeOf::construct) {
                if (outer != m_scopes.rend())
                    outer->before.try_emplace(name, std::move(before));
                continue;
            }
            std::optional<ShellVariable> ended = takeVariable(name);
            if (ended && !before)
                m_ended[name] = std::move(*ended);
            putBack(name, std::move(before));
        }
    }
}

void ShellReader::endConstruct(bool isApart)
{
    if (!m_closedFrom)
        return;
    if (isApart || m_closedInPipe)
        for (std::size_t i = *m_closedFrom; i < m_scopes.size(); ++i)
            m_scopes[i].of = ScopeOf::subshell;
    closeScopes(*m_closedFrom);
    m_closedFrom.reset();
    m_closedInPipe = false;
}

} // namespace sim::frameworks
