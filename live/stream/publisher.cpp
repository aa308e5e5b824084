#include "live/stream/publisher.h"

#include "live/stream/audience.h"
#include "live/stream/gatekeeper.h"
#include "live/stream/line.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <zmq_addon.hpp>

namespace live {
namespace {

using Clock = std::chrono::steady_clock;

/// The block's bytes without a copy: the message holds the block.
zmq::message_t messageOf(const Audience::Part& part)
{
    if (!part.block)
        return zmq::message_t(part.text.data(), part.text.size());
    const std::shared_ptr<const Block>& block = part.block;
    auto* const holder = new std::shared_ptr<const Block>(block);
    return zmq::message_t(
        const_cast<char*>(block->bytes.data()), block->bytes.size(),
        [](void*, void* hint) { delete static_cast<std::shared_ptr<const Block>*>(hint); }, holder);
}

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

} // namespace

class Publisher::Server {
public:
    Server(Collector& collector, const PublishOptions& options)
        : m_collector(collector), m_options(options),
          m_audience(collector, options,
                     [this](const std::string& viewer, std::vector<Audience::Part> parts) { return send(viewer, parts); })
    {
        listen();
        m_thread = std::thread([this] { serve(); });
    }

    ~Server()
    {
        m_stop = true;
        m_thread.join();
        if (m_ipcPath.empty())
            return;
        m_socket.close();
        std::error_code ignored;
        std::filesystem::remove(m_ipcPath, ignored);
    }

    const std::string& endpoint() const { return m_endpoint; }
    PublisherCounts counts() const
    {
        PublisherCounts counts = m_audience.counts();
        counts.refusedKeys = m_gatekeeper ? m_gatekeeper->refused() : 0;
        return counts;
    }

private:
    /// What is known of a connection besides what a viewer says over it.
    struct Connection {
        Line line;
        Clock::time_point known; ///< when it was last that of a viewer; at first: when it came
        std::string viewer;      ///< its name in the audience
    };

    void listen();
    void serve();
    void receiveAll();
    void followConnections();
    void checkConnections();
    bool send(const std::string& viewer, const std::vector<Audience::Part>&);

    Collector& m_collector;
    const PublishOptions m_options;
    Audience m_audience;
    zmq::context_t m_context;
    std::unique_ptr<Gatekeeper> m_gatekeeper;
    zmq::socket_t m_socket, m_events;
    std::string m_endpoint, m_ipcPath;
    std::map<int, Connection> m_connections; ///< by ZeroMQ's descriptor
    Clock::time_point m_logged;              ///< when one was last cut
    bool m_ending = false;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

/// ZeroMQ binds to addresses and interfaces, not to names; this one is known.
std::string inFigures(const std::string& endpoint)
{
    constexpr std::string_view kLocalhost = "tcp://localhost:";
    return endpoint.starts_with(kLocalhost) ? "tcp://127.0.0.1:" + endpoint.substr(kLocalhost.size()) : endpoint;
}

void Publisher::Server::listen()
{
    const std::string& endpoint = m_options.endpoint;
    checkEndpoint(endpoint);
    if (!isLocalEndpoint(endpoint) && !m_options.keys)
        throw sim::Error("cannot listen at " + endpoint +
                         " without keys: it may be reached from other machines. Give the run a key file and the public keys of "
                         "its viewers, or listen at tcp://127.0.0.1:0 and reach it through an SSH tunnel");
    if (m_options.keys && m_options.keys->allowedViewers.empty())
        throw sim::Error("cannot listen at " + endpoint +
                         " with keys: no viewer's public key is allowed, so nobody could attach");
    if (endpoint.starts_with("ipc://")) {
        checkIsSocketOrNothing(endpoint.substr(6));
        if (somebodyListens(endpoint.substr(6)))
            refuseTaken(endpoint);
    }
    if (m_options.keys)
        m_gatekeeper = std::make_unique<Gatekeeper>(m_context, m_options.keys->allowedViewers);
    m_socket = zmq::socket_t(m_context, zmq::socket_type::router);
    m_socket.set(zmq::sockopt::router_mandatory, true);
    m_socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kViewerBudget.header.bytes));
    m_socket.set(zmq::sockopt::linger, static_cast<int>(m_options.linger.count()));
    m_socket.set(zmq::sockopt::ipv6, endpoint.find('[') != std::string::npos);
    // What a viewer may have on the way is counted in bytes here; this bounds one that acknowledges what it has not read.
    m_socket.set(zmq::sockopt::sndhwm, static_cast<int>(kViewerBudget.sendQueue));
    m_socket.set(zmq::sockopt::rcvhwm, 64);
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
        ::chmod(m_ipcPath.c_str(), S_IRUSR | S_IWUSR); // its owner's viewers only
    }
}

