// Several real processes on this machine: process_program.cpp, started as torchrun or mpirun would.
#include "live/comm/processes.h"
#include "live/comm/socket.h"
#include "sim/error.h"
#include "tests/support/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace live {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using ::testing::HasSubstr;

const std::string kProgram = std::string(RANKSCOPE_BIN_DIR) + "/live_process_program";

/// A process and what it prints. Killed if it is still there in the end.
class Child {
public:
    Child(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables)
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "rankscope-output-XXXXXX").string();
        const Descriptor output(mkstemp(pattern.data()));
        m_output = pattern;
        m_pid = fork();
        if (m_pid == 0) {
            dup2(output.get(), STDOUT_FILENO);
            dup2(output.get(), STDERR_FILENO);
            for (const auto& [name, value] : variables)
                setenv(name.c_str(), value.c_str(), 1);
            std::vector<char*> arguments;
            for (const std::string& word : command)
                arguments.push_back(const_cast<char*>(word.c_str()));
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            _exit(127);
        }
    }
    Child(Child&& other) noexcept
        : m_pid(std::exchange(other.m_pid, -1)), m_status(other.m_status), m_output(std::exchange(other.m_output, ""))
    {
    }
    Child& operator=(Child&&) = delete;
    ~Child()
    {
        if (m_pid > 0) {
            signal(SIGKILL);
            waitpid(m_pid, nullptr, 0);
        }
        if (!m_output.empty())
            std::filesystem::remove(m_output);
    }
    void signal(int number) const { kill(m_pid, number); }
    /// Its exit status; -1 if a signal ended it, -2 if it is still running after so long.
    int wait(std::chrono::milliseconds timeout)
    {
        for (const auto end = Clock::now() + timeout * ::test::patience(); m_pid > 0; std::this_thread::sleep_for(2ms)) {
            int status = 0;
            if (waitpid(m_pid, &status, WNOHANG) == m_pid) {
                m_pid = -1;
                m_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            } else if (Clock::now() > end) {
                return -2;
            }
        }
        return m_status;
    }
    std::string output() const
    {
        std::ifstream file(m_output);
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
    bool waitForOutput(const std::string& text) const
    {
        for (const auto end = Clock::now() + 20s * ::test::patience(); Clock::now() < end; std::this_thread::sleep_for(2ms))
            if (output().find(text) != std::string::npos)
                return true;
        return false;
    }

private:
    pid_t m_pid = -1;
    int m_status = -2;
    std::string m_output;
};

std::vector<Child> startProcesses(int processes, int world, int rounds, const std::string& mode = "")
{
    const int port = portOf(listenOn("127.0.0.1", 0));
    std::vector<Child> children;
    for (int process = 0; process < processes; ++process) {
        const std::vector<std::string> command{kProgram, std::to_string(world), std::to_string(rounds), mode};
        children.emplace_back(command, std::map<std::string, std::string>{{"RANK", std::to_string(process)},
                                                                          {"WORLD_SIZE", std::to_string(processes)},
                                                                          {"MASTER_ADDR", "127.0.0.1"},
                                                                          {"MASTER_PORT", std::to_string(port)}});
    }
    return children;
}

TEST(Processes, RanksAreSpreadInBlocks)
{
    EXPECT_EQ(ranksOf(0, 3, 8).count, 3);
    EXPECT_EQ(ranksOf(1, 3, 8).first, 3);
    EXPECT_EQ(ranksOf(2, 3, 8).first, 6);
    EXPECT_EQ(ranksOf(2, 3, 8).count, 2);
    EXPECT_THROW(ranksOf(0, 9, 8), sim::Error);
}

class ProcessesOf : public ::testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(ProcessesAndRanks, ProcessesOf,
                         ::testing::Values(std::pair(2, 2), std::pair(2, 5), std::pair(3, 3), std::pair(3, 8)));

TEST_P(ProcessesOf, OverTcpEveryKindGivesTheBitsOfSumsInOrder)
{
    const auto [processes, world] = GetParam();
    std::vector<Child> children = startProcesses(processes, world, 3);
    for (Child& child : children) {
        EXPECT_EQ(child.wait(60s), 0) << child.output();
        EXPECT_THAT(child.output(), HasSubstr("TCP between " + std::to_string(processes) + " processes (started by torchrun)"));
        EXPECT_THAT(child.output(), HasSubstr("wrong 0"));
    }
}

TEST(Processes, OverMpiEveryKindGivesTheBitsOfSumsInOrder)
{
    if (!std::filesystem::exists(std::string(RANKSCOPE_BIN_DIR) + "/rankscope_live_mpi.so"))
        GTEST_SKIP() << "built without MPI";
    if (std::system("command -v mpirun >/dev/null") != 0)
        GTEST_SKIP() << "no mpirun here";
    for (const auto& [processes, world] : {std::pair(2, 2), std::pair(2, 5), std::pair(3, 8)}) {
        Child child({"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(processes), kProgram,
                     std::to_string(world), "3"},
                    {{"ASAN_OPTIONS", "detect_leaks=0"}}); // Open MPI leaves leaks of its own
        EXPECT_EQ(child.wait(60s), 0) << child.output();
        EXPECT_THAT(child.output(), HasSubstr("MPI (Open MPI"));
        EXPECT_THAT(child.output(), HasSubstr("wrong 0"));
        EXPECT_THAT(child.output(), ::testing::Not(HasSubstr("TCP")));
    }
}

TEST(Processes, AKilledProcessEndsTheOthersWithItsName)
{
    std::vector<Child> children = startProcesses(3, 6, 1000);
    for (Child& child : children)
        ASSERT_TRUE(child.waitForOutput("running")) << child.output();
    std::this_thread::sleep_for(50ms);
    const auto killed = Clock::now();
    children[1].signal(SIGKILL);
    for (const std::size_t other : {0U, 2U}) {
        EXPECT_EQ(children[other].wait(2s), 3) << children[other].output();
        EXPECT_THAT(children[other].output(), HasSubstr("process 1 ("));
        EXPECT_THAT(children[other].output(), HasSubstr("killed"));
    }
    EXPECT_LT(Clock::now() - killed, 2s);
}

TEST(Processes, WithoutProcessZeroTheOthersEndToo)
{
    std::vector<Child> children = startProcesses(2, 4, 1000);
    for (Child& child : children)
        ASSERT_TRUE(child.waitForOutput("running")) << child.output();
    children[0].signal(SIGKILL);
    EXPECT_EQ(children[1].wait(2s), 3) << children[1].output();
    EXPECT_THAT(children[1].output(), HasSubstr("process 0"));
}

TEST(Processes, AStoppedProcessIsNoticedByItsSilence)
{
    std::vector<Child> children = startProcesses(2, 2, 1000);
    for (Child& child : children)
        ASSERT_TRUE(child.waitForOutput("running")) << child.output();
    children[1].signal(SIGSTOP); // its connections stay open
    EXPECT_EQ(children[0].wait(5s), 3) << children[0].output();
    EXPECT_THAT(children[0].output(), HasSubstr("process 1"));
    EXPECT_THAT(children[0].output(), HasSubstr("silent for 1000 ms"));
}

TEST(Processes, AProcessThatGoesAnotherWayIsDescribedOnAll)
{
    std::vector<Child> children = startProcesses(2, 4, 3, "desync");
    for (Child& child : children) {
        EXPECT_EQ(child.wait(20s), 3) << child.output();
        EXPECT_THAT(child.output(), HasSubstr("meet in different communications"));
    }
}

} // namespace
} // namespace live
