// The rules of order of the emulated machine, and small programs that break them.
#include "live/comm/nccl/nccl_calls.h"
#include "live/emulated/handles.h"
#include "live/emulated/machine.h"
#include "live/kernels/cuda/runtime.h"
#include "live/tensor/memory.h"
#include "sim/error.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>

namespace live::emulated {
namespace {

using testing::AllOf, testing::HasSubstr;

/// What `program` is refused with; "" where it is not.
template <class Program>
std::string refusal(const Program& program)
{
    try {
        program();
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

class OnMachine : public testing::TestWithParam<int> {
protected:
    OnMachine() : machine({.orderSeed = static_cast<std::uint64_t>(GetParam()), .gpus = 2}) { cuda::makeCurrent(0); }

    static Access all(const void* data, bool isWritten) { return {static_cast<const std::byte*>(data), 4, 4, 1, isWritten}; }
    /// A kernel that writes a number.
    void write(cuda::Stream stream, int* to, int value)
    {
        machine.put(of(stream), "write", {all(to, true)}, [=] { *to = value; });
    }
    /// One that adds a number to another.
    void add(cuda::Stream stream, const int* from, int* to)
    {
        machine.put(of(stream), "add", {all(from, false), all(to, true)}, [=] { *to += *from; });
    }
    int* number() { return static_cast<int*>(cuda::allocateMemory(sizeof(int))); }
    int valueOf(cuda::Stream stream, const int* from)
    {
        int value = 0;
        cuda::copyRows(stream, from, 4, &value, 4, 4, 1);
        return value;
    }

    Machine machine;
};

TEST_P(OnMachine, AStreamKeepsItsOrder)
{
    const cuda::Stream stream = cuda::createStream(false);
    int* const sum = number();
    int* const part = number();
    write(stream, sum, 0);
    for (int i = 1; i <= 50; ++i) {
        write(stream, part, i);
        add(stream, part, sum);
    }
    EXPECT_EQ(valueOf(stream, sum), 1275);
}

TEST_P(OnMachine, WhatNothingOrdersIsARaceInEveryOrder)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    int* const data = number();
    const std::string why = refusal([&] {
        write(one, data, 1);
        write(other, data, 2);
        cuda::synchronizeStream(one);
        cuda::synchronizeStream(other);
    });
    EXPECT_THAT(why, AllOf(HasSubstr("a race: 'write' (operation "), HasSubstr("stream 0 of GPU 0"),
                           HasSubstr("stream 1 of GPU 0"), HasSubstr("bytes 0 to 3 of a block of 256"),
                           HasSubstr("no event orders the two [order " + std::to_string(GetParam()) + "]")));
    EXPECT_EQ(refusal([&] { write(one, data, 3); }), why) << "the machine stays as it is";
}

TEST_P(OnMachine, TwoReadersNeedNoOrder)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    int* const data = number();
    write(one, data, 7);
    cuda::synchronizeStream(one); // orders what this host puts anywhere after it
    int* const a = number();
    int* const b = number();
    write(one, a, 0);
    write(other, b, 0);
    add(one, data, a);
    add(other, data, b);
    EXPECT_EQ(valueOf(one, a) + valueOf(other, b), 14);
}

TEST_P(OnMachine, AnEventOrdersWhatWasPutBeforeIt)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    const cuda::Event event = cuda::createEvent(false);
    int* const data = number();
    int* const sum = number();
    write(other, sum, 1);
    write(one, data, 5);
    cuda::recordEvent(event, one);
    cuda::waitForEvent(other, event);
    add(other, data, sum);
    EXPECT_EQ(valueOf(other, sum), 6);
    cuda::destroyEvent(event);
}

TEST_P(OnMachine, AnEventDoesNotOrderWhatWasPutAfterIt)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    const cuda::Event event = cuda::createEvent(false);
    int* const data = number();
    EXPECT_THAT(refusal([&] {
                    cuda::recordEvent(event, one);
                    write(one, data, 5);
                    cuda::waitForEvent(other, event);
                    write(other, data, 6);
                    cuda::synchronizeStream(other);
                    cuda::synchronizeStream(one);
                }),
                HasSubstr("a race"));
}

