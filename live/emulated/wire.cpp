#include "live/emulated/wire.h"

namespace live::emulated {

void Wire::send(int process, int tag, const void* data, std::size_t bytes)
{
    Outgoing& message = m_sent.emplace_back();
    const auto* const first = static_cast<const std::byte*>(data);
    message.bytes.assign(first, first + bytes);
    message.transfer.open = &message.open;
    m_transport->send(process, tag, message.bytes.data(), static_cast<std::int64_t>(bytes), message.transfer);
    m_transport->poll();
}

std::shared_ptr<Wire::Incoming> Wire::receive(int process, int tag, std::size_t bytes)
{
    auto message = std::make_shared<Incoming>();
    message->bytes.resize(bytes);
    message->m_transfer.open = &message->m_open;
    m_awaited.push_back(message);
    m_transport->receive(process, tag, message->bytes.data(), static_cast<std::int64_t>(bytes), message->m_transfer);
    return message;
}

bool Wire::poll()
{
    const bool moved = m_transport->poll();
    m_sent.remove_if([](const Outgoing& message) { return message.open == 0; });
    m_awaited.remove_if([](const auto& message) { return message->isDone(); });
    return moved;
}

} // namespace live::emulated
