#include "sim/recovery/pair_clock.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sim {

double medianEnd(std::vector<double> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

namespace {

/// Theil and Sen's slope over pairs of points that lie half of the points apart: O(n), and a third of them may be off.
double robustSlope(const EndDifferences& ends)
{
    const std::size_t half = ends.seconds.size() / 2;
    std::vector<double> slopes;
    for (std::size_t i = 0; i + half < ends.seconds.size(); ++i) {
        const double apart = ends.seconds[i + half] - ends.seconds[i];
        if (apart > 0)
            slopes.push_back((ends.aheadNs[i + half] - ends.aheadNs[i]) / apart);
    }
    return slopes.empty() ? 0 : medianEnd(std::move(slopes));
}

double spreadOfEnds(std::vector<double> values)
{
    const double middle = medianEnd(values);
    for (double& value : values)
        value = std::abs(value - middle);
    return medianEnd(std::move(values));
}

} // namespace

std::vector<double> solveDifferences(std::size_t ranks, const std::vector<PairClock>& pairs, double PairClock::*difference,
                                     double PairClock::*weight)
{
    std::vector<double> x(ranks, 0), rest(ranks, 0), direction, product(ranks);
    for (const PairClock& pair : pairs) {
        rest[pair.to] += pair.*weight * (pair.*difference);
        rest[pair.from] -= pair.*weight * (pair.*difference);
    }
    const auto anchored = [](std::vector<double>& values) { values[0] = 0; };
    anchored(rest);
    direction = rest;
    double square = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
    const double enough = square * 1e-20;
    for (std::size_t round = 0; round < 4 * ranks + 16 && square > enough && square > 0; ++round) {
        std::fill(product.begin(), product.end(), 0.0);
        for (const PairClock& pair : pairs) {
            const double flow = pair.*weight * (direction[pair.to] - direction[pair.from]);
            product[pair.to] += flow;
            product[pair.from] -= flow;
        }
        anchored(product);
        const double curvature = std::inner_product(direction.begin(), direction.end(), product.begin(), 0.0);
        if (curvature <= 0)
            break;
        const double step = square / curvature;
        for (std::size_t i = 0; i < ranks; ++i) {
            x[i] += step * direction[i];
            rest[i] -= step * product[i];
        }
        const double next = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
        for (std::size_t i = 0; i < ranks; ++i)
            direction[i] = rest[i] + next / square * direction[i];
        square = next;
    }
    return x;
}

PairClock pairClockOf(const RankPair& ranks, const EndDifferences& ends)
{
    PairClock pair{.from = ranks.first, .to = ranks.second};
    const std::size_t count = ends.seconds.size();
    const double length = ends.seconds.back() - ends.seconds.front();
    const auto levelled = [&ends](double slope) {
        std::vector<double> level = ends.aheadNs;
        for (std::size_t i = 0; i < level.size(); ++i)
            level[i] -= slope * ends.seconds[i];
        return level;
    };
    // A slope is told where what it moves the ends by is more than what they scatter by: 1 ppm is 1 µs in a second.
    if (count >= 8 && length > 0.05) {
        const double slope = robustSlope(ends);
        const double spread = std::max(spreadOfEnds(levelled(slope)), 100.0);
        const double slopeError = 3 * spread / (length * std::sqrt(static_cast<double>(count)));
        if (std::abs(slope) < 3e5 && slopeError < 2e4) {
            pair.slopePpm = slope * 1e-3;
            pair.slopeWeight = 1 / (slopeError * slopeError);
        }
    }
    std::vector<double> level = levelled(pair.slopeWeight > 0 ? pair.slopePpm * 1e3 : 0);
    pair.offsetNs = medianEnd(level);
    const double error = std::max(spreadOfEnds(std::move(level)), 100.0);
    pair.weight = static_cast<double>(count) / (error * error);
    return pair;
}

} // namespace sim
