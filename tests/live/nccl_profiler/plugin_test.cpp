// The plugin for NCCL as NCCL calls it, through its table in every version, and what the reader makes of its file.
#include "host.h"

#include "live/nccl_profiler/recorder.h"
#include "sim/recovery/arrivals.h"
#include "sim/recovery/recover.h"
#include "sim/recovery/step_trace.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <functional>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using test::Folder;
using test::Host;
using test::Library;
using test::steadyNs;
using testing::HasSubstr;
namespace abi = live::nccl_profiler::abi;

std::vector<nlohmann::json> linesIn(const std::filesystem::path& folder)
{
    std::vector<nlohmann::json> lines;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(each.path());
        for (std::string line; std::getline(file, line);)
            lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
}

std::vector<nlohmann::json> operationsIn(const std::filesystem::path& folder)
{
    std::vector<nlohmann::json> operations;
    for (nlohmann::json& line : linesIn(folder))
        if (line.contains("rankscope"))
            operations.push_back(std::move(line));
    return operations;
}

void pause(int milliseconds)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

template <typename T>
class OfVersion : public testing::Test {
};
using Versions = testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 2>, std::integral_constant<int, 3>,
                                std::integral_constant<int, 4>, std::integral_constant<int, 5>, std::integral_constant<int, 6>>;
TYPED_TEST_SUITE(OfVersion, Versions);

TYPED_TEST(OfVersion, SplitsACollectiveIntoWaitAndTransferByWhenTheLastPeersFirstMessageCame)
{
    constexpr int kVersion = TypeParam::value;
    const Folder folder;
    std::int64_t leastWait = 0, mostWait = 0, least = 0, most = 0;
    {
        const Library library;
        Host<kVersion> host(library);
        ASSERT_NE(host.context, nullptr);
        EXPECT_STREQ(host.table->name, "Rankscope");
        void* handle = host.collective({.sequence = 7, .channels = 2, .parent = host.group()});
        ASSERT_NE(handle, nullptr);
        const std::int64_t before = steadyNs();
        const auto onDevice = [](std::int64_t ns) { return ns + 1'000'000'000'000; };
        const std::int64_t starts = steadyNs();
        void* first = host.kernel(handle, 0, onDevice(starts));
        void* second = host.kernel(handle, 1, onDevice(starts));
        void* send = host.proxy(handle, 0, 1, true, getpid());
        void* receive = host.proxy(handle, 0, 1, false, getpid());
        void* sendStep = host.step(send, 0);
        void* receiveStep = host.step(receive, 0);
        host.state(sendStep, 8); // waits for the GPU
        host.state(sendStep, abi::kSendWaitsForNetwork);
        host.state(receiveStep, 10);           // waits for the network
        const std::int64_t waits = steadyNs(); // who stops this process between two calls moves no bound
        pause(5);
        const std::int64_t beforeMessage = steadyNs();
        host.state(receiveStep, abi::kReceiveWaitsForFlush);
        const std::int64_t afterMessage = steadyNs();
        EXPECT_EQ(host.step(receive, 1), nullptr) << "later messages tell nothing of who was waited for";
        pause(3);
        const std::int64_t stops = steadyNs();
        host.table->stopEvent(receiveStep);
        host.table->stopEvent(sendStep);
        host.table->stopEvent(send);
        host.table->stopEvent(receive);
        const std::int64_t ends = steadyNs();
        host.kernelStop(first, onDevice(ends - 1000));
        host.kernelStop(second, onDevice(ends));
        const std::int64_t after = steadyNs();
        leastWait = beforeMessage - waits;
        mostWait = afterMessage - before;
        least = stops - waits - 2000;
        most = after - before;
        host.finalize();
    }
    const sim::Recording recording = sim::readRecording({folder.path()});
    ASSERT_EQ(recording.ranks.size(), 1U);
    const sim::RankRecording& rank = recording.ranks[0];
    ASSERT_EQ(rank.collectives.size(), 1U);
    const sim::RecordedCollective& collective = rank.collectives[0];
    EXPECT_EQ(recording.names[collective.name], "allreduce");
    EXPECT_EQ(collective.sequence, 7);
    EXPECT_EQ(collective.bytes, 1024);
    EXPECT_EQ(recording.groups.at(0).name, "0x5eed");
    EXPECT_EQ(recording.groups.at(0).description, "job");
    ASSERT_NE(collective.span, sim::kNoSpan);
    ASSERT_GT(collective.span, 0U);
    const std::uint32_t wait = collective.span - 1;
    EXPECT_EQ(recording.names[rank.spans.name[wait]], "wait for peers");
    EXPECT_EQ(rank.spans.endNs(wait), rank.spans.startNs[collective.span]);
    EXPECT_GE(rank.spans.durationNs[wait], leastWait);
    EXPECT_LE(rank.spans.durationNs[wait], mostWait);
    const std::int64_t whole = rank.spans.endNs(collective.span) - rank.spans.startNs[wait];
    EXPECT_GE(whole, least);
    EXPECT_LE(whole, most);
    const auto operations = operationsIn(folder.path());
    ASSERT_EQ(operations.size(), 1U);
    EXPECT_EQ(operations[0]["coll_perf"]["coll_timing_source"], kVersion < 3    ? "proxy"
                                                                : kVersion == 3 ? "kernel_cpu"
                                                                                : "kernel_gpu");
    EXPECT_EQ(operations[0]["rankscope"]["proxies"].size(), 2U);
    EXPECT_EQ(operations[0]["rankscope"].contains("channels"), kVersion >= 3);
}

