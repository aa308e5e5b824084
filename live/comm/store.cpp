#include "live/comm/store.h"

#include "live/comm/socket.h"
#include "live/comm/store_messages.h"
#include "live/comm/store_server.h"
#include "live/record/recorder.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace live {
namespace {

using store::Message;
using store::Type;
using Clock = std::chrono::steady_clock;

class TcpStore : public Store {
public:
    TcpStore(const LaunchEnvironment& launch, const StoreOptions& options)
        : m_launch(launch), m_options(options),
          m_who("process " + std::to_string(launch.process) + " (" + hostName() + ", pid " + std::to_string(getpid()) + ")"),
          m_wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    {
        std::string address = launch.masterAddress;
        m_port = launch.masterPort;
        if (launch.process == 0) {
            m_server = std::make_unique<store::Server>(launch, options);
            m_port = m_server->port();
            address = m_server->address();
        }
        m_server0 = "process 0's store at " + address + ":" + std::to_string(m_port);
        join(address);
        m_lastHeard = m_lastRound = Clock::now();
        m_thread = std::thread([this] { listen(); });
        try {
            wait("the other processes", m_options.connectTimeout * 2, [this] { return m_complete; });
        } catch (...) {
            stop();
            throw;
        }
    }
    ~TcpStore() override
    {
        try {
            send({Type::goodbye, 0, {}, {}});
        } catch (const sim::Error&) { // process 0 has left before: nobody to say it to
        }
        stop();
    }
    TcpStore(const TcpStore&) = delete;
    TcpStore& operator=(const TcpStore&) = delete;

    int process() const override { return m_launch.process; }
    int processes() const override { return m_launch.processes; }
    int port() const override { return m_port; }
    std::string address() const override { return m_launch.process == 0 ? m_launch.masterAddress : addressOf(m_connection); }

    void set(const std::string& key, const std::string& value) override
    {
        throwIfOver();
        send({Type::set, 0, key, value});
    }
    std::string get(const std::string& key) override
    {
        return ask({Type::get, 0, key, {}}, "the store's key \"" + key + "\"").value;
    }
    std::int64_t add(const std::string& key, std::int64_t number) override
    {
        const Answer answer = ask({Type::add, 0, key, std::to_string(number)}, "the store's number \"" + key + "\"");
        return std::strtoll(answer.value.c_str(), nullptr, 10);
    }
    void barrier(const std::string& name) override
    {
        ask({Type::barrier, 0, name, {}}, "all processes to reach the barrier \"" + name + "\"");
    }
    ClockSample sampleClock() override
    {
        const Answer answer = ask({Type::clock, 0, {}, {}}, "process 0's clock");
        return {answer.sentNs, std::strtoll(answer.value.c_str(), nullptr, 10), answer.receivedNs};
    }

    void abort(const std::string& why) override
    {
        const std::string reason = m_who + ": " + why;
        if (!fail(reason))
            return;
        try {
            send({Type::abort, 0, reason, {}});
        } catch (const sim::Error&) { // process 0 is gone, and all others know that already
            return;
        }
        // Back from process 0, it is on its way to all: this process may now end.
        std::unique_lock lock(m_mutex);
        m_changed.wait_for(lock, std::chrono::seconds(1), [this] { return m_abortTold || m_gone; });
    }
    std::string abortReason() const override
    {
        const std::lock_guard lock(m_mutex);
        return m_aborted;
    }
    std::shared_ptr<void> onAbort(AbortHandler handler) override
    {
        const std::lock_guard lock(m_handlersMutex);
        const auto place = m_handlers.insert(m_handlers.end(), std::move(handler));
        if (m_handlersCalled)
            (*place)(abortReason());
        return {nullptr, [this, place](void*) {
                    const std::lock_guard remove(m_handlersMutex);
                    m_handlers.erase(place);
                }};
    }

private:
    struct Answer {
        std::string value;
        std::int64_t sentNs = 0, receivedNs = 0;
    };

