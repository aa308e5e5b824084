#include "live/comm/store_server.h"

#include "live/record/recorder.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace live::store {

Server::Server(const LaunchEnvironment& launch, const StoreOptions& options)
    : m_processes(launch.processes), m_why(launch.why), m_options(options),
      m_listener(listenOn(launch.masterAddress, launch.masterPort)), m_wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
    m_thread = std::thread([this] { serve(); });
}

Server::~Server()
{
    m_stop = true;
    eventfd_write(m_wake.get(), 1);
    m_thread.join();
}

void Server::serve()
{
    try {
        run();
    } catch (const std::exception& error) {
        // Clients see their connections closed, and say so; the rank beside this thread goes on to that message.
        std::fprintf(stderr, "the run's meeting place ends: %s\n", error.what());
        m_clients.clear();
    }
}

void Server::run()
{
    m_started = m_lastRound = m_lastHeartbeat = Clock::now();
    while (!m_stop) {
        waitForEvents(static_cast<int>(m_options.heartbeat.count()) / 2 + 1);
        watch();
        std::erase_if(m_clients, [](const auto& client) { return client->closed; });
    }
    // What was promised (the last barrier, an abort) is still sent, to those who listen.
    toAll({Type::goodbye, 0, {}, {}});
    const auto end = Clock::now() + std::chrono::seconds(1);
    const auto unsent = [](const auto& client) { return !client->closed && !client->toSend.empty(); };
    while (Clock::now() < end && std::any_of(m_clients.begin(), m_clients.end(), unsent))
        waitForEvents(20);
}

