// The smallest change with which a job fits: it does fit, no smaller one does, and what is said of it is what the engine says.
#include "sim/planner/least_change.h"

#include "sim/answers/plan.h"
#include "sim/cancel.h"
#include "sim/memory_limit.h"
#include "sim/scenario/json_text.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"
#include "sim/text/number_text.h"
#include "tests/support/catalogue.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace sim;
using testing::HasSubstr;

namespace {

constexpr const char* kJob = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 8,
            "num_key_value_heads": 4, "vocab_size": 8192, "max_position_embeddings": 2048},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 2, "pp": 2, "dp": 2},
  "training": {"sequence_length": 1024, "global_batch_size": 16, "micro_batch_size": 4}
})";

std::shared_ptr<const Simulation> stepOf(const ScenarioDocument& document)
{
    return simulate(resolvedScenario(document, test::catalogue()));
}

/// A job whose GPUs have that share of the memory that it needs.
ScenarioDocument withMemory(ScenarioDocument document, double share)
{
    document.set("cluster.gpu.memory_gib", std::to_string(share * stepOf(document)->metrics().peakMemoryGib));
    return document;
}

/// The job with that share of the optimizer on the host, where nothing else may change.
PlanRequest ofShare(ScenarioDocument job, double share)
{
    job.set("training.offload.optimizer", std::to_string(share));
    return {.document = job,
            .gpus = 8,
            .fixed = {{"training.recompute", "\"none\""},
                      {"training.micro_batch_size", "4"},
                      {"layout.zero_stage", "0"},
                      {"layout.sequence_parallel", "false"},
                      {"layout.tp", "2"},
                      {"layout.pp", "2"},
                      {"layout.cp", "1"},
                      {"layout.dp", "2"}}};
}

/// A job whose GPUs just hold what is left of half its optimizer, and whose hosts nearly as much as six tenths.
ScenarioDocument ofHalfAnOptimizer()
{
    const ScenarioDocument job = ScenarioDocument::parse(kJob);
    const auto metricsOf = [&](double share) { return stepOf(ofShare(job, share).document)->metrics(); };
    ScenarioDocument out = job;
    out.set("cluster.gpu.memory_gib", Json(metricsOf(0.5).peakMemoryGib).dump());
    out.set("cluster.host.memory_gib", std::to_string(0.999 * metricsOf(0.6).hostMemoryGib));
    return out;
}

struct Key {
    const char* pointer;
    std::vector<std::string> values;
};

/// Every value that a set of settings of the job can have, tried: the fastest step of what fits.
class BruteForce {
public:
    BruteForce(const ScenarioDocument& document, bool splits) : m_document(document)
    {
        m_keys = {{"training.recompute", {"\"none\"", "\"selective\""}},
                  {"training.micro_batch_size", {"1", "2", "4", "8", "16"}},
                  {"layout.zero_stage", {"0", "1", "2", "3"}},
                  {"layout.sequence_parallel", {"true", "false"}}};
        for (int layers = 1; layers <= 8; ++layers)
            m_keys[0].values.push_back("{\"kind\":\"full\",\"layers\":" + std::to_string(layers) + "}");
        if (splits)
            for (const char* size : {"layout.tp", "layout.pp", "layout.cp", "layout.dp"})
                m_keys.push_back({size, {"1", "2", "4", "8"}});
        m_gpus = resolvedScenario(document, test::catalogue()).layout.worldSize();
    }
    std::size_t keys() const { return m_keys.size(); }
    std::optional<double> fastest(unsigned set) const
    {
        std::optional<double> best;
        tryAll(set, 0, m_document, best);
        return best;
    }

    /// What is changed beside the share of the optimizer on the host, each twentieth of it.
    std::optional<double> fastestBesideOffload() const
    {
        std::optional<double> best;
        for (int twentieths = 1; twentieths <= 20; ++twentieths) {
            ScenarioDocument document = m_document;
            document.set("training.offload.optimizer", std::to_string(0.05 * twentieths));
            for (const unsigned beside : {0b001U, 0b010U, 0b100U})
                tryAll(beside, 0, document, best);
        }
        return best;
    }

    /// What is changed by itself alone: modules that run again, one or two, and the optimizer's share on the host.
    std::optional<double> fastestAlone(bool mayOffload) const
    {
        std::vector<std::pair<std::string, std::string>> tried;
        for (const std::string first : {"core_attn", "layernorm", "mlp"}) {
            tried.emplace_back("training.recompute", R"({"kind":"selective","modules":[")" + first + "\"]}");
            for (const std::string second : {"layernorm", "mlp"})
                if (first != second)
                    tried.emplace_back("training.recompute",
                                       R"({"kind":"selective","modules":[")" + first + "\",\"" + second + "\"]}");
        }
        tried.emplace_back("training.recompute", R"({"kind":"selective","modules":["operators"]})");
        for (const char* tokens : {"1024", "2048"})
            tried.emplace_back("training.loss_chunk_tokens", tokens);
        for (int twentieths = 1; mayOffload && twentieths <= 20; ++twentieths)
            tried.emplace_back("training.offload.optimizer", std::to_string(0.05 * twentieths));
        std::optional<double> best;
        const Training training = resolvedScenario(m_document, test::catalogue()).training;
        const int tokens = training.microBatchSize * training.sequenceLength;
        for (const auto& [pointer, value] : tried) {
            if (pointer == "training.loss_chunk_tokens" && tokens <= 2048)
                continue; // it is not looked at where there are few
            ScenarioDocument document = m_document;
            document.set(pointer, value);
            if (const auto step = stepOf(document); step->metrics().fits && step->metrics().hostFits)
                best = std::min(best.value_or(1e9), step->metrics().stepTimeSeconds);
        }
        return best;
    }

