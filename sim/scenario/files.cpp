#include "sim/scenario/files.h"

#include "sim/error.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failSystem(const fs::path& path, const char* what)
{
    const char* why = std::strerror(errno); // before anything else changes it
    throw Error(shownPlace(path.string()) + ": " + what + ": " + why);
}

/// What is open, closed when it goes.
class OpenFile {
public:
    explicit OpenFile(int descriptor) : m_descriptor(descriptor) {}
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile()
    {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }
    int descriptor() const { return m_descriptor; }

private:
    int m_descriptor;
};

/// Until there is something to read, or the end of it.
void awaitWriter(int descriptor, const fs::path& path, std::chrono::milliseconds silence)
{
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    int ready = 0;
    do
        ready = ::poll(&waiting, 1, static_cast<int>(silence.count()));
    while (ready < 0 && errno == EINTR);
    if (ready < 0)
        failSystem(path, "cannot be read");
    if (ready == 0)
        throw Error(shownPlace(path.string()) + ": is a pipe that nobody has written to for " + std::to_string(silence.count()) +
                    " ms");
}

/// A new file beside the target. It has no name until it is whole, so that nothing of it is left whatever ends the program; where
/// the file system has no such, one that is removed again unless it was renamed.
class TemporaryFile {
public:
    /// A new target gets the mode that the user's mask leaves; an old one keeps its own.
    explicit TemporaryFile(const fs::path& target) : m_folder(target.parent_path().empty() ? fs::path(".") : target.parent_path())
    {
        constexpr mode_t kMasked = 0666;
        m_descriptor = ::open(m_folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMasked);
        if (m_descriptor >= 0 && ::access(unnamed().c_str(), F_OK) != 0) { // without /proc it would never get a name
            ::close(m_descriptor);
            m_descriptor = -1;
        }
        if (m_descriptor < 0)
            takeName(target, [&](const fs::path& name) {
                m_descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMasked);
                return m_descriptor >= 0;
            });
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile()
    {
        ::close(m_descriptor);
        if (!m_name.empty())
            ::unlink(m_name.c_str());
    }

