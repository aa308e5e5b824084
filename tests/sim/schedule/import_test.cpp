// Files of other programs: what is read, in which dialect, what is refused, and that what is written is read back the same.
#include "sim/schedule/text/import.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/text/csv.h"
#include "sim/schedule/text/export.h"
#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/oracle.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace {

using sim::Action;
using sim::ActionKind;
using sim::ImportedSchedule;
using sim::importSchedule;
using sim::Schedule;
using sim::ScheduleFormat;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(const std::string& text, ScheduleFormat format = ScheduleFormat::automatic)
{
    return test::refusalOf([&] { importSchedule(text, format); });
}

std::string lines(const std::vector<std::string>& all)
{
    std::string text;
    for (const std::string& line : all)
        text += line + "\n";
    return text;
}

bool mixesBackwards(const Schedule& schedule)
{
    bool whole = false;
    bool split = false;
    for (const auto& actions : schedule.actions)
        for (const Action& action : actions) {
            whole = whole || action.kind == ActionKind::backward;
            split = split || action.kind == ActionKind::backwardInput;
        }
    return whole && split;
}

template <class Visit>
int forEveryGolden(Visit&& visit)
{
    int visited = 0;
    for (const std::string& name : golden::names())
        for (const golden::Case& golden : golden::cases(name)) {
            SCOPED_TRACE(golden.id);
            visited += visit(golden::schedule(golden)) ? 1 : 0;
        }
    return visited;
}

TEST(ImportSchedule, TellsPyTorchsDialectsApart)
{
    const ImportedSchedule now = importSchedule(golden::readFile("schedules/pytorch_csv/zb1p_2rank_2stagep_compute.csv"));
    EXPECT_EQ(now.format, ScheduleFormat::pytorch);
    EXPECT_FALSE(now.communication.has_value());
    const std::string artifact = golden::readFile("schedules/pytorch_csv/legacy_zb1p_2rank_2stagep_compute_15380b18.csv");
    const ImportedSchedule legacy = importSchedule(artifact);
    EXPECT_EQ(legacy.format, ScheduleFormat::pytorch2024);
    EXPECT_EQ(legacy.schedule, now.schedule);
    EXPECT_THAT(sim::checkSchedule(legacy.schedule), IsEmpty());
    EXPECT_EQ(importSchedule(artifact, ScheduleFormat::pytorch2024).schedule, now.schedule);
    // Asked to read it as today's, every weight gradient comes twice.
    EXPECT_THAT(sim::checkSchedule(importSchedule(artifact, ScheduleFormat::pytorch).schedule),
                testing::Contains("2W0 on rank 0 comes after 2B0, which already contains it"));

    EXPECT_EQ(importSchedule("0F0,0BW0\n").format, ScheduleFormat::pytorch2024);
    EXPECT_EQ(importSchedule("0F0,0BW0\n").schedule, importSchedule("0F0,0B0\n").schedule);
    EXPECT_EQ(importSchedule("0F0,0B0\n").format, ScheduleFormat::pytorch);
    EXPECT_EQ(importSchedule("0F0,0B0\n", ScheduleFormat::pytorch2024).schedule, importSchedule("0F0,0B0\n").schedule)
        << "without W and BW, B is the whole backward in both";
    EXPECT_EQ(golden::text(importSchedule("0F0,0F1,0BW0,0B1,0W1\n").schedule.actions[0]), "0F0 0F1 0B0 0I1 0W1");
}

TEST(ImportSchedule, RefusesMixedDialects)
{
    EXPECT_THAT(refusal("0F0,0BW0\n1F0,1I0,1W0\n"),
                AllOf(HasSubstr("line 1 (rank 0), cell 2: \"0BW0\" is in the dialect of 2024, but line 2, cell 2 \"1I0\""),
                      HasSubstr("in 2024 B was the input gradient and BW the full backward")));
    EXPECT_THAT(refusal("0F0,0BW0\n", ScheduleFormat::pytorch), HasSubstr("cell 2: \"0BW0\" is in the dialect of 2024"));
    EXPECT_THAT(refusal("0F0,0I0,0W0\n", ScheduleFormat::pytorch2024),
                HasSubstr("cell 2: \"0I0\" is in today's dialect, not in that of 2024"));
    EXPECT_THAT(refusal("0F0,0F1,(0F2;0B0)OVERLAP_F_B,0W0\n"), HasSubstr("which is BW in the dialect of 2024"));
}

