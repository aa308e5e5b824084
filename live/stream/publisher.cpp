#include "live/stream/publisher.h"

#include "live/stream/gatekeeper.h"
#include "live/stream/messages.h"
#include "live/stream/pack.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
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

std::string textOf(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

zmq::message_t messageOf(const std::string& text)
{
    return zmq::message_t(text.data(), text.size());
}

/// The block's bytes without a copy: the message holds the block.
zmq::message_t messageOf(const std::shared_ptr<const Block>& block)
{
    auto* const holder = new std::shared_ptr<const Block>(block);
    return zmq::message_t(
        const_cast<char*>(block->bytes.data()), block->bytes.size(),
        [](void*, void* hint) { delete static_cast<std::shared_ptr<const Block>*>(hint); }, holder);
}

/// ZeroMQ takes over the socket file of another run without a word.
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
    Server(Collector& collector, const PublishOptions& options) : m_collector(collector), m_options(options)
    {
        RunDescription run = collector.description();
        run.controllable = options.control != nullptr;
        m_runMessage = header("run");
        m_runMessage["run"] = toJson(run);
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
        const std::lock_guard lock(m_countsMutex);
        PublisherCounts counts = m_counts;
        counts.refusedKeys = m_gatekeeper ? m_gatekeeper->refused() : 0;
        return counts;
    }

private:
    struct Viewer {
        Collector::Cursor cursor;
        std::uint64_t nextMessage = 1;
        std::deque<std::pair<std::uint64_t, std::size_t>> onTheWay; ///< number and bytes of what it has not acknowledged
        std::size_t bytesOnTheWay = 0;
        Clock::time_point heard, spoken;
        bool toldEnd = false;
    };
    using Viewers = std::map<std::string, Viewer>; ///< by ZeroMQ's identity

    void listen();
    void serve();
    void receiveAll();
    void receive(const std::string& identity, const Json&);
    void attach(const std::string& identity, const Json&);
    void control(const std::string& identity, const Json&);
    void tick();
    void sendNews(Viewers::iterator);
    bool send(const std::string& identity, const Json&, std::vector<zmq::message_t> frames = {});
    template <class F>
    void count(F change)
    {
        const std::lock_guard lock(m_countsMutex);
        change(m_counts);
        m_counts.viewers = m_viewers.size();
    }

    Collector& m_collector;
    const PublishOptions m_options;
    Json m_runMessage;
    zmq::context_t m_context;
    std::unique_ptr<Gatekeeper> m_gatekeeper;
    zmq::socket_t m_socket;
    std::string m_endpoint, m_ipcPath;
    Viewers m_viewers;
    bool m_ending = false;
    mutable std::mutex m_countsMutex;
    PublisherCounts m_counts;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

void Publisher::Server::listen()
{
    const std::string& endpoint = m_options.endpoint;
    if (!isLocalEndpoint(endpoint) && !m_options.keys)
        throw sim::Error("cannot listen at " + endpoint +
                         " without keys: it may be reached from other machines. Give the run a key file and the public keys of "
                         "its viewers, or listen at tcp://127.0.0.1:0 and reach it through an SSH tunnel");
    if (m_options.keys && m_options.keys->allowedViewers.empty())
        throw sim::Error("cannot listen at " + endpoint +
                         " with keys: no viewer's public key is allowed, so nobody could attach");
    if (endpoint.starts_with("ipc://") && somebodyListens(endpoint.substr(6)))
        refuseTaken(endpoint);
    if (m_options.keys)
        m_gatekeeper = std::make_unique<Gatekeeper>(m_context, m_options.keys->allowedViewers);
    m_socket = zmq::socket_t(m_context, zmq::socket_type::router);
    m_socket.set(zmq::sockopt::router_mandatory, true);
    m_socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMostViewerBytes));
    m_socket.set(zmq::sockopt::linger, static_cast<int>(m_options.linger.count()));
    m_socket.set(zmq::sockopt::ipv6, endpoint.find('[') != std::string::npos);
    // What a viewer may have on the way is counted in bytes here; this bounds one that acknowledges what it has not read.
    m_socket.set(zmq::sockopt::sndhwm, 64);
    m_socket.set(zmq::sockopt::rcvhwm, 256);
    if (m_options.keys) {
        m_socket.set(zmq::sockopt::curve_server, true);
        m_socket.set(zmq::sockopt::curve_secretkey, m_options.keys->own.secretKey);
        m_socket.set(zmq::sockopt::zap_domain, "rankscope");
    }
    try {
        m_socket.bind(endpoint);
    } catch (const zmq::error_t& error) {
        if (error.num() == EADDRINUSE)
            refuseTaken(endpoint);
        throw sim::Error("cannot listen at " + endpoint + ": " + error.what() +
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
        auto nextTick = Clock::now();
        Clock::time_point end = Clock::time_point::max();
        while (true) {
            if (m_stop && !m_ending) {
                m_collector.collect();
                m_ending = true;
                end = Clock::now() + m_options.linger;
                nextTick = Clock::now();
            }
            const auto now = Clock::now();
            if (now >= nextTick) {
                tick();
                nextTick = now + (m_ending ? std::chrono::milliseconds(5) : m_options.interval);
            }
            const bool allTold =
                std::all_of(m_viewers.begin(), m_viewers.end(), [](const auto& viewer) { return viewer.second.toldEnd; });
            if (m_ending && (allTold || now >= end))
                break;
            std::array<zmq::pollitem_t, 1> items = {{{m_socket.handle(), 0, ZMQ_POLLIN, 0}}};
            const auto pause = std::chrono::ceil<std::chrono::milliseconds>(nextTick - Clock::now());
            zmq::poll(items.data(), items.size(), std::clamp(pause, std::chrono::milliseconds(0), m_options.interval));
            receiveAll();
        }
        for (const auto& [identity, viewer] : m_viewers)
            if (!viewer.toldEnd)
                send(identity, header("end"));
    } catch (const std::exception&) {
        // Whatever went wrong here, the run goes on; viewers see it fall silent.
        count([](PublisherCounts&) {});
    }
}

