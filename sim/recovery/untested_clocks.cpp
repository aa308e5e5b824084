#include "sim/recovery/untested_clocks.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sim {

std::string untestedClocksText(std::size_t count, const std::map<RankPair, EndDifferences>& ends,
                               const std::set<RankPair>& byTransfers)
{
    struct Untested {
        double withinNs = 0, lastNs = 0; ///< on the way from the first rank; of the last collective there
        std::size_t collectives = 0, last = SIZE_MAX;
    };
    struct Link {
        std::size_t a = 0, b = 0;
        const EndDifferences* ends = nullptr; ///< nullptr: of transfers there and back
    };
    std::vector<Link> links;
    for (const auto& of : ends)
        links.push_back({of.first.first, of.first.second, &of.second});
    for (const auto& of : byTransfers)
        links.push_back({of.first, of.second});
    std::vector<std::vector<std::size_t>> linksOf(count);
    for (std::size_t i = 0; i < links.size(); ++i)
        for (const std::size_t rank : {links[i].a, links[i].b})
            linksOf[rank].push_back(i);
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> before(count, kNone), by(count, kNone), depth(count, 0), inTurn{0};
    before[0] = 0;
    for (std::size_t i = 0; i < inTurn.size(); ++i)
        for (const std::size_t link : linksOf[inTurn[i]])
            if (const std::size_t next = links[link].a + links[link].b - inTurn[i]; before[next] == kNone) {
                before[next] = inTurn[i];
                by[next] = link;
                depth[next] = depth[inTurn[i]] + 1;
                inTurn.push_back(next);
            }
    std::vector<bool> isTested(count, false); // the link to the one before
    for (std::size_t i = 0; i < links.size(); ++i) {
        std::size_t a = links[i].a, b = links[i].b;
        if (by[a] == i || by[b] == i) {
            if (links[i].ends == nullptr || links[i].ends->seconds.size() > 1)
                isTested[by[a] == i ? a : b] = true;
            continue;
        }
        while (a != b) { // a way round
            std::size_t& deeper = depth[a] >= depth[b] ? a : b;
            isTested[deeper] = true;
            deeper = before[deeper];
        }
    }
    std::vector<Untested> untested(count);
    std::size_t ranks = 0, inARow = 0;
    double withinNs = 0;
    for (const std::size_t rank : inTurn) {
        Untested& of = untested[rank] = untested[before[rank]];
        if (rank != 0 && !isTested[rank]) {
            const EndDifferences& single = *links[by[rank]].ends;
            const bool isSame = of.last == single.meeting;
            of.withinNs += std::max(0.0, single.lastsNs - (isSame ? of.lastNs : 0));
            of.lastNs = std::max(isSame ? of.lastNs : 0, single.lastsNs);
            of.last = single.meeting;
            of.collectives += isSame ? 0 : 1;
        }
        ranks += of.collectives > 0 ? 1 : 0;
        inARow = std::max(inARow, of.collectives);
        withinNs = std::max(withinNs, of.withinNs);
    }
    if (ranks == 0)
        return {};
    constexpr double kNsOfUs = 1000;
    return "; " + countedText(static_cast<std::int64_t>(ranks), "rank") + (ranks == 1 ? " goes by " : " go by ") +
           (inARow == 1 ? "one collective alone" : "up to " + std::to_string(inARow) + " collectives one after the other") +
           ", which nothing tests: right within " + std::to_string(static_cast<std::int64_t>(std::ceil(withinNs / kNsOfUs))) +
           " µs, as long as " + (inARow == 1 ? "it lasts" : "they last together");
}

} // namespace sim
