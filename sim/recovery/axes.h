// The grid of ranks from its process groups alone: which axes there are, how long each is, how far apart its ranks lie, and what
// it is for. Every claim says why and how sure it is.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/recovery/group_role.h"
#include "sim/recovery/group_shape.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sim {

/// A group that is known of, with what is known of its use.
struct KnownGroup {
    std::string name, description;
    std::vector<int> ranks; ///< ascending
    std::string evidence;
    Carried carried;
    bool isPartial = false; ///< as GroupEvidence has it
};

struct RecoveredAxis {
    std::string name; ///< "tp", "cp", "dp", "pp", "ep"; "" where nothing tells
    int size = 1;
    int stride = 1;                     ///< between neighbours; of several parts that of the first
    std::vector<Digit> parts;           ///< more than one where other axes lie between them
    std::string evidence;               ///< one sentence
    double sure = 0;                    ///< 0 … 1
    std::vector<std::string> partNames; ///< "dp_shard", "dp_replicate" where groups name parts; else empty
};

struct RecoveredAxes {
    int worldSize = 0;
    std::vector<RecoveredAxis> axes; ///< of size 2 and more, dense ones by stride, then ep, which lies across them
    /// Without a name, where ranks exchange all-to-alls of which nothing tells that they are experts' or of heads.
    std::optional<RecoveredAxis> allToAlls;
    std::vector<Digit> atoms;    ///< the finest digits that groups tell apart: their product is the world
    bool areGroupsKnown = false; ///< of several ranks and not all, however they lie
    std::vector<std::string> problems;

    const RecoveredAxis* find(std::string_view name) const;
    int sizeOf(std::string_view name) const; ///< 1 where there is no such axis
    /// Where no dense axis has a name, and there are several ranks: that nobody knows how they lie, in one sentence that is the
    /// same wherever it is told. Else empty.
    std::string unknownGrid() const;
    /// Coordinate of a rank on an axis.
    static int coordinate(const RecoveredAxis&, int rank);
};

/// `recorded`: ranks whose traces are there; a shape of groups counts only if each of them is in one. Groups with a description
/// go by it; others by what they carry; without either there are sizes and strides, and no names. O(groups · members).
/// A group of which only recorded ranks are known is taken as the smallest axis that divides the world and holds them, and none
/// of the other recorded ranks.
RecoveredAxes recoverAxes(std::span<const KnownGroup>, int worldSize, std::span<const int> recorded);
/// The same where the recorder names the dense axes: these hold, and groups tell of experts alone.
RecoveredAxes recoverAxes(std::span<const KnownGroup>, int worldSize, std::span<const int> recorded, std::span<const NamedAxis>,
                          const std::string& evidence);

} // namespace sim
