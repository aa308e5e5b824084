// Attention between the projections: each query against the keys that its layer lets it see. Over cp the keys and values travel
// round a ring; where sequences come in slices (seq-1f1b) they are kept until the last slice has come back.
#pragma once

#include "live/model/input.h"
#include "live/model/parameters.h"
#include "live/model/rank_context.h"
#include "live/model/shape.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace live {

class AttentionCore {
public:
    /// prefix: of its parameters, if it has some: a sink a head.
    AttentionCore(RankContext&, const Shape&, Bucket&, const std::string& prefix, int stage, int layer);

    /// qkv: queries, keys and values side by side, of all rows. output: [rows, outputColumns].
    Task<> forward(const Input&, Tensor qkv, Array& output, Array& logSumExp);
    /// The gradient of qkv; adds to those of the sinks.
    Task<Array> backward(const Input&, Tensor qkv, Tensor output, Tensor logSumExp, Tensor dOutput);

    struct Parts {
        Tensor q, k, v;
    };
    /// The columns of qkv, or of its gradient.
    static Parts split(const Shape&, const Tensor& qkv);
    const KernelLabel& label() const { return m_label; }

private:
    struct Sequence {
        Array keysValues;   ///< of all slices
        Array keyGradients; ///< of all slices, accumulated from the last to the first
    };
    /// Rows that follow each other in the sequence: `position` of the first.
    struct Stretch {
        std::int64_t row = 0, position = 0, count = 0;
    };
    /// Queries and keys that meet in one call of the kernel, in positions from the first row.
    struct Meeting {
        std::int64_t firstQuery = 0, queries = 0, firstKey = 0, keys = 0;
        bool causal = false;
        std::int64_t diagonal = 0;
    };
    std::vector<Stretch> stretchesOf(int cpIndex) const;
    std::vector<Meeting> meetings(const std::vector<Stretch>& queries, const std::vector<Stretch>& keys) const;
    std::vector<Meeting> meetingsWith(int owner) const;
    AttentionShape kernelShape(const Meeting&) const;
    Tensor queriesOf(const Meeting&, const Tensor& rows) const;
    Tensor keysOf(const Meeting&, const Tensor& keysValues) const;
    Tensor valuesOf(const Meeting&, const Tensor& keysValues) const;

    /// Keys and values on their way round the ring: the next block's travel while this one's are used. As RowsUnderWay.
    struct Ring {
        Array here, coming;
        std::unique_ptr<Communication> transfer;
    };
    Task<> seen(const Input&, Tensor qkv, Tensor output, Tensor logSumExp);
    Task<Array> seenGradient(const Input&, Tensor qkv, Tensor output, Tensor logSumExp, Tensor dOutput);
    Array sinks() const;
    void startRing(const Tensor& qkv);
    void shiftRing(int by);
    Task<> takeNextBlock();
    Task<> ring(Tensor qkv, Tensor output, Tensor logSumExp);
    Task<Array> ringGradient(Tensor qkv, Tensor output, Tensor logSumExp, Tensor dOutput);
    Array sliceGradient(const Input&, const Tensor& qkv, const Tensor& output, const Tensor& logSumExp, const Tensor& dOutput);

    RankContext& m_context;
    const Shape& m_shape;
    bool m_causal;
    double m_sharpness;
    std::int64_t m_window = 0;           ///< keys that a query sees; 0: all
    std::int64_t m_chunk = 0;            ///< positions of a chunk that see each other; 0: all
    std::map<int, Sequence> m_sequences; ///< by micro-batch, where sequences come in slices
    Ring m_ring;
    Parameter* m_sinks = nullptr;
    KernelLabel m_label, m_mergeLabel, m_sinksLabel;
};

} // namespace live
