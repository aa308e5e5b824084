// What a cache gives back is what was read; what is damaged, forged or of other files is refused, and nothing is written unasked.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/atomic_stream.h"
#include "sim/trace/cache/cached_reading.h"
#include "sim/trace/export.h"
#include "sim/trace/recorded_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kData = RANKSCOPE_TEST_DATA;

class RecordingCacheTest : public testing::Test {
protected:
    RecordingCacheTest()
    {
        fs::remove_all(m_folder);
        fs::create_directories(m_folder);
        fs::copy(kData / "slow-rank", m_run, fs::copy_options::recursive);
    }
    ~RecordingCacheTest() override { fs::remove_all(m_folder); }

    /// The folder's recording, and its cache written.
    sim::CachedReading kept()
    {
        sim::CachedReading read = sim::readRecordingOrCache({m_run});
        sim::keepCache(read.recording, read.origin, {m_run});
        return read;
    }
    std::string bytesOfCache() const
    {
        std::ifstream in(m_cache, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void writeCache(const std::string& bytes) const { std::ofstream(m_cache, std::ios::binary) << bytes; }

    const fs::path m_folder = fs::temp_directory_path() / ("rankscope-cache-" + std::to_string(::getpid()));
    const fs::path m_run = m_folder / "run", m_cache = m_folder / "run.rankscope-cache";
};

std::string written(const sim::Recording& recording)
{
    std::ostringstream out;
    sim::writeChromeJson(sim::traceToWrite(recording), out);
    return out.str();
}

TEST_F(RecordingCacheTest, GivesBackWhatWasRead)
{
    std::vector<fs::path> samples = {kData / "slow-rank"};
    for (const char* folder : {"kineto", "nccl", "torch-parallel"})
        for (const fs::directory_entry& entry : fs::directory_iterator(kData / folder))
            if (entry.path().extension() != ".md")
                samples.push_back(entry.path());
    int cached = 0;
    for (const fs::path& sample : samples) {
        SCOPED_TRACE(sample.string());
        sim::Recording read;
        try {
            read = sim::readRecording({sample});
        } catch (const sim::Error&) {
            continue; // no trace: beside others to be told apart
        }
        const sim::CacheOrigin origin{.sources = {{.path = "a", .bytes = 3}}, .pythonFunctions = true};
        sim::writeRecordingCache(read, origin, {sample}, m_cache);
        const std::string bytes = bytesOfCache();
        const sim::RecordingCache cache(m_cache, {sample});
        EXPECT_EQ(cache.origin(), origin);
        EXPECT_EQ(cache.spanCount(), read.spanCount());
        const sim::Recording again = cache.recording();
        EXPECT_EQ(written(again), written(read));
        EXPECT_EQ(again.problems, read.problems);
        ASSERT_EQ(again.files.size(), read.files.size());
        for (std::size_t i = 0; i < read.files.size(); ++i)
            EXPECT_EQ(again.files[i].path, read.files[i].path);
        // All of it, member by member: what is written of it is the same to the byte.
        sim::writeRecordingCache(again, origin, {sample}, m_cache);
        EXPECT_TRUE(bytesOfCache() == bytes);
        ++cached;
    }
    EXPECT_GT(cached, 10);
}

TEST_F(RecordingCacheTest, TakesCollectivesThatNobodyTimed)
{
    sim::Recording read = sim::readRecording({m_run});
    ASSERT_FALSE(read.ranks.at(0).collectives.empty());
    read.ranks[0].collectives[0].durationNs = sim::kUntimed;
    sim::writeRecordingCache(read, {}, {m_run}, m_cache);
    EXPECT_EQ(sim::RecordingCache(m_cache, {m_run}).recording().ranks.at(0).collectives.at(0).durationNs, sim::kUntimed);
}

TEST_F(RecordingCacheTest, IsMappedAndNotCopied)
{
    const sim::CachedReading read = kept();
    EXPECT_FALSE(read.isFromCache);
    const sim::CachedReading again = sim::readRecordingOrCache({m_run});
    ASSERT_TRUE(again.isFromCache) << again.whyNot;
    const sim::RecordedSpans &before = read.recording.ranks[0].spans, &now = again.recording.ranks[0].spans;
    EXPECT_GT(before.startNs.memoryBytes(), 0U);
    EXPECT_EQ(now.startNs.memoryBytes() + now.durationNs.memoryBytes() + now.name.memoryBytes() + now.kind.memoryBytes(), 0U);
    EXPECT_EQ(now.startNs, before.startNs);
    sim::RecordedSpans changed = now; // whoever changes them gets a copy
    changed.startNs[0] = 1;
    EXPECT_EQ(changed.startNs[0], 1);
    EXPECT_EQ(now.startNs, before.startNs);
    fs::remove(m_cache); // it stays as long as somebody looks at it
    EXPECT_EQ(now.durationNs, before.durationNs);
}

TEST_F(RecordingCacheTest, HasWhatWasFoundOutBesideWhatWasRecorded)
{
    const sim::CachedReading read = sim::readRecordingOrCache({m_run});
    const std::vector<sim::CacheAttachment> attachments = {{"answers 1", "who is late"}, {"empty", ""}};
    sim::keepCache(read.recording, read.origin, {m_run}, {}, attachments);
    {
        const sim::OpenedCache opened = sim::openCache({m_run});
        ASSERT_TRUE(opened.cache) << opened.whyNot;
        for (const sim::CacheAttachment& attachment : attachments) {
            const auto bytes = opened.cache->attachment(attachment.name);
            ASSERT_TRUE(bytes) << attachment.name;
            EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), attachment.bytes);
        }
        EXPECT_FALSE(opened.cache->attachment("answers 2")) << "of another version";
        EXPECT_EQ(written(opened.cache->recording()), written(read.recording));
        const sim::Recording outline = opened.cache->outline();
        EXPECT_EQ(outline.spanCount(), read.recording.spanCount());
        EXPECT_GT(outline.spanCount(), 1000U);
        ASSERT_EQ(outline.ranks.size(), read.recording.ranks.size());
        for (std::size_t r = 0; r < outline.ranks.size(); ++r) {
            EXPECT_EQ(outline.ranks[r].rank, read.recording.ranks[r].rank);
            EXPECT_EQ(outline.ranks[r].spans.startNs, read.recording.ranks[r].spans.startNs);
            EXPECT_EQ(outline.ranks[r].spans.kind, read.recording.ranks[r].spans.kind);
        }
    }
    std::string bytes = bytesOfCache();
    const std::size_t at = bytes.find("who is late");
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 'W';
    writeCache(bytes);
    const sim::OpenedCache damaged = sim::openCache({m_run});
    ASSERT_TRUE(damaged.cache) << "what was recorded is sound";
    EXPECT_THROW((void)damaged.cache->attachment("answers 1"), sim::Error);
    EXPECT_TRUE(damaged.cache->attachment("empty"));
    fs::remove(m_cache);
    EXPECT_FALSE(sim::openCache({m_run}).cache);
}

