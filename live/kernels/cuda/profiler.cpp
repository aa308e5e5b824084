#include "live/kernels/cuda/profiler.h"

#include <chrono>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <type_traits>

namespace live::cuda {
namespace {

constexpr CUpti_ExternalCorrelationKind kOurs = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20, kBufferAlignment = 64;

/// CUPTI's functions. It gives callbacks no data of ours: there is one.
class Cupti final : public KernelTimes {
public:
    static Cupti& instance()
    {
        static Cupti cupti;
        return cupti;
    }

    /// Once; "": it runs.
    std::string start()
    {
        const std::lock_guard lock(m_mutex);
        if (!m_tried) {
            m_problem = tryToStart();
            m_tried = true;
        }
        return m_problem;
    }

    void enter(KernelScope scope) override { m_push(kOurs, scope); }
    void leave() override
    {
        std::uint64_t last = 0;
        m_pop(kOurs, &last);
    }
    std::vector<KernelTime> take(int owner) override
    {
        m_flushAll(0);
        return m_log.take(owner);
    }

private:
    std::string tryToStart()
    {
        const std::string name = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
        void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return dlerror(); // NOLINT(concurrency-mt-unsafe): under a lock
        std::string missing;
        const auto find = [&](auto& function, const char* symbol) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
            if (!function)
                missing = symbol;
        };
        find(m_push, "cuptiActivityPushExternalCorrelationId");
        find(m_pop, "cuptiActivityPopExternalCorrelationId");
        find(m_flushAll, "cuptiActivityFlushAll");
        find(m_nextRecord, "cuptiActivityGetNextRecord");
        decltype(&cuptiActivityRegisterCallbacks) registerCallbacks = nullptr;
        decltype(&cuptiActivityRegisterTimestampCallback) registerClock = nullptr;
        decltype(&cuptiActivityEnable) enable = nullptr;
        decltype(&cuptiGetResultString) resultString = nullptr;
        find(registerCallbacks, "cuptiActivityRegisterCallbacks");
        find(registerClock, "cuptiActivityRegisterTimestampCallback");
        find(enable, "cuptiActivityEnable");
        find(resultString, "cuptiGetResultString");
        if (!missing.empty())
            return name + " has no " + missing;
        std::string problem;
        const auto check = [&](CUptiResult result, const char* what) {
            if (result == CUPTI_SUCCESS || !problem.empty())
                return;
            const char* text = nullptr;
            resultString(result, &text);
            problem = std::string("CUPTI could not ") + what + ": " + (text ? text : std::to_string(result).c_str());
        };
        check(registerClock(&Cupti::now), "take the steady clock");
        check(registerCallbacks(&Cupti::giveBuffer, &Cupti::readBuffer), "take buffers");
        check(enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), "name what kernels belong to");
        // What kernels belong to is told beside the call that launched them, where calls are recorded.
        check(enable(CUPTI_ACTIVITY_KIND_RUNTIME), "record calls of the runtime");
        check(enable(CUPTI_ACTIVITY_KIND_DRIVER), "record calls of the driver");
        check(enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "time kernels");
        return problem;
    }

    static std::uint64_t now()
    {
        const auto sinceStart = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(sinceStart).count());
    }
    static void giveBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords)
    {
        *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
        *size = *buffer ? kBufferBytes : 0;
        *maxRecords = 0; // as many as fit
    }
    static void readBuffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid)
    {
        const std::unique_ptr<std::uint8_t, decltype(&std::free)> owned(buffer, &std::free);
        Cupti& self = instance();
        CUpti_Activity* record = nullptr;
        while (valid > 0 && self.m_nextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
            self.add(*record);
    }
    void add(const CUpti_Activity& record)
    {
        if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record.kind == CUPTI_ACTIVITY_KIND_KERNEL) {
            // Later versions of the record have this one's fields at the same places.
            const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel9&>(record);
            if (kernel.start > 0) // else its time is not known
                m_log.addKernel(kernel.correlationId, kernel.name, static_cast<std::int64_t>(kernel.start),
                                static_cast<std::int64_t>(kernel.end));
        } else if (record.kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
            const auto& scope = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
            if (scope.externalKind == kOurs)
                m_log.addScope(scope.correlationId, scope.externalId);
        }
    }

    std::mutex m_mutex;
    bool m_tried = false;
    std::string m_problem;
    KernelLog m_log;
    decltype(&cuptiActivityPushExternalCorrelationId) m_push = nullptr;
    decltype(&cuptiActivityPopExternalCorrelationId) m_pop = nullptr;
    decltype(&cuptiActivityFlushAll) m_flushAll = nullptr;
    decltype(&cuptiActivityGetNextRecord) m_nextRecord = nullptr;
};

} // namespace

KernelTimes* timeKernels(std::string* why)
{
    *why = Cupti::instance().start();
    return why->empty() ? &Cupti::instance() : nullptr;
}

} // namespace live::cuda
