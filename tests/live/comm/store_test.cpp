#include "live/comm/clock_sync.h"
#include "live/comm/socket.h"
#include "live/comm/store.h"
#include "live/comm/store_messages.h"
#include "live/comm/tcp_transport.h"
#include "sim/error.h"
#include "tests/live/support/raw_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <sys/socket.h>
#include <thread>

namespace live {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

LaunchEnvironment processOf(int process, int processes, int port)
{
    LaunchEnvironment launch;
    launch.launcher = Launcher::flags;
    launch.process = process;
    launch.processes = processes;
    launch.masterPort = port;
    return launch;
}

/// Nobody listens there now.
int freePort()
{
    return portOf(listenOn("127.0.0.1", 0));
}

StoreOptions quick()
{
    StoreOptions options;
    options.connectTimeout = 10s;
    options.waitTimeout = 10s;
    options.heartbeat = 50ms;
    options.silence = 5s;
    return options;
}

/// All processes of a run as threads of this one; body(store) on each.
void runProcesses(int processes, const std::function<void(Store&)>& body, const StoreOptions& options = quick())
{
    const int port = freePort();
    std::vector<std::future<void>> ends;
    for (int process = 0; process < processes; ++process)
        ends.push_back(std::async(std::launch::async, [&, process] {
            const auto store = openStore(processOf(process, processes, port), options);
            body(*store);
            store->barrier("end");
        }));
    for (auto& end : ends)
        end.get();
}

std::string messageOf(const std::function<void()>& action)
{
    try {
        action();
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "";
}

TEST(Store, OneProcessNeedsNoPort)
{
    const auto store = openStore(processOf(0, 1, 0));
    store->set("a", std::string("x\0y", 3));
    EXPECT_EQ(store->get("a"), std::string("x\0y", 3));
    EXPECT_GT(store->port(), 0);
    store->barrier("b");
}

TEST(Store, GetWaitsForTheSet)
{
    runProcesses(3, [](Store& store) {
        if (store.process() == 2) {
            std::this_thread::sleep_for(20ms);
            store.set("id", std::string(128, 'n'));
        }
        EXPECT_EQ(store.get("id"), std::string(128, 'n'));
    });
}

TEST(Store, EveryAdditionCountsOnce)
{
    std::mutex mutex;
    std::vector<std::int64_t> seen;
    runProcesses(4, [&](Store& store) {
        for (int i = 0; i < 25; ++i) {
            const std::int64_t sum = store.add("n", 1);
            const std::lock_guard lock(mutex);
            seen.push_back(sum);
        }
    });
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen.size(), 100u);
    for (std::size_t i = 0; i < seen.size(); ++i)
        EXPECT_EQ(seen[i], static_cast<std::int64_t>(i) + 1);
}

TEST(Store, NobodyPassesABarrierBeforeAllHaveReachedIt)
{
    std::atomic<int> reached{0};
    runProcesses(4, [&](Store& store) {
        for (int round = 1; round <= 20; ++round) {
            ++reached;
            store.barrier("same name");
            EXPECT_GE(reached.load(), 4 * round);
            store.barrier("other name");
        }
    });
}

/// As one that writes a checkpoint to a slow disk while the others wait at a barrier.
TEST(Store, WaitsLongerThanItsLimitForAProcessThatMakesProgress)
{
    StoreOptions options = quick();
    options.waitTimeout = 400ms;
    std::atomic<std::uint64_t> moves{0};
    options.progress = [&] { return moves.load(); };
    const auto late = [&](bool moving) {
        return [&, moving](Store& store) {
            if (store.process() == 1)
                for (int i = 0; i < 30; ++i) {
                    moves += moving ? 1 : 0;
                    std::this_thread::sleep_for(50ms);
                }
            store.barrier("written");
        };
    };
    EXPECT_EQ(messageOf([&] { runProcesses(2, late(true), options); }), "");
    EXPECT_THAT(messageOf([&] { runProcesses(2, late(false), options); }), HasSubstr("no process made progress meanwhile"));
}

/// As one that was interrupted while the others are gone or hang.
TEST(Store, WaitsNoLongerThanAMomentOnceItsProcessIsToEnd)
{
    StoreOptions options = quick();
    options.stopTimeout = 300ms;
    std::atomic<bool> stops{false};
    options.isStopping = [&] { return stops.load(); };
    const auto start = std::chrono::steady_clock::now();
    const std::string why = messageOf([&] {
        runProcesses(
            2,
            [&](Store& store) {
                if (store.process() == 0)
                    return store.barrier("never");
                std::this_thread::sleep_for(100ms);
                stops = true;
            },
            options);
    });
    EXPECT_THAT(why, HasSubstr("was to stop, and still waited for all processes to reach the barrier \"never\""));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 8s);
}

