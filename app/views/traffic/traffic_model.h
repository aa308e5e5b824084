// What the traffic picture shows of a simulation: sums, parts of the world and the bytes between them, load over time. Computed
// when first asked for and kept while nothing it depends on changes.
#pragma once

#include "app/step/selection.h"
#include "app/step/shown_step.h"
#include "app/views/traffic/traffic_motion.h"
#include "sim/analysis/explain/explain_traffic.h"
#include "sim/analysis/traffic/link_load.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/simulate/action_class.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// Those purposes' bytes whose op class the selection shows.
std::int64_t shownBytes(const sim::BytesByDimension&, const Selection&);
/// "dp 30.0 GiB, pp 8.00 GiB": purposes shown, in their order.
std::string purposesText(const sim::Simulation&, const sim::BytesByDimension&, const Selection&, const char* between = ", ");

/// How the world is cut, finest first.
enum class TrafficLevel : std::uint8_t { ranks, nodes, pipeline };
inline constexpr int kTrafficLevelCount = 3;

/// Parts of the world, with names for people.
struct TrafficParts {
    struct Part {
        std::string name, number; ///< "node 3", "3"; "nodes 32–63", "32–63"
        std::vector<int> ranks;   ///< ascending; empty for the rest of the world
    };
    std::vector<Part> parts;
    std::vector<int> partOf; ///< [rank]
    int count() const { return static_cast<int>(parts.size()); }
    bool isRest(int part) const { return parts[static_cast<std::size_t>(part)].ranks.empty(); }
};

class TrafficModel : public PictureModel {
public:
    static constexpr int kMostParts = 64;   ///< nodes in a matrix; beyond, groups of them
    static constexpr int kMostRanks = 1024; ///< that a matrix shows one by one

    explicit TrafficModel(SimulationPtr);

    const sim::Simulation& simulation() const { return *m_simulation; }
    const sim::Traffic& traffic() const { return m_traffic; }
    const std::vector<sim::Tier>& tiers() const { return m_simulation->scenario().cluster.tiers; }
    std::int64_t stepNs() const { return m_stepNs; }

    /// From now on only what these ranks send counts, if they are several. True if that is a change.
    bool restrictTo(const std::vector<int>& ranks);
    bool isRestricted() const { return !m_ranks.empty(); }
    int senderCount() const { return m_senders.ranks; }
    const sim::TrafficSums& sums() const { return m_sums; }

    /// Where the bytes come from that are counted now: of a purpose, of a tier, of a flow between parts, of all.
    const sim::Explanation& because(sim::Dimension);
    const sim::Explanation& because(int tier);
    sim::Explanation because(const TrafficParts&, const sim::TrafficMatrix::Cell&) const;
    sim::Explanation becauseOfAll() const;

    bool offers(TrafficLevel) const;
    /// Ranks where they are few enough to be read, else nodes; whatever is selected.
    TrafficLevel suitableLevel() const;
    /// "node", "NVLink domain": what the level of nodes is made of.
    const std::string& boxName() const { return m_boxName; }

    struct Picture {
        TrafficParts parts;
        sim::TrafficMatrix matrix;
    };
    /// Nodes in at most so many groups.
    const Picture& picture(TrafficLevel, int mostParts = kMostParts);

    /// The same parts while the step plays: what the ranks that count have under way.
    TrafficMotion& motion(TrafficLevel, int mostParts = kMostParts);

    /// Of the ranks that count. Anew where the window differs from the last.
    const sim::LinkLoad& load(const sim::LoadWindow&);
    /// The same, kept beside it: for the numbers, which must not depend on the picture's width.
    const sim::LinkLoad& loadForNumbers(const sim::LoadWindow&);
    /// Of one rank alone.
    const sim::LinkLoad& loadOfRank(int rank, const sim::LoadWindow&);

private:
    TrafficParts ranksAsParts() const;
    TrafficParts nodesAsParts(int most) const;
    TrafficParts pipelineAsParts() const;
    int boxes() const;
    std::string sentByChosen() const;

    SimulationPtr m_simulation;
    sim::Traffic m_traffic;
    std::int64_t m_stepNs = 0;
    int m_boxGpus = 1; ///< GPUs of a node, or of an NVLink domain where that is larger
    std::string m_boxName;

    std::vector<int> m_ranks; ///< that count; empty: all
    sim::TrafficSenders m_senders;
    sim::TrafficSums m_sums;

    struct Kept {
        TrafficLevel level = TrafficLevel::ranks;
        int mostParts = 0;
        Picture picture;
    };
    std::vector<Kept> m_pictures;
    struct Moving {
        TrafficLevel level = TrafficLevel::ranks;
        int mostParts = 0;
        TrafficMotion motion;
    };
    std::shared_ptr<const sim::TimedTransfers> m_transfers; ///< nullptr: nobody has asked for motion
    std::optional<Moving> m_moving;
    sim::ByDimension<std::optional<sim::Explanation>> m_becauseOfPurpose; ///< of m_ranks
    std::vector<std::optional<sim::Explanation>> m_becauseOfTier;         ///< likewise
    std::optional<sim::LinkLoad> m_load, m_loadForNumbers, m_loadOfRank;
    int m_loadRank = -1;
};

} // namespace app