    void join(const std::string& address)
    {
        const auto start = Clock::now();
        m_connection = connectTo(address, m_port, m_options.connectTimeout, "process 0's store");
        send({Type::hello, m_launch.process, std::to_string(m_launch.processes), m_who});
        const auto left = m_options.connectTimeout - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
        const Message first = receiveFirst(std::max<std::chrono::milliseconds>(left, std::chrono::seconds(1)));
        if (first.type == Type::refused)
            throw sim::Error(m_server0 + " refused: " + first.first);
        if (first.type != Type::accepted)
            throw sim::Error("what answers at " + address + ":" + std::to_string(m_port) + " is not a store of Rankscope");
    }

    Message receiveFirst(std::chrono::milliseconds timeout)
    {
        for (;;) {
            char byte = 0;
            receiveAll(m_connection, &byte, 1, timeout, m_server0);
            m_received += byte;
            try {
                if (auto message = store::decode(m_received, 4 * store::kBudget.strangerBytes)) // a refusal quotes a hello
                    return *message;
            } catch (const sim::Error&) {
                throw sim::Error("what answers at " + m_launch.masterAddress + ":" + std::to_string(m_port) +
                                 " is not a store of Rankscope: set MASTER_PORT to another port");
            }
        }
    }

    void send(const Message& message)
    {
        const std::string bytes = store::encode(message);
        const std::lock_guard lock(m_sendMutex);
        sendAll(m_connection, bytes.data(), bytes.size(), m_server0);
    }

    Answer ask(Message message, const std::string& what)
    {
        throwIfOver();
        Answer answer;
        {
            const std::lock_guard lock(m_mutex);
            message.number = ++m_lastQuestion;
            m_answers.emplace(message.number, std::nullopt);
        }
        const std::int64_t sentNs = nowNs();
        send(message);
        wait(what, m_options.waitTimeout, [&] {
            const auto found = m_answers.find(message.number);
            if (!found->second)
                return false;
            answer = std::move(*found->second);
            m_answers.erase(found);
            return true;
        });
        answer.sentNs = sentNs;
        return answer;
    }

    template <class Condition>
    void wait(const std::string& what, std::chrono::milliseconds timeout, Condition condition)
    {
        std::unique_lock lock(m_mutex);
        constexpr std::chrono::milliseconds kLook{100}; // a signal cannot notify
        bool met = false;
        const auto since = Clock::now();
        std::optional<Clock::time_point> stopping; ///< since when
        const auto end = [&] {
            if (!stopping && m_options.isStopping())
                stopping = Clock::now();
            const auto latest = std::max(since, m_lastProgress) + timeout;
            return stopping ? std::min(latest, std::max(*stopping, m_lastProgress) + m_options.stopTimeout) : latest;
        };
        const auto isOver = [&] { return (met = condition()) || !m_aborted.empty() || m_gone; };
        while (!m_changed.wait_until(lock, std::min(end(), Clock::now() + kLook), isOver) && Clock::now() < end()) {
        }
        if (met)
            return;
        if (!m_aborted.empty())
            throw sim::Error(m_aborted);
        if (m_gone)
            throw sim::Error(m_server0 + " has been closed while waiting for " + what);
        if (stopping && Clock::now() < std::max(since, m_lastProgress) + timeout)
            throw sim::Error(m_who + " was to stop, and still waited for " + what);
        throw sim::Error(m_who + " waited " + std::to_string(timeout.count() / 1000) + " s for " + what +
                         ", and no process made progress meanwhile");
    }

    void throwIfOver()
    {
        const std::lock_guard lock(m_mutex);
        if (!m_aborted.empty())
            throw sim::Error(m_aborted);
        if (m_gone)
            throw sim::Error(m_server0 + " has been closed");
    }

