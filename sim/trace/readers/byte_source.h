// A file's text piece by piece: as it lies there, or inflated from gzip or Zstandard, known by its first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace sim {

class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// Up to `most` bytes; fewer only at the end, 0 after it. What cannot be read or inflated ends the text early: damage() then
    /// says why.
    virtual std::size_t read(char* to, std::size_t most) = 0;
    /// Of the file on the disk, for progress.
    virtual std::uint64_t fileBytesRead() const = 0;
    /// "" while all is well; else for a person: "the gzip stream is damaged after 1234 bytes".
    const std::string& damage() const { return m_damage; }

protected:
    std::string m_damage;
};

/// Throws Error if the file cannot be opened, or is a folder or device.
std::unique_ptr<ByteSource> openBytes(const std::filesystem::path&);
/// The same of bytes in memory (which outlive it): for tests and fuzzers.
std::unique_ptr<ByteSource> openBytes(const char* data, std::size_t size);
/// Bytes that were looked at before it was known what they are, then the rest.
std::unique_ptr<ByteSource> withHead(std::string head, std::unique_ptr<ByteSource> rest);
/// Inflates one zlib stream (Perfetto's compressed packets). Throws Error where it is damaged or would be over `most` bytes.
std::string inflated(const char* data, std::size_t size, std::size_t most);

} // namespace sim
