// PyTorch's schedule CSV: what is read, what is refused and where; and the custom family, which lives on it.
#include "sim/schedule/text/csv.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"
#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/oracle.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace {

using sim::Schedule;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(const std::string& text)
{
    return test::refusalOf([&] { sim::parseScheduleCsv(text); });
}

std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> lines(1);
    for (const char c : text)
        if (c == '\n')
            lines.emplace_back();
        else
            lines.back() += c;
    return lines;
}

sim::ScheduleRequest customRequest(const std::string& text, int ranks, int virtualStages, int microbatches)
{
    sim::ScheduleRequest request;
    request.kind = "custom";
    request.ranks = ranks;
    request.virtualStages = virtualStages;
    request.microbatches = microbatches;
    if (!text.empty())
        request.customActions = linesOf(text);
    return request;
}

TEST(ScheduleCsv, ReadsPyTorchsComputeOnlyArtifact)
{
    const Schedule schedule = sim::parseScheduleCsv(golden::readFile("schedules/pytorch_csv/zb1p_2rank_2stagep_compute.csv"));
    EXPECT_EQ(schedule.kind, "custom");
    EXPECT_EQ(schedule.ranks, 2);
    EXPECT_EQ(schedule.virtualStages, 2);
    EXPECT_EQ(schedule.microbatches, 8);
    EXPECT_EQ(schedule.stageToRank, (std::vector<int>{0, 1, 0, 1}));
    EXPECT_THAT(sim::checkSchedule(schedule), IsEmpty());
    EXPECT_EQ(golden::text({schedule.actions[1].begin(), schedule.actions[1].begin() + 5}), "1F0 1F1 3F0 3I0 3F1")
        << "idle cells are no actions";
    EXPECT_EQ(sim::parseScheduleCsv(sim::scheduleCsv(schedule)), schedule);
}

TEST(ScheduleCsv, RefusesCommunicationAndSaysWhatToGive)
{
    EXPECT_THAT(
        refusal(golden::readFile("schedules/pytorch_csv/zb1p_2rank_2stagep_comms.csv")),
        AllOf(HasSubstr("line 1 (rank 0), cell 2: \"0SEND_F0\" is communication"), HasSubstr("give the compute_only file")));
}

TEST(ScheduleCsv, ReadsBothDialectsAlike)
{
    const std::string legacy = golden::readFile("schedules/pytorch_csv/legacy_zb1p_2rank_2stagep_compute_15380b18.csv");
    EXPECT_EQ(sim::parseScheduleCsv(legacy),
              sim::parseScheduleCsv(golden::readFile("schedules/pytorch_csv/zb1p_2rank_2stagep_compute.csv")));
    EXPECT_EQ(sim::makeSchedule(customRequest(legacy.substr(0, legacy.find_last_not_of("\r\n") + 1), 2, 2, 8)).actions[1][3],
              (sim::Action{.kind = sim::ActionKind::backwardInput, .stage = 3, .microbatch = 0}));
}

TEST(ScheduleCsv, ReadsPyTorchsOwnTablesWithTheirIdleCells)
{
    for (const char* name :
         {"pytorch_gpipe", "pytorch_interleaved1f1b", "pytorch_loopedbfs", "pytorch_interleavedzerobubble", "pytorch_zbv"})
        for (const golden::Case& golden : golden::cases(name)) {
            if (golden.pytorchRows.empty())
                continue;
            SCOPED_TRACE(golden.id);
            const Schedule schedule = sim::parseScheduleCsv(golden.pytorchRows);
            for (std::size_t rank = 0; rank < golden.actions.size(); ++rank)
                EXPECT_EQ(golden::text(schedule.actions[rank]), golden.actions[rank]);
        }
}

TEST(ScheduleCsv, PyTorchsMisnumbered1F1BTableIsFoundOut)
{
    // Its last rank's forwards count from 1: there is one micro-batch too many, and the first has no forward there.
    int tables = 0;
    for (const golden::Case& golden : golden::cases("pytorch_1f1b")) {
        if (golden.pytorchRows.empty())
            continue;
        ++tables;
        const Schedule schedule = sim::parseScheduleCsv(golden.pytorchRows);
        const int last = golden.ranks - 1;
        const std::string backward = sim::actionText({.kind = sim::ActionKind::backward, .stage = last});
        const std::string forward = sim::actionText({.kind = sim::ActionKind::forward, .stage = last});
        EXPECT_THAT(sim::checkSchedule(schedule),
                    testing::Contains(AllOf(testing::StartsWith(backward), testing::EndsWith(" comes before " + forward))));
    }
    EXPECT_GT(tables, 0);
}

