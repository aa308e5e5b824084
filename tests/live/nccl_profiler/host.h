// Stands in for NCCL: loads the plugin as its loader does and calls a table of one version.
#pragma once

#include "live/nccl_profiler/abi.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <time.h>

namespace test {

namespace abi = live::nccl_profiler::abi;

inline const char* const kPlugin = RANKSCOPE_BIN_DIR "/rankscope_nccl_profiler.so";

inline std::int64_t steadyNs()
{
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

template <int number>
struct Version;
template <>
struct Version<1> {
    using Table = abi::TableV1;
    using Descriptor = abi::DescriptorV1;
    using Args = abi::StateArgsV1;
};
template <>
struct Version<2> {
    using Table = abi::TableV2;
    using Descriptor = abi::DescriptorV2;
    using Args = abi::StateArgsV1;
};
template <>
struct Version<3> {
    using Table = abi::TableV3;
    using Descriptor = abi::DescriptorV3;
    using Args = abi::StateArgsV1;
};
template <>
struct Version<4> {
    using Table = abi::TableV4;
    using Descriptor = abi::DescriptorV4;
    using Args = abi::StateArgsV4;
};
template <>
struct Version<5> {
    using Table = abi::TableV5;
    using Descriptor = abi::DescriptorV5;
    using Args = abi::StateArgsV4;
};
template <>
struct Version<6> {
    using Table = abi::TableV6;
    using Descriptor = abi::DescriptorV6;
    using Args = abi::StateArgsV4;
};

/// A loaded library; NCCL closes it with its last communicator.
class Library {
public:
    Library() : m_handle(dlopen(kPlugin, RTLD_NOW | RTLD_LOCAL))
    {
        if (m_handle == nullptr)
            ADD_FAILURE() << dlerror();
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library()
    {
        if (m_handle != nullptr)
            dlclose(m_handle);
    }
    void* find(const std::string& symbol) const { return dlsym(m_handle, symbol.c_str()); }

private:
    void* m_handle;
};

struct Operation {
    std::string function = "AllReduce", dtype = "ncclFloat32";
    std::size_t count = 256;
    int other = 0; ///< root or peer
    std::uint64_t sequence = 0;
    std::uint8_t channels = 1;
    void* parent = nullptr;
};

/// One communicator of one rank.
template <int number>
class Host {
public:
    using Table = typename Version<number>::Table;
    using Descriptor = typename Version<number>::Descriptor;
    using Args = typename Version<number>::Args;

    explicit Host(const Library& library, std::uint64_t hash = 0x5eed, int rank = 0, int ranks = 2, const char* name = "job")
        : table(static_cast<Table*>(library.find("ncclProfiler_v" + std::to_string(number)))), m_hash(hash), m_name(name),
          m_rank(rank)
    {
        if (table == nullptr)
            std::abort();
        if constexpr (number <= 3)
            table->init(&context, &mask);
        else if constexpr (number == 4)
            table->init(&context, &mask, name, hash, 1, ranks, rank, nullptr);
        else
            table->init(&context, hash, &mask, name, 1, ranks, rank, nullptr);
    }
    void finalize() { table->finalize(context); }

    void* start(Descriptor& descriptor)
    {
        void* handle = nullptr;
        table->startEvent(context, &handle, &descriptor);
        return handle;
    }
    Descriptor of(std::uint64_t type, void* parent = nullptr) const
    {
        Descriptor descriptor{};
        descriptor.type = static_cast<decltype(descriptor.type)>(type);
        descriptor.parent = parent;
        descriptor.rank = m_rank;
        return descriptor;
    }
    void* group()
    {
        Descriptor descriptor = of(abi::kGroup);
        return start(descriptor);
    }
    /// Enqueued, not begun.
    void* collective(const Operation& operation)
    {
        Descriptor descriptor = of(abi::kCollective, operation.parent);
        auto& call = descriptor.collective;
        name(call, operation);
        call.sequence = operation.sequence;
        call.count = operation.count;
        call.root = operation.other;
        call.channels = operation.channels;
        void* handle = start(descriptor);
        table->stopEvent(handle);
        return handle;
    }
    void* pointToPoint(const Operation& operation)
    {
        Descriptor descriptor = of(abi::kPointToPoint, operation.parent);
        auto& call = descriptor.pointToPoint;
        name(call, operation);
        call.count = operation.count;
        call.peer = operation.other;
        if constexpr (requires { call.channels; })
            call.channels = operation.channels;
        void* handle = start(descriptor);
        table->stopEvent(handle);
        return handle;
    }
    void* kernel(void* parent, std::uint8_t channel, std::int64_t deviceNs)
    {
        if constexpr (number < 3)
            return nullptr;
        else {
            Descriptor descriptor = of(abi::kKernelChannel, parent);
            descriptor.kernelChannel.channel = channel;
            if constexpr (requires { descriptor.kernelChannel.deviceNs; })
                descriptor.kernelChannel.deviceNs = static_cast<std::uint64_t>(deviceNs);
            return start(descriptor);
        }
    }
    void kernelStop(void* handle, std::int64_t deviceNs)
    {
        if constexpr (number >= 4) {
            Args args{};
            args.deviceNs = static_cast<std::uint64_t>(deviceNs);
            table->recordEventState(handle, abi::kKernelChannelStop, &args);
        }
        table->stopEvent(handle);
    }
    void* proxy(void* parent, std::uint8_t channel, int peer, bool isSend, pid_t pid)
    {
        Descriptor descriptor = of(abi::kProxyOp, parent);
        descriptor.proxyOp = {
            .pid = pid, .channel = channel, .peer = peer, .steps = 4, .chunkBytes = 1 << 17, .isSend = isSend ? 1 : 0};
        return start(descriptor);
    }
    void* step(void* parent, int index)
    {
        Descriptor descriptor = of(abi::kProxyStep, parent);
        descriptor.proxyStep.step = index;
        return start(descriptor);
    }
    void state(void* handle, int state)
    {
        Args args{};
        table->recordEventState(handle, state, &args);
    }

    Table* table;
    void* context = nullptr;
    int mask = 0;

private:
    template <typename Call>
    void name(Call& call, const Operation& operation)
    {
        if constexpr (number == 1) {
            constexpr std::array<const char*, 8> kFunctions{"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                            "AllReduce", "SendRecv", "Send",      "Recv"};
            for (std::uint8_t i = 0; i < kFunctions.size(); ++i)
                if (operation.function == kFunctions[i])
                    call.function = i;
            call.dtype = 7; // float
        } else {
            call.function = operation.function.c_str();
            call.dtype = operation.dtype.c_str();
        }
        if constexpr (number <= 3) {
            call.communicator = m_name;
            call.hash = m_hash;
        }
    }

    std::uint64_t m_hash;
    const char* m_name;
    int m_rank;
};

/// A folder that the plugin writes to, gone with this object; and the launcher's words for the rank.
class Folder {
public:
    Folder()
        : m_path(std::filesystem::temp_directory_path() /
                 ("rankscope-nccl-" + std::to_string(::getpid()) + "-" + std::to_string(s_count++)))
    {
        std::filesystem::create_directories(m_path);
        setenv("RANKSCOPE_NCCL_PROFILE", m_path.c_str(), 1);
        as(-1, 0);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder()
    {
        std::error_code none;
        std::filesystem::remove_all(m_path, none);
        unsetenv("RANKSCOPE_NCCL_PROFILE");
        as(-1, 0);
    }
    static void as(int rank, int world)
    {
        for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "PMI_RANK", "WORLD_SIZE",
                                 "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE"})
            unsetenv(name);
        if (rank >= 0) {
            setenv("RANK", std::to_string(rank).c_str(), 1);
            setenv("WORLD_SIZE", std::to_string(world).c_str(), 1);
        }
    }
    const std::filesystem::path& path() const { return m_path; }
    std::size_t files() const
    {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(m_path))
            ++count;
        return count;
    }

private:
    std::filesystem::path m_path;
    inline static int s_count = 0;
};

} // namespace test
