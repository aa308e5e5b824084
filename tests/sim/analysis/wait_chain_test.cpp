// Why ranks wait: what a chain says can be checked against the times and dependencies of the step itself.
#include "sim/analysis/wait_advice.h"
#include "sim/analysis/wait_chain.h"

#include "sim/index.h"
#include "sim/simulate/exposed_transfers.h"
#include "sim/text/number_text.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace sim;
using testing::HasSubstr;

namespace {

/// All gaps of a class, found by asking in the middle between its kernels.
std::vector<Gap> gapsOf(const Simulation& simulation, WaitChains& chains, int c)
{
    std::vector<Gap> out;
    const std::int64_t endNs = simulation.times().endNs;
    std::vector<std::pair<std::int64_t, std::int64_t>> kernels;
    std::size_t place = simulation.times().firstOp[asIndex(c)];
    for (const Step& step : simulation.program().ranks[asIndex(simulation.classes().pipelineRank[asIndex(c)])].steps)
        for (const Op& op : simulation.program().passes[step.pass].ops) {
            if (op.kind == OpKind::compute)
                kernels.emplace_back(simulation.times().opStartNs[place], simulation.times().opEndNs[place]);
            ++place;
        }
    std::int64_t until = 0;
    kernels.emplace_back(endNs, endNs);
    for (const auto& [begin, end] : kernels) {
        if (begin > until) {
            const auto gap = chains.gapAt(c, until + (begin - until) / 2);
            EXPECT_TRUE(gap.has_value());
            if (gap) {
                EXPECT_EQ(gap->beginNs, until);
                EXPECT_EQ(gap->endNs, begin);
                EXPECT_EQ(gap->next.has_value(), begin < endNs);
                out.push_back(*gap);
            }
        }
        until = std::max(until, end);
    }
    return out;
}

/// Whether some op of the pipeline rank of a link runs at a time, waits apart.
bool worksAt(const Simulation& simulation, const WaitLink& link, std::int64_t ns)
{
    const RankClasses& classes = simulation.classes();
    const int pipelineRank = classes.pipelineRank[asIndex(link.classIndex)];
    for (int c = 0; c < classes.count(); ++c) {
        if (classes.pipelineRank[asIndex(c)] != pipelineRank)
            continue;
        std::size_t place = simulation.times().firstOp[asIndex(c)];
        for (const Step& step : simulation.program().ranks[asIndex(pipelineRank)].steps)
            for (const Op& op : simulation.program().passes[step.pass].ops) {
                if (op.kind != OpKind::wait && op.kind != OpKind::receive && op.kind != OpKind::post &&
                    simulation.times().opStartNs[place] <= ns && simulation.times().opEndNs[place] > ns)
                    return true;
                ++place;
            }
    }
    return false;
}

void launchAtOnce(Scenario& scenario)
{
    Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = stack.expertLaunchUs = stack.stepMs = 0;
}

std::string joined(const std::vector<std::string>& lines)
{
    std::string out;
    for (const std::string& line : lines)
        out += line + "\n";
    return out;
}

/// What the first gap of a class says whose next kernel is of that action.
std::string textBefore(const Simulation& simulation, int c, const std::string& action)
{
    WaitChains chains(simulation);
    for (const Gap& gap : gapsOf(simulation, chains, c))
        if (chains.nextText(gap) == action)
            return joined(chains.lines(chains.chain(gap)));
    return "no such gap";
}

std::string inWords(std::int64_t ns)
{
    return numberText(static_cast<double>(ns) * 1e-9, Unit::seconds);
}

const Track& trackOf(const Trace& trace, int process, TrackRole role)
{
    return *std::find_if(trace.tracks.begin(), trace.tracks.end(),
                         [&](const Track& t) { return t.process == process && t.role == role && t.size() > 0; });
}

/// The last pass of a class, as its trace has it.
struct LastPass {
    std::int64_t computesNs = 0, endNs = 0;
};
LastPass lastPassOf(const Simulation& simulation, int c)
{
    const Trace trace = simulation.trace(TraceDetail::kernels);
    const Track &passes = trackOf(trace, c, TrackRole::actions), &kernels = trackOf(trace, c, TrackRole::compute);
    std::size_t last = passes.size() - 1;
    while (passes.microbatch[last] < 0)
        --last;
    LastPass out;
    for (std::size_t k = 0; k < kernels.size(); ++k)
        if (const std::int64_t end = kernels.startNs[k] + kernels.durationNs[k];
            kernels.startNs[k] >= passes.startNs[last] && end <= passes.startNs[last] + passes.durationNs[last]) {
            out.computesNs += kernels.durationNs[k];
            out.endNs = end;
        }
    return out;
}

} // namespace

