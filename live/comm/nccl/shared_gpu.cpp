#include "live/comm/nccl/shared_gpu.h"

#include "live/comm/agreement.h"
#include "live/comm/cuda/member_kernels.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>

namespace live::cuda {

using sim::asIndex;

bool GroupPlaces::isEven() const
{
    const std::size_t each = place.size() / processes.size();
    for (std::size_t member = 0; member < place.size(); ++member)
        if (each * processes.size() != place.size() || asIndex(place[member]) != member / each)
            return false;
    return true;
}

std::vector<int> GroupPlaces::membersOf(int processPlace) const
{
    std::vector<int> members;
    for (std::size_t member = 0; member < place.size(); ++member)
        if (place[member] == processPlace)
            members.push_back(static_cast<int>(member));
    return members;
}

GroupPlaces placesOf(const CommGroup& group, const std::vector<int>& processOf, int process)
{
    GroupPlaces places;
    for (const int rank : group.ranks) {
        const int here = asIndex(rank) < processOf.size() ? processOf[asIndex(rank)] : rank;
        const auto known = std::find(places.processes.begin(), places.processes.end(), here);
        places.place.push_back(static_cast<int>(known - places.processes.begin()));
        if (known == places.processes.end())
            places.processes.push_back(here);
    }
    const auto self = std::find(places.processes.begin(), places.processes.end(), process);
    places.self = static_cast<int>(self - places.processes.begin());
    places.mine = places.membersOf(places.self);
    return places;
}

namespace {

std::size_t count(const Tensor& tensor)
{
    return static_cast<std::size_t>(tensor.elements());
}

/// Pieces that are something.
class Pieces {
public:
    void add(const void* from, void* to, std::int64_t bytes)
    {
        if (bytes > 0 && from != to)
            m_pieces.push_back({from, to, bytes});
    }
    void copyOn(Stream stream) const { copyPiecesOn(stream, m_pieces); }

private:
    std::vector<Piece> m_pieces;
};

std::byte* at(void* data, std::int64_t bytes)
{
    return static_cast<std::byte*>(data) + bytes;
}

} // namespace

void SharedOperation::run()
{
    if (m_requests.size() > 1) {
        std::vector<RequestSummary> summaries;
        for (const CommRequest* request : m_requests)
            summaries.push_back(summarize(*request));
        if (m_first.kind != CommKind::allGather && m_first.kind != CommKind::broadcast) // those need all members' to be compared
            checkAgreement(*m_first.group, summaries);
    }
    switch (m_first.kind) {
    case CommKind::allReduce:
        return allReduce();
    case CommKind::reduceScatter:
        return reduceScatter();
    case CommKind::allGather:
        return allGather();
    case CommKind::allToAll:
        return allToAll();
    case CommKind::broadcast:
        return broadcast();
    case CommKind::barrier:
        return check(nccl::allReduce(nothing, nothing, 1, DType::f32, ReduceOp::max, m_communicator, m_stream));
    case CommKind::send:
    case CommKind::receive:
        throw sim::Error("a send or receive is between two members: " + m_first.what);
    }
}

void SharedOperation::handOn(const void* from, std::size_t firstRequest)
{
    Pieces pieces;
    for (std::size_t i = firstRequest; i < m_requests.size(); ++i)
        pieces.add(from, m_requests[i]->output.data, m_requests[i]->output.bytes());
    pieces.copyOn(m_stream);
}

/// Into the first one's output: the sum here, then over all processes.
void SharedOperation::allReduce()
{
    const Tensor& output = m_first.output;
    if (output.elements() == 0)
        return;
    const void* input = m_first.input.data;
    if (m_requests.size() > 1) {
        MemberReduction here{.type = output.type, .reduce = m_first.reduce, .count = output.elements(), .outputs = {output.data}};
        for (const CommRequest* request : m_requests)
            here.inputs.push_back(request->input.data);
        reduceMembersOn(m_stream, here);
        input = output.data;
    }
    check(nccl::allReduce(input, output.data, count(output), output.type, m_first.reduce, m_communicator, m_stream));
    handOn(output.data, 1);
}

/// Each input is as many parts as the group has members.
void SharedOperation::reduceScatter()
{
    const Tensor &whole = m_first.input, &part = m_first.output;
    if (part.elements() == 0)
        return;
    const auto mine = static_cast<std::int64_t>(m_requests.size());
    const bool isEven = m_places.isEven();
    const std::int64_t sumBytes = mine > 1 ? whole.bytes() : 0;
    const std::int64_t resultBytes = isEven ? mine * part.bytes() : whole.bytes();
    void* const space = scratch(static_cast<std::size_t>(sumBytes + resultBytes));
    const void* input = whole.data;
    if (mine > 1) {
        MemberReduction here{.type = whole.type, .reduce = m_first.reduce, .count = whole.elements(), .outputs = {space}};
        for (const CommRequest* request : m_requests)
            here.inputs.push_back(request->input.data);
        reduceMembersOn(m_stream, here);
        input = space;
    }
    void* const result = at(space, sumBytes);
    if (isEven)
        check(
            nccl::reduceScatter(input, result, asIndex(mine) * count(part), part.type, m_first.reduce, m_communicator, m_stream));
    else // NCCL scatters equal parts only
        check(nccl::allReduce(input, result, count(whole), whole.type, m_first.reduce, m_communicator, m_stream));
    Pieces pieces;
    for (std::size_t i = 0; i < m_requests.size(); ++i) {
        const std::int64_t place = isEven ? static_cast<std::int64_t>(i) : m_requests[i]->member;
        pieces.add(at(result, place * part.bytes()), m_requests[i]->output.data, part.bytes());
    }
    pieces.copyOn(m_stream);
}

void SharedOperation::allGather()
{
    const Tensor &part = m_first.input, &whole = m_first.output;
    if (whole.elements() != part.elements() * m_first.group->size())
        throw sim::Error("NCCL gathers equal parts only: " + m_first.what + " gives " + std::to_string(part.rows) + " rows of " +
                         std::to_string(whole.rows) + " to " + std::to_string(m_first.group->size()) + " members.");
    if (part.elements() == 0)
        return;
    const auto mine = static_cast<std::int64_t>(m_requests.size());
    const bool isEven = m_places.isEven();
    // Own parts one behind the other; then, where processes are not alike, everybody's in the order of processes.
    void* const own = scratch(static_cast<std::size_t>(mine * part.bytes() + (isEven ? 0 : whole.bytes())));
    Pieces packed;
    for (std::size_t i = 0; i < m_requests.size(); ++i)
        packed.add(m_requests[i]->input.data, at(own, static_cast<std::int64_t>(i) * part.bytes()), part.bytes());
    packed.copyOn(m_stream);
    if (isEven) {
        check(nccl::allGather(own, whole.data, asIndex(mine) * count(part), part.type, m_communicator, m_stream));
        return handOn(whole.data, 1);
    }
    void* const all = at(own, mine * part.bytes());
    Pieces sorted;
    std::int64_t offset = 0;
    for (int process = 0; process < static_cast<int>(m_places.processes.size()); ++process) {
        const std::vector<int> members = m_places.membersOf(process);
        check(nccl::broadcast(process == m_places.self ? own : at(all, offset), at(all, offset), members.size() * count(part),
                              part.type, process, m_communicator, m_stream));
        for (const int member : members) {
            for (const CommRequest* request : m_requests)
                sorted.add(at(all, offset), at(request->output.data, member * part.bytes()), part.bytes());
            offset += part.bytes();
        }
    }
    sorted.copyOn(m_stream);
}

/// Rows between members here are copied; those to and from another process go by NCCL, whose messages between two processes
/// come in the order of sending: by the sender's member, then by the receiver's.
void SharedOperation::allToAll()
{
    const std::int64_t rowBytes = m_first.input.columns * bytesOf(m_first.input.type);
    const std::size_t members = m_places.place.size();
    const auto offsets = [&](const std::vector<std::int64_t>& rows) {
        std::vector<std::int64_t> first(members, 0);
        for (std::size_t i = 1; i < members; ++i)
            first[i] = first[i - 1] + rows[i - 1] * rowBytes;
        return first;
    };
    std::vector<std::vector<std::int64_t>> sendAt, receiveAt; // [request][member], bytes
    for (const CommRequest* request : m_requests) {
        sendAt.push_back(offsets(request->sendRows));
        receiveAt.push_back(offsets(request->receiveRows));
    }
    Pieces pieces;
    for (std::size_t from = 0; from < m_requests.size(); ++from)
        for (std::size_t to = 0; to < m_requests.size(); ++to) {
            const CommRequest &sender = *m_requests[from], &receiver = *m_requests[to];
            const auto sends = asIndex(receiver.member), receives = asIndex(sender.member);
            if (sender.sendRows[sends] != receiver.receiveRows[receives])
                throwRowsDiffer(*sender.group, sender.member, sender.sendRows[sends], receiver.member,
                                receiver.receiveRows[receives]);
            pieces.add(at(sender.input.data, sendAt[from][sends]), at(receiver.output.data, receiveAt[to][receives]),
                       sender.sendRows[sends] * rowBytes);
        }
    pieces.copyOn(m_stream);
    const DType type = m_first.input.type;
    const auto elements = [&](std::int64_t rows) { return asIndex(rows * m_first.input.columns); };
    together([&](const Keep& keep) {
        for (int process = 0; process < static_cast<int>(m_places.processes.size()); ++process) {
            if (process == m_places.self)
                continue;
            const std::vector<int> theirs = m_places.membersOf(process);
            for (std::size_t i = 0; i < m_requests.size(); ++i)
                for (const int member : theirs)
                    if (const std::int64_t rows = m_requests[i]->sendRows[asIndex(member)]; rows > 0)
                        keep(nccl::send(at(m_requests[i]->input.data, sendAt[i][asIndex(member)]), elements(rows), type, process,
                                        m_communicator, m_stream));
            for (const int member : theirs)
                for (std::size_t i = 0; i < m_requests.size(); ++i)
                    if (const std::int64_t rows = m_requests[i]->receiveRows[asIndex(member)]; rows > 0)
                        keep(nccl::receive(at(m_requests[i]->output.data, receiveAt[i][asIndex(member)]), elements(rows), type,
                                           process, m_communicator, m_stream));
        }
    });
}

void SharedOperation::broadcast()
{
    const Tensor& output = m_first.output;
    if (output.elements() == 0)
        return;
    const bool isRoot = m_first.member == 0; // whose process is the first of all
    check(nccl::broadcast(isRoot ? m_first.input.data : output.data, output.data, count(output), output.type, 0, m_communicator,
                          m_stream));
    handOn(output.data, 1);
}

} // namespace live::cuda
