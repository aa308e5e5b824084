// How the validators collect and word what is wrong. Private to sim/schedule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace sim {

/// Collects lines and says how many were left out.
class Problems {
public:
    void add(std::string line)
    {
        if (m_lines.size() < kMostLines)
            m_lines.push_back(std::move(line));
        else
            ++m_leftOut;
    }
    bool empty() const { return m_lines.empty(); }
    std::vector<std::string> take()
    {
        if (m_leftOut > 0)
            m_lines.push_back("... and " + std::to_string(m_leftOut) + " more");
        return std::move(m_lines);
    }

private:
    static constexpr std::size_t kMostLines = 20;
    std::vector<std::string> m_lines;
    std::size_t m_leftOut = 0;
};

inline std::string onRank(std::size_t rank)
{
    return " on rank " + std::to_string(rank);
}

/// "0-3, 7"
inline std::string rangesText(const std::vector<int>& numbers)
{
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        if (!text.empty())
            text += ", ";
        text += std::to_string(numbers[i]);
        if (last > i)
            text.append("-").append(std::to_string(numbers[last]));
        i = last + 1;
    }
    return text;
}

/// Micro-batches as a schedule numbers them: "0-3, 7", or with several slices "0.2, 0.3".
inline std::string microbatchRanges(const std::vector<int>& numbers, int slices)
{
    if (slices == 1)
        return rangesText(numbers);
    constexpr std::size_t kMostShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(numbers.size(), kMostShown); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(numbers[i] / slices) + "." + std::to_string(numbers[i] % slices);
    return text + (numbers.size() > kMostShown ? " and " + std::to_string(numbers.size() - kMostShown) + " more" : "");
}

} // namespace sim
