#include "live/comm/socket.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace live {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeAddresses {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Empty, with the reason, where the name is not known.
Addresses resolve(const std::string& address, int port, int& error)
{
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list);
    return Addresses(list);
}

std::string place(const std::string& address, int port)
{
    return address + ":" + std::to_string(port);
}

std::string seconds(std::chrono::milliseconds time)
{
    const auto tenths = (time.count() + 50) / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void setOption(int descriptor, int level, int option)
{
    const int one = 1;
    setsockopt(descriptor, level, option, &one, sizeof one); // a wish: works without it
}

/// 0, or the error number of bind or listen.
int tryListen(const sockaddr* address, socklen_t length, Descriptor& result)
{
    Descriptor listener(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener)
        return errno;
    setOption(listener.get(), SOL_SOCKET, SO_REUSEADDR); // a run may follow another one at once
    if (bind(listener.get(), address, length) != 0 || listen(listener.get(), SOMAXCONN) != 0)
        return errno;
    result = std::move(listener);
    return 0;
}

/// 0, or the error number of connect.
int tryConnect(const addrinfo& address, int timeoutMs, Descriptor& result)
{
    Descriptor connection(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection)
        return errno;
    if (connect(connection.get(), address.ai_addr, address.ai_addrlen) != 0) {
        if (errno != EINPROGRESS)
            return errno;
        pollfd wait{connection.get(), POLLOUT, 0};
        if (::poll(&wait, 1, timeoutMs) <= 0)
            return ETIMEDOUT;
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0)
            return error;
    }
    // A loopback connection to a port of the outgoing range may meet itself (TCP's simultaneous open).
    sockaddr_storage here{}, there{};
    socklen_t hereLength = sizeof here, thereLength = sizeof there;
    if (getsockname(connection.get(), reinterpret_cast<sockaddr*>(&here), &hereLength) == 0 &&
        getpeername(connection.get(), reinterpret_cast<sockaddr*>(&there), &thereLength) == 0 && hereLength == thereLength &&
        std::memcmp(&here, &there, hereLength) == 0)
        return ECONNREFUSED;
    setOption(connection.get(), IPPROTO_TCP, TCP_NODELAY);
    result = std::move(connection);
    return 0;
}

sockaddr_storage localName(const Descriptor& descriptor)
{
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&name), &length);
    return name;
}

} // namespace

void Descriptor::close()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
    m_descriptor = -1;
}

std::string systemError(int number)
{
    return std::system_category().message(number);
}

std::string hostName()
{
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

Descriptor listenOn(const std::string& address, int port)
{
    int error = 0;
    const Addresses addresses = resolve(address, port, error);
    if (!addresses)
        throw sim::Error("the address " + address + " that process 0 is to listen on is not known: " + gai_strerror(error) +
                         "; set MASTER_ADDR to this machine's name or address");
    Descriptor listener;
    int number = tryListen(addresses->ai_addr, addresses->ai_addrlen, listener);
    if (number == EADDRNOTAVAIL) { // the others see this machine under an address that it does not know itself
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(static_cast<std::uint16_t>(port));
        number = tryListen(reinterpret_cast<const sockaddr*>(&any), sizeof any, listener);
    }
    if (number == EADDRINUSE)
        throw sim::Error("port " + std::to_string(port) + " of " + address +
                         " is already taken by another program; set MASTER_PORT to a free port, the same for all processes");
    if (number != 0)
        throw sim::Error("cannot listen on " + place(address, port) + ": " + systemError(number));
    return listener;
}

int portOf(const Descriptor& descriptor)
{
    const sockaddr_storage name = localName(descriptor);
    if (name.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

std::string addressOf(const Descriptor& descriptor)
{
    const sockaddr_storage name = localName(descriptor);
    std::array<char, NI_MAXHOST> text{};
    const socklen_t length = name.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (getnameinfo(reinterpret_cast<const sockaddr*>(&name), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return "127.0.0.1";
    const std::string address = text.data();
    return address == "0.0.0.0" || address == "::" ? "127.0.0.1" : address;
}

Descriptor connectTo(const std::string& address, int port, std::chrono::milliseconds timeout, const std::string& whose)
{
    const auto start = Clock::now();
    std::chrono::milliseconds pause{5};
    for (;;) {
        int error = 0;
        const Addresses addresses = resolve(address, port, error);
        if (!addresses && error != EAI_AGAIN)
            throw sim::Error(std::string("the address ").append(address).append(" of ").append(whose) +
                             " is not known: " + gai_strerror(error));
        std::string reason = addresses ? "" : gai_strerror(error);
        const auto left = [&] { return timeout - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start); };
        for (const addrinfo* candidate = addresses.get(); candidate; candidate = candidate->ai_next) {
            Descriptor connection;
            const int number =
                tryConnect(*candidate, static_cast<int>(std::clamp<std::int64_t>(left().count(), 1, 5000)), connection);
            if (number == 0) {
                setBlocking(connection, true);
                return connection;
            }
            reason = systemError(number);
        }
        if (left() <= pause)
            throw sim::Error(std::string(whose).append(" at ").append(place(address, port)) + " was not reachable for " +
                             seconds(timeout) + ": " + reason +
                             "; is that process running, and is the port open between the machines?");
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(250));
    }
}

Descriptor acceptFrom(const Descriptor& listener)
{
    Descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection)
        setOption(connection.get(), IPPROTO_TCP, TCP_NODELAY);
    return connection;
}

void setBlocking(const Descriptor& descriptor, bool blocking)
{
    const int flags = fcntl(descriptor.get(), F_GETFL);
    fcntl(descriptor.get(), F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void sendAll(const Descriptor& connection, const void* data, std::size_t bytes, const std::string& to)
{
    const char* position = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t sent = send(connection.get(), position, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            throw sim::Error("the connection to " + to + " broke: " + systemError(errno));
        position += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
}

void receiveAll(const Descriptor& connection, void* data, std::size_t bytes, std::chrono::milliseconds timeout,
                const std::string& from)
{
    const auto end = Clock::now() + timeout;
    char* position = static_cast<char*>(data);
    while (bytes > 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd wait{connection.get(), POLLIN, 0};
        const int ready = ::poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            throw sim::Error(from + " did not answer within " + seconds(timeout));
        const ssize_t received = recv(connection.get(), position, bytes, 0);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0)
            throw sim::Error("the connection to " + from + (received == 0 ? " was closed" : " broke: " + systemError(errno)));
        position += received;
        bytes -= static_cast<std::size_t>(received);
    }
}

} // namespace live
