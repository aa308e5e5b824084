// Do the members of a group mean the same communication? Members whose programs differ meet in requests that do not fit; both are
// then described, instead of wrong numbers or a hang. Private to the communicators.
#pragma once

#include "live/comm/communicator.h"

#include <array>
#include <span>
#include <string>

namespace live {

/// What a member tells the others of its request. Plain bytes: it travels between processes.
struct RequestSummary {
    std::int64_t sequence = 0;
    std::int64_t inputElements = 0, outputElements = 0;
    std::int32_t rank = 0, member = 0, peer = 0;
    CommKind kind = CommKind::barrier;
    ReduceOp reduce = ReduceOp::sum;
    DType type = DType::f32;
    std::array<char, 41> what{}; ///< the request's, cut; ends with 0
};

RequestSummary summarize(const CommRequest&);
/// "rank 3: all-reduce 0F3 attn.out of 1,024 fp32, place 17 in the order".
std::string describe(const RequestSummary&);

/// Throws sim::Error with both descriptions if these cannot be one collective (or a send, then its receive). Summaries by member.
void checkAgreement(const CommGroup&, std::span<const RequestSummary>);
/// Of the requests of members of this process, by member.
template <class Arrivals>
void checkAgreement(const Arrivals& arrivals)
{
    std::vector<RequestSummary> summaries;
    summaries.reserve(arrivals.size());
    for (const auto& arrival : arrivals)
        summaries.push_back(summarize(*arrival.request));
    checkAgreement(*arrivals[0].request->group, summaries);
}
/// Does the request by itself make sense: sizes of input and output, counts of rows?
void checkRequest(const CommRequest&);
/// For an allToAll whose one side sends another number of rows than the other side waits for.
[[noreturn]] void throwRowsDiffer(const CommGroup&, int fromMember, std::int64_t sent, int toMember, std::int64_t expected);

/// The bytes of communications without arithmetic, where all members' tensors can be reached: copy(from, to, bytes) for each
/// piece.
template <class Arrivals, class Copy>
void copyPieces(const Arrivals& arrivals, Copy&& copy)
{
    const CommRequest& first = *arrivals[0].request;
    if (isTransfer(first.kind))
        copy(first.input.data, arrivals[1].request->output.data, first.input.bytes());
    if (first.kind == CommKind::broadcast)
        for (const auto& arrival : arrivals)
            copy(first.input.data, arrival.request->output.data, first.input.bytes());
    if (first.kind != CommKind::allGather && first.kind != CommKind::allToAll)
        return;
    std::vector<std::int64_t> sent(arrivals.size()); ///< of an allToAll: bytes, by sender
    for (std::size_t to = 0; to < arrivals.size(); ++to) {
        const CommRequest& receiver = *arrivals[to].request;
        std::int64_t offset = 0;
        for (std::size_t from = 0; from < arrivals.size(); ++from) {
            const CommRequest& sender = *arrivals[from].request;
            std::int64_t bytes = sender.input.bytes();
            if (first.kind == CommKind::allToAll) {
                const std::int64_t rows = sender.sendRows[to];
                if (rows != receiver.receiveRows[from])
                    throwRowsDiffer(*sender.group, static_cast<int>(from), rows, static_cast<int>(to),
                                    receiver.receiveRows[from]);
                bytes = rows * sender.input.columns * bytesOf(sender.input.type);
            }
            copy(sender.input.template as<std::byte>() + sent[from], receiver.output.template as<std::byte>() + offset, bytes);
            offset += bytes;
            if (first.kind == CommKind::allToAll)
                sent[from] += bytes;
        }
    }
}

} // namespace live