TYPED_TEST(OfVersion, AsksForTheEventsThatItsInterfaceHas)
{
    constexpr int kVersion = TypeParam::value;
    const Folder folder;
    const Library library;
    Host<kVersion> host(library);
    const auto asks = [&host](std::uint64_t type) { return (static_cast<std::uint64_t>(host.mask) & type) != 0; };
    EXPECT_TRUE(asks(abi::kCollective) && asks(abi::kPointToPoint) && asks(abi::kProxyOp) && asks(abi::kProxyStep));
    EXPECT_EQ(asks(abi::kKernelChannel), kVersion >= 3);
    EXPECT_EQ(asks(abi::kCollectiveCall), kVersion >= 5);
    EXPECT_EQ(asks(abi::kCopyCollective), kVersion >= 6);
    EXPECT_FALSE(asks(abi::kProxyControl) || asks(abi::kNetPlugin) || asks(abi::kCopyBatch));
    host.finalize();
}

TYPED_TEST(OfVersion, TakesAnythingInAnyOrderAndKeepsWhatIsWhole)
{
    constexpr int kVersion = TypeParam::value;
    const Folder folder;
    {
        const Library library;
        Host<kVersion> host(library);
        auto* table = host.table;
        typename Host<kVersion>::Args args{};
        // Nothing, rubbish and what there is no such thing of.
        void* handle = &args;
        EXPECT_EQ(table->startEvent(nullptr, &handle, nullptr), 0);
        EXPECT_EQ(handle, nullptr);
        EXPECT_EQ(table->startEvent(host.context, nullptr, nullptr), 0);
        table->startEvent(&args, &handle, nullptr);
        for (int bit = 0; bit < 8; ++bit) {
            auto descriptor = host.of(std::uint64_t{1} << bit, &args);
            table->startEvent(&args, &handle, &descriptor);
            EXPECT_EQ(handle, nullptr) << "of a communicator that nobody opened";
            host.start(descriptor);
        }
        auto unknown = host.of(0x55);
        EXPECT_EQ(host.start(unknown), nullptr);
        for (void* rubbish :
             {static_cast<void*>(nullptr), static_cast<void*>(&args), reinterpret_cast<void*>(~std::uintptr_t{0}),
              reinterpret_cast<void*>(std::uintptr_t{1} << 56), reinterpret_cast<void*>(std::uintptr_t{3} << 56)}) {
            table->stopEvent(rubbish);
            for (int state = -1; state < 32; ++state) {
                table->recordEventState(rubbish, state, &args);
                table->recordEventState(rubbish, state, nullptr);
            }
            EXPECT_EQ(host.proxy(rubbish, 0, 0, true, getpid()), nullptr);
            EXPECT_EQ(host.kernel(rubbish, 0, 1), nullptr);
        }
        // Null words, twice begun, twice ended, ended before the children begin, channels that no kernel has.
        auto nameless = host.of(abi::kCollective);
        table->stopEvent(host.start(nameless));
        void* operation = host.collective({.sequence = 1});
        table->stopEvent(operation);
        EXPECT_EQ(host.kernel(operation, 200, 5), nullptr);
        EXPECT_EQ(host.proxy(operation, 0, 1, true, getpid() + 1), nullptr) << "a proxy for another process";
        void* proxy = host.proxy(operation, 0, 1, false, getpid());
        void* step = host.step(proxy, 0);
        table->stopEvent(proxy);
        table->stopEvent(proxy);
        host.state(step, abi::kReceiveWaitsForFlush);
        table->stopEvent(step);
        void* kernel = host.kernel(operation, 63, 1);
        if (kVersion >= 3) {
            host.kernelStop(kernel, INT64_MAX);
            host.kernelStop(kernel, 2);
        }
        // What never ends is said at the end.
        host.collective({.function = "AllGather", .sequence = 2, .parent = host.group()});
        host.finalize();
        host.finalize();
        table->stopEvent(operation);
        host.collective({});
        table->finalize(nullptr);
        table->finalize(&args);
    }
    const auto operations = operationsIn(folder.path());
    const std::string neverBegun = kVersion < 3 ? "untimed" : "enqueued";
    std::vector<std::string> states;
    for (const nlohmann::json& operation : operations)
        states.push_back(operation["rankscope"]["state"].get<std::string>());
    // The first two are those of the loop above that a communicator was open for.
    EXPECT_EQ(states, (std::vector<std::string>{neverBegun, neverBegun, neverBegun, "done", neverBegun}));
    const sim::Recording recording = sim::readRecording({folder.path()});
    ASSERT_EQ(recording.ranks.size(), 1U);
    EXPECT_EQ(recording.ranks[0].collectives.size(), kVersion < 3 ? 1U : 5U);
    EXPECT_EQ(folder.files(), 1U) << "nothing begins anew after the last communicator";
}

