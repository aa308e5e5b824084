// The same rule gives the groups of DeepSpeed, torchtitan, picotron, nanotron, torch's DeviceMesh and the Llama 3 paper.
#include "sim/error.h"
#include "sim/mesh/subgroups.h"
#include "tests/sim/mesh/golden.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace {

using golden::Lists;
using nlohmann::json;
using sim::Mesh;
using sim::ProcessGroup;
using sim::RankGrid;

/// Row-major frameworks name the slowest axis first.
RankGrid rowMajor(const std::vector<std::string>& names, const std::vector<int>& sizes)
{
    std::vector<RankGrid::AxisSize> axes;
    for (std::size_t i = names.size(); i-- > 0;)
        axes.push_back({names[i], sizes[i]});
    return RankGrid(axes);
}

void expectCoordinates(const RankGrid& grid, const json& coords)
{
    for (const auto& [axis, values] : coords.items())
        for (int rank = 0; rank < grid.size(); ++rank)
            ASSERT_EQ(grid.coordinate(rank, grid.axisIndex(axis)), values.at(static_cast<std::size_t>(rank)))
                << axis << " of rank " << rank;
}

std::vector<std::string> splitAt(const std::string& text, char separator)
{
    std::vector<std::string> parts(1);
    for (const char c : text)
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

TEST(DeepSpeedGroups, AreThoseOfPipeDataModelRowMajor)
{
    for (const std::string& name : golden::names("deepspeed_w")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const json& input = file.at("input");
        const std::vector<std::string> axes = input.at("axes");
        const RankGrid grid = rowMajor(axes, input.at("dims"));
        const bool hasModel = axes.size() == 3;
        for (const auto& [group, expected] : file.at("groups").items()) {
            Lists lists;
            if (group == "p2p") { // rank and its successor in the ring of stages
                const std::string_view pipe = "pipe";
                const RankGrid::Groups pipes = grid.groups(std::span(&pipe, 1));
                for (int rank = 0; rank < grid.size(); ++rank)
                    lists.push_back(
                        {rank, pipes.member(pipes.groupOf(rank), (pipes.indexInGroup(rank) + 1) % pipes.groupSize())});
            } else if (group.starts_with("ds_model")) {
                lists = hasModel ? golden::lists(grid, {"pipe", "model"}) : golden::lists(grid, {"pipe"});
            } else {
                lists = golden::lists(grid, std::vector{group});
            }
            EXPECT_EQ(lists, expected.get<Lists>()) << group;
        }
        expectCoordinates(grid, file.at("coords"));

        // Megatron Core's default order is the same grid.
        sim::Layout layout;
        layout.pp = input.at("pp");
        layout.dp = input.at("dp");
        layout.tp = layout.etp = std::max(1, input.at("mp").get<int>());
        const Mesh mesh(layout);
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::pp), file.at("groups").at("pipe").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::dp), file.at("groups").at("data").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::mp), file.at("groups").at("ds_model (pipe x model)").get<Lists>());
        if (hasModel) {
            EXPECT_EQ(golden::lists(mesh, ProcessGroup::tp), file.at("groups").at("model").get<Lists>());
        }
    }
}

TEST(DeepSpeedGroups, ExpertsStrideOverTensorParallelRanks)
{
    for (const json& test : golden::cases("deepspeed_expert_parallel_ranks")) {
        const json& input = test.at("input");
        SCOPED_TRACE(input.dump());
        sim::Layout layout = golden::layout(input);
        layout.etp = layout.tp;
        if (test.contains("expect_error")) {
            EXPECT_THROW(Mesh{layout}, sim::Error);
            continue;
        }
        const int expertDp = layout.dp / layout.ep;
        const bool dataFirst = input.at("use_data_before_expert_parallel");
        const RankGrid grid = dataFirst ? RankGrid({{"tp", layout.tp}, {"dp", expertDp}, {"ep", layout.ep}, {"pp", layout.pp}})
                                        : RankGrid({{"tp", layout.tp}, {"ep", layout.ep}, {"dp", expertDp}, {"pp", layout.pp}});
        // DeepSpeed numbers the groups by tp last; members and their order agree.
        const auto byFirst = [](Lists lists) {
            std::sort(lists.begin(), lists.end());
            return lists;
        };
        EXPECT_EQ(byFirst(golden::lists(grid, {"ep"})), byFirst(test.at("groups").at("ep").get<Lists>()));
        EXPECT_EQ(byFirst(golden::lists(grid, {"dp"})), byFirst(test.at("groups").at("expt_dp").get<Lists>()));
        if (!dataFirst) { // what Megatron Core does with etp = tp
            const Mesh mesh(layout);
            EXPECT_EQ(golden::lists(mesh, ProcessGroup::ep), golden::lists(grid, {"ep"}));
            EXPECT_EQ(golden::lists(mesh, ProcessGroup::expt_dp), golden::lists(grid, {"dp"}));
        }
    }
}

