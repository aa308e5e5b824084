#include "sim/scenario/files.h"

#include "sim/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failSystem(const fs::path& path, const char* what)
{
    throw Error(path.string() + ": " + what + ": " + std::strerror(errno));
}

/// A new file beside the target, removed again unless it was renamed.
class TemporaryFile {
public:
    /// A new target gets the mode that the user's mask leaves; an old one keeps its own.
    explicit TemporaryFile(const fs::path& target)
    {
        const fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
        for (unsigned attempt = 0; m_descriptor < 0; ++attempt) {
            m_name = folder / (".rankscope-" + std::to_string(::getpid()) + "-" + std::to_string(attempt));
            m_descriptor = ::open(m_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (m_descriptor < 0 && errno != EEXIST)
                failSystem(target, "cannot be written");
        }
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile()
    {
        ::close(m_descriptor);
        if (!m_renamed)
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
        if (::rename(m_name.c_str(), target.c_str()) != 0)
            failSystem(target, "cannot be written");
        m_renamed = true;
        // The folder's entry survives a power cut only once the folder is written too; the file is whole in any case.
        const int folder = ::open(m_name.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0) {
            ::fsync(folder);
            ::close(folder);
        }
    }

private:
    fs::path m_name;
    int m_descriptor = -1;
    bool m_renamed = false;
};

/// Where a chain of links ends, whether or not that exists.
fs::path followed(const fs::path& path)
{
    constexpr int kMostLinks = 40; // as Linux
    fs::path target = path;
    std::error_code error;
    for (int links = 0; fs::is_symlink(target, error); ++links) {
        if (links == kMostLinks)
            throw Error(path.string() + ": is a link that leads to itself");
        target = target.parent_path() / fs::read_symlink(target, error); // an absolute one replaces the folder
    }
    return target;
}

} // namespace

std::string readFile(const fs::path& path, std::size_t mostBytes)
{
    std::error_code error;
    if (fs::is_directory(path, error))
        throw Error(path.string() + ": is a folder, not a file");
    std::ifstream file(path, std::ios::binary);
    if (!file)
        failSystem(path, "cannot be read");
    std::string text;
    constexpr std::size_t kPiece = 1U << 20U;
    while (file) {
        const std::size_t before = text.size();
        text.resize(before + kPiece);
        file.read(text.data() + before, static_cast<std::streamsize>(kPiece));
        text.resize(before + static_cast<std::size_t>(file.gcount()));
        if (text.size() > mostBytes)
            throw Error(path.string() + ": is larger than " + std::to_string(mostBytes) + " bytes");
    }
    if (file.bad())
        failSystem(path, "cannot be read");
    return text;
}

void replaceFile(const fs::path& path, std::string_view text)
{
    const fs::path target = followed(path);
    struct stat old = {};
    std::optional<mode_t> mode;
    if (::stat(target.c_str(), &old) == 0) {
        if (!S_ISREG(old.st_mode))
            throw Error(path.string() + ": is not an ordinary file");
        if (::access(target.c_str(), W_OK) != 0)
            failSystem(path, "cannot be written");
        mode = old.st_mode & 07777U;
    }
    TemporaryFile temporary(target);
    temporary.write(text, mode, path);
    temporary.renameTo(target);
}

} // namespace sim
