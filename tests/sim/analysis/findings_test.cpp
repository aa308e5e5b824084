// What findings say of the gallery and of any job, what their edits bring, and which are worth to be told.
#include "sim/analysis/findings/findings.h"

#include "sim/cancel.h"
#include "sim/simulate/memory_cap.h"
#include "tests/sim/analysis/found.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace sim;
using test::anyHelps;
using test::effectsOf;
using test::find;
using test::findingsOf;
using test::has;
using test::kSwitched;
using test::Opened;

TEST(Findings, OfTheGalleryAreSortedSaidAndTriedLegally)
{
    std::size_t severe = 0, suggestions = 0;
    for (const auto& file : test::galleryFiles()) {
        SCOPED_TRACE(file.filename().string());
        const Opened opened = test::open(file);
        const auto all = findingsOf(opened);
        ASSERT_FALSE(all.empty());
        EXPECT_EQ(all.back().kind, FindingKind::composition);
        std::set<FindingKind> kinds;
        for (const Finding& finding : all) {
            SCOPED_TRACE(finding.title);
            EXPECT_TRUE(kinds.insert(finding.kind).second) << "said twice";
            EXPECT_FALSE(finding.title.empty());
            EXPECT_FALSE(finding.reason.empty());
            EXPECT_EQ(finding.reason.back(), '.');
            EXPECT_LE(finding.stepShare, 1);
            EXPECT_FALSE(finding.show.pictures.empty());
            for (const int rank : finding.show.ranks)
                EXPECT_LT(rank, opened.simulation->mesh().worldSize());
            const bool isOfMemory = finding.kind == FindingKind::doesNotFit || finding.kind == FindingKind::nearlyFull ||
                                    finding.kind == FindingKind::capMissed;
            EXPECT_LE(finding.suggestions.size(), isOfMemory ? 10U : 4U);
            std::set<std::string> texts;
            for (const SuggestedEdit& edit : finding.suggestions) {
                EXPECT_TRUE(texts.insert(edit.text).second) << edit.text;
                const auto scenario = scenarioWith(edit, opened.document, test::catalogue());
                ASSERT_TRUE(scenario) << edit.text;
                EXPECT_NE(*scenario, opened.simulation->scenario()) << edit.text;
                ++suggestions;
            }
            severe += finding.severity <= FindingSeverity::costly ? 1 : 0;
        }
        for (std::size_t i = 1; i < all.size(); ++i)
            EXPECT_LE(all[i - 1].severity, all[i].severity);
    }
    EXPECT_GT(suggestions, 200U);
    EXPECT_LT(severe, test::galleryFiles().size()) << "most of what is published is not in a bad way";
}

TEST(Findings, ComplainLittleAboutWhatWasTunedAndPublished)
{
    // Llama 3 405B at three scales, the trillion-parameter weak scaling series: at most one thing costs a good part of the step.
    for (const char* number : {"26", "27", "28", "29", "30", "31", "42", "43", "45"}) {
        const auto all = findingsOf(number);
        const auto severe =
            std::count_if(all.begin(), all.end(), [](const Finding& f) { return f.severity <= FindingSeverity::costly; });
        EXPECT_LE(severe, 1) << number << ": " << all.front().title;
    }
}

TEST(Findings, EveryEditCanBeSimulated)
{
    for (const char* number : {"04", "07", "09", "20", "21", "35", "50", "60", "63"}) {
        const Opened opened = test::openNumber(number);
        for (const Finding& finding : findingsOf(opened))
            EXPECT_NO_THROW(effectsOf(opened, finding)) << number << ": " << finding.title;
    }
}

TEST(Findings, EditsOfRandomJobsAreLegal)
{
    std::mt19937 random(5);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        if (scenario.schedule.kind == "auto")
            continue; // plans by costs of its own
        const auto document = ScenarioDocument::parse(resolvedText(scenario));
        const auto resolved = document.resolve(test::catalogue());
        if (!resolved.scenario)
            continue;
        for (const Finding& finding : findings(*simulate(*resolved.scenario), document, test::catalogue()))
            for (const SuggestedEdit& edit : finding.suggestions)
                EXPECT_TRUE(scenarioWith(edit, document, test::catalogue())) << edit.text;
    }
}

TEST(Findings, SayThatThereIsNothingToComplainAbout)
{
    const auto all = findingsOf("03", {"training.overlap.tp_comm=true", "training.sequence_length=8192", kSwitched});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].title, "Nothing to complain about");
    EXPECT_NE(all[0].reason.find("model FLOPs at peak speed"), std::string::npos) << all[0].reason;
    EXPECT_EQ(findingsOf("42").back().title, "What the step consists of");
}

TEST(Findings, StopEarlyWhenCancelled)
{
    const Opened opened = test::openNumber("35");
    const std::atomic<bool> cancel{true};
    const CancelScope scope(cancel);
    EXPECT_THROW(findings(*opened.simulation, opened.document, test::catalogue()), Cancelled);
}

