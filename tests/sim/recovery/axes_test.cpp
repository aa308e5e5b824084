// Grids that frameworks made themselves: their groups in, their axes out, with names and without.
#include "sim/recovery/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

namespace {

using nlohmann::json;

std::vector<std::filesystem::path> goldens(const std::string& prefix)
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_TEST_DATA "/groups"))
        if (entry.path().filename().string().starts_with(prefix))
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// Megatron Core's descriptions of the groups that the goldens list.
const std::map<std::string, std::string> kMegatronDescriptions{
    {"tp", "TENSOR_MODEL_PARALLEL_GROUP"},
    {"cp", "CONTEXT_PARALLEL_GROUP"},
    {"dp", "DATA_PARALLEL_GROUP"},
    {"dp_cp", "DATA_PARALLEL_GROUP_WITH_CP"},
    {"pp", "PIPELINE_MODEL_PARALLEL_GROUP"},
    {"mp", "MODEL_PARALLEL_GROUP"},
    {"embd", "EMBEDDING_GROUP"},
    {"pos_embd", "POSITION_EMBEDDING_GROUP"},
    {"tp_cp", "TENSOR_AND_CONTEXT_PARALLEL_GROUP"},
    {"tp_dp", "TENSOR_AND_DATA_PARALLEL_GROUP"},
    {"tp_dp_cp", "TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP"},
    {"ep", "EXPERT_MODEL_PARALLEL_GROUP"},
    {"expt_tp", "EXPERT_TENSOR_PARALLEL_GROUP"},
    {"expt_dp", "EXPERT_DATA_PARALLEL_GROUP"},
    {"tp_ep", "EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP"},
    {"tp_ep_pp", "EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP"},
    {"intra_dist_opt", "INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP"},
    {"inter_dist_opt", "INTER_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP"},
    {"intra_dp_cp", "INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP"},
    {"intra_expt_dp", "INTRA_EXPERT_DATA_PARALLEL_GROUP"},
    {"gtp_remat", "GTP_REMAT_PARALLEL_GROUP"},
};

std::vector<sim::KnownGroup> groupsOf(const json& golden, bool withNames)
{
    std::vector<sim::KnownGroup> groups;
    for (const auto& [key, lists] : golden["groups"].items()) {
        std::string description;
        if (golden["framework"] == "megatron-core") {
            const auto known = kMegatronDescriptions.find(key);
            description = known != kMegatronDescriptions.end() ? known->second : "HIERARCHICAL_CONTEXT_PARALLEL_GROUPS_" + key;
        } else {
            description = "mesh_" + key;
        }
        for (const json& list : lists) {
            auto ranks = list.get<std::vector<int>>();
            std::sort(ranks.begin(), ranks.end());
            groups.push_back({.name = std::to_string(groups.size()),
                              .description = withNames ? description : "undefined",
                              .ranks = std::move(ranks),
                              .evidence = {},
                              .carried = {}});
        }
    }
    return groups;
}

