#include "live/stream/door.h"

#include "live/stream/gatekeeper.h"
#include "live/stream/open_files.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <zmq_addon.hpp>

namespace live {
namespace {

/// ZeroMQ removes what is at the path without a word; only the socket of a run that is gone may go.
void checkIsSocketOrNothing(const std::string& ipcPath)
{
    std::error_code none;
    const std::filesystem::file_status there = std::filesystem::symlink_status(ipcPath, none);
    if (std::filesystem::exists(there) && !std::filesystem::is_socket(there))
        throw sim::Error("cannot listen at ipc://" + ipcPath +
                         ": there is something else than a run's socket; name another file");
}

/// ZeroMQ takes over the socket file of another run as well.
bool somebodyListens(const std::string& ipcPath)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (ipcPath.size() >= sizeof address.sun_path)
        return false;
    std::memcpy(address.sun_path, ipcPath.c_str(), ipcPath.size());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return false;
    const bool answered = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return answered;
}

[[noreturn]] void refuseTaken(const std::string& endpoint)
{
    constexpr const char* kIpc = "ipc://";
    if (endpoint.starts_with(kIpc))
        throw sim::Error("cannot listen at " + endpoint + ": another run does; name another file");
    const std::string host = endpoint.substr(0, endpoint.rfind(':'));
    throw sim::Error("cannot listen at " + endpoint + ": the port is taken, maybe by another run; " + host +
                     ":0 takes any free port and says which");
}

/// ZeroMQ binds to addresses and interfaces, not to names; this one is known.
std::string inFigures(const std::string& endpoint)
{
    constexpr std::string_view kLocalhost = "tcp://localhost:";
    return endpoint.starts_with(kLocalhost) ? "tcp://127.0.0.1:" + endpoint.substr(kLocalhost.size()) : endpoint;
}

/// ZeroMQ ends the program where it gets no file for its threads and sockets: eight of its own and the socket itself, one for
/// keys and one while it looks the address up. A first connection shall come in, too.
DoorOptions withFilesLeft(DoorOptions options)
{
    constexpr std::int64_t kFilesOfDoor = 11;
    if (const std::string why = whyTooFewFiles(kFilesOfDoor + kFilesOfConnection); !why.empty())
        throw sim::Error("cannot listen at " + options.endpoint + ": " + why);
    return options;
}

/// Files that are made meanwhile, by any thread of the process, are for their owner.
class OwnersFilesOnly {
public:
    OwnersFilesOnly() : m_before(::umask(S_IRWXG | S_IRWXO)) {}
    ~OwnersFilesOnly() { ::umask(m_before); }
    OwnersFilesOnly(const OwnersFilesOnly&) = delete;
    OwnersFilesOnly& operator=(const OwnersFilesOnly&) = delete;

private:
    const mode_t m_before;
};

} // namespace

Door::Door(DoorOptions options) : m_options(withFilesLeft(std::move(options)))
{
    listen();
}

Door::~Door()
{
    zmq_socket_monitor(m_socket.handle(), nullptr, 0);
    if (m_ipcPath.empty())
        return;
    m_socket.close();
    std::error_code ignored;
    std::filesystem::remove(m_ipcPath, ignored);
}

std::uint64_t Door::refusedKeys() const
{
    return m_gatekeeper ? m_gatekeeper->refused() : 0;
}

void Door::listen()
{
    const std::string& endpoint = m_options.endpoint;
    checkEndpoint(endpoint);
    if (!isLocalEndpoint(endpoint) && !m_options.keys)
        throw sim::Error("cannot listen at " + endpoint +
                         " without keys: it may be reached from other machines. Give the run a key file and the public keys of "
                         "its " +
                         m_options.who + (m_options.who.ends_with('s') ? "es" : "s") +
                         ", or listen at tcp://127.0.0.1:0 and reach it through an SSH tunnel");
    if (m_options.keys && m_options.keys->allowedViewers.empty())
        throw sim::Error("cannot listen at " + endpoint + " with keys: no " + m_options.who +
                         "'s public key is allowed, so nobody could attach");
    if (endpoint.starts_with("ipc://")) {
        checkIsSocketOrNothing(endpoint.substr(6));
        if (somebodyListens(endpoint.substr(6)))
            refuseTaken(endpoint);
    }
    if (m_options.keys)
        m_gatekeeper = std::make_unique<Gatekeeper>(m_context, m_options.keys->allowedViewers);
    m_socket = zmq::socket_t(m_context, zmq::socket_type::router);
    m_socket.set(zmq::sockopt::router_mandatory, true);
    m_socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(m_options.messageBytes));
    m_socket.set(zmq::sockopt::linger, static_cast<int>(m_options.linger.count()));
    m_socket.set(zmq::sockopt::ipv6, endpoint.find('[') != std::string::npos);
    // What a peer may have on the way is counted in bytes by the owner; this bounds one that acknowledges what it has not read.
    m_socket.set(zmq::sockopt::sndhwm, m_options.sendQueue);
    m_socket.set(zmq::sockopt::rcvhwm, m_options.receiveQueue);
    constexpr const char* kEvents = "inproc://connections";
    zmq_socket_monitor(m_socket.handle(), kEvents, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED);
    m_events = zmq::socket_t(m_context, zmq::socket_type::pair);
    m_events.set(zmq::sockopt::linger, 0);
    m_events.connect(kEvents);
    if (m_options.keys) {
        m_socket.set(zmq::sockopt::curve_server, true);
        m_socket.set(zmq::sockopt::curve_secretkey, m_options.keys->own.secretKey);
        m_socket.set(zmq::sockopt::zap_domain, "rankscope");
    }
    try {
        const OwnersFilesOnly ownersOnly; // the socket file is there, and open to who may write to it, as soon as it is bound
        m_socket.bind(inFigures(endpoint));
    } catch (const zmq::error_t& error) {
        if (error.num() == EADDRINUSE)
            refuseTaken(endpoint);
        const bool isName = error.num() == ENODEV; // ZeroMQ's word for a host that is no address of this machine
        throw sim::Error("cannot listen at " + endpoint + ": " +
                         (isName ? "the host must be an address of this machine in figures" : error.what()) +
                         "; an endpoint is tcp://127.0.0.1:PORT (0: any free port) or ipc://PATH");
    }
    m_endpoint = m_socket.get(zmq::sockopt::last_endpoint);
    if (endpoint.starts_with("ipc://")) {
        m_ipcPath = endpoint.substr(6);
        ::chmod(m_ipcPath.c_str(), S_IRUSR | S_IWUSR); // its owner's peers only
    }
}

