// Names of ops, each kept once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

class Labels {
public:
    enum class Names : std::uint8_t { kept, leftOut };
    /// Left out: all ops are 0, for those who ask no more than what ops take.
    explicit Labels(Names names = Names::kept) : m_isKept(names == Names::kept) {}
    /// Of the name with what is put behind it.
    std::uint16_t intern(std::string_view name, std::string_view suffix = {});
    std::vector<std::string> take() { return std::move(m_names); }

private:
    bool m_isKept;
    std::string m_sought; ///< its room is used again
    std::vector<std::string> m_names;
    std::unordered_map<std::string, std::uint16_t> m_index;
    /// What was last asked for, by where its name and suffix lie, which are literals mostly: every op of every pass asks.
    std::array<std::uint16_t, 128> m_recent{};
};

} // namespace sim
