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

void forEachPiece(Rank& rank, Quantity quantity,
                  const std::function<void(const ParameterSpec&, std::int64_t, std::span<const double>)>& visit)
{
    constexpr std::int64_t kPiece = 1 << 20;
    RankContext& context = rank.context();
    std::vector<double> values;
    rank.weights().forEachOwned(true, [&](const OwnedRange& own) {
        const Tensor all = quantityOf(own, quantity);
        if (!all) // what is frozen has values alone
            return;
        const Array exact = context.buffer(DType::f64, 1, std::min(kPiece, own.count));
        for (std::int64_t first = 0; first < own.count; first += kPiece) {
            const std::int64_t count = std::min(kPiece, own.count - first);
            const Tensor piece = exact->columnRange(0, count);
            context.queue->copy(all.columnRange(first, count), piece);
            values.resize(asIndex(count));
            context.queue->toHost(piece, values.data());
            visit(own.parameter->spec, own.first + first, values);
        }
    });
}

void addToSnapshot(Rank& rank, Quantity quantity, Snapshot& snapshot)
{
    forEachPiece(rank, quantity, [&](const ParameterSpec& spec, std::int64_t first, std::span<const double> values) {
        std::vector<double>& all = snapshot[spec.name];
        all.resize(asIndex(spec.globalRows * spec.globalColumns));
        spec.forEachRun(first, static_cast<std::int64_t>(values.size()),
                        [&](std::int64_t at, std::int64_t place, std::int64_t count) {
                            std::copy_n(values.begin() + at, count, all.begin() + place);
                        });
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
