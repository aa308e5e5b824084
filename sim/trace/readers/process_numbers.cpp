#include "sim/trace/readers/process_numbers.h"

#include "sim/trace/readers/reading.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace sim {
namespace {

/// Of one or several files.
struct CommunicatingProcess {
    std::string host; ///< as it is sorted
    std::int64_t id = -1;
    std::vector<std::size_t> files;
    std::int64_t firstNs = 0, lastNs = 0;
    std::map<std::string, int> places; ///< communicator -> place in it
};

struct CommunicatorMembers {
    int size = 0;
    std::map<int, std::size_t> atPlace; ///< place -> process
};

using MembersByName = std::map<std::string, CommunicatorMembers>;
using Processes = std::vector<CommunicatingProcess>;
using ProcessList = std::vector<std::size_t>;

/// What sorts as the name does where the numbers in it count by their values: node2 before node10.
std::string asSorted(const std::string& name)
{
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    std::string sorted;
    for (std::size_t at = 0; at < name.size();) {
        if (!isDigit(name[at])) {
            sorted += name[at++];
            continue;
        }
        std::size_t end = at;
        while (end < name.size() && isDigit(name[end]))
            ++end;
        while (at + 1 < end && name[at] == '0')
            ++at;
        constexpr std::size_t kMostDigits = 100; // as many are no number of a host
        sorted += static_cast<char>('0' + std::min(end - at, kMostDigits));
        sorted.append(name, at, end - at);
        at = end;
    }
    return sorted;
}

/// The largest communicator that a file names; null: it has no name.
const RecordedGroup* largestOf(const Recording& file)
{
    const auto isLargest = [&file](const RecordedGroup& group) {
        return !group.places.empty() && group.size == file.ranks.front().worldSize;
    };
    const auto found = std::find_if(file.groups.begin(), file.groups.end(), isLargest);
    return found == file.groups.end() || found->name == kNamelessCommunicator ? nullptr : &*found;
}

Processes processesOf(const std::vector<Recording>& files)
{
    Processes processes;
    std::map<std::tuple<std::string, std::int64_t, std::string, int>, std::size_t> known; // and its place in the largest
    for (std::size_t file = 0; file < files.size(); ++file) {
        const RankRecording& rank = files[file].ranks.front();
        const auto [found, isNew] =
            known.try_emplace({rank.host, rank.processId, largestOf(files[file])->name, rank.rank}, processes.size());
        if (isNew)
            processes.push_back({asSorted(rank.host), rank.processId, {}, rank.firstNs, rank.lastNs, {}});
        CommunicatingProcess& process = processes[found->second];
        process.files.push_back(file);
        process.firstNs = std::min(process.firstNs, rank.firstNs);
        process.lastNs = std::max(process.lastNs, rank.lastNs);
        for (const RecordedGroup& group : files[file].groups)
            if (!group.places.empty() && group.name != kNamelessCommunicator)
                process.places.emplace(group.name, group.places.front().first);
    }
    return processes;
}

MembersByName membersOf(const std::vector<Recording>& files, const Processes& processes)
{
    MembersByName members;
    for (std::size_t process = 0; process < processes.size(); ++process) {
        for (const auto& [name, place] : processes[process].places)
            members[name].atPlace.emplace(place, process);
        for (const std::size_t file : processes[process].files)
            for (const RecordedGroup& group : files[file].groups)
                if (const auto found = members.find(group.name); found != members.end())
                    found->second.size = std::max(found->second.size, group.size);
    }
    return members;
}

/// Processes as communicators join them.
std::vector<ProcessList> joinedBy(const MembersByName& members, std::size_t processes)
{
    ProcessList of(processes);
    std::iota(of.begin(), of.end(), std::size_t{0});
    const auto root = [&of](std::size_t process) {
        while (of[process] != process)
            process = of[process] = of[of[process]];
        return process;
    };
    for (const auto& [name, communicator] : members)
        for (const auto& [place, process] : communicator.atPlace)
            of[root(process)] = root(communicator.atPlace.begin()->second);
    std::map<std::size_t, ProcessList> byRoot;
    for (std::size_t process = 0; process < processes; ++process)
        byRoot[root(process)].push_back(process);
    std::vector<ProcessList> all;
    for (auto& [first, joined] : byRoot)
        all.push_back(std::move(joined));
    return all;
}

/// One job's processes, and how they communicate.
class JobOfCommunicators {
public:
    JobOfCommunicators(const Processes& processes, const MembersByName& members, ProcessList job)
        : m_processes(processes), m_job(std::move(job))
    {
        std::set<std::string_view> names;
        for (const std::size_t process : m_job)
            for (const auto& [name, place] : processes[process].places)
                names.insert(name);
        for (const std::string_view name : names)
            m_communicators.push_back(&members.find(std::string(name))->second);
        for (const CommunicatorMembers* each : m_communicators)
            m_largest = std::max(m_largest, each->size);
        findWorld();
    }
    const ProcessList& processes() const { return m_job; }
    const CommunicatorMembers* world() const { return m_world; } ///< null where no communicator can be the job's
    bool isWhole() const { return m_world != nullptr && m_world->atPlace.size() == m_job.size(); }
    /// A job by itself: beside the communicator of all it has others.
    bool hasParts() const
    {
        return isWhole() && std::any_of(m_communicators.begin(), m_communicators.end(),
                                        [this](const auto* each) { return each->size > 1 && each->size < m_largest; });
    }
    std::pair<std::int64_t, std::int64_t> extent() const
    {
        std::pair of{m_processes[m_job.front()].firstNs, m_processes[m_job.front()].lastNs};
        for (const std::size_t process : m_job)
            of = {std::min(of.first, m_processes[process].firstNs), std::max(of.second, m_processes[process].lastNs)};
        return of;
    }
    int worldSize() const
    {
        if (m_world != nullptr)
            return m_world->size;
        std::set<std::size_t> counted; // in one of the largest
        std::int64_t ranks = 0;
        for (const CommunicatorMembers* each : m_communicators) {
            const auto isCounted = [&counted](const auto& member) { return counted.contains(member.second); };
            if (each->size != m_largest || std::any_of(each->atPlace.begin(), each->atPlace.end(), isCounted))
                continue;
            for (const auto& [place, process] : each->atPlace)
                counted.insert(process);
            ranks += each->size;
        }
        return static_cast<int>(std::clamp<std::int64_t>(ranks, static_cast<std::int64_t>(m_job.size()), kMostRanksOfAJob - 1));
    }
    /// Of each of processes().
    std::map<std::size_t, int> numbers() const
    {
        std::map<std::size_t, int> number;
        std::set<int> taken;
        if (m_world != nullptr)
            for (const auto& [place, process] : m_world->atPlace) {
                number.emplace(process, place);
                taken.insert(place);
            }
        int next = 0;
        for (const std::size_t process : inOrder()) {
            if (number.contains(process))
                continue;
            while (taken.contains(next))
                ++next;
            number.emplace(process, next++);
        }
        return number;
    }

private:
    /// The largest communicator, where those that are not in it are in none that is as large: their files may be cut.
    void findWorld()
    {
        for (const CommunicatorMembers* each : m_communicators)
            if (each->size == m_largest && (m_world == nullptr || each->atPlace.size() > m_world->atPlace.size()))
                m_world = each;
        if (m_world == nullptr || m_world->atPlace.size() == m_job.size())
            return;
        std::set<std::size_t> inside;
        for (const auto& [place, process] : m_world->atPlace)
            inside.insert(process);
        const auto isOutside = [&inside](const auto& member) { return !inside.contains(member.second); };
        for (const CommunicatorMembers* each : m_communicators)
            if (static_cast<int>(m_job.size()) > m_largest ||
                (each->size == m_largest && std::any_of(each->atPlace.begin(), each->atPlace.end(), isOutside))) {
                m_world = nullptr;
                return;
            }
    }