std::vector<int> everyRank(int world)
{
    std::vector<int> ranks(static_cast<std::size_t>(world));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

sim::RecoveredAxes recovered(const json& golden, bool withNames)
{
    const int world = golden["input"]["world_size"];
    return sim::recoverAxes(groupsOf(golden, withNames), world, everyRank(world));
}

/// Size and stride by name, from the golden's own groups of one axis.
std::map<std::string, sim::Digit> trueAxes(const json& golden)
{
    std::map<std::string, sim::Digit> axes;
    for (const char* name : {"tp", "cp", "dp", "pp", "ep", "dp_replicate", "dp_shard"})
        if (golden["groups"].contains(name) && golden["groups"][name][0].size() > 1) {
            const json& first = golden["groups"][name][0];
            axes[name] = {first[1].get<int>() - first[0].get<int>(), static_cast<int>(first.size())};
        }
    return axes;
}

json read(const std::filesystem::path& file)
{
    std::ifstream in(file);
    return json::parse(in);
}

TEST(RecoveredAxes, AreMegatronsWhereItsGroupsAreDescribed)
{
    int files = 0;
    for (const auto& file : goldens("megatron_w")) {
        SCOPED_TRACE(file.filename());
        const json golden = read(file);
        const sim::RecoveredAxes result = recovered(golden, true);
        auto axes = trueAxes(golden);
        for (const char* name : {"tp", "cp", "dp", "pp", "ep"}) {
            const sim::Digit expected = axes.contains(name) ? axes[name] : sim::Digit{1, 1};
            EXPECT_EQ(result.sizeOf(name), expected.size) << name;
            if (expected.size == 1)
                continue;
            ASSERT_NE(result.find(name), nullptr) << name;
            EXPECT_EQ(result.find(name)->stride, expected.stride) << name;
            EXPECT_EQ(result.find(name)->parts.size(), 1U) << name;
            EXPECT_GT(result.find(name)->sure, 0.9) << name;
            for (const json& group : golden["groups"][name])
                for (std::size_t i = 0; i < group.size(); ++i)
                    EXPECT_EQ(sim::RecoveredAxes::coordinate(*result.find(name), group[i]), static_cast<int>(i));
        }
        ++files;
    }
    EXPECT_EQ(files, 31);
}

TEST(RecoveredAxes, AreTheMeshsWhereItNamesItsDimensions)
{
    int files = 0;
    for (const auto& file : goldens("devicemesh")) {
        SCOPED_TRACE(file.filename());
        const json golden = read(file);
        const sim::RecoveredAxes result = recovered(golden, true);
        auto axes = trueAxes(golden);
        for (const char* name : {"tp", "cp", "pp"})
            EXPECT_EQ(result.sizeOf(name), axes.contains(name) ? axes[name].size : 1) << name;
        int data = 1;
        for (const char* part : {"dp", "dp_replicate", "dp_shard"})
            data *= axes.contains(part) ? axes[part].size : 1;
        EXPECT_EQ(result.sizeOf("dp"), data);
        const int coordinateParts = axes.contains("dp_shard") ? 2 : 0;
        EXPECT_EQ(result.find("dp")->partNames.size(), static_cast<std::size_t>(coordinateParts));
        ++files;
    }
    EXPECT_EQ(files, 4);
}

/// Dense axes as (stride, size), by stride.
std::vector<sim::Digit> denseDigits(const std::map<std::string, sim::Digit>& axes)
{
    std::vector<sim::Digit> digits;
    for (const auto& [name, digit] : axes)
        if (name != "ep")
            digits.push_back(digit);
    std::sort(digits.begin(), digits.end());
    return digits;
}

TEST(RecoveredAxes, HaveTheRightSizesWithoutNamesWhereNoGroupSplitsAnAxis)
{
    int exact = 0, files = 0;
    std::vector<std::string> others;
    for (const std::string prefix : {"megatron_w", "devicemesh"})
        for (const auto& file : goldens(prefix)) {
            const json golden = read(file);
            const sim::RecoveredAxes result = recovered(golden, false);
            std::vector<sim::Digit> digits;
            for (const sim::RecoveredAxis& axis : result.axes) {
                digits.push_back({axis.stride, axis.size});
                EXPECT_EQ(axis.name, "");
            }
            if (digits == denseDigits(trueAxes(golden)))
                ++exact;
            else
                others.push_back(file.stem().string());
            ++files;
        }
    EXPECT_EQ(files, 35);
    EXPECT_EQ(exact, 30);
    // Whether ranks 4 apart are an axis, or a level, an instance or an expert's part of one, only names tell.
    EXPECT_THAT(others, testing::ElementsAre("megatron_w16_tp1_cp16_ep1_pp1_hcp2x2x4", "megatron_w16_tp2_cp1_ep1_pp2_gtp2",
                                             "megatron_w16_tp2_cp1_ep1_pp2_ndo2", "megatron_w16_tp4_cp1_ep4_pp1_etp2",
                                             "megatron_w8_tp1_cp8_ep1_pp1_hcp2x4"));
}

} // namespace