private:
    void tryAll(unsigned set, std::size_t from, const ScenarioDocument& document, std::optional<double>& best) const
    {
        while (from < m_keys.size() && (set >> from & 1) == 0)
            ++from;
        if (from == m_keys.size()) {
            const auto resolved = document.resolve(test::catalogue());
            if (!resolved.scenario || resolved.scenario->layout.worldSize() != m_gpus)
                return;
            const auto step = simulate(*resolved.scenario);
            if (step->metrics().fits && step->metrics().hostFits)
                best = std::min(best.value_or(1e9), step->metrics().stepTimeSeconds);
            return;
        }
        for (const std::string& value : m_keys[from].values) {
            ScenarioDocument with = document;
            with.set(m_keys[from].pointer, value);
            tryAll(set, from + 1, with, best);
        }
    }
    ScenarioDocument m_document;
    std::vector<Key> m_keys;
    std::int64_t m_gpus = 0;
};

} // namespace

TEST(LeastChange, FitsAndNoSmallerOneDoes)
{
    std::mt19937 random(1801);
    const auto oneOf = [&](std::initializer_list<const char*> values) {
        return std::string(*(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size())));
    };
    int found = 0, ofSeveral = 0, ofMoreGpus = 0, ofAlone = 0, besideOffload = 0;
    for (int i = 0; i < test::tries(40); ++i) {
        ScenarioDocument job = ScenarioDocument::parse(kJob);
        const bool isSmall = i % 2 == 0; // how it is split is not looked at, by trying everything, in the other half
        job.set("layout.tp", oneOf({"1", "2"}));
        job.set("layout.pp", oneOf({"1", "2", "4"}));
        job.set("layout.dp", oneOf({"1", "2"}));
        job.set("training.micro_batch_size", oneOf({"1", "2", "4"}));
        job.set("schedule.kind", oneOf({"1f1b", "gpipe"}));
        job.set("training.recompute", oneOf({"none", "selective"}));
        job.set("layout.zero_stage", oneOf({"0", "1"}));
        if (!job.resolve(test::catalogue()).scenario)
            continue;
        job = withMemory(job, 0.4 + 0.001 * static_cast<double>(random() % 580));
        SCOPED_TRACE(job.text());
        const bool mayOffload = i % 3 == 0;
        PlanRequest request{.document = job};
        if (!mayOffload)
            request.fixed.emplace_back("training.offload.optimizer", "0");
        else if (i % 2 == 0) // nor may it be split otherwise
            for (const char* size : {"layout.tp", "layout.pp", "layout.cp", "layout.dp"})
                request.fixed.emplace_back(size, job.get(size).value_or("1"));
        const LeastChange change = leastChange(request, test::catalogue());
        EXPECT_TRUE(change.proved);
        EXPECT_FALSE(change.fitsAlready);
        const std::optional<double> alone = BruteForce(job, false).fastestAlone(mayOffload);
        EXPECT_TRUE(change.found() || !alone);
        if (!change.found()) {
            EXPECT_FALSE(mayOffload && BruteForce(job, false).fastestBesideOffload().has_value());
            continue;
        }
        ++found;
        ofSeveral += change.settings.size() > 1 ? 1 : 0;
        ofMoreGpus += change.keepsGpus() ? 0 : 1;
        const auto step = stepOf(withChange(job, change));
        EXPECT_TRUE(step->metrics().fits);
        EXPECT_EQ(step->metrics().stepTimeSeconds, change.stepSeconds);
        EXPECT_EQ(step->metrics().peakMemoryGib, change.peakGib);
        EXPECT_EQ(step->metrics().worldSize, change.gpus);

        const BruteForce all(job, !isSmall);
        std::optional<double> fastest;
        for (unsigned set = 1; set < 1U << all.keys(); ++set) {
            const int count = std::popcount(set);
            // Of more GPUs: none with as many is enough, by up to two settings. Values of large sets are too many to try.
            const int most = change.keepsGpus() ? static_cast<int>(change.settings.size()) : 2;
            if (count > std::min(most, isSmall ? 4 : 2))
                continue;
            const std::optional<double> step_ = all.fastest(set);
            if (count < most || !change.keepsGpus()) { // of a double no single one is enough
                EXPECT_FALSE(step_.has_value()) << "set " << set;
            } else if (step_ && set < 16) {
                fastest = std::min(fastest.value_or(1e9), *step_);
            }
        }
        if (alone) {
            EXPECT_EQ(change.settings.size(), 1U) << change.edit.text;
            ofAlone += fastest && *fastest <= *alone ? 0 : 1;
            fastest = std::min(fastest.value_or(1e9), *alone);
        }
        if (mayOffload && !alone && (change.settings.size() > 1 || !change.keepsGpus())) {
            const std::optional<double> beside = all.fastestBesideOffload();
            EXPECT_FALSE(beside && (change.settings.size() > 2 || !change.keepsGpus())) << change.edit.text;
            besideOffload += beside && (!fastest || *beside < *fastest) ? 1 : 0;
            if (beside)
                fastest = std::min(fastest.value_or(1e9), *beside);
        }
        if (fastest) { // those that leave the split come first
            EXPECT_EQ(change.stepSeconds, *fastest);
            for (const ChangedSetting& setting : change.settings)
                EXPECT_THAT(setting.pointer, testing::AnyOf(HasSubstr("training."), HasSubstr("zero"), HasSubstr("sequence")));
        }
    }
    EXPECT_GT(found, test::tries(25));
    EXPECT_TRUE(ofSeveral > 5 || test::oneIn() > 1) << ofSeveral;
    EXPECT_GT(ofAlone, 0);
    EXPECT_TRUE(besideOffload > 0 || test::oneIn() > 1);
    std::printf(
        "%d found, %d of several settings, %d of more GPUs, %d of modules or the host alone, %d of the host and one more\n",
        found, ofSeveral, ofMoreGpus, ofAlone, besideOffload);
}

