#include "live/stream/viewer.h"

#include "live/stream/line.h"
#include "live/stream/messages.h"
#include "live/stream/received_run.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <span>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <zmq_addon.hpp>

namespace live {
namespace {

using Clock = std::chrono::steady_clock;

/// After so many handshakes in a row that came to nothing it is the keys, not chance.
constexpr int kMostFailedHandshakes = 3;

/// Wakes a thread that polls. Any thread may ring.
class Bell {
public:
    Bell() : m_file(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
    {
        if (m_file < 0)
            throw sim::Error(std::string("cannot attach: ") + std::strerror(errno));
    }
    ~Bell() { ::close(m_file); }
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    int file() const { return m_file; }
    void ring() const
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(m_file, &one, sizeof one);
    }
    void silence() const
    {
        std::uint64_t rings = 0;
        [[maybe_unused]] const ssize_t taken = ::read(m_file, &rings, sizeof rings);
    }

private:
    int m_file;
};

} // namespace

const char* runRequestName(RunRequest request)
{
    constexpr std::array<const char*, 4> kNames = {"pause", "resume", "stop", "checkpoint"};
    return kNames[static_cast<std::size_t>(request)];
}

bool ViewerUpdate::empty() const
{
    return !description && kinds.empty() && spans.empty() && memory.empty() && steps.empty() && !run && replies.empty() &&
           !stateChanged && missed == 0;
}

class Viewer::Thread {
public:
    Thread(std::string endpoint, ViewerOptions options)
        : m_endpoint(std::move(endpoint)), m_options(std::move(options)), m_run(m_options.history)
    {
        checkEndpoint(m_endpoint);
        m_state.message = "looking for a run at " + m_endpoint;
        connect();
        m_thread = std::thread([this] { work(); });
    }
    ~Thread()
    {
        m_stop = true;
        m_bell.ring();
        m_thread.join();
    }

    const std::string& endpoint() const { return m_endpoint; }
    ViewerStateText state() const
    {
        const std::lock_guard lock(m_mutex);
        return m_state;
    }
    RunHistory history() const { return m_run.history(); }
    bool poll(ViewerUpdate& update)
    {
        const bool mustAcknowledge = m_run.poll(update);
        {
            const std::lock_guard lock(m_mutex);
            update.stateChanged = std::exchange(m_stateChanged, false);
        }
        if (mustAcknowledge)
            m_bell.ring();
        return !update.empty();
    }
    void request(RunRequest request)
    {
        {
            const std::lock_guard lock(m_mutex);
            m_requests.push_back(request);
        }
        m_bell.ring();
    }

private:
    void connect();
    void work();
    void listenToSocketEvents();
    void receiveAll();
    void receive(std::span<const std::string_view> frames);
    void checkUnfinished();
    void speak();
    void hello();
    bool send(const Json&);
    void setState(ViewerState, const std::string& message);
    void lose(const std::string& why);
    bool isFinal() const { return m_isFinal; }
    std::string wrongKeys() const;
    std::string whoRefuses() const { return "the run at " + m_endpoint; }

    const std::string m_endpoint;
    const ViewerOptions m_options;
    Bell m_bell;
    std::atomic<bool> m_stop{false};

    // The thread's own.
    zmq::context_t m_context;
    zmq::socket_t m_socket, m_events;
    std::optional<Line> m_line; ///< while there is a connection
    std::string m_name;         ///< of the run
    std::uint64_t m_toldAcknowledged = 0;
    int m_failedHandshakes = 0;
    bool m_isFinal = false, m_isDisconnected = false, m_wakeNeeded = false;
    bool m_isSilent = false; ///< connected, but not heard of for too long
    Clock::time_point m_heard, m_spoken;

    ReceivedRun m_run;

    mutable std::mutex m_mutex; ///< all below
    ViewerStateText m_state;
    bool m_stateChanged = false;
    std::vector<RunRequest> m_requests;

    std::thread m_thread;
};

void Viewer::Thread::connect()
{
    m_socket = zmq::socket_t(m_context, zmq::socket_type::dealer);
    m_socket.set(zmq::sockopt::linger, 200);     // for the goodbye
    m_socket.set(zmq::sockopt::immediate, true); // nothing is queued for a run that is not there
    m_socket.set(zmq::sockopt::reconnect_ivl, 100);
    m_socket.set(zmq::sockopt::reconnect_ivl_max, 1000);
    // Above the budget, so that what goes over it is told with its numbers; this bounds what is asked for at once.
    m_socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(4 * kRunBudget.messageBytes));
    m_socket.set(zmq::sockopt::rcvhwm, 64);
    m_socket.set(zmq::sockopt::ipv6, m_endpoint.find('[') != std::string::npos);
    constexpr const char* kEvents = "inproc://events";
    try {
        if (m_options.keys) {
            m_socket.set(zmq::sockopt::curve_serverkey, m_options.keys->serverPublicKey);
            m_socket.set(zmq::sockopt::curve_publickey, m_options.keys->own.publicKey);
            m_socket.set(zmq::sockopt::curve_secretkey, m_options.keys->own.secretKey);
        }
    } catch (const zmq::error_t&) {
        throw sim::Error("cannot attach to " + m_endpoint + ": a key is not 40 characters of Z85");
    }
    zmq_socket_monitor(m_socket.handle(), kEvents, ZMQ_EVENT_ALL);
    m_events = zmq::socket_t(m_context, zmq::socket_type::pair);
    m_events.set(zmq::sockopt::linger, 0);
    m_events.connect(kEvents);
    try {
        m_socket.connect(m_endpoint);
    } catch (const zmq::error_t& error) {
        throw sim::Error("cannot attach to \"" + m_endpoint + "\": " + error.what() +
                         "; an endpoint is tcp://HOST:PORT or ipc://PATH, as the run prints it");
    }
}

