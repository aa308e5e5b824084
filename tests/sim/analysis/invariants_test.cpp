// Every output of every legal scenario is a set of numbers that can be true, and every scenario that can have none is refused
// with words: tried at the ends of all ranges of the schema, one, and two at a time.
#include "tests/sim/analysis/invariants.h"

#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <random>
#include <set>

using namespace sim;
using Json = nlohmann::json;

namespace {

/// A numeric key of the schema, and the ends of its range.
struct Key {
    std::string pointer;
    Json low, high;
};

class Keys {
public:
    Keys()
    {
        std::ifstream(RANKSCOPE_SOURCE_DIR "/assets/scenario.schema.json") >> m_schema;
        collect(m_schema, "");
    }
    const std::vector<Key>& all() const { return m_keys; }

private:
    void collect(const Json& rule, const std::string& pointer)
    {
        if (rule.contains("$ref"))
            return collect(m_schema.at(Json::json_pointer(rule.at("$ref").get<std::string>().substr(1))), pointer);
        for (const Json& alternative : rule.value("anyOf", Json::array()))
            collect(alternative, pointer);
        if (rule.contains("properties"))
            for (const auto& [name, property] : rule.at("properties").items())
                collect(property, pointer + "/" + name);
        // What may be a number or a list is tried as a number: it cannot be both.
        const bool isNumberToo =
            std::any_of(m_keys.begin(), m_keys.end(), [&](const Key& key) { return key.pointer == pointer; });
        if (rule.contains("items") && !isNumberToo)
            collect(rule.at("items"), pointer + "/0");
        const std::string type = rule.value("type", "");
        if ((type == "integer" || type == "number") && pointer != "/version") {
            const Json low = rule.contains("minimum") ? rule.at("minimum") : Json(1e-300); // above an open end
            if (std::none_of(m_keys.begin(), m_keys.end(), [&](const Key& key) { return key.pointer == pointer; }))
                m_keys.push_back({pointer, low, rule.at("maximum")});
        }
    }
    Json m_schema;
    std::vector<Key> m_keys;
};

const std::vector<Key>& keys()
{
    static const Keys made;
    return made.all();
}

/// Small jobs that differ in what their programs contain.
std::map<std::string, Json> bases()
{
    const Json common = Json::parse(R"({"format":"rankscope-scenario","version":1,"model":{"base":"tiny-llama"},
"cluster":{"base":"h100-sxm-ib400","gpu":{"peak_tflops":{}},"efficiency":{},
  "tiers":[{"name":"nvlink","span":8,"bandwidth_gbs":450,"latency_us":3},{"name":"ib","span":"all","bandwidth_gbs":50,"latency_us":5}]},
"layout":{"tp":2,"pp":2,"dp":2},"schedule":{},"training":{"overlap":{}},"live":{}})");
    const auto with = [&](const char* patch) {
        Json base = common;
        base.merge_patch(Json::parse(patch));
        return base;
    };
    return {
        {"dense", common},
        {"experts", with(R"({"model":{"base":"tiny-moe","tie_word_embeddings":true},
            "layout":{"tp":2,"pp":2,"dp":2,"ep":2,"sequence_parallel":true,"zero_stage":1}})")},
        {"latent",
         with(R"({"model":{"q_lora_rank":64,"kv_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":16,"v_head_dim":32,
            "bias":true,"normalization":"layernorm"},"layout":{"tp":2,"pp":1,"dp":4,"zero_stage":3},"training":{"recompute":{"kind":"full"}}})")},
        {"gpt", with(R"({"model":{"base":"tiny-gpt"},"layout":{"tp":1,"cp":2,"pp":1,"dp":2,"zero_stage":2},
            "training":{"flash_attention":false,"recompute":{"kind":"selective"}}})")},
        {"perturbed", with(R"({"schedule":{"kind":"zb-h1"},"perturbations":[{"kind":"slow_gpu","rank":1,"factor":1.5},
            {"kind":"slow_link","rank":2,"factor":2},{"kind":"slow_gpu","rank":1,"factor":3},{"kind":"jitter","sigma":0.1,"seed":3}]})")},
        {"jittery", with(R"({"layout":{"tp":1,"pp":1,"dp":1},"cluster":{"efficiency":{"gemm":1,"attention_forward":1,
            "attention_backward":1,"memory":1,"gemm_half_k":0,"launch_us":0}},"perturbations":[{"kind":"jitter","sigma":3}]})")},
        {"measured", with(R"({"cluster":{"efficiency":{
            "kernels":[{"name":"gemm.forward","points":[{"m":128,"n":128,"k":128,"us":5},{"m":1024,"n":512,"k":128,"us":50}]},
                       {"name":"rmsnorm.forward","points":[{"m":256,"n":128,"us":2}]}],
            "transfers":[{"name":"all_reduce","points":[{"bytes":65536,"members":2,"us":8}]},
                         {"name":"send","points":[{"bytes":65536,"members":2,"us":4}]}]}}})")},
        {"sliced", with(R"({"layout":{"tp":1,"pp":2,"dp":2},"schedule":{"kind":"seq-1f1b","sequence_slices":2}})")},
        {"chunked", with(R"({"layout":{"tp":1,"pp":2,"dp":2},"schedule":{"virtual_stages":2,"microbatch_group":2}})")},
        {"planned", with(R"({"layout":{"tp":1,"pp":2,"dp":1},"schedule":{"kind":"zb-2p"}})")},
        {"custom", with(R"({"layout":{"tp":1,"pp":2,"dp":1},"training":{"global_batch_size":2},
            "schedule":{"kind":"custom","actions":["0F0,0F1,0B0,0B1","1F0,1B0,1F1,1B1"]}})")},
    };
}

