#include "live/comm/nccl/group_calls.h"

#include "sim/error.h"

#include <algorithm>
#include <string>

namespace live::cuda {

using nccl::Result;

void GroupCalls::open(const std::set<CommKind>& kinds) const
{
    const auto run = [&](Result result) { check(result, communicator); };
    const bool hasCollectives =
        std::any_of(kinds.begin(), kinds.end(), [](CommKind kind) { return !isTransfer(kind) && kind != CommKind::allToAll; });
    clear(stream, nothing, static_cast<std::size_t>(members + 1) * sizeof(float));
    if (hasCollectives)
        run(nccl::allReduce(nothing, nothing, 1, DType::f32, ReduceOp::max, communicator, stream));
    if (kinds.contains(CommKind::send))
        run(nccl::send(nothing, 1, DType::f32, 1 - self, communicator, stream));
    if (kinds.contains(CommKind::receive))
        run(nccl::receive(nothing, 1, DType::f32, 1 - self, communicator, stream));
    if (kinds.contains(CommKind::allToAll))
        together([&](const Keep& keep) {
            for (int member = 0; member < members; ++member) {
                keep(nccl::send(nothing, 1, DType::f32, member, communicator, stream));
                keep(nccl::receive(nothing + 1 + member, 1, DType::f32, member, communicator, stream));
            }
        });
}

void GroupCalls::put(const CommRequest& request) const
{
    const Tensor &input = request.input, &output = request.output;
    const auto count = [](const Tensor& tensor) { return static_cast<std::size_t>(tensor.elements()); };
    const auto run = [&](Result result) { check(result, communicator); };
    switch (request.kind) {
    case CommKind::allReduce:
        return run(nccl::allReduce(input.data, output.data, count(input), input.type, request.reduce, communicator, stream));
    case CommKind::reduceScatter:
        return run(nccl::reduceScatter(input.data, output.data, count(output), input.type, request.reduce, communicator, stream));
    case CommKind::allGather:
        if (output.elements() != input.elements() * request.group->size())
            throw sim::Error("NCCL gathers equal parts only: " + request.what + " gives " + std::to_string(input.rows) +
                             " rows of " + std::to_string(output.rows) + " to " + std::to_string(request.group->size()) +
                             " members.");
        return run(nccl::allGather(input.data, output.data, count(input), input.type, communicator, stream));
    case CommKind::broadcast:
        return run(nccl::broadcast(input.data, output.data, count(output), output.type, 0, communicator, stream));
    case CommKind::send:
        return run(nccl::send(input.data, count(input), input.type, request.peer, communicator, stream));
    case CommKind::receive:
        return run(nccl::receive(output.data, count(output), output.type, request.peer, communicator, stream));
    case CommKind::allToAll:
        return allToAll(request);
    case CommKind::barrier:
        return run(nccl::allReduce(nothing, nothing, 1, DType::f32, ReduceOp::max, communicator, stream));
    }
}

void GroupCalls::allToAll(const CommRequest& request) const
{
    together([&](const Keep& keep) {
        std::int64_t sent = 0, received = 0;
        for (int member = 0; member < request.group->size(); ++member) {
            const auto place = static_cast<std::size_t>(member);
            if (const std::int64_t rows = request.sendRows[place]; rows > 0) {
                const Tensor part = request.input.rowRange(sent, rows);
                keep(nccl::send(part.data, static_cast<std::size_t>(part.elements()), part.type, member, communicator, stream));
                sent += rows;
            }
            if (const std::int64_t rows = request.receiveRows[place]; rows > 0) {
                const Tensor part = request.output.rowRange(received, rows);
                keep(
                    nccl::receive(part.data, static_cast<std::size_t>(part.elements()), part.type, member, communicator, stream));
                received += rows;
            }
        }
    });
}

void GroupCalls::together(const std::function<void(const Keep&)>& calls) const
{
    check(nccl::groupStart(), nullptr);
    Result result = Result::success;
    calls([&](Result next) { result = isAccepted(result) ? next : result; });
    const Result end = nccl::groupEnd(); // always, or the next call joins this group
    check(isAccepted(result) ? end : result, communicator);
}

} // namespace live::cuda
