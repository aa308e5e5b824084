// Orders exactly as the frameworks' own generators make them.
#include "sim/schedule/families/families.h"

#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::ActionKind;
using sim::Schedule;
using sim::ScheduleRequest;

void expectOrder(const Schedule& schedule, const golden::Case& golden)
{
    EXPECT_EQ(schedule.stageToRank, golden.stageToRank);
    EXPECT_EQ(schedule.virtualStages, golden.virtualStages);
    ASSERT_EQ(schedule.actions.size(), golden.actions.size());
    for (std::size_t rank = 0; rank < golden.actions.size(); ++rank)
        EXPECT_EQ(golden::text(schedule.actions[rank], schedule.slices), golden.actions[rank]) << "rank " << rank;
}

/// Of every case of a file: the schedule that is asked for it.
template <typename Ask>
void expectOrders(const char* file, Ask ask)
{
    for (const golden::Case& golden : golden::cases(file)) {
        SCOPED_TRACE(golden.id);
        expectOrder(sim::makeSchedule(ask(golden)), golden);
    }
}

TEST(GpipeSchedule, IsPyTorchs)
{
    expectOrders("pytorch_gpipe",
                 [&](const golden::Case& golden) { return request("gpipe", golden.ranks, 1, golden.microbatches); });
}

TEST(OneFOneBSchedule, IsPyTorchsAndMegatrons)
{
    for (const char* name : {"pytorch_1f1b", "megatron_1f1b"})
        expectOrders(name, [&](const golden::Case& golden) { return request("1f1b", golden.ranks, 1, golden.microbatches); });
}

TEST(LoopedBfsSchedule, IsPyTorchs)
{
    expectOrders("pytorch_loopedbfs", [&](const golden::Case& golden) {
        return request("looped-bfs", golden.ranks, golden.virtualStages, golden.microbatches);
    });
}

TEST(InterleavedSchedule, IsPyTorchs)
{
    for (const golden::Case& golden : golden::cases("pytorch_interleaved1f1b")) {
        SCOPED_TRACE(golden.id);
        const int rounds = std::max(1, golden.microbatches / golden.ranks);
        expectOrder(sim::makeSchedule(request("interleaved-1f1b", golden.ranks, golden.virtualStages, golden.microbatches,
                                              golden.microbatches / rounds)),
                    golden);
    }
}

// schedules.py, _calculate_single_rank_operations, of max(1, m // p) = 1 round: as many forward passes before the first backward
// as min(m v, (v - 1) m + 2 (p - 1 - rank)).
TEST(InterleavedSchedule, IsPyTorchsWithFewerMicrobatchesThanRanks)
{
    const auto orderOf = [](const Schedule& schedule) {
        std::vector<std::string> ranks;
        for (const auto& actions : schedule.actions)
            ranks.push_back(golden::text(actions, schedule.slices));
        return ranks;
    };
    EXPECT_THAT(orderOf(sim::makeSchedule(request("interleaved-1f1b", 3, 2, 2, 2))),
                testing::ElementsAre("0F0 0F1 3F0 3F1 3B0 3B1 0B0 0B1", "1F0 1F1 4F0 4F1 4B0 4B1 1B0 1B1",
                                     "2F0 2F1 5F0 5B0 5F1 5B1 2B0 2B1"));
    EXPECT_THAT(orderOf(sim::makeSchedule(request("interleaved-1f1b", 4, 2, 3, 3))),
                testing::ElementsAre(
                    "0F0 0F1 0F2 4F0 4F1 4F2 4B0 4B1 4B2 0B0 0B1 0B2", "1F0 1F1 1F2 5F0 5F1 5F2 5B0 5B1 5B2 1B0 1B1 1B2",
                    "2F0 2F1 2F2 6F0 6F1 6F2 6B0 6B1 6B2 2B0 2B1 2B2", "3F0 3F1 3F2 7F0 7B0 7F1 7B1 7F2 7B2 3B0 3B1 3B2"));
}