TEST_P(OnMachine, WaitingForAnEventThatWasNeverRecordedOrdersNothing)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    const cuda::Event event = cuda::createEvent(false);
    int* const data = number();
    EXPECT_TRUE(cuda::hasPassed(event));
    EXPECT_THAT(refusal([&] {
                    cuda::waitForEvent(other, event);
                    write(one, data, 5);
                    cuda::recordEvent(event, one);
                    write(other, data, 6);
                    cuda::synchronizeStream(other);
                    cuda::synchronizeStream(one);
                }),
                HasSubstr("a race"));
}

TEST_P(OnMachine, AWaitIsForTheRecordingBeforeIt)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    const cuda::Event event = cuda::createEvent(false);
    int* const data = number();
    write(one, data, 5);
    cuda::recordEvent(event, one);
    cuda::waitForEvent(other, event);
    cuda::recordEvent(event, other); // the event is used again, and the first wait stands
    write(other, data, 6);
    cuda::waitForEvent(one, event);
    EXPECT_THAT(refusal([&] {
                    valueOf(one, data);
                    machine.finish();
                }),
                HasSubstr("a race"))
        << "the write came after the second recording";
}

TEST_P(OnMachine, WhatTheHostHasSeenOrdersWhatItPutsNext)
{
    const cuda::Stream one = cuda::createStream(false), other = cuda::createStream(false);
    const cuda::Event event = cuda::createEvent(false);
    int* const data = number();
    write(one, data, 5);
    cuda::recordEvent(event, one);
    while (!cuda::hasPassed(event))
        machine.idle("waits");
    write(other, data, 6);
    EXPECT_EQ(valueOf(other, data), 6);
}

TEST_P(OnMachine, ABlockThatIsUsedAgainBeforeAnotherStreamHasReadItIsARace)
{
    class Source : public MemorySource {
        void* allocate(std::size_t bytes) override { return cuda::allocateMemory(bytes); }
        void release(void* block, std::size_t) noexcept override { cuda::releaseMemory(block); }
    } source;
    const cuda::Stream compute = cuda::createStream(false), copies = cuda::createStream(false);
    const cuda::Event written = cuda::createEvent(false), read = cuda::createEvent(false);
    int* const sum = number();
    const auto useTwice = [&](bool waits) {
        Memory memory(source);
        write(copies, sum, 0);
        Array array = memory.allocate(DType::i32, 1, 1);
        write(compute, array->as<int>(), 1);
        cuda::recordEvent(written, compute);
        cuda::waitForEvent(copies, written);
        add(copies, array->as<int>(), sum);
        cuda::recordEvent(read, copies);
        array.reset();
        array = memory.allocate(DType::i32, 1, 1); // the same block
        if (waits)
            cuda::waitForEvent(compute, read);
        write(compute, array->as<int>(), 2);
        cuda::synchronizeStream(compute);
        cuda::synchronizeStream(copies);
    };
    EXPECT_EQ(refusal([&] { useTwice(true); }), "");
    EXPECT_THAT(refusal([&] { useTwice(false); }), AllOf(HasSubstr("'add'"), HasSubstr("'write'"), HasSubstr("a race")));
}

TEST_P(OnMachine, ACopyFromThePageableHostMayReadItLater)
{
    const cuda::Stream stream = cuda::createStream(false);
    int* const data = number();
    const auto copies = [&](bool waits) {
        return refusal([&] {
            for (int i = 0; i < 20; ++i) {
                int value = i;
                cuda::copyRows(stream, &value, 4, data, 4, 4, 1);
                if (waits)
                    cuda::synchronizeStream(stream);
                value = -1;
                EXPECT_EQ(valueOf(stream, data), i);
            }
        });
    };
    EXPECT_EQ(copies(true), "");
    constexpr int kGpusKeepUp = 1; // of each five orders: they do at once what they are given
    if (GetParam() % 5 != kGpusKeepUp) {
        EXPECT_THAT(copies(false), HasSubstr("the host's memory has changed before a copy has read it"));
    }
}

TEST_P(OnMachine, MemoryThatWasReleasedOrNeverGivenIsRefused)
{
    const cuda::Stream stream = cuda::createStream(false);
    int* const data = number();
    cuda::releaseMemory(data);
    EXPECT_THAT(refusal([&] {
                    write(stream, data, 1);
                    cuda::synchronizeStream(stream);
                }),
                HasSubstr("memory that no GPU has given, or that was released"));
}

