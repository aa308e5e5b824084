// Files of several ranks that somebody put into one, as for a viewer that opens one file: each rank has a process of its host,
// and one for its GPU.
#include "sim/trace/readers/recording_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim {
namespace {

/// Names in the order in which they come.
class ProcessOrder {
public:
    std::size_t add(const std::string& process)
    {
        const auto [found, isNew] = m_numbers.try_emplace(process, m_names.size());
        if (isNew)
            m_names.push_back(process);
        return found->second;
    }
    std::size_t size() const { return m_names.size(); }
    const std::string& name(std::size_t number) const { return m_names[number]; }

private:
    std::map<std::string, std::size_t> m_numbers;
    std::vector<std::string> m_names;
};

struct CorrelatedSpan {
    std::int64_t correlation = 0;
    std::size_t process = 0;
    std::int64_t startNs = 0;
    auto operator<=>(const CorrelatedSpan&) const = default;
};

/// The host of each GPU: the one that launched its kernels, where numbers tell; where each rank counts them alike, the one that
/// comes in the file where the GPU does. Empty where hosts have no such launches, or several GPUs have one host.
std::vector<std::size_t> hostsOf(std::size_t gpus, const std::vector<CorrelatedSpan>& launches,
                                 const std::vector<CorrelatedSpan>& launched)
{
    const auto first = [&launches](std::int64_t correlation, std::size_t process) {
        return std::lower_bound(launches.begin(), launches.end(), CorrelatedSpan{correlation, process, INT64_MIN});
    };
    std::vector<std::map<std::size_t, std::size_t>> votes(gpus);
    std::vector<std::size_t> counts(gpus, 0);
    for (const CorrelatedSpan& kernel : launched) {
        ++counts[kernel.process];
        const auto launch = first(kernel.correlation, 0);
        if (launch == launches.end() || launch->correlation != kernel.correlation)
            continue;
        const auto next = first(kernel.correlation, launch->process + 1);
        if (next == launches.end() || next->correlation != kernel.correlation) // of one host alone
            ++votes[kernel.process][launch->process];
    }
    std::vector<std::size_t> hosts;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        const auto most = std::max_element(votes[gpu].begin(), votes[gpu].end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        hosts.push_back(most == votes[gpu].end() ? gpu : most->first);
    }
    if (std::set<std::size_t>(hosts.begin(), hosts.end()).size() < gpus)
        return {};
    std::vector<std::size_t> agreeing(gpus, 0);
    for (const CorrelatedSpan& kernel : launched) {
        const std::size_t host = hosts[kernel.process];
        const auto launch = first(kernel.correlation, host);
        if (launch != launches.end() && launch->correlation == kernel.correlation && launch->process == host &&
            launch->startNs <= kernel.startNs)
            ++agreeing[kernel.process];
    }
    for (std::size_t gpu = 0; gpu < gpus; ++gpu)
        if (10 * agreeing[gpu] < 9 * counts[gpu])
            return {};
    return hosts;
}

} // namespace

void RecordingBuilder::splitMergedRanks()
{
    if (isSplit())
        return;
    ProcessOrder gpus, hosts;
    std::vector<std::size_t> numberOf(m_tracks.size(), m_tracks.size()); // [track] of its process
    const auto number = [&](ProcessOrder& processes, std::uint32_t span) {
        std::size_t& known = numberOf[m_trackOf[span]];
        if (known == m_tracks.size())
            known = processes.add(m_tracks[m_trackOf[span]].process);
        return known;
    };
    const auto isKernel = [this](std::uint32_t span) {
        return m_spans.kind[span] == RecordedKind::kernel || m_spans.kind[span] == RecordedKind::communication;
    };
    for (const auto& [correlation, span] : m_launched)
        if (isKernel(span))
            number(gpus, span);
    if (gpus.size() < 2) // as nearly all
        return;
    std::vector<CorrelatedSpan> launches, launched;
    for (const auto& [correlation, span] : m_launches)
        launches.push_back({correlation, number(hosts, span), m_spans.startNs[span]});
    if (hosts.size() < 2) // a process with several GPUs
        return;
    for (const auto& [correlation, span] : m_launched)
        if (isKernel(span))
            launched.push_back({correlation, number(gpus, span), m_spans.startNs[span]});
    std::sort(launches.begin(), launches.end());
    const std::vector<std::size_t> hostOf =
        hosts.size() == gpus.size() ? hostsOf(gpus.size(), launches, launched) : std::vector<std::size_t>();
    if (hostOf.empty()) {
        recording.problems.push_back(file().path + ": holds kernels of " + std::to_string(gpus.size()) + " GPUs and calls of " +
                                     std::to_string(hosts.size()) +
                                     " processes, and nothing tells which belong together: all is looked at as one rank's; "
                                     "open the files of the ranks instead");
        return;
    }
    std::map<std::string, std::string> joined;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        joined[hosts.name(hostOf[gpu])] = hosts.name(hostOf[gpu]);
        joined[gpus.name(gpu)] = hosts.name(hostOf[gpu]);
    }
    for (RecordedTrack& row : m_tracks) { // what is nobody's, as the profiler's own, is the first's
        const auto found = joined.find(row.process);
        row.process = found == joined.end() ? hosts.name(0) : found->second;
    }
    splitByProcess();
}

} // namespace sim
