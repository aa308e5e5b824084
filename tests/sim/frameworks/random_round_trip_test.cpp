// Random legal layouts out and in again: of what a framework runs, every key of the layout and the training that it can say comes
// back as it was, and so do the step and the memory; of frameworks that write the model's sizes these too.
#include "tests/support/catalogue.h"
#include "tests/support/tries.h"

#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "sim/simulate/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <optional>
#include <random>

using namespace sim;

namespace {

class RandomLayouts {
public:
    explicit RandomLayouts(unsigned seed) : m_engine(seed) {}

    /// One that is legal, with transfers hidden as the framework does, and that it runs.
    Scenario of(std::string_view framework)
    {
        for (;;) {
            const auto resolved = job().resolve(test::catalogue());
            if (!resolved.scenario)
                continue;
            Scenario scenario = *resolved.scenario;
            scenario.training.overlap = overlapOf(framework, scenario);
            if (frameworkLimit(framework, scenario).empty() && namesModel(framework, scenario))
                return scenario;
        }
    }

private:
    /// Settings that name a model and have none with as many layers are of another job.
    static bool namesModel(std::string_view framework, const Scenario& scenario)
    {
        const auto notes = exportSettings(scenario, findFramework(framework)->kind, test::catalogue()).notes;
        return std::none_of(notes.begin(), notes.end(),
                            [](const Note& note) { return note.pointer == "/model/num_hidden_layers"; });
    }

    template <typename T>
    T oneOf(std::initializer_list<T> values)
    {
        return *(values.begin() + static_cast<std::ptrdiff_t>(m_engine() % values.size()));
    }
    bool isHeads() { return m_engine() % 2 == 0; }

    ScenarioDocument job()
    {
        ScenarioDocument job = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1}, "training": {}})");
        const auto put = [&](const char* pointer, int value) { job.set(pointer, std::to_string(value)); };
        const std::string model = oneOf({"llama3-8b", "llama2-7b", "qwen3-30b-a3b", "deepseek-v2-lite", "mixtral-8x7b"});
        const bool isDense = model.starts_with("llama");
        job.set("model.base", '"' + model + '"');
        if (isHeads() && isDense)
            put("model.num_hidden_layers", oneOf({24, 30}));
        const int tp = oneOf({1, 1, 2, 4, 8}), cp = oneOf({1, 1, 1, 2, 4}), pp = oneOf({1, 1, 2, 3, 4}),
                  dp = oneOf({1, 2, 3, 4, 8});
        for (const auto& [pointer, size] : {std::pair{"layout.tp", tp}, {"layout.cp", cp}, {"layout.pp", pp}, {"layout.dp", dp}})
            put(pointer, size);
        if (!isDense) {
            put("layout.ep", oneOf({1, 1, 2, 4, 8}));
            if (isHeads())
                put("layout.etp", oneOf({1, tp}));
        }
        put("layout.zero_stage", oneOf({0, 1, 2, 3}));
        if (isHeads() && dp * cp > 1)
            put("layout.dp_shard", oneOf({2, 4, cp * dp}));
        job.set("layout.sequence_parallel", tp > 1 && isHeads() ? "true" : "false");
        job.set("layout.order", oneOf({"\"tp-cp-ep-dp-pp\"", "\"tp-cp-ep-dp-pp\"", "\"tp-cp-ep-pp-dp\""}));
        put("training.sequence_length", oneOf({2048, 4096}));
        const int microBatch = oneOf({1, 1, 2, 4});
        put("training.micro_batch_size", microBatch);
        put("training.global_batch_size", microBatch * dp * pp * oneOf({1, 2, 4}));
        job.set("training.recompute",
                oneOf({"\"none\"", "\"full\"", "\"selective\"", R"({"kind":"full","layers":1})", R"({"kind":"full","layers":2})",
                       R"({"kind":"selective","modules":["core_attn","mlp"]})"}));
        for (const char* overlap : {"grad_reduce", "param_gather", "tp_comm", "p2p"})
            if (isHeads())
                job.set("training.overlap." + std::string(overlap), isHeads() ? "true" : "false");
        if (pp > 1) {
            job.set("schedule.kind", oneOf({"\"1f1b\"", "\"1f1b\"", "\"gpipe\"", "\"interleaved-1f1b\"", "\"looped-bfs\"",
                                            "\"zb-v\"", "\"dualpipe-v\"", "\"interleaved-zb\""}));
            put("schedule.virtual_stages", oneOf({1, 1, 2, 3}));
        }
        return job;
    }

    std::mt19937 m_engine;
};

