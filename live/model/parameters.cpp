#include "live/model/parameters.h"

#include "live/kernels/philox.h"

#include <algorithm>
#include <cassert>

namespace live {
namespace {

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

std::vector<double> initialValues(const Bucket& bucket, std::uint64_t seed, std::int64_t first, std::int64_t count)
{
    std::vector<double> values(static_cast<std::size_t>(count), 0.0);
    for (const auto& parameter : bucket.parameters) {
        const ParameterSpec& spec = parameter->spec;
        const std::uint64_t stream = hashOf(spec.name);
        const std::int64_t begin = std::max(first, parameter->offset);
        const std::int64_t end = std::min(first + count, parameter->offset + parameter->elements());
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t local = i - parameter->offset;
            const std::int64_t row = spec.firstRow + local / spec.columns;
            const std::int64_t column = spec.firstColumn + local % spec.columns;
            double value = spec.initial.constant;
            if (row >= spec.globalRows || column >= spec.globalColumns)
                value = 0; // padding of the vocabulary
            else if (spec.initial.deviation != 0)
                value = spec.initial.deviation *
                        normalDeviate(seed, stream, static_cast<std::uint64_t>(row * spec.globalColumns + column));
            values[static_cast<std::size_t>(i - first)] = value;
        }
    }
    return values;
}

} // namespace live