TEST(DeepSpeedGroups, OfTheExamplesInItsDocumentationAndTests)
{
    int seen = 0;
    for (const json& example : golden::cases("deepspeed_literal_examples")) {
        const json& input = example.at("input");
        SCOPED_TRACE(example.at("where").get<std::string>());
        ++seen;
        if (input.contains("axes")) {
            const std::vector<std::string> axes = input.at("axes");
            const RankGrid grid = rowMajor(axes, input.at("dims"));
            if (example.contains("groups"))
                for (const auto& [axis, expected] : example.at("groups").items())
                    EXPECT_EQ(golden::lists(grid, std::vector{axis}), expected.get<Lists>()) << axis;
            else // ranks by their value on one axis: groups over all others
                for (const auto& [axis, expected] : example.at("axis_list").items()) {
                    std::vector<std::string> others = axes;
                    std::erase(others, axis);
                    EXPECT_EQ(golden::lists(grid, others), expected.get<Lists>()) << axis;
                }
        } else if (input.contains("zero_hpz_partition_size")) {
            const int size = input.at("zero_hpz_partition_size");
            const int world = input.at("world_size");
            EXPECT_EQ(sim::subgroups(golden::world(world), {size, world / size}, 0),
                      example.at("groups").at("zero_param_intra").get<Lists>());
        } else if (input.contains("mp")) {
            const RankGrid grid({{"mp", input.at("mp")}, {"dp", input.at("world_size").get<int>() / input.at("mp").get<int>()}});
            EXPECT_EQ(golden::lists(grid, {"mp"}), example.at("groups").at("mp").get<Lists>());
            EXPECT_EQ(golden::lists(grid, {"dp"}), example.at("groups").at("dp").get<Lists>());
        } else {
            const Mesh mesh(golden::layout(input)); // etp = tp
            EXPECT_EQ(golden::sorted(golden::lists(mesh, ProcessGroup::ep)),
                      golden::sorted(example.at("groups").at("ep").get<Lists>()));
            EXPECT_EQ(golden::sorted(golden::lists(mesh, ProcessGroup::expt_dp)),
                      golden::sorted(example.at("groups").at("expt_dp").get<Lists>()));
        }
    }
    EXPECT_EQ(seen, 6);
}

struct TitanSizes {
    int world, replicate, shard, cp, tp, pp, ep, etp;
    explicit TitanSizes(const json& input)
        : world(input.at("world_size")), replicate(input.at("data_parallel_replicate_degree")),
          shard(input.at("data_parallel_shard_degree")), cp(input.at("context_parallel_degree")),
          tp(input.at("tensor_parallel_degree")), pp(input.at("pipeline_parallel_degree")),
          ep(input.at("expert_parallel_degree")), etp(input.value("expert_tensor_parallel_degree", 1))
    {
        if (shard < 0) // what is left, rounded down
            shard = world / (replicate * cp * tp * pp);
    }
    RankGrid dense() const
    {
        return RankGrid({{"tp", tp}, {"cp", cp}, {"dp_shard", shard}, {"dp_replicate", replicate}, {"pp", pp}});
    }
    /// Megatron Core's layout with the same groups.
    sim::Layout layout() const
    {
        sim::Layout layout;
        layout.tp = tp;
        layout.cp = cp;
        layout.pp = pp;
        layout.dp = replicate * shard;
        layout.ep = ep;
        layout.etp = etp;
        return layout;
    }
};

