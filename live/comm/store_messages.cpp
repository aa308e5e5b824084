#include "live/comm/store_messages.h"

#include "sim/error.h"

#include <algorithm>
#include <cstring>

namespace live::store {
namespace {

constexpr std::uint32_t kMagic = 0x31735352; // "RSs1": changes with the protocol

/// Little endian, as all machines that run this are.
struct Header {
    std::uint32_t magic = kMagic;
    std::uint32_t type = 0;
    std::int64_t number = 0;
    std::uint32_t firstBytes = 0, secondBytes = 0;
};

} // namespace

std::string encode(const Message& message)
{
    if (message.first.size() > kBudget.textBytes || message.second.size() > kBudget.textBytes)
        throw sim::Error("the store takes keys and values of at most 64 MiB, not of " +
                         std::to_string(std::max(message.first.size(), message.second.size())) + " bytes");
    Header header;
    header.type = static_cast<std::uint32_t>(message.type);
    header.number = message.number;
    header.firstBytes = static_cast<std::uint32_t>(message.first.size());
    header.secondBytes = static_cast<std::uint32_t>(message.second.size());
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    return bytes + message.first + message.second;
}

std::optional<Message> decode(std::string& received, std::size_t mostTextBytes)
{
    Header header;
    if (received.size() < sizeof header) {
        if (std::memcmp(received.data(), &header.magic, std::min(received.size(), sizeof header.magic)) != 0)
            throw sim::Error("it does not speak as a store of Rankscope");
        return std::nullopt;
    }
    std::memcpy(&header, received.data(), sizeof header);
    if (header.magic != kMagic || header.type > static_cast<std::uint32_t>(Type::answer))
        throw sim::Error("it does not speak as a store of Rankscope");
    const std::size_t longest = std::max(header.firstBytes, header.secondBytes);
    if (longest > mostTextBytes)
        throw sim::Error("it sends a text of " + std::to_string(longest) + " bytes, where at most " +
                         std::to_string(mostTextBytes) + " are taken");
    const std::size_t total = sizeof header + header.firstBytes + std::size_t{header.secondBytes};
    if (received.size() < total)
        return std::nullopt;
    Message message{static_cast<Type>(header.type), header.number, received.substr(sizeof header, header.firstBytes),
                    received.substr(sizeof header + header.firstBytes, header.secondBytes)};
    received.erase(0, total);
    return message;
}

} // namespace live::store
