// An input as messages of parts: each part is a byte (odd: another part of this message follows; the rest is the target's), its
// length in two bytes, the least first, and so many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fuzz {

struct Message {
    unsigned mark = 0; ///< of its first part
    std::vector<std::string_view> parts;
};

inline std::vector<Message> messagesOf(const std::uint8_t* data, std::size_t size)
{
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    std::vector<Message> messages;
    bool more = false;
    while (rest.size() >= 3) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(rest[i])); };
        const unsigned mark = byte(0);
        const std::size_t length = byte(1) + 256 * byte(2);
        if (!more)
            messages.push_back({mark, {}});
        messages.back().parts.push_back(rest.substr(3, length));
        rest.remove_prefix(3 + messages.back().parts.back().size());
        more = mark % 2 == 1;
    }
    return messages;
}

} // namespace fuzz
