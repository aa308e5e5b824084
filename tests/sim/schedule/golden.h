// Reads action orders that frameworks' own generators made (tests/data/schedules).
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <string>
#include <vector>

namespace golden {

/// What an independent simulator made of the order.
struct Timing {
    sim::PassTimes times;
    double makespan = 0;
    double span = 0;                    ///< 0 where not given
    std::vector<double> rankSpan, busy; ///< empty where not given
};

struct Case {
    std::string id;
    int ranks = 0, virtualStages = 0, microbatches = 0;
    std::vector<int> stageToRank;
    std::vector<std::string> actions;        ///< [rank], separated by spaces
    std::vector<double> peakActivations;     ///< [rank], activation held until W
    std::vector<double> peakReleasedAtInput; ///< the same if I frees everything; empty where not given
    std::vector<Timing> timings;
    std::vector<std::string> pytorchRows; ///< PyTorch's own table with idle cells; empty where not given
    // Megatron Core's interleaving.
    int microbatchGroup = 0;
    bool overlapExpertComm = false;
    std::vector<int> warmups;            ///< [rank]
    std::string scheduleTable;           ///< micro-batch.chunk of each virtual forward
    std::vector<std::string> chunkOrder; ///< [rank] chunk + 1, negative for a backward
    int slices = 1;
    // What a planned order went by.
    sim::PassTimes planned;
    sim::PassMemory memory;
    double memoryLimit = 0;
};

std::vector<Case> cases(const std::string& name);
/// Every family's file, written by this library or not.
std::vector<std::string> names();
/// The case's order as a schedule, through the CSV reader.
sim::Schedule schedule(const Case&);

std::string text(const std::vector<sim::Action>&, int slices = 1);
std::string readFile(const std::string& pathUnderData);

} // namespace golden
