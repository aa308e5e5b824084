// What the glossary says of numbers is so by the engine of today.
#include "sim/lesson/question.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace sim;

namespace {

std::string saidOf(const std::string& term)
{
    std::ifstream file(RANKSCOPE_SOURCE_DIR "/assets/glossary.json");
    const nlohmann::json glossary = nlohmann::json::parse(file);
    for (const auto& entry : glossary.at("terms"))
        if (entry.at("term") == term)
            return entry.at("says");
    return {};
}

struct Claim {
    const char *term, *says;
    std::vector<const char*> holds;
};

} // namespace

TEST(Glossary, SaysWhatTheEngineFinds)
{
    const Lesson lesson =
        readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/eighteen-bytes.json", test::catalogue()); // a job in bf16 and fp32
    const LessonCases cases(lesson, test::catalogue());
    Cases names(&cases.all());
    names.add({"narrow", "", {{"from", "one"}, {"set", {{"/training/precision", "fp8"}}}}});
    names.add({"packed", "", {{"scenario", "05-dp2-tp4-pp2-sixteen-gpus"}}});
    names.add({"dealt", "", {{"from", "packed"}, {"set", {{"/layout/placement", "round-robin"}}}}});
    const std::vector<Claim> all{
        {"Precision",
         "Products of fewer bits are faster",
         {"narrow.computing.gemm_s < one.computing.gemm_s and one.computing.gemm_s < wide.computing.gemm_s"}},
        {"Precision",
         "what is kept of their inputs is smaller",
         {"narrow.memory.per_pipeline_rank[0].activations < one.memory.per_pipeline_rank[0].activations",
          "one.memory.per_pipeline_rank[0].activations < wide.memory.per_pipeline_rank[0].activations"}},
        {"Precision",
         "all states together need not be smaller",
         {"wide.memory.per_pipeline_rank[0].parameters + wide.memory.per_pipeline_rank[0].optimizer < "
          "one.memory.per_pipeline_rank[0].parameters + one.memory.per_pipeline_rank[0].optimizer",
          "narrow.peak_memory_gib > one.peak_memory_gib"}},
        {"Rank order",
         "Where ranks are packed, as usual (see Placement), neighbours in number share a machine",
         {"packed.groups(0).node == packed.groups(1).node and dealt.groups(0).node != dealt.groups(1).node",
          "packed.traffic.groups[\"tp\"].by_tier[1] == 0 and dealt.traffic.groups[\"tp\"].by_tier[1] > 0"}}};
    for (const Claim& claim : all) {
        EXPECT_NE(saidOf(claim.term).find(claim.says), std::string::npos) << claim.term << ": " << claim.says;
        for (const char* holds : claim.holds)
            EXPECT_EQ(whyNot(holds, names).value_or(""), "") << claim.term << ": " << claim.says;
    }
}
