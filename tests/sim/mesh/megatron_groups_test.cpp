// Exact against lists that Megatron Core's own initialize_model_parallel and RankGenerator made: groups, their order, members'
// order.
#include "sim/error.h"
#include "sim/mesh/subgroups.h"
#include "tests/sim/mesh/golden.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace {

using golden::Lists;
using nlohmann::json;
using sim::Mesh;
using sim::ProcessGroup;

/// The lists of each group of `whole` cut into levels, one after the other.
Lists cut(const Lists& whole, const std::vector<int>& sizes, int level)
{
    Lists all;
    for (const auto& members : whole)
        for (auto& part : sim::subgroups(members, sizes, level))
            all.push_back(std::move(part));
    return all;
}

/// Blocks of `size` neighbours in each group; level 1 is what crosses the blocks.
Lists blocks(const Mesh& mesh, ProcessGroup kind, int size, int level = 0)
{
    return cut(golden::lists(mesh, kind), {size, mesh.groupSize(kind) / size}, level);
}

/// Groups that Megatron Core makes beside the ones that have a name in ProcessGroup.
Lists derivedLists(const Mesh& mesh, const std::string& name, const json& input)
{
    const int instances = input.value("num_distributed_optimizer_instances", 1);
    const auto sizeOf = [&](ProcessGroup kind) { return mesh.groupSize(kind) / instances; };
    if (name == "intra_dist_opt")
        return sim::optimizerInstanceGroups(mesh, instances);
    if (name == "intra_dp_cp")
        return blocks(mesh, ProcessGroup::dp_cp, sizeOf(ProcessGroup::dp_cp));
    if (name == "intra_expt_dp")
        return blocks(mesh, ProcessGroup::expt_dp, sizeOf(ProcessGroup::expt_dp));
    if (name == "inter_dist_opt")
        return blocks(mesh, ProcessGroup::expt_dp, sizeOf(ProcessGroup::expt_dp), 1);
    if (name.starts_with("hcp_L"))
        return cut(golden::lists(mesh, ProcessGroup::cp), input.at("hierarchical_context_parallel_sizes"),
                   std::stoi(name.substr(5)));
    if (name.starts_with("hybrid_dp_cp_"))
        return blocks(mesh, ProcessGroup::dp_cp, std::stoi(name.substr(13)));
    ADD_FAILURE() << "unknown group " << name;
    return {};
}

std::map<std::string, int> named(const sim::Coordinates& at)
{
    return {{"tp", at.tp}, {"cp", at.cp},          {"dp", at.dp},         {"pp", at.pp},
            {"ep", at.ep}, {"expt_tp", at.exptTp}, {"expt_dp", at.exptDp}};
}

void expectCoordinates(const Mesh& mesh, const json& coords)
{
    for (const auto& [axis, values] : coords.items())
        for (int rank = 0; rank < mesh.worldSize(); ++rank)
            ASSERT_EQ(named(mesh.coordinates(rank)).at(axis), values.at(static_cast<std::size_t>(rank)))
                << axis << " of rank " << rank;
}

TEST(MegatronGroups, AreExactlyItsOwn)
{
    int files = 0;
    for (const std::string& name : golden::names("megatron_w")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const json& input = file.at("input");
        if (input.contains("gtp_remat_size"))
            continue; // not a key of ours: below, on a grid of its own
        const Mesh mesh(golden::layout(input));
        EXPECT_EQ(mesh.worldSize(), input.at("world_size"));
        int kinds = 0;
        for (const auto& [group, expected] : file.at("groups").items()) {
            const auto kind = sim::processGroupFromName(group);
            kinds += kind ? 1 : 0;
            EXPECT_EQ(kind ? golden::lists(mesh, *kind) : derivedLists(mesh, group, input), expected.get<Lists>()) << group;
        }
        EXPECT_EQ(kinds, sim::kProcessGroupCount);
        if (file.contains("coords"))
            expectCoordinates(mesh, file.at("coords"));
        ++files;
    }
    EXPECT_EQ(files, 30);
}

