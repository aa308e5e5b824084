// One connection under a ZeroMQ socket, seen from beside it. ZeroMQ bounds the parts of a message but not their number, and keeps
// the parts of a message without an end for ever; nor does it let go of a connection of which nothing is wanted. So what came
// over a connection since its last whole message is read from the system, and a connection over its budget is cut there.
// Where the system does not tell (ipc://, whose socket file only its owner may open) no bytes are counted. Private to
// live/stream.
#pragma once

#include <cstdint>
#include <string>
#include <sys/socket.h>

namespace live {

class Line {
public:
    /// A second descriptor of the same connection: what ZeroMQ closes and the system gives to others meanwhile is not touched.
    explicit Line(int descriptor);
    ~Line();
    Line(Line&& other) noexcept;
    Line& operator=(Line&& other) noexcept;

    // Whether its side here or there is the endpoint (tcp://…:PORT, ipc://PATH): the descriptor may have become another's before
    // it was doubled.
    bool comesTo(const std::string& endpoint) const { return isAt(endpoint, ::getsockname); }
    bool goesTo(const std::string& endpoint) const { return isAt(endpoint, ::getpeername); }
    /// A whole message was taken: what came before it is no part of an unfinished one.
    void delivered() { m_whole = taken(); }
    /// Bytes that ZeroMQ took from the system since then.
    std::uint64_t unfinishedBytes() const;
    /// Both sides see its end.
    void cut() const;

private:
    std::uint64_t taken() const;
    bool isAt(const std::string& endpoint, decltype(::getsockname)* name) const;

    int m_descriptor = -1;
    std::uint64_t m_whole = 0;
};

} // namespace live