TYPED_TEST(OfVersion, ManyThreadsAtOnceLoseNothingThatIsNotCounted)
{
    constexpr int kVersion = TypeParam::value;
    constexpr int kThreads = 8, kOperations = 400;
    const Folder folder;
    {
        const Library library;
        Host<kVersion> one(library, 1), other(library, 2);
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([&, t] {
                Host<kVersion>& host = t % 2 == 0 ? one : other;
                for (int i = 0; i < kOperations; ++i) {
                    void* operation = host.collective({.sequence = static_cast<std::uint64_t>(t * kOperations + i)});
                    void* proxy = host.proxy(operation, 0, 1, i % 2 == 0, getpid());
                    void* step = host.step(proxy, 0);
                    void* kernel = host.kernel(operation, 0, steadyNs());
                    host.state(step, i % 2 == 0 ? abi::kSendWaitsForNetwork : abi::kReceiveWaitsForDevice);
                    host.table->stopEvent(step);
                    host.table->stopEvent(proxy);
                    if (kernel != nullptr)
                        host.kernelStop(kernel, steadyNs());
                }
            });
        threads.clear();
        one.finalize();
        other.finalize();
    }
    std::set<std::int64_t> sequences;
    std::uint64_t dropped = 0;
    for (const nlohmann::json& line : linesIn(folder.path())) {
        if (line.contains("coll_perf")) {
            EXPECT_TRUE(sequences.insert(line["coll_perf"]["coll_sn"].get<std::int64_t>()).second);
            EXPECT_EQ(line["rankscope"]["state"], "done");
        } else if (line["dump_stats"].contains("dropped")) {
            dropped = line["dump_stats"]["dropped"].get<std::uint64_t>();
        }
    }
    EXPECT_EQ(sequences.size() + dropped, std::size_t{kThreads} * kOperations);
    EXPECT_GT(sequences.size(), std::size_t{kThreads} * kOperations / 2);
}

/// Rank 1 always comes `lateNs` late, and all end together; the GPUs' clocks have nothing to do with each other.
void recordLateRank(const Folder&, int rank, std::int64_t lateNs)
{
    Folder::as(rank, 2);
    const Library library;
    Host<5> host(library, 0xabc, rank, 2);
    const std::int64_t base = steadyNs() + (rank == 0 ? 5'000'000'000'000 : 77);
    for (int i = 0; i < 40; ++i) {
        const std::int64_t at = base + std::int64_t{i} * 10'000'000 + (i % 3) * 100'000;
        auto call = host.of(abi::kCollectiveCall);
        call.collectiveCall.function = "AllReduce";
        void* asked = host.start(call);
        void* operation = host.collective({.count = 1U << 20, .sequence = static_cast<std::uint64_t>(i), .parent = asked});
        host.table->stopEvent(asked);
        void* kernel = host.kernel(operation, 0, at + (rank == 1 ? lateNs : 0));
        host.kernelStop(kernel, at + lateNs + 2'000'000);
    }
    host.finalize();
}

