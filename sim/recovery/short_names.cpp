#include "sim/recovery/short_names.h"

#include "sim/text/characters.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace sim {
namespace {

std::string startOfName(const std::string& name)
{
    constexpr std::size_t kMost = 80;
    return name.size() <= kMost ? name : name.substr(0, cutBetweenCharacters(name, std::min(name.find_first_of("<(", 8), kMost)));
}

} // namespace

void ShortNames::add(const std::string& name)
{
    m_names[startOfName(name)].insert(name);
}

std::string ShortNames::of(const std::string& name) const
{
    const std::string start = startOfName(name);
    if (start == name)
        return name;
    // Where it parts from the first of those alike, and where from the last of them.
    std::size_t first = name.size(), last = 0;
    if (const auto alike = m_names.find(start); alike != m_names.end())
        for (const std::string& other : alike->second)
            if (other != name) {
                const auto apart = static_cast<std::size_t>(
                    std::mismatch(name.begin(), name.end(), other.begin(), other.end()).first - name.begin());
                first = std::min(first, apart);
                last = std::max(last, apart);
            }
    if (first >= name.size())
        return start + "…";
    const auto fromWord = [&](std::size_t at) {
        const auto isOfWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; };
        while (at > start.size() && isOfWord(name[at - 1]))
            --at;
        return cutBetweenCharacters(name, at);
    };
    constexpr std::size_t kMostOfFirst = 40, kMostOfLast = 20;
    std::string out = start + "…";
    std::size_t end = fromWord(first);
    const auto add = [&](std::size_t at, std::size_t most) {
        end = cutBetweenCharacters(name, at + most);
        out += name.substr(at, end - at);
        out += end < name.size() ? "…" : "";
    };
    add(end, kMostOfFirst);
    if (last < name.size() && last >= end)
        add(std::max(end, fromWord(last)), kMostOfLast);
    return out;
}

} // namespace sim
