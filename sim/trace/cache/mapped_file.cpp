#include "sim/trace/cache/mapped_file.h"

#include "sim/error.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {

/// Memory that a file lies in. Ranges are never freed, only used again: a signal may look at them at any time.
struct GuardedRange {
    std::atomic<std::uintptr_t> begin = 0, end = 0; ///< both 0: of no file
    std::atomic<bool> isCutOff = false;
    int file = -1;
    GuardedRange* next = nullptr;

    /// A cut within the last page ends nobody: its bytes are zeros there.
    bool isShort() const
    {
        struct stat about {};
        return isCutOff || (::fstat(file, &about) == 0 && static_cast<std::uintmax_t>(about.st_size) < end - begin);
    }
};

namespace {

std::atomic<GuardedRange*> firstRange = nullptr;
std::atomic<bool> anyCutOff = false;
std::mutex rangesChange;
std::uintptr_t pageBytes = 0;
struct sigaction handlerBefore;

/// Puts zeros where the file has ended, from the page that was looked at to the end of the range: all of that is gone.
void onBusError(int signal, siginfo_t* about, void* context)
{
    const auto at = reinterpret_cast<std::uintptr_t>(about->si_addr);
    for (GuardedRange* range = firstRange; range != nullptr; range = range->next) {
        const std::uintptr_t begin = range->begin, end = range->end;
        if (at < begin || at >= end)
            continue;
        const std::uintptr_t page = at / pageBytes * pageBytes;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        void* const rest = reinterpret_cast<void*>(page);
        if (::mmap(rest, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            break;
        range->isCutOff = true;
        anyCutOff = true;
        return;
    }
    if ((handlerBefore.sa_flags & SA_SIGINFO) != 0)
        handlerBefore.sa_sigaction(signal, about, context);
    else if (handlerBefore.sa_handler != SIG_DFL && handlerBefore.sa_handler != SIG_IGN)
        handlerBefore.sa_handler(signal);
    else
        std::signal(signal, SIG_DFL); // it is looked at again, and ends the program as it would have
}

GuardedRange* guard(std::span<const std::byte> bytes, int file)
{
    const std::lock_guard lock(rangesChange);
    if (pageBytes == 0) {
        pageBytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        struct sigaction action {};
        action.sa_sigaction = onBusError;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &handlerBefore);
    }
    GuardedRange* range = firstRange;
    while (range != nullptr && range->end != 0)
        range = range->next;
    if (range == nullptr) {
        range = new GuardedRange;
        range->next = firstRange;
        firstRange = range;
    }
    range->isCutOff = false;
    range->file = file;
    range->begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    range->end = range->begin + bytes.size();
    return range;
}

} // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        throw Error(std::string("cannot be read: ") + std::strerror(errno));
    struct stat about {};
    const bool isFile = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    const std::size_t size = isFile ? static_cast<std::size_t>(about.st_size) : 0;
    void* const data = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (data == MAP_FAILED)
        ::close(file);
    if (!isFile)
        throw Error("is no ordinary file");
    if (size == 0)
        throw Error("is empty");
    if (data == MAP_FAILED)
        throw Error("cannot be mapped into memory");
    m_bytes = std::span(static_cast<const std::byte*>(data), size);
    m_range = guard(m_bytes, file);
}

MappedFile::~MappedFile()
{
    if (m_range == nullptr)
        return;
    const std::lock_guard lock(rangesChange);
    anyCutOff = anyCutOff || m_range->isShort();
    ::close(m_range->file);
    void* const data = const_cast<std::byte*>(m_bytes.data());
    m_range->begin = UINTPTR_MAX; // nothing lies in it from here on; `end` 0 gives it away
    ::munmap(data, m_bytes.size());
    m_range->end = 0;
}

bool MappedFile::isCutOff() const
{
    return m_range->isShort();
}

bool MappedFile::wasAnyCutOff()
{
    const std::lock_guard lock(rangesChange);
    for (const GuardedRange* range = firstRange; range != nullptr; range = range->next)
        anyCutOff = anyCutOff || (range->end != 0 && range->isShort());
    return anyCutOff;
}

} // namespace sim
