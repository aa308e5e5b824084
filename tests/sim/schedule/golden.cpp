#include "tests/sim/schedule/golden.h"

#include "sim/schedule/text/csv.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace golden {

namespace {

const std::filesystem::path kData = RANKSCOPE_TEST_DATA;

Case parseCase(const nlohmann::json& json)
{
    Case golden;
    golden.id = json.at("id");
    golden.ranks = json.at("pp");
    golden.virtualStages = json.at("v");
    golden.microbatches = json.at("m");
    golden.stageToRank = json.at("stage_to_rank").get<std::vector<int>>();
    golden.actions = json.at(json.contains("ranks_compute") ? "ranks_compute" : "ranks").get<std::vector<std::string>>();
    golden.peakActivations = json.value("peak_activations", json.value("peak_chunk_activations", std::vector<double>()));
    golden.peakReleasedAtInput = json.value("peak_activations_if_released_at_I", std::vector<double>());
    for (const nlohmann::json& timing : json.value("refsim", nlohmann::json::array()))
        golden.timings.push_back({{timing.at("f"), timing.at("b"), timing.at("w"), timing.at("comm")},
                                  timing.at("makespan"),
                                  timing.at("zb_cost"),
                                  timing.at("rank_span"),
                                  timing.at("busy")});
    for (const nlohmann::json& timing : json.value("timing", nlohmann::json::array())) // with a time for overlapped blocks
        golden.timings.push_back(
            {.times = {timing.at("F"), timing.at("D"), timing.at("W"), timing.at("p2p_latency"), timing.at("overlapped")},
             .makespan = timing.at("refsim_makespan")});
    if (json.contains("unit_sim_f1_b2"))
        golden.timings.push_back({.makespan = json.at("unit_sim_f1_b2").at("makespan")});
    golden.pytorchRows = json.value("pytorch_ir_slots", std::vector<std::string>());
    golden.scheduleTable = json.value("schedule_table", "");
    golden.chunkOrder = json.value("te_order", std::vector<std::string>());
    if (json.contains("params") && json.at("params").contains("num_warmup_microbatches")) {
        golden.microbatchGroup = json.at("params").at("microbatch_group_size_per_vp_stage");
        golden.overlapExpertComm = json.at("params").at("overlap_moe_expert_parallel_comm");
        golden.warmups = json.at("params").at("num_warmup_microbatches").get<std::vector<int>>();
    }
    if (json.contains("params") && json.at("params").contains("num_seq_splits"))
        golden.slices = json.at("params").at("num_seq_splits");
    if (json.contains("params") && json.at("params").contains("f")) { // planned by these costs
        const nlohmann::json& params = json.at("params");
        golden.planned = {params.at("f"), params.at("b"), params.at("w"), params.at("comm")};
        if (params.contains("mem_limit")) {
            golden.memory = {params.at("mem_f"), -params.at("mem_w").get<double>()};
            golden.memoryLimit = params.at("mem_limit");
        } else if (params.contains("mem_limit_chunk_activations")) {
            golden.memoryLimit = params.at("mem_limit_chunk_activations");
        }
    }
    return golden;
}

} // namespace

std::vector<Case> cases(const std::string& name)
{
    const nlohmann::json file = nlohmann::json::parse(readFile("schedules/" + name + ".json"));
    std::vector<Case> all;
    for (const nlohmann::json& json : file.at("cases"))
        all.push_back(parseCase(json));
    EXPECT_FALSE(all.empty()) << name;
    return all;
}

std::vector<std::string> names()
{
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(kData / "schedules"))
        if (entry.path().extension() == ".json" && entry.path().stem() != "paper_zb_table5") // rates, no orders
            found.push_back(entry.path().stem().string());
    std::sort(found.begin(), found.end());
    return found;
}

sim::Schedule schedule(const Case& golden)
{
    std::vector<std::string> lines = golden.actions;
    for (std::string& line : lines)
        std::replace(line.begin(), line.end(), ' ', ',');
    return sim::parseScheduleCsv(lines);
}

std::string text(const std::vector<sim::Action>& actions, int slices)
{
    std::string joined;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const sim::ActionBlock block = sim::blockAt(actions, i);
        joined += (joined.empty() ? "" : " ") + sim::blockText(block, slices);
        i += block.size() - 1;
    }
    return joined;
}

std::string readFile(const std::string& pathUnderData)
{
    std::ifstream file(kData / pathUnderData, std::ios::binary);
    EXPECT_TRUE(file) << pathUnderData;
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

} // namespace golden
