// What attacks from the network are made of: a TCP connection and ZMTP 3.0 (ZeroMQ RFC 23) by hand, and how much memory this
// process holds.
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace test {

/// A TCP connection on this machine that says what it likes.
class RawPeer {
public:
    explicit RawPeer(int descriptor) : m_socket(descriptor) {}
    RawPeer(RawPeer&& other) noexcept : m_socket(std::exchange(other.m_socket, -1)) {}
    RawPeer& operator=(RawPeer&&) = delete;
    ~RawPeer()
    {
        if (m_socket >= 0)
            ::close(m_socket);
    }
    static RawPeer connectTo(int port)
    {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = loopback(port);
        if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            std::perror("connect");
        return RawPeer(socket);
    }
    static sockaddr_in loopback(int port)
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        return address;
    }

    /// Whether all of it went out: false once the other side has cut the connection, or takes nothing for two seconds.
    bool send(std::string_view bytes)
    {
        while (!bytes.empty()) {
            pollfd wait{m_socket, POLLOUT | POLLRDHUP, 0};
            if (::poll(&wait, 1, 2000) <= 0 || (wait.revents & POLLRDHUP) != 0)
                return false;
            const ssize_t sent = ::send(m_socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent <= 0)
                return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// Exactly so many bytes, or fewer if they do not come within two seconds.
    std::string receive(std::size_t count)
    {
        std::string bytes;
        while (bytes.size() < count) {
            pollfd wait{m_socket, POLLIN, 0};
            char buffer[4096];
            if (::poll(&wait, 1, 2000) <= 0)
                break;
            const ssize_t got = ::recv(m_socket, buffer, std::min(sizeof buffer, count - bytes.size()), 0);
            if (got <= 0)
                break;
            bytes.append(buffer, static_cast<std::size_t>(got));
        }
        return bytes;
    }
    bool isCut() const
    {
        pollfd wait{m_socket, POLLIN, 0};
        char byte = 0;
        while (::poll(&wait, 1, 0) > 0)
            if (::recv(m_socket, &byte, 1, MSG_DONTWAIT) <= 0)
                return true;
        return false;
    }

    /// Greeting and hand shake of a socket of this type ("DEALER"), without encryption.
    bool greet(const std::string& socketType)
    {
        std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
        greeting.resize(64, '\0');
        std::string ready("\x05READY\x0bSocket-Type", 18);
        ready += std::string("\0\0\0", 3) + static_cast<char>(socketType.size()) + socketType;
        if (!send(greeting) || receive(64).size() != 64 ||
            !send(std::string("\x04", 1) + static_cast<char>(ready.size()) + ready))
            return false;
        const std::string head = receive(2); // its own READY
        return head.size() == 2 && receive(static_cast<unsigned char>(head[1])).size() == static_cast<unsigned char>(head[1]);
    }
    /// One part of a message; more: it is not the last.
    static std::string part(std::string_view bytes, bool more)
    {
        std::string frame(1, static_cast<char>((more ? 1 : 0) | (bytes.size() > 255 ? 2 : 0)));
        for (int byte = bytes.size() > 255 ? 7 : 0; byte >= 0; --byte)
            frame += static_cast<char>(static_cast<std::uint64_t>(bytes.size()) >> (8 * byte));
        return frame += bytes;
    }
    /// A message without an end, in parts of 4,000 bytes: how many bytes the other side took before it had enough, at most so
    /// many.
    std::size_t sendWithoutEnd(std::size_t most)
    {
        std::string parts;
        for (int i = 0; i < 16; ++i)
            parts += part(std::string(4000, 'x'), true);
        std::size_t sent = 0;
        while (sent < most && send(parts))
            sent += parts.size();
        return sent;
    }

private:
    int m_socket = -1;
};

inline int portOf(const std::string& endpoint)
{
    return std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
}

/// Memory that this process holds, MB. Sanitizers hold on to more than the program does: 0 with them.
inline std::int64_t residentMegabytes()
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    long pages = 0, resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (!file || std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        std::fclose(file);
    return std::int64_t{resident} * ::sysconf(_SC_PAGESIZE) >> 20;
#endif
}

} // namespace test