/// Half the optimizer and half the micro-batch: neither is enough where the GPUs just hold what both leave.
TEST(LeastChange, OffloadsBesideOneOtherSettingWhereNeitherIsEnough)
{
    PlanRequest request = ofShare(ScenarioDocument::parse(kJob), 0);
    request.document.erase("training.offload.optimizer");
    const auto peakOf = [&](const char* microBatch, double share) {
        ScenarioDocument job = request.document;
        job.set("training.micro_batch_size", microBatch);
        job.set("training.offload.optimizer", Json(share).dump());
        return stepOf(job)->metrics().peakMemoryGib;
    };
    const double gib = peakOf("1", 0.5);
    request.document.set("cluster.gpu.memory_gib", Json(gib).dump());
    ASSERT_GT(peakOf("1", 0), gib);
    ASSERT_GT(peakOf("4", 1), gib);
    const LeastChange none = leastChange(request, test::catalogue());
    EXPECT_FALSE(none.found());
    EXPECT_TRUE(none.proved);
    EXPECT_THAT(none.text(), HasSubstr("offloaded optimizer by itself or of the number of GPUs"));
    std::erase_if(request.fixed, [](const PlanSetting& held) { return held.first == "training.micro_batch_size"; });
    const LeastChange both = leastChange(request, test::catalogue());
    ASSERT_EQ(both.settings.size(), 2U) << both.text();
    EXPECT_EQ(both.settings[0].pointer, "training.micro_batch_size");
    EXPECT_EQ(both.settings[1].pointer, "training.offload.optimizer");
    EXPECT_TRUE(both.proved);
    const auto step = stepOf(withChange(request.document, both));
    EXPECT_TRUE(step->metrics().fits && step->metrics().hostFits);
    EXPECT_EQ(step->metrics().stepTimeSeconds, both.stepSeconds);
    EXPECT_THAT(both.edit.text, testing::ContainsRegex("micro-batch 4 → [12], offloaded optimizer 0 % → [0-9]+ %"));
    EXPECT_THAT(both.proofText(), HasSubstr("offloaded optimizer by itself or beside micro-batch ("));
    EXPECT_THAT(both.proofText(),
                HasSubstr("share on the host in twentieths, beside no other setting than micro-batch, one at a time"));

    // What the host holds is enough for one of them.
    ScenarioDocument small = request.document;
    small.set("cluster.host.memory_gib", "0.001");
    EXPECT_FALSE(leastChange({.document = small, .gpus = 8, .fixed = request.fixed}, test::catalogue()).found());
}

