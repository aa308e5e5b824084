#include "live/record/recorder.h"

#include <array>
#include <ctime>

namespace live {
namespace {

std::int64_t clockNs(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::string keyOf(const sim::SpanKind& kind)
{
    return kind.name + '\n' + std::to_string(static_cast<int>(kind.opClass)) + ' ' + std::to_string(kind.stage) + ' ' +
           std::to_string(kind.layer) + ' ' + kind.group + ' ' + std::to_string(kind.bytes) + ' ' + std::to_string(kind.flops);
}

} // namespace

const char* spanTrackName(SpanTrack track)
{
    constexpr std::array<const char*, kSpanTrackCount> kNames = {"actions", "compute",    "tp comm",          "cp comm",
                                                                 "ep comm", "dp comm",    "send activations", "send gradients",
                                                                 "receive", "GPU kernels"};
    return kNames[static_cast<std::size_t>(track)];
}

std::uint32_t SpanKinds::id(const sim::SpanKind& kind)
{
    const std::string key = keyOf(kind);
    const std::lock_guard lock(m_mutex);
    const auto [place, isNew] = m_ids.try_emplace(key, static_cast<std::uint32_t>(m_kinds.size()));
    if (isNew)
        m_kinds.push_back(kind);
    return place->second;
}

std::vector<sim::SpanKind> SpanKinds::from(std::size_t first) const
{
    const std::lock_guard lock(m_mutex);
    return {m_kinds.begin() + static_cast<std::ptrdiff_t>(first), m_kinds.end()};
}

sim::SpanKind SpanKinds::of(std::uint32_t id) const
{
    const std::lock_guard lock(m_mutex);
    return m_kinds.at(id);
}

std::size_t SpanKinds::size() const
{
    const std::lock_guard lock(m_mutex);
    return m_kinds.size();
}

std::int64_t nowNs()
{
    return clockNs(CLOCK_MONOTONIC);
}

std::int64_t threadCpuNs()
{
    return clockNs(CLOCK_THREAD_CPUTIME_ID);
}

std::int64_t estimatedCpuNs(std::int64_t wallNs)
{
    constexpr std::int64_t kTrustedNs = 50'000;
    thread_local std::int64_t readAtNs = -kTrustedNs, cpuThenNs = 0;
    if (wallNs - readAtNs >= kTrustedNs || wallNs < readAtNs) {
        cpuThenNs = threadCpuNs();
        readAtNs = wallNs;
    }
    return cpuThenNs + (wallNs - readAtNs);
}

} // namespace live
