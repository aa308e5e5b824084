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
/// Does the request by itself make sense: sizes of input and output, counts of rows?
void checkRequest(const CommRequest&);
/// For an allToAll whose one side sends another number of rows than the other side waits for.
[[noreturn]] void throwRowsDiffer(const CommGroup&, int fromMember, std::int64_t sent, int toMember, std::int64_t expected);

} // namespace live
