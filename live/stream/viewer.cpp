#include "live/stream/viewer.h"

#include "live/stream/messages.h"
#include "live/stream/pack.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
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

template <class T>
void moveTo(std::vector<T>& to, std::vector<T>&& from)
{
    if (to.empty())
        to = std::move(from);
    else
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

} // namespace

const char* viewerStateName(ViewerState state)
{
    constexpr std::array<const char*, 5> kNames = {"connecting", "connected", "lost", "ended", "refused"};
    return kNames[static_cast<std::size_t>(state)];
}

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
    Thread(std::string endpoint, ViewerOptions options) : m_endpoint(std::move(endpoint)), m_options(std::move(options))
    {
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
    RunHistory history() const
    {
        const std::lock_guard lock(m_mutex);
        return m_history;
    }
    bool poll(ViewerUpdate& update)
    {
        bool mustAcknowledge = false;
        {
            const std::lock_guard lock(m_mutex);
            update = std::exchange(m_pending, {});
            if (m_acknowledged < m_received) {
                m_acknowledged = m_received;
                mustAcknowledge = true;
            }
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
    void receive(const Json&, std::vector<zmq::message_t>& frames);
    void receiveRun(const Json&);
    void receiveData(const Json&, std::vector<zmq::message_t>& frames);
    void receiveReply(const Json&);
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
    bool m_hasBlocks = false;                       ///< any at all: what was gone before is not missed
    bool m_greeted = false;                         ///< the run has answered and goes on from where we are
    std::uint64_t m_nextBlock = 0, m_spansSeen = 0; ///< where that is
    std::uint64_t m_toldAcknowledged = 0;
    int m_failedHandshakes = 0;
    bool m_isFinal = false, m_isDisconnected = false, m_wakeNeeded = false;
    bool m_isSilent = false; ///< connected, but not heard of for too long
    Clock::time_point m_heard, m_spoken;

    mutable std::mutex m_mutex; ///< all below
    ViewerStateText m_state;
    ViewerUpdate m_pending;
    RunHistory m_history;
    std::uint64_t m_received = 0, m_acknowledged = 0; ///< numbers of data messages: arrived; taken by poll()
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
    m_socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMostRunBytes));
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
            if (!isFinal()) {
                speak();
            } else if (std::exchange(m_greeted, false)) {
                send(header("bye"));
            } else if (!std::exchange(m_isDisconnected, true)) {
                m_socket.disconnect(m_socket.get(zmq::sockopt::last_endpoint));
            }
            if (std::exchange(m_wakeNeeded, false) && m_options.wake)
                m_options.wake();
        }
        if (m_greeted)
            send(header("bye"));
    } catch (const std::exception& error) {
        setState(ViewerState::lost, "the connection to " + m_endpoint + " broke: " + error.what());
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
            if (m_greeted)
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
    m_greeted = false;
    setState(ViewerState::lost, why + ". All that was received is kept; trying again");
}

void Viewer::Thread::speak()
{
    const auto now = Clock::now();
    if (m_greeted && !m_isSilent && now - m_heard > m_options.silence) {
        // The connection stands: should the run go on, it goes on from here.
        m_isSilent = true;
        setState(ViewerState::lost, "the run at " + m_endpoint + " has been silent for " +
                                        std::to_string(m_options.silence.count()) +
                                        " ms: it was stopped, or the network broke. All that was received is kept");
    }

    std::vector<RunRequest> requests;
    std::uint64_t acknowledged = 0;
    {
        const std::lock_guard lock(m_mutex);
        requests = std::exchange(m_requests, {});
        acknowledged = m_acknowledged;
    }
    for (const RunRequest request : requests) {
        Json message = header("control");
        message["action"] = runRequestName(request);
        if (m_greeted && send(message))
            continue;
        const std::lock_guard lock(m_mutex);
        m_pending.replies.push_back({request, false, "there is no connection to a run at " + m_endpoint});
        m_wakeNeeded = true;
    }
    if (m_greeted && m_toldAcknowledged < acknowledged) {
        Json message = header("ack");
        message["n"] = acknowledged;
        if (send(message))
            m_toldAcknowledged = acknowledged;
    }
    if (now - m_spoken >= kHeartbeat) {
        if (m_greeted)
            send(header("alive"));
        else
            hello();
    }
}

void Viewer::Thread::hello()
{
    Json message = header("hello");
    {
        const std::lock_guard lock(m_mutex);
        message["run"] = m_history.description.runId;
        message["kinds"] = m_history.kinds.size();
    }
    message["block"] = m_nextBlock;
    message["spans"] = m_spansSeen;
    send(message);
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
        if (frames.empty() || isFinal())
            continue;
        const std::optional<Json> json = readHeader(frames[0].to_string_view());
        if (!json)
            continue;
        m_heard = Clock::now();
        if (std::exchange(m_isSilent, false) && m_greeted)
            setState(ViewerState::connected, "attached to " + m_history.description.name + " at " + m_endpoint);
        try {
            receive(*json, frames);
        } catch (const std::exception& error) {
            setState(ViewerState::refused, "what answers at " + m_endpoint + " makes no sense: " + error.what());
        }
    }
}