TEST(LeastChange, SaysWhatTheEngineSays)
{
    const ScenarioDocument job = withMemory(ScenarioDocument::parse(kJob), 0.8);
    const LeastChange change = leastChange({.document = job}, test::catalogue());
    ASSERT_TRUE(change.found());
    const auto before = stepOf(job), after = stepOf(withChange(job, change));
    const double seconds = after->metrics().stepTimeSeconds, secondsBefore = before->metrics().stepTimeSeconds;
    const std::string text = change.text();
    for (const std::string& number : {numberText(after->metrics().peakMemoryGib * kBytesPerGib, Unit::bytes),
                                      numberText(before->metrics().peakMemoryGib * kBytesPerGib, Unit::bytes),
                                      numberText(before->scenario().cluster.gpu.memoryGib * kBytesPerGib, Unit::bytes),
                                      numberText(seconds, Unit::seconds), numberText(secondsBefore, Unit::seconds)})
        EXPECT_THAT(text, HasSubstr(number));
    if (std::abs(seconds / secondsBefore - 1) > 0.001) {
        EXPECT_THAT(text, HasSubstr(percentText(std::abs(seconds / secondsBefore - 1))));
    }
    for (const ChangedSetting& setting : change.settings) {
        EXPECT_NE(setting.before, setting.after);
        EXPECT_THAT(text, HasSubstr(setting.before + " → " + setting.after));
    }
    const Answer answer = leastChangeAnswer(change);
    EXPECT_EQ(answer.at("after").at("step_time_s"), seconds);
    EXPECT_EQ(answer.at("before").at("peak_memory_gib"), before->metrics().peakMemoryGib);
    EXPECT_EQ(answer.at("set").size() + answer.at("erase").size(), change.edit.changes.size());
}

TEST(LeastChange, OfWhatFitsIsNone)
{
    const LeastChange change = leastChange({.document = ScenarioDocument::parse(kJob)}, test::catalogue());
    EXPECT_TRUE(change.fitsAlready);
    EXPECT_FALSE(change.found());
    EXPECT_TRUE(change.edit.changes.empty());
    EXPECT_THAT(change.text(), HasSubstr("fits as it is"));
}

TEST(LeastChange, LeavesWhatIsHeldAndKeepsAMargin)
{
    const ScenarioDocument job = withMemory(ScenarioDocument::parse(kJob), 0.8);
    const LeastChange any = leastChange({.document = job}, test::catalogue());
    ASSERT_TRUE(any.found());
    const std::string first = any.settings.front().pointer;
    const LeastChange other =
        leastChange({.document = job, .fixed = {{first, job.get(first).value_or("\"none\"")}}}, test::catalogue());
    ASSERT_TRUE(other.found());
    for (const ChangedSetting& setting : other.settings)
        EXPECT_NE(setting.pointer, first);
    const double margin = 0.2 * any.capacityGib;
    const LeastChange free = leastChange({.document = job, .marginGib = margin}, test::catalogue());
    ASSERT_TRUE(free.found());
    EXPECT_LE(stepOf(withChange(job, free))->metrics().peakMemoryGib, any.capacityGib - margin);
    EXPECT_GE(free.settings.size(), any.settings.size());
}

TEST(LeastChange, TakesMoreGpusOnlyWhereAsManyAreNotEnough)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    for (const char* size : {"layout.tp", "layout.pp", "layout.dp"})
        job.set(size, "1");
    job = withMemory(job, 0.3);
    job.set("cluster.host.memory_gib", "0.1"); // nor does it help to offload
    const LeastChange change = leastChange({.document = job}, test::catalogue());
    ASSERT_TRUE(change.found());
    EXPECT_GT(change.gpus, 1);
    EXPECT_TRUE(stepOf(withChange(job, change))->metrics().fits);
    EXPECT_THAT(change.text(), HasSubstr("on 1 GPU nothing of"));
    const LeastChange none = leastChange({.document = job, .gpus = 1}, test::catalogue());
    EXPECT_FALSE(none.found());
    EXPECT_TRUE(none.proved);
    EXPECT_THAT(none.text(), HasSubstr("no change of recompute"));
}

TEST(LeastChange, FollowsWithWhatAFileSaidThatFollows)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    for (const auto& [pointer, value] :
         {std::pair{"layout.dp_shard", "2"}, {"schedule.layers_per_stage", "[4,4]"}, {"layout.etp", "2"}})
        job.set(pointer, value);
    job = withMemory(job, 0.5);
    std::vector<PlanSetting> held{{"training.offload.optimizer", "0"}}; // so that only sizes are left
    for (const char* pointer :
         {"training.recompute", "training.micro_batch_size", "layout.zero_stage", "layout.sequence_parallel"})
        held.emplace_back(pointer, job.get(pointer).value_or(std::string(pointer) == "training.recompute"         ? "\"none\""
                                                             : std::string(pointer) == "layout.sequence_parallel" ? "false"
                                                                                                                  : "0"));
    const LeastChange change = leastChange({.document = job, .fixed = held}, test::catalogue());
    ASSERT_TRUE(change.found());
    const Scenario scenario = resolvedScenario(withChange(job, change), test::catalogue());
    EXPECT_EQ(scenario.layout.dpShard, scenario.layout.dp * scenario.layout.cp);
    EXPECT_TRUE(simulate(scenario)->metrics().fits);
}