TEST(MegatronGroups, RematerialisationAxisIsOneMoreAxisOfTheGrid)
{
    const json file = golden::read("megatron_w16_tp2_cp1_ep1_pp2_gtp2");
    const sim::RankGrid dense({{"tp", 2}, {"gtp", 2}, {"cp", 1}, {"dp", 2}, {"pp", 2}});
    const sim::RankGrid expert({{"tp", 2}, {"ep", 1}, {"gtp", 1}, {"dp", 4}, {"pp", 2}});
    struct Entry {
        const sim::RankGrid& grid;
        std::vector<std::string> axes;
    };
    const std::map<std::string, Entry> entries = {
        {"gtp_remat", {dense, {"gtp"}}},
        {"dp_cp", {dense, {"dp", "cp"}}},
        {"dp", {dense, {"dp"}}},
        {"dp_gtp_remat", {dense, {"dp", "gtp"}}},
        {"dp_cp_gtp_remat", {dense, {"dp", "cp", "gtp"}}},
        {"cp", {dense, {"cp"}}},
        {"mp", {dense, {"tp", "gtp", "pp"}}},
        {"tp", {dense, {"tp"}}},
        {"pp", {dense, {"pp"}}},
        {"embd", {dense, {"pp"}}}, // two stages: both are ends
        {"tp_dp_cp", {dense, {"tp", "gtp", "dp", "cp"}}},
        {"tp_dp", {dense, {"tp", "gtp", "dp"}}},
        {"tp_cp", {dense, {"tp", "cp"}}},
        {"expt_gtp_remat", {expert, {"gtp"}}},
        {"ep", {expert, {"ep"}}},
        {"expt_tp", {expert, {"tp"}}},
        {"tp_ep", {expert, {"tp", "ep"}}},
        {"tp_ep_pp", {expert, {"tp", "ep", "pp"}}},
        {"tp_ep_pp_with_egtp_remat", {expert, {"tp", "ep", "gtp", "pp"}}},
        {"expt_dp", {expert, {"dp"}}},
    };
    std::map<std::string, Lists> expected = file.at("groups");
    Lists pipelineStarts = golden::lists(dense, {"pp"});
    for (auto& pipeline : pipelineStarts)
        pipeline.resize(1);
    EXPECT_EQ(pipelineStarts, expected.at("pos_embd"));
    EXPECT_EQ(Lists{golden::world(16)}, expected.at("intra_dist_opt"));
    EXPECT_EQ(entries.size() + 2, expected.size());
    for (const auto& [name, entry] : entries)
        EXPECT_EQ(golden::lists(entry.grid, entry.axes), expected.at(name)) << name;
    for (const char* axis : {"tp", "cp", "dp", "pp"})
        for (int rank = 0; rank < 16; ++rank)
            EXPECT_EQ(dense.coordinate(rank, dense.axisIndex(axis)),
                      file.at("coords").at(axis).at(static_cast<std::size_t>(rank)));
}

