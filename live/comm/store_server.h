// Process 0's side of the store: one thread that answers all processes. Private to the store.
#pragma once

#include "live/comm/socket.h"
#include "live/comm/store.h"
#include "live/comm/store_messages.h"

#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace live::store {

class Server {
public:
    Server(const LaunchEnvironment&, const StoreOptions&);
    ~Server(); ///< says goodbye to all, once what was to be sent has been sent
    int port() const { return portOf(m_listener); }
    std::string address() const { return addressOf(m_listener); }

private:
    using Clock = std::chrono::steady_clock;
    struct Client {
        Descriptor connection;
        std::string received, toSend;
        int process = -1; ///< until its hello: none
        std::string who;
        std::size_t sent = 0; ///< of toSend
        Clock::time_point came, heard;
        std::int64_t progress = 0; ///< as its last heartbeat said
        bool left = false;         ///< said goodbye
        bool closed = false;
    };
    struct Question {
        int process = 0;
        std::int64_t number = 0;
    };

    void serve();
    void run();
    void waitForEvents(int timeoutMs);
    void acceptClients();
    void receive(Client&);
    bool take(Client&);
    void dropStrangers(Clock::time_point now);
    void store(Client&, const Message&);
    void keepQuestion(Client&, std::vector<Question>& waiting, const Question&);
    void handle(Client&, const Message&);
    void welcome(Client&, const Message&);
    void flush(Client&);
    void watch();
    void answer(const Question&, const std::string& value);
    void fail(const std::string& why);
    void lose(Client&, const std::string& how);
    void toAll(const Message&);
    Client* find(int process);
    std::string awaited() const;

    const int m_processes;
    const std::string m_why; ///< there are so many: the launcher's variables
    const StoreOptions m_options;
    Descriptor m_listener;
    Descriptor m_wake; ///< eventfd
    std::vector<std::unique_ptr<Client>> m_clients;
    std::map<std::string, std::string> m_values;
    std::map<std::string, std::int64_t> m_numbers;
    std::size_t m_storedBytes = 0;
    std::map<std::string, std::vector<Question>> m_waiting, m_barriers;
    std::size_t m_openQuestions = 0;
    std::set<int> m_came; ///< processes that have said hello, also those that have left
    bool m_failed = false;
    bool m_toldWhoIsMissing = false;
    std::int64_t m_progress = 0; ///< times that a process has made some
    Clock::time_point m_started, m_lastRound, m_lastHeartbeat;
    std::atomic<bool> m_stop{false};
    std::thread m_thread; ///< last: uses all of the above
};

} // namespace live::store