/// A file that does not say its batch has one by its layout: another layout is to train the same job.
TEST(LeastChange, KeepsABatchThatNobodySaid)
{
    ScenarioDocument document = ScenarioDocument::parse(kJob);
    document.erase("training.global_batch_size");
    document = withMemory(document, 0.5);
    const Scenario before = resolvedScenario(document, test::catalogue());
    const LeastChange found = leastChange({.document = document}, test::catalogue());
    ASSERT_TRUE(found.found());
    const auto after = stepOf(withChange(document, found));
    EXPECT_EQ(after->scenario().training.globalBatchSize, before.training.globalBatchSize) << found.text();
    EXPECT_EQ(after->metrics().stepTimeSeconds, found.stepSeconds);
    EXPECT_LE(after->metrics().peakMemoryGib, found.capacityGib);
    ScenarioDocument said = document;
    said.set("training.global_batch_size", std::to_string(before.training.globalBatchSize));
    EXPECT_EQ(leastChange({.document = said}, test::catalogue()).text(), found.text());
}

TEST(LeastChange, IsTheSameForAnyNumberOfThreadsAndCanBeStopped)
{
    const ScenarioDocument job = withMemory(ScenarioDocument::parse(kJob), 0.55);
    PlanRequest one{.document = job}, three{.document = job};
    one.jobs = 1;
    three.jobs = 3;
    EXPECT_EQ(leastChangeAnswer(leastChange(one, test::catalogue())).dump(),
              leastChangeAnswer(leastChange(three, test::catalogue())).dump());
    const CancelScope stopped([] { return true; });
    EXPECT_THROW((void)leastChange(one, test::catalogue()), Cancelled);
}

