// What no step of a layout can go below, from the engine's own prices: kernels and the collectives that they wait for, along one
// pipeline of ranks, each transfer with its links to itself. Layers alike are priced once for all layouts that split them alike.
// Private to sim/planner.
#pragma once

#include "sim/cost/cost.h"
#include "sim/planner/pass_order.h"
#include "sim/planner/pipeline_geometry.h"
#include "sim/planner/space.h"
#include "sim/program/stage_content.h"
#include "sim/program/states.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace sim {

/// Nanoseconds of the four passes, and what they keep.
struct PassFloors {
    double forward = 0, backward = 0, input = 0, weight = 0;
    /// Of these, what two passes that run as one block do not hide of each other: all but the experts' transfers.
    double blockForward = 0, blockBackward = 0;
    double blockWork = 0; ///< of both, as far as it counts beside collectives
    double exchange = 0;  ///< these transfers, of both
    /// Kernels, and the time between them as far as it counts beside collectives (StreamClock::workNs).
    double workForward = 0, workBackward = 0, workInput = 0, workWeight = 0;
    double kept = 0;      ///< bytes from a forward pass on
    double transient = 0; ///< bytes that a backward pass needs beside what is kept
    PassFloors& operator+=(const PassFloors&);
    PassFloors operator-(const PassFloors&) const;
    PassFloors operator*(double) const;
};

/// Parts of the model under one split: everything of a choice that a layer's passes depend on.
struct PartFloors {
    /// [kind of layer][recomputed]: of one more such layer.
    std::vector<std::array<PassFloors, 2>> layer;
    std::vector<std::array<PassFloors, 2>> trailing; ///< of these, what only a next one waits for
    /// [kind]: of a backward pass that begins with such a layer, at most so much runs before its message is there.
    std::vector<double> early;
    PassFloors embedding, head, headOwning; ///< beside layers
    PassFloors embeddingAlone;
    std::array<PassFloors, 2> headAlone;          ///< [recomputed]: its prediction modules may be run again
    std::vector<ParameterElements> layerElements; ///< [kind]
    ParameterElements embeddingElements, headElements, headOwningElements;
    std::vector<double> sendNs; ///< [tier]
};

/// What data-parallel ranks do for each other, under one way of sharding.
struct ShardFloors {
    std::vector<double> layerReduce, layerGather; ///< [kind], nanoseconds on the stream of data parallelism
    double embeddingReduce = 0, embeddingGather = 0, headReduce = 0, headGather = 0;
    /// Of parameters, dense and routed, and copies of the model: what comes after the last gradient is there. Floors' own.
    using UpdateKey = std::tuple<std::int64_t, std::int64_t, int>;
    mutable std::map<UpdateKey, double> updates;
};

/// A choice's floor, and the memory it takes at least.
struct LayoutFloor {
    double stepNs = 0;
    double bytes = 0;
    int fullestRank = 0;
};

/// Of the model's states on the fullest pipeline rank, however they are sharded and layers are dealt.
struct StateFloor {
    double bytes = 0;
    double meanBytes = 0;            ///< of all ranks
    std::vector<double> layersBytes; ///< [kind]: of as many layers as some rank has at least, all of that kind
};

/// What is the same for all ways of sharding a pipeline's shape: kind, chunks and depth of recomputation on one split of the
/// model.
struct ShapeFloor {
    struct Rank {
        double endNs = 0;  ///< of its last pass
        double workNs = 0; ///< of all, as far as it counts beside collectives, with the time before the first
        /// Bytes of activations, and whose gradients are being added up beside them; at the first moment when most passes are
        /// held, and at the last.
        std::array<double, 2> activations{};
        std::array<ParameterElements, 2> gradients{};
        std::array<ParameterElements, 2> gathered{}; ///< parameters that the running layer needs, where those are not kept
        double behindFirstNs = 0; ///< from its end to that of ShapeFloor::firstTrained, where a last backward pass goes that way
        ParameterElements held;
        std::vector<int> layers;       ///< [kind of layer], in all chunks
        int embeddings = 0, heads = 0; ///< with parameters of their own
        std::uint64_t lastReduced = 0; ///< bits of what may be reduced last: 0 nothing, 1 embedding, 2 head, 3 + kind of layer
    };
    std::vector<Rank> ranks;
    int firstTrained = 0; ///< the first rank whose first stage has a backward pass
    double chainNs = 0;   ///< one micro-batch through the model
    double leastNs = 0;   ///< of all ways of sharding
    bool isBlocks = false, isSplit = false, entersAtBothEnds = false, usesTwice = false, startsWithEmbedding = false;
};

/// Whether passes that run as one block have something that each hides of the other.
bool overlapsBlocks(const Scenario&, const ScheduleFamily&);

