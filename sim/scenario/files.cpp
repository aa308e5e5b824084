#include "sim/scenario/files.h"

#include "sim/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failSystem(const fs::path& path, const char* what)
{
    throw Error(path.string() + ": " + what + ": " + std::strerror(errno));
}

/// A temporary file that is removed unless it was renamed.
class TemporaryFile {
public:
    explicit TemporaryFile(const fs::path& target)
        : m_name((target.parent_path().empty() ? fs::path(".") : target.parent_path()) /
                 ("." + target.filename().string() + ".XXXXXX"))
    {
        m_descriptor = ::mkostemp(m_name.data(), O_CLOEXEC);
        if (m_descriptor < 0)
            failSystem(target, "cannot be written");
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile()
    {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
        if (!m_renamed)
            ::unlink(m_name.c_str());
    }

    void write(std::string_view text, mode_t mode, const fs::path& target)
    {
        while (!text.empty()) {
            const ssize_t written = ::write(m_descriptor, text.data(), text.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                failSystem(target, "cannot be written");
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        if (::fchmod(m_descriptor, mode) != 0 || ::fsync(m_descriptor) != 0)
            failSystem(target, "cannot be written");
    }
    void renameTo(const fs::path& target)
    {
        if (::rename(m_name.c_str(), target.c_str()) != 0)
            failSystem(target, "cannot be written");
        m_renamed = true;
    }

private:
    std::string m_name;
    int m_descriptor = -1;
    bool m_renamed = false;
};

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
    std::error_code error;
    const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
    struct stat old = {};
    mode_t mode = 0644;
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