/// What is offloaded: it fits the GPUs, and not the host.
TEST(LeastChange, LooksAtTheHostsMemoryToo)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    job.set("training.offload", R"({"optimizer": 1, "activation_layers": 4})");
    job.set("cluster.host.memory_gib", std::to_string(0.9 * stepOf(job)->metrics().hostMemoryGib));
    ASSERT_TRUE(stepOf(job)->metrics().fits);
    ASSERT_FALSE(stepOf(job)->metrics().hostFits);
    const LeastChange change = leastChange({.document = job}, test::catalogue());
    EXPECT_FALSE(change.fitsAlready);
    EXPECT_THAT(change.text(), HasSubstr("of a node's host"));
    if (change.found()) {
        EXPECT_TRUE(stepOf(withChange(job, change))->metrics().hostFits);
    }
    job.set("cluster.host.memory_gib", "0.001");
    PlanRequest request{.document = job};
    for (const auto& [pointer, value] : {std::pair{"training.recompute", "\"none\""},
                                         {"training.micro_batch_size", "1"},
                                         {"layout.zero_stage", "0"},
                                         {"layout.sequence_parallel", "false"},
                                         {"layout.tp", "2"},
                                         {"layout.cp", "1"}})
        request.fixed.emplace_back(pointer, value);
    request.gpus = 8;
    const LeastChange none = leastChange(request, test::catalogue());
    EXPECT_FALSE(none.found());
    EXPECT_THAT(none.text(), HasSubstr("What is offloaded would take"));
    request.fixed.insert(request.fixed.end(), {{"layout.pp", "2"}, {"schedule.kind", "1f1b"}, {"schedule.virtual_stages", "1"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_TRUE(answer.best.empty());
    ASSERT_EQ(answer.rejected.size(), 1U);
    EXPECT_EQ(answer.rejected.front().reason, PlanReason::memory);
    EXPECT_GT(answer.rejected.front().needHostGib, 0.001);
    EXPECT_EQ(answer.rejected.front().needGib, 0) << "the GPUs are not what is too small";
    EXPECT_THAT(answer.rejected.front().text, HasSubstr("does not fit its hosts"));
}

TEST(LeastChange, TakesBackFromAHostThatIsTooFull)
{
    const ScenarioDocument job = ofHalfAnOptimizer();
    for (const double share : {1.0, 0.63, 0.6}) { // of which one is between two that are tried
        const PlanRequest request = ofShare(job, share);
        ASSERT_TRUE(stepOf(request.document)->metrics().fits);
        ASSERT_FALSE(stepOf(request.document)->metrics().hostFits);
        const LeastChange change = leastChange(request, test::catalogue());
        ASSERT_EQ(change.settings.size(), 1U) << share;
        EXPECT_EQ(change.settings.front().after, "50 %");
        const auto step = stepOf(withChange(request.document, change));
        EXPECT_TRUE(step->metrics().fits && step->metrics().hostFits);
        EXPECT_EQ(step->metrics().stepTimeSeconds, change.stepSeconds);
    }
    ScenarioDocument wide = job;
    wide.set("cluster.gpu.memory_gib", "80");
    const LeastChange none = leastChange(ofShare(wide, 1), test::catalogue());
    ASSERT_TRUE(none.found());
    EXPECT_EQ(none.settings.front().after, "0 %") << "nothing needs to be offloaded";
    wide.set("training.offload.activation_layers", "4");
    wide.set("cluster.host.memory_gib", "0.001");
    EXPECT_FALSE(leastChange(ofShare(wide, 0), test::catalogue()).found()) << "as much as now is no change";
}

TEST(LeastChange, SaysAShareSoThatNoOtherReadsAlike)
{
    for (const auto& [share, said] : {std::pair{0.4999, "49.99 %"}, {0.499999, "49.9999 %"}}) {
        const PlanRequest request = ofShare(ofHalfAnOptimizer(), share);
        ASSERT_FALSE(stepOf(request.document)->metrics().fits);
        const LeastChange change = leastChange(request, test::catalogue());
        ASSERT_EQ(change.settings.size(), 1U);
        EXPECT_EQ(change.settings.front().before, said);
        EXPECT_EQ(change.settings.front().after, "50 %");
        EXPECT_TRUE(stepOf(withChange(request.document, change))->metrics().fits);
    }
}

TEST(LeastChange, OffloadsAllWhereTheFrameworkKeepsNoPartOfTheOptimizer)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    for (const auto& [pointer, value] : {std::pair{"layout", R"({"dp": 8, "zero_stage": 2})"},
                                         {"training.overlap.param_gather", "false"},
                                         {"training.stack", "\"megatron-te-2024\""}})
        job.set(pointer, value);
    job.set("training.global_batch_size", "32");
    ScenarioDocument half = job;
    half.set("training.offload.optimizer", "0.5");
    job.set("cluster.gpu.memory_gib", Json(stepOf(half)->metrics().peakMemoryGib).dump());
    PlanRequest request{.document = job,
                        .gpus = 8,
                        .fixed = {{"training.recompute", "\"none\""},
                                  {"training.micro_batch_size", "4"},
                                  {"layout.zero_stage", "2"},
                                  {"layout.sequence_parallel", "false"},
                                  {"layout.tp", "1"},
                                  {"layout.pp", "1"},
                                  {"layout.cp", "1"},
                                  {"layout.dp", "8"}},
                        .framework = "deepspeed"};
    const LeastChange whole = leastChange(request, test::catalogue());
    ASSERT_EQ(whole.settings.size(), 1U);
    EXPECT_EQ(whole.settings.front().after, "100 %");
    EXPECT_THAT(whole.proofText(), HasSubstr("; all of the optimizer on the host, beside no other setting"));
    request.framework.clear();
    EXPECT_EQ(leastChange(request, test::catalogue()).settings.front().after, "50 %");
}

TEST(LeastChange, KeepsWithinTheCapOfASearchedOrder)
{
    PlanRequest request = ofShare(ScenarioDocument::parse(kJob), 0);
    request.fixed.emplace_back("training.offload.optimizer", "0");
    std::erase_if(request.fixed, [](const PlanSetting& held) { return held.first == "training.recompute"; });
    request.document.set("schedule.kind", "auto");
    const double cap = 0.5 * stepOf(request.document)->metrics().peakMemoryGib;
    request.document.set("schedule.memory_cap_gib", std::to_string(cap));
    ASSERT_TRUE(stepOf(request.document)->metrics().fits);
    ASSERT_FALSE(fitsEverywhere(*stepOf(request.document)));
    const LeastChange change = leastChange(request, test::catalogue());
    EXPECT_FALSE(change.fitsAlready);
    EXPECT_NEAR(change.capacityGib, cap, 1e-6);
    ASSERT_TRUE(change.found());
    EXPECT_TRUE(fitsEverywhere(*stepOf(withChange(request.document, change))));
}

TEST(LeastChange, LeavesWhatIsHeldThoughItMightFollow)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    for (const auto& [pointer, value] : {std::pair{"model.num_experts", "8"},
                                         {"model.num_experts_per_tok", "2"},
                                         {"model.moe_intermediate_size", "1408"},
                                         {"layout.ep", "1"},
                                         {"training.micro_batch_size", "1"}})
        job.set(pointer, value);
    job = withMemory(job, 0.7);
    PlanRequest request{.document = job, .fixed = {{"layout.etp", "2"}}};
    for (const char* pointer : {"training.recompute", "layout.zero_stage", "layout.sequence_parallel"})
        request.fixed.emplace_back(pointer, std::string(pointer) == "training.recompute"  ? "\"none\""
                                            : std::string(pointer) == "layout.zero_stage" ? "0"
                                                                                          : "false");
    request.gpus = 8;
    const LeastChange change = leastChange(request, test::catalogue());
    if (change.found()) {
        EXPECT_EQ(resolvedScenario(withChange(job, change), test::catalogue()).layout.etp, 2);
    }
    for (const Change& each : change.edit.changes)
        EXPECT_NE(each.pointer, "/layout/etp");
    request.fixed.erase(request.fixed.begin());
    const LeastChange follows = leastChange(request, test::catalogue());
    ASSERT_TRUE(follows.found());
    std::printf("held: %s\nfollows: %s\n", change.text().c_str(), follows.text().c_str());
}