TEST(MegatronGroups, OfItsUnitTestOfTheRankGenerator)
{
    const std::map<std::string, ProcessGroup> kinds = {{"dp", ProcessGroup::dp},
                                                       {"dp_cp", ProcessGroup::dp_cp},
                                                       {"cp", ProcessGroup::cp},
                                                       {"mp", ProcessGroup::mp},
                                                       {"tp", ProcessGroup::tp},
                                                       {"pp", ProcessGroup::pp},
                                                       {"tp_dp", ProcessGroup::tp_dp},
                                                       {"tp_dp_cp", ProcessGroup::tp_dp_cp},
                                                       {"expt_tp_ep", ProcessGroup::tp_ep},
                                                       {"expt_dp", ProcessGroup::expt_dp}};
    // Its decoder order tp-cp-dp-pp and expert order tp-ep-dp-pp are the two sides of the one default order.
    const json full = golden::read("megatron_unit_test_rank_generator");
    for (const json& test : full.at("cases")) {
        const Mesh mesh(golden::layout(test.at("input")));
        for (const auto& [group, expected] : test.at("groups").items())
            EXPECT_EQ(golden::lists(mesh, kinds.at(group)), expected.get<Lists>()) << test.at("input") << group;
    }
    const json digests = golden::read("megatron_unit_test_rank_generator_digests");
    for (const json& test : digests.at("cases")) {
        const Mesh mesh(golden::layout(test.at("input")));
        for (const auto& [group, expected] : test.at("groups").items()) {
            const Lists lists = golden::lists(mesh, kinds.at(group));
            EXPECT_EQ(lists.size(), expected.at("count"));
            EXPECT_EQ(lists.front().size(), expected.at("size"));
            EXPECT_EQ(golden::digest(lists), expected.at("sha256")) << test.at("input") << group;
        }
    }
}

TEST(MegatronGroups, OfEveryMaskOfItsOrthogonalRule)
{
    const json table = golden::read("megatron_masked_orthogonal_table");
    EXPECT_EQ(table.at("cases").size(), 23U);
    for (const json& row : table.at("cases")) {
        std::vector<sim::RankGrid::AxisSize> axes;
        std::vector<std::string> inside;
        for (std::size_t i = 0; i < row.at("order").size(); ++i) {
            axes.push_back({row.at("order").at(i), row.at("sizes").at(i)});
            if (row.at("mask").at(i))
                inside.push_back(axes.back().name);
        }
        const sim::RankGrid grid(axes);
        EXPECT_EQ(grid.size(), row.at("world_size"));
        EXPECT_EQ(golden::lists(grid, inside), row.at("groups").get<Lists>()) << row.at("token");
        std::reverse(inside.begin(), inside.end());
        EXPECT_EQ(golden::lists(grid, inside), row.at("groups").get<Lists>()) << "the token's order does not matter";
    }
}

TEST(MegatronGroups, OfTheExamplesInItsDocumentationAndTests)
{
    int seen = 0;
    for (const json& example : golden::cases("megatron_literal_examples")) {
        const json& input = example.at("input");
        SCOPED_TRACE(example.at("where").get<std::string>());
        ++seen;
        if (input.contains("shape") || input.contains("sizes")) {
            const bool isShape = input.contains("shape");
            std::vector<sim::RankGrid::AxisSize> axes;
            const std::vector<int> sizes = input.at(isShape ? "shape" : "sizes");
            const std::vector<std::string> names =
                isShape ? input.at("dim_names").get<std::vector<std::string>>()
                        : std::vector<std::string>{"tp", sizes[1] == 3 ? "dp" : "pp", sizes[1] == 3 ? "pp" : "dp"};
            for (std::size_t i = 0; i < sizes.size(); ++i)
                axes.push_back({names[i], sizes[i]});
            const sim::RankGrid grid(axes);
            if (!isShape) {
                const Lists dp = golden::lists(grid, {"dp"});
                const json& groups = example.at("groups");
                if (groups.contains("dp")) {
                    EXPECT_EQ(dp, groups.at("dp").get<Lists>());
                } else {
                    EXPECT_EQ(dp[0], groups.at("dp_first").get<std::vector<int>>());
                    EXPECT_EQ(dp[1], groups.at("dp_second").get<std::vector<int>>());
                    EXPECT_EQ(dp[7], groups.at("dp_index7").get<std::vector<int>>());
                }
                continue;
            }
            Lists lists = golden::lists(grid, input.at("dims").get<std::vector<std::string>>());
            for (auto& ranks : lists)
                for (int& rank : ranks)
                    rank += input.value("rank_offset", 0);
            const Lists expected = example.at("groups").get<Lists>();
            // Unordered enumeration puts the first named axis slowest; what ends up in a process group is in the grid's order.
            const bool isRaw = example.at("where").get<std::string>().find("NOT reordered") != std::string::npos;
            EXPECT_EQ(lists, isRaw ? golden::sorted(expected) : expected);
        } else if (input.contains("hierarchical_group_sizes")) {
            const std::vector<int> sizes = input.at("hierarchical_group_sizes");
            for (int level = 0; level < static_cast<int>(sizes.size()); ++level)
                EXPECT_EQ(sim::subgroups(golden::world(input.at("ranks")), sizes, level),
                          example.at("groups").at("L" + std::to_string(level)).get<Lists>());
        } else if (input.contains("orders")) {
            // One data-parallel rank: stages two apart, whatever the order.
            for (const json& order : input.at("orders")) {
                json one = input;
                one["order"] = order;
                const Mesh mesh(golden::layout(one));
                for (int rank = 0; rank < 8; ++rank) {
                    const int group = mesh.groupOf(ProcessGroup::pp, rank);
                    const int index = mesh.indexInGroup(ProcessGroup::pp, rank);
                    EXPECT_EQ(mesh.member(ProcessGroup::pp, group, 0), rank % 2);
                    EXPECT_EQ(mesh.member(ProcessGroup::dp, mesh.groupOf(ProcessGroup::dp, rank), 0), rank);
                    EXPECT_EQ(mesh.member(ProcessGroup::pp, group, (index + 1) % 4), (rank + 2) % 8);
                    EXPECT_EQ(mesh.member(ProcessGroup::pp, group, (index + 3) % 4), (rank + 6) % 8);
                }
            }
        } else {
            const Mesh mesh(golden::layout(input));
            for (const auto& [group, expected] : example.at("groups").items())
                EXPECT_EQ(golden::lists(mesh, *sim::processGroupFromName(group)), expected.get<Lists>()) << group;
        }
    }
    EXPECT_EQ(seen, 11);
}

