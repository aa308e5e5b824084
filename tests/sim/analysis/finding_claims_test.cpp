// Nothing that a finding says stands in it unproved: every number is a claim, and every claim is computed again by another way.
#include "sim/analysis/findings/findings.h"

#include "sim/memory_limit.h"
#include "tests/sim/analysis/claim_proof.h"
#include "tests/support/catalogue.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

using namespace sim;
using test::Opened;

namespace {

/// What the text says besides its claims.
std::string withoutClaims(const Finding& finding, const Scenario& scenario)
{
    std::string text = finding.title + " " + finding.reason;
    const auto drop = [&text](const std::string& part) {
        for (std::size_t at = text.find(part); !part.empty() && at != std::string::npos; at = text.find(part, at + 1))
            if (at == 0 || std::string("0123456789.,").find(text[at - 1]) == std::string::npos) // not the end of a number
                text.replace(at, part.size(), "#");
    };
    std::vector<std::string> claims;
    for (const Claim& claim : finding.claims)
        claims.push_back(claim.text);
    std::sort(claims.begin(), claims.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const Tier& tier : scenario.cluster.tiers)
        drop(tier.name);
    for (const std::string& claim : claims)
        drop(claim);
    for (const char* name : {"1F1B", "ZeRO 1", "ZeRO 3", "bf16", "fp16", "fp32", "tf32"})
        drop(name);
    return text;
}

/// "tp 16 → 8, dp 4 → 8": what stands in an edit is what the scenario had, and what it has with the edit.
void expectEditSaysWhatItDoes(const SuggestedEdit& edit, const Scenario& before, const Scenario& after)
{
    const std::map<std::string, int (*)(const Scenario&)> values{
        {"tp", [](const Scenario& s) { return s.layout.tp; }},
        {"cp", [](const Scenario& s) { return s.layout.cp; }},
        {"ep", [](const Scenario& s) { return s.layout.ep; }},
        {"etp", [](const Scenario& s) { return s.layout.etp; }},
        {"pp", [](const Scenario& s) { return s.layout.pp; }},
        {"dp", [](const Scenario& s) { return s.layout.dp; }},
        {"nodes", [](const Scenario& s) { return s.cluster.nodes; }},
        {"ZeRO", [](const Scenario& s) { return s.layout.zeroStage; }},
        {"shard group", [](const Scenario& s) { return s.layout.dpShard; }},
        {"micro-batch", [](const Scenario& s) { return s.training.microBatchSize; }},
        {"global batch", [](const Scenario& s) { return s.training.globalBatchSize; }},
        {"chunks a rank", [](const Scenario& s) { return s.schedule.virtualStages; }}};
    std::string text = edit.text;
    static const std::regex kArrow("(^|, )([a-zA-Z][a-zA-Z -]*) ([0-9]+) → ([0-9]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), kArrow), end; at != end; ++at) {
        const auto value = values.find((*at)[2].str());
        if (value == values.end())
            continue; // "stage 0 10 → 8" has a test of its own
        EXPECT_EQ(std::stoi((*at)[3]), value->second(before)) << edit.text;
        EXPECT_EQ(std::stoi((*at)[4]), value->second(after)) << edit.text;
    }
}

class FindingClaims : public testing::Test {
protected:
    void prove(const Opened& opened)
    {
        for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue())) {
            SCOPED_TRACE(finding.title + " | " + finding.reason);
            ++m_kinds[finding.kind];
            const std::string rest = withoutClaims(finding, opened.simulation->scenario());
            EXPECT_FALSE(std::regex_search(rest, std::regex("[0-9]"))) << "a number that is no claim: " << rest;
            static const std::regex kComparison(
                "\\b(more|less|fewer|fewest|longer|longest|shorter|faster|slower|slowest|same|twice|double|half|halves|larger|"
                "largest|smaller|smallest|greater|higher|lower|equally|too|most|least)\\b",
                std::regex::icase);
            EXPECT_FALSE(std::regex_search(rest, kComparison)) << "a comparison that is no claim: " << rest;
            for (const SuggestedEdit& edit : finding.suggestions)
                expectEditSaysWhatItDoes(edit, opened.simulation->scenario(),
                                         scenarioWith(edit, opened.document, test::catalogue()).value());
            for (const Claim& claim : finding.claims) {
                SCOPED_TRACE(claim.text);
                EXPECT_NE((finding.title + " " + finding.reason).find(claim.text), std::string::npos) << "not said";
                const double again = test::provenAgain(opened, finding, claim);
                EXPECT_LE(std::abs(again - claim.value), 1e-6 * std::abs(again) + 1e-9) << claim.value << " is " << again;
                // What is read is what is meant: three digits.
                if (std::isdigit(static_cast<unsigned char>(claim.text.front())) != 0 && claim.of != ClaimOf::idealBubble) {
                    EXPECT_NEAR(asRead(claim.text), std::abs(again), 0.0051 * std::abs(again) + 0.00051) << claim.text;
                }
                m_claims.insert(claim.of);
            }
        }
    }
    /// "12.3 % less" is 0.123, "71.2 GiB" so many bytes.
    static double asRead(const std::string& text)
    {
        std::string number = text;
        std::erase(number, ',');
        double value = std::stod(number);
        const auto unit = number.substr(std::min(number.size(), number.find(' ') + 1));
        const std::map<std::string, double> units{
            {"%", 0.01},     {"ms", 1e-3},       {"µs", 1e-6},          {"ns", 1e-9},
            {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", kBytesPerGib}, {"TiB", 1024 * kBytesPerGib}};
        for (const auto& [name, scale] : units)
            if (number.find(' ') != std::string::npos && unit.starts_with(name))
                return value * scale;
        return value;
    }

    std::map<FindingKind, int> m_kinds;
    std::set<ClaimOf> m_claims;
};

} // namespace