TEST(TorchtitanGroups, AreThoseOfItsTwoMeshes)
{
    const std::map<std::string, std::vector<std::string>> denseAxes = {{"pp", {"pp"}},
                                                                       {"batch", {"dp_replicate", "dp_shard"}},
                                                                       {"dp", {"dp_replicate", "dp_shard"}},
                                                                       {"loss", {"dp_replicate", "dp_shard", "cp"}},
                                                                       {"dp_replicate", {"dp_replicate"}},
                                                                       {"dp_shard", {"dp_shard"}},
                                                                       {"fsdp", {"dp_shard", "cp"}},
                                                                       {"cp", {"cp"}},
                                                                       {"tp", {"tp"}}};
    for (const std::string& name : golden::names("torchtitan_w")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const TitanSizes sizes(file.at("input"));
        EXPECT_EQ(sizes.shard, file.at("derived").at("dp_shard"));
        const int expertShard = sizes.shard * sizes.cp * sizes.tp / sizes.ep;
        EXPECT_EQ(expertShard, file.at("derived").at("efsdp"));
        const RankGrid sparse({{"ep", sizes.ep}, {"efsdp", expertShard}, {"dp_replicate", sizes.replicate}, {"pp", sizes.pp}});
        for (const auto& [group, expected] : file.at("groups").items()) {
            const auto axes = denseAxes.find(group);
            EXPECT_EQ(axes != denseAxes.end() ? golden::lists(sizes.dense(), axes->second)
                                              : golden::lists(sparse, std::vector{group}),
                      expected.get<Lists>())
                << group;
        }
        const Mesh mesh(sizes.layout());
        const json& groups = file.at("groups");
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::tp), groups.at("tp").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::cp), groups.at("cp").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::dp), groups.at("batch").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::dp_cp), groups.at("loss").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::pp), groups.at("pp").get<Lists>());
        EXPECT_EQ(golden::lists(mesh, ProcessGroup::ep), groups.at("ep").get<Lists>());
        // Hybrid sharding: shard groups are blocks of dp, replicas cross them.
        Lists shards;
        for (int group = 0; group < mesh.groupCount(ProcessGroup::dp); ++group)
            for (auto& block : sim::subgroups(mesh.members(ProcessGroup::dp, group), {sizes.shard, sizes.replicate}, 0))
                shards.push_back(std::move(block));
        if (groups.contains("dp_shard")) {
            EXPECT_EQ(golden::sorted(shards), golden::sorted(groups.at("dp_shard").get<Lists>()));
        }
    }
}

TEST(TorchtitanGroups, OfTheReleaseThatCarvedExpertsOutOfDataParallelism)
{
    for (const std::string& name : golden::names("torchtitan020_w")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const TitanSizes sizes(file.at("input"));
        const RankGrid grid = rowMajor(file.at("mesh").at("dim_names"), file.at("mesh").at("shape"));
        std::map<std::string, std::vector<std::string>> axes = {{"dp", {"dp_shard_mod_ep", "dp_shard_in_ep"}},
                                                                {"dp_shard_cp", {"dp_shard_mod_ep", "dp_shard_in_ep", "cp"}},
                                                                {"dp_cp", {"dp_shard_mod_ep", "dp_shard_in_ep", "cp"}},
                                                                {"ep", {"dp_shard_in_ep", "cp"}}};
        if (sizes.etp == 1)
            axes["ep"].emplace_back("tp");
        for (const auto& [group, expected] : file.at("groups").items()) {
            const auto known = axes.find(group);
            EXPECT_EQ(golden::lists(grid, known == axes.end() ? std::vector{group} : known->second), expected.get<Lists>())
                << group;
        }
        const Mesh mesh(sizes.layout());
        for (const auto& [kind, group] :
             {std::pair{ProcessGroup::ep, "ep"}, {ProcessGroup::dp, "dp"}, {ProcessGroup::dp_cp, "dp_cp"}})
            EXPECT_EQ(golden::lists(mesh, kind), file.at("groups").at(group).get<Lists>()) << group;
    }
}