/// Layouts that Megatron Core refuses are refused, each with the numbers that its own message holds.
TEST(MegatronGroups, RefuseWhatItRefuses)
{
    const auto refusal = [](const std::string& name) -> std::string {
        const json input = golden::read("megatron_error_" + name).at("input");
        try {
            const Mesh mesh(golden::layout(input));
            sim::optimizerInstanceGroups(mesh, input.at("num_distributed_optimizer_instances"));
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "accepted";
    };
    using testing::PrintToString;
    const auto contains = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
    };
    EXPECT_TRUE(contains(refusal("w16_tp2_cp1_ep8_pp2"), "2 x 8 x 2 = 32"));
    EXPECT_TRUE(contains(refusal("w16_tp2_cp1_ep8_pp2"), "world size 16"));
    EXPECT_TRUE(contains(refusal("w16_tp2_cp1_ep8_pp2"), "etp is 2 like tp, its default; what fits: etp 1"));
    EXPECT_TRUE(contains(refusal("w16_tp2_cp2_ep1_pp2_tp-cp-ep-pp-dp"), "tp x cp = 2 x 2 leaves dp 2"));
    EXPECT_TRUE(contains(refusal("w16_tp2_cp2_ep1_pp2_tp-cp-ep-pp-dp"), "put pp last"));
    EXPECT_TRUE(contains(refusal("w8_tp2_cp1_ep1_pp2_ndo4"), "4 copies of the sharded optimizer do not divide dp x cp = 2"));
    EXPECT_TRUE(contains(refusal("w8_tp2_cp1_ep1_pp2_tp-dp"), "order \"tp-dp\" has no place for pp, which is 2"));

    // tp 3 of 8 GPUs: here the world is the product, so no dp makes 8.
    sim::Layout layout = golden::layout(golden::read("megatron_error_w8_tp3_cp1_ep1_pp1").at("input"));
    for (layout.dp = 1; layout.dp <= 8; ++layout.dp)
        EXPECT_NE(Mesh(layout).worldSize(), 8);
}

} // namespace