TEST_P(OnMachine, AnotherGpusMemoryNeedsLeave)
{
    const cuda::Stream stream = cuda::createStream(false);
    cuda::makeCurrent(1);
    int* const data = number();
    EXPECT_THAT(refusal([&] { cuda::copyRows(stream, data, 4, data, 4, 4, 1); }), HasSubstr("makeCurrent() first"));
    cuda::makeCurrent(0);
    const auto run = [&] {
        write(stream, data, 1);
        cuda::synchronizeStream(stream);
    };
    cuda::allowPeer(0, 1);
    EXPECT_EQ(refusal(run), "");
    cuda::makeCurrent(1);
    const cuda::Stream other = cuda::createStream(false);
    int* const far = (cuda::makeCurrent(0), number());
    EXPECT_THAT(refusal([&] {
                    write(other, far, 1);
                    cuda::synchronizeStream(other);
                }),
                HasSubstr("memory of GPU 0, which it was not allowed to"));
}

INSTANTIATE_TEST_SUITE_P(Orders, OnMachine, testing::Range(0, 10));

// ------------------------------------------------------------------------------------------------ several processes, NCCL

/// Ranks with a GPU each and a communicator over all of them.
struct Ranks {
    explicit Ranks(int count, MachineOptions options)
        : machine([&] {
              options.gpus = count;
              return options;
          }())
    {
        for (int rank = 0; rank < count; ++rank) {
            names.push_back("rank " + std::to_string(rank));
            group.ranks.push_back(rank);
        }
        nccl::makeUniqueId(id);
    }
    static void wait(nccl::Comm comm, nccl::Result result)
    {
        while (result == nccl::Result::inProgress)
            nccl::asyncError(comm, result);
        if (result != nccl::Result::success)
            throw sim::Error("NCCL failed");
    }
    nccl::Comm join(int rank)
    {
        cuda::makeCurrent(rank);
        nccl::Comm comm = nullptr;
        wait(comm, nccl::initRank(comm, group, id, rank));
        return comm;
    }
    static float* numbers(std::initializer_list<float> values)
    {
        auto* const data = static_cast<float*>(cuda::allocateMemory(values.size() * 4));
        const cuda::Stream stream = cuda::createStream(false);
        cuda::copyRows(stream, values.begin(), 4, data, 4, 4, values.size());
        cuda::synchronizeStream(stream);
        return data;
    }
    static std::vector<float> valuesOf(cuda::Stream stream, const float* data, std::size_t count)
    {
        std::vector<float> values(count);
        cuda::copyRows(stream, data, 4, values.data(), 4, 4, count);
        return values;
    }

    Machine machine;
    CommGroup group{.id = 0, .name = "all", .ranks = {}};
    nccl::UniqueId id;
    std::vector<std::string> names;
};

constexpr std::uint64_t kOrders = 12;

TEST(NcclOnMachine, SumsAndMovesInEveryOrder)
{
    for (std::uint64_t seed = 0; seed < kOrders; ++seed) {
        Ranks ranks(3, {.orderSeed = seed});
        ranks.machine.runHosts(ranks.names, [&](int rank) {
            const nccl::Comm comm = ranks.join(rank);
            const cuda::Stream stream = cuda::createStream(true);
            const auto r = static_cast<float>(rank);
            float* const data = Ranks::numbers({r + 1, 10 * r, 100 * r});
            float* const nine = Ranks::numbers({0, 0, 0, 0, 0, 0, 0, 0, 0});
            Ranks::wait(comm, nccl::allGather(data, nine, 3, DType::f32, comm, stream));
            EXPECT_EQ(Ranks::valuesOf(stream, nine, 9), (std::vector<float>{1, 0, 0, 2, 10, 100, 3, 20, 200}));
            Ranks::wait(comm, nccl::reduceScatter(nine, nine, 3, DType::f32, ReduceOp::sum, comm, stream));
            const std::array<std::vector<float>, 3> parts{{{3, 0, 0}, {6, 30, 300}, {9, 60, 600}}};
            EXPECT_EQ(Ranks::valuesOf(stream, nine, 3), parts[static_cast<std::size_t>(rank)]);
            Ranks::wait(comm, nccl::allReduce(data, data, 3, DType::f32, ReduceOp::sum, comm, stream));
            EXPECT_EQ(Ranks::valuesOf(stream, data, 3), (std::vector<float>{6, 30, 300}));
            Ranks::wait(comm, nccl::broadcast(nine, nine + 3, 3, DType::f32, 1, comm, stream));
            EXPECT_EQ(Ranks::valuesOf(stream, nine + 3, 3), parts[1]);
            nccl::groupStart();
            for (int other = 0; other < 3; ++other) {
                nccl::send(nine, 1, DType::f32, other, comm, stream);
                nccl::receive(nine + 6 + other, 1, DType::f32, other, comm, stream);
            }
            Ranks::wait(comm, nccl::groupEnd());
            EXPECT_EQ(Ranks::valuesOf(stream, nine + 6, 3), (std::vector<float>{3, 6, 9}));
        });
    }
}