TEST(WaitChain, LinksOfRandomScenariosTelescopeToTheGapAndEndAtWhatRanWhenItBegan)
{
    std::mt19937 random(20);
    std::int64_t gaps = 0, longest = 0;
    for (int i = 0; i < 60; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        const bool isAhead = i % 2 == 0; // the host, of all ranks
        if (isAhead)
            launchAtOnce(scenario);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario, {.full = i % 3 == 0});
        WaitChains chains(*simulation);
        for (int c = 0; c < simulation->classCount(); c += 1 + simulation->classCount() / 4) {
            const std::vector<Gap> all = gapsOf(*simulation, chains, c);
            for (std::size_t g = 0; g < all.size(); g += 1 + all.size() / 40) {
                const WaitChain chain = chains.chain(all[g]);
                ++gaps;
                ASSERT_FALSE(chain.links.empty());
                ASSERT_EQ(chain.unexplainedNs, 0) << joined(chains.lines(chain));
                std::int64_t until = all[g].endNs;
                for (const WaitLink& link : chain.links) {
                    ASSERT_EQ(link.endNs, until);
                    ASSERT_LT(link.beginNs, link.endNs);
                    ASSERT_FALSE(isAhead && link.kind == WaitLink::Kind::launch);
                    for (const std::int64_t at : {link.beginNs, link.endNs - 1}) {
                        const auto then = chains.linkAt(all[g], at);
                        ASSERT_TRUE(then && then->place == link.place && then->beginNs == link.beginNs);
                    }
                    until = link.beginNs;
                }
                ASSERT_EQ(until, all[g].beginNs);
                EXPECT_TRUE(!isAhead || worksAt(*simulation, chain.links.back(), all[g].beginNs)) << joined(chains.lines(chain));
                longest = std::max(longest, static_cast<std::int64_t>(chain.links.size()));
            }
        }
    }
    EXPECT_GT(gaps, 2000);
    EXPECT_GT(longest, 6) << "or they are all too easy";
}

TEST(WaitChain, TheLastPipelineRankWaitsForTheForwardPassesOfThoseBeforeIt)
{
    const auto simulation = simulate(test::smallScenario(1, 4, 1, 8));
    const std::string text = textBefore(*simulation, 3, "F0");
    EXPECT_THAT(text, HasSubstr("idle before F0\n"));
    EXPECT_THAT(text, HasSubstr("\nwaits for F0 of pp 2, 232 µs, and its message, 8.48 µs\n"));
    EXPECT_THAT(text, HasSubstr("\nwhich waits for F0 of pp 1, "));
    EXPECT_THAT(text, HasSubstr("\nwhich waits for F0 of pp 0, "));
    EXPECT_THAT(text, HasSubstr("\ntry: twice the batch: 16 micro-batches"));
}

TEST(WaitChain, AKernelThatCouldBeginWaitsForItsLaunch)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    launchAtOnce(scenario);
    scenario.training.stack.launchUs = 300;
    const auto simulation = simulate(scenario);
    WaitChains chains(*simulation);
    const std::vector<Gap> gaps = gapsOf(*simulation, chains, 0);
    ASSERT_GT(gaps.size(), 10U);
    for (const Gap& gap : gaps) {
        const WaitChain chain = chains.chain(gap);
        ASSERT_EQ(chain.links.size(), 1U);
        EXPECT_EQ(chain.links[0].kind, WaitLink::Kind::launch);
        EXPECT_EQ(chain.links[0].place, gap.next);
        EXPECT_EQ(chain.links[0].lengthNs(), gap.lengthNs());
        EXPECT_FALSE(chains.linkAt(gap, gap.endNs));
    }
    const std::string text = joined(chains.lines(chains.chain(gaps[1])));
    EXPECT_THAT(text, HasSubstr(" idle inside F0, before "));
    EXPECT_THAT(text, HasSubstr("\nwaits for the host's launch of "));
    EXPECT_THAT(text, HasSubstr("\ntry: "));
}