TEST(NcclPlugin, FilesOfAllRanksTellWhoWaitsForWhomWhereNoNetworkIsPassed)
{
    constexpr std::int64_t kLate = 4'000'000;
    const Folder folder;
    recordLateRank(folder, 0, kLate);
    recordLateRank(folder, 1, kLate);
    ASSERT_EQ(folder.files(), 2U) << "a second session of one process writes over no file";
    const sim::Recording recording = sim::readRecording({folder.path()});
    ASSERT_EQ(recording.ranks.size(), 2U);
    EXPECT_EQ(recording.ranks[0].rankEvidence, "launcher's environment");
    ASSERT_EQ(recording.groups.size(), 1U);
    EXPECT_EQ(recording.groups[0].ranks, (std::vector<int>{0, 1})) << "its members are those whose files name it";
    const sim::Recovered recovered = sim::recover(recording);
    ASSERT_TRUE(recovered.clock.isAligned) << recovered.clock.why;
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    ASSERT_EQ(arrivals.list.size(), 40U);
    for (const sim::Arrival& arrival : arrivals.list) {
        EXPECT_EQ(arrival.last, 1U);
        EXPECT_NEAR(static_cast<double>(arrival.waitNs[0]), static_cast<double>(kLate), 1000);
        EXPECT_NEAR(static_cast<double>(arrival.transferNs), 2e6, 1000);
    }
    EXPECT_EQ(arrivals.straggler, 1);
    // The window draws the two apart.
    ASSERT_FALSE(recovered.steps.steps.empty());
    const sim::StepTrace step = sim::stepTrace(recording, recovered, arrivals, 0);
    std::size_t waits = 0, transfers = 0;
    for (const sim::Track& track : step.trace.tracks)
        if (track.process == 0)
            for (std::size_t i = 0; i < track.size(); ++i) {
                const bool isWait = track.durationNs[i] > 3'900'000 && track.durationNs[i] < 4'100'000;
                waits += isWait ? 1 : 0;
                transfers += track.durationNs[i] > 1'900'000 && track.durationNs[i] < 2'100'000 ? 1 : 0;
            }
    EXPECT_GT(waits, 0U);
    EXPECT_EQ(waits, transfers);
}

TEST(NcclPlugin, OneRanksFileSplitsWhatPassesANetworkInTheWindowToo)
{
    const Folder folder;
    {
        Folder::as(3, 16);
        const Library library;
        Host<5> host(library, 0xabc, 3, 16);
        for (std::uint64_t i = 0; i < 3; ++i) {
            void* operation = host.collective({.sequence = i});
            void* kernel = host.kernel(operation, 0, steadyNs());
            void* receive = host.proxy(operation, 0, 2, false, getpid());
            void* step = host.step(receive, 0);
            pause(4);
            host.state(step, abi::kReceiveWaitsForFlush);
            host.table->stopEvent(step);
            pause(2);
            host.table->stopEvent(receive);
            host.kernelStop(kernel, steadyNs());
        }
        host.finalize();
    }
    const sim::Recording recording = sim::readRecording({folder.path()});
    const sim::Recovered recovered = sim::recover(recording);
    ASSERT_FALSE(recovered.steps.steps.empty());
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    EXPECT_TRUE(arrivals.list.empty()) << "nobody else was recorded";
    EXPECT_THAT(arrivals.text, HasSubstr("what passes a network waits for its peers"));
    std::int64_t waits = 0, transfers = 0;
    for (std::size_t s = 0; s < recovered.steps.steps.size(); ++s) {
        const sim::StepTrace step = sim::stepTrace(recording, recovered, arrivals, s);
        for (const sim::Track& track : step.trace.tracks)
            for (std::size_t i = 0; i < track.size(); ++i)
                (step.trace.kinds[track.kind[i]].name.starts_with("wait") ? waits : transfers) += track.durationNs[i];
    }
    std::int64_t recorded = 0;
    for (const nlohmann::json& operation : operationsIn(folder.path()))
        recorded += operation["rankscope"]["wait_ns"].get<std::int64_t>();
    EXPECT_GE(recorded, 12'000'000);
    EXPECT_EQ(waits, recorded);
    EXPECT_GE(transfers, 6'000'000);
}