    /// Of two members of a communicator that follow each other the places by `of`, where they differ.
    std::set<std::pair<std::size_t, std::size_t>> edges(const std::function<std::size_t(std::size_t)>& of) const
    {
        std::set<std::pair<std::size_t, std::size_t>> all;
        for (const CommunicatorMembers* each : m_communicators)
            for (auto member = each->atPlace.begin(); member != each->atPlace.end(); ++member)
                if (const auto after = std::next(member); after != each->atPlace.end() && of(member->second) != of(after->second))
                    all.emplace(of(member->second), of(after->second));
        return all;
    }

    /// 0 … count - 1 in an order that keeps the first of each edge before the second, else as they are. As they are, too, where
    /// edges go in circles.
    static ProcessList ordered(std::size_t count, const std::set<std::pair<std::size_t, std::size_t>>& edges)
    {
        std::vector<ProcessList> after(count);
        ProcessList before(count, 0), order;
        for (const auto& [first, second] : edges) {
            after[first].push_back(second);
            ++before[second];
        }
        std::priority_queue<std::size_t, ProcessList, std::greater<>> free;
        for (std::size_t i = 0; i < count; ++i)
            if (before[i] == 0)
                free.push(i);
        while (!free.empty()) {
            const std::size_t next = free.top();
            free.pop();
            order.push_back(next);
            for (const std::size_t each : after[next])
                if (--before[each] == 0)
                    free.push(each);
        }
        if (order.size() < count) {
            order.resize(count);
            std::iota(order.begin(), order.end(), std::size_t{0});
        }
        return order;
    }

