// What can be read as a file, and that reading comes to an end.
#include "sim/error.h"
#include "sim/scenario/document.h"
#include "sim/scenario/files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sim;
namespace fs = std::filesystem;

namespace {

class Files : public testing::Test {
protected:
    Files() : m_folder(fs::temp_directory_path() / ("rankscope_files_" + std::to_string(::getpid())))
    {
        fs::create_directories(m_folder);
    }
    ~Files() override { fs::remove_all(m_folder); }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;

    fs::path path(const std::string& name) const { return m_folder / name; }
    fs::path pipe(const std::string& name) const
    {
        EXPECT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
        return path(name);
    }

private:
    fs::path m_folder;
};

constexpr std::chrono::milliseconds kShort{50};

/// Why a file is not read.
std::string refusal(const fs::path& file, Pipes pipes, std::size_t mostBytes = 1000)
{
    try {
        readFile(file, mostBytes, pipes, kShort);
    } catch (const Error& error) {
        return error.what();
    }
    return "it was read";
}

} // namespace

TEST_F(Files, ThatNeverEndAreRefusedBeforeTheyAreRead)
{
    EXPECT_EQ(refusal("/dev/zero", Pipes::refused), "/dev/zero: is not an ordinary file");
    EXPECT_EQ(refusal("/dev/zero", Pipes::read), "/dev/zero: is a device; a file or a pipe can be read");
    EXPECT_EQ(refusal(path(""), Pipes::read), path("").string() + ": is a folder, not a file");
    EXPECT_EQ(refusal(pipe("p"), Pipes::refused), path("p").string() + ": is not an ordinary file");
    EXPECT_EQ(refusal(fs::path(std::string("a\0b", 3)), Pipes::read), "a\\x00b: no file can have a name with a zero byte in it");
}

TEST_F(Files, ThatAreTooLargeAreRefusedWithTheirSize)
{
    const fs::path sparse = path("sparse");
    std::ofstream(sparse) << "x";
    fs::resize_file(sparse, std::uintmax_t{1} << 40U); // takes no disk; would take a terabyte of memory
    EXPECT_EQ(refusal(sparse, Pipes::read), sparse.string() + ": has 1,099,511,627,776 bytes; at most 1,000 are read");
    std::ofstream(path("fits")) << std::string(1000, 'x');
    EXPECT_EQ(readFile(path("fits"), 1000).size(), 1000U);
}

TEST_F(Files, AreReadWholeWhateverTheySayOfTheirLength)
{
    for (const std::size_t length : std::initializer_list<std::size_t>{0, 1, 511, 65'535, 65'536, 65'537, 200'000}) {
        std::string text;
        for (std::size_t i = 0; i < length; ++i)
            text += static_cast<char>('a' + i % 26);
        std::ofstream(path("long")) << text;
        EXPECT_EQ(readFile(path("long"), 1U << 20U), text) << length;
    }
    EXPECT_NE(readFile("/proc/self/status", 1U << 20U).find("Name:"), std::string::npos) << "says that it has none";
}

TEST_F(Files, ArePipesWhereThatIsAskedFor)
{
    const fs::path fifo = pipe("p");
    std::thread writer([&] { std::ofstream(fifo) << "{\"a\": 1}"; });
    EXPECT_EQ(readFile(fifo, 1000, Pipes::read), "{\"a\": 1}");
    writer.join();
}

TEST_F(Files, ThatNobodyWritesAreGivenUp)
{
    EXPECT_EQ(refusal(pipe("p"), Pipes::read), path("p").string() + ": is a pipe that nobody has written to for 50 ms");
}

TEST_F(Files, ThatArePipesWithoutEndAreGivenUp)
{
    const fs::path fifo = pipe("p");
    std::thread writer([&] {
        ::signal(SIGPIPE, SIG_IGN);
        const int descriptor = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
        while (::write(descriptor, "          ", 10) > 0) {
        }
        ::close(descriptor);
    });
    EXPECT_EQ(refusal(fifo, Pipes::read), fifo.string() + ": has more than 1,000 bytes; at most 1,000 are read");
    writer.join();
    fs::remove(fifo);
    std::thread dripping([fifo = pipe("q")] {
        const int descriptor = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
        while (::write(descriptor, " ", 1) > 0)
            std::this_thread::sleep_for(kShort / 5);
        ::close(descriptor);
    });
    EXPECT_NE(refusal(path("q"), Pipes::read).find("is a pipe that has not ended after 300 ms"), std::string::npos);
    dripping.join();
}

TEST_F(Files, OfTheLongestNamesAreReplaced)
{
    const fs::path file = path(std::string(255, 'n'));
    replaceFile(file, "first");
    replaceFile(file, "second");
    EXPECT_EQ(readFile(file, 1000), "second");
    EXPECT_THROW(replaceFile(path(std::string(256, 'n')), "x"), Error);
    EXPECT_EQ(std::distance(fs::directory_iterator(path("")), {}), 1) << "and nothing else is left";
}

/// A signal that a program does not look out for ends it in the middle of a write.
TEST_F(Files, LeaveNothingBehindWhereTheProgramIsEnded)
{
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        ::signal(SIGXFSZ, SIG_DFL);
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        replaceFile(path("cut"), std::string(1 << 20U, 'x'));
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    EXPECT_TRUE(fs::is_empty(path("")));
}

TEST_F(Files, OfScenariosAreNotWaitedFor)
{
    const fs::path fifo = pipe("scenario.json");
    EXPECT_THROW(ScenarioDocument::readFile(fifo), ScenarioError);
    EXPECT_THROW(ScenarioDocument::readFile("/dev/zero"), ScenarioError);
}