void Publisher::Server::receiveAll()
{
    // Bounded, so that a flood of messages cannot keep others from their batches.
    constexpr int kMostMessages = 1000;
    for (int i = 0; i < kMostMessages; ++i) {
        zmq::message_t identity;
        if (!m_socket.recv(identity, zmq::recv_flags::dontwait))
            return;
        std::string text;
        std::size_t frames = 0;
        bool more = identity.more();
        while (more) {
            zmq::message_t frame;
            if (!m_socket.recv(frame, zmq::recv_flags::none))
                return;
            if (frames++ == 0)
                text = frame.to_string();
            more = frame.more();
        }
        int version = 0;
        const std::optional<Json> json = frames > 0 && frames <= kMostViewerFrames ? readHeader(text, &version) : std::nullopt;
        if (json) {
            receive(identity.to_string(), *json);
            continue;
        }
        count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
        if (version != 0 && version != kProtocolVersion) {
            Json refused = header("refused");
            refused["message"] = "the run speaks version " + std::to_string(kProtocolVersion) +
                                 " of the protocol, the viewer version " + std::to_string(version) +
                                 ": use the same Rankscope for both";
            send(identity.to_string(), refused);
        }
    }
}

void Publisher::Server::receive(const std::string& identity, const Json& json)
{
    const std::string type = typeOf(json);
    if (type == "hello") {
        attach(identity, json);
        return;
    }
    const auto place = m_viewers.find(identity);
    if (place == m_viewers.end()) {
        if (type == "ack" || type == "alive" || type == "control")
            send(identity, header("who")); // it was forgotten while it slept
        else if (type != "bye")
            count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
        return;
    }
    Viewer& viewer = place->second;
    viewer.heard = Clock::now();
    if (type == "ack") {
        const std::uint64_t number = numberIn(json, "n");
        while (!viewer.onTheWay.empty() && viewer.onTheWay.front().first <= number) {
            viewer.bytesOnTheWay -= viewer.onTheWay.front().second;
            viewer.onTheWay.pop_front();
        }
    } else if (type == "control") {
        control(identity, json);
    } else if (type == "bye") {
        m_viewers.erase(place);
        count([](PublisherCounts&) {});
    } else if (type != "alive") {
        count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
    }
}

void Publisher::Server::attach(const std::string& identity, const Json& json)
{
    const bool isNew = !m_viewers.contains(identity);
    if (isNew && m_viewers.size() >= m_options.mostViewers) {
        Json refused = header("refused");
        refused["message"] = "the run has " + std::to_string(m_viewers.size()) + " viewers already, which is its limit";
        send(identity, refused);
        return;
    }
    if (!send(identity, m_runMessage))
        return;
    Viewer viewer;
    viewer.cursor = m_collector.beginning();
    if (textIn(json, "run") == m_collector.description().runId) {
        // Cut off and back again: goes on where it was.
        viewer.cursor.nextBlock = numberIn(json, "block");
        viewer.cursor.spansSeen = numberIn(json, "spans");
        viewer.cursor.kinds = static_cast<std::size_t>(numberIn(json, "kinds")); // one that lies gets nonsense
    }
    viewer.heard = viewer.spoken = Clock::now();
    m_viewers[identity] = std::move(viewer);
    count([&](PublisherCounts& counts) { counts.attached += isNew ? 1 : 0; });
}