void Viewer::Thread::receive(const Json& json, std::vector<zmq::message_t>& frames)
{
    const std::string type = typeOf(json);
    if (type == "run") {
        receiveRun(json);
    } else if (type == "refused") {
        setState(ViewerState::refused, whoRefuses() + " refused: " + textIn(json, "message"));
    } else if (type == "who") {
        m_greeted = false;
        hello();
    } else if (!m_greeted) {
        return; // of before the connection broke
    } else if (type == "data") {
        receiveData(json, frames);
    } else if (type == "reply") {
        receiveReply(json);
    } else if (type == "end") {
        std::string how;
        {
            const std::lock_guard lock(m_mutex);
            const RunState& run = m_history.state;
            how = hasEnded(run.status)
                      ? std::string("the run has ") + (run.status == RunStatus::failed ? "failed" : runStatusName(run.status))
                      : "the run has closed its doors";
            if (run.status == RunStatus::stopped)
                how = "the run was stopped";
            if (!run.message.empty())
                how += ": " + run.message;
        }
        setState(ViewerState::ended, how);
    }
}

void Viewer::Thread::receiveRun(const Json& json)
{
    const auto run = json.find("run");
    RunDescription description = descriptionFrom(run != json.end() ? *run : Json::object());
    {
        const std::lock_guard lock(m_mutex);
        std::string& known = m_history.description.runId;
        m_greeted = known.empty() || known == description.runId;
        if (known.empty()) {
            m_history.description = description;
            m_pending.description = std::move(description);
        }
        m_received = m_acknowledged = m_toldAcknowledged = 0; // messages are counted anew
    }
    if (m_greeted)
        setState(ViewerState::connected, "attached to " + m_history.description.name + " at " + m_endpoint);
    else
        setState(ViewerState::refused, "another run answers at " + m_endpoint +
                                           " now; the one that was watched is gone. All that was received is kept");
}

void Viewer::Thread::receiveData(const Json& json, std::vector<zmq::message_t>& frames)
{
    // A second hello that crossed the answer to the first makes the run begin again: what is known is skipped.
    ViewerUpdate news;
    std::vector<std::shared_ptr<const Block>> blocks;
    if (const auto kinds = json.find("kinds"); kinds != json.end() && kinds->is_array()) {
        std::uint64_t number = numberIn(json, "kinds_from");
        if (number > m_history.kinds.size())
            throw sim::Error("kinds of spans were left out");
        for (const Json& kind : *kinds)
            if (number++ >= m_history.kinds.size())
                news.kinds.push_back(kindFrom(kind));
    }
    // Only this thread writes the history, so it may read it unlocked.
    const PackLimits limits{m_history.description.worldSize, m_history.kinds.size() + news.kinds.size()};
    std::size_t frame = 1;
    const auto nextFrame = [&] {
        if (frame >= frames.size())
            throw sim::Error("a message has too few parts");
        return frames[frame++].to_string_view();
    };
    if (const auto headers = json.find("blocks"); headers != json.end() && headers->is_array()) {
        for (const Json& blockHeader : *headers) {
            Block block = blockFrom(blockHeader);
            block.bytes = std::string(nextFrame());
            if (block.sequence < m_nextBlock)
                continue;
            if (m_hasBlocks && block.spansBefore > m_spansSeen)
                news.missed += block.spansBefore - m_spansSeen;
            const std::size_t before = news.spans.size() + news.memory.size();
            if (block.content == Block::Content::spans)
                unpackSpans(block.bytes, limits, news.spans);
            else
                unpackMemory(block.bytes, limits, news.memory);
            block.count = static_cast<std::uint32_t>(news.spans.size() + news.memory.size() - before);
            m_nextBlock = block.sequence + 1;
            m_spansSeen = block.spansBefore + (block.content == Block::Content::spans ? block.count : 0);
            m_hasBlocks = true;
            blocks.push_back(std::make_shared<const Block>(std::move(block)));
        }
    }
    if (json.contains("steps"))
        unpackSteps(nextFrame(), news.steps);
    if (const auto state = json.find("state"); state != json.end())
        news.run = stateFrom(*state);
    const std::lock_guard lock(m_mutex);
    m_received = std::max(m_received, numberIn(json, "n"));
    m_history.kinds.insert(m_history.kinds.end(), news.kinds.begin(), news.kinds.end());
    for (auto& block : blocks)
        m_history.add(std::move(block));
    for (const StepSummary& step : news.steps)
        m_history.step(step.step) = step;
    m_history.trim(m_options.history);
    if (news.run)
        m_history.state = *news.run;

    moveTo(m_pending.kinds, std::move(news.kinds));
    moveTo(m_pending.spans, std::move(news.spans));
    moveTo(m_pending.memory, std::move(news.memory));
    for (const StepSummary& step : news.steps) {
        auto& pending = m_pending.steps;
        const auto place = std::lower_bound(pending.begin(), pending.end(), step.step,
                                            [](const StepSummary& summary, int number) { return summary.step < number; });
        if (place != pending.end() && place->step == step.step)
            *place = step;
        else
            pending.insert(place, step);
    }
    if (news.run)
        m_pending.run = std::move(news.run);
    m_pending.missed += news.missed;
    m_wakeNeeded = true;
}

void Viewer::Thread::receiveReply(const Json& json)
{
    const std::optional<RunRequest> request = requestFrom(textIn(json, "action"));
    if (!request)
        return;
    const auto accepted = json.find("accepted");
    const std::lock_guard lock(m_mutex);
    m_pending.replies.push_back(
        {*request, accepted != json.end() && accepted->is_boolean() && accepted->get<bool>(), textIn(json, "message")});
    m_wakeNeeded = true;
}

void Viewer::Thread::setState(ViewerState state, const std::string& message)
{
    const std::lock_guard lock(m_mutex);
    if (m_state.state == state && m_state.message == message)
        return;
    m_state = {state, message};
    m_pending.stateChanged = true;
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
