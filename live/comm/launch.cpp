#include "live/comm/launch.h"

#include "sim/error.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <unistd.h>

namespace live {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr int kDefaultPort = 29400;
/// Ports derived from a job's identity: below Linux's range for outgoing connections (32768…), so that none of those is in the
/// way.
constexpr int kFirstDerivedPort = 20000, kDerivedPorts = 9000;

int parseInt(const std::string& name, const std::string& text, int lowest, int highest)
{
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest)
        throw sim::Error("the environment variable " + name + " is \"" + text + "\"; it must be an integer from " +
                         std::to_string(lowest) + " to " + std::to_string(highest));
    return value;
}

/// Reads variables and remembers what it saw.
class Reader {
public:
    explicit Reader(const Variables& variables) : m_variables(variables) {}

    const std::string* find(const std::string& name) const
    {
        const auto found = m_variables.find(name);
        return found == m_variables.end() || found->second.empty() ? nullptr : &found->second;
    }
    bool has(const std::string& a, const std::string& b) const { return find(a) && find(b); }
    int integer(const std::string& name, int lowest, int highest) const { return parseInt(name, *find(name), lowest, highest); }
    std::optional<int> maybeInteger(const std::string& name, int lowest, int highest) const
    {
        if (!find(name))
            return std::nullopt;
        return integer(name, lowest, highest);
    }
    /// The first of these that is set, else "".
    std::string first(std::initializer_list<const char*> names) const
    {
        for (const char* name : names)
            if (const std::string* value = find(name))
                return *value;
        return "";
    }

private:
    const Variables& m_variables;
};

constexpr int kMaxProcesses = 1 << 20;

/// The same for every process of a job, likely another one for another job. FNV-1a.
int derivedPort(const std::string& job)
{
    if (job.empty())
        return kDefaultPort;
    std::uint32_t hash = 2166136261U;
    for (const char c : job)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return kFirstDerivedPort + static_cast<int>(hash % static_cast<std::uint32_t>(kDerivedPorts));
}

/// Of a launcher that numbers processes on all machines and on each.
struct ProcessVariables {
    const char *rank, *size, *localRank, *localSize;
};

void readProcess(const Reader& reader, const std::string& rank, const std::string& size, LaunchEnvironment& launch)
{
    launch.processes = reader.integer(size, 1, kMaxProcesses);
    launch.process = reader.integer(rank, 0, kMaxProcesses);
    if (launch.process >= launch.processes)
        throw sim::Error(rank + " is " + std::to_string(launch.process) + ", which is not below " + size + " = " +
                         std::to_string(launch.processes));
    launch.why = rank + "=" + std::to_string(launch.process) + " of " + size + "=" + std::to_string(launch.processes);
}

void readProcess(const Reader& reader, const ProcessVariables& names, LaunchEnvironment& launch)
{
    readProcess(reader, names.rank, names.size, launch);
    launch.localProcess = reader.maybeInteger(names.localRank, 0, kMaxProcesses).value_or(launch.process);
    launch.localProcesses = reader.maybeInteger(names.localSize, 1, kMaxProcesses).value_or(launch.processes);
}

void readTorchrun(const Reader& reader, LaunchEnvironment& launch)
{
    launch.launcher = Launcher::torchrun;
    readProcess(reader, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}, launch);
    launch.masterPort = reader.maybeInteger("MASTER_PORT", 1, 65535).value_or(kDefaultPort);
    // torchrun's agent keeps a store of its own on MASTER_PORT while the workers run, and says so here.
    if (reader.first({"TORCHELASTIC_USE_AGENT_STORE"}) == "True")
        launch.masterPort += launch.masterPort < 65535 ? 1 : -1;
}

