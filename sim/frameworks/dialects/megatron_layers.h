// How Megatron says which layers a stage holds, and which of them are of experts.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sim::frameworks {

struct PipelineLayout {
    std::vector<int> layers{}; ///< decoder layers of each stage, in model order
    int predictions = 0;       ///< multi-token prediction modules, "m"
    bool predictsLast = false; ///< all of them are in the last stage
    std::string problem{};     ///< what is wrong with it; then the rest is empty
};
/// "Et*3|(tt|)*6tmL": E embedding, t decoder layer, m multi-token prediction, L loss, | next stage, x*n and (…)*n repeat.
PipelineLayout pipelineLayoutOf(const std::string& text);

/// "M-M*|M-ME/M*": one letter a layer, whatever its kind; | the next stage, / layers of a multi-token prediction module.
struct HybridPattern {
    int layers = 0;              ///< without those of prediction modules
    int predictions = 0;         ///< multi-token prediction modules
    std::vector<int> perStage{}; ///< empty where no stage is marked
};
HybridPattern hybridPatternOf(const std::string& text);

/// "([0]*3+[1]*58)": 0 a dense layer, 1 one of experts. Empty if it is no such list.
std::vector<int> layerPatternOf(const std::string& text);

struct ExpertLayers {
    int firstDense = 0, every = 1;
};
/// The first k layers dense, then every n-th of experts; nothing where the pattern is another.
std::optional<ExpertLayers> expertLayersOf(const std::vector<int>& pattern);

/// Layers of each of pp * chunks stages where the first and the last rank hold so many (-1: not given); empty if they do not
/// divide.
std::vector<int> layersByFirstAndLast(int layers, int pp, int chunks, int first, int last);

/// Over stages of which none has more than it must, the first ones full: DeepSpeed's way.
std::vector<int> greedyLayers(int layers, int stages);

} // namespace sim::frameworks