/// What became of the scenarios that were tried.
struct Tally {
    int refused = 0, failed = 0, simulated = 0, tooLarge = 0;
    int sum() const { return refused + failed + simulated + tooLarge; }
};

/// Ops of one pipeline, about: what a test wants to wait for.
bool isSmall(const Scenario& s)
{
    const double ops = 1.0 * (s.model.numHiddenLayers + 4.0 * s.stages()) * s.microbatches() * s.schedule.sequenceSlices *
                       (40 + 4.0 * s.layout.cp) * (s.perturbations.empty() ? 1 : s.layout.worldSize());
    return s.layout.worldSize() <= 4096 && ops < 2e6;
}

/// A message for a person: with numbers or names in it, and none of a library's.
void expectHelps(const std::string& message)
{
    EXPECT_GE(message.size(), 12U) << message;
    for (const char* raw : {"json.exception", "std::", "bad_alloc", "vector", "basic_string", "nan", "inf s"})
        EXPECT_THAT(message, testing::Not(testing::HasSubstr(raw)));
}

void tryOut(const Json& json, Tally& tally)
{
    const auto resolved = ScenarioDocument::parse(json.dump()).resolve(test::catalogue());
    if (!resolved.scenario) {
        ++tally.refused;
        bool explained = false;
        for (const Problem& problem : resolved.problems)
            if (problem.severity == Severity::error) {
                explained = true;
                EXPECT_EQ(problem.pointer.substr(0, 1), "/") << problem.text();
                expectHelps(problem.message);
            }
        EXPECT_TRUE(explained);
        return;
    }
    if (!isSmall(*resolved.scenario)) {
        ++tally.tooLarge;
        return;
    }
    try {
        const auto simulation = simulate(*resolved.scenario);
        ++tally.simulated;
        EXPECT_EQ(test::brokenInvariants(*simulation), "");
    } catch (const Error& error) {
        ++tally.failed;
        expectHelps(error.what());
        EXPECT_THAT(error.what(), testing::ContainsRegex("[0-9]"));
        EXPECT_THAT(error.what(), testing::StartsWith("/")) << "the key that makes it so";
    }
}

const Json& endOf(const Key& key, bool high)
{
    return high ? key.high : key.low;
}

void print(const char* what, const Tally& tally)
{
    std::cout << what << ": " << tally.sum() << " scenarios tried, " << tally.refused << " refused by a rule, " << tally.failed
              << " by the simulation, " << tally.simulated << " simulated, " << tally.tooLarge << " too large to wait for\n";
}

} // namespace

TEST(Invariants, TheSchemaHasTheKeysThatAreTried)
{
    std::set<std::string> pointers;
    for (const Key& key : keys())
        pointers.insert(key.pointer);
    EXPECT_GE(pointers.size(), 70U);
    for (const char* known :
         {"/model/hidden_size", "/cluster/gpu/peak_tflops/bf16", "/cluster/tiers/0/span", "/layout/cp",
          "/cluster/efficiency/kernels/0/points/0/us", "/training/sequence_length", "/perturbations/0/factor"})
        EXPECT_TRUE(pointers.contains(known)) << known;
}

TEST(Invariants, HoldWhereNothingIsExtreme)
{
    for (const auto& [name, base] : bases()) {
        SCOPED_TRACE(name);
        Tally tally;
        tryOut(base, tally);
        EXPECT_EQ(tally.simulated, 1) << name;
    }
}

