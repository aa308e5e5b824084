#include "app/views/traffic/traffic_model.h"

#include "app/views/common/labels.h"
#include "sim/index.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

/// Domains of GPUs joined by the innermost tier are worth a box of their own up to this size; beyond, nodes are.
constexpr int kLargestBox = 256;

int boxGpusOf(const sim::Cluster& cluster)
{
    const int span = cluster.tiers.front().span;
    return span > cluster.gpusPerNode && span < cluster.gpus() && span <= kLargestBox ? span : cluster.gpusPerNode;
}

} // namespace

std::int64_t shownBytes(const sim::BytesByDimension& bytes, const Selection& selection)
{
    std::int64_t sum = 0;
    for (const sim::Dimension purpose : sim::kDimensions)
        if (selection.shows(sim::opClassOf(purpose)))
            sum += bytes[purpose];
    return sum;
}

std::string purposesText(const sim::Simulation& simulation, const sim::BytesByDimension& bytes, const Selection& selection,
                         const char* between)
{
    std::string text;
    for (const sim::Dimension purpose : sim::kDimensions)
        if (const std::int64_t of = bytes[purpose]; of > 0 && selection.shows(sim::opClassOf(purpose)))
            text +=
                (text.empty() ? "" : between) + sim::purposeName(simulation, purpose) + " " + bytesText(static_cast<double>(of));
    return text;
}

TrafficModel::TrafficModel(SimulationPtr simulation)
    : m_simulation(std::move(simulation)), m_traffic(sim::Traffic(*m_simulation)),
      m_stepNs(std::max<std::int64_t>(1, std::llround(m_simulation->metrics().stepTimeSeconds * 1e9))),
      m_boxGpus(boxGpusOf(m_simulation->scenario().cluster)),
      m_boxName(m_boxGpus > m_simulation->scenario().cluster.gpusPerNode ? sim::spokenNetwork(tiers().front().name) + " domain"
                                                                         : "node"),
      m_senders(m_traffic.senders()), m_sums(m_senders.total())
{
}

bool TrafficModel::restrictTo(const std::vector<int>& ranks)
{
    std::vector<int> counted = ranks.size() > 1 ? ranks : std::vector<int>{};
    counted.erase(std::lower_bound(counted.begin(), counted.end(), m_traffic.worldSize()), counted.end()); // of another world
    if (counted == m_ranks)
        return false;
    m_ranks = counted;
    m_senders = m_traffic.senders(m_ranks);
    m_sums = m_senders.total();
    m_pictures.clear();
    m_moving.reset();
    m_becauseOfPurpose = {};
    m_becauseOfTier.clear();
    m_load.reset();
    m_loadForNumbers.reset();
    return true;
}

// Parts -----------------------------------------------------------------------------------------------------------------------

int TrafficModel::boxes() const
{
    int last = 0;
    for (int rank = 0; rank < m_traffic.worldSize(); ++rank)
        last = std::max(last, m_simulation->placement().gpu(rank));
    return last / m_boxGpus + 1;
}

const sim::Explanation& TrafficModel::because(sim::Dimension purpose)
{
    auto& kept = m_becauseOfPurpose[purpose];
    if (!kept && !isRestricted())
        kept = sim::TrafficExplainer(*m_simulation).ofDimension(purpose);
    if (!kept) {
        sim::BytesByDimension bytes;
        bytes[purpose] = m_sums.ofDimension(purpose);
        kept = sim::TrafficExplainer(*m_simulation).ofFlow(sim::purposeName(*m_simulation, purpose) + sentByChosen(), bytes);
    }
    return *kept;
}

const sim::Explanation& TrafficModel::because(int tier)
{
    m_becauseOfTier.resize(tiers().size());
    auto& kept = m_becauseOfTier[asIndex(tier)];
    if (!kept)
        kept = sim::TrafficExplainer(*m_simulation)
                   .ofFlow("Over " + sim::spokenNetwork(tiers()[asIndex(tier)].name) + sentByChosen(), m_sums.byDimension(tier));
    return *kept;
}

sim::Explanation TrafficModel::because(const TrafficParts& parts, const sim::TrafficMatrix::Cell& cell) const
{
    const std::string& from = parts.parts[asIndex(cell.from)].name;
    const std::string& to = parts.parts[asIndex(cell.to)].name;
    return sim::TrafficExplainer(*m_simulation)
        .ofFlow(cell.from == cell.to ? "Sent within " + from : "Sent from " + from + " to " + to, cell.bytes);
}

sim::Explanation TrafficModel::becauseOfAll() const
{
    return sim::TrafficExplainer(*m_simulation).ofFlow("All" + sentByChosen(), m_sums.byDimension());
}

/// " sent in a step", " sent by the 8 selected ranks".
std::string TrafficModel::sentByChosen() const
{
    return isRestricted() ? " sent by the " + countText(m_senders.ranks) + " selected ranks" : " sent in a step";
}

bool TrafficModel::offers(TrafficLevel level) const
{
    switch (level) {
    case TrafficLevel::ranks:
        return (isRestricted() ? static_cast<int>(m_ranks.size()) : m_traffic.worldSize()) <= kMostRanks;
    case TrafficLevel::nodes:
        return boxes() > 1;
    case TrafficLevel::pipeline:
        return m_simulation->mesh().pipelineRanks() > 1;
    }
    return false;
}