TEST(NcclPlugin, PeersOfTransfersAreRanksOfTheJob)
{
    const Folder folder;
    for (const int rank : {4, 6}) { // a communicator of ranks 4 and 6
        Folder::as(rank, 8);
        const Library library;
        Host<6> host(library, 0x46, rank == 4 ? 0 : 1, 2, "pp");
        const int peer = rank == 4 ? 1 : 0;
        void* transfer = host.pointToPoint({.function = rank == 4 ? "Send" : "Recv", .dtype = "ncclBfloat16", .other = peer});
        const std::int64_t now = steadyNs();
        host.kernelStop(host.kernel(transfer, 3, now), now + 1000);
        host.finalize();
    }
    const sim::Recording recording = sim::readRecording({folder.path()});
    ASSERT_EQ(recording.ranks.size(), 2U);
    EXPECT_EQ(recording.ranks[0].rank, 4);
    EXPECT_EQ(recording.worldSize, 8);
    EXPECT_EQ(recording.groups.at(0).ranks, (std::vector<int>{4, 6}));
    const sim::RecordedCollective& send = recording.ranks[0].collectives.at(0);
    const sim::RecordedCollective& receive = recording.ranks[1].collectives.at(0);
    EXPECT_EQ(recording.names[send.name], "send");
    EXPECT_EQ(recording.names[receive.name], "recv");
    EXPECT_EQ(send.destinationRank, 6);
    EXPECT_EQ(receive.sourceRank, 4);
    EXPECT_EQ(send.bytes, 512);
    EXPECT_EQ(recording.names[send.dtype], "Bfloat16");
}

TEST(NcclPlugin, PlacesOfACommunicatorAreThoseThatItsMembersSay)
{
    const Folder folder;
    for (const int rank : {0, 1}) { // split with keys that turn the order round
        Folder::as(rank, 2);
        const Library library;
        Host<6> host(library, 0x47, 1 - rank, 2, "pp");
        void* transfer = host.pointToPoint({.function = rank == 0 ? "Send" : "Recv", .dtype = "ncclBfloat16", .other = rank});
        const std::int64_t now = steadyNs();
        host.kernelStop(host.kernel(transfer, 3, now), now + 1000);
        host.finalize();
    }
    const sim::Recording recording = sim::readRecording({folder.path()});
    ASSERT_EQ(recording.ranks.size(), 2U);
    EXPECT_EQ(recording.groups.at(0).ranks, (std::vector<int>{0, 1}));
    EXPECT_EQ(recording.ranks[0].collectives.at(0).destinationRank, 1);
    EXPECT_EQ(recording.ranks[1].collectives.at(0).sourceRank, 0);
}

TEST(NcclPlugin, WhatItWritesOfAllMembersIsReadAsIs)
{
    const Folder folder;
    {
        Folder::as(0, 4);
        const Library library;
        Host<6> host(library, 0x48, 0, 4, "world");
        void* gather = host.collective({.function = "AllGather", .dtype = "ncclFloat32", .count = 1000});
        const std::int64_t now = steadyNs();
        host.kernelStop(host.kernel(gather, 0, now), now + 1000);
        host.finalize();
    }
    EXPECT_EQ(operationsIn(folder.path()).at(0)["coll_perf"]["coll_msg_size_bytes"], 16000);
    EXPECT_EQ(sim::readRecording({folder.path()}).ranks.at(0).collectives.at(0).bytes, 16000);
}

TEST(DeviceClock, ForgetsWhatItKnewBeforeASilence)
{
    using live::nccl_profiler::DeviceClock;
    constexpr std::int64_t kSecond = 1'000'000'000;
    DeviceClock clock; // the device's falls behind: the oldest difference is the least
    clock.take(99 * kSecond, 100 * kSecond);
    clock.take(108 * kSecond, 111 * kSecond);
    EXPECT_EQ(clock.onHost(108 * kSecond), 109 * kSecond) << "of the window before";
    clock.take(995 * kSecond, 1000 * kSecond);
    EXPECT_EQ(clock.onHost(995 * kSecond), 1000 * kSecond);
}