TEST(NcclOnMachine, ASendWithoutItsReceiveIsToldWithWhoDidNotCome)
{
    Ranks ranks(2, {});
    EXPECT_THAT(refusal([&] {
                    ranks.machine.runHosts(ranks.names, [&](int rank) {
                        const nccl::Comm comm = ranks.join(rank);
                        const cuda::Stream stream = cuda::createStream(true);
                        float* const data = Ranks::numbers({1});
                        if (rank == 0)
                            Ranks::wait(comm, nccl::send(data, 1, DType::f32, 1, comm, stream));
                    });
                }),
                AllOf(HasSubstr("nobody can go on:"),
                      HasSubstr("rank 0 waits for rank 1 to receive for the first time in group all"),
                      HasSubstr("rank 1 has ended")));
}

TEST(NcclOnMachine, TwoThatSendFirstWaitForEachOtherAndTogetherDoNot)
{
    for (const bool together : {false, true}) {
        Ranks ranks(2, {});
        const std::string why = refusal([&] {
            ranks.machine.runHosts(ranks.names, [&](int rank) {
                const nccl::Comm comm = ranks.join(rank);
                const cuda::Stream stream = cuda::createStream(true);
                float* const data = Ranks::numbers({1, 2});
                if (together)
                    nccl::groupStart();
                Ranks::wait(comm, nccl::send(data, 1, DType::f32, 1 - rank, comm, stream));
                Ranks::wait(comm, nccl::receive(data + 1, 1, DType::f32, 1 - rank, comm, stream));
                if (together)
                    Ranks::wait(comm, nccl::groupEnd());
                cuda::synchronizeStream(stream);
            });
        });
        if (together)
            EXPECT_EQ(why, "");
        else
            EXPECT_THAT(why, AllOf(HasSubstr("rank 0 waits for rank 1"), HasSubstr("rank 1 waits for rank 0")));
    }
}

TEST(NcclOnMachine, TwoSumsInOppositeOrdersHang)
{
    Ranks ranks(2, {});
    std::array<nccl::UniqueId, 2> ids;
    for (nccl::UniqueId& id : ids)
        nccl::makeUniqueId(id);
    EXPECT_THAT(refusal([&] {
                    ranks.machine.runHosts(ranks.names, [&](int rank) {
                        cuda::makeCurrent(rank);
                        std::array<nccl::Comm, 2> comms{};
                        for (std::size_t i = 0; i < 2; ++i)
                            Ranks::wait(comms[i], nccl::initRank(comms[i], ranks.group, ids[i], rank));
                        const cuda::Stream stream = cuda::createStream(true);
                        float* const data = Ranks::numbers({1, 2});
                        for (std::size_t i = 0; i < 2; ++i) {
                            const std::size_t which = rank == 0 ? i : 1 - i;
                            Ranks::wait(comms[which], nccl::allReduce(data + which, data + which, 1, DType::f32, ReduceOp::sum,
                                                                      comms[which], stream));
                        }
                        cuda::synchronizeStream(stream);
                    });
                }),
                HasSubstr("nobody can go on"));
}

TEST(NcclOnMachine, MembersThatMeanDifferentThingsAreTold)
{
    Ranks ranks(2, {});
    EXPECT_THAT(refusal([&] {
                    ranks.machine.runHosts(ranks.names, [&](int rank) {
                        const nccl::Comm comm = ranks.join(rank);
                        const cuda::Stream stream = cuda::createStream(true);
                        float* const data = Ranks::numbers({1, 2});
                        Ranks::wait(comm,
                                    nccl::allReduce(data, data, rank == 0 ? 1 : 2, DType::f32, ReduceOp::sum, comm, stream));
                        cuda::synchronizeStream(stream);
                    });
                }),
                AllOf(HasSubstr("meet in different operations"), HasSubstr("of 1"), HasSubstr("of 2")));
}

