// What findings offer, on jobs that people size: that it is what they would do, and that it brings what is said.
#include "tests/sim/analysis/found.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sim;
using test::effectsOf;
using test::find;
using test::findingsOf;
using test::Opened;

namespace {

Opened openedJob(const std::string& body)
{
    auto document = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,)" + body + "}");
    const auto resolved = document.resolve(test::catalogue());
    if (!resolved.scenario)
        throw std::runtime_error(resolved.problems.front().text());
    return {std::move(document), simulate(*resolved.scenario)};
}

/// The first edit whose words begin so, and what it brings.
struct Offered {
    bool isThere = false, helps = false;
    EditEffect effect;
};
Offered offered(const Opened& opened, FindingKind kind, const std::string& words)
{
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, kind);
    if (finding == nullptr)
        return {};
    const auto effects = effectsOf(opened, *finding);
    for (std::size_t i = 0; i < effects.size(); ++i)
        if (finding->suggestions[i].text.starts_with(words))
            return {true, helps(kind, effects[i]), effects[i]};
    return {};
}

constexpr const char* kRacks = R"("model":"gpt-oss-120b","cluster":"gb200-nvl72","layout":{"dp":128,"ep":64,"zero_stage":1},
"training":{"sequence_length":4096,"micro_batch_size":4,"global_batch_size":2560,"precision":"bf16","recompute":"none"})";
constexpr const char* kFullyRecomputed = R"("model":"llama3-70b","cluster":"mi300x-roce400","layout":{"dp":64,"zero_stage":3},
"training":{"sequence_length":8192,"micro_batch_size":2,"global_batch_size":128,"recompute":"full","stack":"pytorch-compiled"})";
constexpr const char* kInEightBits = R"("model":"gpt3-175b","cluster":"h100-sxm-ib400",
"layout":{"tp":4,"pp":8,"dp":16,"sequence_parallel":true,"zero_stage":1},"schedule":{"kind":"interleaved-1f1b","virtual_stages":12},
"training":{"sequence_length":2048,"micro_batch_size":2,"global_batch_size":2048,"precision":"fp8","recompute":"none"})";
constexpr const char* kLongSequences = R"("model":"qwen2.5-32b","cluster":"h100-sxm-ib400","layout":{"dp":16,"zero_stage":3},
"training":{"sequence_length":16384,"micro_batch_size":1,"global_batch_size":32,"recompute":"full","stack":"huggingface"})";
constexpr const char* kNeedlessAsItIs = R"("model":"llama3-70b","cluster":"h100-sxm-ib400",
"layout":{"tp":8,"pp":4,"dp":4,"sequence_parallel":true,"zero_stage":1},"training":{"sequence_length":8192,
"micro_batch_size":2,"global_batch_size":32,"recompute":"full","flash_attention":false})";
constexpr const char* kSomeLayers = R"("model":"llama3-8b","cluster":"h100-sxm-ib400","layout":{"dp":16,"zero_stage":3},
"training":{"sequence_length":16384,"global_batch_size":64,)"; // and more
constexpr const char* kNearlyFull = R"("model":"qwen3-235b-a22b","cluster":"dgx-b200",
"layout":{"pp":8,"dp":32,"ep":8,"zero_stage":1},"schedule":{"kind":"interleaved-1f1b","virtual_stages":2},
"training":{"sequence_length":4096,"micro_batch_size":1,"global_batch_size":1024,"precision":"bf16","recompute":"none"})";

} // namespace

TEST(FindingOffers, GpusOfARackStayIdleSoThatNoGroupLiesInTwo)
{
    const Offered whole = offered(openedJob(kRacks), FindingKind::expertsAcrossNodes,
                                  "use 64 of the 72 GPUs of each NVLink domain: 16 of 18 nodes in each of 2");
    ASSERT_TRUE(whole.isThere);
    EXPECT_TRUE(whole.helps);
    EXPECT_TRUE(whole.effect.fits);
    EXPECT_LT(whole.effect.timePerToken, -0.4);
}

TEST(FindingOffers, LessRecomputationIsTriedLayerByLayerAndWithHalfTheMicroBatch)
{
    const Opened opened = openedJob(kFullyRecomputed);
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::needlessRecompute);
    ASSERT_NE(finding, nullptr) << all.front().title;
    const auto effects = effectsOf(opened, *finding);
    ASSERT_GE(effects.size(), 2U);
    EXPECT_NEAR(effects.front().timePerToken, -finding->stepShare, 1e-9);
    EXPECT_LT(effects.front().timePerToken, -0.05) << finding->suggestions.front().text;
    EXPECT_TRUE(finding->suggestions.front().text.starts_with("recompute ")) << "of the micro-batch as it is";
    bool halves = false, counts = false;
    for (std::size_t i = 0; i < effects.size(); ++i) {
        EXPECT_TRUE(helps(finding->kind, effects[i])) << finding->suggestions[i].text;
        halves = halves || (finding->suggestions[i].text.starts_with("micro-batch 2 → 1") && effects[i].timePerToken < -0.09);
        counts = counts || finding->suggestions[i].text.starts_with("recompute full → full, ");
    }
    EXPECT_TRUE(halves && counts);
}

