// The layouts that are held against serial training, as tables: the tests of the runtime train them on the CPU, those of the
// emulated machine there.
#pragma once

#include "tests/live/support/jobs.h"

#include <random>
#include <string>
#include <vector>

namespace live::test {

/// A pipeline that is cut and ordered so that each rank adds the gradients of micro-batches up in their order: equal to serial
/// training bit for bit.
struct Pipeline {
    const char* kind;
    int ranks, chunks;
    int microbatches;
    bool meets = false; ///< first and last stage on one rank
};
const std::vector<Pipeline>& pipelines();
std::string nameOf(const Pipeline&);
Settings settingsOf(const Pipeline&);

/// Two jobs that must agree bit for bit: settings of both, of the first, of the second.
struct Twins {
    const char* name;
    Settings both, first, second;
};
const std::vector<Twins>& twins();

/// A layout that adds sums up in another order than serial training: equal but for rounding.
struct Variant {
    const char* name;
    Settings settings;
    double dropout = 0;
};
const std::vector<Variant>& variants();
/// Its job in this live.dtype, and how all are trained.
sim::Scenario jobOf(const Variant&, const std::string& dtype);
TrainOptions optionsOfVariants();

/// One of the layouts in which any two choices that may meet do.
struct PairwiseJob {
    Settings settings;
    TrainOptions options;
    std::string text;
};
struct PairwiseJobs {
    std::vector<PairwiseJob> jobs;
    int pairs = 0, uncovered = 0;
};
PairwiseJobs pairwiseJobs();
/// Any allowed mixture of the same choices.
PairwiseJob randomJob(std::mt19937&);

} // namespace live::test