TEST(InterleavedSchedule, IsMegatrons)
{
    for (const golden::Case& golden : golden::cases("megatron_interleaved")) {
        SCOPED_TRACE(golden.id);
        ScheduleRequest asked =
            request("interleaved-1f1b", golden.ranks, golden.virtualStages, golden.microbatches, golden.microbatchGroup);
        asked.overlapExpertComm = golden.overlapExpertComm;
        Schedule schedule = sim::makeSchedule(asked);
        for (auto& actions : schedule.actions) // Megatron lists the two of a pair one after the other
            for (sim::Action& action : actions)
                action.overlapsNext = false;
        expectOrder(schedule, golden);
        for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
            const auto& actions = schedule.actions[rank];
            std::string table;
            std::string chunks;
            for (const sim::Action& action : actions) {
                const int chunk = action.stage / golden.ranks;
                const bool isForward = action.kind == ActionKind::forward;
                if (isForward)
                    table += (table.empty() ? "" : " ") + std::to_string(action.microbatch) + "." + std::to_string(chunk);
                chunks += (chunks.empty() ? "" : " ") + std::to_string(isForward ? chunk + 1 : -chunk - 1);
            }
            if (!golden.scheduleTable.empty()) { // the large cases leave it out
                EXPECT_EQ(table, golden.scheduleTable);
            }
            if (!golden.chunkOrder.empty()) {
                EXPECT_EQ(chunks, golden.chunkOrder[rank]);
            }
            const auto firstBackward = std::find_if(actions.begin(), actions.end(),
                                                    [](const sim::Action& action) { return action.kind != ActionKind::forward; });
            // A steady pair begins with its forward.
            const int most = golden.microbatches * golden.virtualStages;
            EXPECT_EQ(firstBackward - actions.begin(), std::min(most, golden.warmups[rank] + 1)) << "rank " << rank;
        }
    }
}

TEST(InterleavedSchedule, OrderOfMegatronsDocumentedExample)
{
    // Docstring of convert_schedule_table_to_order: 2 ranks, groups of 3, 5 micro-batches, 2 chunks.
    const Schedule schedule = sim::makeSchedule(request("interleaved-1f1b", 2, 2, 5, 3));
    EXPECT_EQ(golden::text({schedule.actions[0].begin(), schedule.actions[0].begin() + 7}), "0F0 0F1 0F2 2F0 2F1 2F2 2B0");
}

TEST(ZeroBubbleSchedules, AreThePapersFigure3)
{
    for (const golden::Case& golden : golden::cases("paper_zb_h1_h2")) {
        SCOPED_TRACE(golden.id);
        const std::string kind = golden.id.find("h2") != std::string::npos ? "zb-h2" : "zb-h1";
        expectOrder(sim::makeSchedule(request(kind, golden.ranks, 1, golden.microbatches)), golden);
    }
}

TEST(PlannedZeroBubble, IsSails)
{
    for (const golden::Case& golden : golden::cases("sail_zb_auto")) {
        SCOPED_TRACE(golden.id);
        const double multiple = golden.memoryLimit / golden.memory.full / golden.ranks;
        if (multiple != 1 && multiple != 2)
            continue; // other limits have no kind of their own; the synthesiser's portfolio has them
        ScheduleRequest asked = request(multiple == 1 ? "zb-1p" : "zb-2p", golden.ranks, 1, golden.microbatches);
        asked.times = {golden.planned};
        asked.memory = {golden.memory};
        expectOrder(sim::makeSchedule(asked), golden);
    }
}

TEST(ZbVSchedule, IsPyTorchs)
{
    expectOrders("pytorch_zbv",
                 [&](const golden::Case& golden) { return request("zb-v", golden.ranks, 2, golden.microbatches); });
}

TEST(ControllableMemorySchedules, AreSails)
{
    for (const auto& [kind, name] : {std::pair{"v-half", "sail_vhalf"}, {"v-min", "sail_vmin"}})
        expectOrders(name,
                     [kind = kind](const golden::Case& golden) { return request(kind, golden.ranks, 2, golden.microbatches); });
}

TEST(InterleavedZeroBubble, IsPyTorchs)
{
    expectOrders("pytorch_interleavedzerobubble", [](const golden::Case& golden) {
        return request("interleaved-zb", golden.ranks, golden.virtualStages, golden.microbatches);
    });
}

TEST(DualPipe, IsDeepSeeks)
{
    for (const auto& [kind, name] : {std::pair{"dualpipe", "deepseek_dualpipe"}, {"dualpipe-v", "deepseek_dualpipev"}})
        expectOrders(name,
                     [kind = kind](const golden::Case& golden) { return request(kind, golden.ranks, 2, golden.microbatches); });
}

TEST(Seq1F1BSchedule, IsSails)
{
    for (const golden::Case& golden : golden::cases("sail_seq1f1b")) {
        SCOPED_TRACE(golden.id);
        ScheduleRequest asked = request("seq-1f1b", golden.ranks, 1, golden.microbatches);
        asked.slices = golden.slices;
        expectOrder(sim::makeSchedule(asked), golden);
    }
}

TEST(OverlappedSchedules, AreVictarrys)
{
    for (const golden::Case& golden : golden::cases("ppviz_overlap")) {
        SCOPED_TRACE(golden.id);
        ScheduleRequest asked = request(golden.virtualStages == 1 ? "1f1b" : "interleaved-1f1b", golden.ranks,
                                        golden.virtualStages, golden.microbatches);
        asked.overlapExpertComm = true;
        expectOrder(sim::makeSchedule(asked), golden);
    }
}

} // namespace