TEST(LeastChange, ClaimsNoMoreThanItLookedAt)
{
    const ScenarioDocument job = withMemory(ScenarioDocument::parse(kJob), 0.8);
    const LeastChange change = leastChange({.document = job}, test::catalogue());
    ASSERT_TRUE(change.found());
    ASSERT_TRUE(change.keepsSplit); // sets that change the split were not looked at then
    EXPECT_THAT(change.proofText(), HasSubstr("that leave the split as it is none are faster"));
    EXPECT_THAT(change.proofText(),
                HasSubstr("sequence parallelism, tp, pp, cp, dp, tokens of the loss at a time by itself, offloaded optimizer "
                          "by itself or beside recompute, micro-batch or ZeRO stage ("));
    EXPECT_THAT(change.proofText(), HasSubstr("each one or two modules"));
    EXPECT_THAT(change.proofText(), HasSubstr("share on the host in twentieths, beside no other setting"));
    EXPECT_THAT(change.proofText(), HasSubstr("Types of gradients and moments"));
    PlanRequest held{.document = job};
    held.fixed = {{"training.offload.optimizer", "0"}, {"training.recompute", "\"none\""}};
    const LeastChange other = leastChange(held, test::catalogue());
    ASSERT_TRUE(other.found());
    EXPECT_THAT(other.proofText(), HasSubstr("of micro-batch, ZeRO stage"));
    EXPECT_THAT(other.proofText(), testing::Not(HasSubstr("modules")));
    EXPECT_THAT(other.proofText(), testing::Not(HasSubstr("share on the host")));
}

/// A head over 128K words on one GPU: its logits are what is too much, and nothing else of this job has to change.
TEST(LeastChange, TakesTheLossInChunksWhereThatIsEnough)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    job.set("model.vocab_size", "131072");
    job.set("training.global_batch_size", "32");
    job.set("layout", R"({"tp": 1, "pp": 1, "dp": 8, "zero_stage": 1})");
    ScenarioDocument chunked = job;
    chunked.set("training.loss_chunk_tokens", "2048");
    const double needGib = stepOf(chunked)->metrics().peakMemoryGib;
    ASSERT_LT(needGib, 0.9 * stepOf(job)->metrics().peakMemoryGib);
    job.set("cluster.gpu.memory_gib", Json(needGib).dump());
    PlanRequest request{.document = job, .gpus = 8};
    for (const char* held :
         {"training.micro_batch_size", "layout.zero_stage", "layout.tp", "layout.pp", "layout.cp", "layout.dp"})
        request.fixed.emplace_back(held, job.get(held).value_or("1"));
    const LeastChange change = leastChange(request, test::catalogue());
    ASSERT_EQ(change.settings.size(), 1U) << change.text();
    EXPECT_EQ(change.settings.front().pointer, "training.loss_chunk_tokens") << change.text();
    EXPECT_THAT(change.text(), HasSubstr("tokens of the loss at a time all → "));
    EXPECT_TRUE(stepOf(withChange(job, change))->metrics().fits);
}

/// Copies in 8 bits beside parameters in 16: parameters in 8 bits alone, which wants the optimizer in shards.
TEST(LeastChange, LeavesOutCopiesOfParametersWhereThatIsEnough)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    job.set("training.precision", "fp8");
    job.set("training.stack", "megatron-te-2025");
    job.set("layout", R"({"tp": 1, "pp": 1, "dp": 8, "zero_stage": 1})");
    job.set("training.recompute", "full");
    job.set("training.micro_batch_size", "1");
    const Scenario scenario = resolvedScenario(job, test::catalogue());
    ASSERT_TRUE(scenario.training.stack.keepsNarrowWeights);
    ScenarioDocument narrow = job;
    narrow.set("training.stack", R"({"base": "megatron-te-2025", "keeps_narrow_weights": false})");
    job.set("cluster.gpu.memory_gib", Json(stepOf(narrow)->metrics().peakMemoryGib).dump());
    PlanRequest request{.document = job, .gpus = 8};
    for (const char* held : {"layout.zero_stage", "layout.dp"})
        request.fixed.emplace_back(held, *job.get(held));
    for (const char* held : {"layout.tp", "layout.pp", "layout.cp"})
        request.fixed.emplace_back(held, "1");
    request.fixed.emplace_back("training.offload.optimizer", "0");
    const LeastChange change = leastChange(request, test::catalogue());
    ASSERT_EQ(change.settings.size(), 1U) << change.text();
    EXPECT_EQ(change.settings.front().pointer, "training.stack.keeps_narrow_weights");
    EXPECT_THAT(change.text(), HasSubstr("parameters in 16 bits beside those in 8 kept → not kept"));
    EXPECT_EQ(stepOf(withChange(job, change))->metrics().peakMemoryGib, change.peakGib);
    request.document.set("layout.zero_stage", "0");
    request.fixed.front().second = "0";
    EXPECT_THAT(leastChange(request, test::catalogue()).searched, testing::Not(HasSubstr("copies of parameters")))
        << "in no shards";
}