void Publisher::Server::control(const std::string& identity, const Json& json)
{
    const std::string action = textIn(json, "action", 16);
    Json reply = header("reply");
    reply["action"] = action;
    reply["accepted"] = false;
    const std::optional<RunRequest> request = requestFrom(action);
    if (!request) {
        count([](PublisherCounts& counts) { ++counts.ignoredMessages; });
        return;
    }
    if (!m_options.control) {
        reply["message"] = "this run takes no requests from viewers";
    } else {
        try {
            std::string what;
            switch (*request) {
            case RunRequest::pause:
                what = m_options.control->pause();
                break;
            case RunRequest::resume:
                what = m_options.control->resume();
                break;
            case RunRequest::stop:
                what = m_options.control->stop();
                break;
            case RunRequest::checkpoint:
                what = m_options.control->checkpoint();
                break;
            }
            reply["message"] = what;
            reply["accepted"] = true;
        } catch (const std::exception& error) {
            reply["message"] = error.what();
        }
    }
    send(identity, reply);
}

void Publisher::Server::tick()
{
    const auto now = Clock::now();
    for (auto viewer = m_viewers.begin(); viewer != m_viewers.end();) {
        const auto next = std::next(viewer);
        if (now - viewer->second.heard > kViewerSilence) {
            m_viewers.erase(viewer);
            count([](PublisherCounts& counts) { ++counts.forgotten; });
        } else {
            sendNews(viewer);
        }
        viewer = next;
    }
}

void Publisher::Server::sendNews(Viewers::iterator place)
{
    const std::string identity = place->first;
    Viewer& viewer = place->second;
    bool more = true;
    while (more && viewer.bytesOnTheWay < m_options.windowBytes) {
        Collector::Cursor cursor = viewer.cursor;
        const Collector::News news = m_collector.since(cursor, kDataBytes);
        more = news.more;
        if (news.empty()) {
            const bool isOver = m_ending || hasEnded(news.state.status);
            if (isOver && !viewer.toldEnd && viewer.onTheWay.empty())
                viewer.toldEnd = send(identity, header("end"));
            break;
        }
        Json message = header("data");
        message["n"] = viewer.nextMessage;
        message["state"] = toJson(news.state);
        message["kinds_from"] = viewer.cursor.kinds;
        for (const sim::SpanKind& kind : news.kinds)
            message["kinds"].push_back(toJson(kind));
        std::vector<zmq::message_t> frames;
        std::size_t bytes = 0;
        std::uint64_t spans = 0;
        for (const auto& block : news.blocks) {
            message["blocks"].push_back(toJson(*block));
            spans += block->content == Block::Content::spans ? block->count : 0;
            bytes += block->bytes.size();
            frames.push_back(messageOf(block));
        }
        if (!news.steps.empty()) {
            const std::string steps = packSteps(news.steps);
            message["steps"] = true;
            bytes += steps.size();
            frames.push_back(messageOf(steps));
        }
        if (!send(identity, message, std::move(frames)))
            break; // its queue is full, or it has gone: the cursor stays where it was
        viewer.cursor = cursor;
        viewer.onTheWay.emplace_back(viewer.nextMessage++, bytes + kMostViewerBytes);
        viewer.bytesOnTheWay += bytes + kMostViewerBytes;
        viewer.spoken = Clock::now();
        viewer.toldEnd = false;
        count([&](PublisherCounts& counts) {
            counts.spansSent += spans;
            counts.spansMissed += news.missed;
            counts.bytesSent += bytes;
        });
    }
    if (Clock::now() - viewer.spoken >= kHeartbeat) {
        send(identity, header("alive"));
        viewer.spoken = Clock::now();
    }
}

bool Publisher::Server::send(const std::string& identity, const Json& json, std::vector<zmq::message_t> frames)
{
    try {
        zmq::message_t address(identity.data(), identity.size());
        if (!m_socket.send(address, zmq::send_flags::sndmore | zmq::send_flags::dontwait))
            return false;
    } catch (const zmq::error_t& error) {
        if (error.num() == EHOSTUNREACH)
            return false; // gone: it will be forgotten, or come back
        throw;
    }
    const std::string text = textOf(json);
    m_socket.send(messageOf(text), frames.empty() ? zmq::send_flags::none : zmq::send_flags::sndmore);
    for (std::size_t i = 0; i < frames.size(); ++i)
        m_socket.send(frames[i], i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
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