TEST_F(FindingClaims, OfTheGalleryAndOfEveryKindOfTroubleAreTrue)
{
    for (const auto& file : test::galleryFiles()) {
        SCOPED_TRACE(file.filename().string());
        if (const Opened opened = test::open(file); opened.simulation->metrics().worldSize <= 2048)
            prove(opened);
    }
    const std::string slow = R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":0.1,"latency_us":10}])";
    const std::vector<std::pair<const char*, std::vector<std::string>>> troubles = {
        {"17", {"cluster.gpu.memory_gib=17"}},
        {"17", {"cluster.gpu.memory_gib=18"}},
        {"17", {"cluster.gpu.memory_gib=20"}},
        {"73", {"schedule.memory_cap_gib=3"}},
        {"53", {"layout.zero_stage=0"}},
        {"02", {"layout.order=dp-tp-cp-ep-pp"}},
        {"02", {"layout.tp=4", "layout.dp=4", "cluster.gpus_per_node=6", "cluster.nodes=3"}},
        {"11", {"training.sequence_length=1024", "training.micro_batch_size=1"}},
        {"86", {"layout.zero_stage=1", "training.global_batch_size=8", "training.overlap.param_gather=false"}},
        {"86", {"layout.zero_stage=3", "training.global_batch_size=64", "training.overlap.grad_reduce=false"}},
        {"02", {"cluster.nodes=4"}},
        {"03", {"training.precision=fp32"}},
        {"10", {"training.precision=tf32"}},
        {"60", {"cluster=dgx-1-v100", "training.precision=fp32"}},
        {"01", {"training.overlap.grad_reduce=false"}},
        {"17", {"training.sequence_length=128", "training.micro_batch_size=1"}},
        {"51", {"training.sequence_length=256", "training.micro_batch_size=1"}},
        {"03",
         {"training.sequence_length=65536", "cluster.efficiency.attention_forward=0.2",
          "cluster.efficiency.attention_backward=0.2"}},
        {"61", {slow}},
        {"58", {slow}},
        {"18", {slow}},
        {"58", {slow, "layout.zero_stage=3"}},
        {"58", {"training.global_batch_size=2", "training.micro_batch_size=1"}},
        {"50", {"training.moe.imbalance=2"}},
        {"52", {"training.overlap.ep_comm=true"}},
        {"52", {"cluster.gpus_per_node=6", "cluster.nodes=43"}},
        {"50", {R"(cluster.tiers=[{"name":"slow","span":"all","bandwidth_gbs":10,"latency_us":10}])"}},
        {"14",
         {R"(cluster.tiers=[{"name":"nvlink","span":4,"bandwidth_gbs":300,"latency_us":2},)"
          R"({"name":"slingshot","span":"all","bandwidth_gbs":25,"latency_us":6,"gpus_per_nic":4}])"}},
        {"02", {"training.overlap.tp_comm=true"}},
        {"72", {"training.attention=unfused"}},
        {"70", {"layout.dp=2", "cluster.nodes=2"}},
        {"61", {"training.attention=unfused"}},
        {"17", {"training.offload.activation_layers=8"}},
        {"17", {"training.offload.optimizer=0.5", "cluster.host.memory_gib=1"}},
        {"86", {"training.offload.optimizer=1"}},
        {"01", {"perturbations=[{\"kind\":\"jitter\",\"sigma\":0.2,\"seed\":3}]"}},
    };
    for (const auto& [number, overrides] : troubles) {
        SCOPED_TRACE(std::string(number) + " " + testing::PrintToString(overrides));
        prove(test::openNumber(number, overrides));
    }
    for (int kind = 0; kind <= static_cast<int>(FindingKind::composition); ++kind)
        EXPECT_TRUE(m_kinds.contains(static_cast<FindingKind>(kind))) << "no job here has the finding number " << kind;
    for (int of = 0; of <= static_cast<int>(ClaimOf::hostHas); ++of)
        EXPECT_TRUE(m_claims.contains(static_cast<ClaimOf>(of))) << "nobody claims number " << of;
}

TEST_F(FindingClaims, OfRandomJobsAreTrue)
{
    std::mt19937 random(91);
    int jobs = 0;
    for (int i = 0; i < 250; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        if (scenario.schedule.kind == "auto")
            continue; // plans by costs of its own
        auto document = ScenarioDocument::parse(resolvedText(scenario));
        const auto resolved = document.resolve(test::catalogue());
        if (!resolved.scenario)
            continue;
        std::shared_ptr<const Simulation> simulation;
        try {
            simulation = simulate(*resolved.scenario);
        } catch (const Error&) { // an order that fits in so little memory does not exist
            continue;
        }
        prove({std::move(document), std::move(simulation)});
        ++jobs;
    }
    EXPECT_GT(jobs, 100);
}
