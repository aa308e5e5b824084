// From the residual stream, normalised, to queries, keys and values, rotated and side by side, and back. Heads are split over tp.
#pragma once

#include "live/model/adapter.h"
#include "live/model/input.h"
#include "live/model/norm.h"
#include "live/model/rotary.h"
#include "live/model/tensor_parallel.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace live {

/// Kept from the forward pass on, by whichever projection there is. What begins with d: from the input gradient to the weight
/// gradient.
struct HeadsSaved {
    // direct
    struct Normed {
        Array input, statistics; ///< of a head each row
    };
    Normed query, key;
    std::vector<AdapterSaved> adapters; ///< as DirectProjection's
    Array dQkv;
    // latent
    Array queryDown, queryStatistics, keyValueDown, keyValueStatistics; ///< local rows
    Array latent; ///< local rows: [queries, normalised | keys and values, normalised | the keys' rotary part]
    Array dQuery, dKey, dValue, dQueryDown, dKeyValueDown;
};

class HeadProjection {
public:
    virtual ~HeadProjection() = default;
    /// normalized: local rows. What is kept of it is all that up() needs beside it: latent vectors, or nothing.
    virtual Task<> down(Tensor normalized, HeadsSaved&) = 0;
    /// Queries, keys and values of all rows. Also made again, where they were not kept.
    virtual Task<Array> up(const Input&, Tensor normalized, HeadsSaved&) = 0;
    /// The gradient of `normalized`; `ofWeights`: also theirs, computed while tensor-parallel sums and gatherings go on.
    virtual Task<Array> backward(const Input&, Array dQkv, Tensor normalized, HeadsSaved&, bool ofWeights) = 0;
    virtual Task<> backwardWeight(Tensor normalized, HeadsSaved&) = 0;
};

/// One product for all three; where several ranks keep the same key-value head one for queries and one for keys and values.
/// Where each of them makes a part of that head (Megatron Core, SelfAttention.get_query_key_value_tensors), all ranks' columns
/// are gathered behind the product, and the gradients are reduced and scattered. Queries and keys may be normalised head by head
/// (Dehghani et al. 2023; Qwen3).
class DirectProjection final : public HeadProjection {
public:
    /// adapters: null: none.
    DirectProjection(RankContext&, const Shape&, Bucket&, Bucket* adapters, const std::string& prefix, int stage, int layer);
    Task<> down(Tensor normalized, HeadsSaved&) override;
    Task<Array> up(const Input&, Tensor normalized, HeadsSaved&) override;
    Task<Array> backward(const Input&, Array dQkv, Tensor normalized, HeadsSaved&, bool ofWeights) override;
    Task<> backwardWeight(Tensor normalized, HeadsSaved&) override;

private:
    /// Parameters that lie side by side, and the columns of qkv that they make.
    struct Part {
        Parameter *first = nullptr, *last = nullptr, *firstBias = nullptr, *lastBias = nullptr;
        std::int64_t firstColumn = 0, columns = 0;
        Tensor weight(std::int64_t inputs) const { return first->valueThrough(*last).reshaped(columns, inputs); }
    };
    /// Beside a part of the columns of qkv.
    struct PartAdapter {
        Adapter adapter;
        std::int64_t firstColumn = 0, columns = 0;
        Tensor of(const Tensor& qkv) const { return qkv.columnRange(firstColumn, columns); }
    };
    void addParameters(Bucket&, Bucket* adapters, const std::string& prefix, int stage, int layer);
    void rotate(const Input&, const Tensor& qkv, bool inverse) const;
    void copy(const Tensor& from, const Tensor& to) const;
    void normalise(const Tensor& qkv, HeadsSaved&) const;
    void normaliseGradient(const Tensor& dQkv, const HeadsSaved&) const;
    void weightGradient(const HeadsSaved&, const Tensor& normalized);
    /// Whole heads of what this rank has made, and back.
    Task<Array> gatherHeads(Array made);
    Task<Array> scatterHeads(Array dHeads);
    /// visit(columns of a rank's product, columns of this rank's heads) for each part of these, of the rank's rows of `blocks`.
    template <class Visit>
    void forEachPart(const Tensor& blocks, const Tensor& heads, Visit visit) const;

    RankContext& m_context;
    const Shape& m_shape;
    const std::int64_t m_ownKeyColumns, m_ownValueColumns; ///< those that this rank's product makes
    std::optional<Rotary> m_rotary;
    std::vector<Part> m_parts;
    std::vector<PartAdapter> m_adapters;
    std::optional<Norm> m_queryNorm, m_keyNorm;
    RowsUnderWay m_gathering, m_sum;
    KernelLabel m_projectLabel, m_rotateLabel, m_normLabel;
};

/// Multi-head latent attention (DeepSeek-V2, section 2.1): down to small vectors, which are normalised, and up to the heads; a
/// part of each query and one of the key, which all heads share, is rotated. Down-projections work on the rank's own rows, each
/// rank has them whole; what they make is gathered.
class LatentProjection final : public HeadProjection {
public:
    LatentProjection(RankContext&, const Shape&, Bucket&, const std::string& prefix, int stage, int layer);
    Task<> down(Tensor normalized, HeadsSaved&) override;
    Task<Array> up(const Input&, Tensor normalized, HeadsSaved&) override;
    Task<Array> backward(const Input&, Array dQkv, Tensor normalized, HeadsSaved&, bool ofWeights) override;
    Task<> backwardWeight(Tensor normalized, HeadsSaved&) override;

private:
    struct Latent {
        Tensor query, keyValue, rotary;
    };
    Latent split(const Tensor& latent) const;
    std::int64_t latentColumns() const { return m_queryRank + m_rank + m_rotary; }
    /// Rows of one head each.
    Tensor byHead(const Tensor& rows, std::int64_t columnsOfHead) const;
    void rotateQuery(const Input&, const Tensor& query, bool inverse) const;
    void downWeightGradient(const HeadsSaved&, const Tensor& normalized);
    void upWeightGradient(const HeadsSaved&, const Tensor& latent, const Tensor& normalized);
    Tensor downInput(const Tensor& down) const { return down.columnRange(0, m_rank); }

    RankContext& m_context;
    const Shape& m_shape;
    std::int64_t m_queryRank, m_rank, m_plain, m_rotary; ///< m_queryRank 0: queries come straight from the residual stream
    std::optional<Rotary> m_turns;
    std::optional<Norm> m_queryNorm, m_keyValueNorm;
    Parameter *m_queryDown = nullptr, *m_query, *m_keyValueDown, *m_keyUp, *m_valueUp;
    KernelLabel m_downLabel, m_queryUpLabel, m_keyValueDownLabel, m_keyValueUpLabel, m_rotateLabel, m_assembleLabel;
};

std::unique_ptr<HeadProjection> makeHeadProjection(RankContext&, const Shape&, Bucket&, Bucket* adapters,
                                                   const std::string& prefix, int stage, int layer);

} // namespace live
