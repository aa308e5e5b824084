// What the store's two sides say to each other: frames of a length, a type, a number and two texts. Private to the store.
#pragma once

#include <chrono>
#include <cstddef>
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
    heartbeat, ///< also from process 0's store. number: another one where the process, or any, has made progress
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

/// What process 0 lets a connection cost; how many strangers there may be is kStrangers' to say.
struct Budget {
    std::size_t strangerBytes = 4096;      ///< of a message of one that has not said hello, which takes some hundred
    std::size_t textBytes = 64U << 20U;    ///< of a key or a value
    std::size_t storedBytes = 256U << 20U; ///< of all keys and values: they are addresses and identifiers
    std::size_t unreadBytes = 256U << 20U; ///< of answers that a process does not take
    std::size_t openQuestions = 1U << 16U; ///< of all processes
    int readsInARow = 16;                  ///< of 64 KiB, then the others get their turn
};
inline constexpr Budget kBudget{};

/// As it goes over the wire. Begins with kMagic, so that a stranger is known at once.
std::string encode(const Message&);
/// Takes one message off the front of what was received. Nothing: more bytes are needed. Throws sim::Error if it is not from a
/// store, or has a text of more than so many bytes: before these are waited for.
std::optional<Message> decode(std::string& received, std::size_t mostTextBytes = kBudget.textBytes);

} // namespace live::store
