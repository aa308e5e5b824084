// What a rank holds of the model for one stage of the pipeline: some layers, at the ends the embedding and the output head. Runs
// the schedule's passes on it, each micro-batch's state apart, so that any order of passes works.
#pragma once

#include "live/model/embedding.h"
#include "live/model/layer.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace live {

class Stage {
public:
    struct Place {
        int stage = 0; ///< in the schedule, for traces
        int firstLayer = 0, layers = 0;
        bool hasEmbedding = false, hasHead = false;
    };
    /// tokenTable, headTable: the vocabulary's weights where this stage has an end; the same parameter where tied and one rank
    /// has both.
    Stage(RankContext&, const Shape&, const Place&, Parameter* tokenTable, Parameter* headTable);

    const Place& place() const { return m_place; }
    /// All but the vocabulary's, in the order of the model.
    std::vector<std::unique_ptr<Bucket>>& buckets() { return m_buckets; }

    /// x: what the stage before it sent; empty at the start. Returns what goes on; empty at the end. Losses are added to
    /// lossWords.
    Task<Array> forward(const Input&, Array x, const Tensor& lossWords);
    /// Input gradients and, if asked for, those of the weights, layer by layer. dy: empty at the end. `last`: no more gradients
    /// of weights come in this step, so that each bucket is announced as done.
    Task<Array> backward(const Input&, Array dy, double lossScale, bool ofWeights, bool last);
    Task<> backwardWeight(const Input&, bool last);

    /// The exact sum of the load-balancing losses since the last call is added to `words`.
    void takeAuxiliaryLoss(std::span<std::int64_t, kExactSumWords> words);

private:
    struct Saved {
        std::vector<LayerSaved> layers;
        HeadSaved head;
    };
    /// Buckets that are used together; null: none.
    using Together = std::array<Bucket*, 3>;
    static Together together(const Layer&);
    /// `next`: what the pass uses after them.
    Task<> acquire(Together, Together next);
    Together ofEmbedding() const { return {m_tokenTable->bucket, m_embeddingRest}; }
    Together ofHead() const { return {m_headTable->bucket, m_headRest}; }
    Together usedFrom(std::size_t layer) const;   ///< in a forward pass
    Together usedBefore(std::size_t layer) const; ///< which a backward pass comes to next
    void release(const Together&);
    void prepare(const Together&);
    Task<> done(Together);
    Task<> embeddingWeights(const Input&, bool last);

    RankContext& m_context;
    Place m_place;
    std::vector<std::unique_ptr<Bucket>> m_buckets;
    Parameter *m_tokenTable, *m_headTable;
    Bucket *m_embeddingRest = nullptr, *m_headRest = nullptr;
    std::unique_ptr<Embedding> m_embedding;
    std::unique_ptr<Head> m_head;
    std::vector<std::unique_ptr<Layer>> m_layers;
    std::map<const Input*, Saved> m_saved;
};

} // namespace live