/// Thread-safe; what it remembers does not change what it says.
class Floors {
public:
    explicit Floors(const PlanSpace&);
    /// Step and memory of one choice. `parts` of the same choice.
    LayoutFloor floorOf(const Choice& choice, const Scenario& scenario, const PartFloors& parts, const ShardFloors& shards,
                        const PassOrder* order = nullptr) const
    {
        return shardedOf(choice, scenario, shapeOf(choice, scenario, parts, order), shards);
    }
    /// Of all ways of sharding; tighter with the order of its passes.
    ShapeFloor shapeOf(const Choice&, const Scenario&, const PartFloors&, const PassOrder* = nullptr) const;
    /// No more than ShapeFloor::leastNs, and sooner: for those that never get as far.
    double leastOfShape(const Choice&, const Scenario&, const PartFloors&) const;
    /// Layers of each stage by what stages cost, other than the scenario's: with no limit of memory, and under that of each way
    /// of sharding (stage of ZeRO, ranks of a group). None for one rank, or two that hold the model twice.
    std::vector<std::vector<int>> unevenOf(const Choice&, const Scenario&, const PartFloors&,
                                           std::span<const std::pair<int, int>> shardings, double capacityBytes) const;
    LayoutFloor shardedOf(const Choice&, const Scenario&, const ShapeFloor&, const ShardFloors&) const;
    /// From the order of the schedule itself; null where that depends on more than its sizes.
    std::shared_ptr<const PassOrder> orderOf(const Choice&, const Scenario&) const;
    std::shared_ptr<const ShardFloors> shardsOf(const Choice&, const Scenario&) const;
    std::shared_ptr<const PartFloors> partsOf(const Choice&, const Scenario&) const;
    /// Under each kind of recomputation that may be, of every layout with this grid, micro-batch and sequence parallelism: its
    /// kernels, dealt evenly, and the model's states with the activations of one micro-batch. `states`: of its grid.
    std::map<Recompute, LayoutFloor> leastOf(const Choice&, const Scenario&, const StateFloor& states) const;
    StateFloor leastStatesOf(const PlanGrid&) const;
    /// Fewer cannot hold the model's states in so much memory each, whatever the layout.
    std::int64_t fewestGpusOfStates(double capacityBytes) const;
    int kindOfLayer(int layer) const { return m_kindOfLayer[asIndex(layer)]; }

private:
    /// Of the layers from one on; -1 where they differ, or there is none.
    int kindOfStage(int layer, int count) const
    {
        return count > 0 && m_alikeTo[asIndex(layer)] >= layer + count ? kindOfLayer(layer) : -1;
    }
    Scenario withCheapestStack(Scenario) const;
    PartFloors priceParts(const Scenario&, const PipelineGeometry&) const;
    ShardFloors priceShards(const Scenario&, const PipelineGeometry&) const;
    double updateNs(const Choice&, const Scenario&, const ShardFloors&, ParameterElements) const;
    const PlanSpace& m_space;
    std::vector<LayerKind> m_kinds;
    std::vector<int> m_kindOfLayer;           ///< [layer]
    std::vector<int> m_alikeTo;               ///< [layer]: up to this one, layers from it on are of its kind
    std::vector<std::vector<int>> m_layersTo; ///< [kind][layer]: how many of the kind lie before it
    using Key = std::tuple<int, int, int, int, int, bool, bool, std::array<GroupShape, 4>>;
    mutable std::mutex m_lock;
    mutable std::map<Key, std::shared_ptr<const PartFloors>> m_parts;
    /// Of one kind of layer: kernels of both passes, and bytes kept between them.
    struct HalfFloor {
        double kernelNs = 0, kept = 0;
    };
    using HalfFloors = std::map<Recompute, HalfFloor>;
    /// A layer's attention and what follows it have little in common that they depend on: apart they are few.
    enum class HalfOfLayer : std::uint8_t { attention, rest };
    /// The half, the first kind of layer that has the same, split of tensors (attention's: tp, cp, sequences; the rest's: tp,
    /// tokens and, of experts, ep, etp), sequence parallelism.
    using HalfKey = std::tuple<HalfOfLayer, std::ptrdiff_t, std::array<std::int64_t, 4>, bool>;
    HalfKey halfKey(HalfOfLayer, std::size_t kind, const Choice&, const Scenario&) const;
    HalfFloors priceHalf(HalfOfLayer, const LayerKind&, const Scenario&) const;
    mutable std::map<HalfKey, HalfFloors> m_halves;
    const HalfFloors& halfOf(HalfOfLayer, std::size_t kind, const Choice&, const Scenario&) const;
    /// Parameters of a rank whose stage has all layers, and of one layer of each kind.
    struct SplitElements {
        ParameterElements whole;
        std::vector<ParameterElements> layer; ///< [kind]
    };
    std::shared_ptr<const SplitElements> elementsOf(const Scenario&) const;
    mutable std::map<std::array<int, 3>, std::shared_ptr<const SplitElements>> m_elements; ///< by tp, ep, etp
    using ShardKey = std::tuple<PlanGrid, int, int, int>;
    mutable std::map<ShardKey, std::shared_ptr<const ShardFloors>> m_shards;
    /// With the ranks of a group that shards; 0: of layers.
    using GeometryKey = std::tuple<PlanGrid, int, int>;
    mutable std::map<GeometryKey, std::shared_ptr<const PipelineGeometry>> m_geometries;
    mutable std::map<std::array<int, 5>, std::shared_ptr<const PassOrder>> m_orders;
    mutable std::size_t m_orderedPasses = 0; ///< in m_orders
    std::shared_ptr<const PipelineGeometry> geometryOf(const GeometryKey&, const Scenario&) const;
    std::shared_ptr<const PipelineGeometry> geometryOfShards(const Choice&, const Scenario&) const;
};

} // namespace sim
