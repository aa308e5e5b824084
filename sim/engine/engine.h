// The discrete-event engine. Each class of ranks issues its ops in order onto streams; an op begins when its own stream and those
// it waits for have come that far and the host has started it (sim/cost/launches.h); a collective when its last member has come;
// a message when it is made and its receive posted (messages.cpp).
//
// What nothing else can touch has its end as soon as it has its beginning, and ranks run ahead of each other freely until one
// needs what another has not done yet. The rest happens in the order of time: transfers that may meet others on a port share it
// (fair_share.h), and kernels take longer while a collective runs beside them. The result does not depend on the order in which
// ranks are advanced.
#pragma once

#include "sim/engine/classes.h"
#include "sim/engine/deadlock.h"
#include "sim/engine/priced_program.h"
#include "sim/engine/time_column.h"
#include "sim/program/program.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace sim {

/// When every op ran. Columns over all classes: 16 bytes an op.
struct EngineResult {
    /// Launched, with its streams free; a collective may then wait for others. Of a receive: the transfer's.
    TimeColumn opStartNs;
    TimeColumn opEndNs;
    /// Collectives and sends that met others on their way.
    struct Stretch {
        std::size_t place = 0; ///< among all ops
        std::int64_t byNs = 0; ///< how much longer they took than with their ports to themselves
        bool operator<(const Stretch& other) const { return place < other.place; }
    };
    std::vector<Stretch> stretched;   ///< by place
    std::vector<std::size_t> firstOp; ///< [class] offset of its ops, in program order; and one past the end
    std::int64_t endNs = 0;           ///< makespan: end of the last op anywhere

    struct MemoryPeak {
        std::int64_t activations = 0, buffers = 0; ///< at the moment of the largest sum
        std::int64_t atNs = 0;
    };
    std::vector<MemoryPeak> memory; ///< [class], beyond the model states
    std::int64_t stretchedByNs(std::size_t place) const;
    /// Whether the same ops of both classes met others, and for as long.
    bool sameStretches(std::size_t classA, std::size_t classB) const;
    std::int64_t opCount() const { return static_cast<std::int64_t>(opEndNs.size()); }
};

/// Of a step that is still run.
struct EngineProgress {
    const EngineResult& times;          ///< of ops before these
    std::vector<std::size_t> kernelsTo; ///< [class]: all ops of the compute stream up to this place have ended
};
/// Asked at such times of the step whether it need be run to its end.
struct EngineWatch {
    std::vector<std::int64_t> atNs; ///< ascending
    std::function<bool(const EngineProgress&)> goesOn;
};
/// No Error: whoever watched knows why.
class GivenUp : public std::exception {
public:
    const char* what() const noexcept override { return "given up"; }
};

/// Throws Deadlock if ranks wait for each other, saying who waits for what; GivenUp if the watch says so.
EngineResult runEngine(const Program&, const RankClasses&, const PricedProgram&, const EngineWatch& = {});

} // namespace sim