TEST(WaitChain, WhatTheHostDoesBeforeTheOptimizerIsSharedByALargerBatchAlone)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    launchAtOnce(scenario);
    scenario.training.stack.stepMs = 60;
    const auto simulation = simulate(scenario);
    WaitChains chains(*simulation);
    const std::vector<Gap> gaps = gapsOf(*simulation, chains, 0);
    ASSERT_EQ(gaps.size(), 1U);
    const std::string text = joined(chains.lines(chains.chain(gaps[0])));
    EXPECT_THAT(text, HasSubstr("\ntry: twice the batch: "));
    EXPECT_EQ(text.find("CUDA graphs"), std::string::npos) << text;
}

TEST(WaitChain, APassThatBeganBeforeTheGapIsToldAsARestAlsoWithItsMessage)
{
    const auto simulation = test::openNumber("17").simulation;
    WaitChains chains(*simulation);
    int rests = 0;
    for (int c = 0; c < simulation->classCount(); ++c)
        for (const Gap& gap : gapsOf(*simulation, chains, c)) {
            const WaitChain chain = chains.chain(gap);
            const std::string text = joined(chains.lines(chain));
            const bool startsInside = chain.links.size() > 1 && chain.links.back().kind == WaitLink::Kind::pass &&
                                      worksAt(*simulation, chain.links.back(), gap.beginNs - 1);
            if (startsInside && chain.links[chain.links.size() - 2].kind == WaitLink::Kind::message) {
                EXPECT_THAT(text, HasSubstr("the rest of ")) << text;
                ++rests;
            }
        }
    EXPECT_GT(rests, 0);
}

TEST(WaitChain, ARankThatWaitsInACollectiveWaitsForItsLastMember)
{
    Scenario scenario = test::smallScenario(1, 1, 2);
    scenario.training.overlap.gradReduce = false;
    const std::string late = textBefore(*simulate(scenario), 0, "the optimizer");
    EXPECT_THAT(late, HasSubstr("waits for the all-reduce of gradients in dp, "));
    EXPECT_THAT(late, HasSubstr("on each of 2 ranks"));
    EXPECT_THAT(late, HasSubstr("\ntry: "));
    EXPECT_THAT(late, HasSubstr("\nthe collective's members come at the same time; it could hide behind B3, which computes for " +
                                inWords(lastPassOf(*simulate(scenario), 0).computesNs) + "\n"));
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 1.5});
    const std::string slow = textBefore(*simulate(scenario), 0, "the optimizer");
    EXPECT_THAT(slow, HasSubstr("waits for the all-reduce of gradients in dp, "));
    EXPECT_THAT(slow, HasSubstr("which waits for B3 of rank 1, "));
    const auto slowed = simulate(scenario);
    EXPECT_THAT(slow, HasSubstr("the collective's last member is rank 1, " +
                                inWords(lastPassOf(*slowed, 1).endNs - lastPassOf(*slowed, 0).endNs) +
                                " after the first; it could hide behind B3, "));
    EXPECT_THAT(slow, HasSubstr("try: another GPU for rank 1, which is slow"));
}

TEST(WaitAdvice, IsWhatHelpedWhenItWasTried)
{
    Scenario scenario = test::smallScenario(1, 1, 2, 3); // which no larger micro-batches divide
    scenario.training.overlap.gradReduce = false;
    const auto simulation = simulate(scenario);
    scenario.training.overlap.gradReduce = true;
    const double ratio = simulate(scenario)->metrics().stepTimeSeconds / simulation->metrics().stepTimeSeconds;
    const std::string sure = sureText(likelyRatio(simulation->scenario(), scenario, ratio));
    EXPECT_THAT(textBefore(*simulation, 0, "the optimizer"),
                HasSubstr("the backward pass still runs (" + percentText(1 - ratio) + " less time a token" +
                          (sure.empty() ? "" : ", " + sure) + ")"));
}

