#include "live/comm/tcp_transport.h"

#include "live/comm/socket.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

namespace live {
namespace {

/// Before each message.
struct Header {
    std::int64_t tag = 0, bytes = 0;
};
/// What a process says first on a new connection. The token is the run's: nobody else's connection is taken.
struct Introduction {
    std::uint64_t token = 0;
    std::int64_t process = 0;
};

/// A tebibyte: what says more is damaged.
constexpr std::int64_t kMostMessageBytes = std::int64_t{1} << 40;
/// Of a message that nobody has asked for yet, memory is taken as its bytes come, so much ahead.
constexpr std::size_t kAheadBytes = std::size_t{4} << 20;

constexpr std::size_t kStagingBytes = 64 << 10;
/// Payloads of at least so much more go from the socket to their place without a copy.
constexpr std::int64_t kDirectBytes = 16 << 10;

struct Posted {
    std::byte* data = nullptr;
    std::int64_t capacity = 0;
    Transfer* transfer = nullptr;
};

/// A message that nobody had asked for when it began to come.
struct Unexpected {
    std::vector<std::byte> data;
    bool complete = false;
    Posted claimedBy; ///< asked for while it came
};

struct Outgoing {
    Header header;
    const std::byte* data = nullptr;
    std::int64_t sent = 0; ///< header included
    Transfer* transfer = nullptr;
};

void complete(Transfer& transfer, std::int64_t bytes)
{
    transfer.bytes = bytes;
    --*transfer.open;
}

class Peer {
public:
    Peer(int process, Descriptor connection) : m_process(process), m_connection(std::move(connection)), m_staging(kStagingBytes)
    {
    }

    int descriptor() const { return m_connection.get(); }
    bool hasToSend() const { return !m_outgoing.empty(); }
    bool closed() const { return m_closed; }
    void abandon()
    {
        m_outgoing.clear();
        m_posted.clear();
        m_unexpected.clear();
        m_closed = true;
    }

    void send(int tag, const void* data, std::int64_t bytes, Transfer& transfer)
    {
        if (m_closed)
            throwLost();
        m_outgoing.push_back({{tag, bytes}, static_cast<const std::byte*>(data), 0, &transfer});
        if (m_outgoing.size() == 1)
            flush();
    }

    void receive(int tag, void* data, std::int64_t capacity, Transfer& transfer)
    {
        const Posted posted{static_cast<std::byte*>(data), capacity, &transfer};
        auto& early = m_unexpected[tag];
        const auto unclaimed =
            std::find_if(early.begin(), early.end(), [](const auto& message) { return !message->claimedBy.transfer; });
        if (unclaimed == early.end()) {
            if (m_closed)
                throwLost();
            m_posted[tag].push_back(posted);
            return;
        }
        (*unclaimed)->claimedBy = posted;
        if ((*unclaimed)->complete) {
            deliver(**unclaimed);
            early.erase(unclaimed);
        }
    }

    bool flush()
    {
        bool moved = false;
        while (!m_outgoing.empty()) {
            Outgoing& message = m_outgoing.front();
            const auto headerLeft = std::max<std::int64_t>(static_cast<std::int64_t>(sizeof(Header)) - message.sent, 0);
            const std::int64_t dataSent = std::max<std::int64_t>(message.sent - static_cast<std::int64_t>(sizeof(Header)), 0);
            std::array<iovec, 2> pieces{};
            pieces[0].iov_base =
                reinterpret_cast<std::byte*>(&message.header) + (sizeof(Header) - static_cast<std::size_t>(headerLeft));
            pieces[0].iov_len = static_cast<std::size_t>(headerLeft);
            pieces[1].iov_base = const_cast<std::byte*>(message.data) + dataSent; // sendmsg only reads
            pieces[1].iov_len = static_cast<std::size_t>(message.header.bytes - dataSent);
            msghdr all{};
            all.msg_iov = pieces.data();
            all.msg_iovlen = pieces.size();
            const ssize_t sent = sendmsg(m_connection.get(), &all, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && errno == EINTR)
                continue;
            if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                return moved;
            if (sent < 0)
                throwLost();
            moved = true;
            message.sent += sent;
            if (message.sent < static_cast<std::int64_t>(sizeof(Header)) + message.header.bytes)
                continue;
            complete(*message.transfer, message.header.bytes);
            m_outgoing.pop_front();
        }
        return moved;
    }

