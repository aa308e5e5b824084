#include "live/comm/remote_operation.h"

#include "live/comm/reduction.h"
#include "live/record/recorder.h"
#include "sim/error.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace live::remote {
namespace {

/// An input of at most so many bytes travels with the hello. About where a second message costs less than what large all-reduces
/// save by summing each part in one place.
constexpr std::int64_t kInlineBytes = 8 << 10;

bool isInline(const RequestSummary& summary)
{
    switch (summary.kind) {
    case CommKind::allReduce:
    case CommKind::reduceScatter:
    case CommKind::allGather:
    case CommKind::send:
        return summary.inputElements * bytesOf(summary.type) <= kInlineBytes;
    case CommKind::broadcast:
        return summary.member == 0 && summary.inputElements * bytesOf(summary.type) <= kInlineBytes;
    default:
        return false;
    }
}

void append(std::vector<std::byte>& bytes, const void* data, std::int64_t count)
{
    const auto* const first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + count);
}

std::int64_t rowsBefore(const std::vector<std::int64_t>& rows, int member)
{
    return std::accumulate(rows.begin(), rows.begin() + member, std::int64_t{0});
}

std::int64_t rowBytes(const Tensor& tensor)
{
    return tensor.columns * bytesOf(tensor.type);
}

} // namespace

std::vector<int> Place::membersOf(int process) const
{
    std::vector<int> result;
    for (std::size_t member = 0; member < processOf.size(); ++member)
        if (processOf[member] == process)
            result.push_back(static_cast<int>(member));
    return result;
}

Operation::Operation(const Place& place, std::vector<Arrival> arrivals, int tag)
    : m_place(place), m_arrivals(std::move(arrivals)), m_tag(tag), m_hellos(place.processes.size()),
      m_helloTransfers(place.processes.size()), m_summaries(place.processOf.size()), m_inputs(place.processOf.size()),
      m_sendRows(place.processOf.size())
{
    for (const Arrival& arrival : m_arrivals) {
        const auto member = static_cast<std::size_t>(arrival.request->member);
        m_summaries[member] = summarize(*arrival.request);
        m_sendRows[member] = arrival.request->sendRows;
        if (arrival.request->kind != CommKind::broadcast || member == 0)
            m_inputs[member] = arrival.request->input.as<std::byte>();
    }
}

void Operation::send(Transport& transport, int process, Code code, const void* data, std::int64_t bytes)
{
    Transfer& transfer = m_transfers.emplace_back();
    transfer.open = &m_open;
    ++m_open;
    transport.send(process, m_tag + code, data, bytes, transfer);
}

void Operation::receive(Transport& transport, int process, Code code, void* data, std::int64_t capacity)
{
    Transfer& transfer = m_transfers.emplace_back();
    transfer.open = &m_open;
    ++m_open;
    transport.receive(process, m_tag + code, data, capacity, transfer);
}

std::byte* Operation::scratch(std::int64_t bytes)
{
    return m_scratch.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))).data();
}

void Operation::packHello()
{
    for (const Arrival& arrival : m_arrivals)
        append(m_hello, &m_summaries[static_cast<std::size_t>(arrival.request->member)], sizeof(RequestSummary));
    for (const Arrival& arrival : m_arrivals) {
        const CommRequest& request = *arrival.request;
        if (request.kind == CommKind::allToAll)
            append(m_hello, request.sendRows.data(), static_cast<std::int64_t>(request.sendRows.size() * sizeof(std::int64_t)));
        if (isInline(m_summaries[static_cast<std::size_t>(request.member)]))
            append(m_hello, request.input.data, request.input.bytes());
    }
}

void Operation::unpackHello(int process, const Transfer& transfer, const std::vector<std::byte>& bytes)
{
    const std::byte* position = bytes.data();
    const std::byte* const end = position + transfer.bytes;
    const auto take = [&](std::int64_t count) {
        if (count < 0 || end - position < count)
            throw sim::Error("process " + std::to_string(process) + " sent a damaged message for group " + m_place.group->name);
        const std::byte* const taken = position;
        position += count;
        return taken;
    };
    std::vector<int> members = m_place.membersOf(process);
    if (isTransfer())
        members = {own(0).peer};
    for (const int member : members)
        std::memcpy(&m_summaries[static_cast<std::size_t>(member)], take(sizeof(RequestSummary)), sizeof(RequestSummary));
    for (const int member : members) {
        const auto place = static_cast<std::size_t>(member);
        const RequestSummary& summary = m_summaries[place];
        if (summary.kind == CommKind::allToAll) {
            std::vector<std::int64_t>& rows = m_sendRows[place];
            rows.resize(m_place.processOf.size());
            const auto count = static_cast<std::int64_t>(rows.size() * sizeof(std::int64_t));
            std::memcpy(rows.data(), take(count), static_cast<std::size_t>(count));
        }
        if (isInline(summary))
            m_inputs[place] = take(summary.inputElements * bytesOf(summary.type));
    }
}