TEST(Store, AValueOfMegabytesArrivesWhole)
{
    const std::string value(20 << 20, 'v');
    runProcesses(2, [&](Store& store) {
        if (store.process() == 0)
            store.set("big", value);
        EXPECT_TRUE(store.get("big") == value);
    });
}

TEST(Store, AnAbortReachesEveryProcessWithItsReason)
{
    std::atomic<int> called{0};
    const int port = freePort();
    std::vector<std::future<std::string>> messages;
    for (int process = 0; process < 3; ++process)
        messages.push_back(std::async(std::launch::async, [&, process] {
            const auto store = openStore(processOf(process, 3, port), quick());
            const auto handler = store->onAbort([&](const std::string&) { ++called; });
            if (process == 1)
                store->abort("the loss is not a number");
            return messageOf([&] { store->get("never set"); });
        }));
    for (auto& message : messages) {
        const std::string text = message.get();
        EXPECT_THAT(text, HasSubstr("process 1 ("));
        EXPECT_THAT(text, HasSubstr("the loss is not a number"));
    }
    EXPECT_EQ(called, 3);
}

TEST(Store, AHandlerThatComesTooLateIsCalledAtOnce)
{
    const auto store = openStore(processOf(0, 1, 0));
    store->abort("first");
    store->abort("second");
    std::string why;
    const auto handler = store->onAbort([&](const std::string& reason) { why = reason; });
    EXPECT_THAT(why, HasSubstr("first"));
}

TEST(Store, AGoodbyeIsNoFailure)
{
    const int port = freePort();
    auto other = std::async(std::launch::async, [&] { openStore(processOf(1, 2, port), quick()); });
    const auto store = openStore(processOf(0, 2, port), quick());
    other.get();
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(store->aborted());
}

TEST(Store, WhenProcessZeroHasLeftQuestionsFailAtOnce)
{
    const int port = freePort();
    auto zero = std::async(std::launch::async, [&] { openStore(processOf(0, 2, port), quick()); });
    const auto store = openStore(processOf(1, 2, port), quick());
    zero.get();
    EXPECT_THAT(messageOf([&] { store->get("key"); }), HasSubstr("closed"));
    EXPECT_FALSE(store->aborted());
}

TEST(Store, APortThatIsTakenIsNamed)
{
    const Descriptor taken = listenOn("127.0.0.1", 0);
    const std::string message = messageOf([&] { openStore(processOf(0, 2, portOf(taken)), quick()); });
    EXPECT_THAT(message, HasSubstr("port " + std::to_string(portOf(taken))));
    EXPECT_THAT(message, HasSubstr("set MASTER_PORT"));
}

TEST(Store, AnUnreachableMasterIsNamedWithTheTimeWaited)
{
    StoreOptions options = quick();
    options.connectTimeout = 200ms;
    const int port = freePort();
    const std::string message = messageOf([&] { openStore(processOf(1, 2, port), options); });
    EXPECT_THAT(message, HasSubstr("127.0.0.1:" + std::to_string(port)));
    EXPECT_THAT(message, HasSubstr("0.2 s"));
}

TEST(Store, WhoeverDoesNotComeIsNamed)
{
    StoreOptions options = quick();
    options.connectTimeout = 300ms;
    const int port = freePort();
    auto one = std::async(std::launch::async, [&] { return messageOf([&] { openStore(processOf(1, 4, port), options); }); });
    EXPECT_THAT(messageOf([&] { openStore(processOf(0, 4, port), options); }), HasSubstr("missing: 2, 3"));
    EXPECT_THAT(one.get(), HasSubstr("missing: 2, 3"));
}

/// Soon, as the wait may be long, and once; with what made it believe in others, which may be a variable that means something
/// else.
TEST(Store, ProcessZeroSaysWhomItWaitsForAndWhy)
{
    StoreOptions options = quick();
    options.quietTimeout = 50ms;
    options.connectTimeout = 800ms;
    LaunchEnvironment launch = processOf(0, 2, freePort());
    launch.why = "Slurm: SLURM_PROCID=0 of SLURM_NTASKS=2";
    const std::string whom = "2 processes (Slurm: SLURM_PROCID=0 of SLURM_NTASKS=2); missing: 1";
    testing::internal::CaptureStderr();
    const std::string message = messageOf([&] { openStore(launch, options); });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "process 0 waits for " + whom + "\n");
    EXPECT_THAT(message, HasSubstr("process 0 waited 0 s for " + whom));
}

