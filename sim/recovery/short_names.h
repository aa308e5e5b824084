// Kernels' long names as sentences can have them. Private to sim/recovery.
#pragma once

#include <map>
#include <set>
#include <string>

namespace sim {

/// Templates and arguments of long names are left out, but for where those that would look alike part: the JSON has them whole.
class ShortNames {
public:
    /// A name that others are told apart from.
    void add(const std::string& name);
    std::string of(const std::string& name) const;

private:
    std::map<std::string, std::set<std::string>> m_names; ///< by their starts
};

} // namespace sim