TEST(WaitAdvice, IsTheBestOfWhatIsKnownAndSaysHowSureItIs)
{
    // Parameters are gathered layer by layer: the batch would hide some of it, half the sharding all, and it fits.
    const auto opened = test::openNumber("14");
    Scenario whole = opened.simulation->scenario();
    whole.layout.zeroStage = 2;
    const double ratio = opened.simulation->metrics().tokensPerSecond / simulate(whole)->metrics().tokensPerSecond;
    ASSERT_LT(ratio, 0.9);
    WaitChains chains(*opened.simulation);
    int waits = 0;
    for (const Gap& gap : gapsOf(*opened.simulation, chains, 0)) {
        const std::string text = joined(chains.lines(chains.chain(gap)));
        if (text.find("waits for the all-gather of parameters") == std::string::npos)
            continue;
        ++waits;
        EXPECT_THAT(text, HasSubstr("\ntry: ZeRO 3 → 2: "));
        EXPECT_THAT(text, HasSubstr(" (" + percentText(1 - ratio) + " less time a token, " +
                                    sureText(likelyRatio(opened.simulation->scenario(), whole, ratio)) + ")\n"));
    }
    EXPECT_GT(waits, 0);
    // What is less than the model errs by is called so, as the finding of the same edit calls it.
    const auto doubtful = test::openNumber("05");
    WaitChains chainsOf05(*doubtful.simulation);
    const auto gap = chainsOf05.longestGapIn(0, 0, chainsOf05.gapAt(0, doubtful.simulation->times().endNs - 1)->beginNs / 2);
    ASSERT_TRUE(gap);
    EXPECT_THAT(joined(chainsOf05.lines(chainsOf05.chain(*gap))),
                testing::ContainsRegex("\ntry: .* less time a token, (likely −|smaller than the model's own error)"));
}

// Software that gathers the parameters of ZeRO 3 when a layer asks for them; those of ZeRO 2 come ahead, as with any, unless the
// file says that they do not.
TEST(WaitAdvice, TriesAStageOfZeroAsTheFileWouldBeWithIt)
{
    for (const bool isSaid : {false, true}) {
        std::vector<std::string> overrides{R"(training.stack={"base":"pytorch-eager","gathers_ahead":false})"};
        if (isSaid)
            overrides.emplace_back("training.overlap.param_gather=false");
        const auto late = test::openNumber("14", overrides);
        Scenario whole = late.simulation->scenario();
        ASSERT_FALSE(whole.training.overlap.paramGather);
        whole.layout.zeroStage = 2;
        const auto ratioWith = [&](bool ahead) {
            whole.training.overlap.paramGather = ahead;
            return late.simulation->metrics().tokensPerSecond / simulate(whole)->metrics().tokensPerSecond;
        };
        const double ratio = ratioWith(!isSaid);
        ASSERT_GT(std::abs(ratioWith(isSaid) - ratio), 0.1) << "or it could not be told which was tried";
        WaitChains chains(*late.simulation);
        int told = 0;
        for (const Gap& gap : gapsOf(*late.simulation, chains, 0)) {
            const std::string text = joined(chains.lines(chains.chain(gap)));
            if (text.find("\ntry: ZeRO 3 → 2: ") == std::string::npos)
                continue;
            ++told;
            EXPECT_THAT(text, HasSubstr(" (" + percentText(1 - ratio) + " less time a token")) << isSaid;
        }
        EXPECT_GT(told, 0) << isSaid;
    }
}

TEST(WaitAdvice, OfALargeStepSaysWhereEditsAre)
{
    const auto opened = test::openNumber("53");
    WaitChains chains(*opened.simulation);
    const auto gap = chains.longestGapIn(0, 0, opened.simulation->times().endNs);
    ASSERT_TRUE(gap);
    EXPECT_EQ(chains.lines(chains.chain(*gap)).back(), "the step is too large to try edits here: see Findings");
}

