#include "sim/planner/uneven_stages.h"

#include "sim/index.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sim {
namespace {

using Part = DealtPipeline::Part;

enum class Surplus : std::uint8_t { last, first, spread };

/// Ranks that take neighbouring layers in turn.
class Chain {
public:
    explicit Chain(const DealtPipeline& pipeline)
        : m_capacity(pipeline.capacityBytes), m_extra(pipeline.held.size()), m_held(pipeline.held)
    {
        const bool hasSeveralStages = pipeline.rankOfStage.size() > m_extra.size();
        Part mean;
        for (const Part& layer : pipeline.layers)
            mean = sum(mean, layer, 1.0 / static_cast<double>(pipeline.layers.size()));
        m_before.emplace_back();
        for (const Part& layer : pipeline.layers)
            m_before.push_back(sum(m_before.back(), hasSeveralStages ? mean : layer, 1));
        Part& first = m_extra[asIndex(pipeline.rankOfStage.front())];
        first = sum(first, pipeline.embedding, 1);
        Part& last = m_extra[asIndex(pipeline.rankOfStage.back())];
        last = sum(last, pipeline.head, 1);
    }
    int ranks() const { return static_cast<int>(m_extra.size()); }
    int layers() const { return static_cast<int>(m_before.size()) - 1; }
    double nsOf(int rank, int from, int to) const
    {
        return m_extra[asIndex(rank)].ns + m_before[asIndex(to)].ns - m_before[asIndex(from)].ns;
    }
    bool takes(int rank, int from, int to, double mostNs) const
    {
        const Part& extra = m_extra[asIndex(rank)];
        const Part &a = m_before[asIndex(from)], &b = m_before[asIndex(to)];
        return nsOf(rank, from, to) <= mostNs &&
               extra.states + b.states - a.states + m_held[asIndex(rank)] * (extra.kept + b.kept - a.kept) <= m_capacity;
    }
    /// [rank]: where its layers may begin at the earliest so that it and those behind it reach the end; none where they cannot.
    std::optional<std::vector<int>> begins(double mostNs) const
    {
        std::vector<int> begin(m_extra.size());
        int to = layers();
        for (int rank = ranks() - 1; rank >= 0; --rank) {
            if (!takes(rank, to, to, mostNs))
                return std::nullopt;
            int low = 0, high = to; // fewer layers are never more: the least beginning by halves
            while (low < high) {
                const int middle = (low + high) / 2;
                if (takes(rank, middle, to, mostNs))
                    high = middle;
                else
                    low = middle + 1;
            }
            begin[asIndex(rank)] = to = low;
        }
        return to == 0 ? std::optional(begin) : std::nullopt;
    }
    /// Layers of each rank.
    std::vector<int> deal(double mostNs, const std::vector<int>& begins, Surplus surplus) const
    {
        std::vector<int> counts;
        int from = 0;
        for (int rank = 0; rank < ranks(); ++rank) {
            const int least = rank + 1 < ranks() ? std::max(from, begins[asIndex(rank + 1)]) : layers();
            int most = least;
            while (most < layers() && takes(rank, from, most + 1, mostNs))
                ++most;
            int to = surplus == Surplus::last ? most : least;
            if (surplus == Surplus::spread) {
                double left = m_before.back().ns - m_before[asIndex(from)].ns;
                for (int r = rank; r < ranks(); ++r)
                    left += m_extra[asIndex(r)].ns;
                const double fair = left / (ranks() - rank);
                while (to < most && std::abs(nsOf(rank, from, to + 1) - fair) <= std::abs(nsOf(rank, from, to) - fair))
                    ++to;
            }
            counts.push_back(to - from);
            from = to;
        }
        return counts;
    }
    double wholeNs() const { return m_before.back().ns + m_extra.front().ns + m_extra.back().ns; }

private:
    static Part sum(const Part& a, const Part& b, double times)
    {
        return {.ns = a.ns + b.ns * times, .states = a.states + b.states * times, .kept = a.kept + b.kept * times};
    }
    double m_capacity;
    std::vector<Part> m_extra;  ///< [rank]
    std::vector<Part> m_before; ///< [layer]: sums of those before it
    const std::vector<double>& m_held;
};

/// Each rank's over its stages, the first of them with what does not divide.
std::vector<int> overStages(const std::vector<int>& ofRank, const std::vector<int>& rankOfStage)
{
    std::vector<int> stagesLeft(ofRank.size(), 0), left = ofRank, counts;
    for (const int rank : rankOfStage)
        ++stagesLeft[asIndex(rank)];
    for (const int rank : rankOfStage) {
        int& stages = stagesLeft[asIndex(rank)];
        const int count = (left[asIndex(rank)] + stages - 1) / stages;
        left[asIndex(rank)] -= count;
        --stages;
        counts.push_back(count);
    }
    return counts;
}

} // namespace

std::vector<std::vector<int>> unevenDeals(const DealtPipeline& pipeline)
{
    const Chain chain(pipeline);
    double low = 0, high = chain.wholeNs() * (1 + 1e-9);
    std::optional<std::vector<int>> begins = chain.begins(high);
    if (!begins)
        return {};
    // Times are sums of some hundred whole nanoseconds: a part in 10¹² tells any two of them apart.
    while (high - low > high * 1e-12) {
        const double middle = (low + high) / 2;
        if (auto of = chain.begins(middle)) {
            high = middle;
            begins = std::move(of);
        } else {
            low = middle;
        }
    }
    std::vector<std::vector<int>> deals;
    for (const Surplus surplus : {Surplus::spread, Surplus::last, Surplus::first}) {
        std::vector<int> deal = overStages(chain.deal(high, *begins, surplus), pipeline.rankOfStage);
        if (std::find(deals.begin(), deals.end(), deal) == deals.end())
            deals.push_back(std::move(deal));
    }
    return deals;
}

} // namespace sim