    /// Reads up to the end of one message that was asked for: its owner may want to say where the next one goes.
    bool read()
    {
        bool moved = false;
        while (!m_closed) {
            if (!m_inMessage && m_end - m_begin >= sizeof(Header))
                beginMessage();
            if (m_inMessage) {
                takeStaged();
                if (m_received == m_header.bytes) {
                    moved = true;
                    if (endMessage())
                        return true;
                    continue;
                }
            }
            const std::int64_t bytes = fill();
            if (bytes < 0)
                return moved;
            moved = true;
        }
        return moved;
    }

private:
    [[noreturn]] void throwLost() const
    {
        throw sim::Error("the connection to process " + std::to_string(m_process) +
                         " is gone while its data is waited for: it was killed, has crashed or has ended");
    }

    void beginMessage()
    {
        std::memcpy(&m_header, m_staging.data() + m_begin, sizeof m_header);
        m_begin += sizeof m_header;
        if (m_header.bytes < 0 || m_header.bytes > kMostMessageBytes || m_header.tag < 0 ||
            m_header.tag > std::numeric_limits<int>::max())
            throw sim::Error("process " + std::to_string(m_process) + " sent damaged data: a message of " +
                             std::to_string(m_header.bytes) + " bytes with tag " + std::to_string(m_header.tag));
        m_inMessage = true;
        m_received = 0;
        auto& posted = m_posted[static_cast<int>(m_header.tag)];
        if (posted.empty()) {
            auto& early = m_unexpected[static_cast<int>(m_header.tag)];
            m_early = early.emplace_back(std::make_unique<Unexpected>()).get();
            makeRoom();
            return;
        }
        m_into = posted.front();
        posted.pop_front();
        checkFits(m_into);
        m_early = nullptr;
        m_target = m_into.data;
    }

    void checkFits(const Posted& posted) const
    {
        if (m_header.bytes > posted.capacity)
            throw sim::Error("process " + std::to_string(m_process) + " sent " + std::to_string(m_header.bytes) +
                             " bytes where " + std::to_string(posted.capacity) + " were waited for");
    }

    /// For what comes next of a message that nobody has asked for yet. Memory doubles, so each byte is moved about once.
    void makeRoom()
    {
        if (!m_early)
            return;
        const auto all = static_cast<std::size_t>(m_header.bytes), received = static_cast<std::size_t>(m_received);
        if (m_early->data.size() < all && m_early->data.size() < received + kStagingBytes)
            m_early->data.resize(std::min(all, received * 2 + kAheadBytes));
        m_target = m_early->data.data();
    }

    void takeStaged()
    {
        makeRoom();
        const auto count = std::min(m_end - m_begin, static_cast<std::size_t>(m_header.bytes - m_received));
        if (count > 0)
            std::memcpy(m_target + m_received, m_staging.data() + m_begin, count);
        m_begin += count;
        m_received += static_cast<std::int64_t>(count);
    }

    /// Whether somebody was waiting for it.
    bool endMessage()
    {
        m_inMessage = false;
        if (!m_early) {
            complete(*m_into.transfer, m_header.bytes);
            return true;
        }
        m_early->complete = true;
        if (!m_early->claimedBy.transfer)
            return false;
        deliver(*m_early);
        auto& early = m_unexpected[static_cast<int>(m_header.tag)];
        std::erase_if(early, [this](const auto& message) { return message.get() == m_early; });
        return true;
    }

    void deliver(Unexpected& message) const
    {
        const auto bytes = static_cast<std::int64_t>(message.data.size());
        if (bytes > message.claimedBy.capacity)
            throw sim::Error("process " + std::to_string(m_process) + " sent " + std::to_string(bytes) + " bytes where " +
                             std::to_string(message.claimedBy.capacity) + " were waited for");
        if (bytes > 0)
            std::memcpy(message.claimedBy.data, message.data.data(), message.data.size());
        complete(*message.claimedBy.transfer, bytes);
    }

