#include "sim/trace/readers/byte_source.h"

#include "sim/cancel.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#ifdef RANKSCOPE_ISAL
#include <isa-l/igzip_lib.h>
#endif
#include <zlib.h>
#include <zstd.h>

namespace sim {
namespace {

constexpr std::size_t kCompressedPiece = 256 * 1024;

class FileBytes final : public ByteSource {
public:
    explicit FileBytes(const std::filesystem::path& path)
    {
        // Opening a pipe must not wait for its writer.
        m_file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (m_file < 0)
            throw Error(path.string() + ": cannot be read: " + std::strerror(errno));
        struct stat about {};
        if (::fstat(m_file, &about) != 0 || !(S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode))) {
            ::close(m_file);
            throw Error(path.string() + ": is not an ordinary file");
        }
        m_isPipe = S_ISFIFO(about.st_mode);
        // A shell's own pipe, <(zcat …), has a writer from its begin on; whether one that has a name has, its first byte tells.
        std::error_code noLink;
        m_hasWriter = std::filesystem::read_symlink(path, noLink).string().starts_with("pipe:");
        if (m_isPipe && !isWritten()) {
            ::close(m_file);
            throw Error(path.string() + ": is no ordinary file but a pipe, and nobody has written to it for " +
                        std::to_string(kSilence.count()) + " s");
        }
        m_hasWriter = true;
        ::posix_fadvise(m_file, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    FileBytes(const FileBytes&) = delete;
    FileBytes& operator=(const FileBytes&) = delete;
    ~FileBytes() override { ::close(m_file); }
    std::size_t read(char* to, std::size_t most) override
    {
        std::size_t count = 0;
        while (count < most) {
            if (m_first) {
                to[count++] = *m_first;
                ++m_bytes;
                m_first.reset();
                continue;
            }
            if (m_isPipe)
                isWritten();
            const ssize_t got = ::read(m_file, to + count, most - count);
            if (got < 0 && (errno == EINTR || (m_isPipe && errno == EAGAIN)))
                continue;
            if (got < 0)
                m_damage = "the disk gave an error after " + std::to_string(m_bytes) + " bytes: " + std::strerror(errno);
            if (got <= 0)
                break;
            count += static_cast<std::size_t>(got);
            m_bytes += static_cast<std::uint64_t>(got);
        }
        return count;
    }
    std::uint64_t fileBytesRead() const override { return m_bytes; }

private:
    /// Waits until there is something to read or all writers have gone; false: nobody came to write.
    bool isWritten()
    {
        const auto latest = std::chrono::steady_clock::now() + kSilence;
        constexpr int kLookMs = 100;
        while (m_hasWriter || std::chrono::steady_clock::now() < latest) {
            checkCancelled();
            pollfd waiting{m_file, POLLIN, 0};
            const int ready = ::poll(&waiting, 1, kLookMs);
            if (ready > 0 || (ready < 0 && errno != EINTR))
                return true;
            if (m_hasWriter)
                continue;
            // A pipe without a writer is at its end; one whose writer still thinks is not. The byte that may have come meanwhile
            // is kept.
            char byte = 0;
            const ssize_t got = ::read(m_file, &byte, 1);
            if (got == 1) {
                m_first = byte;
                return true;
            }
            m_hasWriter = got < 0 && errno == EAGAIN;
        }
        return false;
    }

    static constexpr std::chrono::seconds kSilence{5};
    int m_file = -1;
    bool m_isPipe = false, m_hasWriter = false;
    std::optional<char> m_first; ///< of a pipe, read to see whether there is a writer
    std::uint64_t m_bytes = 0;
};

class MemoryBytes final : public ByteSource {
public:
    MemoryBytes(const char* data, std::size_t size) : m_data(data), m_size(size) {}
    std::size_t read(char* to, std::size_t most) override
    {
        const std::size_t count = std::min(most, m_size - m_at);
        std::memcpy(to, m_data + m_at, count);
        m_at += count;
        return count;
    }
    std::uint64_t fileBytesRead() const override { return m_at; }

private:
    const char* m_data;
    std::size_t m_size, m_at = 0;
};

class LookedAt final : public ByteSource {
public:
    LookedAt(std::unique_ptr<ByteSource> source, std::string head) : m_source(std::move(source)), m_head(std::move(head)) {}
    std::size_t read(char* to, std::size_t most) override
    {
        const std::size_t ofHead = std::min(most, m_head.size() - m_at);
        std::memcpy(to, m_head.data() + m_at, ofHead);
        m_at += ofHead;
        const std::size_t count = ofHead + (ofHead < most ? m_source->read(to + ofHead, most - ofHead) : 0);
        m_damage = m_source->damage();
        return count;
    }
    std::uint64_t fileBytesRead() const override { return m_source->fileBytesRead(); }

private:
    std::unique_ptr<ByteSource> m_source;
    std::string m_head;
    std::size_t m_at = 0;
};

/// What inflaters share: a piece of what is compressed.
class Inflating : public ByteSource {
public:
    explicit Inflating(std::unique_ptr<ByteSource> source) : m_source(std::move(source)), m_in(kCompressedPiece) {}
    std::uint64_t fileBytesRead() const override { return m_source->fileBytesRead(); }

protected:
    std::size_t nextPiece()
    {
        const std::size_t count = m_source->read(m_in.data(), m_in.size());
        if (!m_source->damage().empty())
            m_damage = m_source->damage();
        return count;
    }
    void fail(const char* format, const char* how)
    {
        if (m_damage.empty())
            m_damage = std::string("the ") + format + " stream " + how + " after " + std::to_string(m_out) + " bytes of text";
    }
    std::unique_ptr<ByteSource> m_source;
    std::vector<char> m_in;
    std::uint64_t m_out = 0;
    bool m_isOver = false;
};

#ifdef RANKSCOPE_ISAL
class GzipBytes final : public Inflating {
public:
    explicit GzipBytes(std::unique_ptr<ByteSource> source) : Inflating(std::move(source)), m_state(new inflate_state)
    {
        isal_inflate_init(m_state.get());
        m_state->crc_flag = ISAL_GZIP;
    }
    std::size_t read(char* to, std::size_t most) override
    {
        std::size_t count = 0;
        while (count < most && !m_isOver) {
            if (m_state->avail_in == 0) {
                const std::size_t got = nextPiece();
                m_state->next_in = reinterpret_cast<std::uint8_t*>(m_in.data());
                m_state->avail_in = static_cast<std::uint32_t>(got);
                if (got == 0) {
                    m_isOver = true;
                    if (!m_isBetween) {
                        fail("gzip", "ends too early");
                    }
                    break;
                }
            }
            if (m_isBetween && m_members > 0 && static_cast<unsigned char>(*m_state->next_in) != 0x1f) {
                m_isOver = true; // padding after the last member
                break;
            }
            m_isBetween = false;
            const std::size_t room = std::min<std::size_t>(most - count, 1U << 30);
            m_state->next_out = reinterpret_cast<std::uint8_t*>(to + count);
            m_state->avail_out = static_cast<std::uint32_t>(room);
            const int result = isal_inflate(m_state.get());
            const std::size_t made = room - m_state->avail_out;
            count += made;
            m_out += made;
            if (result != ISAL_DECOMP_OK) {
                fail("gzip", result == ISAL_INCORRECT_CHECKSUM ? "fails its checksum" : "is damaged");
                m_isOver = true;
            } else if (m_state->block_state == ISAL_BLOCK_FINISH) {
                isal_inflate_reset(m_state.get()); // another member may follow
                m_state->crc_flag = ISAL_GZIP;
                m_isBetween = true;
                ++m_members;
            }
        }
        return count;
    }

private:
    std::unique_ptr<inflate_state> m_state;
    bool m_isBetween = true;
    int m_members = 0;
};
#else
class GzipBytes final : public Inflating {
public:
    explicit GzipBytes(std::unique_ptr<ByteSource> source) : Inflating(std::move(source))
    {
        if (inflateInit2(&m_stream, 15 + 16) != Z_OK)
            throw Error("gzip cannot be inflated here");
    }
    GzipBytes(const GzipBytes&) = delete;
    GzipBytes& operator=(const GzipBytes&) = delete;
    ~GzipBytes() override { inflateEnd(&m_stream); }
    std::size_t read(char* to, std::size_t most) override
    {
        std::size_t count = 0;
        while (count < most && !m_isOver) {
            if (m_stream.avail_in == 0) {
                const std::size_t got = nextPiece();
                m_stream.next_in = reinterpret_cast<Bytef*>(m_in.data());
                m_stream.avail_in = static_cast<uInt>(got);
                if (got == 0) {
                    m_isOver = true;
                    if (!m_isBetween)
                        fail("gzip", "ends too early");
                    break;
                }
            }
            if (m_isBetween && m_members > 0 && *m_stream.next_in != 0x1f) {
                m_isOver = true; // padding after the last member
                break;
            }
            m_isBetween = false;
            const std::size_t room = std::min<std::size_t>(most - count, 1U << 30);
            m_stream.next_out = reinterpret_cast<Bytef*>(to + count);
            m_stream.avail_out = static_cast<uInt>(room);
            const int result = inflate(&m_stream, Z_NO_FLUSH);
            const std::size_t made = room - m_stream.avail_out;
            count += made;
            m_out += made;
            if (result == Z_STREAM_END) {
                inflateReset(&m_stream); // another member may follow
                m_isBetween = true;
                ++m_members;
            } else if (result != Z_OK && result != Z_BUF_ERROR) {
                fail("gzip", "is damaged");
                m_isOver = true;
            }
        }
        return count;
    }

private:
    z_stream m_stream{};
    bool m_isBetween = true;
    int m_members = 0;
};
#endif

class ZstdBytes final : public Inflating {
public:
    explicit ZstdBytes(std::unique_ptr<ByteSource> source) : Inflating(std::move(source)), m_stream(ZSTD_createDStream())
    {
        if (m_stream == nullptr)
            throw std::bad_alloc();
        ZSTD_DCtx_setParameter(m_stream, ZSTD_d_windowLogMax, 27); // 128 MiB: no file asks for more of our memory
    }
    ZstdBytes(const ZstdBytes&) = delete;
    ZstdBytes& operator=(const ZstdBytes&) = delete;
    ~ZstdBytes() override { ZSTD_freeDStream(m_stream); }
    std::size_t read(char* to, std::size_t most) override
    {
        std::size_t count = 0;
        while (count < most && !m_isOver) {
            if (m_at == m_size) {
                m_size = nextPiece();
                m_at = 0;
                if (m_size == 0) {
                    m_isOver = true;
                    if (!m_isBetween)
                        fail("Zstandard", "ends too early");
                    break;
                }
            }
            ZSTD_inBuffer in{m_in.data(), m_size, m_at};
            ZSTD_outBuffer out{to + count, most - count, 0};
            const std::size_t result = ZSTD_decompressStream(m_stream, &out, &in);
            count += out.pos;
            m_out += out.pos;
            m_at = in.pos;
            if (ZSTD_isError(result) != 0) {
                fail("Zstandard", "is damaged");
                m_isOver = true;
            }
            m_isBetween = result == 0;
        }
        return count;
    }

private:
    ZSTD_DStream* m_stream;
    std::size_t m_at = 0, m_size = 0;
    bool m_isBetween = true;
};

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> source)
{
    std::string head(4, '\0');
    head.resize(source->read(head.data(), head.size()));
    const bool isGzip = head.starts_with("\x1f\x8b");
    const bool isZstd = head.starts_with("\x28\xb5\x2f\xfd");
    auto whole = withHead(std::move(head), std::move(source));
    if (isGzip)
        return std::make_unique<GzipBytes>(std::move(whole));
    if (isZstd)
        return std::make_unique<ZstdBytes>(std::move(whole));
    return whole;
}

} // namespace

std::unique_ptr<ByteSource> openBytes(const std::filesystem::path& path)
{
    return unpacked(std::make_unique<FileBytes>(path));
}

std::unique_ptr<ByteSource> openBytes(const char* data, std::size_t size)
{
    return unpacked(std::make_unique<MemoryBytes>(data, size));
}

std::unique_ptr<ByteSource> withHead(std::string head, std::unique_ptr<ByteSource> rest)
{
    return std::make_unique<LookedAt>(std::move(rest), std::move(head));
}

std::string inflated(const char* data, std::size_t size, std::size_t most)
{
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 32) != Z_OK)
        throw Error("a compressed packet cannot be inflated here");
    std::string out;
    std::array<char, 65536> piece{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data)); // zlib writes nothing there
    stream.avail_in = static_cast<uInt>(size);
    int result = Z_OK;
    while (result == Z_OK && out.size() <= most) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        result = inflate(&stream, Z_NO_FLUSH);
        out.append(piece.data(), piece.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (result != Z_STREAM_END || out.size() > most)
        throw Error("a compressed packet of " + std::to_string(size) + " bytes is damaged, or too large");
    return out;
}

} // namespace sim