TrafficLevel TrafficModel::suitableLevel() const
{
    constexpr int kReadableRanks = 128;
    if (!offers(TrafficLevel::nodes) || m_traffic.worldSize() <= kReadableRanks)
        return TrafficLevel::ranks;
    return TrafficLevel::nodes;
}

TrafficParts TrafficModel::ranksAsParts() const
{
    TrafficParts parts;
    const int world = m_traffic.worldSize();
    const auto add = [&](int rank) {
        parts.partOf[asIndex(rank)] = parts.count();
        parts.parts.push_back({"rank " + countText(rank), std::to_string(rank), {rank}});
    };
    parts.partOf.assign(asIndex(world), static_cast<int>(m_ranks.size()));
    if (!isRestricted())
        for (int rank = 0; rank < world; ++rank)
            add(rank);
    for (const int rank : m_ranks)
        add(rank);
    if (parts.count() < world)
        parts.parts.push_back({"all others", "others", {}});
    return parts;
}

TrafficParts TrafficModel::nodesAsParts(int most) const
{
    const int count = boxes();
    int together = 1; // boxes a part: powers of two, as networks are wired
    while ((count + together - 1) / together > std::max(most, 1))
        together *= 2;
    TrafficParts parts;
    for (int first = 0; first < count; first += together) {
        const int last = std::min(first + together, count) - 1;
        const std::string number = together == 1 ? std::to_string(first) : countText(first) + "–" + countText(last);
        parts.parts.push_back({m_boxName + (together == 1 ? " " : "s ") + number, number, {}});
    }
    const int world = m_traffic.worldSize();
    parts.partOf.resize(asIndex(world));
    for (int rank = 0; rank < world; ++rank) {
        const int part = m_simulation->placement().gpu(rank) / m_boxGpus / together;
        parts.partOf[asIndex(rank)] = part;
        parts.parts[asIndex(part)].ranks.push_back(rank);
    }
    return parts;
}

TrafficParts TrafficModel::pipelineAsParts() const
{
    TrafficParts parts;
    for (int p = 0; p < m_simulation->mesh().pipelineRanks(); ++p)
        parts.parts.push_back({"pipeline rank " + std::to_string(p), std::to_string(p), {}});
    for (int rank = 0; rank < m_traffic.worldSize(); ++rank) {
        parts.partOf.push_back(m_simulation->mesh().coordinates(rank).pp);
        parts.parts[asIndex(parts.partOf.back())].ranks.push_back(rank);
    }
    return parts;
}

const TrafficModel::Picture& TrafficModel::picture(TrafficLevel level, int mostParts)
{
    const int most = level == TrafficLevel::nodes ? mostParts : 0;
    const auto kept = std::find_if(m_pictures.begin(), m_pictures.end(),
                                   [&](const Kept& k) { return k.level == level && k.mostParts == most; });
    if (kept != m_pictures.end())
        return kept->picture;
    constexpr std::size_t kKept = 4; // a window that is resized asks for other groups of nodes all the time
    if (m_pictures.size() >= kKept)
        m_pictures.erase(m_pictures.begin());
    Picture picture;
    picture.parts = level == TrafficLevel::ranks   ? ranksAsParts()
                    : level == TrafficLevel::nodes ? nodesAsParts(most)
                                                   : pipelineAsParts();
    picture.matrix = m_traffic.between(picture.parts.partOf, picture.parts.count(), m_ranks);
    m_pictures.push_back({level, most, std::move(picture)});
    return m_pictures.back().picture;
}

TrafficMotion& TrafficModel::motion(TrafficLevel level, int mostParts)
{
    const int most = level == TrafficLevel::nodes ? mostParts : 0;
    if (!m_transfers)
        m_transfers = std::make_shared<const sim::TimedTransfers>(*m_simulation);
    if (!m_moving || m_moving->level != level || m_moving->mostParts != most) {
        const TrafficParts parts = level == TrafficLevel::ranks   ? ranksAsParts()
                                   : level == TrafficLevel::nodes ? nodesAsParts(most)
                                                                  : pipelineAsParts();
        m_moving = Moving{level, most, TrafficMotion(*m_simulation, m_traffic, m_transfers, parts.partOf, m_ranks)};
    }
    return m_moving->motion;
}

// Load ------------------------------------------------------------------------------------------------------------------------

const sim::LinkLoad& TrafficModel::load(const sim::LoadWindow& window)
{
    if (!m_load || m_load->window != window)
        m_load = sim::linkLoad(*m_simulation, m_senders, window);
    return *m_load;
}

const sim::LinkLoad& TrafficModel::loadForNumbers(const sim::LoadWindow& window)
{
    if (!m_loadForNumbers || m_loadForNumbers->window != window)
        m_loadForNumbers = sim::linkLoad(*m_simulation, m_senders, window);
    return *m_loadForNumbers;
}

const sim::LinkLoad& TrafficModel::loadOfRank(int rank, const sim::LoadWindow& window)
{
    if (!m_loadOfRank || m_loadRank != rank || m_loadOfRank->window != window) {
        m_loadOfRank = sim::linkLoad(*m_simulation, m_traffic.senders(std::vector{rank}), window);
        m_loadRank = rank;
    }
    return *m_loadOfRank;
}

} // namespace app
