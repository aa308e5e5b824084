#include "sim/frameworks/dialects/megatron_layers.h"

#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>

namespace sim::frameworks {
namespace {

constexpr std::size_t kMostLayoutLetters = 100000;

class LayoutReader {
public:
    explicit LayoutReader(const std::string& text) : m_text(text) {}

    std::string expanded()
    {
        const std::string out = group(0);
        if (m_problem.empty() && m_at < m_text.size())
            m_problem = "has a ) too many at character " + std::to_string(m_at + 1);
        return out;
    }
    const std::string& problem() const { return m_problem; }

private:
    std::string group(int level)
    {
        std::string out;
        while (m_at < m_text.size() && m_problem.empty()) {
            const char c = m_text[m_at];
            if (c == ')')
                break;
            ++m_at;
            std::string unit;
            if (c == '(') {
                if (level > 16) {
                    m_problem = "is nested too deep";
                    break;
                }
                unit = group(level + 1);
                if (m_at >= m_text.size()) {
                    m_problem = m_problem.empty() ? "has a ( without )" : m_problem;
                    break;
                }
                ++m_at;
            } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
                unit = c;
            } else if (c == ',' || c == ' ') {
                continue;
            } else {
                m_problem = "has " + quotedText(std::string(1, c)) + " at character " + std::to_string(m_at) +
                            "; known are E t m L | ( ) *";
                break;
            }
            long long times = 1;
            if (m_at < m_text.size() && m_text[m_at] == '*') {
                ++m_at;
                times = 0;
                while (m_at < m_text.size() && isDigit(m_text[m_at]) && times < 1000000)
                    times = times * 10 + (m_text[m_at++] - '0');
            }
            if (out.size() + unit.size() * static_cast<std::size_t>(times) > kMostLayoutLetters) {
                m_problem = "unfolds to more than " + std::to_string(kMostLayoutLetters) + " letters";
                break;
            }
            for (long long i = 0; i < times; ++i)
                out += unit;
        }
        return out;
    }

    const std::string& m_text;
    std::size_t m_at = 0;
    std::string m_problem;
};

} // namespace

PipelineLayout pipelineLayoutOf(const std::string& text)
{
    LayoutReader reader(text);
    const std::string letters = reader.expanded();
    if (!reader.problem().empty())
        return {.problem = reader.problem()};
    PipelineLayout out{.layers = {0}};
    for (const char c : letters) {
        if (c == '|')
            out.layers.push_back(0);
        else if (c == 't')
            ++out.layers.back();
        else if (c == 'm')
            ++out.predictions;
    }
    return out;
}

std::vector<int> layerPatternOf(const std::string& text)
{
    std::vector<int> out;
    std::size_t at = 0;
    const auto blanks = [&] {
        while (at < text.size() && (text[at] == ' ' || text[at] == '(' || text[at] == ')' || text[at] == '+'))
            ++at;
    };
    for (blanks(); at < text.size(); blanks()) {
        if (text[at] != '[')
            return {};
        std::vector<int> unit;
        for (++at; at < text.size() && text[at] != ']'; ++at) {
            if (text[at] == '0' || text[at] == '1')
                unit.push_back(text[at] - '0');
            else if (text[at] != ',' && text[at] != ' ')
                return {};
        }
        if (at >= text.size())
            return {};
        ++at;
        while (at < text.size() && text[at] == ' ')
            ++at;
        long long times = 1;
        if (at < text.size() && text[at] == '*') {
            times = 0;
            for (++at; at < text.size() && (isDigit(text[at]) || text[at] == ' ') && times < 100000; ++at)
                if (text[at] != ' ')
                    times = times * 10 + (text[at] - '0');
        }
        if (out.size() + unit.size() * static_cast<std::size_t>(times) > 100000)
            return {};
        for (long long i = 0; i < times; ++i)
            out.insert(out.end(), unit.begin(), unit.end());
    }
    return out;
}

std::optional<ExpertLayers> expertLayersOf(const std::vector<int>& pattern)
{
    const auto first = std::find(pattern.begin(), pattern.end(), 1);
    if (first == pattern.end())
        return std::nullopt;
    ExpertLayers out{.firstDense = static_cast<int>(first - pattern.begin()), .every = 1};
    const auto second = std::find(first + 1, pattern.end(), 1);
    out.every = second == pattern.end() ? std::max(1, static_cast<int>(pattern.end() - first)) : static_cast<int>(second - first);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const int since = static_cast<int>(i) - out.firstDense;
        if ((pattern[i] == 1) != (since >= 0 && since % out.every == 0))
            return std::nullopt;
    }
    return out;
}

std::vector<int> layersByFirstAndLast(int layers, int pp, int chunks, int first, int last)
{
    const int middles = pp - (first >= 0 ? 1 : 0) - (last >= 0 ? 1 : 0);
    const int rest = layers - std::max(0, first) - std::max(0, last);
    if (rest < 0 || pp < 1 || chunks < 1 || pp * chunks > 100000 || (middles > 0 ? rest % middles != 0 : rest != 0))
        return {};
    std::vector<int> ofRank;
    for (int p = 0; p < pp; ++p)
        ofRank.push_back(p == 0 && first >= 0 ? first : p == pp - 1 && last >= 0 ? last : middles > 0 ? rest / middles : 0);
    std::vector<int> out;
    for (int chunk = 0; chunk < chunks; ++chunk)
        for (const int count : ofRank) {
            if (count % chunks != 0)
                return {};
            out.push_back(count / chunks);
        }
    return out;
}

} // namespace sim::frameworks