/// Sharded gradients that wait whole for a step's last micro-batch are shards where each one's are reduced.
TEST(LeastChange, ReducesGradientsWithEachMicrobatchWhereThatIsEnough)
{
    ScenarioDocument job = ScenarioDocument::parse(kJob);
    job.set("training.global_batch_size", "64");
    job.set("training.micro_batch_size", "1");
    job.set("training.recompute", "full");
    job.set("layout", R"({"tp": 1, "pp": 1, "dp": 8, "zero_stage": 3, "reduce_each_microbatch": true})");
    const double needGib = stepOf(job)->metrics().peakMemoryGib;
    job.set("layout.reduce_each_microbatch", "false");
    ASSERT_GT(stepOf(job)->metrics().peakMemoryGib, needGib);
    job.set("cluster.gpu.memory_gib", Json(needGib).dump());
    PlanRequest request{.document = job, .gpus = 8};
    for (const char* held : {"layout.tp", "layout.pp", "layout.cp", "layout.dp", "training.micro_batch_size"})
        request.fixed.emplace_back(held, job.get(held).value_or("1"));
    request.fixed.emplace_back("training.offload.optimizer", "0");
    const LeastChange change = leastChange(request, test::catalogue());
    ASSERT_EQ(change.settings.size(), 1U) << change.text();
    EXPECT_EQ(change.settings.front().pointer, "layout.reduce_each_microbatch") << change.text();
    EXPECT_THAT(change.text(), HasSubstr("gradients reduced once a step → with each micro-batch"));
    request.document.set("layout.reduce_each_microbatch", "true");
    EXPECT_THAT(leastChange(request, test::catalogue()).searched, testing::Not(HasSubstr("gradients reduced")));
}

TEST(LeastChange, TellsOfWhatBarelyDoesNotFitThatItIsMoreThanThereIs)
{
    LeastChange change{.capacityGib = 80, .peakBeforeGib = 80.003, .searched = "tp"};
    EXPECT_THAT(change.text(), testing::StartsWith("The fullest GPU would hold 80.003 GiB of 80 GiB, and no change of tp"));
    change.overfillsHost = true;
    change.hostCapacityGib = 256;
    change.hostBeforeGib = 256.2;
    EXPECT_THAT(change.text(), testing::StartsWith("What is offloaded would take 256.2 GiB of the 256 GiB of a node's host"));
    change.hostBeforeGib = 300;
    EXPECT_THAT(change.text(), testing::StartsWith("What is offloaded would take 300 GiB of the 256 GiB of a node's host"));
}

/// A number of layers that run again is all of one pipeline's chunks, and not all of another's.
TEST(LeastChange, CountsLayersThatRunAgainWhereAllOfAChunkBecomeMore)
{
    ScenarioDocument job = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"vocab_size": 4096, "max_position_embeddings": 2048, "num_hidden_layers": 4, "hidden_size": 512,
                "intermediate_size": 1024, "num_attention_heads": 8},
      "cluster": {"base": "h100-sxm-ib400"},
      "layout": {"tp": 1, "pp": 4, "dp": 2, "zero_stage": 3, "reshard_after_forward": true},
      "schedule": {"kind": "gpipe", "virtual_stages": 1},
      "training": {"sequence_length": 512, "global_batch_size": 8, "micro_batch_size": 2,
                   "recompute": {"kind": "full", "layers": 1}}})");
    const PlanRequest request{.document = job, .fixed = {{"training.offload.optimizer", "0"}}, .marginGib = 79.93715333932315};
    const LeastChange change = leastChange(request, test::catalogue());
    ASSERT_TRUE(change.found());
    EXPECT_LE(change.peakGib, change.capacityGib);
    EXPECT_EQ(stepOf(withChange(job, change))->metrics().peakMemoryGib, change.peakGib);
    EXPECT_THAT(change.edit.text, HasSubstr("recompute full, 1 layer of each chunk → full, 4 layers of each chunk"));
}

TEST(LeastChange, LeavesOutLayersThatRunAgainWhereTheirNumberStays)
{
    ScenarioDocument job = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"vocab_size": 4096, "max_position_embeddings": 2048, "num_hidden_layers": 4, "hidden_size": 512,
                "intermediate_size": 1024, "num_attention_heads": 8, "num_experts": 4, "num_experts_per_tok": 2,
                "moe_intermediate_size": 256},
      "cluster": {"base": "h100-sxm-ib400"},
      "layout": {"tp": 2, "pp": 1, "dp": 4, "zero_stage": 0, "sequence_parallel": true, "etp": 1, "dp_shard": 1},
      "schedule": {"kind": "looped-bfs", "virtual_stages": 2},
      "training": {"sequence_length": 512, "global_batch_size": 16, "micro_batch_size": 1,
                   "recompute": {"kind": "full", "layers": 1}}})");
    const PlanRequest request{.document = job, .fixed = {{"training.offload.optimizer", "0"}}, .marginGib = 79.91053295126551};
    const LeastChange change = leastChange(request, test::catalogue());
    ASSERT_TRUE(change.found());
    EXPECT_LE(change.peakGib, change.capacityGib);
    EXPECT_EQ(change.settings.size(), 3U) << change.edit.text;
    EXPECT_THAT(change.edit.text, testing::Not(HasSubstr("recompute")));
}
