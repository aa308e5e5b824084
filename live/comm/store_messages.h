// What the store's two sides say to each other: frames of a length, a type, a number and two texts. Private to the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace live::store {

enum class Type : std::uint8_t {
    // From a process.
    hello,     ///< number: process; first: processes, decimal; second: who it is, for messages
    set,       ///< first: key; second: value
    get,       ///< number: question; first: key
    add,       ///< number: question; first: key; second: decimal
    barrier,   ///< number: question; first: name
    clock,     ///< number: question
    goodbye,   ///< also from process 0's store
    abort,     ///< first: why. Also from process 0's store
    heartbeat, ///< also from process 0's store
    // From process 0's store.
    accepted, ///< to a hello: a store is listening here
    refused,  ///< first: why
    complete, ///< all processes are there
    answer,   ///< number: question; first: value
};

struct Message {
    Type type = Type::heartbeat;
    std::int64_t number = 0;
    std::string first, second;
};

/// As it goes over the wire. Begins with kMagic, so that a stranger is known at once.
std::string encode(const Message&);
/// Takes one message off the front of what was received. Nothing: more bytes are needed. Throws sim::Error if it is not from a
/// store.
std::optional<Message> decode(std::string& received);

} // namespace live::store