void Viewer::Thread::work()
{
    m_heard = Clock::now();
    try {
        while (!m_stop) {
            std::array<zmq::pollitem_t, 3> items = {{{m_socket.handle(), 0, ZMQ_POLLIN, 0},
                                                     {m_events.handle(), 0, ZMQ_POLLIN, 0},
                                                     {nullptr, m_bell.file(), ZMQ_POLLIN, 0}}};
            zmq::poll(items.data(), items.size(), std::chrono::milliseconds(100));
            m_bell.silence();
            listenToSocketEvents();
            receiveAll();
            checkUnfinished();
            if (!isFinal()) {
                speak();
            } else if (m_run.isGreeted()) {
                m_run.connectionEnded();
                send(header("bye"));
            } else if (!std::exchange(m_isDisconnected, true)) {
                m_socket.disconnect(m_socket.get(zmq::sockopt::last_endpoint));
            }
            if (std::exchange(m_wakeNeeded, false) && m_options.wake)
                m_options.wake();
        }
        if (m_run.isGreeted())
            send(header("bye"));
    } catch (const std::exception& error) {
        setState(ViewerState::lost,
                 "the connection to " + m_endpoint + " broke: " + error.what() + ". All that was received is kept");
        if (m_options.wake)
            m_options.wake();
    }
    zmq_socket_monitor(m_socket.handle(), nullptr, 0);
}

void Viewer::Thread::listenToSocketEvents()
{
    while (true) {
        std::vector<zmq::message_t> frames;
        if (!zmq::recv_multipart(m_events, std::back_inserter(frames), zmq::recv_flags::dontwait))
            return;
        if (frames.empty() || frames[0].size() < 6 || isFinal())
            continue;
        std::uint16_t event = 0;
        std::memcpy(&event, frames[0].data(), sizeof event);
        std::uint32_t value = 0;
        std::memcpy(&value, static_cast<const char*>(frames[0].data()) + sizeof event, sizeof value);
        switch (event) {
        case ZMQ_EVENT_CONNECTED:
            if (!m_line.emplace(static_cast<int>(value)).goesTo(m_endpoint))
                m_line.reset();
            break;
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            m_failedHandshakes = 0;
            hello();
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            setState(ViewerState::refused, whoRefuses() + " refused the key " +
                                               (m_options.keys ? m_options.keys->own.publicKey : std::string("(none)")) +
                                               ": ask its owner to add it to the allowed viewers");
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            // ZeroMQ does not try again after this.
            setState(ViewerState::refused, value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
                                               ? wrongKeys()
                                               : "what answers at " + m_endpoint + " is no run: it speaks another protocol");
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            if (++m_failedHandshakes >= kMostFailedHandshakes)
                setState(ViewerState::refused, wrongKeys());
            break;
        case ZMQ_EVENT_DISCONNECTED:
            m_line.reset();
            if (m_run.isGreeted())
                lose("the run at " + m_endpoint + " closed the connection without a word: it was killed, or the network broke");
            break;
        default:
            break;
        }
    }
}

std::string Viewer::Thread::wrongKeys() const
{
    if (!m_options.keys)
        return whoRefuses() + " demands keys: attach with its public key and one of your own";
    return whoRefuses() + " does not have the key " + m_options.keys->serverPublicKey +
           ": use the .pub file of the run's own key, or no keys if it runs without";
}

void Viewer::Thread::lose(const std::string& why)
{
    m_run.connectionEnded();
    setState(ViewerState::lost, why + ". All that was received is kept; trying again");
}