TEST(FindingOffers, WhatIsRecomputedNeedlesslyAsTheJobIsComesBeforeWhatHalfTheMicroBatchWouldSpare)
{
    const Opened opened = openedJob(kNeedlessAsItIs);
    const auto all = findingsOf(opened);
    const Finding* finding = find(all, FindingKind::needlessRecompute);
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(finding->title.starts_with("Recomputing whole layers is not needed")) << finding->title;
    EXPECT_EQ(finding->severity, FindingSeverity::costly) << finding->title;
    const auto effects = effectsOf(opened, *finding);
    ASSERT_GE(effects.size(), 2U);
    EXPECT_EQ(finding->suggestions.front().text, "recompute full → selective");
    bool isHalfFaster = false;
    for (std::size_t i = 1; i < effects.size(); ++i)
        isHalfFaster = isHalfFaster || (finding->suggestions[i].text.starts_with("micro-batch 2 → 1") &&
                                        effects[i].timePerToken < effects.front().timePerToken);
    EXPECT_TRUE(isHalfFaster);
}

TEST(FindingOffers, MoreLayersAreRecomputedWhereSomeAre)
{
    const Opened tooFew =
        openedJob(std::string(kSomeLayers) + R"("micro_batch_size":2,"recompute":{"kind":"full","layers":10}})");
    for (const char* words :
         {"recompute full, 10 layers of each chunk → full, ", "recompute full, 10 layers of each chunk → full"}) {
        const Offered more = offered(tooFew, FindingKind::doesNotFit, words);
        ASSERT_TRUE(more.isThere) << words;
        EXPECT_TRUE(more.helps && more.effect.fits) << words;
    }
    const Opened tooMany =
        openedJob(std::string(kSomeLayers) + R"("micro_batch_size":1,"recompute":{"kind":"full","layers":20}})");
    const auto all = findingsOf(tooMany);
    const Finding* finding = find(all, FindingKind::needlessRecompute);
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(finding->title.starts_with("Recomputing so many layers is not needed")) << finding->title;
}

TEST(FindingOffers, WhatCostsNothingIsOfferedToAJobThatDoesNotFit)
{
    const Opened narrow = openedJob(kInEightBits), longer = openedJob(kLongSequences);
    for (const auto& [opened, words] : {std::pair(&narrow, "parameters in 8 bits alone"),
                                        {&narrow, "recompute none → norms"},
                                        {&longer, "logits and loss of 2,048 tokens at a time"}}) {
        const Offered free = offered(*opened, FindingKind::doesNotFit, words);
        ASSERT_TRUE(free.isThere) << words;
        EXPECT_TRUE(free.helps) << words;
        EXPECT_LT(free.effect.timePerToken, 0.005) << words;
    }
}

TEST(FindingOffers, WhatOthersOfferCountsWhereMemoryIsShort)
{
    const Opened opened = openedJob(kNearlyFull);
    const Offered chunks = offered(opened, FindingKind::nearlyFull, "chunks a rank 2 → 4");
    ASSERT_TRUE(chunks.isThere);
    EXPECT_TRUE(chunks.helps);
    EXPECT_LT(chunks.effect.timePerToken, 0);
    EXPECT_TRUE(offered(opened, FindingKind::nearlyFull, "Interleaved 1F1B → Interleaved zero bubble").helps);
}

TEST(FindingOffers, NothingIsCombinedWithWhatByItselfTakesMore)
{
    for (const auto& [body, kind] : {std::pair(kNearlyFull, FindingKind::nearlyFull), {kInEightBits, FindingKind::doesNotFit}}) {
        const auto all = findingsOf(openedJob(body));
        const Finding* finding = find(all, kind);
        ASSERT_NE(finding, nullptr);
        for (const SuggestedEdit& edit : finding->suggestions)
            EXPECT_FALSE(edit.text.starts_with("ZeRO 1 → 2, ")) << edit.text;
    }
}

TEST(FindingOffers, TimeIsNotBoughtWithTheRoomThatTheAllocatorNeeds)
{
    const Metrics before{.stepTimeSeconds = 2, .tokensPerSecond = 100, .peakMemoryGib = 37};
    const Metrics after{.stepTimeSeconds = 1.8, .tokensPerSecond = 111, .peakMemoryGib = 79.9};
    const EditEffect effect = effectOf(before, after, 80);
    EXPECT_TRUE(effect.leavesNoRoom);
    EXPECT_FALSE(helps(FindingKind::bubble, effect));
    Metrics full = before; // it was as full
    full.peakMemoryGib = 79;
    EXPECT_TRUE(helps(FindingKind::bubble, effectOf(full, after, 80)));
    Metrics roomy = after;
    roomy.peakMemoryGib = 75;
    EXPECT_TRUE(helps(FindingKind::bubble, effectOf(before, roomy, 80)));
}
