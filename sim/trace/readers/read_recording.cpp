#include "sim/trace/readers/read_recording.h"

#include "sim/error.h"
#include "sim/parallel.h"
#include "sim/trace/readers/merge.h"
#include "sim/trace/readers/named_groups.h"
#include "sim/trace/readers/one_run.h"
#include "sim/trace/readers/reading.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

namespace sim {
namespace {

namespace fs = std::filesystem;

enum class Format : std::uint8_t { unknown, chrome, perfetto, nsight, flightJson, flightPickle, inspector };

bool has(std::string_view head, std::string_view word)
{
    return head.find(word) != std::string_view::npos;
}

/// A text that begins with an empty line looks like a packet.
bool isText(std::string_view head)
{
    return std::none_of(head.begin(), head.end(), [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t') || c == '\x7f';
    });
}

Format formatOf(std::string_view head)
{
    if (head.starts_with("SQLite format 3"))
        return Format::nsight;
    if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
        return Format::flightPickle;
    std::string_view text = head;
    if (text.starts_with("\xEF\xBB\xBF"))
        text.remove_prefix(3);
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\r' || text.front() == '\t'))
        text.remove_prefix(1);
    if (text.starts_with('{')) {
        if (has(text, "\"traceEvents\""))
            return Format::chrome;
        const bool isInspector = has(text, "\"coll_perf\"") || has(text, "\"p2p_perf\"") || has(text, "\"dump_stats\"") ||
                                 has(text, "\"inspector_output_format_version\"") || has(text, "\"rankscope_nccl_profiler\"") ||
                                 has(text, "\"coll_sn\"");
        if (isInspector)
            return Format::inspector;
        const bool isFlight = (has(text, "\"entries\"") &&
                               (has(text, "\"record_id\"") || has(text, "\"pg_config\"") || has(text, "\"version\""))) ||
                              has(text, "\"collective_seq_id\"") || has(text, "\"pg_status\"");
        if (isFlight && !has(text, "\"schemaVersion\""))
            return Format::flightJson;
        return Format::chrome;
    }
    if (text.starts_with('[')) { // of events, not a heading of settings
        const std::size_t first = text.find_first_not_of(" \n\r\t", 1);
        return first == std::string_view::npos || text[first] == '{' || text[first] == ']' ? Format::chrome : Format::unknown;
    }
    // Field 1 of a message, a packet, and inside it fields of packets.
    if (head.size() >= 2 && head[0] == '\x0a' && !isText(head))
        return Format::perfetto;
    return Format::unknown;
}

class Progress {
public:
    Progress(const ReadOptions& options, std::size_t files) : m_options(options) { m_now.files = files; }
    void expect(std::uint64_t bytes) { m_now.bytes += bytes; }
    void moved(std::uint64_t& before, std::uint64_t now)
    {
        if (!m_options.progress)
            return;
        const std::lock_guard guard(m_lock);
        m_now.bytesDone += now - before;
        before = now;
        m_options.progress(m_now);
    }
    void done(std::uint64_t& before, std::uint64_t bytes)
    {
        {
            const std::lock_guard guard(m_lock);
            ++m_now.filesDone;
        }
        moved(before, std::max(before, bytes));
    }

private:
    const ReadOptions& m_options;
    std::mutex m_lock;
    ReadProgress m_now;
};

constexpr std::size_t kLookedAt = 65536;
constexpr const char* kEndingOfCaches = ".rankscope-cache"; ///< lie beside traces, and are none

/// Throws Error where the bytes are no trace.
Recording readSource(std::unique_ptr<ByteSource> source, const ReadingFile& file)
{
    std::string head(kLookedAt, '\0');
    head.resize(source->read(head.data(), head.size()));
    if (head.empty())
        throw Error(file.path + ": is empty" + (source->damage().empty() ? "" : ": " + source->damage()));
    if (head.starts_with("RKSCACHE"))
        throw Error(file.path + ": is a cache of what lies beside it: open that" +
                    (file.path.ends_with(kEndingOfCaches)
                         ? ", " + file.path.substr(0, file.path.size() - std::string_view(kEndingOfCaches).size())
                         : std::string()));
    const Format format = formatOf(head);
    const std::unique_ptr<ByteSource> rewound = withHead(std::move(head), std::move(source));
    ByteSource& whole = *rewound;
    switch (format) {
    case Format::chrome:
        return readChromeTrace(whole, file);
    case Format::perfetto:
        return readPerfettoTrace(whole, file);
    case Format::flightJson:
        return readFlightRecorderJson(whole, file);
    case Format::flightPickle:
        return readFlightRecorderPickle(whole, file);
    case Format::inspector:
        return readNcclInspector(whole, file);
    case Format::nsight:
        return readNsightSqlite(file);
    case Format::unknown:
        break;
    }
    throw Error(file.path +
                ": is no trace that is known: Chrome or Kineto JSON (also .gz, .zst), Perfetto, Nsight Systems' SQLite "
                "export, NCCL's flight recorder or inspector");
}

ReadingFile readingOf(const std::string& path, std::uint64_t bytes, const ReadOptions& options)
{
    ReadingFile file;
    file.path = path;
    file.bytes = bytes;
    file.pythonFunctions = options.pythonFunctions;
    // A small file needs no large window; packed text is rarely over thirty times as long.
    constexpr std::uint64_t kLeast = 65536, kMostPacked = 32, kLarge = std::uint64_t{1} << 40;
    const std::uint64_t enough = bytes == 0 || bytes > kLarge ? kLarge : std::max(kLeast, bytes * kMostPacked);
    file.windowBytes = std::max<std::size_t>(static_cast<std::size_t>(std::min<std::uint64_t>(options.windowBytes, enough)), 64);
    return file;
}

} // namespace

bool looksLikeTrace(std::string_view firstBytes)
{
    if (firstBytes.starts_with("\x1f\x8b") || firstBytes.starts_with("\x28\xb5\x2f\xfd"))
        return true; // packed: scenarios never are
    switch (formatOf(firstBytes)) {
    case Format::unknown:
        return false;
    case Format::chrome: // any JSON is taken for it
        return !has(firstBytes, "\"rankscope-scenario\"") && !has(firstBytes, "\"rankscope-lesson\"") &&
               (has(firstBytes, "\"traceEvents\"") || has(firstBytes, "\"ph\"") || has(firstBytes, "\"deviceProperties\"") ||
                has(firstBytes, "\"distributedInfo\"") || has(firstBytes, "\"schemaVersion\""));
    default:
        return true;
    }
}

std::vector<fs::path> traceFiles(const fs::path& path)
{
    constexpr std::size_t kMostFiles = 100'000;
    constexpr int kMostDepth = 8;
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        if (!fs::exists(path, error))
            throw Error(path.string() + ": there is no such file or folder");
        return {path};
    }
    std::vector<fs::path> files;
    for (fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error), end;
         !error && at != end; at.increment(error)) {
        const bool isHidden = at->path().filename().string().starts_with('.');
        std::error_code none;
        if (at->is_directory(none)) {
            if (isHidden || at.depth() >= kMostDepth)
                at.disable_recursion_pending();
        } else if (!isHidden && at->path().filename().string().find(kEndingOfCaches) == std::string::npos &&
                   at->is_regular_file(none)) {
            files.push_back(at->path());
        }
        if (files.size() > kMostFiles)
            throw Error(path.string() + ": holds more than " + std::to_string(kMostFiles) + " files; name the folder of one run");
    }
    if (error)
        throw Error(path.string() + ": cannot be read: " + error.message());
    if (files.empty())
        throw Error(path.string() + ": is a folder without files");
    std::sort(files.begin(), files.end());
    return files;
}

