// A program of communications for tests of communicators: each rank issues its part of one global list, several at a time, and
// compares what it gets, byte by byte, with sums made in the order of members by the plainest loop.
#pragma once

#include "live/comm/communicator.h"
#include "live/tasks/task.h"
#include "live/tasks/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace live::test {

/// Lets other coroutines run.
struct Yield {
    WorkerPool& pool;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const { pool.post(handle); }
    void await_resume() const noexcept {}
};

/// One communication of all members, the same on all of them.
struct Planned {
    const CommGroup* group = nullptr;
    CommKind kind = CommKind::barrier;
    ReduceOp reduce = ReduceOp::sum;
    DType type = DType::f32;
    std::int64_t sequence = 0, elements = 0;
    int from = 0, to = 0; ///< of a transfer
};

inline constexpr std::int64_t kColumns = 3; // of an allToAll

/// What a rank puts in: numbers of very different sizes, so that another order of a sum gives other bits.
template <class T>
T valueOf(const Planned& planned, int rank, std::int64_t index)
{
    std::uint64_t x = static_cast<std::uint64_t>(planned.sequence * 1'000'003 + rank * 7919 + index) * 0x9E3779B97F4A7C15ULL;
    x ^= x >> 29U;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 32U;
    const auto mantissa = static_cast<std::int64_t>(x % 20001) - 10000;
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(mantissa);
    else
        return static_cast<T>(static_cast<double>(mantissa) / 7.0 * (((x >> 40U) % 3 == 0) ? 1e4 : 1.0));
}

inline std::int64_t rowsBetween(const Planned& planned, int from, int to)
{
    return (planned.sequence + from * 5 + to * 3) % 4 * (planned.elements > 1000 ? 500 : 1);
}

inline std::vector<Planned> planExchange(const std::vector<CommGroup>& groups, int rounds, unsigned seed)
{
    std::mt19937 random(seed);
    const auto oneOf = [&](auto... values) {
        const std::array options{values...};
        return options[random() % options.size()];
    };
    std::vector<Planned> plan;
    for (int round = 0; round < rounds; ++round)
        for (const CommGroup& group : groups)
            for (const CommKind kind : {CommKind::allReduce, CommKind::reduceScatter, CommKind::allGather, CommKind::allToAll,
                                        CommKind::send, CommKind::broadcast, CommKind::barrier, CommKind::allReduce}) {
                Planned planned;
                planned.group = &group;
                planned.kind = kind;
                planned.reduce = oneOf(ReduceOp::sum, ReduceOp::sum, ReduceOp::max);
                planned.type = oneOf(DType::f32, DType::f64, DType::i32, DType::i64);
                planned.elements = oneOf(0, 1, 3, 33, 1000, 20000, 70001);
                planned.sequence = static_cast<std::int64_t>(plan.size());
                planned.from = static_cast<int>(random() % static_cast<unsigned>(group.size()));
                planned.to = (planned.from + 1) % group.size();
                if (kind != CommKind::send || group.size() > 1)
                    plan.push_back(planned);
            }
    return plan;
}

/// A rank's part in one of them, with its memory.
struct Part {
    CommRequest request;
    Completion completion;
    std::vector<std::byte> input, output, expected;
};