void Door::wait(std::chrono::milliseconds most)
{
    std::array<zmq::pollitem_t, 2> items = {{{m_socket.handle(), 0, ZMQ_POLLIN, 0}, {m_events.handle(), 0, ZMQ_POLLIN, 0}}};
    zmq::poll(items.data(), items.size(), most);
    follow();
}

bool Door::receive(std::string& peer, std::vector<zmq::message_t>& frames)
{
    frames.clear();
    if (!zmq::recv_multipart(m_socket, std::back_inserter(frames), zmq::recv_flags::dontwait))
        return false;
    peer = frames[0].to_string();
    const int descriptor = zmq_msg_get(frames.back().handle(), ZMQ_SRCFD);
    frames.erase(frames.begin());
    const auto connection = m_connections.find(descriptor);
    if (connection != m_connections.end()) {
        connection->second.peer = peer;
        connection->second.line.delivered();
    }
    return true;
}

void Door::follow()
{
    while (true) {
        std::vector<zmq::message_t> frames;
        if (!zmq::recv_multipart(m_events, std::back_inserter(frames), zmq::recv_flags::dontwait))
            return;
        std::uint16_t event = 0;
        std::uint32_t descriptor = 0;
        if (frames.empty() || frames[0].size() < sizeof event + sizeof descriptor)
            continue;
        std::memcpy(&event, frames[0].data(), sizeof event);
        std::memcpy(&descriptor, static_cast<const char*>(frames[0].data()) + sizeof event, sizeof descriptor);
        if (const auto before = m_connections.find(static_cast<int>(descriptor)); before != m_connections.end()) {
            if (!before->second.peer.empty())
                m_gone.push_back(before->second.peer);
            m_connections.erase(before);
        }
        if (event != ZMQ_EVENT_ACCEPTED)
            continue;
        Line line(static_cast<int>(descriptor));
        if (line.comesTo(m_endpoint))
            m_connections.emplace(static_cast<int>(descriptor), Connection{std::move(line), Clock::now(), {}});
    }
}

std::size_t Door::check(const std::function<bool(const std::string&)>& isKnown, std::uint64_t cutBefore)
{
    const auto now = Clock::now();
    std::vector<std::pair<Clock::time_point, int>> strangers; ///< since when, and their descriptors
    std::map<int, std::string> why;
    for (auto& [descriptor, connection] : m_connections) {
        if (isKnown(connection.peer))
            connection.known = now;
        else
            strangers.emplace_back(connection.known, descriptor);
        if (const std::uint64_t bytes = connection.line.unfinishedBytes(); bytes > m_options.unfinishedBytes)
            why[descriptor] = "it sent " + std::to_string(bytes) + " bytes of a message that did not end, where at most " +
                              std::to_string(m_options.unfinishedBytes) + " are taken";
        else if (now - connection.known > m_options.hello)
            why[descriptor] = "nobody said hello over it for " + std::to_string(m_options.hello.count()) + " ms";
    }
    const std::size_t most = m_options.mostConnections;
    if (m_connections.size() > most) { // those go that were silent longest
        std::sort(strangers.begin(), strangers.end());
        strangers.resize(std::min(strangers.size(), m_connections.size() - most));
        for (const auto& [since, descriptor] : strangers)
            why[descriptor] =
                "there are " + std::to_string(m_connections.size()) + ", where at most " + std::to_string(most) + " can be";
    }
    for (const auto& [descriptor, reason] : why) {
        const auto connection = m_connections.find(descriptor);
        connection->second.line.cut();
        if (!connection->second.peer.empty())
            m_gone.push_back(connection->second.peer);
        m_connections.erase(connection);
    }
    // One that comes again and again fills no log.
    if (!why.empty() && m_options.log && now - std::exchange(m_logged, now) > m_options.betweenLogs)
        m_options.log("a connection of a " + m_options.who + " was cut: " + why.begin()->second + " (" +
                      std::to_string(cutBefore + why.size()) + " until now)");
    return why.size();
}

void Door::cut(const std::string& peer)
{
    for (auto& [descriptor, connection] : m_connections)
        if (connection.peer == peer)
            connection.line.cut();
}

void Door::wasAway(Clock::time_point now)
{
    for (auto& [descriptor, connection] : m_connections)
        connection.known = now;
}

bool Door::send(const std::string& peer, std::vector<zmq::message_t> parts)
{
    try {
        zmq::message_t address(peer.data(), peer.size());
        if (!m_socket.send(address, zmq::send_flags::sndmore | zmq::send_flags::dontwait))
            return false;
    } catch (const zmq::error_t& error) {
        if (error.num() == EHOSTUNREACH)
            return false; // gone: it will be forgotten, or come back
        throw;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
        m_socket.send(parts[i], i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    return true;
}

} // namespace live