TEST(NcclPlugin, EveryRunOfAGraphIsARunOfItsOwn)
{
    const Folder folder;
    {
        const Library library;
        Host<5> host(library);
        auto call = host.of(abi::kCollectiveCall);
        call.collectiveCall.isCaptured = true;
        void* asked = host.start(call);
        void* operation = host.collective({.channels = 2, .parent = asked});
        void* never = host.collective({.sequence = 1, .parent = asked});
        EXPECT_NE(never, nullptr);
        const std::int64_t now = steadyNs();
        for (int run = 0; run < 3; ++run) {
            void* first = host.kernel(operation, 4, now + run * 1000);
            void* second = host.kernel(operation, 5, now + run * 1000 + 10);
            host.kernelStop(second, now + run * 1000 + 500);
            host.kernelStop(first, now + run * 1000 + 600);
        }
        host.finalize();
    }
    const auto operations = operationsIn(folder.path());
    ASSERT_EQ(operations.size(), 4U);
    int done = 0, captured = 0;
    for (const nlohmann::json& operation : operations) {
        const nlohmann::json& own = operation["rankscope"];
        captured += own["state"] == "captured" ? 1 : 0;
        if (own["state"] != "done")
            continue;
        ++done;
        EXPECT_EQ(own["channels"], (nlohmann::json::array({{4, 0, 600}, {5, 10, 500}})));
        EXPECT_EQ(own["stop_ns"].get<std::int64_t>() - own["start_ns"].get<std::int64_t>(), 600);
    }
    EXPECT_EQ(done, 3);
    EXPECT_EQ(captured, 1);
}

TEST(NcclPlugin, CollectivesOfCopyEnginesAreCountedAndNotTimed)
{
    const Folder folder;
    {
        const Library library;
        Host<6> host(library);
        auto copies = host.of(abi::kCopyCollective);
        copies.copyCollective.function = "AlltoAll";
        host.table->stopEvent(host.start(copies));
        host.finalize();
    }
    const sim::Recording recording = sim::readRecording({folder.path()});
    EXPECT_TRUE(recording.ranks.at(0).collectives.empty());
    ASSERT_EQ(recording.skipped.size(), 1U);
    EXPECT_THAT(recording.skipped[0].why, HasSubstr("not when it ends"));
}

TEST(NcclPlugin, NothingIsRecordedAndNcclGoesOnWhereNobodyAskedOrNothingCanBeWritten)
{
    const Folder folder;
    for (const char* where : {"", "/proc/no/such/folder/x.jsonl"}) {
        setenv("RANKSCOPE_NCCL_PROFILE", where, 1);
        const Library library;
        testing::internal::CaptureStderr();
        Host<5> host(library);
        Host<5> another(library);
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_EQ(host.context, nullptr);
        EXPECT_EQ(host.mask, 0);
        EXPECT_THAT(said, HasSubstr("RANKSCOPE_NCCL_PROFILE"));
        EXPECT_EQ(said.find("records nothing"), said.rfind("records nothing")) << "once is enough";
        EXPECT_EQ(host.collective({}), nullptr);
        host.finalize();
    }
    EXPECT_EQ(folder.files(), 0U);
}

TEST(NcclPlugin, AFileIsBoundedAndSaysWhatIsMissing)
{
    const Folder folder;
    setenv("RANKSCOPE_NCCL_PROFILE_MIB", "1", 1);
    constexpr std::uint64_t kOperations = 6000;
    {
        const Library library;
        Host<4> host(library);
        for (std::uint64_t i = 0; i < kOperations; ++i) {
            void* operation = host.collective({.sequence = i});
            const std::int64_t now = steadyNs();
            host.kernelStop(host.kernel(operation, 0, now), now + 10);
        }
        host.finalize();
    }
    unsetenv("RANKSCOPE_NCCL_PROFILE_MIB");
    std::uintmax_t bytes = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder.path()))
        bytes += each.file_size();
    EXPECT_LT(bytes, (std::uintmax_t{1} << 20) + 4096);
    const sim::Recording recording = sim::readRecording({folder.path()});
    std::size_t dropped = 0;
    for (const sim::RecordedSkip& skip : recording.skipped)
        dropped += skip.count;
    EXPECT_GT(dropped, 0U);
    EXPECT_EQ(recording.ranks.at(0).collectives.size() + dropped, kOperations);
}