void Publisher::Server::serve()
{
    try {
        auto nextTick = Clock::now(), lastRound = nextTick;
        Clock::time_point end = Clock::time_point::max();
        while (true) {
            if (m_stop && !m_ending) {
                m_collector.collect();
                m_ending = true;
                m_audience.end();
                end = Clock::now() + m_options.linger;
                nextTick = Clock::now();
            }
            const auto now = Clock::now();
            if (now - std::exchange(lastRound, now) > kViewerBudget.silenceWhenFull / 2) {
                m_audience.wasAway(now);
                for (auto& [descriptor, connection] : m_connections)
                    connection.known = now;
            }
            if (now >= nextTick) {
                m_audience.tick(now);
                nextTick = now + (m_ending ? std::chrono::milliseconds(5) : m_options.interval);
            }
            if (m_ending && (m_audience.everybodyKnowsTheEnd() || now >= end))
                break;
            std::array<zmq::pollitem_t, 2> items = {
                {{m_socket.handle(), 0, ZMQ_POLLIN, 0}, {m_events.handle(), 0, ZMQ_POLLIN, 0}}};
            const auto pause = std::chrono::ceil<std::chrono::milliseconds>(nextTick - Clock::now());
            zmq::poll(items.data(), items.size(), std::clamp(pause, std::chrono::milliseconds(0), m_options.interval));
            followConnections();
            receiveAll();
            checkConnections();
        }
        m_audience.sayEnd();
    } catch (const std::exception& error) {
        // Whatever went wrong here, the run goes on; viewers see it fall silent.
        if (m_options.log)
            m_options.log(std::string("viewers are served no more: ") + error.what());
    }
    zmq_socket_monitor(m_socket.handle(), nullptr, 0);
}

void Publisher::Server::receiveAll()
{
    // Bounded, so that a flood of messages cannot keep others from their batches.
    constexpr int kMostMessages = 1000;
    for (int i = 0; i < kMostMessages; ++i) {
        std::vector<zmq::message_t> frames;
        if (!zmq::recv_multipart(m_socket, std::back_inserter(frames), zmq::recv_flags::dontwait))
            return;
        const auto now = Clock::now();
        const std::string viewer = frames[0].to_string();
        std::vector<std::string_view> parts(frames.size() - 1);
        std::transform(frames.begin() + 1, frames.end(), parts.begin(), [](const auto& frame) { return frame.to_string_view(); });
        m_audience.receive(viewer, parts, now);
        const auto connection = m_connections.find(zmq_msg_get(frames.back().handle(), ZMQ_SRCFD));
        if (connection == m_connections.end())
            continue;
        connection->second.viewer = viewer;
        connection->second.line.delivered();
    }
}

void Publisher::Server::followConnections()
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
        m_connections.erase(static_cast<int>(descriptor));
        if (event != ZMQ_EVENT_ACCEPTED)
            continue;
        Line line(static_cast<int>(descriptor));
        if (line.comesTo(m_endpoint))
            m_connections.emplace(static_cast<int>(descriptor), Connection{std::move(line), Clock::now(), {}});
    }
}

/// Cuts what is over its budget. The run is not asked, and does not notice.
void Publisher::Server::checkConnections()
{
    const auto now = Clock::now();
    std::vector<std::pair<Clock::time_point, int>> strangers; ///< since when, and their descriptors
    std::map<int, std::string> why;
    for (auto& [descriptor, connection] : m_connections) {
        if (m_audience.contains(connection.viewer))
            connection.known = now;
        else
            strangers.emplace_back(connection.known, descriptor);
        if (const std::uint64_t bytes = connection.line.unfinishedBytes(); bytes > kViewerBudget.unfinishedBytes)
            why[descriptor] = "it sent " + std::to_string(bytes) + " bytes of a message that did not end, where at most " +
                              std::to_string(kViewerBudget.unfinishedBytes) + " are taken";
        else if (now - connection.known > kViewerBudget.hello)
            why[descriptor] = "nobody said hello over it for " + std::to_string(kViewerBudget.hello.count()) + " ms";
    }
    const std::size_t most = m_options.mostViewers * kViewerBudget.connectionsOfPlace;
    if (m_connections.size() > most) { // those go that were silent longest
        std::sort(strangers.begin(), strangers.end());
        strangers.resize(std::min(strangers.size(), m_connections.size() - most));
        for (const auto& [since, descriptor] : strangers)
            why[descriptor] =
                "there are " + std::to_string(m_connections.size()) + ", where at most " + std::to_string(most) + " can be";
    }
    for (const auto& [descriptor, reason] : why) {
        m_connections.at(descriptor).line.cut();
        m_connections.erase(descriptor);
        m_audience.countCut();
    }
    // One that comes again and again fills no log.
    if (!why.empty() && m_options.log && now - std::exchange(m_logged, now) > kViewerBudget.betweenLogs)
        m_options.log("a connection of a viewer was cut: " + why.begin()->second + " (" +
                      std::to_string(m_audience.counts().cutConnections) + " until now)");
}

bool Publisher::Server::send(const std::string& viewer, const std::vector<Audience::Part>& parts)
{
    try {
        zmq::message_t address(viewer.data(), viewer.size());
        if (!m_socket.send(address, zmq::send_flags::sndmore | zmq::send_flags::dontwait))
            return false;
    } catch (const zmq::error_t& error) {
        if (error.num() == EHOSTUNREACH)
            return false; // gone: it will be forgotten, or come back
        throw;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        zmq::message_t part = messageOf(parts[i]);
        m_socket.send(part, i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
    return true;
}

Publisher::Publisher(Collector& collector, const PublishOptions& options) : m_server(std::make_unique<Server>(collector, options))
{
}

Publisher::~Publisher() = default;

const std::string& Publisher::endpoint() const
{
    return m_server->endpoint();
}

PublisherCounts Publisher::counts() const
{
    return m_server->counts();
}

} // namespace live
