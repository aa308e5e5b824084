#include "live/cli/own_processes.h"

#include "live/comm/launch.h"
#include "live/comm/socket.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace live::cli {
namespace {

constexpr std::size_t kMostProcesses = 1024;
/// Variables that a process reads its place from, as torchrun sets them.
constexpr std::array<std::string_view, 7> kOurs = {
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"};

// A signal has no other way in.
std::array<std::atomic<pid_t>, kMostProcesses> g_children{}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void handOn(int signal)
{
    const int error = errno; // of whatever it has interrupted
    for (const auto& child : g_children)
        if (const pid_t id = child.load(); id > 0)
            ::kill(id, signal);
    errno = error;
}

/// Between a fork and the note of the child there is a process that nobody would end; and in the child, until it is another
/// program, our handler, which would end its siblings.
class SignalsHeld {
public:
    SignalsHeld()
    {
        sigset_t signals;
        ::sigemptyset(&signals);
        ::sigaddset(&signals, SIGINT);
        ::sigaddset(&signals, SIGTERM);
        ::sigaddset(&signals, SIGHUP);
        ::sigprocmask(SIG_BLOCK, &signals, &m_before); // NOLINT(concurrency-mt-unsafe): one thread
    }
    ~SignalsHeld() { release(); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;
    void release() const { ::sigprocmask(SIG_SETMASK, &m_before, nullptr); } // NOLINT(concurrency-mt-unsafe)

private:
    sigset_t m_before{};
};

/// A process says its own reason as it is, and another one's behind that one's name ("process 1 (host, pid 7): ...").
bool sameWords(std::string_view one, std::string_view other)
{
    const std::string_view longer = one.size() < other.size() ? other : one;
    const std::string_view shorter = one.size() < other.size() ? one : other;
    return longer == shorter || (longer.starts_with("process ") && longer.ends_with(": " + std::string(shorter)));
}

/// What the processes say, line by line, on our standard error. What brings all of them down each one tells in the same words:
/// once is enough.
class Words {
public:
    explicit Words(int processes) : m_pipes(static_cast<std::size_t>(processes)) {}
    ~Words()
    {
        for (const Pipe& pipe : m_pipes)
            if (pipe.read >= 0)
                ::close(pipe.read);
    }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;

    /// The end that the process writes to; closed here by the caller.
    int open(int process)
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw sim::Error("a process's standard error cannot be had: " + systemError(errno));
        m_pipes[static_cast<std::size_t>(process)].read = ends[0];
        return ends[1];
    }
    /// Tells what has come, and waits for it at most so long. False: nothing has.
    bool pass(std::chrono::milliseconds atMost)
    {
        std::vector<pollfd> polls;
        for (const Pipe& pipe : m_pipes)
            polls.push_back({.fd = pipe.read, .events = POLLIN, .revents = 0}); // negative ones are passed over
        if (::poll(polls.data(), polls.size(), static_cast<int>(atMost.count())) <= 0)
            return false;
        for (std::size_t process = 0; process < m_pipes.size(); ++process)
            if (polls[process].revents != 0)
                take(process);
        return true;
    }

private:
    struct Pipe {
        int read = -1;
        std::string begun; ///< a line without its end
    };
    struct Told {
        std::string line;
        std::size_t process = 0;
    };

    void take(std::size_t process)
    {
        Pipe& pipe = m_pipes[process];
        std::array<char, 4096> buffer{};
        const ssize_t got = ::read(pipe.read, buffer.data(), buffer.size());
        if (got < 0)
            return;
        pipe.begun.append(buffer.data(), static_cast<std::size_t>(got));
        if (got == 0) {
            ::close(std::exchange(pipe.read, -1));
            if (!pipe.begun.empty())
                pipe.begun += '\n';
        }
        for (std::size_t end = 0; (end = pipe.begun.find('\n')) != std::string::npos;) {
            tell(pipe.begun.substr(0, end), process);
            pipe.begun.erase(0, end + 1);
        }
    }
    void tell(const std::string& line, std::size_t process)
    {
        if (std::any_of(m_told.begin(), m_told.end(),
                        [&](const Told& told) { return told.process != process && sameWords(told.line, line); }))
            return;
        constexpr std::size_t kRemembered = 32;
        m_told.push_back({line, process});
        if (m_told.size() > kRemembered)
            m_told.pop_front();
        std::cerr << line + "\n" << std::flush;
    }

    std::vector<Pipe> m_pipes; ///< by process
    std::deque<Told> m_told;   ///< the last ones
};

std::vector<std::string> ownCommand()
{
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');)
        words.push_back(word);
    if (words.empty())
        throw sim::Error("this program's own command cannot be read from /proc/self/cmdline");
    return words;
}

/// Without what a launcher has said: a process that found that it is one of one would start processes in its turn.
std::vector<std::string> ownEnvironment()
{
    std::vector<std::string> variables;
    for (const auto& [name, value] : environmentVariables())
        if (std::find(kOurs.begin(), kOurs.end(), name) == kOurs.end())
            variables.push_back(name + "=" + value);
    return variables;
}

std::vector<char*> pointersTo(std::vector<std::string>& words)
{
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::string howItEnded(int status)
{
    if (WIFSIGNALED(status))
        return std::string("was ended by ") + ::strsignal(WTERMSIG(status)); // NOLINT(concurrency-mt-unsafe): one thread
    return "failed with exit code " + std::to_string(WEXITSTATUS(status));
}

/// What the first that failed says; "" where none did. When one has failed the others find it out and end; those that cannot, as
/// they are stopped or wait for ever, are ended.
std::string awaitAll(int processes, Words& words)
{
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kPatience{12};
    constexpr std::chrono::milliseconds kPause{50};
    std::string failure;
    Clock::time_point failed;
    for (int left = processes; left > 0;) {
        words.pass(kPause);
        if (!failure.empty() && Clock::now() - failed > kPatience)
            handOn(SIGKILL);
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, WNOHANG);
        if (ended < 0 && errno != EINTR)
            throw sim::Error("the processes of this run are lost: " + systemError(errno));
        for (int process = 0; process < processes && ended > 0; ++process) {
            auto& child = g_children[static_cast<std::size_t>(process)];
            if (child.load() != ended)
                continue;
            child = 0;
            --left;
            if (status == 0 || !failure.empty())
                continue;
            failure = "process " + std::to_string(process) + " of " + std::to_string(processes) + " " + howItEnded(status);
            failed = Clock::now();
        }
    }
    while (words.pass(std::chrono::milliseconds(0))) // the last ones
        ;
    return failure;
}

} // namespace

void runInProcesses(int processes)
{
    if (processes > static_cast<int>(kMostProcesses))
        throw sim::Error("one command starts at most " + std::to_string(kMostProcesses) + " processes, not " +
                         std::to_string(processes));
    std::vector<std::string> command = ownCommand();
    const std::vector<char*> arguments = pointersTo(command);
    const std::string port = std::to_string(portOf(listenOn("127.0.0.1", 0))); // that nobody listens on
    const pid_t self = ::getpid();
    Words words(processes);
    std::signal(SIGINT, handOn);
    std::signal(SIGTERM, handOn);
    const bool isDetached = std::signal(SIGHUP, handOn) == SIG_IGN; // of nohup, and the processes inherit it
    if (isDetached)
        std::signal(SIGHUP, SIG_IGN);
    const std::string count = std::to_string(processes);
    for (int process = 0; process < processes; ++process) {
        const std::string number = std::to_string(process);
        std::vector<std::string> variables = ownEnvironment();
        variables.insert(variables.end(), {"RANK=" + number, "WORLD_SIZE=" + count, "LOCAL_RANK=" + number,
                                           "LOCAL_WORLD_SIZE=" + count, "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port});
        const std::vector<char*> environment = pointersTo(variables);
        const int said = words.open(process);
        const SignalsHeld held;
        const pid_t child = ::fork();
        if (child < 0) {
            const std::string why = systemError(errno);
            ::close(said);
            handOn(SIGTERM);
            throw sim::Error("process " + number + " of " + count + " cannot be started: " + why);
        }
        if (child == 0) {
            std::signal(SIGINT, SIG_DFL);
            std::signal(SIGTERM, SIG_DFL);
            if (!isDetached)
                std::signal(SIGHUP, SIG_DFL);
            std::signal(SIGPIPE, SIG_IGN); // it ends after its step where we are gone, not at its next word
            held.release();
            ::dup2(said, STDERR_FILENO);
            ::setpgid(0, 0); // Ctrl-C comes once, from us
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (::getppid() == self)
                ::execve("/proc/self/exe", arguments.data(), environment.data());
            ::_exit(1);
        }
        ::close(said);
        g_children[static_cast<std::size_t>(process)] = child;
    }
    const std::string failure = awaitAll(processes, words);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    if (!isDetached)
        std::signal(SIGHUP, SIG_DFL);
    if (!failure.empty())
        throw sim::Error(failure);
}

} // namespace live::cli