    void write(std::string_view text, std::optional<mode_t> mode, const fs::path& target)
    {
        while (!text.empty()) {
            const ssize_t written = ::write(m_descriptor, text.data(), text.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                failSystem(target, "cannot be written");
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        if ((mode && ::fchmod(m_descriptor, *mode) != 0) || ::fsync(m_descriptor) != 0)
            failSystem(target, "cannot be written");
    }
    void renameTo(const fs::path& target)
    {
        if (m_name.empty()) // a link takes nobody's place: it has a name of its own for a moment
            takeName(target, [&](const fs::path& name) {
                return ::linkat(AT_FDCWD, unnamed().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
            });
        if (::rename(m_name.c_str(), target.c_str()) != 0)
            failSystem(target, "cannot be written");
        m_name.clear();
        // The folder's entry survives a power cut only once the folder is written too; the file is whole in any case.
        const int folder = ::open(m_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0) {
            ::fsync(folder);
            ::close(folder);
        }
    }

private:
    std::string unnamed() const { return "/proc/self/fd/" + std::to_string(m_descriptor); }
    /// The first that is free. Short, whatever the target is called: a name has at most 255 bytes.
    template <typename Make>
    void takeName(const fs::path& target, Make&& make)
    {
        for (unsigned attempt = 0;; ++attempt) {
            const fs::path name = m_folder / (".rankscope-" + std::to_string(::getpid()) + "-" + std::to_string(attempt));
            if (make(name)) {
                m_name = name;
                return;
            }
            if (errno != EEXIST)
                failSystem(target, "cannot be written");
        }
    }

    const fs::path m_folder;
    fs::path m_name; ///< empty: it has none
    int m_descriptor = -1;
};

/// Where a chain of links ends, whether or not that exists.
fs::path followed(const fs::path& path)
{
    constexpr int kMostLinks = 40; // as Linux
    fs::path target = path;
    std::error_code error;
    for (int links = 0; fs::is_symlink(target, error); ++links) {
        if (links == kMostLinks)
            throw Error(shownPlace(path.string()) + ": is a link that leads to itself");
        target = target.parent_path() / fs::read_symlink(target, error); // an absolute one replaces the folder
    }
    return target;
}

} // namespace

std::string readFile(const fs::path& path, std::size_t mostBytes, Pipes pipes, std::chrono::milliseconds silence)
{
    const std::string shownPath = shownPlace(path.string());
    if (path.native().find('\0') != std::string::npos)
        throw Error(shownPath + ": no file can have a name with a zero byte in it");
    // Opening a pipe must not wait for its writer.
    const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat facts = {};
    if (file.descriptor() < 0 || ::fstat(file.descriptor(), &facts) != 0)
        failSystem(path, "cannot be read");
    const bool isPipe = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
    if (!S_ISREG(facts.st_mode) && !(isPipe && pipes == Pipes::read))
        throw Error(shownPath + (S_ISDIR(facts.st_mode)    ? ": is a folder, not a file"
                                 : pipes == Pipes::refused ? ": is not an ordinary file"
                                                           : ": is a device; a file or a pipe can be read"));
    const auto tooLarge = [&](const std::string& size) {
        return Error(shownPath + ": has " + size + "; at most " + numberText(static_cast<double>(mostBytes), Unit::count) +
                     " are read");
    };
    if (S_ISREG(facts.st_mode) && facts.st_size > 0 && static_cast<std::uint64_t>(facts.st_size) > mostBytes)
        throw tooLarge(countedText(facts.st_size, "byte"));
    std::string text;
    // Of a file as much as it says it has, in room for one more, which tells at once that it grows; then a small piece, which
    // finds its end: room that is not read into is cleared for nothing, and the catalogue has two hundred small ones.
    constexpr std::size_t kMostPiece = 1U << 16U, kSmallPiece = 1U << 9U;
    const auto length = isPipe ? std::size_t{0} : static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0));
    // A writer that is never silent for long must come to an end as well.
    const auto latest = std::chrono::steady_clock::now() + 6 * silence;
    for (;;) {
        if (isPipe)
            awaitWriter(file.descriptor(), path, silence);
        if (isPipe && std::chrono::steady_clock::now() > latest)
            throw Error(shownPath + ": is a pipe that has not ended after " + std::to_string(6 * silence.count()) + " ms, with " +
                        std::to_string(text.size()) + " bytes");
        const std::size_t before = text.size();
        const std::size_t piece = length == 0       ? kMostPiece
                                  : before < length ? std::min(kMostPiece, length - before + 1)
                                                    : std::clamp(before - length, kSmallPiece, kMostPiece); // it grows
        text.resize(before + piece);
        const ssize_t got = ::read(file.descriptor(), text.data() + before, piece);
        text.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
        if (got == 0)
            return text;
        if (got < 0 && errno != EINTR && !(isPipe && errno == EAGAIN)) // a file that has nothing now will not have it later
            failSystem(path, "cannot be read");
        if (text.size() > mostBytes) // an ordinary one that grows, too
            throw tooLarge("more than " + countedText(static_cast<std::int64_t>(mostBytes), "byte"));
    }
}

void replaceFile(const fs::path& path, std::string_view text)
{
    const fs::path target = followed(path);
    struct stat old = {};
    std::optional<mode_t> mode;
    if (::stat(target.c_str(), &old) == 0) {
        if (!S_ISREG(old.st_mode))
            throw Error(shownPlace(path.string()) + ": is not an ordinary file");
        if (::access(target.c_str(), W_OK) != 0)
            failSystem(path, "cannot be written");
        mode = old.st_mode & 07777U;
    }
    TemporaryFile temporary(target);
    temporary.write(text, mode, path);
    temporary.renameTo(target);
}

} // namespace sim
