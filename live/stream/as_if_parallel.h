// A step as it would have run with a device for every rank. On fewer cores than ranks the wall clock shows ranks taking turns;
// here the same spans are replayed: each rank's kernels keep their order and their measured length (processor time where it was
// measured, as cores are shared), a communication begins when its last member arrives and takes its measured transfer time, and
// what the host did in between is dropped. Those of the same ranks run one after the other, as NCCL's of one communicator do. On
// a run that was parallel already nothing changes but the host's gaps.
//
// What waits for what is read from the records: a rank issues a communication where it arrived; it waits for it where the record
// of it lies in the rank's order, as the record is made when the rank goes on after the wait.
#pragma once

#include "live/stream/history.h"
#include "sim/error.h"
#include "sim/trace/trace.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace live {

/// What a kernel or a transfer took, waiting apart: processor time where one did it, as it may have lost its core meanwhile.
std::int64_t lengthNs(const SpanRecord&);

/// Of a communication not every member told: its span was dropped, or was still on the way when the connection broke.
struct StepInPart : sim::Error {
    StepInPart(const std::string& message, std::size_t there, std::size_t all)
        : sim::Error(message), members(there), expected(all)
    {
    }
    std::size_t members, expected;
};

struct AsIfParallel {
    std::vector<RankSpan> spans; ///< those given, in the same order, with new times; the step begins at 0
    std::int64_t stepNs = 0;     ///< until the last rank is done
    sim::Trace trace;
};

/// `spans`: of one step, all ranks, each rank's in its own order. groupSizes as in RunDescription: a communication of a group it
/// names must have so many members.
/// O(spans), where ranks arrive at communications nearly in the order in which these end.
/// Throws StepInPart when a member is missing, and sim::Error that says who waits for whom when ranks wait in a circle.
AsIfParallel asIfParallel(std::span<const RankSpan> spans, int worldSize, const std::map<std::string, int>& groupSizes,
                          const std::vector<sim::SpanKind>& kinds);
/// The same with the run's trace: title, names, kinds.
AsIfParallel asIfParallel(const RunHistory&, int step);

} // namespace live
