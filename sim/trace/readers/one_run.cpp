#include "sim/trace/readers/one_run.h"

#include "sim/trace/readers/process_numbers.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <tuple>

namespace sim {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFarApartNs = std::int64_t{3600} * 1'000'000'000;

constexpr std::string_view kFlightRecorder = "NCCL flight recorder";

bool isFlightRecorder(const Recording& file)
{
    return !file.files.empty() && file.files.front().format == kFlightRecorder;
}

/// When a rank's spans are, without any when its calls were: those of a job that stands still never ended. 0, 0: neither is
/// there.
std::pair<std::int64_t, std::int64_t> whenOf(const RankRecording& rank)
{
    if (rank.spans.size() > 0 || rank.collectives.empty())
        return {rank.firstNs, rank.lastNs};
    std::pair<std::int64_t, std::int64_t> extent{rank.collectives.front().startNs, 0};
    for (const RecordedCollective& collective : rank.collectives)
        extent.second = std::max(extent.second, collective.startNs + std::max<std::int64_t>(0, collective.durationNs));
    return extent;
}

/// When a file's spans are, since 1970; 0, 0 where it does not say.
std::pair<std::int64_t, std::int64_t> epochExtent(const Recording& file)
{
    std::pair<std::int64_t, std::int64_t> extent;
    if (!file.isEpoch)
        return extent;
    for (const RankRecording& rank : file.ranks) {
        const auto [first, last] = whenOf(rank);
        if (first <= 0 || last < first)
            continue;
        extent.first = extent.first == 0 ? first : std::min(extent.first, first);
        extent.second = std::max(extent.second, last);
    }
    return extent;
}

std::string counted(std::size_t count, const char* what)
{
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// NCCL's recorders know of the groups that a process made, and of no world.
bool saysWorld(const Recording& file)
{
    return file.worldSize > 0 && !file.files.empty() && !file.files.front().format.starts_with("NCCL");
}

/// The folder that all of the files lie in.
fs::path commonFolder(const std::vector<std::string>& names)
{
    fs::path common = fs::path(names.front()).parent_path();
    for (const std::string& name : names) {
        const fs::path folder = fs::path(name).parent_path();
        fs::path shared;
        for (auto a = common.begin(), b = folder.begin(); a != common.end() && b != folder.end() && *a == *b; ++a, ++b)
            shared /= *a;
        common = shared;
    }
    return common;
}

/// Names as they are told apart: from the folder that all lie in.
std::string listed(const std::vector<std::string>& names, const fs::path& folder)
{
    constexpr std::size_t kMostNamed = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
        text += (i > 0 ? ", " : "") + (folder.empty() ? names[i] : fs::path(names[i]).lexically_relative(folder).string());
    return text + (names.size() > kMostNamed ? " and " + std::to_string(names.size() - kMostNamed) + " more" : "");
}

} // namespace

RunSorter::Said RunSorter::saidBy(const Recording& file)
{
    Said said;
    if (saysWorld(file))
        said.worldSize = file.worldSize;
    std::tie(said.firstNs, said.lastNs) = epochExtent(file);
    for (const RankRecording& rank : file.ranks)
        if (const auto extent = whenOf(rank);
            rank.rank >= 0 && (rank.spans.size() > 0 || extent.second > 0) && !file.files.empty())
            said.ranks[{rank.rank, file.files.front().format}].push_back(extent);
    if (isFlightRecorder(file))
        for (const RecordedGroup& group : file.groups)
            if (!group.name.empty() && !group.ranks.empty())
                said.groups[group.name].insert(group.ranks);
    return said;
}

std::string RunSorter::contradiction(const Said& run, const Said& file)
{
    if (run.worldSize > 0 && file.worldSize > 0 && run.worldSize != file.worldSize)
        return "of a world of " + counted(static_cast<std::size_t>(file.worldSize), "rank") + ", not " +
               std::to_string(run.worldSize);
    if (file.firstNs > 0 && run.firstNs > 0) {
        const std::int64_t gap = std::max(file.firstNs - run.lastNs, run.firstNs - file.lastNs);
        constexpr std::int64_t kHoursOfADay = 24;
        if (const auto hours = static_cast<std::size_t>(std::max<std::int64_t>(0, gap) / kFarApartNs); gap > kFarApartNs)
            return "recorded " + (hours < 2 * kHoursOfADay ? counted(hours, "hour") : counted(hours / kHoursOfADay, "day")) +
                   (file.firstNs > run.lastNs ? " later" : " earlier");
    }
    for (const auto& [rank, times] : file.ranks)
        if (const auto known = run.ranks.find(rank); known != run.ranks.end())
            for (const auto& [first, last] : times)
                if (std::any_of(known->second.begin(), known->second.end(), [first = first, last = last](const auto& when) {
                        return first < when.second && when.first < last;
                    }))
                    return "of rank " + std::to_string(rank.first) + " too, at the same time";
    for (const auto& [name, lists] : file.groups) {
        const auto known = run.groups.find(name);
        for (const std::vector<int>& ranks : lists)
            if (known != run.groups.end() && !known->second.contains(ranks) &&
                std::any_of(known->second.begin(), known->second.end(), [&ranks](const std::vector<int>& of) {
                    return std::any_of(ranks.begin(), ranks.end(),
                                       [&of](int rank) { return std::binary_search(of.begin(), of.end(), rank); });
                }))
                return "of other members of group \"" + name + "\"";
    }
    return {};
}

void RunSorter::add(Recording&& from)
{
    if (isNumberedByCommunicator(from))
        m_toNumber.push_back(std::move(from));
    else if (isFlightRecorder(from) && epochExtent(from).first == 0)
        m_timeless.push_back(std::move(from));
    else
        sort(std::move(from));
}

void RunSorter::sort(Recording&& from)
{
    Said said = saidBy(from);
    const std::string folder = from.files.empty() ? std::string() : fs::path(from.files.front().path).parent_path().string();
    const auto fits = [&](const Run& of) { return contradiction(of.said, said).empty(); };
    auto run = m_runs.end();
    if (said.firstNs == 0)
        run = std::find_if(m_runs.begin(), m_runs.end(), [&](const Run& of) { return of.folders.contains(folder) && fits(of); });
    if (run == m_runs.end())
        run = std::find_if(m_runs.begin(), m_runs.end(), fits);
    if (run == m_runs.end())
        run = m_runs.emplace(m_runs.end());
    for (const RecordedFile& each : from.files)
        run->names.push_back(each.path);
    run->folders.insert(folder);
    run->spans += from.spanCount();
    Said& all = run->said;
    all.worldSize = std::max(all.worldSize, said.worldSize);
    if (said.firstNs > 0) {
        all.firstNs = all.firstNs == 0 ? said.firstNs : std::min(all.firstNs, said.firstNs);
        all.lastNs = std::max(all.lastNs, said.lastNs);
    }
    for (auto& [rank, times] : said.ranks)
        all.ranks[rank].insert(all.ranks[rank].end(), times.begin(), times.end());
    for (auto& [name, lists] : said.groups)
        all.groups[name].merge(lists);
    run->files.add(std::move(from));
}

Recording RunSorter::finish()
{
    for (Recording& file : m_timeless)
        sort(std::move(file));
    m_timeless.clear();
    numberProcesses(m_toNumber);
    for (Recording& file : m_toNumber)
        sort(std::move(file));
    m_toNumber.clear();
    if (m_runs.empty())
        return {};
    const auto largest = std::max_element(m_runs.begin(), m_runs.end(), [](const Run& a, const Run& b) {
        return std::pair(a.names.size(), a.spans) < std::pair(b.names.size(), b.spans);
    });
    Recording kept = largest->files.finish();
    for (const Run& run : m_runs)
        if (&run != &*largest) {
            const std::string why = contradiction(largest->said, run.said);
            kept.otherRuns.push_back({run.names, why.empty() ? "of another run" : why});
        }
    if (kept.otherRuns.empty())
        return kept;
    std::vector<std::string> all;
    for (const Run& run : m_runs)
        all.insert(all.end(), run.names.begin(), run.names.end());
    const fs::path folder = commonFolder(all);
    std::string text = "these files are not of one run: " + counted(largest->names.size(), "file") + " that can be (" +
                       listed(largest->names, folder) + ") " + (largest->names.size() == 1 ? "is" : "are") +
                       " opened. Left out, to be opened by themselves:";
    for (const OtherRun& other : kept.otherRuns)
        text += " " + listed(other.files, folder) + " (" + other.why + "),";
    text.pop_back();
    kept.problems.insert(kept.problems.begin(), text);
    return kept;
}

} // namespace sim
