// TCP sockets as the store and the TCP transport use them. Every failure is a sim::Error that names the address, the port and
// what can be done.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace live {

/// Anyone who finds a port can connect to it: so many may be without introduction at a time, besides the processes that are
/// missing, and for so long. They hold nobody up.
struct StrangerBudget {
    std::size_t connections = 64;
    std::chrono::milliseconds introduction{5000};
};
inline constexpr StrangerBudget kStrangers{};

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) : m_descriptor(descriptor) {}
    Descriptor(Descriptor&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        std::swap(m_descriptor, other.m_descriptor);
        return *this;
    }
    ~Descriptor() { close(); }
    void close();
    int get() const { return m_descriptor; }
    explicit operator bool() const { return m_descriptor >= 0; }

private:
    int m_descriptor = -1;
};

/// Non-blocking, on `address` if it is this machine's, else on all of this machine's. Port 0: the system chooses.
Descriptor listenOn(const std::string& address, int port);
int portOf(const Descriptor&);
/// The numeric address that a socket is bound to on this side; "127.0.0.1" if that is all of them.
std::string addressOf(const Descriptor&);

/// Blocking; tries again while nobody listens there, until the time is up. `whose` is for the message: "process 0's store".
Descriptor connectTo(const std::string& address, int port, std::chrono::milliseconds timeout, const std::string& whose);
/// An invalid descriptor when nobody is waiting.
Descriptor acceptFrom(const Descriptor& listener);
void setBlocking(const Descriptor&, bool);

/// Of a blocking socket: all of it, or throws. sendAll may be given a text for the message: "process 3".
void sendAll(const Descriptor&, const void*, std::size_t bytes, const std::string& to);
/// Throws at the end of the connection, or when nothing came for so long.
void receiveAll(const Descriptor&, void*, std::size_t bytes, std::chrono::milliseconds timeout, const std::string& from);

std::string hostName();
std::string systemError(int number); ///< "Connection refused"

} // namespace live