TEST_F(RecordingCacheTest, IsOfTheFilesAsTheyAre)
{
    kept();
    const auto whyNot = [&](const sim::ReadOptions& options = {}) {
        const sim::CachedReading read = sim::readRecordingOrCache({m_run}, options);
        EXPECT_EQ(read.isFromCache, read.whyNot.empty());
        EXPECT_EQ(read.recording.ranks.size(), sim::readRecording({m_run}).ranks.size());
        return read.whyNot;
    };
    EXPECT_EQ(whyNot(), "");
    EXPECT_THAT(whyNot({.pythonFunctions = true}), HasSubstr("it was made without the frames of Python stacks"));
    const fs::path file = sim::traceFiles(m_run).front();
    const fs::file_time_type time = fs::last_write_time(file);
    fs::last_write_time(file, time + std::chrono::seconds(1));
    EXPECT_THAT(whyNot(), HasSubstr(file.filename().string() + " has changed; the files themselves were read"));
    fs::last_write_time(file, time);
    EXPECT_EQ(whyNot(), "");
    { // same length, same time, other bytes
        std::fstream(file, std::ios::binary | std::ios::in | std::ios::out).seekp(9).put('\x7f');
        fs::last_write_time(file, time);
    }
    EXPECT_THAT(whyNot(), HasSubstr(file.filename().string() + " has changed"));
    fs::remove(file);
    EXPECT_THAT(sim::readRecordingOrCache({m_run}).whyNot, HasSubstr("1 of its files are gone"));
    kept();
    EXPECT_EQ(whyNot(), "");
    std::ofstream(m_run / "rank9.json") << R"({"traceEvents":[]})";
    EXPECT_THAT(sim::readRecordingOrCache({m_run}).whyNot, HasSubstr("rank9.json is new"));
}