void Viewer::Thread::speak()
{
    const auto now = Clock::now();
    if (m_run.isGreeted() && !m_isSilent && now - m_heard > m_options.silence) {
        // The connection stands: should the run go on, it goes on from here.
        m_isSilent = true;
        setState(ViewerState::lost, "the run at " + m_endpoint + " has been silent for " +
                                        std::to_string(m_options.silence.count()) +
                                        " ms: it was stopped, or the network broke. All that was received is kept");
    }

    std::vector<RunRequest> requests;
    {
        const std::lock_guard lock(m_mutex);
        requests = std::exchange(m_requests, {});
    }
    for (const RunRequest request : requests) {
        Json message = header("control");
        message["action"] = runRequestName(request);
        if (m_run.isGreeted() && send(message)) {
            m_run.asked(request);
            continue;
        }
        m_run.notAsked(request, "there is no connection to a run at " + m_endpoint);
        m_wakeNeeded = true;
    }
    const std::uint64_t acknowledged = m_run.acknowledged();
    if (m_run.isGreeted() && m_toldAcknowledged < acknowledged) {
        Json message = header("ack");
        message["n"] = acknowledged;
        if (send(message))
            m_toldAcknowledged = acknowledged;
    }
    if (now - m_spoken >= kHeartbeat) {
        if (m_run.isGreeted())
            send(header("alive"));
        else
            hello();
    }
}

void Viewer::Thread::hello()
{
    if (const std::optional<Json> message = m_run.hello())
        send(*message);
    m_spoken = Clock::now();
}

bool Viewer::Thread::send(const Json& json)
{
    const std::string text = json.dump();
    const bool sent = m_socket.send(zmq::buffer(text), zmq::send_flags::dontwait).has_value();
    if (sent)
        m_spoken = Clock::now();
    return sent;
}

void Viewer::Thread::receiveAll()
{
    constexpr int kMostMessages = 100; // then the others get their turn
    for (int i = 0; i < kMostMessages && !m_stop; ++i) {
        std::vector<zmq::message_t> frames;
        if (!zmq::recv_multipart(m_socket, std::back_inserter(frames), zmq::recv_flags::dontwait))
            return;
        if (m_line)
            m_line->delivered();
        if (isFinal())
            continue;
        m_heard = Clock::now();
        if (std::exchange(m_isSilent, false) && m_run.isGreeted())
            setState(ViewerState::connected, "attached to " + m_name + " at " + m_endpoint);
        std::vector<std::string_view> parts(frames.size());
        std::transform(frames.begin(), frames.end(), parts.begin(), [](const auto& frame) { return frame.to_string_view(); });
        try {
            receive(parts);
        } catch (const std::exception& error) {
            setState(ViewerState::refused, "what answers at " + m_endpoint + " makes no sense: " + error.what());
        }
    }
}

/// ZeroMQ hands over whole messages only: of one without an end there is nothing to see here but what it takes.
void Viewer::Thread::checkUnfinished()
{
    const std::uint64_t bytes = m_line && !isFinal() ? m_line->unfinishedBytes() : 0;
    if (bytes <= kRunBudget.messageBytes)
        return;
    setState(ViewerState::refused, "what answers at " + m_endpoint + " makes no sense: it sent " + std::to_string(bytes) +
                                       " bytes of a message that did not end, where at most " +
                                       std::to_string(kRunBudget.messageBytes) + " are taken");
    m_line->cut();
}

void Viewer::Thread::receive(std::span<const std::string_view> frames)
{
    const ReceivedRun::Heard heard = m_run.take(frames);
    switch (heard.meaning) {
    case ReceivedRun::Meaning::nothing:
        break;
    case ReceivedRun::Meaning::greeted:
        m_name = heard.text;
        m_toldAcknowledged = 0;
        setState(ViewerState::connected, "attached to " + m_name + " at " + m_endpoint);
        break;
    case ReceivedRun::Meaning::anotherRun:
        setState(ViewerState::refused, "another run answers at " + m_endpoint +
                                           " now; the one that was watched is gone. All that was received is kept");
        break;
    case ReceivedRun::Meaning::whoAreYou:
        hello();
        break;
    case ReceivedRun::Meaning::refused:
        setState(ViewerState::refused, whoRefuses() + " refused: " + heard.text);
        break;
    case ReceivedRun::Meaning::ended:
        setState(ViewerState::ended, heard.text);
        break;
    case ReceivedRun::Meaning::news:
        m_wakeNeeded = true;
        break;
    }
}

void Viewer::Thread::setState(ViewerState state, const std::string& text)
{
    const std::string message = cut(text, kRunBudget.messageTextBytes); // a window lays it out
    const std::lock_guard lock(m_mutex);
    if (m_state.state == state && m_state.message == message)
        return;
    m_state = {state, message};
    m_stateChanged = true;
    m_isFinal = state == ViewerState::refused || state == ViewerState::ended;
    m_wakeNeeded = true;
}

Viewer::Viewer(const std::string& endpoint, ViewerOptions options)
    : m_thread(std::make_unique<Thread>(endpoint, std::move(options)))
{
}

Viewer::~Viewer() = default;

const std::string& Viewer::endpoint() const
{
    return m_thread->endpoint();
}

ViewerStateText Viewer::state() const
{
    return m_thread->state();
}

bool Viewer::poll(ViewerUpdate& update)
{
    return m_thread->poll(update);
}

RunHistory Viewer::history() const
{
    return m_thread->history();
}

void Viewer::request(RunRequest request)
{
    m_thread->request(request);
}

} // namespace live
