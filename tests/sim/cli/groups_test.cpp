// `groups` against the lists that Megatron Core's own code made.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <numeric>

namespace {

using nlohmann::json;
using test::run;
using test::runJson;
using testing::HasSubstr;

std::vector<std::filesystem::path> goldenFiles(const std::string& start)
{
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_TEST_DATA "/groups"))
        if (entry.path().filename().string().starts_with(start))
            found.push_back(entry.path());
    return found;
}

/// A job whose model suits any layout of the golden files.
std::string scenarioFor(const json& input)
{
    const int tp = input.value("tp", 1), cp = input.value("cp", 1), pp = input.value("pp", 1), ep = input.value("ep", 1);
    const int world = input.at("world_size");
    json layout{{"tp", tp}, {"cp", cp}, {"pp", pp}, {"ep", ep}, {"dp", world / (tp * cp * pp)}, {"sequence_parallel", tp > 1}};
    if (input.value("etp_given", false))
        layout["etp"] = input.at("etp");
    if (input.contains("order"))
        layout["order"] = input.at("order");
    json model{{"num_hidden_layers", 24},   {"hidden_size", 2048}, {"intermediate_size", 8192},      {"num_attention_heads", 64},
               {"num_key_value_heads", 64}, {"vocab_size", 32000}, {"max_position_embeddings", 4096}};
    if (ep > 1)
        model.update({{"num_experts", 64}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 2048}});
    const json scenario{{"format", "rankscope-scenario"},
                        {"version", 1},
                        {"model", model},
                        {"cluster", {{"base", "h100-sxm-ib400"}, {"nodes", (world + 7) / 8}}},
                        {"layout", layout},
                        {"schedule", {{"kind", "1f1b"}}},
                        {"training", {{"sequence_length", 4096}, {"global_batch_size", 5040 * 16}}}};
    return test::write("groups.json", scenario.dump());
}

TEST(Groups, AreMegatronCoresInItsOrder)
{
    const auto files = goldenFiles("megatron_w");
    ASSERT_GT(files.size(), 20U);
    for (const auto& file : files) {
        SCOPED_TRACE(file.filename().string());
        const json golden = json::parse(test::read(file));
        if (golden.at("input").contains("gtp_remat_size"))
            continue; // an axis that layouts do not have
        const json ours = runJson("groups --json " + scenarioFor(golden.at("input")));
        if (HasFailure())
            return;
        EXPECT_EQ(ours.at("world_size"), golden.at("input").at("world_size"));
        int compared = 0;
        for (const auto& [name, groups] : ours.at("groups").items())
            if (golden.at("groups").contains(name)) {
                EXPECT_EQ(groups, golden.at("groups").at(name)) << name;
                ++compared;
            }
        EXPECT_EQ(compared, 16);
    }
}

TEST(Groups, RefuseWhatMegatronCoreRefuses)
{
    int refused = 0;
    for (const auto& file : goldenFiles("megatron_error_")) {
        const json golden = json::parse(test::read(file));
        const json& input = golden.at("input");
        if (input.value("num_distributed_optimizer_instances", 1) > 1 || input.contains("virtual_pipeline_model_parallel_size"))
            continue; // not a matter of groups here
        const test::Outcome outcome = run("groups --json " + scenarioFor(input));
        EXPECT_EQ(outcome.code, 1) << file;
        EXPECT_THAT(outcome.out, testing::IsEmpty());
        EXPECT_THAT(outcome.err, HasSubstr("/layout"));
        ++refused;
    }
    EXPECT_GE(refused, 3);
}

TEST(Groups, OfARankAgreeWithTheWhole)
{
    const std::string file = test::gallery("54-"); // DeepSeek-V3: both grids in use
    const json whole = runJson("groups --json " + file);
    for (const int rank : {0, 77, 2047}) {
        const json own = runJson("groups --json --rank " + std::to_string(rank) + " " + file);
        EXPECT_EQ(own.at("rank"), rank);
        EXPECT_EQ(own.at("coordinates").at("pp"), rank / 128);
        EXPECT_EQ(own.at("coordinates").at("dp"), rank % 128);
        EXPECT_EQ(own.at("expert_coordinates").at("ep"), rank % 64);
        EXPECT_EQ(own.at("node"), rank / 8);
        for (const auto& [kind, members] : own.at("groups").items()) {
            EXPECT_THAT(members.get<std::vector<int>>(), testing::Contains(rank)) << kind;
            EXPECT_THAT(whole.at("groups").at(kind).get<std::vector<std::vector<int>>>(),
                        testing::Contains(members.get<std::vector<int>>()))
                << kind;
        }
    }
}

TEST(Groups, OfSixteenThousandRanksAreAllThere)
{
    const json groups = runJson("groups --json " + test::gallery("42-")).at("groups");
    EXPECT_EQ(groups.size(), 16U);
    for (const char* kind : {"tp", "dp", "pp", "expt_dp"}) {
        std::vector<int> seen(16384, 0);
        for (const json& group : groups.at(kind))
            for (const int rank : group)
                ++seen[static_cast<std::size_t>(rank)];
        EXPECT_THAT(seen, testing::Each(1)) << kind << " holds every rank once";
    }
}

TEST(Groups, NameTheRanksThereAre)
{
    const test::Outcome outcome = run("groups --rank 16 " + test::gallery("09-"));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("0 to 15"));
}

TEST(Groups, SpeakToPeople)
{
    const std::string all = run("groups " + test::gallery("54-")).out;
    EXPECT_THAT(all, HasSubstr("2,048 ranks"));
    EXPECT_THAT(all, HasSubstr("[0 128 256 ... 1920]"));
    EXPECT_THAT(all, HasSubstr("[0-63] [64-127] [128-191] ..."));
    const std::string one = run("groups --rank 7 " + test::gallery("09-")).out;
    EXPECT_THAT(one, HasSubstr("rank 7: tp 1, cp 1, dp 0, pp 1; GPU 7 of node 0"));
    EXPECT_THAT(one, HasSubstr("[2 3 6 7]"));
}

TEST(GroupsCommand, OfAVHaveBothEndsOfTheModelOnOneRank)
{
    const std::string file = test::gallery("05-"); // tp 4, pp 2, dp 2
    EXPECT_EQ(runJson("groups --json " + file).at("groups").at("embd").front(), json({0, 8}));
    const json folded = runJson("groups --json " + file + " --set schedule.kind=zb-v").at("groups");
    EXPECT_EQ(folded.at("embd"), json({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
    EXPECT_EQ(folded.at("pp"), runJson("groups --json " + file).at("groups").at("pp"));
}

} // namespace