TEST_F(RecordingCacheTest, NamesFilesAsTheyAreNamedNow)
{
    std::ofstream(m_run / "notes.txt") << "of no recorder";
    const sim::CachedReading read = kept();
    fs::create_directory_symlink(m_run, m_folder / "other");
    fs::copy(m_cache, m_folder / "other.rankscope-cache");
    const fs::path other = m_folder / "other";
    const sim::CachedReading again = sim::readRecordingOrCache({other});
    ASSERT_TRUE(again.isFromCache) << again.whyNot;
    const sim::Recording fresh = sim::readRecording({other});
    EXPECT_EQ(again.recording.files[0].path, fresh.files[0].path);
    EXPECT_THAT(again.recording.files[0].path, HasSubstr("/other/"));
    ASSERT_EQ(again.recording.skipped.size(), fresh.skipped.size());
    for (std::size_t i = 0; i < fresh.skipped.size(); ++i) {
        EXPECT_EQ(again.recording.skipped[i].why, fresh.skipped[i].why);
        EXPECT_EQ(again.recording.skipped[i].file, fresh.skipped[i].file);
    }
}

TEST_F(RecordingCacheTest, IsWrittenOnlyWhenAskedForAndOfWhatWasRead)
{
    sim::CachedReading read = sim::readRecordingOrCache({m_run});
    EXPECT_FALSE(fs::exists(m_cache));
    const fs::path file = sim::traceFiles(m_run).front();
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(2));
    try {
        sim::keepCache(read.recording, read.origin, {m_run});
        FAIL() << "of files that nobody read";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("the files changed while they were read: " + file.filename().string()));
    }
    EXPECT_FALSE(fs::exists(m_cache));
    kept();
    const fs::path first = m_run / "rank0.json";
    const fs::path two = sim::cachePathOf({first, m_run / "rank1.json"});
    EXPECT_EQ(two.parent_path(), m_run);
    EXPECT_THAT(two.filename().string(), testing::StartsWith("rank0.json+1-"));
    EXPECT_NE(two, sim::cachePathOf({first, m_run / "rank2.json"})) << "each set has its own";
    // Caches beside traces are none themselves, and say so.
    fs::copy(m_cache, m_run / "rank0.json.rankscope-cache");
    EXPECT_EQ(sim::readRecording({m_run}).skipped.size(), read.recording.skipped.size());
    try {
        sim::readRecording({m_cache});
        FAIL();
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("is a cache of what lies beside it: open that, " + m_run.string()));
    }
}