void Operation::start(Transport& transport)
{
    packHello();
    if (kind() == CommKind::send) {
        const int process = m_place.processOf[static_cast<std::size_t>(own(0).peer)];
        m_readyNs = nowNs(); // it goes without waiting for the receiver
        send(transport, process, transferHelloCode, m_hello.data(), static_cast<std::int64_t>(m_hello.size()));
        if (!isInline(m_summaries[static_cast<std::size_t>(own(0).member)]))
            send(transport, process, transferCode, own(0).input.data, own(0).input.bytes());
        return;
    }
    for (std::size_t i = 0; i < m_place.processes.size(); ++i) {
        const int process = m_place.processes[i];
        if (process == m_place.own || (isTransfer() && process != m_place.processOf[static_cast<std::size_t>(own(0).peer)]))
            continue;
        const std::size_t perMember =
            sizeof(RequestSummary) + static_cast<std::size_t>(kInlineBytes) + m_place.processOf.size() * sizeof(std::int64_t);
        m_hellos[i].resize(m_place.membersOf(process).size() * perMember);
        receive(transport, process, isTransfer() ? transferHelloCode : helloCode, m_hellos[i].data(),
                static_cast<std::int64_t>(m_hellos[i].size()));
        m_helloTransfers[i] = &m_transfers.back();
        if (!isTransfer())
            send(transport, process, helloCode, m_hello.data(), static_cast<std::int64_t>(m_hello.size()));
    }
}

void Operation::compute(WorkerPool& pool)
{
    m_next = Round::done;
    switch (m_round) {
    case Round::hello:
        if (kind() != CommKind::send)
            computeFirst(pool);
        return;
    case Round::move:
        if (kind() == CommKind::allReduce) {
            const auto begin = partBegin(ownPart());
            const std::int64_t size = bytesOf(own(0).input.type);
            std::vector<const void*> inputs(m_parts[0].begin(), m_parts[0].end());
            std::vector<void*> outputs;
            for (const Arrival& arrival : m_arrivals)
                outputs.push_back(arrival.request->output.as<std::byte>() + begin * size);
            reduceInOrder(pool, own(0).input.type, own(0).reduce, partBegin(ownPart() + 1) - begin, inputs, outputs);
            m_next = Round::exchange;
        } else if (kind() == CommKind::reduceScatter) {
            computeReduceScatter(pool);
        } else if (kind() == CommKind::allGather || kind() == CommKind::broadcast) {
            spread(pool);
        }
        return;
    case Round::exchange:
        spread(pool);
        return;
    case Round::done:
        return;
    }
}

/// When all members are known to be there.
void Operation::computeFirst(WorkerPool& pool)
{
    m_readyNs = nowNs();
    for (std::size_t i = 0; i < m_place.processes.size(); ++i)
        if (m_helloTransfers[i])
            unpackHello(m_place.processes[i], *m_helloTransfers[i], m_hellos[i]);
    if (isTransfer()) {
        const auto sender = static_cast<std::size_t>(own(0).peer);
        const std::array pair{m_summaries[sender], m_summaries[static_cast<std::size_t>(own(0).member)]};
        checkAgreement(*m_place.group, pair);
        if (m_inputs[sender])
            copyBytes(pool, m_inputs[sender], own(0).output.data, own(0).output.bytes());
        else
            m_next = Round::move;
        return;
    }
    checkAgreement(*m_place.group, m_summaries);
    switch (kind()) {
    case CommKind::allReduce:
        if (!allInputsKnown()) {
            m_next = Round::move;
            return;
        }
        {
            const std::vector<const void*> inputs(m_inputs.begin(), m_inputs.end());
            std::vector<void*> outputs;
            for (const Arrival& arrival : m_arrivals)
                outputs.push_back(arrival.request->output.data);
            reduceInOrder(pool, own(0).input.type, own(0).reduce, own(0).input.elements(), inputs, outputs);
        }
        return;
    case CommKind::reduceScatter:
        if (!allInputsKnown()) {
            m_next = Round::move;
            return;
        }
        m_parts.assign(m_arrivals.size(), std::vector<std::byte*>(m_inputs.size()));
        for (std::size_t i = 0; i < m_arrivals.size(); ++i)
            for (std::size_t member = 0; member < m_inputs.size(); ++member)
                m_parts[i][member] = const_cast<std::byte*>(m_inputs[member]) + own(i).member * own(i).output.bytes();
        computeReduceScatter(pool);
        return;
    case CommKind::allGather:
        gatherKnown(pool);
        if (allInputsKnown())
            spread(pool);
        else
            m_next = Round::move;
        return;
    case CommKind::broadcast: {
        const bool travels = !isInline(m_summaries[0]);
        if (m_inputs[0])
            for (const Arrival& arrival : m_arrivals)
                copyBytes(pool, m_inputs[0], arrival.request->output.data, arrival.request->output.bytes());
        if (travels)
            m_next = Round::move;
        return;
    }
    case CommKind::allToAll:
        checkRows();
        for (const Arrival& from : m_arrivals)
            for (const Arrival& to : m_arrivals) {
                const CommRequest& sender = *from.request;
                const CommRequest& receiver = *to.request;
                const std::int64_t size = rowBytes(sender.input);
                copyBytes(pool, sender.input.as<std::byte>() + rowsBefore(sender.sendRows, receiver.member) * size,
                          receiver.output.as<std::byte>() + rowsBefore(receiver.receiveRows, sender.member) * size,
                          sender.sendRows[static_cast<std::size_t>(receiver.member)] * size);
            }
        m_next = Round::move;
        return;
    default:
        return;
    }
}