void readOpenMpi(const Reader& reader, LaunchEnvironment& launch)
{
    launch.launcher = Launcher::openMpi;
    readProcess(reader,
                {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                launch);
    launch.masterPort = derivedPort(reader.first({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}));
}

/// Whether srun has started this process as one of a step's tasks. Without a step it is an sbatch script itself; the shell that
/// salloc opens where LaunchParameters has use_interactive_step is a step of its own, numbered beyond Slurm's tasks, whose one
/// process sees the whole allocation's SLURM_NTASKS (slurm.h: SLURM_MAX_NORMAL_STEP_ID, SLURM_INTERACTIVE_STEP).
bool isSlurmTask(const Reader& reader)
{
    constexpr std::uint32_t kLastStepOfTasks = 0xfffffff0;
    const std::string step = reader.first({"SLURM_STEP_ID", "SLURM_STEPID"});
    std::uint32_t number = 0;
    std::from_chars(step.data(), step.data() + step.size(), number);
    return reader.has("SLURM_PROCID", "SLURM_NTASKS") && !step.empty() && number <= kLastStepOfTasks;
}

void readSlurm(const Reader& reader, LaunchEnvironment& launch)
{
    launch.launcher = Launcher::slurm;
    readProcess(reader, "SLURM_PROCID", "SLURM_NTASKS", launch);
    launch.localProcess = reader.maybeInteger("SLURM_LOCALID", 0, kMaxProcesses).value_or(launch.process);
    // SLURM_STEP_TASKS_PER_NODE lists counts ("8(x3),4"): the first is this machine's unless tasks are spread unevenly.
    const std::string tasks = reader.first({"SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"});
    launch.localProcesses = launch.processes;
    if (!tasks.empty())
        launch.localProcesses =
            parseInt("SLURM_STEP_TASKS_PER_NODE", tasks.substr(0, tasks.find_first_of("(,")), 1, kMaxProcesses);
    const std::string nodes = reader.first({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    if (!nodes.empty())
        launch.masterAddress = firstSlurmHost(nodes);
    launch.masterPort =
        derivedPort(reader.first({"SLURM_JOB_ID", "SLURM_JOBID"}) + "." + reader.first({"SLURM_STEP_ID", "SLURM_STEPID"}));
}

void readPmi(const Reader& reader, LaunchEnvironment& launch)
{
    launch.launcher = Launcher::pmi;
    readProcess(reader, {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, launch);
    launch.masterPort = derivedPort(reader.first({"PMI_JOBID", "PMI_KVSNAME", "HYDRA_JOBID"}));
}

/// Of the launchers that do not tell where process 0 is.
bool needsMaster(const LaunchEnvironment& launch)
{
    return (launch.launcher == Launcher::openMpi || launch.launcher == Launcher::pmi || launch.launcher == Launcher::torchrun) &&
           launch.localProcesses < launch.processes;
}

} // namespace

const char* launcherName(Launcher launcher)
{
    constexpr std::array<const char*, 6> kNames = {"one process", "command line", "torchrun",
                                                   "Open MPI",    "Slurm",        "PMI (MPICH, Intel MPI)"};
    return kNames[static_cast<std::size_t>(launcher)];
}

std::string firstSlurmHost(const std::string& list)
{
    const std::size_t comma = list.find(',');
    const std::size_t open = list.find('[');
    if (open == std::string::npos || (comma != std::string::npos && comma < open))
        return list.substr(0, comma);
    const std::size_t close = list.find(']', open);
    if (close == std::string::npos)
        throw sim::Error("the Slurm node list \"" + list + "\" opens a bracket that it does not close");
    const std::string range = list.substr(open + 1, close - open - 1);
    std::string host = list.substr(0, open) + range.substr(0, range.find_first_of("-,"));
    // Suffixes and further brackets of this entry: "rack[1-2]node[1-4]".
    std::string_view rest = std::string_view(list).substr(close + 1);
    if (!rest.empty() && rest[0] != ',')
        host += firstSlurmHost(std::string(rest));
    return host;
}

LaunchEnvironment readLaunchEnvironment(const Variables& variables, const LaunchFlags& flags)
{
    const Reader reader(variables);
    LaunchEnvironment launch;
    if (flags.process || flags.processes) {
        launch.launcher = Launcher::flags;
        launch.processes = flags.processes.value_or(1);
        launch.process = flags.process.value_or(0);
        if (launch.processes < 1 || launch.process < 0 || launch.process >= launch.processes)
            throw sim::Error("process " + std::to_string(launch.process) + " of " + std::to_string(launch.processes) +
                             " cannot be: processes are counted from 0");
        launch.localProcess = launch.process;
        launch.localProcesses = launch.processes;
        launch.masterPort = kDefaultPort;
        launch.why = "process " + std::to_string(launch.process) + " of " + std::to_string(launch.processes);
    } else if (reader.has("RANK", "WORLD_SIZE")) {
        readTorchrun(reader, launch);
    } else if (reader.has("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) {
        readOpenMpi(reader, launch);
    } else if (isSlurmTask(reader)) {
        readSlurm(reader, launch);
    } else if (reader.has("PMI_RANK", "PMI_SIZE")) {
        readPmi(reader, launch);
    } else {
        launch.why = "no launcher's variables";
    }
    launch.localProcess = flags.localProcess.value_or(launch.localProcess);
    launch.localProcesses = flags.localProcesses.value_or(launch.localProcesses);

    const std::string* const address = reader.find("MASTER_ADDR");
    if (flags.masterAddress)
        launch.masterAddress = *flags.masterAddress;
    else if (address && launch.launcher != Launcher::single)
        launch.masterAddress = *address;
    else if (needsMaster(launch))
        throw sim::Error(std::string(launcherName(launch.launcher)) + " started " + std::to_string(launch.processes) +
                         " processes on several machines and does not say where process 0 is: set MASTER_ADDR to its machine");
    if (flags.masterPort)
        launch.masterPort = *flags.masterPort;
    else if (launch.launcher != Launcher::torchrun && launch.launcher != Launcher::single)
        launch.masterPort = reader.maybeInteger("MASTER_PORT", 1, 65535).value_or(launch.masterPort);

    launch.why = std::string(launcherName(launch.launcher)) + ": " + launch.why;
    if (launch.processes > 1)
        launch.why += ", master " + launch.masterAddress + ":" + std::to_string(launch.masterPort);
    return launch;
}

Variables environmentVariables()
{
    Variables variables;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

} // namespace live