TEST_F(RecordingCacheTest, RefusesWhatIsDamagedAndReadsTheFiles)
{
    const sim::CachedReading read = kept();
    const std::string good = bytesOfCache(), expected = written(read.recording);
    const auto refusal = [&] {
        const sim::CachedReading again = sim::readRecordingOrCache({m_run});
        EXPECT_FALSE(again.isFromCache);
        EXPECT_EQ(written(again.recording), expected);
        return again.whyNot;
    };
    writeCache(good.substr(0, good.size() / 2));
    EXPECT_THAT(refusal(), HasSubstr("is cut off: it has " + std::to_string(good.size() / 2) + " bytes of " +
                                     std::to_string(good.size()) + "; the files themselves were read"));
    writeCache("");
    EXPECT_THAT(refusal(), HasSubstr("is empty"));
    writeCache("RKS");
    EXPECT_THAT(refusal(), HasSubstr("is cut off: it has 3 bytes"));
    std::string other = good;
    other[8] = 99;
    writeCache(other);
    EXPECT_THAT(refusal(), HasSubstr("is of version 99"));
    other = good;
    other[200] = static_cast<char>(other[200] ^ 1); // a time of the first rank's
    writeCache(other);
    EXPECT_THAT(refusal(), HasSubstr("is damaged: of rank 0, its bytes are not what was written"));
    fs::remove(m_cache);
    fs::create_directory(m_cache);
    EXPECT_EQ(refusal(), ""); // nothing of ours
}

/// Somebody else writes over it in place; our own writing puts another file in its place.
TEST_F(RecordingCacheTest, OutlivesAFileThatIsCutOffWhileItIsRead)
{
    kept();
    const std::size_t rankAt = 64; // the first section
    {
        const sim::RecordingCache cache(m_cache, {m_run});
        const std::span<const std::int64_t> times(cache.outline().ranks[0].spans.startNs.data(), 2);
        fs::resize_file(m_cache, rankAt);
        try {
            static_cast<void>(cache.recording());
            FAIL() << "its pages are gone";
        } catch (const sim::Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("is damaged: of rank "));
        }
        static_cast<void>(times[1]); // whoever still looks finds nothing, and goes on
        EXPECT_EQ(cache.outline().ranks.back().spans.startNs.back(), 0);
    }
    EXPECT_TRUE(sim::MappedFile::wasAnyCutOff());
    kept();
    const sim::MappedFile whole(m_cache);
    EXPECT_EQ(static_cast<char>(whole.bytes()[0]), 'R');
    EXPECT_FALSE(whole.isCutOff());
    EXPECT_TRUE(sim::readRecordingOrCache({m_run}).isFromCache);
}

/// The page stays, with zeros where the bytes were: nothing ends whoever looks at them.
TEST_F(RecordingCacheTest, NoticesACutWithinItsLastPage)
{
    kept();
    const sim::RecordingCache cache(m_cache, {m_run});
    const sim::MappedFile file(m_cache);
    EXPECT_FALSE(file.isCutOff());
    fs::resize_file(m_cache, cache.bytes() - 1);
    EXPECT_TRUE(file.isCutOff());
    EXPECT_TRUE(sim::MappedFile::wasAnyCutOff());
    EXPECT_THROW(static_cast<void>(cache.recording()), sim::Error);
}