TEST(ImportSchedule, ReadsCommunication)
{
    const ImportedSchedule imported = importSchedule(golden::readFile("schedules/pytorch_csv/zb1p_2rank_2stagep_comms.csv"));
    ASSERT_TRUE(imported.communication.has_value());
    EXPECT_EQ(imported.communication->schedule, imported.schedule);
    EXPECT_EQ(imported.schedule.microbatches, 8);
    EXPECT_THAT(sim::checkCommunication(*imported.communication), IsEmpty());
    EXPECT_EQ(sim::pytorchCommsCsv(*imported.communication),
              golden::readFile("schedules/pytorch_csv/zb1p_2rank_2stagep_comms.csv"));
    const ImportedSchedule sharded = importSchedule("0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n");
    ASSERT_TRUE(sharded.communication.has_value());
    EXPECT_EQ(sim::pytorchCommsCsv(*sharded.communication), "0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n");
    EXPECT_THAT(refusal("0F0,0UNSHARD1\n"),
                HasSubstr("cell 2: \"0UNSHARD1\" names a micro-batch, but is of a whole stage; write 0UNSHARD"));
    EXPECT_THAT(refusal("0F0,0SEND_F\n"), HasSubstr("\"0SEND_F\" has no micro-batch; write 0SEND_F0"));
}

TEST(ImportSchedule, ReadsMegatronsOrder)
{
    // The order that Megatron itself prints for each rank, whose micro-batches follow by counting.
    int orders = 0;
    for (const golden::Case& golden : golden::cases("megatron_interleaved")) {
        if (golden.chunkOrder.empty())
            continue;
        SCOPED_TRACE(golden.id);
        const ImportedSchedule imported = importSchedule(lines(golden.chunkOrder));
        EXPECT_EQ(imported.format, ScheduleFormat::megatron);
        EXPECT_EQ(imported.schedule, golden::schedule(golden));
        EXPECT_EQ(sim::megatronOrder(imported.schedule), lines(golden.chunkOrder));
        ++orders;
    }
    EXPECT_GT(orders, 5);
    EXPECT_EQ(golden::text(importSchedule("1 1 -1 -1.5 -1 -1.5\n").schedule.actions[0]), "0F0 0F1 0I0 0W0 0I1 0W1");
    EXPECT_EQ(importSchedule("1,2,-2,-1\n").schedule.stageToRank, (std::vector<int>{0, 0})) << "commas are as good";
    EXPECT_THAT(sim::checkSchedule(importSchedule("1 1 -1 -1.5 -1\n").schedule),
                testing::ElementsAre("stage 0 on rank 0 misses the weight gradient (W) of micro-batch 1"));
    EXPECT_THAT(refusal("1 -1\n0 -1\n"), HasSubstr("line 2 (rank 1), cell 1: \"0\" names chunk 0; they count from 1"));
    EXPECT_THAT(refusal("1 -1.25\n"), HasSubstr("cell 2: \"-1.25\" is not a chunk"));
    EXPECT_THAT(refusal("1 1.5\n"), HasSubstr("cell 2: \"1.5\" is not a chunk"));
    EXPECT_THAT(refusal("1 x\n"), HasSubstr("cell 2: \"x\" is not a chunk"));
    EXPECT_THAT(refusal("3 -3\n"), HasSubstr("stage 2, but there are only 2 actions"));
    EXPECT_THAT(refusal("2147483647 -1\n1 -1\n"), HasSubstr("number too large"));
}

