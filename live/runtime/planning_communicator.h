// Finds out which requests of the ranks meet, and in what order: each completes when all its members have come, and carries
// nothing. What never completes waits in a circle, which can be told.
#pragma once

#include "live/comm/communicator.h"
#include "live/runtime/comm_plan.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace live {

/// For one worker: not locked.
class PlanningCommunicator final : public Communicator {
public:
    PlanningCommunicator(WorkerPool&, int ranks);
    std::string name() const override { return "planning"; }
    /// Throws sim::Error where members meet in different communications.
    void issue(const CommRequest&, Completion&) override;
    void abort(const std::string& why) override;

    /// Of ranks that cannot go on: who waits for whom.
    std::string stuck() const;

    CommPlan plan;

private:
    struct Pending {
        const CommRequest* request;
        Completion* completion;
        int rank;
        std::size_t ordinal;
    };
    void meet(const std::vector<Pending>&);

    WorkerPool& m_pool;
    std::map<int, std::vector<std::vector<Pending>>> m_meetings; ///< by group, those that are not complete
    std::map<std::pair<int, int>, std::size_t> m_issued;         ///< by group and member
    std::map<int, std::size_t> m_done;                           ///< by group
};

} // namespace live