/// A file without a batch gets one from its layout and micro-batch: an edit of those is no licence to train with another.
TEST(FindingEdits, KeepTheBatchOrSayWhatBecomesOfIt)
{
    const auto editsOfBatch = [](const std::string& number) {
        const Opened opened = test::openNumber(number);
        const int before = opened.simulation->scenario().training.globalBatchSize;
        int said = 0;
        for (const Finding& finding : findingsOf(opened))
            for (const SuggestedEdit& edit : finding.suggestions) {
                const auto scenario = scenarioWith(edit, opened.document, test::catalogue());
                const bool isSaid = edit.text.find("global batch") != std::string::npos;
                EXPECT_EQ(scenario->training.globalBatchSize != before, isSaid) << edit.text;
                said += isSaid ? 1 : 0;
            }
        return said;
    };
    EXPECT_GT(editsOfBatch("89"), 0) << "one micro-batch of one sequence on each of 80 ranks";
    for (const char* number : {"14", "20", "58"})
        editsOfBatch(number);
}

TEST(EditEffects, AreRelativeToWhatATokenCosts)
{
    const Metrics before{.stepTimeSeconds = 2, .tokensPerSecond = 100, .peakMemoryGib = 40};
    const Metrics after{.stepTimeSeconds = 3, .tokensPerSecond = 125, .peakMemoryGib = 38};
    const EditEffect effect = effectOf(before, after, 80);
    EXPECT_DOUBLE_EQ(effect.timePerToken, -0.2) << "the step is longer, and has more tokens";
    EXPECT_DOUBLE_EQ(effect.tokens, 1.875);
    EXPECT_DOUBLE_EQ(effect.peakChangeGib, -2);
    EXPECT_TRUE(helps(FindingKind::bubble, effect));
    EXPECT_TRUE(helps(FindingKind::doesNotFit, effect));
    EditEffect useless = effect;
    useless.timePerToken = 0.01;
    EXPECT_FALSE(helps(FindingKind::bubble, useless));
    const EditEffect faster{.timePerToken = -0.07, .peakGib = 40, .fits = true, .likely = {}};
    EXPECT_TRUE(helps(FindingKind::unfusedAttention, faster)) << "time is worth something, though no room is made";
    EXPECT_FALSE(helps(FindingKind::nearlyFull, faster));
    useless.fits = false;
    useless.timePerToken = -0.5;
    EXPECT_FALSE(helps(FindingKind::bubble, useless)) << "what does not fit does not run";
    for (const FindingKind kind : {FindingKind::doesNotFit, FindingKind::replicatedStates, FindingKind::capMissed})
        EXPECT_FALSE(helps(kind, useless)) << "with less memory it runs as little";

    EditEffect overfilling = effect;
    overfilling.hostFits = false;
    overfilling.overfillsHost = true;
    EXPECT_FALSE(helps(FindingKind::doesNotFit, overfilling)) << "the host has no room for it either";
    EXPECT_FALSE(helps(FindingKind::bubble, overfilling));
    overfilling.overfillsHost = false; // it was too full before
    EXPECT_TRUE(helps(FindingKind::doesNotFit, overfilling));
    EXPECT_TRUE(isOfferedBefore(FindingKind::doesNotFit, effect, overfilling));
    overfilling.timePerToken = -0.9;
    EXPECT_FALSE(isOfferedBefore(FindingKind::doesNotFit, overfilling, effect)) << "however fast";
}

TEST(EditEffects, WhatTheModelCannotTellIsOfferedBehindWhatItCan)
{
    const auto faster = [](double by, double high) {
        return EditEffect{
            .timePerToken = -by, .peakGib = 40, .likely = {.predicted = 1 - by, .low = 0.5, .high = high, .level = 0.8}};
    };
    const EditEffect told = faster(0.03, 0.99), untold = faster(0.05, 1.01);
    EXPECT_EQ(worthOf(FindingKind::bubble, told), EditWorth::told);
    EXPECT_EQ(worthOf(FindingKind::bubble, untold), EditWorth::untold);
    EXPECT_TRUE(isOfferedBefore(FindingKind::bubble, told, untold));
    EXPECT_FALSE(isOfferedBefore(FindingKind::bubble, untold, told));
    EditEffect room = untold;
    room.peakChangeGib = -5;
    EXPECT_EQ(worthOf(FindingKind::nearlyFull, room), EditWorth::told) << "memory is counted";
    const auto of = [](FindingKind kind, FindingSeverity severity) { return Finding{.kind = kind, .severity = severity}; };
    const std::vector<Finding> found{
        of(FindingKind::bubble, FindingSeverity::costly), of(FindingKind::exposedTensor, FindingSeverity::costly),
        of(FindingKind::exposedData, FindingSeverity::costly), of(FindingKind::smallKernels, FindingSeverity::hint),
        of(FindingKind::composition, FindingSeverity::note)};
    EXPECT_EQ(rankedByGain(found, {{untold}, {untold, told}, {}, {told}, {}}), (std::vector<std::size_t>{1, 2, 0, 3, 4}));
}

