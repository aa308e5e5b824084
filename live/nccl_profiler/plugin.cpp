#include "live/nccl_profiler/plugin.h"

#include "live/nccl_profiler/lines.h"
#include "live/nccl_profiler/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace live::nccl_profiler {
namespace {

std::int64_t nanoseconds(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
std::int64_t now()
{
    return nanoseconds(CLOCK_MONOTONIC);
}

/// The first of the launchers' variables that holds a number; -1: none.
template <std::size_t N>
int numberOfEnvironment(const std::array<const char*, N>& names)
{
    for (const char* name : names)
        if (const char* text = std::getenv(name); text != nullptr && *text >= '0' && *text <= '9') {
            const long number = std::strtol(text, nullptr, 10);
            if (number >= 0 && number < 1 << 24)
                return static_cast<int>(number);
        }
    return -1;
}

ProcessWords thisProcess()
{
    ProcessWords words;
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0)
        words.host = host.data();
    words.pid = getpid();
    words.rank = numberOfEnvironment(
        std::to_array<const char*>({"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "PMI_RANK"}));
    words.worldSize = std::max(
        0, numberOfEnvironment(std::to_array<const char*>({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE"})));
    words.epochNs = nanoseconds(CLOCK_REALTIME) - now();
    return words;
}

/// Whole lines, up to a size; a disk that is full ends it.
class LineFile {
public:
    LineFile(const std::string& asked, const ProcessWords& process, std::uint64_t mostBytes) : m_mostBytes(mostBytes)
    {
        const std::string own = process.host + "-" + std::to_string(process.pid);
        struct stat about {};
        const bool isFolder = asked.back() == '/' || (stat(asked.c_str(), &about) == 0 && S_ISDIR(about.st_mode));
        if (isFolder)
            mkdir(asked.c_str(), 0777);
        m_path = isFolder ? asked + (asked.back() == '/' ? "" : "/") + "nccl-" + own + ".jsonl" : asked;
        for (int attempt = 0; attempt < 100 && m_file < 0; ++attempt) {
            m_file = ::open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666);
            if (m_file >= 0 || errno != EEXIST)
                break;
            // Of another process or an earlier run: nothing is written over.
            const std::string base = isFolder ? m_path.substr(0, m_path.rfind('/')) + "/nccl-" + own + ".jsonl" : asked;
            const std::size_t dot = base.find_last_of("./"),
                              at = dot == std::string::npos || base[dot] == '/' ? base.size() : dot;
            const std::string number = attempt == 0 && !isFolder ? std::string() : "-" + std::to_string(attempt + 1);
            m_path = base.substr(0, at) + (isFolder ? "" : "-" + own) + number + base.substr(at);
        }
        m_error = m_file < 0 ? errno : 0;
    }
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;
    ~LineFile()
    {
        if (m_file >= 0)
            ::close(m_file);
    }
    bool isOpen() const { return m_file >= 0; }
    int error() const { return m_error; }
    const std::string& path() const { return m_path; }
    /// False: it was not written, and nothing will be any more. `isLast`: although the size is reached.
    bool write(const std::string& lines, bool isLast = false)
    {
        if (m_isBroken || (m_bytes >= m_mostBytes && !isLast))
            return false;
        for (std::size_t done = 0; done < lines.size();) {
            const ssize_t wrote = ::write(m_file, lines.data() + done, lines.size() - done);
            if (wrote < 0 && errno == EINTR)
                continue;
            if (wrote <= 0) {
                m_isBroken = true;
                return false;
            }
            done += static_cast<std::size_t>(wrote);
        }
        m_bytes += lines.size();
        return true;
    }

private:
    std::string m_path;
    std::uint64_t m_bytes = 0, m_mostBytes;
    int m_file = -1, m_error = 0;
    bool m_isBroken = false;
};

class Session {
public:
    Session(std::unique_ptr<LineFile> file, ProcessWords process, int interfaceVersion)
        : m_file(std::move(file)), m_process(std::move(process)), m_interfaceVersion(interfaceVersion)
    {
        std::string line;
        appendProcessLine(line, m_process, m_interfaceVersion, {}, now());
        m_file->write(line);
        // Signals are the program's.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            m_thread = std::thread([this] { run(); });
        } catch (...) {
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session()
    {
        {
            const std::lock_guard guard(m_lock);
            m_isEnding = true;
        }
        m_wake.notify_all();
        if (m_thread.joinable())
            m_thread.join();
        writeFinished();
        writeLosses(true);
    }

    Recorder recorder;

    void wake() { m_wake.notify_one(); }
    void close(int communicator)
    {
        const std::lock_guard guard(m_closing);
        for (bool isClosed = false; !isClosed; writeFinished())
            isClosed = recorder.close(communicator);
        recorder.release(communicator);
    }
    void closeAll(int communicators)
    {
        for (int i = 0; i < communicators; ++i)
            if (recorder.isOpen(i))
                close(i);
    }

private:
    void run()
    {
        constexpr auto kPause = std::chrono::milliseconds(50);
        std::unique_lock lock(m_lock);
        while (!m_isEnding) {
            m_wake.wait_for(lock, kPause);
            lock.unlock();
            try {
                for (bool isAll = false; !isAll; writeFinished())
                    isAll = recorder.settle(now());
                writeLosses();
            } catch (...) { // no memory: what is finished stays in its ring, and is counted where that is full
            }
            lock.lock();
        }
    }

    void writeFinished()
    {
        const std::lock_guard guard(m_writing);
        while (recorder.take(m_finished)) {
            const Communicator communicator = recorder.communicator(m_finished.communicator);
            m_text.clear();
            if (m_finished.communicator != m_lastCommunicator || communicator.hash != m_lastHash ||
                communicator.rank != m_lastRank) {
                appendCommunicatorLine(m_text, communicator);
                m_lastCommunicator = m_finished.communicator;
                m_lastHash = communicator.hash;
                m_lastRank = communicator.rank;
            }
            appendOperationLine(m_text, m_process, communicator, m_finished);
            if (!m_file->write(m_text))
                ++m_unwritten;
        }
    }
    void writeLosses(bool isLast = false)
    {
        const std::lock_guard guard(m_writing);
        Recorder::Lost lost = recorder.lost();
        lost.operations += m_unwritten;
        if (lost.operations == m_said.operations && lost.events == m_said.events && lost.foreign == m_said.foreign)
            return;
        m_text.clear();
        appendProcessLine(m_text, m_process, m_interfaceVersion, lost, now());
        if (m_file->write(m_text, isLast))
            m_said = lost;
    }

    std::unique_ptr<LineFile> m_file;
    ProcessWords m_process;
    int m_interfaceVersion;
    std::mutex m_lock, m_writing, m_closing;
    std::condition_variable m_wake;
    bool m_isEnding = false;
    Finished m_finished; ///< under m_writing, as what follows
    std::string m_text;
    int m_lastCommunicator = -1, m_lastRank = -1;
    std::uint64_t m_lastHash = 0, m_unwritten = 0;
    Recorder::Lost m_said;
    std::thread m_thread;
};

constexpr int kMostContexts = 1024;

/// Never destroyed: NCCL's threads may call until the process is gone.
struct Process {
    std::mutex lock;
    std::shared_ptr<Session> session; ///< there is one while communicators are open
    std::atomic<Session*> current{nullptr};
    std::atomic<int> calls{0}; ///< under way in `current`
    int open = 0;
    bool isOver = false; ///< the process ends
    bool isRefusalSaid = false;
    std::atomic<bool> isChild{false};           ///< forked: thread and file are the parent's
    std::array<char, kMostContexts> contexts{}; ///< their addresses are the contexts
};

Process& process()
{
    alignas(Process) static std::array<std::byte, sizeof(Process)> place;
    static Process* const only = [] {
        auto* made = new (place.data()) Process;
        pthread_atfork(nullptr, nullptr, [] { process().isChild = true; });
        return made;
    }();
    return *only;
}

int indexOf(const void* context)
{
    const auto* at = static_cast<const char*>(context);
    const auto& contexts = process().contexts;
    return at >= contexts.data() && at < contexts.data() + contexts.size() ? static_cast<int>(at - contexts.data()) : -1;
}

/// The session for the time of a call; null where there is none.
class Use {
public:
    Use()
    {
        Process& of = process();
        if (of.isChild)
            return;
        of.calls.fetch_add(1);
        m_session = of.current.load();
        if (m_session == nullptr)
            of.calls.fetch_sub(1);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use()
    {
        if (m_session != nullptr)
            process().calls.fetch_sub(1);
    }
    Session* operator->() const { return m_session; }
    explicit operator bool() const { return m_session != nullptr; }

private:
    Session* m_session = nullptr;
};

/// Nobody is in it any more, and nobody comes.
void retire(Process& of)
{
    of.current = nullptr;
    while (of.calls.load() > 0)
        std::this_thread::yield();
    of.session.reset();
}

void say(abi::Logger logger, const std::string& text)
{
    constexpr int kWarn = 2;
    constexpr unsigned long kInitialisation = 1;
    if (logger != nullptr)
        logger(kWarn, kInitialisation, "rankscope_nccl_profiler", 0, "%s", text.c_str());
    else
        std::fprintf(stderr, "rankscope_nccl_profiler: %s\n", text.c_str());
}

int wantedOf(int interfaceVersion)
{
    std::uint64_t types = abi::kGroup | abi::kCollective | abi::kPointToPoint | abi::kProxyOp | abi::kProxyStep;
    if (interfaceVersion >= 3)
        types |= abi::kKernelChannel;
    if (interfaceVersion >= 5)
        types |= abi::kCollectiveCall | abi::kPointToPointCall;
    if (interfaceVersion >= 6)
        types |= abi::kCopyCollective;
    return static_cast<int>(types);
}

/// Null, and a reason, where nothing can be recorded.
std::shared_ptr<Session> makeSession(int interfaceVersion, std::string& why)
{
    const char* asked = std::getenv("RANKSCOPE_NCCL_PROFILE");
    if (asked == nullptr || *asked == '\0') {
        why = "records nothing: RANKSCOPE_NCCL_PROFILE names no file and no folder to write to";
        return nullptr;
    }
    constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
    std::uint64_t most = 1024;
    if (const char* text = std::getenv("RANKSCOPE_NCCL_PROFILE_MIB"); text != nullptr) {
        char* end = nullptr;
        const unsigned long long said = std::strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end != '\0' || said == 0 || said > kMebi) {
            why = "records nothing: RANKSCOPE_NCCL_PROFILE_MIB is \"" + std::string(text).substr(0, 40) +
                  "\"; it is the most mebibytes that a process writes, 1 to 1048576 (1024 where it is not set)";
            return nullptr;
        }
        most = said;
    }
    ProcessWords words = thisProcess();
    auto file = std::make_unique<LineFile>(asked, words, most * kMebi);
    if (!file->isOpen()) {
        why = "records nothing: cannot write " + file->path() + ": " + std::strerror(file->error()) +
              " (RANKSCOPE_NCCL_PROFILE is \"" + asked + "\")";
        return nullptr;
    }
    return std::make_shared<Session>(std::move(file), std::move(words), interfaceVersion);
}

/// At the end of the process, and where the library is unloaded: communicators that nobody closed.
[[gnu::destructor]] void endOfProcess()
{
    try {
        Process& of = process();
        if (of.isChild)
            return;
        const std::lock_guard guard(of.lock);
        of.isOver = true;
        if (!of.session)
            return;
        of.current = nullptr;
        while (of.calls.load() > 0)
            std::this_thread::yield();
        of.session->closeAll(kMostContexts);
        of.session.reset();
    } catch (...) { // nobody is left to tell
    }
}

} // namespace

int openCommunicator(void** context, std::uint64_t hash, const char* name, int nodes, int ranks, int rank, int interfaceVersion,
                     abi::Logger logger) noexcept
try {
    *context = nullptr;
    Process& of = process();
    if (of.isChild)
        return 0;
    const std::lock_guard guard(of.lock);
    if (of.isOver)
        return 0;
    if (!of.session) {
        std::string why;
        of.session = makeSession(interfaceVersion, why);
        if (!of.session) {
            if (!of.isRefusalSaid)
                say(logger, why);
            of.isRefusalSaid = true;
            return 0;
        }
        of.open = 0;
        of.current = of.session.get();
    }
    Communicator communicator{.hash = hash, .rank = rank, .ranks = ranks, .nodes = nodes};
    if (name != nullptr)
        std::memcpy(communicator.name.data(), name, strnlen(name, communicator.name.size() - 1));
    const int index = of.session->recorder.open(communicator, interfaceVersion);
    if (index < 0)
        say(logger, "records nothing of one more communicator: " + std::to_string(kMostContexts) + " are open already");
    else
        *context = &of.contexts[static_cast<std::size_t>(index)];
    of.open += index >= 0 ? 1 : 0;
    return wantedOf(interfaceVersion);
} catch (...) {
    return 0;
}

void startEvent(void* context, void** handle, const Event& event) noexcept
try {
    *handle = nullptr;
    const int index = indexOf(context);
    if (index < 0)
        return;
    const Use session;
    if (!session)
        return;
    *handle = reinterpret_cast<void*>(session->recorder.start(index, event, now())); // NOLINT(performance-no-int-to-ptr)
    if (session->recorder.isFilling())
        session->wake();
} catch (...) {
}

void stopEvent(void* handle) noexcept
try {
    if (const Use session; handle != nullptr && session)
        session->recorder.stop(reinterpret_cast<Handle>(handle), now());
} catch (...) {
}

void eventState(void* handle, int state, std::uint64_t deviceNs) noexcept
try {
    if (const Use session; handle != nullptr && session)
        session->recorder.state(reinterpret_cast<Handle>(handle), state, deviceNs, now());
} catch (...) {
}

void closeCommunicator(void* context) noexcept
try {
    const int index = indexOf(context);
    Process& of = process();
    if (index < 0 || of.isChild)
        return;
    const std::lock_guard guard(of.lock);
    if (!of.session || of.isOver || !of.session->recorder.isOpen(index))
        return;
    of.session->close(index);
    if (--of.open == 0)
        retire(of);
} catch (...) {
}

} // namespace live::nccl_profiler
