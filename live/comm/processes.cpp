#include "live/comm/processes.h"

#include "live/comm/remote_communicator.h"
#include "live/comm/tcp_transport.h"
#include "live/kernels/modules.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <thread>

namespace live {
namespace {

using MakeMpiTransport = Transport*(int process, int processes, std::string* error);
constexpr const char* kMpiModule = "rankscope_live_mpi.so";

/// The module's entry, or null with the reason. It stays loaded: MPI libraries cannot be unloaded.
MakeMpiTransport* loadMpi(std::string& reason)
{
    for (const auto& folder : moduleFolders()) {
        std::error_code error;
        const std::filesystem::path file = folder / kMpiModule;
        if (!std::filesystem::exists(file, error))
            continue;
        // Global: MPI's own plugins look for its symbols.
        void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (!module) {
            reason = std::string("the MPI module does not load: ") + dlerror();
            return nullptr;
        }
        void* const header = dlsym(module, "rankscopeMpiModule");
        void* const entry = dlsym(module, "rankscopeMakeMpiTransport");
        if (!header || !entry)
            reason = file.string() + " is of another version";
        else
            reason = moduleObjection(file, *static_cast<const ModuleHeader*>(header));
        return reason.empty() ? reinterpret_cast<MakeMpiTransport*>(entry) : nullptr;
    }
    reason = std::string("no MPI module (") + kMpiModule + ") beside the program";
    return nullptr;
}

/// The same answer on all processes: "" if every one of them said so, else the first objection.
std::string firstObjection(Store& store, const std::string& subject, const std::string& objection)
{
    const auto key = [&](int process) { return subject + "/" + std::to_string(process); };
    store.set(key(store.process()), objection);
    std::string first;
    for (int process = 0; process < store.processes(); ++process)
        if (const std::string other = store.get(key(process)); !other.empty() && first.empty())
            first = "process " + std::to_string(process) + ": " + other;
    return first;
}

struct Choice {
    std::unique_ptr<Transport> transport;
    std::string why;
};

Choice chooseTransport(const LaunchEnvironment& launch, Store& store)
{
    const char* const asked = std::getenv("RANKSCOPE_TRANSPORT");
    const std::string transport = asked ? asked : "";
    if (!transport.empty() && transport != "tcp" && transport != "mpi")
        throw sim::Error("RANKSCOPE_TRANSPORT is \"" + transport + "\"; it can be tcp or mpi");
    const bool mpiStarted = launch.launcher == Launcher::openMpi || launch.launcher == Launcher::pmi;
    const bool wanted = transport == "mpi" || (transport.empty() && mpiStarted);
    std::string objection = wanted ? "" : "not wanted";
    MakeMpiTransport* const make = wanted ? loadMpi(objection) : nullptr;
    std::string first = firstObjection(store, "transport/module", objection);
    if (first.empty()) {
        std::string error;
        std::unique_ptr<Transport> mpi(make(launch.process, launch.processes, &error));
        first = firstObjection(store, "transport/mpi", error);
        if (first.empty())
            return {std::move(mpi),
                    transport == "mpi" ? "asked for" : std::string("started by ") + launcherName(launch.launcher)};
    }
    if (transport == "mpi")
        throw sim::Error("RANKSCOPE_TRANSPORT asks for MPI, which cannot be used: " + first);
    std::string why = first;
    if (transport == "tcp")
        why = "asked for";
    else if (!wanted)
        why = std::string("started by ") + launcherName(launch.launcher);
    return {makeTcpTransport(store), why};
}

/// A connection that ends is seen before its cause is told: the store knows who was killed, or what a process found before it
/// left. Waits a moment for that, then takes what the transport saw.
std::string reasonOf(Store& store, const std::string& why)
{
    constexpr int kMilliseconds = 500;
    for (int i = 0; i < kMilliseconds && !store.aborted(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    store.abort(why); // nothing, if it was told meanwhile
    return store.abortReason();
}

/// Gives the other one its name with the reason, and ties it to the store.
class ProcessCommunicator : public Communicator {
public:
    ProcessCommunicator(std::unique_ptr<Communicator> communicator, std::string name, Store& store)
        : m_communicator(std::move(communicator)), m_name(std::move(name)),
          m_handler(store.onAbort([this](const std::string& why) { m_communicator->abort(why); }))
    {
    }
    std::string name() const override { return m_name; }
    void issue(const CommRequest& request, Completion& completion) override { m_communicator->issue(request, completion); }
    bool poll() override { return m_communicator->poll(); }
    void abort(const std::string& why) override { m_communicator->abort(why); }

private:
    const std::unique_ptr<Communicator> m_communicator;
    const std::string m_name;
    const std::shared_ptr<void> m_handler; ///< goes first
};

} // namespace

RankRange ranksOf(int process, int processes, int worldSize)
{
    if (processes < 1 || process < 0 || process >= processes || worldSize < processes)
        throw sim::Error(std::to_string(worldSize) + " ranks cannot be spread over " + std::to_string(processes) +
                         " processes: start at most " + std::to_string(worldSize));
    const int each = worldSize / processes;
    const int more = worldSize % processes;
    return {process * each + std::min(process, more), each + (process < more ? 1 : 0)};
}

std::vector<int> processesOfRanks(int processes, int worldSize)
{
    std::vector<int> processOf;
    for (int process = 0; process < processes; ++process)
        processOf.insert(processOf.end(), static_cast<std::size_t>(ranksOf(process, processes, worldSize).count), process);
    return processOf;
}

std::unique_ptr<Communicator> makeProcessCommunicator(WorkerPool& pool, const LaunchEnvironment& launch, int worldSize,
                                                      Store* store)
{
    std::vector<int> processOfRank;
    for (int process = 0; process < launch.processes; ++process)
        processOfRank.insert(processOfRank.end(), static_cast<std::size_t>(ranksOf(process, launch.processes, worldSize).count),
                             process);
    if (launch.processes == 1)
        return makeLocalCommunicator(pool);
    if (!store)
        throw sim::Error("several processes need a store to find each other");
    Choice choice = chooseTransport(launch, *store);
    const std::string name =
        choice.transport->name() + " between " + std::to_string(launch.processes) + " processes (" + choice.why + ")";
    auto remote = makeRemoteCommunicator(pool, std::move(choice.transport), std::move(processOfRank), launch.process,
                                         [store](const std::string& why) { return reasonOf(*store, why); });
    return std::make_unique<ProcessCommunicator>(std::move(remote), name, *store);
}

} // namespace live
