// Weights and their gradients. A parameter knows its place in the whole model, so that every layout starts from slices of the
// same initial weights and results of different layouts can be laid side by side. Parameters that are gathered, reduced and
// updated together share a bucket.
#pragma once

#include "live/kernels/device.h"
#include "live/tensor/memory.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace live {

struct InitialValues {
    double deviation = 0; ///< of the normal distribution; 0: all equal `constant`
    double constant = 0;
};

/// A slice of one of the model's weight matrices (a vector is a row).
struct ParameterSpec {
    std::string name; ///< "layers.3.attention.query"
    std::int64_t globalRows = 1, globalColumns = 1;
    std::int64_t firstRow = 0, firstColumn = 0, rows = 1, columns = 1; ///< held here
    InitialValues initial;
    bool isVector = false;
    bool decays = true; ///< matrices do, vectors do not (llm.c's rule), however they are sharded
    /// All tensor-parallel ranks hold the same slice: counted once in the gradient norm.
    bool replicated = false;
    /// Some neighbouring ones do, as they share a key-value head (Group::headCopies): likewise, and the gradient is a sum over
    /// this rank's queries only: summed over them at the end of the step.
    bool headCopy = false;
    /// All ranks of an expert's tensor parallelism hold the same slice, and get the same gradient: likewise counted once.
    bool sliceCopy = false;
    /// Its gradient is a sum over this rank's part of the sequence only: summed over tp at the end of the step.
    bool partial = false;

    /// Of the whole: a vector has one side.
    std::vector<std::int64_t> wholeShape() const
    {
        return isVector ? std::vector{globalColumns} : std::vector{globalRows, globalColumns};
    }
    /// Of the slice's elements [first, first + count): visit(element - first, place in the whole, length) for each run that lies
    /// side by side in both; padding is left out.
    void forEachRun(std::int64_t first, std::int64_t count,
                    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) const;
};

/// One of `count` equal parts.
struct Slice {
    std::int64_t index = 0, count = 1;
};
/// Slices of `rows` by `columns` elements with GPT-2's initial deviation.
ParameterSpec rowsOfMatrix(std::string name, std::int64_t rows, std::int64_t columns, Slice = {});
/// Of a matrix whose result is added to the residual stream: the deviation falls with the model's layers.
ParameterSpec columnsOfMatrix(std::string name, std::int64_t rows, std::int64_t columns, Slice, int layers);
ParameterSpec sliceOfVector(std::string name, std::int64_t columns, Slice = {});
/// The same on all tensor-parallel ranks.
ParameterSpec replicated(ParameterSpec, bool partial);

class Bucket;

struct Parameter {
    ParameterSpec spec;
    Bucket* bucket = nullptr;
    std::int64_t offset = 0; ///< elements from the bucket's start
    bool glued = false;      ///< starts where the one before it ends

    std::int64_t elements() const { return spec.rows * spec.columns; }
    bool isTrained() const;
    Tensor value() const;
    Tensor gradient() const;
    /// This parameter and those glued to it up to `last`, as one row: fused projections.
    Tensor valueThrough(const Parameter& last) const;
    Tensor gradientThrough(const Parameter& last) const;
};

/// Every parameter starts at a multiple of this many elements, and so does every shard: what sums over blocks of it (the
/// gradient norm) does not depend on the sharding. Device::exactSumOfSquares has the same blocks.
inline constexpr std::int64_t kBlock = 64;

/// Which ranks hold equal copies of a bucket's weights.
enum class BucketKind : std::uint8_t { dense, expert };

/// Weights that live and travel together: a layer's, the embedding's.
class Bucket {
public:
    Bucket(std::string itsName, BucketKind itsKind) : name(std::move(itsName)), kind(itsKind) {}
    Bucket(const Bucket&) = delete;
    Bucket& operator=(const Bucket&) = delete;

    /// References stay valid. `glued`: starts right where the one before it ends, to be used as one matrix with it.
    Parameter& add(ParameterSpec, bool glued = false);
    /// After the last add(): places the parameters, those with partial gradients first, and pads so that the bucket divides into
    /// `shards` parts of whole blocks.
    void seal(int shards);

    const std::string name;
    const BucketKind kind;
    bool tied = false;    ///< the embedding that is also the output head
    bool frozen = false;  ///< beside adapters, which alone are trained: no gradients, no moments
    bool isStale = false; ///< ZeRO 1 and 2: of `values` only this rank's shard is of the last update
    std::vector<std::unique_ptr<Parameter>> parameters;
    std::int64_t elements = 0;        ///< with padding; a multiple of shards * kBlock
    std::int64_t partialElements = 0; ///< the leading elements whose gradients are partial sums over tp
    int shards = 1, shard = 0;        ///< shard: this rank's

    std::int64_t shardElements() const { return elements / shards; }
    std::int64_t shardOffset() const { return shard * shardElements(); }

    Array values;                            ///< all elements; absent where sharded (ZeRO 3) and not gathered
    Array gradients;                         ///< all elements; absent outside the passes that add to them (ZeRO 2 and 3)
    Array headGradients;                     ///< of a tied bucket: what the head adds, where kept apart from the embedding's
    Array valueShard;                        ///< ZeRO 3: what is kept
    Array gradientShard;                     ///< ZeRO 1 to 3: reduced
    Array master, firstMoment, secondMoment; ///< of the shard (ZeRO >= 1) or of all; master only where its type differs
};

/// The initial values of the bucket's elements from `first` on: normal deviates by place in the whole matrix, the same on every
/// layout and device; padding is 0.
void initialValues(const Bucket&, std::uint64_t seed, std::int64_t first, std::span<double> values);

} // namespace live