Recording readRecording(const std::vector<fs::path>& paths, const ReadOptions& options)
{
    struct Item {
        fs::path path;
        bool isNamed = false;
        std::uint64_t bytes = 0;
    };
    std::vector<Item> items;
    for (const fs::path& path : paths) {
        std::error_code error;
        const bool isNamed = !fs::is_directory(path, error);
        for (fs::path& file : traceFiles(path)) {
            const std::uintmax_t bytes = fs::file_size(file, error);
            items.push_back({std::move(file), isNamed, error ? 0 : static_cast<std::uint64_t>(bytes)});
        }
    }
    Progress progress(options, items.size());
    for (const Item& item : items)
        progress.expect(item.bytes);
    RunSorter runs;
    std::vector<std::optional<Recording>> read(items.size());
    std::vector<std::string> refused(items.size());
    std::mutex lock;
    std::size_t merged = 0;
    forEachInParallel(items.size(), options.threads, [&](std::size_t i) {
        checkCancelled();
        const Item& item = items[i];
        ReadingFile file = readingOf(item.path.string(), item.bytes, options);
        std::uint64_t before = 0;
        file.progress = [&](std::uint64_t bytes) { progress.moved(before, bytes); };
        std::optional<Recording> recording;
        std::string why;
        try {
            recording = readSource(openBytes(item.path), file);
        } catch (const Error& error) {
            why = error.what();
        }
        progress.done(before, item.bytes);
        // In the order of the files, whichever comes first, so that the result is the same for any number of threads.
        const std::lock_guard guard(lock);
        read[i] = recording ? std::move(recording) : std::optional<Recording>(Recording());
        refused[i] = std::move(why);
        for (; merged < read.size() && read[merged]; ++merged) {
            if (refused[merged].empty())
                runs.add(std::move(*read[merged]));
            read[merged] = Recording();
        }
    });
    Recording all = runs.finish();
    std::string firstOther, wrong;
    std::vector<RecordedSkip> others;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (refused[i].empty())
            continue;
        if (items[i].isNamed)
            wrong += (wrong.empty() ? "" : "\n") + refused[i];
        else
            others.push_back({"file", 1, refused[i], -1, items[i].path.string()});
    }
    if (!others.empty())
        firstOther = others.front().why;
    if (!wrong.empty())
        throw Error(wrong);
    if (all.files.empty())
        throw Error(firstOther.empty() ? "there is nothing to read" : firstOther);
    all.skipped.insert(all.skipped.end(), others.begin(), others.end());
    arrangeRanks(all);
    joinNamedGroups(all);
    nameMembers(all);
    checkWorld(all);
    return all;
}

Recording readRecording(const char* data, std::size_t size, const std::string& name, const ReadOptions& options)
{
    RecordingMerger merger;
    merger.add(readSource(openBytes(data, size), readingOf(name, size, options)));
    Recording all = merger.finish();
    arrangeRanks(all);
    nameMembers(all);
    checkWorld(all);
    return all;
}

} // namespace sim