TEST(NcclOnMachine, ReleasingMemoryWaitsForTheWholeGpu)
{
    Ranks ranks(2, {.orderSeed = 2});
    setenv("NCCL_RUNTIME_CONNECT", "0", 1);
    EXPECT_THAT(refusal([&] {
                    ranks.machine.runHosts(ranks.names, [&](int rank) {
                        const nccl::Comm comm = ranks.join(rank);
                        const cuda::Stream stream = cuda::createStream(true), other = cuda::createStream(false);
                        float* const data = Ranks::numbers({1, 2});
                        void* const spare = cuda::allocateMemory(4);
                        if (rank == 0) {
                            Ranks::wait(comm, nccl::allReduce(data, data, 1, DType::f32, ReduceOp::sum, comm, stream));
                            cuda::releaseMemory(spare);
                        }
                        cuda::synchronizeStream(other);
                    });
                }),
                AllOf(HasSubstr("rank 0 releases memory, which waits for all of its GPU: for '"),
                      HasSubstr("'NCCL all-reduce in group all' (operation 5 of rank 0, on stream 1 of GPU 0) waits for rank 1"),
                      HasSubstr("rank 1 has ended")));
}

/// Rank 0 receives what is never sent, and sums afterwards: the sum's kernel waits on its stream for the other group's.
std::string abortOfTwo(bool together)
{
    Ranks ranks(2, {});
    nccl::UniqueId sumId;
    nccl::makeUniqueId(sumId);
    const CommGroup sums{.id = 1, .name = "sums", .ranks = {0, 1}};
    return refusal([&] {
        ranks.machine.runHosts(ranks.names, [&](int rank) {
            const nccl::Comm moves = ranks.join(rank);
            nccl::Comm sum = nullptr;
            Ranks::wait(sum, nccl::initRank(sum, sums, sumId, rank));
            const cuda::Stream first = cuda::createStream(true), second = cuda::createStream(true);
            float* const data = Ranks::numbers({1, 2});
            // As the first exchange does, so that no call is in progress.
            const auto move = rank == 0 ? nccl::receive(data, 1, DType::f32, 1, moves, first)
                                        : nccl::send(data, 1, DType::f32, 0, moves, first);
            Ranks::wait(moves, move);
            if (rank == 1)
                return;
            Ranks::wait(moves, nccl::receive(data, 1, DType::f32, 1, moves, first));
            const cuda::Event event = cuda::createEvent(false);
            cuda::recordEvent(event, first);
            cuda::waitForEvent(second, event);
            Ranks::wait(sum, nccl::allReduce(data, data, 1, DType::f32, ReduceOp::sum, sum, second));
            if (together)
                nccl::groupStart();
            nccl::abort(sum);
            nccl::abort(moves);
            if (together)
                nccl::groupEnd();
            ranks.machine.finish();
        });
    });
}

TEST(NcclOnMachine, AbortWaitsForKernelsThatWaitForAnotherCommunicatorsSoThatAllMustBeToldFirst)
{
    setenv("NCCL_RUNTIME_CONNECT", "0", 1);
    EXPECT_THAT(abortOfTwo(false), AllOf(HasSubstr("nobody can go on"), HasSubstr("aborts its communicator of group sums"),
                                         HasSubstr("'NCCL receive from 1 in group all'"), HasSubstr("rank 1 has ended")));
    EXPECT_EQ(abortOfTwo(true), "");
}

/// A send that nobody takes, and a kernel on another stream, in the hardware queue of the communicator's own.
std::string besideASend(int hardwareQueues)
{
    Ranks ranks(2, {.hardwareQueues = hardwareQueues});
    return refusal([&] {
        ranks.machine.runHosts(ranks.names, [&](int rank) {
            const nccl::Comm comm = ranks.join(rank); // with a stream, the first of its GPU
            float* const data = Ranks::numbers({1});  // with another
            cuda::createStream(false);
            const cuda::Stream sends = cuda::createStream(true), compute = cuda::createStream(false);
            for (int i = 0; i <= 1 - rank; ++i)
                Ranks::wait(comm, rank == 0 ? nccl::send(data, 1, DType::f32, 1, comm, sends)
                                            : nccl::receive(data, 1, DType::f32, 0, comm, sends));
            void* const other = cuda::allocateMemory(4);
            cuda::clear(compute, other, 4);
            cuda::synchronizeStream(compute);
        });
    });
}