TEST(EditEffects, AnEditIsOutdoneByFewerSettingsThatBringAsMuch)
{
    const auto tried = [](std::size_t settings, double time, double gib) {
        return TriedEdit{{.text = {}, .changes = std::vector<Change>(settings)},
                         {.timePerToken = time, .peakGib = 60, .peakChangeGib = gib, .likely = {}}};
    };
    const TriedEdit three = tried(3, 0.032, -15.6), two = tried(2, 0.032, -19.8);
    EXPECT_TRUE(isOutdone(three, two));
    EXPECT_FALSE(isOutdone(two, three));
    EXPECT_FALSE(isOutdone(two, two)) << "as many settings: two ways";
    EXPECT_FALSE(isOutdone(three, tried(2, 0.04, -19.8))) << "at more time";
    EXPECT_FALSE(isOutdone(three, tried(2, 0.01, -15))) << "of less room";
    EXPECT_TRUE(isOutdone(three, tried(2, 0.0323, -19.8))) << "at more time that nobody notices";
    EXPECT_TRUE(isOutdone(three, tried(2, 0.032, -15.5))) << "of room that nobody notices";
}

TEST(EditEffects, OnAMissedCapAreJudgedByTheCapAndNotByTheGpu)
{
    const Metrics before{.stepTimeSeconds = 2, .tokensPerSecond = 100, .peakMemoryGib = 40};
    Metrics after = before;
    after.tokensPerSecond = 150;
    EXPECT_FALSE(helps(FindingKind::capMissed, effectOf(before, after, 30))) << "faster, and over the cap as before";
    after.tokensPerSecond = 50;
    EXPECT_TRUE(helps(FindingKind::capMissed, effectOf(before, after, 40))) << "a cap that is kept";
    after.peakMemoryGib = 35;
    EXPECT_TRUE(helps(FindingKind::capMissed, effectOf(before, after, 30))) << "nearer to it";
    EXPECT_FALSE(effectOf(before, after, 30).fitsAll());
    EXPECT_TRUE(isOfferedBefore(FindingKind::capMissed, effectOf(before, after, 40), effectOf(before, after, 30)));
}

TEST(Findings, SayWhyASearchCannotKeepItsMemoryCapAndWhatWould)
{
    for (const char* cap : {"0.1", "3", "10"}) {
        SCOPED_TRACE(cap);
        const Opened opened = test::openNumber("73", {"schedule.memory_cap_gib=" + std::string(cap)});
        const auto all = findingsOf(opened);
        ASSERT_FALSE(all.empty());
        EXPECT_EQ(all.front().kind, FindingKind::capMissed);
        EXPECT_EQ(all.front().severity, FindingSeverity::broken);
        EXPECT_NE(all.front().title.find("No order keeps a GPU within " + missedCap(*opened.simulation)->capText() +
                                         ": rank 3 needs 10.8 GiB"),
                  std::string::npos)
            << all.front().title;
        EXPECT_NE(all.front().reason.find("Nearest cap that works: 10.9 GiB"), std::string::npos) << all.front().reason;
        ASSERT_FALSE(all.front().suggestions.empty());
        EXPECT_NE(all.front().suggestions.front().text.find("→ 10.9 GiB"), std::string::npos)
            << all.front().suggestions.front().text;
        const auto scenario = scenarioWith(all.front().suggestions.front(), opened.document, test::catalogue());
        ASSERT_TRUE(scenario);
        EXPECT_LE(simulate(*scenario)->metrics().peakMemoryGib, scenario->schedule.memoryCapGib);
        EXPECT_TRUE(anyHelps(opened, FindingKind::capMissed));
    }
    EXPECT_FALSE(has(findingsOf("73"), FindingKind::capMissed));
    // Where the GPU itself is too small that is what there is to say, and the same sentence names the way out.
    const auto tooSmall = findingsOf("73", {"cluster.gpu.memory_gib=8"});
    EXPECT_EQ(tooSmall.front().kind, FindingKind::doesNotFit);
    EXPECT_FALSE(tooSmall.front().suggestions.empty());
}

TEST(Findings, SayBesideAClosedFormThatStagesAreNotEqual)
{
    for (const char* number : {"04", "17", "45"}) {
        const auto all = findingsOf(number);
        const Finding* bubble = find(all, FindingKind::bubble);
        ASSERT_TRUE(bubble) << number;
        EXPECT_NE(bubble->reason.find("Equal stages without transfers would give"), std::string::npos);
        EXPECT_NE(bubble->reason.find("These stages are not equal: pipeline rank "), std::string::npos) << bubble->reason;
    }
}
