#include "sim/recovery/rank_numbers.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

/// Whether the workers are told apart by their GPUs, and are likely to be of one job.
bool haveGpusOfTheirOwn(const std::vector<RankRecording>& ranks)
{
    std::vector<int> devices;
    bool areOfOneHost = true, areOfOneFile = true, communicate = true;
    for (const RankRecording& rank : ranks) {
        devices.push_back(rank.device);
        areOfOneHost = areOfOneHost && rank.host == ranks.front().host;
        areOfOneFile = areOfOneFile && rank.file == ranks.front().file;
        communicate = communicate && !rank.collectives.empty();
    }
    std::sort(devices.begin(), devices.end());
    return devices.front() >= 0 && std::adjacent_find(devices.begin(), devices.end()) == devices.end() && areOfOneHost &&
           (areOfOneFile || communicate);
}

} // namespace

RankNumbers numbersOf(const Recording& recording)
{
    const std::vector<RankRecording>& ranks = recording.ranks;
    RankNumbers numbers;
    for (const RankRecording& rank : ranks)
        numbers.ofRank.push_back(rank.rank);
    const bool isFree =
        !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), [](const RankRecording& rank) { return rank.rank < 0; });
    const bool isWholeWorld =
        recording.worldSize == 0 || recording.worldSize == static_cast<int>(ranks.size()); // or none is said
    if (isFree && ranks.size() == 1 && recording.worldSize <= 1) {
        numbers.ofRank.front() = 0;
        numbers.assumed =
            ranks.front().windows.empty()
                ? "the file does not say which rank it is of, nor does its name: as there is no other it is looked at "
                  "as rank 0"
                : "no file says which rank it is of: all " + std::to_string(ranks.front().windows.size()) +
                      " are of one process, recorded one after another, and as there is no other it is looked at as "
                      "rank 0";
    } else if (isFree && ranks.size() > 1 && isWholeWorld && haveGpusOfTheirOwn(ranks)) {
        std::vector<std::size_t> order(ranks.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a].device < ranks[b].device; });
        for (std::size_t place = 0; place < order.size(); ++place)
            numbers.ofRank[order[place]] = static_cast<int>(place);
        numbers.assumed = "nothing says which ranks these " + std::to_string(ranks.size()) +
                          " processes are: they are looked at as ranks 0 to " + std::to_string(ranks.size() - 1) +
                          ", in the order of their GPUs";
    }
    return numbers;
}

} // namespace sim