void Server::waitForEvents(int timeoutMs)
{
    std::vector<pollfd> events{{m_wake.get(), POLLIN, 0}, {m_listener.get(), POLLIN, 0}};
    for (const auto& client : m_clients)
        events.push_back({client->connection.get(), static_cast<short>(client->toSend.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    const std::size_t known = m_clients.size();
    if (::poll(events.data(), events.size(), timeoutMs) <= 0)
        return;
    for (std::size_t i = 0; i < known; ++i) {
        Client& client = *m_clients[i];
        if (!client.closed && (events[i + 2].revents & (POLLIN | POLLHUP | POLLERR)))
            receive(client);
        if (!client.closed && !client.toSend.empty())
            flush(client);
    }
    if (events[1].revents)
        acceptClients();
}

void Server::acceptClients()
{
    for (std::size_t accepted = 0; accepted < kStrangers.connections; ++accepted) { // then those who wait get their turn
        Descriptor connection = acceptFrom(m_listener);
        if (!connection)
            return;
        auto client = std::make_unique<Client>();
        client->connection = std::move(connection);
        client->came = client->heard = Clock::now();
        m_clients.push_back(std::move(client));
    }
}

void Server::receive(Client& client)
{
    std::array<char, 65536> buffer;
    for (int read = 0; read < kBudget.readsInARow && !client.closed; ++read) {
        const ssize_t bytes = recv(client.connection.get(), buffer.data(), buffer.size(), 0);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (bytes <= 0) {
            lose(client, "ended without saying goodbye: it was killed or crashed");
            return;
        }
        client.received.append(buffer.data(), static_cast<std::size_t>(bytes));
        if (!take(client))
            return;
        if (static_cast<std::size_t>(bytes) < buffer.size())
            break;
    }
    client.heard = Clock::now();
}

/// What was received, as far as it is whole; whether all is well with it.
bool Server::take(Client& client)
{
    try {
        while (!client.closed) {
            const auto message = decode(client.received, client.process < 0 ? kBudget.strangerBytes : kBudget.textBytes);
            if (!message)
                return true;
            handle(client, *message);
        }
    } catch (const sim::Error& error) { // a stranger found the port, or what came was damaged
        lose(client, std::string("sent what is not the store's language: ") + error.what());
    }
    return false;
}

/// Whoever connects and does not say who it is gets no place for long, nor do many at a time: descriptors are few.
void Server::dropStrangers(Clock::time_point now)
{
    const std::size_t most = kStrangers.connections + static_cast<std::size_t>(m_processes) - m_came.size();
    const auto isStranger = [](const auto& client) { return client->process < 0 && !client->closed; };
    auto strangers = static_cast<std::size_t>(std::count_if(m_clients.begin(), m_clients.end(), isStranger));
    for (const auto& client : m_clients) // the oldest first
        if (isStranger(client) && (strangers > most || now - client->came > kStrangers.introduction)) {
            client->closed = true;
            --strangers;
        }
}

void Server::store(Client& client, const Message& message)
{
    const auto [value, isNew] = m_values.try_emplace(message.first);
    m_storedBytes += (isNew ? message.first.size() : 0) + message.second.size() - value->second.size();
    if (m_storedBytes > kBudget.storedBytes) {
        lose(client, "filled the store with " + std::to_string(m_storedBytes) + " bytes, where at most " +
                         std::to_string(kBudget.storedBytes) + " can be");
        return;
    }
    value->second = message.second;
    const auto waiting = m_waiting.find(message.first);
    if (waiting == m_waiting.end())
        return;
    m_openQuestions -= waiting->second.size();
    for (const Question& question : waiting->second)
        answer(question, message.second);
    m_waiting.erase(waiting);
}

void Server::keepQuestion(Client& client, std::vector<Question>& waiting, const Question& question)
{
    if (++m_openQuestions > kBudget.openQuestions + static_cast<std::size_t>(m_processes))
        lose(client, "asked the last of " + std::to_string(m_openQuestions) + " questions without an answer, where at most " +
                         std::to_string(kBudget.openQuestions) + " can be");
    else
        waiting.push_back(question);
}

void Server::handle(Client& client, const Message& message)
{
    if (client.process < 0 && message.type != Type::hello) {
        client.closed = true;
        return;
    }
    const Question question{client.process, message.number};
    switch (message.type) {
    case Type::hello:
        welcome(client, message);
        break;
    case Type::set:
        store(client, message);
        break;
    case Type::get:
        if (const auto found = m_values.find(message.first); found != m_values.end())
            answer(question, found->second);
        else
            keepQuestion(client, m_waiting[message.first], question);
        break;
    case Type::add: {
        const auto [number, isNew] = m_numbers.try_emplace(message.first);
        m_storedBytes += isNew ? message.first.size() + sizeof *number : 0;
        const std::int64_t added = std::strtoll(message.second.c_str(), nullptr, 10);
        if (m_storedBytes > kBudget.storedBytes || __builtin_add_overflow(number->second, added, &number->second))
            lose(client, "filled the store, or counts beyond 2^63");
        else
            answer(question, std::to_string(number->second));
        break;
    }
    case Type::barrier: {
        auto& waiting = m_barriers[message.first];
        keepQuestion(client, waiting, question);
        if (static_cast<int>(waiting.size()) == m_processes) {
            m_openQuestions -= waiting.size();
            for (const Question& each : waiting)
                answer(each, "");
            m_barriers.erase(message.first);
        }
        break;
    }
    case Type::clock:
        answer(question, std::to_string(nowNs()));
        break;
    case Type::goodbye:
        client.left = true;
        break;
    case Type::abort:
        fail(message.first);
        break;
    case Type::heartbeat:
        if (std::exchange(client.progress, message.number) != message.number)
            ++m_progress;
        break;
    default: // what only this side says
        break;
    }
}

void Server::welcome(Client& client, const Message& message)
{
    const bool isOne = message.number >= 0 && message.number < m_processes;
    const int process = isOne ? static_cast<int>(message.number) : -1;
    std::string refusal;
    if (client.process >= 0)
        refusal = "process " + std::to_string(client.process) + " says hello twice";
    else if (message.first != std::to_string(m_processes))
        refusal = "process " + std::to_string(message.number) + " believes there are " + message.first +
                  " processes, process 0 believes " + std::to_string(m_processes);
    else if (!isOne)
        refusal = "there is no process " + std::to_string(message.number) + " among " + std::to_string(m_processes);
    else if (const Client* other = find(process))
        refusal = "process " + std::to_string(process) + " is here twice: " + other->who + " and " + message.second +
                  "; is another run using this port? Set MASTER_PORT to another one";
    else if (m_came.contains(process))
        refusal = "process " + std::to_string(process) + " has been here and has left: start the run anew";
    else if (m_failed)
        refusal = "the run has already failed";
    if (!refusal.empty()) {
        client.toSend += encode({Type::refused, 0, refusal, {}});
        flush(client);
        client.closed = true;
        return;
    }
    client.process = process;
    client.who = message.second;
    client.toSend += encode({Type::accepted, 0, {}, {}});
    m_came.insert(process);
    if (static_cast<int>(m_came.size()) == m_processes)
        toAll({Type::complete, 0, {}, {}});
    flush(client);
}

void Server::flush(Client& client)
{
    while (!client.toSend.empty()) {
        const ssize_t sent =
            send(client.connection.get(), client.toSend.data() + client.sent, client.toSend.size() - client.sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (const std::size_t left = client.toSend.size() - client.sent; left > kBudget.unreadBytes)
                lose(client, "does not take its answers: " + std::to_string(left) + " bytes wait, where at most " +
                                 std::to_string(kBudget.unreadBytes) + " may");
            return;
        }
        client.sent = sent < 0 ? client.toSend.size() : client.sent + static_cast<std::size_t>(sent);
        if (client.sent < client.toSend.size() / 2)
            continue;
        client.toSend.erase(0, client.sent); // all of it after an error: the end of its connection will be read
        client.sent = 0;
    }
}

/// Heartbeats out; who has been silent for too long?
void Server::watch()
{
    const auto now = Clock::now();
    if (now - m_lastRound > m_options.silence / 2) // this process itself was stopped: nobody could be heard
        for (const auto& client : m_clients)
            client->heard = now;
    m_lastRound = now;
    dropStrangers(now);
    if (m_failed)
        return;
    const bool isComplete = static_cast<int>(m_came.size()) >= m_processes;
    if (!isComplete && now - m_started > m_options.quietTimeout && !std::exchange(m_toldWhoIsMissing, true))
        std::fprintf(stderr, "process 0 waits for %s\n", awaited().c_str());
    if (!isComplete && now - m_started > m_options.connectTimeout) {
        fail("process 0 waited " + std::to_string(m_options.connectTimeout.count() / 1000) + " s for " + awaited());
        return;
    }
    for (const auto& client : m_clients)
        if (client->process >= 0 && !client->left && !client->closed && now - client->heard > m_options.silence) {
            lose(*client, "has been silent for " + std::to_string(m_options.silence.count()) +
                              " ms: it is stopped, or its machine is out of reach");
            return;
        }
    if (now - m_lastHeartbeat >= m_options.heartbeat) {
        m_lastHeartbeat = now;
        toAll({Type::heartbeat, m_progress, {}, {}});
    }
}

void Server::answer(const Question& question, const std::string& value)
{
    if (Client* client = find(question.process)) {
        client->toSend += encode({Type::answer, question.number, value, {}});
        flush(*client);
    }
}

void Server::fail(const std::string& why)
{
    if (m_failed)
        return;
    m_failed = true;
    toAll({Type::abort, 0, why, {}});
}

void Server::lose(Client& client, const std::string& how)
{
    client.closed = true;
    if (client.process >= 0 && !client.left && !m_stop)
        fail(client.who + " " + how);
}

/// Process 0 last: it may end this thread with itself as soon as it has read.
void Server::toAll(const Message& message)
{
    for (const bool toZero : {false, true})
        for (const auto& client : m_clients)
            if (client->process >= 0 && (client->process == 0) == toZero && !client->closed && !client->left) {
                client->toSend += encode(message);
                flush(*client);
            }
}

Server::Client* Server::find(int process)
{
    for (const auto& client : m_clients)
        if (client->process == process && !client->closed)
            return client.get();
    return nullptr;
}

/// How many processes, who said that there are so many, and which of them have not come.
std::string Server::awaited() const
{
    std::string list;
    int count = 0;
    for (int process = 0; process < m_processes; ++process) {
        const auto is = [process](const auto& client) { return client->process == process; };
        if (std::none_of(m_clients.begin(), m_clients.end(), is) && ++count <= 8)
            list += (list.empty() ? "" : ", ") + std::to_string(process);
    }
    return std::to_string(m_processes) + " processes" + (m_why.empty() ? "" : " (" + m_why + ")") + "; missing: " + list +
           (count > 8 ? " and " + std::to_string(count - 8) + " more" : "");
}

} // namespace live::store