namespace {

TEST(RecoveredAxes, AreNotMisledByTheGroupOfTheWholeWorld)
{
    // tp named, dp named, and a default group that sums something before any backward.
    std::vector<sim::KnownGroup> groups;
    for (const std::vector<int>& ranks : {std::vector<int>{0, 1}, {2, 3}, {4, 5}, {6, 7}})
        groups.push_back({.name = "1", .description = "mesh_tp", .ranks = ranks, .evidence = {}, .carried = {}});
    for (const std::vector<int>& ranks : {std::vector<int>{0, 2, 4, 6}, {1, 3, 5, 7}})
        groups.push_back({.name = "2", .description = "mesh_dp", .ranks = ranks, .evidence = {}, .carried = {}});
    sim::KnownGroup world{.name = "0", .description = "default_pg", .ranks = everyRank(8), .evidence = {}, .carried = {}};
    world.carried.ranks = 8;
    world.carried.count[static_cast<std::size_t>(sim::Exchange::allReduce)] = 2;
    world.carried.earlyReduces = 1;
    groups.push_back(world);
    const sim::RecoveredAxes axes = sim::recoverAxes(groups, 8, everyRank(8));
    EXPECT_EQ(axes.sizeOf("tp"), 2);
    EXPECT_EQ(axes.sizeOf("dp"), 4);
    EXPECT_EQ(axes.axes.size(), 2U);
}

TEST(RecoveredAxes, OfExpertsAreTheRanksThatHoldThemAllWhereNoneIsCut)
{
    std::vector<sim::KnownGroup> groups;
    const auto exchanges = static_cast<std::size_t>(sim::Exchange::allToAll);
    groups.push_back({.name = "", .description = "dp_cp", .ranks = everyRank(4), .evidence = {}, .carried = {}});
    for (const std::vector<int>& ranks : {std::vector<int>{0, 1}, {2, 3}}) {
        groups.push_back({.name = "", .description = "tp_ep", .ranks = ranks, .evidence = {}, .carried = {}});
        groups.back().carried.ranks = 2;
        groups.back().carried.count[exchanges] = 48;
    }
    EXPECT_EQ(sim::recoverAxes(groups, 4, everyRank(4)).sizeOf("ep"), 2);
    for (sim::KnownGroup& group : groups)
        group.carried.count[exchanges] = 0;
    EXPECT_EQ(sim::recoverAxes(groups, 4, everyRank(4)).sizeOf("ep"), 1) << "nothing says that tokens go round in it";
}

TEST(RecoveredAxes, AreThatOfTheWholeWorldWhereLayersAreSummedOverIt)
{
    // Tensor parallel of all 8 ranks, whose experts are whole and dealt to pairs of them.
    const auto group = [](std::vector<int> ranks) {
        return sim::KnownGroup{.name = "g", .description = "", .ranks = std::move(ranks), .evidence = {}, .carried = {}};
    };
    const auto reduces = static_cast<std::size_t>(sim::Exchange::reduceScatter);
    const auto exchanges = static_cast<std::size_t>(sim::Exchange::allToAll);
    sim::KnownGroup world = group(everyRank(8));
    world.carried.ranks = 8;
    world.carried.count[reduces] = 96;
    world.carried.bytes[reduces] = 96 * 1048576.0;
    world.carried.earlyReduces = 16;
    const auto gridOf = [&](const sim::KnownGroup& whole) {
        std::vector<sim::KnownGroup> groups{whole};
        for (const int first : {0, 2, 4, 6}) {
            groups.push_back(group({first, first + 1}));
            groups.back().carried.ranks = 2;
            groups.back().carried.count[exchanges] = 48;
        }
        for (const int first : {0, 1}) {
            groups.push_back(group({first, first + 2, first + 4, first + 6}));
            groups.back().carried.ranks = 4;
            groups.back().carried.count[reduces] = 2;
        }
        return sim::recoverAxes(groups, 8, everyRank(8));
    };
    const sim::RecoveredAxes axes = gridOf(world);
    EXPECT_EQ(axes.sizeOf("tp"), 8);
    EXPECT_EQ(axes.sizeOf("dp"), 1);
    EXPECT_EQ(axes.sizeOf("ep"), 2);
    world.carried.bytes[reduces] = 96 * 512.0; // counts of tokens and losses are sums too, and small
    EXPECT_EQ(gridOf(world).find("tp"), nullptr);
    world.carried.bytes[reduces] = 96 * 1048576.0;
    world.carried.earlyReduces = 1; // and a large one may be the first of the gradients
    EXPECT_EQ(gridOf(world).find("tp"), nullptr);
}

TEST(Axes, OfAPartOfTheRanksDivideTheWorld)
{
    sim::KnownGroup group{.name = {}, .description = {}, .ranks = {0, 3, 6}, .evidence = {}, .carried = {}, .isPartial = true};
    group.carried.count[static_cast<std::size_t>(sim::Exchange::allToAll)] = 4;
    group.carried.ranks = 3;
    group.carried.namedExperts = 1;
    const auto axesOf = [&](std::vector<int> members, int world, std::vector<int> recorded) {
        group.ranks = std::move(members);
        return sim::recoverAxes(std::vector{group}, world, recorded);
    };
    const sim::RecoveredAxes axes = axesOf({0, 3, 6}, 8, {0, 3, 6});
    EXPECT_EQ(axes.sizeOf("ep"), 8);
    ASSERT_NE(axes.find("ep"), nullptr);
    EXPECT_LT(axes.find("ep")->sure, 0.5);
    EXPECT_THAT(axes.find("ep")->evidence, testing::HasSubstr("3 of 8 ranks are recorded"));
    EXPECT_EQ(axesOf({0, 2}, 8, {0, 2}).sizeOf("ep"), 2);       // no more than need be
    EXPECT_EQ(axesOf({0, 6}, 8, {0, 6}).find("ep")->stride, 2); // 0, 2, 4, 6: ranks 6 apart do not divide 8
}

/// Thousands of groups of which two members each are known, and none of which lies evenly in the world: a third rank between them
/// is recorded, and of another group. Looking at each lattice for each recorded rank would take half a minute.
TEST(Axes, OfThousandsOfPartsOfGroupsAreToldInNoTime)
{
    constexpr int kWorld = 131'072;
    std::vector<sim::KnownGroup> groups;
    std::vector<int> recorded;
    for (int first = 0; first < kWorld; first += 8) {
        recorded.insert(recorded.end(), {first, first + 2, first + 6});
        sim::KnownGroup& group = groups.emplace_back();
        group.ranks = {first, first + 6};
        group.isPartial = true;
        group.carried.count[static_cast<std::size_t>(sim::Exchange::allToAll)] = 4;
        group.carried.ranks = 2;
    }
    const sim::RecoveredAxes axes = sim::recoverAxes(groups, kWorld, recorded);
    EXPECT_EQ(axes.find("ep"), nullptr);
}

TEST(RecoveredAxes, WithoutANameAreNoDataParallelOnes)
{
    std::vector<sim::KnownGroup> groups;
    for (const std::vector<int>& ranks : {std::vector<int>{0, 1}, {2, 3}, {4, 5}, {6, 7}})
        groups.push_back({.name = "1", .description = "mesh_tp", .ranks = ranks, .evidence = {}, .carried = {}});
    const auto problem = [](const sim::RecoveredAxes& axes) {
        return axes.problems.size() == 1 ? axes.problems.front() : std::to_string(axes.problems.size()) + " problems";
    };
    // Room that no group fills.
    const sim::RecoveredAxes left = sim::recoverAxes(groups, 8, everyRank(8));
    ASSERT_EQ(left.axes.size(), 2U);
    EXPECT_EQ(left.sizeOf("tp"), 2);
    EXPECT_EQ(left.find("dp"), nullptr);
    EXPECT_EQ(left.axes[1].name, "");
    EXPECT_EQ(left.axes[1].size, 4);
    EXPECT_EQ(left.axes[1].stride, 2);
    EXPECT_EQ(left.axes[1].evidence, "no group joins these ranks, others leave room for them; nothing says what for");
    EXPECT_EQ(problem(left),
              "what the 4 ranks that lie 2 apart have to do with another is not known: where a layout is asked for "
              "they count as data parallel");
    EXPECT_EQ(left.unknownGrid(), "") << "of a part of it is told";
    // Groups that carried nothing while the profiler ran, and are called nothing.
    for (const std::vector<int>& ranks : {std::vector<int>{0, 2, 4, 6}, {1, 3, 5, 7}})
        groups.push_back({.name = "2", .description = "undefined", .ranks = ranks, .evidence = {}, .carried = {}});
    const sim::RecoveredAxes seen = sim::recoverAxes(groups, 8, everyRank(8));
    ASSERT_EQ(seen.axes.size(), 2U);
    EXPECT_EQ(seen.find("dp"), nullptr);
    EXPECT_EQ(seen.axes[1].evidence, "2 groups of 4 ranks 2 apart; nothing says what for");
    EXPECT_GT(seen.axes[1].sure, left.axes[1].sure);
}

TEST(RecoveredAxes, ThatNamedOnesLeaveAreToldAUseThatWasSeen)
{
    // Groups that are called data parallel and lie across tensor parallel ones of four; then one of all ranks that sums.
    std::vector<sim::KnownGroup> groups;
    for (const std::vector<int>& ranks : {std::vector<int>{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}})
        groups.push_back({.name = "1", .description = "mesh_tp", .ranks = ranks, .evidence = {}, .carried = {}});
    for (int first = 0; first < 6; ++first)
        groups.push_back({.name = "2", .description = "mesh_dp", .ranks = {first, first + 6}, .evidence = {}, .carried = {}});
    const sim::RecoveredAxes named = sim::recoverAxes(groups, 12, everyRank(12));
    ASSERT_NE(named.find("dp"), nullptr);
    EXPECT_EQ(named.find("dp")->size, 3);
    EXPECT_EQ(named.find("dp")->evidence,
              "6 groups of 2 ranks 6 apart, called \"mesh_dp\"; what the named axes leave of them is data parallel");
    sim::KnownGroup all{
        .name = "3", .description = kMegatronDescriptions.at("tp_dp"), .ranks = everyRank(12), .evidence = {}, .carried = {}};
    all.carried.ranks = 12;
    all.carried.count[static_cast<std::size_t>(sim::Exchange::allReduce)] = 2;
    groups.push_back(all);
    const sim::RecoveredAxes seen = sim::recoverAxes(groups, 12, everyRank(12));
    ASSERT_NE(seen.find("dp"), nullptr);
    EXPECT_EQ(seen.find("dp")->evidence,
              "1 group of 12 ranks 1 apart that sums; what the named axes leave of them is data parallel");
}

TEST(UnknownGrid, IsToldOfSeveralRanksOfWhichNoAxisHasAName)
{
    const std::vector<int> one{0};
    EXPECT_EQ(
        sim::recoverAxes({}, 8, one).unknownGrid(),
        "how the 8 ranks lie in a grid is not known, as nothing tells which of them form groups: they stand in the order of "
        "their numbers, as if none had to do with another");
    EXPECT_EQ(sim::recoverAxes({}, 1, one).unknownGrid(), "") << "one rank is a grid";
    const auto pairs = [](const char* description) {
        return std::vector<sim::KnownGroup>{{.name = "1", .description = description, .ranks = {0, 1}, .evidence = "a test"},
                                            {.name = "2", .description = description, .ranks = {2, 3}, .evidence = "a test"}};
    };
    EXPECT_THAT(sim::recoverAxes(pairs("undefined"), 4, std::vector<int>{0, 1, 2, 3}).unknownGrid(),
                testing::HasSubstr("as nothing tells what their groups are for: "));
    EXPECT_EQ(sim::recoverAxes(pairs("mesh_tp"), 4, std::vector<int>{0, 1, 2, 3}).unknownGrid(), "");
    // Groups that share a rank and make no axis are known all the same.
    const std::vector<sim::KnownGroup> apart{{.name = "1", .description = "mesh_tp", .ranks = {0, 3}, .evidence = "a test"},
                                             {.name = "3", .description = "mesh_dp", .ranks = {1, 3}, .evidence = "a test"}};
    const sim::RecoveredAxes axes = sim::recoverAxes(apart, 4, std::vector<int>{0, 1, 3});
    ASSERT_TRUE(axes.axes.empty());
    EXPECT_THAT(axes.unknownGrid(), testing::HasSubstr("as the groups that are known lie in no strides: "));
}

} // namespace