TEST(NcclOnMachine, ACommunicatorsOwnStreamTakesAHardwareQueueToo)
{
    EXPECT_EQ(besideASend(5), "");
    EXPECT_THAT(besideASend(2),
                AllOf(HasSubstr("nobody can go on"), HasSubstr("in hardware queue 0 of 2, which their streams share")));
}

/// Rank 0 has two sends under way; what rank 1 must have before it receives them comes from a third stream.
std::string throughQueues(int hardwareQueues)
{
    Ranks ranks(2, {.orderSeed = 2, .hardwareQueues = hardwareQueues});
    CommGroup back = ranks.group;
    nccl::UniqueId backId;
    nccl::makeUniqueId(backId);
    return refusal([&] {
        ranks.machine.runHosts(ranks.names, [&](int rank) {
            const nccl::Comm there = ranks.join(rank);
            nccl::Comm home = nullptr;
            Ranks::wait(home, nccl::initRank(home, back, backId, rank));
            const cuda::Stream first = cuda::createStream(true), second = cuda::createStream(true);
            float* const data = Ranks::numbers({1, 2, 3});
            const auto send = [&](nccl::Comm comm, cuda::Stream stream) {
                Ranks::wait(comm, nccl::send(data, 1, DType::f32, 1 - rank, comm, stream));
            };
            const auto receive = [&](nccl::Comm comm, cuda::Stream stream, float* to) {
                Ranks::wait(comm, nccl::receive(to, 1, DType::f32, 1 - rank, comm, stream));
            };
            rank == 0 ? send(there, first) : receive(there, first, data + 1); // the connections are opened
            rank == 0 ? receive(home, second, data + 2) : send(home, second);
            cuda::synchronizeStream(first);
            cuda::synchronizeStream(second);
            if (rank == 0) {
                send(there, first);
                send(there, first);
                receive(home, second, data + 2);
            } else {
                send(home, second);
                cuda::synchronizeStream(second);
                receive(there, first, data + 1);
                receive(there, first, data + 1);
            }
            cuda::synchronizeStream(first);
        });
    });
}

TEST(HardwareQueues, StreamsThatShareOneHoldEachOtherUp)
{
    EXPECT_EQ(throughQueues(32), "");
    EXPECT_THAT(throughQueues(1),
                AllOf(HasSubstr("'NCCL receive from 1 in group all'"), HasSubstr("'NCCL send to 1 in group all'"),
                      HasSubstr(" is behind '"), HasSubstr("in hardware queue 0 of 1, which their streams share")));
}

TEST(HardwareQueues, AreAsManyAsTheEnvironmentSays)
{
    const char* const before = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const std::string kept = before ? before : "";
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    EXPECT_EQ(Machine().options().hardwareQueues, 8);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "3", 1);
    EXPECT_EQ(Machine().options().hardwareQueues, 3);
    before ? setenv("CUDA_DEVICE_MAX_CONNECTIONS", kept.c_str(), 1) : unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
}

TEST(Orders, TheSameSeedGivesTheSameOrderAndAnotherAnother)
{
    const auto order = [](std::uint64_t seed) {
        Ranks ranks(3, {.orderSeed = seed});
        std::vector<int> done;
        ranks.machine.runHosts(ranks.names, [&](int rank) {
            cuda::makeCurrent(rank);
            for (int i = 0; i < 3; ++i) {
                const cuda::Stream stream = cuda::createStream(false);
                for (int j = 0; j < 4; ++j)
                    ranks.machine.put(of(stream), "note", {}, [&done, rank, i] { done.push_back(10 * rank + i); });
            }
            cuda::synchronizeStream(cuda::createStream(false));
        });
        return done;
    };
    std::set<std::vector<int>> all;
    for (std::uint64_t seed = 0; seed < kOrders; ++seed) {
        EXPECT_EQ(order(seed), order(seed));
        all.insert(order(seed));
    }
    EXPECT_GE(all.size(), kOrders - 2);
}

} // namespace
} // namespace live::emulated
