#include "tests/live/support/covering.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

namespace live::test {
namespace {

using Pair = std::tuple<int, int, int, int>; // column, value, later column, value

constexpr int kTries = 40;

class Generator {
public:
    Generator(const std::vector<int>& sizes, std::uint32_t seed, const std::function<bool(const Choice&)>& valid)
        : m_sizes(sizes), m_valid(valid), m_random(seed)
    {
        for (int a = 0; a < columns(); ++a)
            for (int b = a + 1; b < columns(); ++b)
                for (int x = 0; x < size(a); ++x)
                    for (int y = 0; y < size(b); ++y)
                        m_open.insert({a, x, b, y});
        m_array.pairs = static_cast<int>(m_open.size());
    }

    CoveringArray make()
    {
        while (!m_open.empty()) {
            const Pair pair = *m_open.begin();
            Choice best;
            int most = 0;
            int found = 0;
            for (int i = 0; i < kTries && found < 4; ++i) {
                Choice row = tryRow(pair, i);
                if (!m_valid(row))
                    continue;
                ++found;
                if (const int count = covers(row); count > most) {
                    most = count;
                    best = std::move(row);
                }
            }
            if (best.empty()) {
                m_open.erase(pair);
                ++m_array.uncovered;
                continue;
            }
            cover(best);
            m_array.rows.push_back(std::move(best));
        }
        return m_array;
    }

private:
    int columns() const { return static_cast<int>(m_sizes.size()); }
    int size(int column) const { return m_sizes[static_cast<std::size_t>(column)]; }
    int draw(int count) { return static_cast<int>(m_random() % static_cast<std::uint32_t>(count)); }

    Pair pairOf(const Choice& row, int a, int b) const
    {
        return {a, row[static_cast<std::size_t>(a)], b, row[static_cast<std::size_t>(b)]};
    }

    template <class F>
    void forEachPair(const Choice& row, F&& f) const
    {
        for (int a = 0; a < columns(); ++a)
            for (int b = a + 1; b < columns(); ++b)
                f(pairOf(row, a, b));
    }
    int covers(const Choice& row) const
    {
        int count = 0;
        forEachPair(row, [&](const Pair& pair) { count += m_open.contains(pair) ? 1 : 0; });
        return count;
    }
    void cover(const Choice& row)
    {
        forEachPair(row, [&](const Pair& pair) { m_open.erase(pair); });
    }

    /// Later tries take more values of 0, the plainest, since a row of many wishes is seldom valid.
    Choice tryRow(const Pair& pair, int attempt)
    {
        Choice row(m_sizes.size(), -1);
        const auto& [a, x, b, y] = pair;
        row[static_cast<std::size_t>(a)] = x;
        row[static_cast<std::size_t>(b)] = y;
        std::vector<int> order(m_sizes.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i) // std::shuffle differs between libraries
            std::swap(order[i - 1], order[static_cast<std::size_t>(draw(static_cast<int>(i)))]);
        for (const int column : order) {
            int& value = row[static_cast<std::size_t>(column)];
            if (value >= 0)
                continue;
            if (draw(kTries) < attempt) {
                value = 0;
                continue;
            }
            int most = -1;
            const int start = draw(size(column));
            for (int i = 0; i < size(column); ++i) {
                const int candidate = (start + i) % size(column);
                int count = 0;
                for (int other = 0; other < columns(); ++other)
                    if (const int set = row[static_cast<std::size_t>(other)]; other != column && set >= 0)
                        count += m_open.contains(column < other ? Pair{column, candidate, other, set}
                                                                : Pair{other, set, column, candidate})
                                     ? 1
                                     : 0;
                if (count > most) {
                    most = count;
                    value = candidate;
                }
            }
        }
        return row;
    }

    const std::vector<int> m_sizes;
    const std::function<bool(const Choice&)>& m_valid;
    std::mt19937 m_random;
    std::set<Pair> m_open;
    CoveringArray m_array;
};

} // namespace

CoveringArray coverAllPairs(const std::vector<int>& valuesOfColumn, std::uint32_t seed,
                            const std::function<bool(const Choice&)>& valid)
{
    return Generator(valuesOfColumn, seed, valid).make();
}

} // namespace live::test
