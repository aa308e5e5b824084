#include "live/cli/own_processes.h"

#include "live/comm/launch.h"
#include "live/comm/socket.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
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
    for (const auto& child : g_children)
        if (const pid_t id = child.load(); id > 0)
            ::kill(id, signal);
}

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
    std::signal(SIGINT, handOn);
    std::signal(SIGTERM, handOn);
    const std::string count = std::to_string(processes);
    for (int process = 0; process < processes; ++process) {
        const std::string number = std::to_string(process);
        std::vector<std::string> variables = ownEnvironment();
        variables.insert(variables.end(), {"RANK=" + number, "WORLD_SIZE=" + count, "LOCAL_RANK=" + number,
                                           "LOCAL_WORLD_SIZE=" + count, "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port});
        const std::vector<char*> environment = pointersTo(variables);
        const pid_t child = ::fork();
        if (child < 0) {
            const std::string why = systemError(errno);
            handOn(SIGTERM);
            throw sim::Error("process " + number + " of " + count + " cannot be started: " + why);
        }
        if (child == 0) {
            ::setpgid(0, 0); // Ctrl-C comes once, from us
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (::getppid() == self)
                ::execve("/proc/self/exe", arguments.data(), environment.data());
            ::_exit(1);
        }
        g_children[static_cast<std::size_t>(process)] = child;
    }
    std::string failure;
    int left = processes;
    while (left > 0) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, 0);
        if (ended < 0 && errno == EINTR)
            continue;
        if (ended < 0)
            throw sim::Error("the processes of this run are lost: " + systemError(errno));
        for (int process = 0; process < processes; ++process) {
            auto& child = g_children[static_cast<std::size_t>(process)];
            if (child.load() != ended)
                continue;
            child = 0;
            --left;
            if (status != 0 && failure.empty())
                failure = "process " + std::to_string(process) + " of " + count + " " + howItEnded(status);
        }
    }
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    if (!failure.empty())
        throw sim::Error(failure);
}

} // namespace live::cli
