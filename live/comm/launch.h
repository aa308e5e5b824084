// Who this process is among the processes of a run: read from the launcher's environment variables. One process may hold several
// ranks; a launcher's "rank" is a process here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace live {

enum class Launcher { single, flags, torchrun, openMpi, slurm, pmi };
const char* launcherName(Launcher); ///< "torchrun", "Open MPI", …

struct LaunchEnvironment {
    Launcher launcher = Launcher::single;
    int process = 0, processes = 1;           ///< of all machines
    int localProcess = 0, localProcesses = 1; ///< of this machine: which GPU to take, where it sees several
    std::string masterAddress = "127.0.0.1";  ///< of process 0's machine: a name or an address
    int masterPort = 0;                       ///< of process 0's store; 0 = process 0 chooses (one process only)
    std::string why; ///< which variables said so: "torchrun: RANK=3 of WORLD_SIZE=8, master 10.0.0.1:29501"
};

/// Command-line flags: each one given wins over the environment.
struct LaunchFlags {
    std::optional<int> process, processes, localProcess, localProcesses, masterPort;
    std::optional<std::string> masterAddress;
};

/// First match wins: flags, torchrun (RANK, WORLD_SIZE), Open MPI, Slurm, PMI (MPICH, Intel MPI), one process. MASTER_ADDR and
/// MASTER_PORT are obeyed under every launcher. Throws sim::Error that names the variable and its value.
LaunchEnvironment readLaunchEnvironment(const std::map<std::string, std::string>& variables, const LaunchFlags& = {});

/// This process's own variables.
std::map<std::string, std::string> environmentVariables();

/// First host of a Slurm list: "node[03-07,9],login" is node03.
std::string firstSlurmHost(const std::string& list);

} // namespace live