/// All that is advised against waits of a job.
std::set<std::string> adviceIn(const Simulation& simulation)
{
    WaitChains chains(simulation);
    std::set<std::string> found;
    for (int c = 0; c < simulation.classCount(); ++c)
        for (const Gap& gap : gapsOf(simulation, chains, c))
            for (const std::string& line : chains.lines(chains.chain(gap)))
                if (line.starts_with("try: "))
                    found.insert(line.substr(0, line.find_first_of(":,(", 5)));
    return found;
}

TEST(WaitAdvice, IsNotWhatMakesTheStepLongerOrChangesNothing)
{
    for (const char* number : {"51", "54", "58"}) {
        SCOPED_TRACE(number);
        const std::set<std::string> advice = adviceIn(*test::openNumber(number).simulation);
        EXPECT_FALSE(advice.contains("try: overlapped expert communication"));
        for (const std::string& each : advice)
            EXPECT_FALSE(each.starts_with("try: fewer layers")) << each;
    }
    // Where each rank has several layers and one of them the head besides, it helps.
    EXPECT_TRUE(adviceIn(*test::openNumber("04").simulation).contains("try: fewer layers on pipeline rank 1"));
}

TEST(WaitAdvice, AgainstOffloadingNamesWhatIsTooSlow)
{
    const auto adviceWith = [](double link, double memory) {
        Scenario scenario = test::offloadedScenario(1, 0);
        scenario.cluster.gpu.hostBandwidthGBs = link;
        scenario.cluster.host.memoryBandwidthGBs = memory;
        std::set<std::string> found;
        const auto simulation = simulate(scenario);
        WaitChains of(*simulation);
        for (const Gap& gap : gapsOf(*simulation, of, 0))
            for (const std::string& line : of.lines(of.chain(gap)))
                if (line.starts_with("try: no offloading"))
                    found.insert(line.substr(0, line.find(" (")));
        return found;
    };
    EXPECT_EQ(adviceWith(1000, 10), (std::set<std::string>{"try: no offloading: the host's memory is the limit"}));
    EXPECT_EQ(adviceWith(10, 10000), (std::set<std::string>{"try: no offloading: the link to the host is the limit"}));
}

TEST(WaitChain, SaysHowMuchOfACollectiveAlreadyHides)
{
    const auto simulation = simulate(test::smallScenario(1, 1, 2));
    const Trace trace = simulation->trace(TraceDetail::kernels);
    const Track &kernels = trackOf(trace, 0, TrackRole::compute), &reductions = trackOf(trace, 0, TrackRole::communication);
    std::int64_t hidden = 0;
    for (std::size_t r = 0; r < reductions.size(); ++r)
        for (std::size_t k = 0; k < kernels.size(); ++k)
            hidden += std::max<std::int64_t>(
                0, std::min(reductions.startNs[r] + reductions.durationNs[r], kernels.startNs[k] + kernels.durationNs[k]) -
                       std::max(reductions.startNs[r], kernels.startNs[k]));
    ASSERT_GT(hidden, 0);
    EXPECT_THAT(textBefore(*simulation, 0, "the optimizer"),
                HasSubstr("; behind B3 " + inWords(hidden) + " of such already run, and at most " +
                          inWords(lastPassOf(*simulation, 0).computesNs - hidden) + " more have room\n"));
}

TEST(WaitChain, ALastMemberIsOfTheCollectiveThatIsWaitedForAndWhyItIs)
{
    // All gradients of the replica without the slow rank are there 0.3 s earlier than those of the mates that wait for it; on
    // their stream the last bucket is hardly late.
    const auto opened = test::openNumber("21");
    const std::string replica = textBefore(*opened.simulation, opened.simulation->classOf(24), "the optimizer");
    EXPECT_THAT(replica, HasSubstr("waits for the reduce-scatter of gradients in dp"));
    EXPECT_THAT(replica,
                testing::ContainsRegex("collective's last member is pp 1 \\(rank 16\\), (29|30)[0-9] ms after the first"));
    const std::string ends = textBefore(*opened.simulation, opened.simulation->classOf(53), "the optimizer");
    EXPECT_THAT(ends, HasSubstr("waits for the all-reduce of gradients in tied embedding"));
    EXPECT_THAT(ends,
                testing::ContainsRegex("\nof the all-reduce of gradients in tied embedding the (last member is|members come)"));
    EXPECT_THAT(ends, testing::Not(HasSubstr("hide behind")));
}

