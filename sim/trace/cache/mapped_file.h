// A file's bytes as memory, which stay memory whatever becomes of the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace sim {

struct GuardedRange;

/// Bytes past a file's end end the program that looks at them, and a file that somebody else cuts off ends sooner than it did.
/// Here such bytes read as zeros from then on, and the file says so; it stays open for that.
class MappedFile {
public:
    /// Throws Error where it is no ordinary file, is empty, or cannot be read.
    explicit MappedFile(const std::filesystem::path&);
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();
    std::span<const std::byte> bytes() const { return m_bytes; }
    /// Bytes are gone.
    bool isCutOff() const;
    /// Of any file that this program has mapped so far.
    static bool wasAnyCutOff();

private:
    std::span<const std::byte> m_bytes;
    GuardedRange* m_range = nullptr;
};

} // namespace sim
