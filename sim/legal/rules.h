// One pass over the rules between a scenario's values: the state that the files of rules share. Private to this folder.
#pragma once

#include "sim/legal/legal.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Larger jobs exist nowhere, and a typing error must not ask for terabytes.
inline constexpr std::int64_t kMostRanks = 1 << 20;

/// Those of the pipeline look at schedule, micro-batches, pipeline ranks, layers and recomputation; others at the whole job, but
/// at nothing of the schedule except its slices.
enum class RulesOf : std::uint8_t { all, pipeline, others };

class Rules {
public:
    /// Without somewhere to put `reasons` only whether there are any counts: messages are not made, warnings not looked for, and
    /// the first rule that is broken ends it.
    Rules(const Scenario& scenario, const Provenance& provenance, std::vector<Reason>* reasons)
        : m_scenario(scenario), m_family(findScheduleFamily(scenario.schedule.kind)), m_provenance(provenance), m_reasons(reasons)
    {
    }
    bool isLegal(RulesOf = RulesOf::all); ///< runs them

private:
    using Keys = std::initializer_list<std::string_view>;

    bool isTold() const { return m_reasons != nullptr; }
    bool sound(Keys keys) const
    {
        return !isTold() ||
               std::all_of(keys.begin(), keys.end(), [this](std::string_view key) { return m_provenance.isSound(key); });
    }
    bool isGiven(std::string_view key) const { return !isTold() || m_provenance.isGiven(key); }
    bool isWritten(std::string_view key) const { return isTold() && m_provenance.isWritten(key); }
    static std::string text(std::int64_t value) { return std::to_string(value); }
    /// Adds to "; nearest: 2" what else would be right: "kind 1f1b", or what to do: "give …".
    static std::string orElse(const std::string& numbers, const std::string& other);
    /// "1 node", "2 nodes".
    static std::string counted(std::int64_t count, std::string_view noun);
    /// "num_attention_heads 128 (of llama3-405b)".
    std::string named(std::string_view key, std::int64_t value) const;
    /// "virtual_stages is 8", with the same.
    std::string valueOf(std::string_view key, std::int64_t value) const;
    /// `message()` makes the text, if anybody wants it.
    template <typename Message>
    void error(std::string_view key, Message&& message)
    {
        m_isLegal = false;
        if (isTold())
            m_reasons->push_back({std::string(key), message(), false});
    }
    template <typename Message>
    void warning(std::string_view key, Message&& message)
    {
        if (isTold())
            m_reasons->push_back({std::string(key), message(), true});
    }

    // rules_cluster.cpp: the model by itself, the cluster by itself, and whether the ranks fit it
    void sizes();
    void model();
    void headDim();
    void layerTypes();
    void unusedLayerTypeKeys();
    void ropeScaling();
    void cluster();
    void profile();
    void world();

    // rules_layout.cpp: what the parallel dimensions cut, and where ranks and shards lie
    struct Cut;
    std::array<Cut, 4> cuts() const;
    bool cutsModel(std::int64_t tp) const;
    void tensorParallel();
    void tensorParallelPlace();
    void exchangedHeads();
    bool takesExpertSplit(std::int64_t etp, std::int64_t ep) const;
    void experts();
    void expertsPlace();
    struct Straddling;
    Straddling straddling(int ep) const;
    void order();
    void sharding();
    void placement();
    /// What the file says and what does not follow from other sizes; asked once for many of them.
    struct SaidSizes {
        bool etp = false, dpShard = false, nodes = false, globalBatch = false;
    };
    bool takesSplit(const Layout&, const SaidSizes&) const;
    bool isLegalWith(const Layout&, const SaidSizes&) const; ///< of what takesSplit
    /// "dp 4, 8": the nearest sizes of an axis, of those from `least` to `most`, with which the job is legal; empty where there
    /// are none.
    std::string otherSizes(std::string_view name, int Layout::*size, std::int64_t least = 1,
                           std::int64_t most = kMostRanks) const;

    // rules_schedule.cpp: stages and the schedule over them, sequences, batch
    void kind();
    void stages();
    bool hasLayersFor(std::int64_t stages) const;
    std::string kindInstead() const;
    void scheduleKind();
    void scheduleKeys();
    std::int64_t sequenceUnit(const Layout&) const;
    void sequences();
    void batch();
    void batchOfTokens();
    /// A multiple of `unit`, and at most `most`.
    std::string nearestBatches(std::int64_t unit, std::int64_t most) const;
    bool takesMicrobatches(std::int64_t count) const;
    std::string otherMicroBatches() const; ///< "micro_batch_size 2, 4": those that the batch takes as it is
    void slices(int length);
    void microbatches();

    // rules_training.cpp: precision, what is kept of activations and where, adapters, overlap
    void precisionAndOverlap();
    void recomputeModules();
    void recomputedLayers();
    void documentsAndOffload();
    void lora();
    void narrowerThanComputed();

    // rules_perturbations.cpp: what goes wrong on purpose
    void perturbations();
    void failures(std::size_t index, const std::string& at);
    void unusedKeys(PerturbationKind, const std::string& at);

    // rules_magnitude.cpp: numbers that are too large together
    void magnitudes();
    bool modelSize();
    void microbatchSize();
    void stepLength();
    void slowness();

    const Scenario& m_scenario;
    const ScheduleFamily* m_family; ///< null if there is none of that name, and then only until kind() says so
    const Provenance& m_provenance;
    std::vector<Reason>* m_reasons;
    bool m_isLegal = true;
    bool m_worldIsSound = true; ///< few enough ranks to count with
};

} // namespace sim