    /// The thread: what comes from process 0, and heartbeats.
    void listen()
    {
        auto lastHeartbeat = Clock::now();
        while (!m_stop && handleReceived()) {
            std::array<pollfd, 2> events{{{m_connection.get(), POLLIN, 0}, {m_wake.get(), POLLIN, 0}}};
            const int ready = ::poll(events.data(), events.size(), static_cast<int>(m_options.heartbeat.count()) / 2 + 1);
            const auto now = Clock::now();
            if (now - m_lastRound > m_options.silence / 2) // this process itself was stopped
                m_lastHeard = now;
            m_lastRound = now;
            if (ready > 0 && events[0].revents && !receive())
                return;
            if (now - m_lastHeard > m_options.silence) {
                fail(m_server0 + " has been silent for " + std::to_string(m_options.silence.count()) +
                     " ms: it is stopped, or its machine is out of reach");
                return;
            }
            if (now - lastHeartbeat < m_options.heartbeat)
                continue;
            lastHeartbeat = now;
            try {
                send({Type::heartbeat, static_cast<std::int64_t>(m_options.progress()), {}, {}});
            } catch (const sim::Error&) { // read as the end of the connection in the next round
            }
        }
    }

    bool receive()
    {
        std::array<char, 65536> buffer;
        const ssize_t bytes = recv(m_connection.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (bytes < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (bytes <= 0) {
            if (!m_stop)
                fail(m_server0 + " ended without saying goodbye: it was killed or crashed");
            return false;
        }
        m_lastHeard = Clock::now();
        m_received.append(buffer.data(), static_cast<std::size_t>(bytes));
        return true;
    }

    /// Whether more is to come.
    bool handleReceived()
    {
        try {
            while (const auto message = store::decode(m_received)) {
                const std::int64_t receivedNs = nowNs();
                if (message->type == Type::abort)
                    fail(message->first);
                const std::lock_guard lock(m_mutex);
                m_abortTold = m_abortTold || message->type == Type::abort;
                if (message->type == Type::heartbeat && std::exchange(m_progress, message->number) != message->number)
                    m_lastProgress = Clock::now();
                if (message->type == Type::goodbye)
                    m_gone = true;
                else if (message->type == Type::complete)
                    m_complete = true;
                else if (message->type == Type::answer)
                    if (const auto found = m_answers.find(message->number); found != m_answers.end())
                        found->second = Answer{message->first, 0, receivedNs};
                m_changed.notify_all();
                if (m_gone)
                    return false;
            }
            return true;
        } catch (const sim::Error& error) {
            fail(m_server0 + " sent damaged data: " + error.what());
            return false;
        }
    }

    /// False if the run had already failed. Whoever sees the reason finds that the handlers have been called.
    bool fail(const std::string& why)
    {
        const std::lock_guard handlers(m_handlersMutex);
        {
            const std::lock_guard lock(m_mutex);
            if (!m_aborted.empty())
                return false;
            m_aborted = why;
        }
        m_changed.notify_all();
        m_handlersCalled = true;
        for (const AbortHandler& handler : m_handlers)
            handler(why);
        return true;
    }

    void stop()
    {
        m_stop = true;
        eventfd_write(m_wake.get(), 1);
        m_thread.join();
    }

    const LaunchEnvironment m_launch;
    const StoreOptions m_options;
    const std::string m_who;
    std::string m_server0;
    int m_port = 0;
    std::unique_ptr<store::Server> m_server; ///< of process 0; outlives the client
    Descriptor m_wake, m_connection;
    std::mutex m_sendMutex;
    std::string m_received;
    Clock::time_point m_lastHeard, m_lastRound;
    std::atomic<bool> m_stop{false};

    mutable std::mutex m_mutex; ///< of what follows
    std::condition_variable m_changed;
    bool m_complete = false, m_gone = false, m_abortTold = false;
    std::string m_aborted;
    std::int64_t m_progress = 0; ///< as process 0's last heartbeat said: of all
    Clock::time_point m_lastProgress;
    std::int64_t m_lastQuestion = 0;
    std::map<std::int64_t, std::optional<Answer>> m_answers;

    std::recursive_mutex m_handlersMutex; ///< a handler may take another one off
    std::list<AbortHandler> m_handlers;
    bool m_handlersCalled = false;
    std::thread m_thread;
};

} // namespace

std::unique_ptr<Store> openStore(const LaunchEnvironment& launch, const StoreOptions& options)
{
    return std::make_unique<TcpStore>(launch, options);
}

} // namespace live
