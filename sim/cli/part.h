// Which part of a job split over processes this one does.
#pragma once

#include <string>

namespace sim::cli {

struct Part {
    int index = 0, count = 1; ///< index from 0
};

/// "2/4" is the second of four; "auto" as the launcher says: MPI's ranks (Open MPI, MPICH and what speaks PMI), the tasks of an
/// srun step, and the tasks of a Slurm array, each of which may hold several of those; empty: the whole. Throws UsageError, also
/// where nothing says what auto is.
Part partOf(const std::string&);

} // namespace sim::cli