/// The settings read again, with what they leave to others from the scenario: the cluster, what the software's kernels are, and
/// of frameworks whose settings have no model that.
Scenario readAgain(const Framework& framework, const Scenario& scenario)
{
    std::vector<SettingsFile> files{{"job", exportSettings(scenario, framework.kind, test::catalogue()).text}};
    const bool hasNoModel = framework.id == "deepspeed" || framework.id == "huggingface";
    if (hasNoModel)
        files.push_back({"config.json", exportSettings(scenario, "huggingface", test::catalogue()).text});
    const Imported back =
        importSettings(files, {.kind = std::string(framework.kind), .gpus = scenario.layout.worldSize()}, test::catalogue());
    ScenarioDocument document = ScenarioDocument::parse(back.scenario);
    const Json want = Json::parse(resolvedText(scenario));
    document.set("cluster", want["cluster"].dump());
    if (framework.id == "megatron" || framework.id == "nanotron") { // whose settings have the sizes themselves, not a name
        const Json read = Json::parse(resolvedText(resolvedScenario(document, test::catalogue())));
        for (const char* size : {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
                                 "intermediate_size", "tie_word_embeddings", "position_embedding", "normalization"})
            EXPECT_EQ(read["model"][size], want["model"][size]) << size;
    }
    document.set("model", want["model"].dump());
    if (document.get("training.stack"))
        document.set("training.stack", want["training"]["stack"].dump());
    if (scenario.layout.pp > 1 && isLeftToProgram(framework.kind, scenario, "/schedule/layers_per_stage"))
        document.set("schedule.layers_per_stage", want["schedule"]["layers_per_stage"].dump());
    for (const char* key : {"sequence_length", "micro_batch_size", "global_batch_size", "recompute"})
        if (isLeftToProgram(framework.kind, scenario, std::string("/training/") + key))
            document.set(std::string("training.") + key, want["training"][key].dump());
    if (isLeftToProgram(framework.kind, scenario, "/layout/reduce_each_microbatch"))
        document.set("layout.reduce_each_microbatch", want["layout"]["reduce_each_microbatch"].dump());
    return resolvedScenario(document, test::catalogue());
}

/// What a layout is, each key that has a meaning beside the others.
std::map<std::string, std::string> saidBy(const Scenario& scenario)
{
    const Json all = Json::parse(resolvedText(scenario));
    const Layout& l = scenario.layout;
    std::map<std::string, std::string> said;
    const auto take = [&](bool hasMeaning, const char* pointer) {
        const Json* const value = findAt(all, splitPointer(pointer));
        if (hasMeaning && value != nullptr)
            said[pointer] = value->dump();
    };
    const bool hasExperts = scenario.model.numExperts > 0, hasReplicas = isSplitInReplicas(scenario);
    for (const char* pointer : {"/layout/tp", "/layout/cp", "/layout/pp", "/layout/dp", "/training/sequence_length",
                                "/training/micro_batch_size", "/training/global_batch_size", "/training/precision"})
        take(true, pointer);
    take(hasExperts, "/layout/ep");
    take(hasExperts, "/layout/etp");
    take(l.tp > 1, "/layout/sequence_parallel");
    take(hasReplicas, "/layout/zero_stage");
    take(hasReplicas && l.zeroStage > 0, "/layout/dp_shard");
    take(hasReplicas && l.zeroStage == 3, "/layout/reshard_after_forward");
    if (l.pp > 1) {
        take(l.dp > 1 && !hasExperts, "/layout/order"); // the same with and without experts' axis
        for (const char* pointer : {"/schedule/kind", "/schedule/virtual_stages", "/schedule/layers_per_stage"})
            take(true, pointer);
    }
    if (l.pp > 1 && scenario.schedule.kind == "looped-bfs" && scenario.schedule.virtualStages == 1)
        said["/schedule/kind"] = "\"gpipe\""; // is what it is then, and what MaxText's settings cannot tell apart
    if (const auto order = said.find("/layout/order"); order != said.end())
        if (const std::size_t at = order->second.find("ep-"); at != std::string::npos)
            order->second.erase(at, 3);
    const Training& t = scenario.training;
    said["recompute"] = t.recompute == Recompute::none ? "none"
                        : t.recompute == Recompute::full
                            ? "full " + std::to_string(t.recomputeLayers == 0 ? 1000 : t.recomputeLayers)
                            : all["training"]["recompute"].dump();
    take(hasReplicas, "/training/overlap/grad_reduce");
    take(hasReplicas && l.zeroStage > 0, "/training/overlap/param_gather");
    take(l.tp > 1, "/training/overlap/tp_comm");
    take(l.pp > 1, "/training/overlap/p2p");
    return said;
}

} // namespace

TEST(RandomRoundTrip, BringsBackEveryKeyThatTheFrameworkCanSay)
{
    RandomLayouts random(31);
    const auto frameworks = frameworkList();
    std::map<std::string_view, int> trips;
    for (int tried = 0; tried < test::tries(1500); ++tried) {
        const Framework& framework = frameworks[static_cast<std::size_t>(tried) % frameworks.size()];
        const Scenario scenario = random.of(framework.id);
        const Scenario back = readAgain(framework, scenario);
        SCOPED_TRACE(std::string(framework.id) + " " + std::to_string(tried) + "\n" +
                     exportSettings(scenario, framework.kind, test::catalogue()).text);
        EXPECT_EQ(saidBy(back), saidBy(scenario));
        ++trips[framework.id];
        if (tried % 5 > 0)
            continue; // a step takes as long as many trips
        const auto before = simulate(scenario), after = simulate(back);
        EXPECT_EQ(before->metrics().stepTimeSeconds, after->metrics().stepTimeSeconds);
        EXPECT_EQ(before->metrics().peakMemoryGib, after->metrics().peakMemoryGib);
    }
    for (const auto& [id, count] : trips)
        std::printf("%s %d, ", std::string(id).c_str(), count);
    std::printf("\n");
    EXPECT_EQ(trips.size(), frameworks.size());
}
