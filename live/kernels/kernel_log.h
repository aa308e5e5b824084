// Kernels as the GPU's own profiler timed them, and whose they are: the profiler tells of a launch by its number, in no order,
// once with the kernel that ran and once with the scope that it was made in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace live {

/// A scope is an owner's (a rank's) number of an operation of its.
using KernelScope = std::uint64_t;
inline constexpr int kScopeBits = 40;
constexpr KernelScope scopeOf(int owner, std::uint64_t number)
{
    return static_cast<KernelScope>(owner) << kScopeBits | (number & ((KernelScope{1} << kScopeBits) - 1));
}
constexpr int ownerOf(KernelScope scope)
{
    return static_cast<int>(scope >> kScopeBits);
}
constexpr std::uint64_t numberOf(KernelScope scope)
{
    return scope & ((KernelScope{1} << kScopeBits) - 1);
}

struct KernelTime {
    KernelScope scope = 0;
    std::string name;                    ///< see shortKernelName
    std::int64_t startNs = 0, endNs = 0; ///< steady clock
};

/// Any thread.
class KernelLog {
public:
    void addKernel(std::uint32_t launch, const char* name, std::int64_t startNs, std::int64_t endNs);
    void addScope(std::uint32_t launch, KernelScope);
    /// The owner's kernels since the last call, by start.
    std::vector<KernelTime> take(int owner);

private:
    /// Launches of which one half is known; many never get the other: copies, kernels in no scope. The oldest are forgotten.
    static constexpr std::size_t kMostWaiting = 1 << 16;
    void match(KernelScope, KernelTime&&);
    std::mutex m_mutex;
    std::map<std::uint32_t, KernelTime> m_kernels;
    std::map<std::uint32_t, KernelScope> m_scopes;
    std::map<int, std::vector<KernelTime>> m_ofOwner;
};

/// A kernel's name without its namespaces, parameters and template arguments; of CUTLASS's, whose arguments say which it is, with
/// the first of them. Names may be mangled.
std::string shortKernelName(const char* name);

/// The device's own times of kernels, as long as a run records them.
class KernelTimes {
public:
    virtual ~KernelTimes() = default;
    /// The kernels that this thread launches next are of this scope, until leave(); scopes may lie within each other.
    virtual void enter(KernelScope) = 0;
    virtual void leave() = 0;
    /// The owner's since the last call. Its queue has been waited for.
    virtual std::vector<KernelTime> take(int owner) = 0;
};

} // namespace live