TEST(WaitChain, CallsACollectiveByWhatItIsOnItsWay)
{
    // What a pass gathers on its way forward it reduces on its way back, under one name.
    for (const auto& [number, gathered] : {std::pair{"05", "attention"}, {"39", "received activations"}}) {
        const auto opened = test::openNumber(number);
        WaitChains chains(*opened.simulation);
        std::set<std::string> texts;
        std::optional<Gap> gap = chains.firstGapFrom(0, opened.simulation->times().endNs / 3, 1);
        for (int i = 0; i < 300 && gap && gap->next; ++i, gap = chains.firstGapFrom(0, gap->endNs, 1))
            for (const WaitLink& link : chains.chain(*gap).links)
                texts.insert(chains.linkText(link));
        EXPECT_THAT(texts, testing::Contains("the all-gather of " + std::string(gathered) + " in tp")) << number;
        for (const std::string& text : texts) {
            EXPECT_EQ(text.find("reduction"), std::string::npos) << text;
            EXPECT_EQ(text.find("gathering"), std::string::npos) << text;
        }
    }
}

TEST(WaitChain, AddsUpTheSharedEmbeddingOnlyWhenItsGradientsAreThere)
{
    Scenario scenario = test::smallScenario(1, 2, 1);
    scenario.model.tieWordEmbeddings = true;
    const std::string text = textBefore(*simulate(scenario), 0, "the optimizer");
    EXPECT_THAT(text, HasSubstr("; what it adds up is there when B3 ends\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("hide behind")));
}

TEST(WaitChain, NamesTheSlowRankOfAStageThatOthersOfItWaitedFor)
{
    // Rank 1 keeps rank 0 in every sum of their layer, and so the next stage's ranks, both the one behind it and the other.
    Scenario scenario = test::smallScenario(2, 2, 1);
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 1.3});
    const auto simulation = simulate(scenario, {.full = true});
    for (const int rank : {2, 3}) {
        SCOPED_TRACE(rank);
        const std::string text = textBefore(*simulation, rank, "F0");
        EXPECT_THAT(text, HasSubstr("waits for F0 of pp 0 (rank 1), "));
        EXPECT_THAT(text, HasSubstr("try: another GPU for rank 1, which is slow"));
    }
}

TEST(WaitChain, InsideAPassSaysWhereAndWhatAllOfItsKindCost)
{
    const auto simulation = simulate(test::smallScenario(2, 1, 1));
    WaitChains chains(*simulation);
    std::int64_t inside = 0;
    std::vector<std::string> texts;
    for (const Gap& gap : gapsOf(*simulation, chains, 0)) {
        const std::string text = joined(chains.lines(chains.chain(gap)));
        if (text.find(" idle inside ") == std::string::npos)
            continue;
        inside += gap.lengthNs();
        texts.push_back(text);
    }
    ASSERT_GT(texts.size(), 10U);
    EXPECT_THAT(texts.front(), HasSubstr(" idle inside F0, before attention norm\n"));
    const double share = static_cast<double>(inside) / static_cast<double>(simulation->times().endNs);
    for (const std::string& text : texts)
        ASSERT_THAT(text, HasSubstr("all waits inside passes together are " + percentText(share) + " of the step long"));
}

TEST(WaitChain, OfAStretchOfTimeIsTheLongestInIt)
{
    const auto simulation = simulate(test::smallScenario(1, 4, 1, 8));
    WaitChains chains(*simulation);
    const std::vector<Gap> all = gapsOf(*simulation, chains, 2);
    ASSERT_GT(all.size(), 3U);
    const auto longer = [](const Gap& a, const Gap& b) { return a.lengthNs() < b.lengthNs(); };
    EXPECT_EQ(chains.longestGapIn(2, 0, simulation->times().endNs), *std::max_element(all.begin(), all.end(), longer));
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        const Gap& longest = std::max(all[i], all[i + 1], longer);
        EXPECT_EQ(chains.longestGapIn(2, all[i].endNs - 1, all[i + 1].beginNs + 1), longest);
        EXPECT_EQ(chains.longestGapIn(2, all[i].endNs, all[i + 1].beginNs), std::nullopt);
    }
}

