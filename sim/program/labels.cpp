#include "sim/program/labels.h"

namespace sim {

std::uint16_t Labels::intern(std::string_view name, std::string_view suffix)
{
    if (!m_isKept)
        return 0;
    const auto place = reinterpret_cast<std::uintptr_t>(name.data()) * 31 + reinterpret_cast<std::uintptr_t>(suffix.data());
    std::uint16_t& recent = m_recent[(place ^ place >> 7U) % m_recent.size()];
    if (recent < m_names.size()) {
        const std::string_view known = m_names[recent];
        if (known.size() == name.size() + suffix.size() && known.starts_with(name) && known.ends_with(suffix))
            return recent;
    }
    m_sought.assign(name).append(suffix);
    const auto [position, isNew] = m_index.try_emplace(m_sought, static_cast<std::uint16_t>(m_names.size()));
    if (isNew)
        m_names.push_back(m_sought);
    return recent = position->second;
}

} // namespace sim
