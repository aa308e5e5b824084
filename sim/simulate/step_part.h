// The parts that a step's time is told in.
#pragma once

#include "sim/index.h"
#include "sim/mesh/dimension.h"

#include <array>
#include <cstdint>
#include <numeric>

namespace sim {

/// Every instant counts once. The time in which kernels run is told by what they are for (the first three) or by the FLOPs they
/// do (the next three), never both at once; what a rank waits for is the same in both.
enum class StepPart : std::uint8_t {
    computing,
    recomputation, ///< kernels that run again, for as long as they take
    optimizer,
    modelFlops,      ///< the model's FLOPs at the dense peak of the precision: MFU is this over the step
    recomputedFlops, ///< FLOPs run again, at that peak: HFU adds this
    belowPeak,       ///< what kernels take beyond: below peak, bound by memory, the optimizer
    tp,
    cp,
    ep,
    pp,
    dp,
    host, ///< its launches, and what is offloaded to it
    bubble
};

struct StepPartFacts {
    const char* name;   ///< in a table or a chart
    const char* title;  ///< in a sentence
    const char* symbol; ///< in a formula
    bool isWaiting = false;
};
/// By StepPart, in the order in which they are told.
inline constexpr std::array<StepPartFacts, 13> kStepPartFacts{{
    {"computing", "computing", "t_c"},
    {"recomputation", "recomputation by the clock", "t_r"},
    {"optimizer", "optimizer", "t_o"},
    {"model FLOPs", "model FLOPs at peak speed", "t_model"},
    {"recomputed FLOPs", "recomputed FLOPs at peak speed", "t_again"},
    {"kernels below peak", "kernels below peak", "t_kernels"},
    {"exposed tp", "exposed tp communication", "t_tp", true},
    {"exposed cp", "exposed cp communication", "t_cp", true},
    {"exposed ep", "exposed ep communication", "t_ep", true},
    {"exposed pp", "exposed pp communication", "t_pp", true},
    {"exposed dp", "exposed dp communication", "t_dp", true},
    {"exposed host", "waiting for the host", "t_host", true},
    {"bubble", "bubble", "t_bubble", true},
}};
static_assert(kStepPartFacts.size() == asIndex(StepPart::bubble) + 1);

constexpr const StepPartFacts& factsOf(StepPart part)
{
    return kStepPartFacts[asIndex(part)];
}

inline constexpr auto kStepParts = [] {
    std::array<StepPart, kStepPartFacts.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<StepPart>(i);
    return all;
}();

/// A value of each; 0 of those that the time is not told in.
template <typename T>
struct ByStepPart {
    std::array<T, kStepParts.size()> values{};

    constexpr T& operator[](StepPart part) { return values[asIndex(part)]; }
    constexpr const T& operator[](StepPart part) const { return values[asIndex(part)]; }
    auto begin() const { return values.begin(); }
    auto end() const { return values.end(); }
    T total() const { return std::accumulate(begin(), end(), T{}); }
    /// While kernels run.
    T busy() const
    {
        T sum{};
        for (const StepPart part : kStepParts)
            if (!factsOf(part).isWaiting)
                sum += (*this)[part];
        return sum;
    }
    T exposed() const
    {
        T sum{};
        for (const Dimension dimension : kDimensions)
            sum += (*this)[partOf<StepPart>(dimension)];
        return sum + (*this)[StepPart::host];
    }
    bool operator==(const ByStepPart&) const = default;
};

} // namespace sim
