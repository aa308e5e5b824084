#include "sim/frameworks/dialects/megatron_layers.h"

#include "sim/frameworks/read/cursor.h"
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
    const std::size_t first = letters.find('m');
    out.predictsLast = first != std::string::npos && letters.find('|', first) == std::string::npos;
    return out;
}

HybridPattern hybridPatternOf(const std::string& text)
{
    HybridPattern out;
    std::vector<int> stages(1, 0);
    for (const char c : text) {
        if (c == '/')
            ++out.predictions;
        else if (out.predictions > 0 || c == ' ')
            continue;
        else if (c == '|')
            stages.push_back(0);
        else {
            ++stages.back();
            ++out.layers;
        }
    }
    if (stages.size() > 1)
        out.perStage = std::move(stages);
    return out;
}

namespace {

/// Python's lists of 0 and 1: [..], + and *, parentheses.
class PatternReader {
public:
    explicit PatternReader(const std::string& text) : m_cursor(text) {}

    std::optional<std::vector<int>> whole()
    {
        std::optional<std::vector<int>> out = sum(0);
        m_cursor.blanks();
        return m_cursor.atEnd() ? out : std::nullopt;
    }

private:
    using List = std::optional<std::vector<int>>;

    List sum(int level)
    {
        List out = product(level);
        while (out && m_cursor.take('+')) {
            const List more = product(level);
            if (!more || out->size() + more->size() > kMostLayers)
                return std::nullopt;
            out->insert(out->end(), more->begin(), more->end());
        }
        return out;
    }
    List product(int level)
    {
        long long times = 1;
        if (const std::optional<long long> before = number()) { // 3*[0]
            if (!m_cursor.take('*'))
                return std::nullopt;
            times = *before;
        }
        List out = list(level);
        while (out && m_cursor.take('*')) {
            const std::optional<long long> factor = number();
            if (!factor)
                return std::nullopt;
            times *= *factor;
            if (times > static_cast<long long>(kMostLayers))
                return std::nullopt;
        }
        if (!out || out->size() * static_cast<std::size_t>(times) > kMostLayers)
            return std::nullopt;
        const std::vector<int> once = *out;
        out->clear();
        for (long long i = 0; i < times; ++i)
            out->insert(out->end(), once.begin(), once.end());
        return out;
    }
    List list(int level)
    {
        if (level < 16 && m_cursor.take('(')) {
            List inner = sum(level + 1);
            return m_cursor.take(')') ? inner : std::nullopt;
        }
        if (!m_cursor.take('['))
            return std::nullopt;
        std::vector<int> out;
        while (!m_cursor.atEnd() && m_cursor.peek() != ']') {
            const char c = m_cursor.next();
            if (c == '0' || c == '1')
                out.push_back(c - '0');
            else if (c != ',' && c != ' ')
                return std::nullopt;
        }
        return m_cursor.take(']') ? List(std::move(out)) : std::nullopt;
    }
    std::optional<long long> number()
    {
        m_cursor.blanks();
        long long value = 0;
        if (!isDigit(m_cursor.peek()))
            return std::nullopt;
        while (isDigit(m_cursor.peek()) && value <= static_cast<long long>(kMostLayers))
            value = value * 10 + (m_cursor.next() - '0');
        return value;
    }

    static constexpr std::size_t kMostLayers = 100000;
    TextCursor m_cursor;
};

} // namespace

std::vector<int> layerPatternOf(const std::string& text)
{
    return PatternReader(text).whole().value_or(std::vector<int>());
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

std::vector<int> greedyLayers(int layers, int stages)
{
    const int most = (layers + stages - 1) / stages;
    std::vector<int> counts;
    for (int left = layers, stage = 0; stage < stages; ++stage) {
        const int after = std::min(left, stages - 1 - stage); // one for each that follows
        counts.push_back(std::min(most, left - after));
        left -= counts.back();
    }
    return counts;
}

} // namespace sim::frameworks
