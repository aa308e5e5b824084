// One pass over the rules between a scenario's values: the state that the files of rules share. Private to this folder.
#pragma once

#include "sim/scenario/resolve.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

class Rules {
public:
    Rules(const Resolution& resolution, const std::string& file, std::vector<Problem>& problems)
        : m_resolution(resolution), m_scenario(resolution.scenario), m_file(file), m_problems(problems)
    {
    }
    void run();

private:
    using Pointers = std::initializer_list<std::string_view>;

    // validate.cpp
    bool sound(Pointers) const;
    bool isGiven(std::string_view pointer) const;
    static std::string text(std::int64_t value) { return std::to_string(value); }
    /// "1 node", "2 nodes".
    static std::string counted(std::int64_t count, std::string_view noun);
    /// "num_attention_heads 128 (of llama3-405b)".
    std::string named(std::string_view pointer, std::int64_t value) const;
    void error(std::string_view pointer, std::string message);
    void warning(std::string_view pointer, std::string message);

    // rules_cluster.cpp: the model by itself, the cluster by itself, and whether the ranks fit it
    void model();
    void headDim();
    void cluster();
    void profile();
    void world();

    // rules_layout.cpp: what the parallel dimensions cut, and where ranks and shards lie
    bool hasDenseLayers() const;
    struct Cut;
    std::vector<Cut> cuts() const;
    void tensorParallel();
    void tensorParallelPlace(const std::vector<Cut>&);
    bool takesExpertSplit(std::int64_t etp, std::int64_t ep) const;
    void experts();
    void expertsPlace();
    struct Straddling;
    Straddling straddling(int ep) const;
    void order();
    void sharding();
    void placement();

    // rules_training.cpp: stages, schedule, sequences, batch, precision, perturbations
    void stages();
    bool hasLayersFor(std::int64_t stages) const;
    std::string kindInstead() const;
    void scheduleKind();
    std::int64_t sequenceUnit() const;
    void sequences();
    void batch();
    /// A multiple of `unit`, and at most `most`.
    std::string nearestBatches(std::int64_t unit, std::int64_t most) const;
    void slices(int length);
    void enoughMicrobatches(std::int64_t microbatches, std::int64_t unit);
    void interleaving(std::int64_t microbatches, std::int64_t unit);
    void precisionAndOverlap();
    void recomputation();
    void perturbations();
    void unusedKeys(PerturbationKind, const std::string& at);

    // rules_magnitude.cpp: numbers that are too large together
    void magnitudes();
    bool modelSize();
    void microbatchSize();
    void stepLength();
    void slowness();

    const Resolution& m_resolution;
    const Scenario& m_scenario;
    const std::string& m_file;
    std::vector<Problem>& m_problems;
    bool m_worldIsSound = true; ///< few enough ranks to count with
};

} // namespace sim
