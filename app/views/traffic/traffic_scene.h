// What the parts of the traffic picture share: the model, what is chosen, and how a purpose looks.
#pragma once

#include "app/views/common/theme.h"
#include "app/views/traffic/traffic_model.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace app {

enum class TrafficMode : std::uint8_t { matrix, diagram, load };
inline constexpr int kTrafficModeCount = 3;

/// A cell of a matrix, or a link of the diagram.
struct TrafficPair {
    int from = -1, to = -1;
    bool operator==(const TrafficPair&) const = default;
};

/// An equals sign beside bytes, as on the cards of the details: a click asks where they come from.
struct TrafficMark {
    Rect rect;
    std::optional<sim::Dimension> purpose;
    int tier = -1;
};

struct TrafficScene {
    TrafficModel& model;
    const Theme& theme;
    const Selection& selection;
    std::optional<TrafficPair> hovered;
    std::vector<TrafficMark>* marks = nullptr; ///< that are drawn; null: none are wanted

    Color fill(sim::Dimension purpose) const { return theme.fill(sim::opClassOf(purpose)); }
    bool shows(sim::Dimension purpose) const { return selection.shows(sim::opClassOf(purpose)); }
};

/// Nodes of the picture's parts, apart from each other.
enum TrafficNodes : std::uint64_t {
    kTrafficModeNodes = std::uint64_t{1} << 32,
    kTrafficLevelNodes = std::uint64_t{2} << 32,
    kTrafficPurposeNodes = std::uint64_t{3} << 32,
    kTrafficRowNodes = std::uint64_t{4} << 32,
    kTrafficPairNodes = std::uint64_t{5} << 32, ///< + from * 65,536 + to
    kTrafficTierNodes = std::uint64_t{6} << 32,
    kTrafficListNodes = std::uint64_t{7} << 32,
    kTrafficMarkNodes = std::uint64_t{8} << 32,  ///< + 16 × tiers, or purposes
    kTrafficPacketNodes = std::uint64_t{9} << 32 ///< + from * 65,536 + to
};

/// "node 0 sends node 1 38.0 GiB: dp 30.0 GiB, pp 8.00 GiB"
std::string pairText(const TrafficScene&, const TrafficParts&, const sim::TrafficMatrix::Cell&);
/// "rank 3 sends 12.3 GiB: …", by its purposes.
std::string rankText(const TrafficScene&, int rank);

/// Draws a mark at the left of the rectangle and remembers it; returns its width.
float paintMark(Canvas&, const TrafficScene&, Rect, TrafficMark);
inline constexpr float kMarkWidth = 16;

/// One line of a list: words, a bar as long as its bytes, stacked by purpose, and the bytes.
struct TrafficBar {
    std::string name, shortName;
    sim::BytesByDimension bytes;
    int tier = -1; ///< whose bytes they are: then they have a mark
};
/// A title over bars of one scale, as many as fit; a last line says how many more there are. Returns the height used.
float paintBars(Canvas&, const TrafficScene&, Rect, const std::string& title, const std::vector<TrafficBar>&,
                std::uint64_t firstNode = kTrafficListNodes);

/// What the panel beside matrix and diagram says: of the pair under the pointer its purposes, of the rank in focus its peers,
/// else what each tier carries and the largest flows between parts.
void paintDetails(Canvas&, const TrafficScene&, Rect, const TrafficModel::Picture&);
inline constexpr float kDetailsWidth = 232;
inline constexpr double kLeastHeat = 0.14; ///< share of the ramp at which the scale begins

/// Fill of so many bytes on a logarithmic scale between the two, and of none.
struct ByteScale {
    double least = 1, most = 1;
    /// Of the ramp: the least is told apart from nothing.
    double share(std::int64_t bytes) const;
    static ByteScale of(const TrafficModel::Picture&, const Selection&);
};
/// The ramp with its ends in words.
void paintByteScale(Canvas&, const TrafficScene&, const ByteScale&, Rect);

} // namespace app