    /// Bytes that came, or -1 when there are none now.
    std::int64_t fill()
    {
        std::byte* into = nullptr;
        std::size_t capacity = 0;
        const bool direct = m_inMessage && m_header.bytes - m_received >= kDirectBytes;
        if (direct) { // staging is empty then
            makeRoom();
            into = m_target + m_received;
            const auto end = m_early ? static_cast<std::int64_t>(m_early->data.size()) : m_header.bytes;
            capacity = static_cast<std::size_t>(end - m_received);
        } else {
            std::memmove(m_staging.data(), m_staging.data() + m_begin, m_end - m_begin);
            m_end -= m_begin;
            m_begin = 0;
            into = m_staging.data() + m_end;
            capacity = m_staging.size() - m_end;
        }
        ssize_t bytes = 0;
        do
            bytes = recv(m_connection.get(), into, capacity, MSG_DONTWAIT);
        while (bytes < 0 && errno == EINTR);
        if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return -1;
        if (bytes <= 0) {
            m_closed = true;
            // It may have ended because all is done: a loss only if something was still to come or to go.
            const auto waits = [](const auto& entry) { return !entry.second.empty(); };
            if (m_inMessage || !m_outgoing.empty() || std::any_of(m_posted.begin(), m_posted.end(), waits))
                throwLost();
            return -1;
        }
        if (direct)
            m_received += bytes;
        else
            m_end += static_cast<std::size_t>(bytes);
        return bytes;
    }

    const int m_process;
    Descriptor m_connection;
    bool m_closed = false;
    std::deque<Outgoing> m_outgoing;
    std::map<int, std::deque<Posted>> m_posted;
    std::map<int, std::deque<std::unique_ptr<Unexpected>>> m_unexpected;
    // Of the message that is coming in.
    std::vector<std::byte> m_staging;
    std::size_t m_begin = 0, m_end = 0; ///< of what is staged
    bool m_inMessage = false;
    Header m_header;
    std::int64_t m_received = 0;
    std::byte* m_target = nullptr;
    Posted m_into;
    Unexpected* m_early = nullptr;
};

/// What another process wrote into the store.
template <class Number>
Number numberOf(const std::string& text, const std::string& what)
{
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        throw sim::Error(what + " is no number: \"" + text.substr(0, 40) + "\"");
    return number;
}

class TcpTransport : public Transport {
public:
    TcpTransport(Store& store, std::chrono::milliseconds timeout) : m_peers(static_cast<std::size_t>(store.processes()))
    {
        const Descriptor listener = listenOn(store.address(), 0);
        if (store.process() == 0)
            store.set("tcp/token", std::to_string(std::random_device()()));
        const auto token = numberOf<std::uint64_t>(store.get("tcp/token"), "the run's token");
        const auto key = [](int process) { return "tcp/" + std::to_string(process); };
        store.set(key(store.process()), store.address() + " " + std::to_string(portOf(listener)));
        for (int process = 0; process < store.process(); ++process) {
            const std::string where = store.get(key(process));
            const std::size_t space = where.rfind(' ');
            const std::string whose = "process " + std::to_string(process);
            Descriptor connection = connectTo(
                where.substr(0, space), numberOf<std::uint16_t>(where.substr(space + 1), "the port of " + whose), timeout, whose);
            const Introduction own{token, store.process()};
            sendAll(connection, &own, sizeof own, whose);
            setPeer(process, std::move(connection));
        }
        acceptAll(listener, store, token, std::chrono::steady_clock::now() + timeout);
    }

    std::string name() const override { return "TCP"; }
    int maxTag() const override { return std::numeric_limits<int>::max(); }

    void send(int process, int tag, const void* data, std::int64_t bytes, Transfer& transfer) override
    {
        peer(process).send(tag, data, bytes, transfer);
    }
    void receive(int process, int tag, void* data, std::int64_t capacity, Transfer& transfer) override
    {
        peer(process).receive(tag, data, capacity, transfer);
    }