TEST(Invariants, HoldAtBothEndsOfEveryRange)
{
    Tally tally;
    test::Tried which;
    for (const auto& [name, base] : bases())
        for (const Key& key : keys())
            for (const bool high : {false, true}) {
                if (!which.next())
                    continue;
                Json json = base;
                json[Json::json_pointer(key.pointer)] = endOf(key, high);
                SCOPED_TRACE(name + " " + key.pointer + "=" + endOf(key, high).dump());
                tryOut(json, tally);
                if (HasFailure())
                    return;
            }
    print("one end", tally);
    EXPECT_GT(tally.simulated, tally.sum() / 3);
    EXPECT_GT(tally.refused, tally.sum() / 20);
}

/// Every base so many times, each time with some keys changed.
template <typename ValueOf>
void tryChanges(const char* what, std::mt19937& random, int tries, int changes, ValueOf valueOf)
{
    Tally tally;
    for (const auto& [name, base] : bases())
        for (int i = 0; i < test::tries(tries); ++i) {
            Json json = base;
            std::string trace = name;
            for (int k = 0; k < changes; ++k) {
                const Key& key = keys()[random() % keys().size()];
                const Json value = valueOf(key);
                json[Json::json_pointer(key.pointer)] = value;
                trace += " " + key.pointer + "=" + value.dump();
            }
            SCOPED_TRACE(trace);
            tryOut(json, tally);
            if (testing::Test::HasFailure())
                return;
        }
    print(what, tally);
}

TEST(Invariants, HoldAtTheEndsOfTwoRangesAtOnce)
{
    std::mt19937 random(11);
    tryChanges("two ends", random, 120, 2, [&](const Key& key) { return endOf(key, random() % 2 == 0); });
}

// Values between the ends, spread over all magnitudes.
TEST(Invariants, HoldForNumbersOfAnyMagnitude)
{
    std::mt19937 random(12);
    std::uniform_real_distribution<double> unit;
    tryChanges("any magnitude", random, 250, 3, [&](const Key& key) {
        const double low = std::max(1e-6, key.low.get<double>()), high = key.high.get<double>();
        const double value = low * std::pow(high / low, unit(random));
        return key.low.is_number_integer() && key.high.is_number_integer() ? Json(std::llround(value)) : Json(value);
    });
}

TEST(Invariants, HoldForRandomScenarios)
{
    std::mt19937 random(13);
    for (int i = 0; i < test::tries(200); ++i) {
        const Scenario scenario = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(scenario));
        EXPECT_EQ(test::brokenInvariants(*simulate(scenario)), "");
        if (HasFailure())
            return;
    }
}

TEST(Invariants, HoldForTheGallery)
{
    test::Tried which;
    for (const auto& file : test::galleryFiles()) {
        if (!which.next())
            continue;
        SCOPED_TRACE(file.filename().string());
        EXPECT_EQ(test::brokenInvariants(*test::open(file).simulation), "");
    }
}

// 16,384 ranks for 17 days: more nanoseconds together than 64 bits count.
TEST(Invariants, HoldWhereTheSumOverRanksIsBeyond64Bits)
{
    Scenario scenario = test::llama405b();
    scenario.cluster.gpu.peakTflops[Precision::bf16] = 0.005;
    const auto simulation = simulate(scenario);
    EXPECT_GT(simulation->metrics().stepTimeSeconds * 16384, 9.3e9);
    EXPECT_EQ(test::brokenInvariants(*simulation), "");
    EXPECT_NEAR(simulation->metrics().bubbleFraction, 15.0 / 31, 0.05); // (p - 1) / (m + p - 1)
}

TEST(Invariants, OfAStepThatWouldNotEndAreAnError)
{
    Scenario scenario = test::smallScenario(1, 2, 1);
    scenario.perturbations.assign(3, {.kind = PerturbationKind::slowGpu, .rank = 0, .factor = 1e6});
    try {
        simulate(scenario);
        FAIL() << "simulated";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(),
                    testing::AllOf(testing::HasSubstr("all kernels and transfers of a copy of the model, one after the other,"),
                                   testing::HasSubstr(" ns, more than 4.61e+18 (2^62)")));
    }
}

TEST(Invariants, OfBytesBeyond64BitsAreAnError)
{
    Scenario scenario = test::smallScenario();
    scenario.training.sequenceLength = 1 << 30;
    scenario.training.microBatchSize = 1 << 20;
    scenario.training.globalBatchSize = 1 << 20;
    try {
        simulate(scenario);
        FAIL() << "simulated";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(" cannot be counted: "));
    }
}

TEST(Invariants, OfAModelBeyond64BitsAreAnError)
{
    Scenario scenario = test::smallScenario();
    scenario.model.numExperts = scenario.model.numExpertsPerTok = 65536;
    scenario.model.moeIntermediateSize = 1 << 23;
    scenario.model.hiddenSize = 1 << 20;
    scenario.model.numHiddenLayers = 8;
    try {
        simulate(scenario);
        FAIL() << "simulated";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(" cannot be counted: "));
    }
}