void Operation::checkRows() const
{
    for (const Arrival& arrival : m_arrivals)
        for (std::size_t from = 0; from < m_sendRows.size(); ++from) {
            const CommRequest& receiver = *arrival.request;
            const std::int64_t sent = m_sendRows[from][static_cast<std::size_t>(receiver.member)];
            if (sent != receiver.receiveRows[from])
                throwRowsDiffer(*m_place.group, static_cast<int>(from), sent, receiver.member, receiver.receiveRows[from]);
        }
}

bool Operation::allInputsKnown() const
{
    for (std::size_t member = 0; member < m_inputs.size(); ++member)
        if (!isInline(m_summaries[member]))
            return false;
    return true;
}

/// m_parts[i] holds what all members gave for the i-th own member.
void Operation::computeReduceScatter(WorkerPool& pool)
{
    for (std::size_t i = 0; i < m_arrivals.size(); ++i) {
        const std::vector<const void*> inputs(m_parts[i].begin(), m_parts[i].end());
        void* const output = own(i).output.data;
        reduceInOrder(pool, own(i).output.type, own(i).reduce, own(i).output.elements(), inputs, {&output, 1});
    }
}

/// Own and inline inputs to their places in the first own output.
void Operation::gatherKnown(WorkerPool& pool)
{
    std::int64_t offset = 0;
    for (std::size_t member = 0; member < m_inputs.size(); ++member) {
        const std::int64_t bytes = m_summaries[member].inputElements * bytesOf(own(0).output.type);
        if (m_inputs[member])
            copyBytes(pool, m_inputs[member], own(0).output.as<std::byte>() + offset, bytes);
        offset += bytes;
    }
}

void Operation::spread(WorkerPool& pool)
{
    for (std::size_t i = 1; i < m_arrivals.size(); ++i)
        copyBytes(pool, own(0).output.data, own(i).output.data, own(0).output.bytes());
}

bool Operation::proceed(Transport& transport)
{
    m_round = m_next;
    if (m_round == Round::move)
        startMove(transport);
    else if (m_round == Round::exchange)
        startExchange(transport);
    return m_round != Round::done;
}

void Operation::startMove(Transport& transport)
{
    switch (kind()) {
    case CommKind::receive:
        return receive(transport, m_place.processOf[static_cast<std::size_t>(own(0).peer)], transferCode, own(0).output.data,
                       own(0).output.bytes());
    case CommKind::allReduce:
        return startMoveAllReduce(transport);
    case CommKind::reduceScatter:
        return startMoveReduceScatter(transport);
    case CommKind::allToAll:
        return startMoveAllToAll(transport);
    case CommKind::broadcast:
        if (m_place.processOf[0] != m_place.own)
            return receive(transport, m_place.processOf[0], moveCode, own(0).output.data, own(0).output.bytes());
        for (const int process : m_place.processes)
            if (process != m_place.own)
                send(transport, process, moveCode, own(0).input.data, own(0).input.bytes());
        return;
    default:
        break;
    }
    // allGather
    std::int64_t offset = 0;
    for (std::size_t member = 0; member < m_inputs.size(); ++member) {
        const std::int64_t bytes = m_summaries[member].inputElements * bytesOf(own(0).output.type);
        if (m_place.processOf[member] == m_place.own) {
            for (const int process : m_place.processes)
                if (process != m_place.own && !isInline(m_summaries[member]))
                    send(transport, process, moveCode, m_inputs[member], bytes);
        } else if (!m_inputs[member]) {
            receive(transport, m_place.processOf[member], moveCode, own(0).output.as<std::byte>() + offset, bytes);
        }
        offset += bytes;
    }
}

