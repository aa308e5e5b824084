// One process of a run, for processes_test.cpp: process_program WORLD ROUNDS [MODE]. Exits 0 if every byte was right, 3 with a
// message if the run was ended.
#include "live/comm/processes.h"
#include "sim/error.h"
#include "tests/live/comm/exchange.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

using namespace live;

/// What the first of this process's ranks to fail was told.
struct Failure {
    std::mutex mutex;
    std::string message;
    std::atomic<bool> happened{false};
};

Task<> guarded(Task<> body, Failure& failure)
{
    try {
        co_await body;
    } catch (const sim::Error& error) {
        const std::lock_guard lock(failure.mutex);
        if (!failure.happened)
            failure.message = error.what();
        failure.happened = true;
    }
}

int run(int world, int rounds, const std::string& mode)
{
    const LaunchEnvironment launch = readLaunchEnvironment(environmentVariables());
    StoreOptions options;
    options.connectTimeout = std::chrono::seconds(20);
    options.heartbeat = std::chrono::milliseconds(100);
    options.silence = std::chrono::milliseconds(1000);
    const auto store = openStore(launch, options);
    WorkerPool pool(2);
    const auto communicator = makeProcessCommunicator(pool, launch, world, store.get());
    pool.setPoller([&] { return communicator->poll(); });
    const std::vector<CommGroup> groups = test::groupsOf(world);
    std::vector<test::Planned> plan = test::planExchange(groups, rounds, 1);
    // The last process goes another way.
    if (mode == "desync" && launch.process == launch.processes - 1)
        for (test::Planned& planned : plan)
            planned.sequence += planned.sequence >= 20 ? 1 : 0;
    test::Tally tally;
    Failure failure;
    std::vector<Task<>> tasks;
    const RankRange ranks = ranksOf(launch.process, launch.processes, world);
    for (int rank = ranks.first; rank < ranks.first + ranks.count; ++rank)
        tasks.push_back(guarded(test::exchangeRank(*communicator, pool, plan, rank, 3, tally), failure));
    for (const Task<>& task : tasks)
        pool.post(task.handle());
    std::printf("running %s\n", communicator->name().c_str());
    std::fflush(stdout);
    pool.run([&] { return tally.ended == ranks.count || failure.happened; });
    if (failure.happened) {
        store->abort(failure.message);
        std::printf("%s\n%s\n", failure.message.c_str(), store->abortReason().c_str());
        std::fflush(stdout);
        std::_Exit(3); // other ranks are in the middle of something
    }
    store->barrier("done");
    std::printf("compared %d, wrong %d\n", tally.compared.load(), tally.wrong.load());
    return tally.wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run(std::atoi(argv[1]), std::atoi(argv[2]), argc > 3 ? argv[3] : "");
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        return 3;
    }
}
