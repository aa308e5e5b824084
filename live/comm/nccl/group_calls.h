// What a group says to NCCL: its connections opened, requests put on its stream, several calls as one.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/nccl/nccl_calls.h"

#include <functional>
#include <set>

namespace live::cuda {

/// All that NCCL has not refused.
inline bool isAccepted(nccl::Result result)
{
    return result == nccl::Result::success || result == nccl::Result::inProgress;
}

struct GroupCalls {
    using Keep = std::function<void(nccl::Result)>;

    nccl::Comm communicator = nullptr;
    Stream stream = nullptr;
    int members = 0, self = 0; ///< NCCL's: processes
    float* nothing = nullptr;  ///< of the GPU, one for each member and one more: what barriers and first exchanges carry
    /// Returns once a call has been taken, throws where it failed. The communicator is null where a call had none.
    std::function<void(nccl::Result, nccl::Comm)> check;

    /// NCCL connects two members when one first sends to the other, which waits for the other to receive.
    void open(const std::set<CommKind>&) const;
    void put(const CommRequest&) const;
    /// calls(keep): several calls of NCCL as one operation; keep(result) of each.
    void together(const std::function<void(const Keep&)>& calls) const;

private:
    void allToAll(const CommRequest&) const;
};

} // namespace live::cuda