/// A program that is ended has no time to tidy up.
TEST_F(RecordingCacheTest, LeavesNothingWhereItsWriterIsKilled)
{
    const int unnamed = ::open(m_folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (unnamed < 0)
        GTEST_SKIP() << "this file system has no files without a name";
    ::close(unnamed);
    EXPECT_EXIT(
        {
            sim::AtomicStream file(m_cache);
            file.stream() << std::string(100'000, 'x') << std::flush;
            std::raise(SIGTERM);
        },
        testing::KilledBySignal(SIGTERM), "");
    EXPECT_EQ(std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()), 1) << "the run alone";
    // Where files must have names, the next writer takes away what is left of one that is no more.
    const fs::path left = m_cache.string() + ".999999999.part";
    std::ofstream(left) << "half of it";
    fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
    kept();
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(sim::readRecordingOrCache({m_run}).isFromCache);
}

TEST_F(RecordingCacheTest, IsOfNoPipeAndLeavesNothingWhereItIsStopped)
{
    for (const char* name : {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
        EXPECT_FALSE(sim::cacheOriginOf({name}, {})) << name;
    const sim::CachedReading read = sim::readRecordingOrCache({m_run});
    EXPECT_THROW(sim::keepCache(read.recording, std::nullopt, {"/dev/stdin"}), sim::Error);
    const std::atomic<bool> stopped = true;
    const sim::CancelScope scope(stopped);
    EXPECT_THROW(sim::writeRecordingCache(read.recording, *read.origin, {m_run}, m_cache), sim::Cancelled);
    EXPECT_EQ(std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()), 1) << "the run alone";
}

/// Any byte flipped: refused, or it was one that lies between sections.
TEST_F(RecordingCacheTest, NoticesEveryByte)
{
    kept();
    const std::string good = bytesOfCache();
    const auto open = [&](const std::string& bytes) {
        const sim::RecordingCache cache(std::as_bytes(std::span(bytes)), {m_run});
        return written(cache.recording(1));
    };
    const std::string expected = open(good);
    std::mt19937 random(5);
    std::size_t refused = 0;
    constexpr std::size_t kTries = 300;
    for (std::size_t i = 0; i < kTries; ++i) {
        std::string bytes = good;
        char& byte = bytes[random() % bytes.size()];
        byte = static_cast<char>(byte ^ (1U << (random() % 8)));
        try {
            EXPECT_EQ(open(bytes), expected);
        } catch (const sim::Error&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, kTries * 8 / 10);
    for (std::size_t size = 0; size < good.size(); size += 1 + size / 3)
        EXPECT_THROW(open(good.substr(0, size)), sim::Error) << size;
}

/// Hashes can be made to fit: what is forged is looked at all the same.
TEST_F(RecordingCacheTest, BelievesNothing)
{
    const sim::CachedReading read = sim::readRecordingOrCache({m_run});
    const auto refusal = [&](const std::function<void(sim::Recording&)>& forge) -> std::string {
        sim::Recording forged = sim::readRecording({m_run});
        forge(forged);
        sim::writeRecordingCache(forged, *read.origin, {m_run}, m_cache);
        try {
            static_cast<void>(sim::RecordingCache(m_cache, {m_run}).recording());
            return "";
        } catch (const sim::Error& error) {
            return error.what();
        }
    };
    EXPECT_EQ(refusal([](sim::Recording&) {}), "");
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[1].spans.name[3] = 1u << 30; }), HasSubstr("out of all bounds"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[1].spans.durationNs[3] = -1; }), HasSubstr("out of all bounds"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[1].spans.startNs[3] = INT64_MAX; }), HasSubstr("out of all bounds"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[1].spans.kind[0] = static_cast<sim::RecordedKind>(200); }),
                HasSubstr("out of all bounds"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[1].spans.durationNs.own().pop_back(); }), HasSubstr("rank 1"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[0].tracks[0].last += 1; }), HasSubstr("rows do not follow each other"));
    EXPECT_THAT(refusal([](sim::Recording& r) { std::swap(r.ranks[0].spans.startNs[0], r.ranks[0].spans.startNs[5]); }),
                HasSubstr("out of order"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[0].collectives[0].group = 1000; }), HasSubstr("of no group"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[0].collectives[0].span = 1u << 30; }), HasSubstr("of no span"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.groups[0].ranks = {3, 1}; }), HasSubstr("out of order"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.flows.push_back({0, 1u << 30, 1, 0}); }), HasSubstr("of no span"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.ranks[0].file = 99; }), HasSubstr("of no file"));
    EXPECT_THAT(refusal([](sim::Recording& r) { std::swap(r.ranks[0], r.ranks[1]); }), HasSubstr("out of order"));
    EXPECT_THAT(refusal([](sim::Recording& r) { r.worldSize = -3; }), HasSubstr("of no size"));
}

} // namespace