TEST(Store, AProcessOfAnotherRunIsRefusedAndDoesNoHarm)
{
    runProcesses(2, [](Store& store) {
        if (store.process() == 1) {
            EXPECT_THAT(messageOf([&] { openStore(processOf(1, 2, store.port()), quick()); }), HasSubstr("here twice"));
            EXPECT_THAT(messageOf([&] { openStore(processOf(2, 3, store.port()), quick()); }), HasSubstr("believes there are 3"));
        }
        store.barrier("after");
    });
}

TEST(Store, StrangersDoNoHarm)
{
    runProcesses(2, [](Store& store) {
        if (store.process() == 0) {
            const Descriptor silent = connectTo("127.0.0.1", store.port(), 1s, "the store");
            const Descriptor talking = connectTo("127.0.0.1", store.port(), 1s, "the store");
            const std::string request(5000, 'G');
            sendAll(talking, request.data(), request.size(), "the store");
            store.set("k", "v");
            EXPECT_EQ(store.get("k"), "v");
        }
        store.barrier("after");
    });
}

TEST(Store, StrangersThatSayNothingAreFewAndShort)
{
    runProcesses(2, [](Store& store) {
        if (store.process() == 0) {
            std::vector<::test::RawPeer> silent;
            for (int i = 0; i < 200; ++i)
                silent.push_back(::test::RawPeer::connectTo(store.port()));
            const auto open = [&] {
                return std::count_if(silent.begin(), silent.end(), [](const ::test::RawPeer& peer) { return !peer.isCut(); });
            };
            const auto end = std::chrono::steady_clock::now() + 8s;
            while (open() > 64 && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(5ms);
            EXPECT_LE(open(), 64);
        }
        store.barrier("after");
    });
}

TEST(Store, AStrangersMessageIsRefusedBeforeItTakesMemory)
{
    runProcesses(2, [](Store& store) {
        if (store.process() == 0) {
            const std::int64_t before = ::test::residentMegabytes();
            std::vector<::test::RawPeer> strangers;
            for (int i = 0; i < 8; ++i) {
                strangers.push_back(::test::RawPeer::connectTo(store.port()));
                // A hello of process 1 with two names of 64 MiB.
                const std::string head = std::string("RSs1") + std::string(4, '\0') + '\1' + std::string(7, '\0') +
                                         std::string("\0\0\0\4", 4) + std::string("\0\0\0\4", 4);
                EXPECT_EQ(head.size(), 24u);
                std::size_t sent = 0;
                const std::string megabyte(1U << 20U, 'x');
                strangers.back().send(head);
                while (sent < 100 * megabyte.size() && strangers.back().send(megabyte))
                    sent += megabyte.size();
                EXPECT_LT(sent, 100 * megabyte.size());
            }
            EXPECT_LT(::test::residentMegabytes() - before, 100);
        }
        store.barrier("after");
    });
}

TEST(Store, AProcessThatLeavesAndComesBackIsNotCountedTwice)
{
    const int port = freePort();
    auto zero = std::async(std::launch::async, [&] {
        StoreOptions options = quick();
        options.connectTimeout = 2s;
        return messageOf([&] { openStore(processOf(0, 3, port), options); });
    });
    for (int i = 0; i < 2; ++i) { // says hello as process 1, and goodbye
        const auto hello = store::encode({store::Type::hello, 1, "3", "somebody"});
        const auto goodbye = store::encode({store::Type::goodbye, 0, {}, {}});
        const Descriptor connection = connectTo("127.0.0.1", port, 5s, "the store");
        sendAll(connection, hello.data(), hello.size(), "it");
        sendAll(connection, goodbye.data(), goodbye.size(), "it");
        std::this_thread::sleep_for(100ms);
    }
    EXPECT_THAT(zero.get(), HasSubstr("missing")) << "process 2 was taken for there";
}

TEST(TcpTransport, StrangersDoNotHoldUpThoseWhoAreWaitedFor)
{
    std::array<std::vector<::test::RawPeer>, 2> silent; // outlive the hand shake
    runProcesses(2, [&](Store& store) {
        if (store.process() == 1) {
            const std::string where = store.get("tcp/0");
            for (int i = 0; i < 20; ++i)
                silent[1].push_back(::test::RawPeer::connectTo(std::stoi(where.substr(where.rfind(' ') + 1))));
        }
        const auto transport = makeTcpTransport(store, 9s); // each stranger used to be listened to for five
        std::string sent = "hello", received(5, ' ');
        int open = 2;
        Transfer out{&open}, in{&open};
        transport->send(1 - store.process(), 3, sent.data(), 5, out);
        transport->receive(1 - store.process(), 3, received.data(), 5, in);
        while (open > 0)
            transport->poll();
        EXPECT_EQ(received, "hello");
        store.barrier("sent");
    });
}

TEST(TcpTransport, AMessageThatNobodyAskedForYetArrivesWhole)
{
    runProcesses(2, [](Store& store) {
        const auto transport = makeTcpTransport(store, 9s);
        constexpr std::int64_t kBytes = 30'000'000;
        std::string bytes(kBytes, 'x');
        int open = 1;
        Transfer transfer{&open};
        if (store.process() == 0) {
            for (std::size_t i = 0; i < bytes.size(); i += 1000)
                bytes[i] = static_cast<char>('a' + i / 1000 % 26);
            transport->send(1, 7, bytes.data(), kBytes, transfer);
        } else {
            const auto late = std::chrono::steady_clock::now() + 200ms;
            while (std::chrono::steady_clock::now() < late)
                transport->poll();
            transport->receive(0, 7, bytes.data(), kBytes, transfer);
        }
        while (open > 0)
            transport->poll();
        for (std::size_t i = 0; i < bytes.size(); i += 1000)
            ASSERT_EQ(bytes[i], static_cast<char>('a' + i / 1000 % 26)) << i;
        store.barrier("sent");
    });
}

TEST(Store, WhatIsNoStoreIsRecognised)
{
    const Descriptor listener = listenOn("127.0.0.1", 0);
    auto other = std::async(std::launch::async, [&] {
        Descriptor connection;
        while (!connection)
            connection = acceptFrom(listener);
        const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
        sendAll(connection, answer.data(), answer.size(), "it");
        std::this_thread::sleep_for(100ms);
    });
    EXPECT_THAT(messageOf([&] { openStore(processOf(1, 2, portOf(listener)), quick()); }), HasSubstr("not a store of Rankscope"));
}

TEST(ClockSync, ALineFollowsAClockThatDrifts)
{
    constexpr std::int64_t kMinute = 60'000'000'000;
    const auto measured = [](std::int64_t minute, std::int64_t drift) { // with its uncertainty of 40 us
        return ClockOffset{.offsetNs = 5'000'000 + drift * minute + (minute % 2 == 0 ? 15'000 : -15'000),
                           .uncertaintyNs = 40'000,
                           .takenNs = minute * kMinute};
    };
    ClockLine line(measured(0, 1'200'000)); // 20 millionths
    for (std::int64_t minute = 1; minute < 120; ++minute) {
        line.add(measured(minute, 1'200'000));
        EXPECT_NEAR(static_cast<double>(line.offsetAt(minute * kMinute + kMinute / 2)),
                    static_cast<double>(5'000'000 + 1'200'000 * minute + 600'000), 70'000)
            << minute;
    }
    ClockLine still(measured(0, 0));
    for (std::int64_t minute = 1; minute < 5; ++minute)
        still.add(measured(minute, 0));
    EXPECT_EQ(still.offsetAt(0), still.offsetAt(100 * kMinute)) << "no drift is made of what cannot be told";
    ClockOffset best = measured(5, 0);
    best.uncertaintyNs = 1000;
    still.add(best);
    EXPECT_EQ(still.offsetAt(0), best.offsetNs);
}

TEST(ClockSync, ProcessesLeaveTheirClockForTheFirstNowAndThen)
{
    runProcesses(3, [](Store& store) {
        ClockRounds never(store);
        EXPECT_TRUE(never.next().empty()) << "it is not time";
        ClockRounds rounds(store, 0ms);
        for (int round = 0; round < 2; ++round) {
            if (store.process() != 0) {
                EXPECT_TRUE(rounds.next().empty());
            }
            store.barrier("left");
            if (store.process() == 0) {
                const auto news = rounds.next();
                ASSERT_EQ(news.size(), 2u);
                EXPECT_EQ(news[1].first, 2);
                EXPECT_LE(std::abs(news[1].second.offsetNs), news[1].second.uncertaintyNs);
                EXPECT_GT(news[1].second.takenNs, 0);
                EXPECT_TRUE(rounds.next().empty()) << "nothing new";
            }
            store.barrier("taken");
        }
    });
}

TEST(ClockSync, OneMachineHasOneClock)
{
    runProcesses(3, [](Store& store) {
        for (int round = 0; round < 2; ++round) {
            const std::vector<ClockOffset> offsets = alignClocks(store, round);
            ASSERT_EQ(offsets.size(), 3u);
            for (const ClockOffset& offset : offsets) {
                EXPECT_LE(std::abs(offset.offsetNs), offset.uncertaintyNs);
                EXPECT_GT(offset.uncertaintyNs, 0);
                EXPECT_LT(offset.uncertaintyNs, 5'000'000);
            }
        }
    });
}

} // namespace
} // namespace live
