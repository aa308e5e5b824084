// What comments at the head of a script tell its batch system: how many nodes, and how many GPUs each has.
#pragma once

#include "sim/frameworks/read/setting.h"

#include <string>
#include <utility>
#include <vector>

namespace sim::frameworks {

struct BatchLine {
    Settings settings{}; ///< "@nodes", "@gpus_per_node", "@gpus"; all else as "@launcher.NAME"
    std::vector<std::pair<std::string, std::string>> variables{}; ///< that the batch system sets for the script
};

/// How many GPUs "gpu:v100:4", "nvme:100,gpu:4(S:0-1)" or a plain "4" are: one where no number is given.
std::string gpusOfResources(const std::string& resources);

/// "#SBATCH --nodes=24", "-N 24", "--gres=gpu:a100:8"; "#PBS -l select=24:ngpus=8"; "#BSUB -nnodes 24"; "#PJM -L node=24";
/// "#COBALT -n 24"; all options of a line. Nothing of any other comment.
BatchLine batchLineOf(const std::string& comment, int line);

} // namespace sim::frameworks