TEST(ScheduleCsv, IsIndifferentToHowFilesAreWritten)
{
    const Schedule plain = sim::parseScheduleCsv("0F0,0B0\n1F0,1B0\n");
    for (const char* text : {"0F0,0B0\n1F0,1B0",               // no last line end
                             "0F0,0B0\r\n1F0,1B0\r\n",         // Python's csv.writer
                             "\357\273\2770F0,0B0\n1F0,1B0\n", // a spreadsheet's byte order mark
                             "0F0 , 0B0\n\t1F0,1B0\n\n\n",     // blanks
                             ",0F0,,0B0,,\n,,1F0,1B0\n",       // idle cells
                             "\"0F0\",\"0B0\"\n1F0,\"1B0\"\n" /* quoted */})
        EXPECT_EQ(sim::parseScheduleCsv(std::string_view(text)), plain) << text;
    EXPECT_EQ(sim::scheduleCsv(plain), "0F0,0B0\n1F0,1B0\n");
}

TEST(ScheduleCsv, ReadsAndWritesOverlappedBlocks)
{
    const Schedule schedule = sim::parseScheduleCsv(golden::readFile("schedules/pytorch_csv/dualpipev_4rank_10mb.csv"));
    Schedule made = sim::makeSchedule({.kind = "dualpipe-v", .ranks = 4, .virtualStages = 2, .microbatches = 10});
    made.kind = "custom";
    EXPECT_EQ(schedule, made);
    EXPECT_EQ(sim::parseScheduleCsv(sim::scheduleCsv(made)), made);
    for (const char* cell :
         {"(0F0;0B0)", "(0F0,0B0)OVERLAP_F_B", "(0B0;0F0)OVERLAP_F_B", "(0F0;0I0)OVERLAP_F_B", "(0F0OVERLAP_F_B"})
        EXPECT_THAT(refusal(std::string(cell) + "\n"), HasSubstr("cell 1")) << cell;
}