std::size_t Operation::ownPart() const
{
    const auto found = std::find(m_place.processes.begin(), m_place.processes.end(), m_place.own);
    return static_cast<std::size_t>(found - m_place.processes.begin());
}

std::int64_t Operation::partBegin(std::size_t process) const
{
    return own(0).input.elements() * static_cast<std::int64_t>(process) / static_cast<std::int64_t>(m_place.processes.size());
}

/// Each process gets all members' numbers of its part.
void Operation::startMoveAllReduce(Transport& transport)
{
    const std::int64_t size = bytesOf(own(0).input.type);
    const std::int64_t begin = partBegin(ownPart());
    const std::int64_t bytes = (partBegin(ownPart() + 1) - begin) * size;
    m_parts.assign(1, std::vector<std::byte*>(m_inputs.size()));
    for (std::size_t member = 0; member < m_inputs.size(); ++member)
        if (m_place.processOf[member] == m_place.own) {
            m_parts[0][member] = const_cast<std::byte*>(m_inputs[member]) + begin * size;
        } else {
            m_parts[0][member] = scratch(bytes);
            receive(transport, m_place.processOf[member], moveCode, m_parts[0][member], bytes);
        }
    for (const Arrival& arrival : m_arrivals)
        for (std::size_t i = 0; i < m_place.processes.size(); ++i)
            if (m_place.processes[i] != m_place.own)
                send(transport, m_place.processes[i], moveCode, arrival.request->input.as<std::byte>() + partBegin(i) * size,
                     (partBegin(i + 1) - partBegin(i)) * size);
}

/// What each process has summed goes to all others.
void Operation::startExchange(Transport& transport)
{
    const std::int64_t size = bytesOf(own(0).input.type);
    auto* const output = own(0).output.as<std::byte>();
    for (std::size_t i = 0; i < m_place.processes.size(); ++i)
        if (m_place.processes[i] != m_place.own)
            receive(transport, m_place.processes[i], exchangeCode, output + partBegin(i) * size,
                    (partBegin(i + 1) - partBegin(i)) * size);
    for (const int process : m_place.processes)
        if (process != m_place.own)
            send(transport, process, exchangeCode, output + partBegin(ownPart()) * size,
                 (partBegin(ownPart() + 1) - partBegin(ownPart())) * size);
}

// Both sides go through pairs of members by sender, then by receiver.
void Operation::startMoveReduceScatter(Transport& transport)
{
    const std::int64_t bytes = own(0).output.bytes();
    m_parts.assign(m_arrivals.size(), std::vector<std::byte*>(m_inputs.size()));
    for (std::size_t member = 0; member < m_inputs.size(); ++member)
        for (std::size_t i = 0; i < m_arrivals.size(); ++i)
            if (m_place.processOf[member] == m_place.own) {
                m_parts[i][member] = const_cast<std::byte*>(m_inputs[member]) + own(i).member * bytes;
            } else {
                m_parts[i][member] = scratch(bytes);
                receive(transport, m_place.processOf[member], moveCode, m_parts[i][member], bytes);
            }
    for (const Arrival& arrival : m_arrivals)
        for (std::size_t to = 0; to < m_inputs.size(); ++to)
            if (m_place.processOf[to] != m_place.own)
                send(transport, m_place.processOf[to], moveCode,
                     arrival.request->input.as<std::byte>() + static_cast<std::int64_t>(to) * bytes, bytes);
}

void Operation::startMoveAllToAll(Transport& transport)
{
    const std::int64_t size = rowBytes(own(0).input);
    for (std::size_t from = 0; from < m_inputs.size(); ++from)
        for (const Arrival& to : m_arrivals)
            if (const std::int64_t rows = to.request->receiveRows[from]; rows > 0 && m_place.processOf[from] != m_place.own)
                receive(transport, m_place.processOf[from], moveCode,
                        to.request->output.as<std::byte>() + rowsBefore(to.request->receiveRows, static_cast<int>(from)) * size,
                        rows * size);
    for (const Arrival& from : m_arrivals)
        for (std::size_t to = 0; to < m_inputs.size(); ++to)
            if (const std::int64_t rows = from.request->sendRows[to]; rows > 0 && m_place.processOf[to] != m_place.own)
                send(transport, m_place.processOf[to], moveCode,
                     from.request->input.as<std::byte>() + rowsBefore(from.request->sendRows, static_cast<int>(to)) * size,
                     rows * size);
}

} // namespace live::remote