    bool poll() override
    {
        m_events.clear();
        for (const auto& peer : m_peers) {
            const bool open = peer && !peer->closed();
            const int wanted = open && peer->hasToSend() ? POLLIN | POLLOUT : POLLIN;
            m_events.push_back({open ? peer->descriptor() : -1, static_cast<short>(wanted), 0});
        }
        // What a read left staged is whole messages' worth only until the next read: so peers that had more are asked again.
        const bool anything = ::poll(m_events.data(), m_events.size(), 0) > 0;
        bool moved = false;
        for (std::size_t i = 0; i < m_peers.size(); ++i) {
            if (!m_peers[i])
                continue;
            if (anything && (m_events[i].revents & POLLOUT))
                moved = m_peers[i]->flush() || moved;
            if ((anything && (m_events[i].revents & ~POLLOUT)) || m_readAgain[i]) {
                m_readAgain[i] = m_peers[i]->read();
                moved = m_readAgain[i] || moved;
            }
        }
        return moved;
    }

    void abandon() noexcept override
    {
        for (const auto& peer : m_peers)
            if (peer)
                peer->abandon();
    }

private:
    /// A connection whose introduction has not come as a whole.
    struct Stranger {
        Descriptor connection;
        std::chrono::steady_clock::time_point came;
        std::array<std::byte, sizeof(Introduction)> said{};
        std::size_t bytes = 0;
        bool closed = false;
    };

    void acceptAll(const Descriptor& listener, const Store& store, std::uint64_t token, std::chrono::steady_clock::time_point end)
    {
        std::vector<Stranger> strangers;
        auto missing = static_cast<std::size_t>(store.processes() - 1 - store.process());
        while (missing > 0) {
            std::vector<pollfd> events{{listener.get(), POLLIN, 0}};
            for (const Stranger& stranger : strangers)
                events.push_back({stranger.connection.get(), POLLIN, 0});
            ::poll(events.data(), events.size(), 50);
            if (store.aborted())
                throw sim::Error(store.abortReason());
            const auto now = std::chrono::steady_clock::now();
            if (now > end)
                throw sim::Error("process " + std::to_string(store.process()) +
                                 " waited in vain for the connections of others at " + store.address() + ":" +
                                 std::to_string(portOf(listener)) + ": are ports above 1024 open between the machines?");
            for (Stranger& stranger : strangers)
                if (listen(stranger) && introduce(stranger, store, token))
                    --missing;
            while (Descriptor connection = acceptFrom(listener)) {
                strangers.push_back({std::move(connection), now});
                if (strangers.size() > missing + 2 * kStrangers.connections)
                    break;
            }
            std::size_t excess =
                strangers.size() > missing + kStrangers.connections ? strangers.size() - missing - kStrangers.connections : 0;
            std::erase_if(strangers, [&](const Stranger& stranger) { // the oldest first
                return stranger.closed || now - stranger.came > kStrangers.introduction || (excess > 0 && excess-- > 0);
            });
        }
    }

    /// Whether it has said all that it must.
    static bool listen(Stranger& stranger)
    {
        const ssize_t bytes = recv(stranger.connection.get(), stranger.said.data() + stranger.bytes,
                                   stranger.said.size() - stranger.bytes, MSG_DONTWAIT);
        if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return false;
        stranger.closed = bytes <= 0;
        stranger.bytes += stranger.closed ? 0 : static_cast<std::size_t>(bytes);
        return stranger.bytes == stranger.said.size();
    }

    /// Whether it is a process that was missing.
    bool introduce(Stranger& stranger, const Store& store, std::uint64_t token)
    {
        stranger.closed = true;
        Introduction other;
        std::memcpy(&other, stranger.said.data(), sizeof other);
        if (other.token != token || other.process <= store.process() || other.process >= store.processes() ||
            m_peers[static_cast<std::size_t>(other.process)])
            return false;
        setPeer(static_cast<int>(other.process), std::move(stranger.connection));
        return true;
    }

    void setPeer(int process, Descriptor connection)
    {
        setBlocking(connection, false);
        m_peers[static_cast<std::size_t>(process)] = std::make_unique<Peer>(process, std::move(connection));
        m_readAgain.resize(m_peers.size());
    }
    Peer& peer(int process) { return *m_peers[static_cast<std::size_t>(process)]; }

    std::vector<std::unique_ptr<Peer>> m_peers; ///< by process; none for this one
    std::vector<bool> m_readAgain = std::vector<bool>(m_peers.size());
    std::vector<pollfd> m_events;
};

} // namespace

std::unique_ptr<Transport> makeTcpTransport(Store& store, std::chrono::milliseconds connectTimeout)
{
    return std::make_unique<TcpTransport>(store, connectTimeout);
}

} // namespace live
