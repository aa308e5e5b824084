// What a device's kernels are for, by who launched them: nodes of autograd, an optimizer, or the rest of a program that has such.
#pragma once

#include "sim/recovery/clock.h"
#include "sim/trace/recording.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

/// Which names of a recording are those of autograd's nodes, of optimizers, of waits that a live run tells apart, and of kernels
/// that exchange data with other ranks though they are of no communication library.
struct LaunchNames {
    explicit LaunchNames(const Recording&);
    std::vector<bool> isAutograd, isOptimizer, isWait, isExchange; ///< [name]
    std::vector<OpClass> markOf; ///< [name]: of marks that say their pass, "attn(F)", "mlp(W)" as DeepSeek's; else `other`
};

/// What the device's spans of a rank are for, by when they begin on which stream, out of who launched them or what Rankscope's
/// own files say. Streams begin work at one time, the more so where a profiler counts whole microseconds.
class ClassOfStart {
public:
    ClassOfStart(const Recording&, const RankRecording&, const LaunchNames&);
    /// By the recorder's own clock; `other` where nothing tells.
    OpClass of(std::int64_t startNs, std::uint32_t stream) const;
    /// By the one clock: of spans that begin then.
    void align(const ClockAlignment&, std::size_t rank);

private:
    struct Begun {
        std::int64_t startNs = 0;
        std::uint32_t stream = 0; ///< as streamOf()
        OpClass opClass = OpClass::other;
    };
    static bool isBefore(const Begun& a, const Begun& b)
    {
        return std::pair(a.startNs, a.stream) < std::pair(b.startNs, b.stream);
    }
    std::vector<Begun> m_classes; ///< as isBefore() orders them
};

} // namespace sim
