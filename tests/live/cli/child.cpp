#include "tests/live/cli/child.h"

#include "tests/support/patience.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace test {
namespace {

namespace fs = std::filesystem;

std::string readAll(const fs::path& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

fs::path scratch()
{
    struct Folder {
        fs::path path = fs::temp_directory_path() / ("rankscope-live-test-" + std::to_string(getpid()));
        Folder() { fs::create_directories(path); }
        ~Folder()
        {
            std::error_code ignored;
            fs::remove_all(path, ignored);
        }
    };
    static const Folder folder;
    return folder.path;
}

std::string gallery(const std::string& start)
{
    for (const auto& entry : fs::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().filename().string().starts_with(start))
            return entry.path().string();
    throw std::runtime_error("no scenario begins with " + start);
}

int freePort()
{
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(socket, reinterpret_cast<sockaddr*>(&address), length);
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
    ::close(socket);
    return ntohs(address.sin_port);
}

Child::Child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
             std::size_t fileBytes, const std::string& program)
{
    static int count = 0;
    ++count;
    m_out = scratch() / ("out" + std::to_string(count));
    m_err = scratch() / ("err" + std::to_string(count));
    const std::string path = program.find('/') == std::string::npos && program.starts_with("rankscope")
                                 ? std::string(RANKSCOPE_BIN_DIR "/") + program
                                 : program;
    std::vector<char*> argv = {const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    m_id = fork();
    if (m_id != 0)
        return;
    for (const auto& [name, value] : variables)
        setenv(name.c_str(), value.c_str(), 1);
    if (fileBytes > 0) {
        const rlimit limit{fileBytes, fileBytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN); // the write fails instead
    }
    dup2(open(m_out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(m_err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
}

Child::~Child()
{
    if (!m_ended) {
        ::kill(m_id, SIGKILL);
        wait();
    }
}

int Child::wait(std::chrono::milliseconds atMost)
{
    const auto end = std::chrono::steady_clock::now() + atMost * patience();
    while (!m_ended) {
        int status = 0;
        if (waitpid(m_id, &status, WNOHANG) == m_id) {
            m_ended = true;
            m_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        } else if (std::chrono::steady_clock::now() > end) {
            return -1;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    return m_code;
}

void Child::signal(int number) const
{
    ::kill(m_id, number);
}

std::vector<pid_t> Child::children() const
{
    const std::string id = std::to_string(m_id);
    std::ifstream file("/proc/" + id + "/task/" + id + "/children");
    return {std::istream_iterator<pid_t>(file), {}};
}

bool Child::isRunning()
{
    return wait(std::chrono::milliseconds(0)) == -1 && !m_ended;
}

std::string Child::out() const
{
    return readAll(m_out);
}

std::string Child::err() const
{
    return readAll(m_err);
}

bool Child::waitUntil(const std::function<bool()>& isSo, std::chrono::milliseconds atMost)
{
    const auto end = std::chrono::steady_clock::now() + atMost * patience();
    while (!isSo()) {
        if (!isRunning() || std::chrono::steady_clock::now() > end)
            return isSo();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

bool Child::catches(int number, std::chrono::milliseconds atMost)
{
    return waitUntil(
        [&] {
            std::ifstream status("/proc/" + std::to_string(m_id) + "/status");
            for (std::string line; std::getline(status, line);)
                if (line.starts_with("SigCgt:"))
                    return (std::stoull(line.substr(7), nullptr, 16) >> (number - 1) & 1U) != 0;
            return false;
        },
        atMost);
}

bool Child::says(const std::string& text, std::chrono::milliseconds atMost)
{
    return waitUntil([&] { return err().find(text) != std::string::npos; }, atMost);
}

nlohmann::json reportOf(std::vector<std::string> arguments, const std::map<std::string, std::string>& variables)
{
    arguments.emplace_back("--json");
    Child child(arguments, variables);
    EXPECT_EQ(child.wait(), 0) << child.err();
    return nlohmann::json::parse(child.out());
}

std::map<std::string, std::string> environmentOf(const std::string& process, const std::string& processes,
                                                 const std::string& port)
{
    return {{"RANK", process},
            {"WORLD_SIZE", processes},
            {"LOCAL_RANK", process},
            {"LOCAL_WORLD_SIZE", processes},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", port}};
}

} // namespace test
