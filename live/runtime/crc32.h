// CRC-32 as zlib, PNG and Python's zlib.crc32 compute it (ISO 3309: the reflected polynomial 0xEDB88320), in pieces: ranks write
// parts of a tensor in any order, and the checksum of the whole comes out of theirs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace live {

/// The checksum of a message that is put together from pieces. A CRC without its initial and final inversion is linear over
/// GF(2): that of a message is the exclusive or of those of its pieces, each with zeros in place of the others.
class PiecewiseCrc32 {
public:
    explicit PiecewiseCrc32(std::uint64_t messageBytes) : m_bytes(messageBytes) {}
    /// A piece that begins at `offset`. Pieces do not overlap; what is never added counts as zeros. O(bytes + log message).
    void add(std::uint64_t offset, const void* data, std::size_t bytes);
    /// Of another object for the same message, which had other pieces.
    void join(std::uint32_t linear) { m_linear ^= linear; }
    std::uint32_t linear() const { return m_linear; }
    /// Of the whole message.
    std::uint32_t value() const;

private:
    std::uint64_t m_bytes;
    std::uint32_t m_linear = 0;
};

std::uint32_t crc32(const void* data, std::size_t bytes);

} // namespace live
