#include "live/stream/line.h"

#include <fcntl.h>
#include <linux/tcp.h> // its tcp_info is newer than that of netinet/tcp.h
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace live {

Line::Line(int descriptor) : m_descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {}

Line::~Line()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

Line::Line(Line&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)), m_whole(other.m_whole) {}

Line& Line::operator=(Line&& other) noexcept
{
    std::swap(m_descriptor, other.m_descriptor);
    std::swap(m_whole, other.m_whole);
    return *this;
}

bool Line::isAt(const std::string& endpoint, decltype(::getsockname)* name) const
{
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (name(m_descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0)
        return false;
    if (address.ss_family == AF_UNIX)
        return endpoint == std::string("ipc://") + reinterpret_cast<const sockaddr_un&>(address).sun_path;
    const in_port_t port = address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                                         : reinterpret_cast<const sockaddr_in&>(address).sin_port;
    return endpoint.ends_with(":" + std::to_string(ntohs(port)));
}

std::uint64_t Line::taken() const
{
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(m_descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return 0;
    int waiting = 0;
    if (::ioctl(m_descriptor, FIONREAD, &waiting) != 0 || waiting < 0)
        waiting = 0;
    const auto inSystem = static_cast<std::uint64_t>(waiting);
    return info.tcpi_bytes_received > inSystem ? info.tcpi_bytes_received - inSystem : 0;
}

std::uint64_t Line::unfinishedBytes() const
{
    const std::uint64_t now = taken();
    return now > m_whole ? now - m_whole : 0;
}

void Line::cut() const
{
    ::shutdown(m_descriptor, SHUT_RDWR);
}

} // namespace live