TEST(WaitChain, GapsAreWalkedThroughInOrderBothWays)
{
    const auto simulation = simulate(test::smallScenario(1, 4, 1, 8));
    WaitChains chains(*simulation);
    const std::vector<Gap> all = gapsOf(*simulation, chains, 2);
    std::vector<std::int64_t> lengths;
    for (const Gap& gap : all)
        lengths.push_back(gap.lengthNs());
    std::sort(lengths.begin(), lengths.end());
    for (const std::int64_t least : {std::int64_t{1}, lengths[lengths.size() / 2], lengths.back()}) {
        std::vector<Gap> wide, forwards, backwards;
        std::copy_if(all.begin(), all.end(), std::back_inserter(wide), [&](const Gap& gap) { return gap.lengthNs() >= least; });
        for (auto gap = chains.firstGapFrom(2, 0, least); gap; gap = chains.firstGapFrom(2, gap->endNs, least))
            forwards.push_back(*gap);
        for (auto gap = chains.lastGapUntil(2, simulation->times().endNs, least); gap;
             gap = chains.lastGapUntil(2, gap->beginNs, least))
            backwards.insert(backwards.begin(), *gap);
        EXPECT_EQ(forwards, wide);
        EXPECT_EQ(backwards, wide);
    }
}

TEST(WaitChain, SaysHowMuchOfTheStepAGapIsButNothingOfARankThatIsDone)
{
    Scenario scenario = test::smallScenario(1, 2, 1);
    launchAtOnce(scenario); // no gap lies inside a pass
    const auto simulation = simulate(scenario);
    WaitChains chains(*simulation);
    for (const Gap& gap : gapsOf(*simulation, chains, 1)) {
        const std::string text = joined(chains.lines(chains.chain(gap)));
        const double share = static_cast<double>(gap.lengthNs()) / static_cast<double>(simulation->times().endNs);
        const std::string ofStep = "is " + percentText(share) + " of the step long";
        EXPECT_THAT(text, gap.next ? testing::Matcher<const std::string&>(HasSubstr(ofStep))
                                   : testing::Matcher<const std::string&>(testing::Not(HasSubstr("of the step long"))));
        EXPECT_THAT(text, HasSubstr(numberText(static_cast<double>(gap.lengthNs()) * 1e-9, Unit::seconds) +
                                    (gap.next ? " idle before " : " to the end of the step: ")));
    }
}

TEST(WaitChain, IsNothingWhileAKernelRunsOrOutsideTheStep)
{
    const auto simulation = simulate(test::smallScenario(1, 2, 1));
    WaitChains chains(*simulation);
    EXPECT_FALSE(chains.gapAt(0, simulation->times().opStartNs[simulation->times().firstOp[0]] + 1));
    EXPECT_FALSE(chains.gapAt(0, -1));
    EXPECT_FALSE(chains.gapAt(0, simulation->times().endNs));
}

TEST(ExposedTransfers, AddUpToTheSharesOfTheStepAndLieInGaps)
{
    std::mt19937 random(21);
    for (int i = 0; i < 30; ++i) {
        const auto simulation = simulate(test::randomScenario(random, 32));
        WaitChains chains(*simulation);
        for (int c = 0; c < simulation->classCount(); ++c) {
            TimeShares sums;
            std::int64_t until = 0;
            for (const ExposedTransfer& each : exposedTransfers(*simulation, c)) {
                ASSERT_GE(each.beginNs, until);
                ASSERT_GT(each.endNs, each.beginNs);
                until = each.endNs;
                (each.dimension ? sums.exposedNs[*each.dimension] : sums.exposedHostNs) += each.endNs - each.beginNs;
                const auto gap = chains.gapAt(c, each.beginNs);
                ASSERT_TRUE(gap);
                EXPECT_LE(each.endNs, gap->endNs);
            }
            EXPECT_EQ(sums.exposedNs, simulation->timeOfClass(c).exposedNs);
            EXPECT_EQ(sums.exposedHostNs, simulation->timeOfClass(c).exposedHostNs);
        }
    }
}
