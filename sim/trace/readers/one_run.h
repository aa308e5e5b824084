// Files that cannot be of one run are kept apart: a folder may hold what several jobs left there.
#pragma once

#include "sim/trace/readers/merge.h"
#include "sim/trace/recording.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// Two files contradict each other where they name worlds of different sizes, where their times since 1970 lie more than an hour
/// apart, where they are of one recorder, one rank and one time, or where a rank of both is in two groups of one name (flight
/// recorders know no world, and a job that stands still has no spans: its calls tell when it was). A file that says none of it
/// fits anywhere, and is put where others of its folder are.
class RunSorter {
public:
    /// In the order of the files: each goes to the first run that it does not contradict. Those that do not say when they are, or
    /// that only all of them together can number, go last.
    void add(Recording&& from);
    /// The run with the most files, of these the most spans. Of the others Recording::otherRuns and a problem tell.
    Recording finish();

private:
    /// What files say of the run that they are of.
    struct Said {
        int worldSize = 0;                    ///< 0: none does
        std::int64_t firstNs = 0, lastNs = 0; ///< since 1970; 0, 0: none does
        /// rank, format -> when
        std::map<std::pair<int, std::string>, std::vector<std::pair<std::int64_t, std::int64_t>>> ranks;
        /// name -> members, of flight recorders: a rank is in one group of a name
        std::map<std::string, std::set<std::vector<int>>> groups;
    };
    struct Run {
        RecordingMerger files;
        std::vector<std::string> names;
        std::set<std::string> folders;
        std::size_t spans = 0;
        Said said;
    };
    void sort(Recording&& from);
    static Said saidBy(const Recording&);
    /// "of a world of 2 ranks, not 8": what `file` is and `run` is not; empty where it can be of it.
    static std::string contradiction(const Said& run, const Said& file);

    std::vector<Run> m_runs;
    std::vector<Recording> m_toNumber; ///< isNumberedByCommunicator()
    std::vector<Recording> m_timeless; ///< dumps in which nothing is open
};

} // namespace sim