TEST(TorchtitanGroups, DegreesItRefusesDoNotMakeTheWorld)
{
    for (const std::string& name : golden::names("torchtitan_error_"))
        EXPECT_NE(TitanSizes(golden::read(name).at("input")).dense().size(), golden::read(name).at("input").at("world_size"))
            << name;
}

TEST(DeviceMeshGroups, AreRowMajorAxesAndTheirFlattenings)
{
    for (const std::string& name : golden::names("devicemesh_")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const RankGrid grid = rowMajor(file.at("input").at("mesh_dim_names"), file.at("input").at("mesh_shape"));
        EXPECT_EQ(grid.size(), file.at("input").at("world_size"));
        for (const auto& [axis, expected] : file.at("groups").items())
            EXPECT_EQ(golden::lists(grid, std::vector{axis}), expected.get<Lists>()) << axis;
        for (const auto& [axes, expected] : file.at("flattened").items())
            EXPECT_EQ(golden::lists(grid, splitAt(axes, '+')), expected.get<Lists>()) << axes;
        if (file.at("coords").is_object())
            expectCoordinates(grid, file.at("coords"));
    }
}

sim::Layout withOrder(const json& input, const char* order)
{
    sim::Layout layout = golden::layout(input);
    layout.order = order;
    EXPECT_EQ(layout.dp, input.at("dp"));
    return layout;
}

TEST(PicotronGroups, AreThoseOfPipelineBeforeData)
{
    for (const std::string& name : golden::names("picotron_w")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const Mesh mesh(withOrder(file.at("input"), "tp-cp-pp-dp"));
        for (const auto& [kind, group] : {std::pair{ProcessGroup::tp, "tp"},
                                          {ProcessGroup::cp, "cp"},
                                          {ProcessGroup::pp, "pp"},
                                          {ProcessGroup::dp, "dp"},
                                          {ProcessGroup::dp_cp, "cp_dp"}})
            EXPECT_EQ(golden::lists(mesh, kind), file.at("groups").at(group).get<Lists>()) << group;
        EXPECT_EQ(golden::lists(mesh.dense(), {"pp", "dp"}), file.at("groups").at("pp_dp").get<Lists>());
        expectCoordinates(mesh.dense(), file.at("coords"));
    }
}

TEST(NanotronGroups, AreMegatronsAsSets)
{
    for (const std::string& name : golden::names("nanotron_w")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const Mesh mesh(withOrder(file.at("input"), "tp-cp-ep-dp-pp"));
        for (const auto& [group, expected] : file.at("groups").items()) {
            const int local = file.at("input").at("local_world_size");
            const Lists ours = group == "local"
                                   ? sim::subgroups(golden::world(mesh.worldSize()), {local, mesh.worldSize() / local}, 0)
                                   : golden::lists(mesh, *sim::processGroupFromName(group));
            EXPECT_EQ(golden::sorted(ours), golden::sorted(expected.get<Lists>())) << group;
        }
        expectCoordinates(mesh.dense(), file.at("coords"));
    }
}

TEST(Llama3Groups, OfThePapersGridAndOfIts8192Gpus)
{
    const std::map<std::string, ProcessGroup> kinds = {{"tp", ProcessGroup::tp},       {"cp", ProcessGroup::cp},
                                                       {"pp", ProcessGroup::pp},       {"dp", ProcessGroup::dp},
                                                       {"dp_cp", ProcessGroup::dp_cp}, {"tp_pp", ProcessGroup::mp}};
    for (const std::string& name : golden::names("llama3order_")) {
        SCOPED_TRACE(name);
        const json file = golden::read(name);
        const Mesh mesh(withOrder(file.at("input"), "tp-cp-pp-dp"));
        if (file.contains("groups"))
            for (const auto& [group, expected] : file.at("groups").items())
                EXPECT_EQ(golden::lists(mesh, kinds.at(group)), expected.get<Lists>()) << group;
        else
            for (const auto& [group, expected] : file.at("digests").items())
                EXPECT_EQ(golden::digest(golden::lists(mesh, kinds.at(group))), expected.at("sha256")) << group;
    }
}

} // namespace