    ProcessList inOrder() const
    {
        std::map<std::string_view, std::size_t> hosts;
        for (const std::size_t process : m_job)
            hosts.emplace(m_processes[process].host, 0);
        std::size_t count = 0;
        for (auto& [host, number] : hosts)
            number = count++;
        const auto hostOf = [&](std::size_t process) { return hosts.at(m_processes[process].host); };
        const ProcessList hostsInOrder = ordered(count, edges(hostOf));
        ProcessList placeOfHost(count);
        for (std::size_t place = 0; place < count; ++place)
            placeOfHost[hostsInOrder[place]] = place;
        ProcessList order = m_job;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(placeOfHost[hostOf(a)], m_processes[a].id) < std::pair(placeOfHost[hostOf(b)], m_processes[b].id);
        });
        std::map<std::size_t, std::size_t> placeOf;
        for (std::size_t place = 0; place < order.size(); ++place)
            placeOf[order[place]] = place;
        ProcessList sorted;
        for (const std::size_t place : ordered(order.size(), edges([&](std::size_t process) { return placeOf.at(process); })))
            sorted.push_back(order[place]);
        return sorted;
    }

    const Processes& m_processes;
    ProcessList m_job;
    std::vector<const CommunicatorMembers*> m_communicators;
    int m_largest = 0;
    const CommunicatorMembers* m_world = nullptr;
};

/// What nothing joins is of one job all the same where it ran at the same time, as where no transfers between pipeline stages
/// are recorded, unless each is a job by itself.
std::vector<JobOfCommunicators> jobsOf(const Processes& processes, const MembersByName& members)
{
    std::vector<JobOfCommunicators> jobs;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<ProcessList>> parts; // by their extents
    for (ProcessList& joined : joinedBy(members, processes.size())) {
        JobOfCommunicators job(processes, members, std::move(joined));
        if (job.hasParts())
            jobs.push_back(std::move(job));
        else
            parts[job.extent()].push_back(job.processes());
    }
    ProcessList together;
    std::int64_t lastNs = 0;
    const auto close = [&] {
        std::sort(together.begin(), together.end());
        if (!together.empty())
            jobs.emplace_back(processes, members, std::move(together));
        together.clear();
    };
    for (const auto& [extent, ofExtent] : parts) {
        if (extent.first >= lastNs)
            close();
        lastNs = together.empty() ? extent.second : std::max(lastNs, extent.second);
        for (const ProcessList& part : ofExtent)
            together.insert(together.end(), part.begin(), part.end());
    }
    close();
    return jobs;
}

void renumber(Recording& file, int number, int worldSize)
{
    RankRecording& rank = file.ranks.front();
    rank.rank = number;
    rank.rankEvidence = "hosts, process numbers and places in communicators";
    rank.worldSize = file.worldSize = worldSize;
    for (RecordedGroup& group : file.groups) {
        group.toldBy = {number};
        for (auto& [place, rankAtPlace] : group.places)
            rankAtPlace = number;
    }
}

} // namespace

bool isNumberedByCommunicator(const Recording& file)
{
    return file.ranks.size() == 1 && file.ranks.front().rankEvidence == kLargestCommunicator && largestOf(file) != nullptr;
}

void numberProcesses(std::vector<Recording>& files)
{
    const Processes processes = processesOf(files);
    const MembersByName members = membersOf(files, processes);
    for (const JobOfCommunicators& job : jobsOf(processes, members)) {
        const int worldSize = job.worldSize();
        const std::map<std::size_t, int> numbers = job.numbers();
        std::size_t first = files.size();
        for (const auto& [process, number] : numbers)
            for (const std::size_t file : processes[process].files) {
                first = std::min(first, file);
                const RankRecording& rank = files[file].ranks.front();
                if (rank.rank != number || rank.worldSize != worldSize || job.world() == nullptr)
                    renumber(files[file], number, worldSize);
            }
        if (job.isWhole())
            continue;
        const std::string order = "in the order of their hosts and process numbers, as far as their places in communicators do "
                                  "not say otherwise";
        files[first].problems.push_back(
            job.world() == nullptr
                ? "no communicator holds all of these " + std::to_string(numbers.size()) +
                      " processes, so that nothing says which ranks they are: they are looked at as ranks 0 to " +
                      std::to_string(numbers.size() - 1) + ", " + order
                : std::to_string(numbers.size() - job.world()->atPlace.size()) + " of " + std::to_string(numbers.size()) +
                      " processes do not name the communicator that holds the others: they are looked at as the ranks that "
                      "are left, " +
                      order);
    }
}

} // namespace sim
