// Files of torch's profiler, one a rank, as a job's ranks write them: what a test needs of them, and read as one recording.
#pragma once

#include "sim/trace/readers/read_recording.h"
#include "sim/trace/recording.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace test {

/// One rank's file. Times are µs.
class KinetoRank {
public:
    explicit KinetoRank(int rank) : m_rank(rank) {}

    KinetoRank& span(const std::string& category, const std::string& name, const std::string& row, double start, double lasts,
                     const std::string& args = {})
    {
        m_events += std::string(m_events.empty() ? "" : ",\n") + R"({"ph":"X","cat":")" + category + R"(","name":")" + name +
                    R"(",)" + row + R"(,"ts":)" + text(start) + R"(,"dur":)" + text(lasts) + R"(,"args":{)" + args + "}}";
        return *this;
    }
    KinetoRank& host(const std::string& category, const std::string& name, double start, double lasts,
                     const std::string& args = {}, int thread = 100)
    {
        return span(category, name, R"("pid":4711,"tid":)" + std::to_string(thread), start, lasts, args);
    }
    /// A kernel with its launch; `args`: what its collective says.
    KinetoRank& kernel(const std::string& name, double asked, double start, double lasts, int stream = 7,
                       const std::string& args = {}, int thread = 100)
    {
        const std::string correlation = R"("correlation":)" + std::to_string(++m_correlation);
        host("cuda_runtime", "cudaLaunchKernel", asked, 1, correlation, thread);
        return span("kernel", name, R"("pid":0,"tid":)" + std::to_string(stream), start, lasts,
                    correlation + R"(,"stream":)" + std::to_string(stream) + R"(,"device":0)" + (args.empty() ? "" : "," + args));
    }
    /// A step's mark on the host and its twin on the device.
    KinetoRank& step(int number, double start, double lasts, double deviceStart, double deviceLasts)
    {
        const std::string name = "ProfilerStep#" + std::to_string(number);
        host("user_annotation", name, start, lasts);
        return span("gpu_user_annotation", name, R"("pid":0,"tid":7)", deviceStart, deviceLasts);
    }

    int rank() const { return m_rank; }
    const std::string& events() const { return m_events; }

private:
    static std::string text(double us)
    {
        const auto ns = static_cast<std::int64_t>(us * 1000 + 0.5);
        const std::string fraction = std::to_string(1000 + ns % 1000).substr(1);
        return std::to_string(ns / 1000) + "." + fraction;
    }
    int m_rank;
    int m_correlation = 0;
    std::string m_events;
};

class KinetoJob {
public:
    explicit KinetoJob(int ranks)
    {
        for (int rank = 0; rank < ranks; ++rank)
            m_ranks.emplace_back(rank);
    }
    KinetoRank& operator[](int rank) { return m_ranks[static_cast<std::size_t>(rank)]; }
    int size() const { return static_cast<int>(m_ranks.size()); }
    std::vector<KinetoRank>& ranks() { return m_ranks; }
    /// A group that all ranks' files list.
    void group(const std::string& name, const std::string& description, const std::vector<int>& members)
    {
        m_groups += std::string(m_groups.empty() ? "" : ",") + R"({"pg_name":")" + name + R"(","pg_desc":")" + description +
                    R"(","pg_size":)" + std::to_string(members.size()) + R"(,"ranks":)" + listOf(members) + "}";
    }
    /// What a collective's kernel says of itself.
    static std::string args(const std::string& collective, const std::string& group, const std::vector<int>& members,
                            std::int64_t elements, const std::string& more = {})
    {
        return R"("Collective name":")" + collective + R"(","In msg nelems":)" + std::to_string(elements) +
               R"(,"Out msg nelems":)" + std::to_string(elements) + R"(,"Group size":)" + std::to_string(members.size()) +
               R"(,"dtype":"BFloat16","Process Group Name":")" + group + R"(","Process Group Description":"undefined",)" +
               R"("Process Group Ranks":")" + listOf(members) + R"(")" + (more.empty() ? "" : "," + more);
    }
    static std::string listOf(const std::vector<int>& members)
    {
        std::string list = "[";
        for (std::size_t i = 0; i < members.size(); ++i)
            list += (i > 0 ? ", " : "") + std::to_string(members[i]);
        return list + "]";
    }
    sim::Recording read() const
    {
        static int count = 0;
        const std::filesystem::path folder =
            std::filesystem::temp_directory_path() / ("kineto_job." + std::to_string(::getpid()) + "." + std::to_string(++count));
        std::filesystem::create_directories(folder);
        for (const KinetoRank& rank : m_ranks)
            std::ofstream(folder / ("rank" + std::to_string(rank.rank()) + ".json"))
                << R"({"schemaVersion":1,"host_name":"node0","baseTimeNanoseconds":1700000000000000000,)"
                << R"("distributedInfo":{"backend":"nccl","rank":)" << rank.rank() << R"(,"world_size":)" << m_ranks.size()
                << R"(,"pg_config":[)" << m_groups << R"(]},"traceEvents":[)" << rank.events() << "]}";
        sim::Recording recording = sim::readRecording({folder});
        std::filesystem::remove_all(folder);
        return recording;
    }

private:
    std::vector<KinetoRank> m_ranks;
    std::string m_groups;
};

} // namespace test