TEST(ImportSchedule, ReadsSailsStrings)
{
    const ImportedSchedule line = importSchedule("f0 f1 b0 w0 b1 w1\nf0 b0 f1 w0 b1 w1\n");
    EXPECT_EQ(line.format, ScheduleFormat::sail);
    EXPECT_EQ(golden::text(line.schedule.actions[0]), "0F0 0F1 0I0 0W0 0I1 0W1");
    EXPECT_EQ(golden::text(importSchedule("f0 b0\n").schedule.actions[0]), "0F0 0B0") << "nothing is split without a w";
    const Schedule vee = importSchedule("f0 F0 B0 b0\nf0 F0 B0 b0\n").schedule;
    EXPECT_EQ(vee.stageToRank, (std::vector<int>{0, 1, 1, 0}));
    EXPECT_EQ(golden::text(vee.actions[0]), "0F0 3F0 3B0 0B0");
    // Sail's interleaved 1F1B can only run in a loop.
    sim::ScheduleRequest request{.kind = "interleaved-1f1b", .ranks = 2, .virtualStages = 2, .microbatches = 4};
    const Schedule loop = sim::makeSchedule(request);
    EXPECT_EQ(importSchedule(sim::sailStrings(loop)).schedule.stageToRank, loop.stageToRank);

    const ImportedSchedule sent = importSchedule("f0 sf0 rb0 b0\nrf0 f0 b0 sb0\n");
    ASSERT_TRUE(sent.communication.has_value());
    EXPECT_EQ(sim::pytorchCommsCsv(*sent.communication), "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
    EXPECT_THAT(refusal("f0 b0 pv0\n"), HasSubstr("cell 3: \"pv0\" is the optimizer's post-validation"));
    EXPECT_THAT(refusal("f0 Bw0\n"), HasSubstr("cell 2: \"Bw0\" is not an action"));
    EXPECT_THAT(refusal("f0 Sf0\n"), HasSubstr("cell 2: \"Sf0\" is not an action"));
    EXPECT_THAT(refusal("f0 b\n"), HasSubstr("cell 2: \"b\" is not an action"));
}

TEST(ImportSchedule, NamesTheFormatsItKnows)
{
    EXPECT_THAT(refusal("#0\n"), AllOf(HasSubstr("line 1 (rank 0), cell 1"), HasSubstr("1 1 -1 -1"), HasSubstr("f0 b0")));
    EXPECT_THAT(refusal(""), HasSubstr("the schedule is empty"));
    EXPECT_THAT(refusal("\n", ScheduleFormat::megatron), HasSubstr("the schedule is empty"));
    EXPECT_THAT(refusal("f0 b0\n\nf0 b0\n"), HasSubstr("line 2 (rank 1) has no actions"));
    EXPECT_THAT(refusal("1 -1\n", ScheduleFormat::sail), HasSubstr("\"1\" is not an action"));
}

TEST(ExportSchedule, PyTorchsParserTakesEveryCell)
{
    // PyTorch's _action_regex, here for whole cells; blocks hold two such actions.
    const std::regex now(R"((\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*))");
    const std::regex block(R"(\(([^;()]+);([^;()]+)\)OVERLAP_F_B)");
    const int written = forEveryGolden([&](const Schedule& schedule) {
        if (schedule.slices > 1 || schedule.chains > 1)
            return false;
        const std::string csv = sim::pytorchCsv(schedule) + sim::pytorchCommsCsv(sim::lowerCommunication(schedule));
        for (std::size_t begin = 0; begin < csv.size();) {
            const std::size_t end = csv.find_first_of(",\n", begin);
            const std::string cell = csv.substr(begin, end - begin);
            std::smatch parts;
            const bool taken = std::regex_match(cell, parts, block)
                                   ? std::regex_match(parts[1].str(), now) && std::regex_match(parts[2].str(), now)
                                   : std::regex_match(cell, now);
            EXPECT_TRUE(taken) << cell;
            begin = end + 1;
        }
        return true;
    });
    EXPECT_GT(written, 100);
}

TEST(ExportSchedule, IsReadBackTheSameInEveryFormat)
{
    const auto expectSame = [](const Schedule& schedule, const std::string& text, ScheduleFormat format) {
        EXPECT_EQ(importSchedule(text, format).schedule, schedule) << text;
        return true;
    };
    const int now = forEveryGolden([&](const Schedule& schedule) {
        return schedule.slices == 1 && schedule.chains == 1 &&
               expectSame(schedule, sim::pytorchCsv(schedule), ScheduleFormat::automatic);
    });
    const int legacy = forEveryGolden([&](const Schedule& schedule) {
        return schedule.slices == 1 && schedule.chains == 1 &&
               expectSame(schedule, sim::pytorchCsv(schedule, ScheduleFormat::pytorch2024), ScheduleFormat::automatic) &&
               importSchedule(sim::pytorchCsv(schedule, ScheduleFormat::pytorch2024)).format == ScheduleFormat::pytorch2024;
    });
    EXPECT_EQ(legacy, now);
    const int communicating = forEveryGolden([&](const Schedule& schedule) {
        if (schedule.slices > 1 || schedule.chains > 1)
            return false;
        const sim::CommSchedule lowered = sim::lowerCommunication(schedule, {.reduceGradients = true});
        EXPECT_EQ(importSchedule(sim::pytorchCommsCsv(lowered)).communication, lowered);
        return true;
    });
    EXPECT_EQ(communicating, now);
    const auto inOwnOrder = [&](auto write) {
        return forEveryGolden([&](const Schedule& schedule) {
            std::string text;
            const std::string problem = test::refusalOf([&] { text = write(schedule); });
            return problem == "accepted" && expectSame(schedule, text, ScheduleFormat::automatic);
        });
    };
    EXPECT_GT(inOwnOrder(sim::megatronOrder), 60);
    EXPECT_GT(inOwnOrder(sim::sailStrings), 60);
}

TEST(ExportSchedule, SaysWhatAFormatCannotExpress)
{
    const auto make = [](const char* kind, int ranks, int chunks, int microbatches, int slices = 1) {
        return sim::makeSchedule(
            {.kind = kind, .ranks = ranks, .virtualStages = chunks, .microbatches = microbatches, .slices = slices});
    };
    const Schedule sliced = make("seq-1f1b", 2, 1, 2, 4);
    const Schedule mirrored = make("dualpipe", 4, 2, 8);
    const Schedule blocks = make("dualpipe-v", 2, 2, 4);
    const Schedule reversed = make("looped-bfs", 2, 2, 3);
    const Schedule mixed = sim::parseScheduleCsv("0F0,0F1,0B0,0I1,0W1\n");
    ASSERT_TRUE(mixesBackwards(mixed));
    EXPECT_THAT(test::refusalOf([&] { sim::pytorchCsv(sliced); }), HasSubstr("no word for the 4 slices"));
    EXPECT_THAT(test::refusalOf([&] { sim::pytorchCommsCsv(sim::lowerCommunication(sliced)); }),
                HasSubstr("no word for the 4 slices"));
    EXPECT_THAT(test::refusalOf([&] { sim::pytorchCsv(mirrored); }), HasSubstr("2 copies of the model"));
    EXPECT_THAT(test::refusalOf([&] { sim::megatronOrder(sliced); }), HasSubstr("slices"));
    EXPECT_THAT(test::refusalOf([&] { sim::megatronOrder(blocks); }),
                HasSubstr("stage 2 lives on rank 0; in \"dualpipe-v\" it lives on rank 1"));
    EXPECT_THAT(test::refusalOf([&] { sim::megatronOrder(reversed); }), HasSubstr("would be read as micro-batch 0, but is 2B2"));
    EXPECT_THAT(test::refusalOf([&] { sim::megatronOrder(mixed); }),
                HasSubstr("the whole backward 0B0 from the input gradient 0I1"));
    EXPECT_THAT(test::refusalOf([&] { sim::sailStrings(mixed); }),
                HasSubstr("the whole backward 0B0 from the input gradient 0I1: split all"));
    EXPECT_THAT(test::refusalOf([&] { sim::sailStrings(blocks); }), HasSubstr("overlapped block"));
    EXPECT_THAT(test::refusalOf([&] { sim::sailStrings(make("interleaved-1f1b", 4, 3, 8)); }), HasSubstr("has 3"));
}

TEST(ImportSchedule, SurvivesAnyText)
{
    std::mt19937 random(41);
    constexpr std::string_view kLetters = "0123456789FBIWfbiwsr,,,\n\n  \" ().-_;OVERLAPSENDUH\r\t\xFF";
    const std::vector<std::vector<std::string>> words = {
        {"0F0", "0B0", "0I0", "0W0", "0BW0", "1F0", "1B0", "0SEND_F0", "1RECV_F0", "1SEND_B0", "0RECV_B0", "0UNSHARD",
         "(0F1;0B0)OVERLAP_F_B", "0F1.1", "\n", ","},
        {"1", "-1", "-1.5", "2", "-2", "99999999999", "0", "\n", " "},
        {"f0", "b0", "w0", "F0", "B0", "W0", "sf0", "rf0", "SB0", "f1", "b1", "\n", " "}};
    const std::array<ScheduleFormat, 5> formats = {ScheduleFormat::automatic, ScheduleFormat::pytorch,
                                                   ScheduleFormat::pytorch2024, ScheduleFormat::megatron, ScheduleFormat::sail};
    int accepted = 0;
    int ran = 0;
    for (int round = 0; round < 12000; ++round) {
        std::string text;
        const std::size_t source = random() % (words.size() + 1);
        const char* const between = source == 0 ? "," : " ";
        for (std::size_t length = random() % 12; length > 0; --length)
            if (source < words.size())
                text += words[source][random() % words[source].size()] + between;
            else
                text += kLetters[random() % kLetters.size()];
        try {
            const ImportedSchedule imported = importSchedule(text, formats[random() % formats.size()]);
            ++accepted;
            const bool sound = sim::checkSchedule(imported.schedule).empty();
            if (imported.communication && sim::checkCommunication(*imported.communication).empty()) {
                EXPECT_TRUE(sound) << text;
            }
            if (sound) {
                ++ran;
                EXPECT_THAT(sim::checkCommunication(sim::lowerCommunication(imported.schedule)), IsEmpty()) << text;
            } else {
                EXPECT_THROW(sim::lowerCommunication(imported.schedule), sim::Error) << text;
            }
        } catch (const sim::Error& error) {
            EXPECT_STRNE(error.what(), "");
        }
    }
    EXPECT_GT(accepted, 300);
    EXPECT_GT(ran, 3);
    for (const char letter : {'(', ',', '9', 'f', '-', ' ', '\n', '"'})
        for (const ScheduleFormat format : formats)
            EXPECT_LT(refusal(std::string(300'000, letter), format).size(), 400U) << letter;
}

} // namespace