TEST(ScheduleCsv, SaysWhichCellIsWrongAndWhatToWrite)
{
    for (const char* cell : {"F0", "0X0", "0f0", "x", "0F0xyz", "0F-1", "-1F0", "0F0.x", "0F0 0B0", "0F0;0B0", "0FF0", "F", "00",
                             "0BW", "\xC3\xA9", "0F0\"", "1e3F0"}) {
        EXPECT_THAT(refusal("0F0,0B0\n1F0," + std::string(cell) + ",1B0\n"), HasSubstr("line 2 (rank 1), cell 2: ")) << cell;
    }
    EXPECT_THAT(refusal("0F0,0G0\n"), HasSubstr("\"0G0\" is not an action; write stage, F, B, I or W, micro-batch, as in 0F1"));
    EXPECT_THAT(refusal("0F,0B0\n"), HasSubstr("\"0F\" has no micro-batch; write 0F0"));
    EXPECT_THAT(refusal("0F0,0BW0,0F1,0I1\n"), HasSubstr("write all of the file in one"));
    EXPECT_THAT(refusal("0F99999999999,0B0\n"), HasSubstr("number too large"));
    EXPECT_THAT(refusal("0F0,0UNSHARD,0B0\n"), HasSubstr("compute_comms"));
    EXPECT_THAT(refusal("0F0,0REDUCE_GRAD\n"), HasSubstr("compute_comms"));
    const std::string message = refusal(std::string(10'000, 'x'));
    EXPECT_LT(message.size(), 300U) << "long cells are cut";
}

TEST(ScheduleCsv, RefusesFramesThatCannotBe)
{
    EXPECT_THAT(refusal(""), HasSubstr("the schedule is empty"));
    EXPECT_THAT(refusal("\n\n"), HasSubstr("the schedule is empty"));
    EXPECT_THAT(refusal("0F0,0B0\n,,\n1F0,1B0\n"), HasSubstr("line 2 (rank 1) has no actions"));
    EXPECT_THAT(refusal("0F0,0B0\n0F1,0B1\n"), HasSubstr("stage 0 is on line 1 (rank 0) and, with 0F1, on line 2 (rank 1)"));
    EXPECT_THAT(refusal("0F0,0B0\n2F0,2B0\n"), HasSubstr("no line has an action of stage 1"));
    EXPECT_THAT(refusal("2147483647F0,0B0\n"), HasSubstr("stage 2147483647, but there are only 2 actions"));
    EXPECT_THAT(refusal("0F2147483646,0B0\n"), HasSubstr("micro-batch 2147483646, but there are only 2 actions"));
    EXPECT_THAT(refusal("0F0.0,0B0\n"), HasSubstr("give all of them one"));
}

TEST(ScheduleCsv, SurvivesAnyText)
{
    std::mt19937 random(17);
    // Half of the texts are whole cells in a random order, half are letters.
    constexpr std::string_view kLetters = "0123456789FBIW,,,,\n\" ()_;OVERLAPSEND\r\t\xFF";
    const std::vector<std::string> cells = {"0F0", "0B0", "0I0", "0W0", "1F0", "1B0", "0F1", "0B1", "", "\n"};
    int accepted = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text;
        for (std::size_t length = random() % 12; length > 0; --length)
            if (round % 2 == 0)
                text += cells[random() % cells.size()] + ",";
            else
                text += kLetters[random() % kLetters.size()];
        try {
            const Schedule schedule = sim::parseScheduleCsv(text);
            ++accepted;
            // Whatever was read can be judged, and, if sound, run.
            if (sim::checkSchedule(schedule).empty()) {
                sim::evaluateSchedule(schedule);
            } else {
                EXPECT_THROW(sim::evaluateSchedule(schedule), sim::Error) << text;
            }
        } catch (const sim::Error& error) {
            EXPECT_STRNE(error.what(), "");
        }
    }
    EXPECT_GT(accepted, 0);
    EXPECT_THAT(refusal(std::string(1'000'000, '(')), HasSubstr("overlapped"));
    EXPECT_THAT(refusal(std::string(1'000'000, ',')), HasSubstr("has no actions"));
    EXPECT_THAT(refusal(std::string(1'000'000, '9')), HasSubstr("cell 1"));
    EXPECT_THAT(refusal(std::string("0F0\0,0B0", 8)), HasSubstr("cell 1"));
}

std::string customRefusal(const std::string& text, int ranks, int virtualStages, int microbatches)
{
    try {
        sim::makeSchedule(customRequest(text, ranks, virtualStages, microbatches));
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(CustomSchedule, IsTheWrittenOrder)
{
    std::mt19937 random(23);
    for (int round = 0; round < 50; ++round) {
        const Schedule any = oracle::withSplitBackwards(sim::makeSchedule(oracle::randomRequest(random)), random);
        if (any.chains > 1 || any.slices > 1)
            continue; // refused: the next test
        std::string csv = sim::scheduleCsv(any);
        csv.pop_back();
        Schedule custom = sim::makeSchedule(customRequest(csv, any.ranks, any.virtualStages, any.microbatches));
        custom.kind = any.kind;
        EXPECT_EQ(custom, any);
    }
    // A V: rank 0 holds the first and the last stage.
    const Schedule folded = sim::makeSchedule(customRequest("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0", 2, 2, 1));
    EXPECT_EQ(folded.stageToRank, (std::vector<int>{0, 1, 1, 0}));
}

TEST(CustomSchedule, RunsOneCopyOfWholeSequences)
{
    for (const auto& [kind, nearest] : {std::pair{"dualpipe", "kind dualpipe"}, {"seq-1f1b", "sequence_slices 2"}}) {
        sim::ScheduleRequest request;
        request.kind = kind;
        request.ranks = 2;
        request.virtualStages = request.kind == "dualpipe" ? 2 : 1;
        request.microbatches = 4;
        request.slices = request.kind == "seq-1f1b" ? 2 : 1;
        std::istringstream text(sim::scheduleCsv(sim::makeSchedule(request)));
        for (std::string line; std::getline(text, line);)
            request.customActions.push_back(line);
        request.kind = "custom";
        request.slices = 1;
        EXPECT_THAT(sim::findScheduleFamily("custom")->unmet(request).value_or("legal"), HasSubstr(nearest));
    }
}

TEST(CustomSchedule, MustFitTheScenario)
{
    const std::string good = "0F0,0B0\n1F0,1B0";
    EXPECT_EQ(customRefusal(good, 2, 1, 1), "accepted");
    EXPECT_THAT(customRefusal("", 2, 1, 1),
                HasSubstr("one comma-separated line for each of the 2 pipeline ranks, such as 0F0,0B0"));
    EXPECT_THAT(customRefusal(good, 4, 1, 1), HasSubstr("2 lines for 4 pipeline ranks; nearest: pp 2"));
    EXPECT_THAT(customRefusal(good, 2, 2, 1),
                HasSubstr("rank 0 of the custom schedule holds 1 stage, virtual_stages says 2; nearest: virtual_stages 1"));
    EXPECT_THAT(customRefusal(good, 2, 1, 8), HasSubstr("runs 1 micro-batch, the training has 8; nearest: 1"));
    EXPECT_THAT(customRefusal("0F0,2F0,2B0,0B0\n1F0,1B0", 2, 2, 1), HasSubstr("every rank must hold equally many"));
    EXPECT_THAT(customRefusal("0F0,0Q0", 1, 1, 1), HasSubstr("line 1 (rank 0), cell 2"));
    EXPECT_THAT(customRefusal("0B0,0F0", 1, 1, 1), HasSubstr("0B0 on rank 0 comes before 0F0"));
}

TEST(ScheduleCsv, IsWrittenAPieceAtATime)
{
    /// What it is given, and the longest piece of it.
    struct Pieces : std::stringbuf {
        std::streamsize longest = 0;
        std::streamsize xsputn(const char* text, std::streamsize size) override
        {
            longest = std::max(longest, size);
            return std::stringbuf::xsputn(text, size);
        }
    } pieces;
    std::ostream out(&pieces);
    const sim::Schedule schedule = sim::makeSchedule({.kind = "1f1b", .ranks = 2, .microbatches = 100'000});
    sim::writeScheduleCsv(out, schedule);
    EXPECT_EQ(pieces.str(), sim::scheduleCsv(schedule));
    EXPECT_LT(pieces.longest, 100'000);
}

} // namespace
