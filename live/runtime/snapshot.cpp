#include "live/runtime/snapshot.h"

#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>

namespace live {
namespace {

using sim::asIndex;

Tensor quantityOf(const OwnedRange& own, Quantity quantity)
{
    switch (quantity) {
    case Quantity::value:
        return own.master;
    case Quantity::gradient:
        return own.gradient;
    case Quantity::firstMoment:
        return own.firstMoment;
    case Quantity::secondMoment:
        return own.secondMoment;
    }
    return {};
}

} // namespace

void forEachPiece(Rank& rank, Quantity quantity, const std::function<void(const OwnedRange&, const std::vector<double>&)>& visit)
{
    RankContext& context = rank.context();
    rank.weights().forEachOwned(true, [&](const OwnedRange& own) {
        const Array exact = context.buffer(DType::f64, 1, own.count);
        context.queue->copy(quantityOf(own, quantity), exact);
        std::vector<double> values(asIndex(own.count));
        context.queue->toHost(exact, values.data());
        visit(own, values);
    });
}

void addToSnapshot(Rank& rank, Quantity quantity, Snapshot& snapshot)
{
    forEachPiece(rank, quantity, [&](const OwnedRange& own, const std::vector<double>& values) {
        const ParameterSpec& spec = own.parameter->spec;
        std::vector<double>& all = snapshot[spec.name];
        all.resize(asIndex(spec.globalRows * spec.globalColumns));
        for (std::int64_t i = 0; i < own.count; ++i)
            if (const auto place = spec.placeInWhole(own.first + i))
                all[asIndex(*place)] = values[asIndex(i)];
    });
}

SnapshotDifference compare(const Snapshot& expected, const Snapshot& actual)
{
    SnapshotDifference difference;
    if (expected.size() != actual.size())
        throw sim::Error("one model has " + std::to_string(expected.size()) + " parameters, the other " +
                         std::to_string(actual.size()));
    double allSquares = 0, count = 0;
    for (const auto& [name, a] : expected) {
        for (const double value : a)
            allSquares += value * value;
        count += static_cast<double>(a.size());
    }
    for (const auto& [name, a] : expected) {
        const auto other = actual.find(name);
        if (other == actual.end() || other->second.size() != a.size())
            throw sim::Error("parameter " + name + " is not in both models with the same size");
        const std::vector<double>& b = other->second;
        double squares = 0, distance = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double apart = a[i] - b[i];
            squares += a[i] * a[i];
            distance += apart * apart;
            difference.largest = std::max(difference.largest, std::abs(apart));
            difference.identical = difference.identical && a[i] == b[i];
        }
        const double relative =
            distance == 0 ? 0
                          : std::sqrt(distance / std::max({squares, allSquares / count * static_cast<double>(a.size()), 1e-300}));
        if (!(relative <= difference.relative)) { // NaN too
            difference.relative = relative;
            difference.worst = name;
        }
    }
    return difference;
}

} // namespace live
