#include "sim/trace/cache/recording_cache.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/parallel.h"
#include "sim/trace/atomic_stream.h"
#include "sim/trace/cache/cache_bytes.h"
#include "sim/trace/cache/cache_records.h"
#include "sim/trace/cache/check_recording.h"

#include <algorithm>
#include <cstddef>

namespace sim {
namespace {

static_assert(std::endian::native == std::endian::little, "columns lie in the file as they lie in memory");
static_assert(sizeof(RecordedLink) == 12 && offsetof(RecordedLink, to) == 4 && offsetof(RecordedLink, kind) == 8);

constexpr std::string_view kMagic = "RKSCACHE";
/// One more whenever the format changes, or what a reader makes of a file.
constexpr std::uint32_t kVersion = 11;
constexpr std::size_t kAlignment = 64, kHeader = 64;

std::size_t aligned(std::size_t at)
{
    return (at + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
std::span<const std::byte> bytesOfColumn(const RecordedColumn<T>& column)
{
    return std::as_bytes(std::span(column.data(), column.size()));
}

/// Bytes one after the other, each part at a multiple of the alignment; and their hash, as it goes, by parts.
class SectionWriter {
public:
    explicit SectionWriter(std::ostream& out) : m_out(out) {}
    std::uint64_t at() const { return m_at; }
    /// What a section's hash is made of: its parts' hashes, in order.
    std::uint64_t takeHash()
    {
        const std::uint64_t hash = hashOfBytes(std::as_bytes(std::span(m_hashes)));
        m_hashes.clear();
        return hash;
    }
    void part(std::span<const std::byte> bytes)
    {
        align();
        m_hashes.push_back(hashOfBytes(bytes));
        constexpr std::size_t kAtOnce = std::size_t{4} << 20; // then it may be stopped
        for (std::size_t from = 0; from < bytes.size(); from += kAtOnce) {
            checkCancelled();
            const auto block = bytes.subspan(from, std::min(kAtOnce, bytes.size() - from));
            m_out.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(block.size()));
        }
        m_at += bytes.size();
    }
    void align()
    {
        constexpr std::array<char, kAlignment> kNothing{};
        const std::size_t missing = aligned(m_at) - m_at;
        m_out.write(kNothing.data(), static_cast<std::streamsize>(missing));
        m_at += missing;
    }

private:
    std::ostream& m_out;
    std::uint64_t m_at = 0;
    std::vector<std::uint64_t> m_hashes;
};

/// The parts of a section again, each within its bounds.
class SectionReader {
public:
    SectionReader(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper)
        : m_bytes(bytes), m_keeper(std::move(keeper))
    {
    }
    template <typename T>
    RecordedColumn<T> column(std::uint64_t count)
    {
        if (count > m_bytes.size() / sizeof(T))
            throw Error("a column is longer than its section");
        const std::span<const std::byte> bytes = part(static_cast<std::size_t>(count) * sizeof(T));
        return {std::span(reinterpret_cast<const T*>(bytes.data()), static_cast<std::size_t>(count)), m_keeper};
    }
    /// All that is left.
    std::span<const std::byte> rest() { return part(m_bytes.size() - std::min(m_bytes.size(), aligned(m_at))); }
    std::uint64_t hash() const { return hashOfBytes(std::as_bytes(std::span(m_hashes))); }

private:
    std::span<const std::byte> part(std::size_t size)
    {
        m_at = aligned(m_at);
        if (m_at > m_bytes.size() || m_bytes.size() - m_at < size)
            throw Error("a column is longer than its section");
        const std::span<const std::byte> bytes = m_bytes.subspan(m_at, size);
        m_at += size;
        m_hashes.push_back(hashOfBytes(bytes));
        return bytes;
    }

    std::span<const std::byte> m_bytes;
    std::shared_ptr<const void> m_keeper;
    std::size_t m_at = 0;
    std::vector<std::uint64_t> m_hashes;
};

struct CacheHeader {
    std::array<char, 8> magic{};
    std::uint32_t version = 0, nothing = 0;
    std::uint64_t bytes = 0, contentsAt = 0, contentsBytes = 0, contentsHash = 0, hash = 0, alsoNothing = 0;
};
static_assert(sizeof(CacheHeader) == kHeader);
constexpr std::size_t kHashed = offsetof(CacheHeader, hash);

} // namespace

std::uint64_t writeRecordingCache(const Recording& recording, const CacheOrigin& origin,
                                  const std::vector<std::filesystem::path>& opened, const std::filesystem::path& cache,
                                  const std::vector<CacheAttachment>& attachments)
{
    AtomicStream file(cache);
    SectionWriter out(file.stream());
    CacheHeader header;
    out.part(std::as_bytes(std::span(&header, 1)));
    out.takeHash();
    CacheWriter contents;
    CacheOrigin from = origin;
    cacheOrigin(contents, from);
    cacheShared(contents, recording, OpenedNames(opened));
    contents(static_cast<std::uint64_t>(recording.ranks.size()));
    for (const RankRecording& rank : recording.ranks) {
        checkCancelled();
        out.align();
        const std::uint64_t place = out.at();
        const RecordedSpans& spans = rank.spans;
        out.part(bytesOfColumn(spans.startNs));
        out.part(bytesOfColumn(spans.durationNs));
        out.part(bytesOfColumn(spans.name));
        out.part(bytesOfColumn(spans.meaning));
        out.part(bytesOfColumn(spans.microbatch));
        out.part(bytesOfColumn(spans.kind));
        std::string links; // without what lies between kinds
        links.resize(rank.links.size() * sizeof(RecordedLink));
        for (std::size_t i = 0; i < rank.links.size(); ++i) {
            const RecordedLink& link = rank.links[i];
            char* const to = links.data() + i * sizeof(RecordedLink);
            std::memcpy(to, &link.from, 4);
            std::memcpy(to + 4, &link.to, 4);
            to[8] = static_cast<char>(link.kind);
        }
        out.part(std::as_bytes(std::span(links)));
        out.part(bytesOfColumn(rank.annotations));
        CacheWriter records;
        cacheRankRecords(records, rank);
        const std::string text = records.take();
        out.part(std::as_bytes(std::span(text)));
        cacheRank(contents, rank);
        contents(place);
        contents(out.at() - place);
        contents(out.takeHash());
        contents(static_cast<std::uint64_t>(spans.size()));
        contents(static_cast<std::uint64_t>(rank.links.size()));
        contents(static_cast<std::uint64_t>(rank.annotations.size()));
        contents(!spans.meaning.empty());
    }
    contents(static_cast<std::uint64_t>(attachments.size()));
    for (const CacheAttachment& attachment : attachments) {
        checkCancelled();
        out.align();
        contents(attachment.name);
        contents(out.at());
        out.part(std::as_bytes(std::span(attachment.bytes)));
        contents(static_cast<std::uint64_t>(attachment.bytes.size()));
        contents(out.takeHash());
    }
    const std::string text = contents.take();
    out.align();
    header.contentsAt = out.at();
    out.part(std::as_bytes(std::span(text)));
    std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
    header.version = kVersion;
    header.bytes = out.at();
    header.contentsBytes = text.size();
    header.contentsHash = hashOfBytes(std::as_bytes(std::span(text)));
    header.hash = hashOfBytes(std::as_bytes(std::span(&header, 1)).first(kHashed));
    file.stream().seekp(0);
    file.stream().write(reinterpret_cast<const char*>(&header), sizeof header);
    file.commit();
    return header.bytes;
}

RecordingCache::RecordingCache(const std::filesystem::path& cache, const std::vector<std::filesystem::path>& opened)
{
    m_file = std::make_shared<const MappedFile>(cache);
    m_bytes = m_file->bytes();
    m_keeper = m_file;
    readContents(opened);
}

RecordingCache::RecordingCache(std::span<const std::byte> bytes, const std::vector<std::filesystem::path>& opened,
                               bool checksHashes)
    : m_keeper(std::make_shared<char>()), m_bytes(bytes), m_checksHashes(checksHashes)
{
    readContents(opened);
}

void RecordingCache::readContents(const std::vector<std::filesystem::path>& opened)
{
    CacheHeader header;
    if (m_bytes.size() < kHeader)
        throw Error("is cut off: it has " + std::to_string(m_bytes.size()) + " bytes");
    std::memcpy(&header, m_bytes.data(), kHeader);
    if (std::string_view(header.magic.data(), header.magic.size()) != kMagic)
        throw Error("is no cache of a recording");
    if (header.version != kVersion)
        throw Error("is of version " + std::to_string(header.version) + " and this program of " + std::to_string(kVersion));
    if (m_checksHashes && header.hash != hashOfBytes(m_bytes.first(kHashed)))
        throw Error("is damaged: its first bytes are not what was written");
    if (header.bytes != m_bytes.size())
        throw Error("is cut off: it has " + std::to_string(m_bytes.size()) + " bytes of " + std::to_string(header.bytes));
    if (header.contentsAt > m_bytes.size() || header.contentsBytes > m_bytes.size() - header.contentsAt)
        throw Error("is damaged: its table of contents lies beyond its end");
    const auto contents = m_bytes.subspan(header.contentsAt, header.contentsBytes);
    if (m_checksHashes && header.contentsHash != hashOfBytes(contents))
        throw Error("is damaged: its table of contents is not what was written");
    try {
        CacheReader in(contents);
        cacheOrigin(in, m_origin);
        m_shared = std::make_shared<Recording>();
        cacheShared(in, *m_shared, OpenedNames(opened));
        in.list(m_sections, [&](Section& section) {
            cacheRank(in, section.about);
            for (std::uint64_t* number :
                 {&section.place, &section.bytes, &section.hash, &section.spans, &section.links, &section.annotations})
                in(*number);
            in(section.isOwn);
            if (section.place % kAlignment != 0 || section.place > header.contentsAt ||
                section.bytes > header.contentsAt - section.place || section.spans > section.bytes)
                throw Error("a rank lies beyond the end");
        });
        in.list(m_attached, [&](Attached& attached) {
            in(attached.name);
            for (std::uint64_t* number : {&attached.place, &attached.bytes, &attached.hash})
                in(*number);
            if (attached.place > header.contentsAt || attached.bytes > header.contentsAt - attached.place)
                throw Error("what was found out lies beyond the end");
        });
        if (!in.isAtEnd())
            throw Error("it is longer than it says");
        std::vector<std::size_t> spans;
        for (const Section& section : m_sections)
            spans.push_back(section.spans);
        checkShared(*m_shared, spans);
    } catch (const Error& error) {
        throw Error(std::string("is damaged: ") + error.what());
    }
}

std::size_t RecordingCache::spanCount() const
{
    std::size_t count = 0;
    for (const Section& section : m_sections)
        count += section.spans;
    return count;
}

RankRecording RecordingCache::rank(std::size_t index) const
{
    const Section& section = m_sections[index];
    try {
        RankRecording rank = section.about;
        SectionReader in(m_bytes.subspan(section.place, section.bytes), m_keeper);
        const std::uint64_t meanings = section.isOwn ? section.spans : 0;
        rank.spans.startNs = in.column<std::int64_t>(section.spans);
        rank.spans.durationNs = in.column<std::int64_t>(section.spans);
        rank.spans.name = in.column<std::uint32_t>(section.spans);
        rank.spans.meaning = in.column<std::uint32_t>(meanings);
        rank.spans.microbatch = in.column<std::int32_t>(meanings);
        rank.spans.kind = in.column<RecordedKind>(section.spans);
        rank.links = in.column<RecordedLink>(section.links);
        rank.annotations = in.column<std::uint32_t>(section.annotations);
        const std::span<const std::byte> records = in.rest();
        if (m_checksHashes && in.hash() != section.hash)
            throw Error("its bytes are not what was written");
        CacheReader reader(records);
        cacheRankRecords(reader, rank);
        if (!reader.isAtEnd())
            throw Error("it is longer than it says");
        checkRank(rank, *m_shared);
        if (m_file && m_file->isCutOff())
            throw Error("bytes are gone: somebody cut the file off while it was read");
        return rank;
    } catch (const Error& error) {
        const int number = section.about.rank;
        throw Error("is damaged: of " + (number >= 0 ? "rank " + std::to_string(number) : std::string("an unknown rank")) + ", " +
                    error.what());
    }
}

Recording RecordingCache::outline() const
{
    Recording out = copyOfShared(*m_shared);
    for (const Section& section : m_sections) {
        RankRecording& rank = out.ranks.emplace_back(section.about);
        std::size_t at = section.place;
        const auto column = [&]<typename T>(RecordedColumn<T>& to, std::uint64_t count) {
            at = aligned(at);
            const std::uint64_t end = section.place + section.bytes;
            if (at > end || count > (end - at) / sizeof(T))
                throw Error("is damaged: a column is longer than its section");
            to = {std::span(reinterpret_cast<const T*>(m_bytes.data() + at), static_cast<std::size_t>(count)), m_keeper};
            at += static_cast<std::size_t>(count) * sizeof(T);
        };
        const std::uint64_t meanings = section.isOwn ? section.spans : 0;
        column(rank.spans.startNs, section.spans);
        column(rank.spans.durationNs, section.spans);
        column(rank.spans.name, section.spans);
        column(rank.spans.meaning, meanings);
        column(rank.spans.microbatch, meanings);
        column(rank.spans.kind, section.spans);
    }
    return out;
}

std::optional<std::span<const std::byte>> RecordingCache::attachment(std::string_view name) const
{
    const auto found =
        std::find_if(m_attached.begin(), m_attached.end(), [name](const Attached& attached) { return attached.name == name; });
    if (found == m_attached.end())
        return std::nullopt;
    const std::span<const std::byte> bytes = m_bytes.subspan(found->place, found->bytes);
    const std::array hashes{hashOfBytes(bytes)};
    if (m_checksHashes && found->hash != hashOfBytes(std::as_bytes(std::span(hashes))))
        throw Error("is damaged: what was found out of it is not what was written");
    if (m_file && m_file->isCutOff())
        throw Error("is cut off: bytes are gone that it had when it was opened");
    return bytes;
}

Recording RecordingCache::recording(std::size_t threads) const
{
    Recording out = copyOfShared(*m_shared);
    out.ranks.resize(m_sections.size());
    forEachInParallel(m_sections.size(), threads, [&](std::size_t i) {
        checkCancelled();
        out.ranks[i] = rank(i);
    });
    for (std::size_t i = 1; i < out.ranks.size(); ++i)
        if (static_cast<unsigned>(out.ranks[i - 1].rank) > static_cast<unsigned>(out.ranks[i].rank))
            throw Error("is damaged: its ranks are out of order");
    return out;
}

} // namespace sim