TEST(NcclPlugin, IsUnloadedWhenNcclClosesItAndWritesToTheFileThatWasNamed)
{
    const Folder folder;
    const std::filesystem::path file = folder.path() / "one.jsonl";
    setenv("RANKSCOPE_NCCL_PROFILE", file.c_str(), 1);
    for (int round = 0; round < 2; ++round) {
        const Library library;
        Host<5> host(library);
        host.collective({});
        host.finalize();
    }
    EXPECT_EQ(dlopen(test::kPlugin, RTLD_NOW | RTLD_NOLOAD), nullptr);
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_EQ(folder.files(), 2U) << "the second beside it, with host and process in its name";
}

/// `work` in a process of its own, which ends as that says.
int exitOf(const std::function<void()>& work)
{
    const pid_t child = fork();
    if (child == 0) {
        work();
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(NcclPlugin, AProcessThatEndsWithoutFinalizingKeepsAllThatItSaw)
{
    const Folder folder;
    EXPECT_EQ(exitOf([] {
                  auto* library = new Library;
                  auto* host = new Host<5>(*library);
                  void* operation = host->collective({.sequence = 3});
                  const std::int64_t now = steadyNs();
                  host->kernelStop(host->kernel(operation, 0, now), now + 10);
                  void* hanging = host->collective({.sequence = 4});
                  host->kernel(hanging, 0, now + 20);
              }),
              0);
    const auto operations = operationsIn(folder.path());
    ASSERT_EQ(operations.size(), 2U);
    EXPECT_EQ(operations[0]["rankscope"]["state"], "done");
    EXPECT_EQ(operations[1]["rankscope"]["state"], "running");
    const sim::Recording recording = sim::readRecording({folder.path()});
    EXPECT_THAT(recording.problems, testing::Contains(HasSubstr("never ended")));
}

TEST(NcclPlugin, AProcessThatIsKilledKeepsWhatHadEndedBefore)
{
    const Folder folder;
    const int status = exitOf([&folder] {
        auto* library = new Library;
        auto* host = new Host<5>(*library);
        void* operation = host->collective({});
        const std::int64_t now = steadyNs();
        host->kernelStop(host->kernel(operation, 0, now), now + 10);
        for (int i = 0; i < 2000 && operationsIn(folder.path()).empty(); ++i)
            pause(5);
        raise(SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(operationsIn(folder.path()).size(), 1U);
}

TEST(NcclPlugin, AForkedChildLeavesTheFileToItsParent)
{
    const Folder folder;
    const Library library;
    Host<5> host(library);
    EXPECT_EQ(exitOf([&host] {
                  host.collective({.sequence = 99});
                  host.finalize();
              }),
              0);
    host.collective({.sequence = 1});
    host.finalize();
    const auto operations = operationsIn(folder.path());
    ASSERT_EQ(operations.size(), 1U);
    EXPECT_EQ(operations[0]["coll_perf"]["coll_sn"], 1);
}

/// Offsets as NCCL's headers of version 2.30.7 have them on 64-bit Linux: the numbers are the compiler's, of those headers.
TEST(NcclPlugin, LaysOutWhatItIsHandedAsNcclDoes)
{
    EXPECT_EQ(offsetof(abi::DescriptorV1, parent), 8U);
    EXPECT_EQ(offsetof(abi::DescriptorV1, rank), 16U);
    EXPECT_EQ(offsetof(abi::DescriptorV1, collective), 24U);
    EXPECT_EQ(offsetof(abi::DescriptorV6, collective), 24U);
    EXPECT_EQ(offsetof(abi::CollectiveV1, count), 48U);
    EXPECT_EQ(offsetof(abi::CollectiveV1, channels), 80U);
    EXPECT_EQ(offsetof(abi::CollectiveV2, protocol), 96U);
    EXPECT_EQ(offsetof(abi::CollectiveV3, dtype), 64U);
    EXPECT_EQ(offsetof(abi::CollectiveV4, channels), 56U);
    EXPECT_EQ(sizeof(abi::CollectiveV5), 88U);
    EXPECT_EQ(offsetof(abi::PointToPointV5, group), 40U);
    EXPECT_EQ(offsetof(abi::ProxyOp, isSend), 20U);
    EXPECT_EQ(offsetof(abi::KernelChannelV4, deviceNs), 8U);
    EXPECT_EQ(sizeof(abi::CopyCollective), 88U);
    EXPECT_EQ(offsetof(abi::CollectiveCall, isCaptured), 40U);
}

} // namespace
