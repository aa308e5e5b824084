// What files say in Kineto's words of a span's collective and of the job, beside the events themselves: Perfetto's debug
// annotations, and the distributedInfo that Rankscope writes into either format.
#pragma once

#include "sim/trace/recording.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

class RecordingBuilder;

/// Arguments of a collective's span. "", -1, 0: not said.
struct CollectiveWords {
    std::string name, dtype, group;
    int sourceRank = -1, destinationRank = -1;
    std::int64_t inElements = -1, outElements = -1, bytes = -1, sequence = -1, externalId = 0;
    /// One annotation: text or number, as it came.
    void take(std::string_view key, std::string_view text, std::int64_t number);
};

/// The kind that a category of a file that was written again stands for where Kineto has no word for it: "communication", "host
/// communication"; else `other`.
RecordedKind kindOfWrittenWord(std::string_view category, RecordedKind other);

/// A span of a recording that was written again: its collective and its launch.
void takeCollectiveWords(RecordingBuilder&, std::uint32_t track, std::uint32_t span, const CollectiveWords&,
                         std::uint64_t correlation);

/// What Rankscope's own distributedInfo says of groups, of the grid and of each process.
class JobWords {
public:
    /// False, and nothing is taken, where the object is not one that Rankscope wrote.
    bool take(const nlohmann::json& info, RecordingBuilder&);
    /// The same from the description of Perfetto's root track, "distributedInfo {…}".
    bool takeDescription(std::string_view description, RecordingBuilder&);
    /// After all spans: collectives find the groups that they name, ranks what is said of them.
    void settle(Recording&) const;

private:
    void takeGroup(const nlohmann::json&, RecordingBuilder&);
    void takeGrid(const nlohmann::json&, RecordingBuilder&);

    std::map<std::string, RankRecording> m_ranks; ///< by name of the process; only what is said of it
    std::vector<std::int32_t> m_groups;           ///< told of, in their order
    int m_worldSize = 0;
    std::size_t m_members = 0;
    bool m_isSaid = false;
};

} // namespace sim