template <class T>
void fillPart(const Planned& planned, int member, Part& part)
{
    const CommGroup& group = *planned.group;
    const int members = group.size();
    const std::int64_t n = planned.elements;
    CommRequest& request = part.request;
    std::vector<T> input, expected;
    const auto inputOf = [&](int of, std::int64_t count) {
        std::vector<T> values(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            values[static_cast<std::size_t>(i)] = valueOf<T>(planned, group.ranks[static_cast<std::size_t>(of)], i);
        return values;
    };
    const auto reduced = [&](std::int64_t first, std::int64_t count, std::int64_t total) {
        std::vector<T> sum;
        for (int of = 0; of < members; ++of) {
            const std::vector<T> values = inputOf(of, total);
            if (of == 0)
                sum.assign(values.begin() + first, values.begin() + first + count);
            else
                for (std::int64_t i = 0; i < count; ++i) {
                    T& s = sum[static_cast<std::size_t>(i)];
                    const T v = values[static_cast<std::size_t>(first + i)];
                    s = planned.reduce == ReduceOp::sum ? static_cast<T>(s + v) : std::max(s, v);
                }
        }
        return sum;
    };
    std::int64_t columns = 1;
    switch (planned.kind) {
    case CommKind::allReduce:
        input = inputOf(member, n);
        expected = reduced(0, n, n);
        break;
    case CommKind::reduceScatter:
        input = inputOf(member, n * members);
        expected = reduced(n * member, n, n * members);
        break;
    case CommKind::allGather: // of unequal inputs
        input = inputOf(member, n + member);
        for (int of = 0; of < members; ++of) {
            const std::vector<T> values = inputOf(of, n + of);
            expected.insert(expected.end(), values.begin(), values.end());
        }
        break;
    case CommKind::allToAll: {
        columns = kColumns;
        for (int of = 0; of < members; ++of) {
            request.sendRows.push_back(rowsBetween(planned, member, of));
            request.receiveRows.push_back(rowsBetween(planned, of, member));
            std::int64_t before = 0, total = 0;
            for (int to = 0; to < members; ++to) {
                before += to < member ? rowsBetween(planned, of, to) : 0;
                total += rowsBetween(planned, of, to);
            }
            const std::vector<T> values = inputOf(of, total * kColumns);
            expected.insert(expected.end(), values.begin() + before * kColumns,
                            values.begin() + (before + request.receiveRows.back()) * kColumns);
            if (of == member)
                input = values;
        }
        break;
    }
    case CommKind::send:
    case CommKind::receive:
        if (member == planned.from)
            input = inputOf(member, n);
        else
            expected = inputOf(planned.from, n);
        break;
    case CommKind::broadcast:
        if (member == 0)
            input = inputOf(0, n);
        expected = inputOf(0, n);
        break;
    case CommKind::barrier:
        break;
    }
    const auto bytes = [](const std::vector<T>& values) {
        std::vector<std::byte> result(values.size() * sizeof(T));
        if (!values.empty())
            std::memcpy(result.data(), values.data(), result.size());
        return result;
    };
    part.input = bytes(input);
    part.expected = bytes(expected);
    part.output.assign(part.expected.size(), std::byte{0xEE});
    const auto tensor = [&](std::vector<std::byte>& memory) {
        const std::int64_t elements = static_cast<std::int64_t>(memory.size() / sizeof(T));
        return Tensor{memory.data(), planned.type, elements / columns, columns, columns};
    };
    request.input = tensor(part.input);
    request.output = tensor(part.output);
    if (planned.kind == CommKind::allReduce && planned.sequence % 2 == 0)
        request.output = request.input; // in place
}

inline std::unique_ptr<Part> makePart(const Planned& planned, int member)
{
    auto part = std::make_unique<Part>();
    CommRequest& request = part->request;
    request.kind = planned.kind;
    request.reduce = planned.reduce;
    request.group = planned.group;
    request.member = member;
    request.sequence = planned.sequence;
    request.what = "test " + std::to_string(planned.sequence);
    if (planned.kind == CommKind::send && member == planned.to) {
        request.kind = CommKind::receive;
        request.peer = planned.from;
    } else if (planned.kind == CommKind::send) {
        request.peer = planned.to;
    }
    switch (planned.type) {
    case DType::f64:
        fillPart<double>(planned, member, *part);
        break;
    case DType::i32:
        fillPart<std::int32_t>(planned, member, *part);
        break;
    case DType::i64:
        fillPart<std::int64_t>(planned, member, *part);
        break;
    default:
        fillPart<float>(planned, member, *part);
    }
    return part;
}

struct Tally {
    std::atomic<int> ended{0}, compared{0}, wrong{0};
};

inline void compare(const Part& part, Tally& tally)
{
    const void* const got = part.request.output.data;
    ++tally.compared;
    if (!part.expected.empty() && std::memcmp(got, part.expected.data(), part.expected.size()) != 0)
        ++tally.wrong;
    if (part.completion.readyNs < part.completion.issuedNs || part.completion.doneNs < part.completion.readyNs)
        ++tally.wrong;
}

/// All of a rank's parts, up to `ahead` of them under way at a time.
inline Task<> exchangeParts(Communicator& communicator, WorkerPool& pool, const std::vector<Planned>& plan, int rank,
                            std::size_t ahead, Tally& tally, std::vector<std::unique_ptr<Part>>& parts)
{
    std::mt19937 random(static_cast<unsigned>(rank));
    std::size_t waited = 0;
    for (const Planned& planned : plan) {
        const std::vector<int>& ranks = planned.group->ranks;
        const auto found = std::find(ranks.begin(), ranks.end(), rank);
        const int member = static_cast<int>(found - ranks.begin());
        if (found == ranks.end() || (planned.kind == CommKind::send && member != planned.from && member != planned.to))
            continue;
        for (unsigned i = random() % 4; i > 0; --i)
            co_await Yield{pool};
        parts.push_back(makePart(planned, member));
        communicator.issue(parts.back()->request, parts.back()->completion);
        for (; parts.size() - waited > ahead; ++waited) {
            Completion& completion = parts[waited]->completion; // GCC 12 copies what co_await is given by a longer expression
            co_await completion;
            compare(*parts[waited], tally);
            parts[waited].reset();
        }
    }
    for (; waited < parts.size(); ++waited) {
        Completion& completion = parts[waited]->completion;
        co_await completion;
        compare(*parts[waited], tally);
    }
    ++tally.ended;
}

/// The same with memory of its own, which is freed only when nothing uses it any more.
inline Task<> exchangeRank(Communicator& communicator, WorkerPool& pool, const std::vector<Planned>& plan, int rank,
                           std::size_t ahead, Tally& tally)
{
    std::vector<std::unique_ptr<Part>> parts;
    try {
        co_await exchangeParts(communicator, pool, plan, rank, ahead, tally, parts);
    } catch (const std::exception& error) {
        communicator.abort(error.what());
        throw;
    }
}

/// The whole world, groups of neighbours, of strides, of everybody alone: as a mesh has them.
inline std::vector<CommGroup> groupsOf(int world)
{
    std::vector<CommGroup> groups;
    const auto add = [&](const std::string& name, std::vector<int> ranks) {
        groups.push_back({static_cast<int>(groups.size()) + 1, name, std::move(ranks)});
    };
    std::vector<int> all;
    for (int rank = 0; rank < world; ++rank)
        all.push_back(rank);
    add("world", all);
    for (const int size : {2, 3})
        for (int first = 0; first + size <= world; first += size)
            add("tp", std::vector<int>(all.begin() + first, all.begin() + first + size));
    for (int offset = 0; offset < 2 && world >= 4; ++offset) {
        std::vector<int> strided;
        for (int rank = offset; rank < world; rank += 2)
            strided.push_back(rank);
        add("dp", strided);
    }
    add("alone", {world - 1});
    return groups;
}

} // namespace live::test
