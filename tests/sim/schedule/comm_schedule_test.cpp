// Communication written between passes: PyTorch's lowering reproduced, what is wrong with it found and named.
#include "sim/schedule/comm_schedule.h"

#include "sim/error.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/text/csv.h"
#include "sim/schedule/text/import.h"
#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>

namespace {

using sim::CommSchedule;
using sim::CommStep;
using sim::Schedule;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CommSchedule commsOf(const std::string& csv)
{
    return sim::importSchedule(csv).communication.value();
}

/// With fewer actions than a file needs, so that lists under test stay short.
std::vector<std::string> communicationProblems(const std::string& csv)
{
    return sim::checkCommunication(commsOf(csv));
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

std::vector<std::string> rows(const CommSchedule& communication)
{
    std::vector<std::string> all;
    for (const std::vector<CommStep>& steps : communication.steps) {
        std::string row;
        for (const CommStep& step : steps)
            row += (row.empty() ? "" : " ") + sim::stepText(step);
        all.push_back(row);
    }
    return all;
}

TEST(LowerCommunication, IsPyTorchs)
{
    const nlohmann::json file = nlohmann::json::parse(golden::readFile("schedules/pytorch_compute_comms.json"));
    for (const nlohmann::json& golden : file.at("cases")) {
        SCOPED_TRACE(golden.at("id").get<std::string>());
        std::vector<std::string> lines = golden.at("ranks_compute");
        for (std::string& line : lines)
            std::replace(line.begin(), line.end(), ' ', ',');
        const Schedule schedule = sim::parseScheduleCsv(lines);
        EXPECT_EQ(rows(sim::lowerCommunication(schedule)), golden.at("ranks"));
        EXPECT_EQ(rows(sim::lowerCommunication(schedule, {.unshardedStages = 0})), golden.at("ranks_send_recv_only"));
    }
}

TEST(LowerCommunication, GathersAheadAsManyStagesAsAskedAndReducesOnce)
{
    const Schedule schedule = sim::makeSchedule(request("interleaved-1f1b", 2, 4, 4));
    for (const int most : {1, 2, 3, 4}) {
        const CommSchedule lowered = sim::lowerCommunication(schedule, {.unshardedStages = most, .reduceGradients = true});
        for (const std::vector<CommStep>& steps : lowered.steps) {
            std::vector<int> gathered;
            int reduced = 0;
            for (const CommStep& step : steps) {
                if (step.kind == sim::StepKind::unshard)
                    gathered.push_back(step.action.stage);
                else if (step.kind == sim::StepKind::reshard)
                    std::erase(gathered, step.action.stage);
                else if (step.kind == sim::StepKind::pass) {
                    EXPECT_THAT(gathered, Contains(step.action.stage));
                }
                reduced += step.kind == sim::StepKind::reduceGradients ? 1 : 0;
                EXPECT_LE(static_cast<int>(gathered.size()), most);
            }
            EXPECT_EQ(reduced, 4) << "each of the rank's stages once";
        }
    }
}

TEST(LowerCommunication, TakesTimeByTheActionsNotByTheSquareOfTheRanks)
{
    const auto seconds = [](int ranks) {
        const Schedule schedule = sim::makeSchedule(request("1f1b", ranks, 1, 2));
        double least = 1e9;
        for (int round = 0; round < 3; ++round) {
            const std::clock_t before = std::clock(); // of the processor: other programs do not count
            sim::lowerCommunication(schedule);
            least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
        }
        return least;
    };
    EXPECT_LT(seconds(16'000), 32 * seconds(2'000)) << "eight times the ranks; their square is 64 times as much";
}

const char* const kTwoRanks = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";

TEST(CheckCommunication, NamesWhatIsWrong)
{
    EXPECT_THAT(communicationProblems(kTwoRanks), IsEmpty());
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "0SEND_F0,", "")),
                ElementsAre("stage 0 on rank 0 misses the SEND_F of micro-batch 0"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "1RECV_F0,", "")),
                ElementsAre("stage 1 on rank 1 misses the RECV_F of micro-batch 0"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "0SEND_F0", "0SEND_F0,0SEND_F0")),
                ElementsAre("0SEND_F0 on rank 0 comes twice"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "0F0,0SEND_F0", "0SEND_F0,0F0")),
                ElementsAre("0SEND_F0 on rank 0 comes before 0F0, which makes what it sends"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "0RECV_B0,0B0", "0B0,0RECV_B0")),
                ElementsAre("0RECV_B0 on rank 0 comes after 0B0, which needs it"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "1B0,1SEND_B0", "1B0,1SEND_B0,1SEND_F0")),
                ElementsAre("1SEND_F0 on rank 1: there is no stage after stage 1"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "0B0", "0B0,1SEND_B0")),
                ElementsAre("1SEND_B0 on rank 0: stage 1 lives on rank 1"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "0B0", "0B0,0SEND_F7,9RESHARD")),
                ElementsAre(HasSubstr("0SEND_F7 on rank 0 is outside of 2 stages and 1 micro-batches"),
                            HasSubstr("9RESHARD on rank 0 is outside")));
    EXPECT_THAT(communicationProblems("0F0,0SEND_F0,1F0,1B0,0B0\n"),
                ElementsAre("0SEND_F0 on rank 0: stage 1 is on the same rank, nothing is sent"));
    EXPECT_THAT(communicationProblems(replaced(kTwoRanks, "1B0,", "")), Contains(HasSubstr("misses the backward")))
        << "the schedule itself comes first";
    CommSchedule other = commsOf(kTwoRanks);
    std::swap(other.steps[0], other.steps[1]);
    EXPECT_THAT(sim::checkCommunication(other), ElementsAre(HasSubstr("do not hold the passes")));
}

} // namespace
