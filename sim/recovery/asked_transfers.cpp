#include "sim/recovery/asked_transfers.h"

#include "sim/index.h"

#include <algorithm>
#include <map>
#include <vector>

namespace sim {

void joinAskedTransfers(RankEvidence& rank)
{
    std::map<std::int32_t, std::vector<const AskedTransfer*>> ofKernel;
    for (const AskedTransfer& transfer : rank.asked)
        if (transfer.kernel >= 0)
            ofKernel[transfer.kernel].push_back(&transfer);
    for (const auto& [place, transfers] : ofKernel) {
        CommSpan& kernel = rank.comms[asIndex(place)];
        if (kernel.group < 0)
            kernel.group = transfers.front()->group;
        if (kernel.bytes == 0) {
            std::int64_t sent = 0, received = 0;
            constexpr std::int64_t kMostBytes = std::int64_t{1} << 60; // a file may say any number
            for (const AskedTransfer* transfer : transfers) {
                std::int64_t& bytes = transfer->exchange == Exchange::send ? sent : received;
                bytes = std::min(kMostBytes, bytes + std::min(kMostBytes, transfer->bytes));
            }
            kernel.bytes = std::max(sent, received);
        }
        if (transfers.size() == 1) {
            kernel.exchange = transfers.front()->exchange;
            kernel.peer = transfers.front()->peer;
        }
    }
    std::erase_if(rank.asked, [&](const AskedTransfer& transfer) {
        return transfer.kernel >= 0 && rank.comms[asIndex(transfer.kernel)].exchange != Exchange::sendReceive;
    });
}

} // namespace sim
