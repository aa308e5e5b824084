#include "sim/analysis/traffic/timed_transfers.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sim {

TimedTransfers::TimedTransfers(const Simulation& simulation)
{
    for (int rankClass = 0; rankClass < simulation.classCount(); ++rankClass) {
        std::map<std::pair<CommunicatorRole, int>, Row> rows;
        forEachTimedTransfer(simulation, rankClass, 0, [&](CommunicatorRole role, int sendTo, const TimedTransfer& transfer) {
            if (transfer.bytes == 0)
                return;
            Row& row = rows.try_emplace({role, sendTo}, Row{rankClass, role, sendTo, {}, {}, 0}).first->second;
            row.transfers.push_back(transfer);
            row.bytes += transfer.bytes;
        });
        for (auto& [key, row] : rows) {
            const auto begins = [](const TimedTransfer& a, const TimedTransfer& b) { return a.beginNs < b.beginNs; };
            if (!std::is_sorted(row.transfers.begin(), row.transfers.end(), begins))
                std::stable_sort(row.transfers.begin(), row.transfers.end(), begins);
            std::int64_t latest = 0;
            for (const TimedTransfer& transfer : row.transfers)
                row.latestEndNs.push_back(latest = std::max(latest, transfer.endNs));
            m_rows.push_back(std::move(row));
        }
    }
}

void TimedTransfers::appendUnderWay(const Row& row, std::int64_t fromNs, std::int64_t toNs,
                                    std::vector<const TimedTransfer*>& out)
{
    const auto later = std::upper_bound(row.transfers.begin(), row.transfers.end(), toNs,
                                        [](std::int64_t time, const TimedTransfer& t) { return time < t.beginNs; });
    for (auto i = asIndex(later - row.transfers.begin()); i-- > 0 && row.latestEndNs[i] > fromNs;)
        if (row.transfers[i].endNs > fromNs)
            out.push_back(&row.transfers[i]);
}

} // namespace sim
