#include "live/model/parameters.h"

#include "live/kernels/normal.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace live {
namespace {

constexpr double kDeviation = 0.02; // GPT-2

std::int64_t roundUp(std::int64_t value, std::int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

Tensor slice(const Array& all, std::int64_t offset, std::int64_t rows, std::int64_t columns)
{
    assert(all);
    return all->columnRange(offset, rows * columns).reshaped(rows, columns);
}

/// FNV-1a: names give streams of deviates of their own.
std::uint64_t hashOf(const std::string& name)
{
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return hash;
}

} // namespace

void ParameterSpec::forEachRun(std::int64_t first, std::int64_t count,
                               const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) const
{
    const bool wholeRows = columns == globalColumns; // then one row follows the other
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t row = firstRow + (first + done) / columns, within = (first + done) % columns;
        const std::int64_t length = std::min(wholeRows ? (globalRows - row) * columns - within : columns - within, count - done);
        if (row >= globalRows)
            return;
        const std::int64_t inside = std::min(length, wholeRows ? length : globalColumns - firstColumn - within);
        if (inside > 0)
            visit(done, row * globalColumns + firstColumn + within, inside);
        done += length;
    }
}

ParameterSpec rowsOfMatrix(std::string name, std::int64_t rows, std::int64_t columns, Slice slice)
{
    return {.name = std::move(name),
            .globalRows = rows * slice.count,
            .globalColumns = columns,
            .firstRow = rows * slice.index,
            .rows = rows,
            .columns = columns,
            .initial = {.deviation = kDeviation}};
}

ParameterSpec columnsOfMatrix(std::string name, std::int64_t rows, std::int64_t columns, Slice slice, int layers)
{
    return {.name = std::move(name),
            .globalRows = rows,
            .globalColumns = columns * slice.count,
            .firstColumn = columns * slice.index,
            .rows = rows,
            .columns = columns,
            .initial = {.deviation = kDeviation / std::sqrt(2.0 * layers)}};
}

ParameterSpec sliceOfVector(std::string name, std::int64_t columns, Slice slice)
{
    return {.name = std::move(name),
            .globalColumns = columns * slice.count,
            .firstColumn = columns * slice.index,
            .columns = columns,
            .isVector = true,
            .decays = false};
}

ParameterSpec replicated(ParameterSpec spec, bool partial)
{
    spec.replicated = true;
    spec.partial = partial;
    return spec;
}

bool Parameter::isTrained() const
{
    return !bucket->frozen;
}

Tensor Parameter::value() const
{
    return slice(bucket->values, offset, spec.rows, spec.columns);
}

Tensor Parameter::gradient() const
{
    return slice(bucket->gradients, offset, spec.rows, spec.columns);
}

Tensor Parameter::valueThrough(const Parameter& last) const
{
    return slice(bucket->values, offset, 1, last.offset + last.elements() - offset);
}

Tensor Parameter::gradientThrough(const Parameter& last) const
{
    return slice(bucket->gradients, offset, 1, last.offset + last.elements() - offset);
}

Parameter& Bucket::add(ParameterSpec spec, bool glued)
{
    parameters.push_back(std::make_unique<Parameter>(Parameter{.spec = std::move(spec), .bucket = this, .glued = glued}));
    return *parameters.back();
}

void Bucket::seal(int shardCount)
{
    shards = shardCount;
    std::stable_partition(parameters.begin(), parameters.end(), [](const auto& p) { return p->spec.partial; });
    std::int64_t end = 0;
    for (const auto& parameter : parameters) {
        parameter->offset = parameter->glued ? end : roundUp(end, kBlock);
        end = parameter->offset + parameter->elements();
        if (parameter->spec.partial)
            partialElements = roundUp(end, kBlock);
    }
    elements = roundUp(std::max<std::int64_t>(end, 1), kBlock * shards);
}

void initialValues(const Bucket& bucket, std::uint64_t seed, std::int64_t first, std::span<double> values)
{
    const auto count = static_cast<std::int64_t>(values.size());
    std::fill(values.begin(), values.end(), 0.0);
    for (const auto& parameter : bucket.parameters) {
        const ParameterSpec& spec = parameter->spec;
        const std::uint64_t stream = hashOf(spec.name);
        const std::int64_t begin = std::max(first, parameter->offset);
        const std::int64_t end = std::min(first + count, parameter->offset + parameter->elements());
        if (begin >= end)
            continue;
        spec.forEachRun(begin - parameter->offset, end - begin, [&](std::int64_t at, std::int64_t place, std::int64_t length) {
            const auto run = values.subspan(static_cast<std::size_t>(begin - first + at), static_cast<std::size_t>(length));
            if (spec.initial.deviation == 0) {
                std::fill(run.begin(), run.end(), spec.initial.constant);
                return;
            }
            normalDeviates(seed, stream, place, run);
            for (double& value : run)
                value *= spec.initial.deviation;
        });
    }
}

} // namespace live
