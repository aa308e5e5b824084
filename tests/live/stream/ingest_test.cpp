// Processes that Rankscope did not start hand in spans: what they did arrives whole, ranks come and go, and whatever a process
// sends, or does not, the others are still seen.
#include "live/stream/attached_run.h"
#include "live/stream/ingest.h"
#include "live/stream/make_trace.h"
#include "live/stream/open_files.h"
#include "live/stream/pack.h"
#include "live/stream/publisher.h"
#include "live/stream/viewer.h"
#include "run_for_tests.h"
#include "sim/error.h"
#include "tests/live/support/raw_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <sys/resource.h>
#include <utility>
#include <zmq.hpp>
#include <zmq_addon.hpp>

namespace {

using live::Json;
using live::SpanTrack;
using test::eventually;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

/// An attached run without sockets, on a clock that the test moves.
struct Attached {
    live::SpanKinds kinds;
    live::Collector collector{kinds};
    live::AttachedRun run;
    std::int64_t now = live::nowNs();

    explicit Attached(live::AttachedRunOptions options = {}) : run(collector, kinds, std::move(options)) {}

    live::AttachedRun::Answer say(const std::string& peer, const Json& json, const std::vector<std::string>& frames = {})
    {
        const std::string text = json.dump();
        std::vector<std::string_view> parts = {text};
        parts.insert(parts.end(), frames.begin(), frames.end());
        return run.receive(peer, parts, now);
    }
    Json helloOf(int rank, int worldSize = 2, const std::string& job = "job/0")
    {
        Json hello = live::header("hello");
        hello.update({{"job", job},
                      {"rank", rank},
                      {"world_size", worldSize},
                      {"host", "node" + std::to_string(rank)},
                      {"process_id", 100 + rank},
                      {"offset_ns", 0},
                      {"uncertainty_ns", 0},
                      {"device", "CPU"}});
        return hello;
    }
    static std::string peerOf(int rank) { return "peer " + std::to_string(rank); }
    /// Ranks with a dp group over all of them, and two kinds: a kernel and dp's all-reduce.
    void join(int worldSize = 2)
    {
        for (int rank = 0; rank < worldSize; ++rank)
            joinAs(rank, worldSize);
        advance(2 * kSecond);
    }
    /// With one kind, a kernel; `offsetNs` is what its clock lacks of this one's.
    void joinFromAnotherMachine(int rank, int worldSize, std::int64_t offsetNs)
    {
        Json hello = helloOf(rank, worldSize);
        hello["offset_ns"] = offsetNs;
        hello["uncertainty_ns"] = 70'000;
        hello["boot"] = "another machine";
        say(peerOf(rank), hello);
        Json data = live::header("data");
        data["kinds_from"] = 0;
        data["kinds"] = {{{"name", "k"}, {"class", 0}}};
        say(peerOf(rank), data);
    }
    std::string joinAs(int rank, int worldSize = 2, const std::string& job = "job/0", const std::string& peer = "")
    {
        const std::string name = peer.empty() ? peerOf(rank) : peer;
        const auto answer = say(name, helloOf(rank, worldSize, job));
        if (answer.message && live::typeOf(*answer.message) == "refused")
            return live::textIn(*answer.message, "message", 1000);
        Json groups = live::header("groups");
        Json ranks = Json::array();
        for (int i = 0; i < worldSize; ++i)
            ranks.push_back(i);
        groups["from"] = 0;
        groups["groups"] = {{{"name", "dp"}, {"kind", "dp"}, {"ranks", ranks}},
                            {{"name", "pp"}, {"kind", "pair"}, {"ranks", {0, 1}}}};
        say(name, groups);
        Json data = live::header("data");
        data["kinds_from"] = 0;
        data["kinds"] = {{{"name", "Block"}, {"class", 0}, {"stage", 0}, {"layer", 3}, {"group", ""}},
                         {{"name", "dp all_reduce"}, {"class", 10}, {"stage", -1}, {"layer", -1}, {"group", "dp"}},
                         {{"name", "send"}, {"class", 9}, {"stage", -1}, {"layer", -1}, {"group", "pp"}}};
        say(name, data);
        return {};
    }
    live::AttachedRun::Answer give(int rank, const std::vector<live::SpanRecord>& spans, Json more = Json::object())
    {
        std::vector<live::RankSpan> all;
        for (const live::SpanRecord& span : spans)
            all.push_back({rank, span});
        Json data = live::header("data");
        data["spans"] = true;
        data.update(more);
        return say(peerOf(rank), data, {live::packSpans(all)});
    }
    live::SpanRecord kernel(std::int64_t startNs, std::int64_t endNs, int step = 0) const
    {
        return {
            .startNs = now + startNs, .endNs = now + endNs, .readyNs = now + startNs, .kind = 0, .microbatch = 1, .step = step};
    }
    /// The number-th of the group (0: dp, 1: the pair).
    live::SpanRecord comm(std::uint64_t group, std::uint64_t number, SpanTrack track, std::int64_t startNs,
                          std::int64_t endNs) const
    {
        return {.startNs = now + startNs,
                .endNs = now + endNs,
                .readyNs = now + startNs,
                .bytes = 4096,
                .correlation = (group + 1) << 32U | number,
                .kind = group == 0 ? 1U : 2U,
                .track = track};
    }
    void advance(std::int64_t ns)
    {
        now += ns;
        for (const auto& [rank, peer] : std::map<int, std::string>{{0, peerOf(0)}, {1, peerOf(1)}})
            if (run.contains(peer) && !mute.contains(rank))
                say(peer, live::header("alive"));
        run.tick(now);
    }
    std::vector<live::RankSpan> spans()
    {
        collector.collect();
        const live::RunHistory history = collector.history();
        return history.spans({0, std::numeric_limits<int>::max()});
    }
    std::set<int> mute; ///< ranks that say nothing by themselves
};

TEST(AttachedRun, IsDescribedByWhatItsRanksSay)
{
    Attached job({.name = "a job"});
    EXPECT_FALSE(job.collector.isDescribed());
    job.join();
    ASSERT_TRUE(job.collector.isDescribed());
    const live::RunDescription& run = job.collector.description();
    EXPECT_EQ(run.processId, 0) << "the ranks are processes of their own; this one listens";
    EXPECT_EQ(run.name, "a job");
    EXPECT_EQ(run.worldSize, 2);
    EXPECT_EQ(run.device, "CPU");
    EXPECT_THAT(run.rankNames, testing::ElementsAre("rank 0 (dp0), node0", "rank 1 (dp1), node1"));
    EXPECT_EQ(run.groupSizes, (std::map<std::string, int>{{"dp", 2}, {"world", 2}}));
    EXPECT_FALSE(run.controllable);
    EXPECT_EQ(job.collector.state().status, live::RunStatus::running);
}

TEST(AttachedRun, IsShownAfterAWhileWithRanksMissing)
{
    Attached job;
    job.joinAs(1, 3);
    job.advance(2 * kSecond);
    EXPECT_FALSE(job.collector.isDescribed());
    job.advance(4 * kSecond);
    ASSERT_TRUE(job.collector.isDescribed());
    EXPECT_EQ(job.collector.description().worldSize, 3);
    EXPECT_THAT(job.collector.state().message, HasSubstr("1 of 3 ranks have attached"));
}

TEST(AttachedRun, WaitingAndTransferAreToldApartOnceTheLastMemberHasCome)
{
    Attached job;
    job.join();
    job.give(0, {job.comm(0, 0, SpanTrack::dp, 100, 900), job.kernel(900, 1000)});
    EXPECT_TRUE(job.spans().empty()) << "held, with what follows, until rank 1 is heard of";
    job.give(1, {job.kernel(0, 700), job.comm(0, 0, SpanTrack::dp, 700, 890)});
    job.advance(1000);
    const auto spans = job.spans();
    ASSERT_EQ(spans.size(), 4U);
    std::set<std::uint64_t> correlations;
    for (const live::RankSpan& span : spans)
        if (span.span.track == SpanTrack::dp) {
            EXPECT_EQ(span.span.readyNs, job.now - 1000 + 700) << "when rank 1 had come";
            correlations.insert(span.span.correlation);
        }
    EXPECT_EQ(correlations.size(), 1U);
    EXPECT_NE(*correlations.begin(), 0U);
    EXPECT_EQ(job.run.ignored(), 0U);
}

TEST(AttachedRun, ASendAndItsReceiveMeetAndAreDrawnAsAFlow)
{
    Attached job;
    job.join();
    job.give(0, {job.comm(1, 0, SpanTrack::sendForward, 5000, 9000)});
    job.give(1, {job.comm(1, 0, SpanTrack::receive, 0, 9000)});
    job.advance(1000);
    job.spans();
    const sim::Trace trace = live::makeTrace(job.collector.history());
    EXPECT_EQ(trace.flows.size(), 1U);
}

TEST(AttachedRun, WhoseOthersNeverComeIsGivenOnAfterAWhile)
{
    Attached job;
    job.join();
    job.give(0, {job.comm(0, 0, SpanTrack::dp, 100, 900)});
    job.advance(kSecond);
    EXPECT_TRUE(job.spans().empty());
    job.advance(kSecond);
    ASSERT_EQ(job.spans().size(), 1U);
    // Nobody is waited for that has gone.
    job.run.connectionEnded(Attached::peerOf(1), job.now);
    job.give(0, {job.comm(0, 1, SpanTrack::dp, 100, 900)});
    EXPECT_EQ(job.spans().size(), 2U);
}

TEST(AttachedRun, AStepIsDoneWhenAllRanksThatAreThereHaveToldIt)
{
    Attached job;
    job.join();
    const std::int64_t t = job.now;
    job.give(0, {job.kernel(0, 5)}, Json{{"steps", Json::array({Json::array({0, t, t + 50, 2.0, nullptr, 100})})}});
    EXPECT_TRUE(job.collector.history().steps.empty() || job.collector.history().steps[0].endNs == 0);
    job.give(1, {job.kernel(0, 5)}, Json{{"steps", Json::array({Json::array({0, t + 10, t + 100, 4.0, nullptr, 100})})}});
    const live::RunHistory history = job.collector.history();
    ASSERT_NE(history.find(0), nullptr);
    const live::StepSummary& step = *history.find(0);
    EXPECT_EQ(step.startNs, t);
    EXPECT_EQ(step.endNs, t + 100);
    EXPECT_DOUBLE_EQ(step.loss, 3.0);
    EXPECT_TRUE(std::isnan(step.gradientNorm));
    EXPECT_NEAR(step.tokensPerSecond, 200 / 100e-9, 1);
}

TEST(AttachedRun, RanksThatFallSilentAreKilledOrLeaveAreToldApart)
{
    Attached job({.patienceNs = 20 * kSecond});
    job.join();
    job.mute = {1};
    job.advance(6 * kSecond);
    EXPECT_THAT(job.run.text(job.now), HasSubstr("rank 1 said nothing for 6 s"));
    EXPECT_EQ(job.run.present(), 2);
    job.say(Attached::peerOf(1), live::header("alive"));
    EXPECT_EQ(job.run.text(job.now), "");
    job.run.connectionEnded(Attached::peerOf(1), job.now);
    EXPECT_THAT(job.run.text(job.now), HasSubstr("rank 1 ended without a goodbye"));
    EXPECT_EQ(job.run.present(), 1);
    Json bye = live::header("bye");
    bye["failed"] = true;
    bye["message"] = "out of memory";
    job.say(Attached::peerOf(0), bye);
    EXPECT_THAT(job.run.text(job.now), AllOf(HasSubstr("rank 0 failed"), HasSubstr("rank 0 said: out of memory")));
    EXPECT_FALSE(job.run.isOver(job.now)) << "rank 1 may come back";
    EXPECT_TRUE(job.run.isOver(job.now + 21 * kSecond));
    EXPECT_TRUE(job.run.isFailed());
}

TEST(AttachedRun, IsNotOverBeforeAllItsRanksHaveCome)
{
    Attached job;
    job.joinAs(0);
    job.say(Attached::peerOf(0), live::header("bye"));
    EXPECT_FALSE(job.run.isOver(job.now)) << "rank 1 is slow to begin";
    EXPECT_TRUE(job.run.isOver(job.now + 31 * kSecond));
    job.joinAs(1);
    EXPECT_FALSE(job.run.isOver(job.now));
    job.say(Attached::peerOf(1), live::header("bye"));
    EXPECT_TRUE(job.run.isOver(job.now));
    EXPECT_FALSE(job.run.isFailed());
}

TEST(AttachedRun, WhoComesBackGoesOnAndARestartedJobsStepsFollow)
{
    Attached job;
    job.join();
    job.give(1, {job.kernel(0, 5, 7)});
    job.run.connectionEnded(Attached::peerOf(1), job.now);
    EXPECT_EQ(job.joinAs(1, 2, "job/0", "peer 1 again"), "");
    EXPECT_EQ(job.run.present(), 2);
    EXPECT_THAT(job.joinAs(0, 2, "job/1", "other"), HasSubstr("another job is attached here (2 ranks of job/0)"));
    job.run.connectionEnded("peer 1 again", job.now);
    job.run.connectionEnded(Attached::peerOf(0), job.now);
    EXPECT_THAT(job.joinAs(0, 4, "job/1"), HasSubstr("begun with 2 ranks, the new job has 4"));
    EXPECT_EQ(job.joinAs(0, 2, "job/1"), "");
    job.give(0, {job.kernel(0, 5, 0)});
    int newest = -1;
    for (const live::RankSpan& span : job.spans())
        newest = std::max(newest, span.span.step);
    EXPECT_EQ(newest, 8);
}

TEST(AttachedRun, ANewJobComesInOnceTheRanksOfADeadHostHaveSaidNothingForLong)
{
    Attached job({.patienceNs = 20 * kSecond});
    job.join();
    job.say(Attached::peerOf(0), live::header("bye"));
    job.mute = {1}; // its host has lost power: nobody ends its connection
    job.advance(10 * kSecond);
    Json hello = job.helloOf(0, 2, "job/1");
    const auto refusal = job.say("new 0", hello);
    ASSERT_TRUE(refusal.message);
    EXPECT_THAT(refusal.message->dump(), HasSubstr("another job is attached here (1 ranks of job/0)"));
    EXPECT_EQ(refusal.message->value("again", false), true) << "it may pass";
    job.advance(11 * kSecond);
    EXPECT_EQ(job.run.present(), 0);
    EXPECT_THAT(job.run.text(job.now), HasSubstr("rank 1 said nothing for 21 s"));
    EXPECT_EQ(live::typeOf(*job.say("new 0", hello).message), "welcome");
    // The old one wakes up: it is of no job that is here.
    EXPECT_EQ(live::typeOf(*job.say(Attached::peerOf(1), live::header("alive")).message), "who");
    hello = job.helloOf(0, 3, "job/1");
    EXPECT_FALSE(job.say("liar", hello).message->contains("again")) << "that does not pass";
}

TEST(AttachedRun, GroupsOfTheSameMembersAreNotTakenForOne)
{
    Attached job;
    for (int rank = 0; rank < 2; ++rank) {
        job.joinAs(rank);
        Json groups = live::header("groups");
        groups["from"] = 2;
        groups["groups"] = {{{"name", "dp"}, {"kind", "dp"}, {"ranks", {0, 1}}, {"of", "1"}},
                            {{"name", "dp"}, {"kind", "dp"}, {"ranks", {0, 1}}, {"of", "2"}}};
        job.say(Attached::peerOf(rank), groups);
    }
    job.advance(2 * kSecond);
    // Rank 0 uses them one after the other, rank 1 has come to the second one only.
    job.give(0, {job.comm(2, 0, SpanTrack::dp, 100, 200), job.comm(3, 0, SpanTrack::dp, 200, 900)});
    job.give(1, {job.comm(3, 0, SpanTrack::dp, 800, 900)});
    job.advance(2 * kSecond);
    std::map<std::uint64_t, int> members;
    for (const live::RankSpan& span : job.spans())
        ++members[span.span.correlation];
    std::vector<int> counts;
    for (const auto& [correlation, count] : members)
        counts.push_back(count);
    EXPECT_THAT(counts, testing::UnorderedElementsAre(1, 2));
}

TEST(AttachedRun, OneRanksAbsurdStepsDoNotKeepTheOthersOut)
{
    Attached job;
    job.join(3);
    job.give(2, {job.kernel(0, 5, 3000)}); // it comes first
    job.give(0, {job.kernel(0, 5, 0)});
    job.give(1, {job.kernel(0, 5, 0)});
    for (int step = 2000; step <= 20'000; step += 2000) // and goes on
        job.give(2, {job.kernel(0, 5, step)});
    job.give(2, {job.kernel(0, 5, 900'000'000)});
    job.give(0, {job.kernel(0, 5, 1)});
    job.give(1, {job.kernel(0, 5, 1)});
    job.give(2, {job.kernel(0, 5, 2)}); // back to its senses
    std::set<std::pair<int, int>> taken;
    for (const live::RankSpan& span : job.spans())
        taken.emplace(span.rank, span.span.step);
    EXPECT_THAT(taken, testing::UnorderedElementsAre(std::pair(2, 3000), std::pair(0, 0), std::pair(1, 0), std::pair(2, 2000),
                                                     std::pair(0, 1), std::pair(1, 1), std::pair(2, 2)));
    for (int rank = 0; rank < 3; ++rank) { // as when nobody listened for long: all say hello again
        const std::string peer = "again " + std::to_string(rank);
        job.run.connectionEnded(Attached::peerOf(rank), job.now);
        job.joinAs(rank, 3, "job/0", peer);
    }
    job.say("again 0", live::header("alive"));
    const std::uint64_t dropped = job.collector.state().spansDropped;
    Json data = live::header("data");
    data["spans"] = true;
    job.say("again 0", data, {live::packSpans(std::vector<live::RankSpan>{{0, job.kernel(0, 5, 70'000)}})});
    job.spans();
    EXPECT_EQ(job.collector.state().spansDropped, dropped);
}

/// Who listens late, or again after a while, is first told what the ranks kept of old, and then of the steps they are at.
TEST(AttachedRun, WhereAllRanksHaveComeFarTheyAreFollowed)
{
    Attached job;
    job.join();
    for (const int step : {0, 1})
        for (const int rank : {0, 1})
            job.give(rank, {job.kernel(0, 5, step)});
    for (int step = 6000; step < 6004; ++step)
        for (const int rank : {0, 1})
            job.give(rank, {job.kernel(0, 5, step)});
    std::map<int, int> ranksOf;
    for (const live::RankSpan& span : job.spans())
        ++ranksOf[span.span.step];
    EXPECT_EQ(ranksOf[6002], 2);
    EXPECT_EQ(ranksOf[6003], 2);
    EXPECT_LE(job.collector.state().spansDropped, 3U); // until it is known that all have come there
}

TEST(AttachedRun, ASecondProcessOfTheSameRankIsRefused)
{
    Attached job;
    job.join();
    Json hello = job.helloOf(1);
    hello["process_id"] = 999;
    const auto answer = job.say("thief", hello);
    ASSERT_TRUE(answer.message);
    EXPECT_THAT(answer.message->dump(), HasSubstr("rank 1 of this job is attached already, by process 101 on node1"));
    EXPECT_THAT(job.joinAs(0, 3, "job/0", "liar"), HasSubstr("the job has 2 ranks as others said, this rank says 3"));
    EXPECT_FALSE(job.run.contains("thief"));
}

TEST(AttachedRun, WhoWaitsForWhomIsTold)
{
    Attached job;
    job.join();
    Json waits = live::header("waits");
    waits["file"] = "/tmp/flight.json";
    waits["waits"] = {{{"name", "all_reduce"}, {"group", 0}, {"number", 12}, {"since_ns", job.now - 31 * kSecond}}};
    job.say(Attached::peerOf(0), waits);
    EXPECT_EQ(job.run.text(job.now),
              "waiting: rank 0 in all_reduce 12 of dp for 31 s: rank 1 has not come. Flight record: node0:/tmp/flight.json");
    job.say(Attached::peerOf(1), waits);
    EXPECT_THAT(job.run.text(job.now), HasSubstr("ranks 0, 1 in all_reduce 12 of dp for 31 s, all members being there"));
}

TEST(AttachedRun, TimesOfAnotherMachineAreMovedOntoThisClock)
{
    Attached job;
    job.joinFromAnotherMachine(0, 1, 5 * kSecond);
    job.give(0, {job.kernel(-5 * kSecond, -5 * kSecond + 10)});
    const std::int64_t then = job.now;
    job.advance(2 * kSecond);
    ASSERT_EQ(job.spans().size(), 1U);
    EXPECT_EQ(job.spans()[0].span.startNs, then);
    EXPECT_THAT(job.collector.description().rankNames[0], HasSubstr("clock within 0.070 ms"));
}

TEST(AttachedRun, DropsOfARankAndWhatCannotBeAreCounted)
{
    Attached job;
    job.join();
    job.give(0, {job.kernel(0, 5)}, {{"dropped", 40}});
    job.give(0, {job.kernel(0, 5)}, {{"dropped", 42}});
    live::SpanRecord tooBig = job.kernel(0, 5);
    tooBig.bytes = std::int64_t{1} << 50U;
    live::SpanRecord farStep = job.kernel(0, 5, 1'000'000);
    live::SpanRecord farTime = job.kernel(0, 5);
    farTime.startNs = farTime.endNs = std::numeric_limits<std::int64_t>::max();
    job.give(0, {tooBig, farStep, farTime});
    // Its clock is hours ahead, so that its first nanoseconds are hours before this machine's.
    job.joinFromAnotherMachine(1, 2, -3 * 3600 * kSecond);
    live::SpanRecord longAgo = job.kernel(0, 5);
    longAgo.startNs = longAgo.endNs = 1;
    job.give(1, {longAgo});
    EXPECT_EQ(job.spans().size(), 2U);
    EXPECT_EQ(job.collector.state().spansDropped, 42U + 4U);
    EXPECT_EQ(job.run.ignored(), 0U);
}

TEST(AttachedRun, NonsenseIsRefusedWithTheNumbers)
{
    const auto refusal = [](const std::function<live::AttachedRun::Answer(Attached&)>& attack) {
        Attached job;
        job.join();
        const auto answer = attack(job);
        EXPECT_TRUE(answer.cut);
        EXPECT_EQ(job.run.ignored(), 1U);
        job.give(1, {job.kernel(0, 5)});
        EXPECT_EQ(job.spans().size(), 1U) << "others are still taken";
        return answer.message ? live::textIn(*answer.message, "message", 4000) : "";
    };
    const auto with = [](const char* type, const Json& members) {
        Json json = live::header(type);
        json.update(members);
        return json;
    };
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say("x", with("hello", {{"rank", 0}, {"world_size", 1U << 20U}}));
                }),
                HasSubstr("world_size = 1048576, where 1 to 16384 can be"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say("x", with("hello", {{"rank", 2}, {"world_size", 2}}));
                }),
                HasSubstr("rank = 2, where 0 to 1 can be"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say(
                        Attached::peerOf(0),
                        with("groups", {{"from", 2}, {"groups", {{{"name", "x"}, {"kind", "dp"}, {"ranks", {0, 7}}}}}}));
                }),
                HasSubstr("group x with rank 7 of 2"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say(
                        Attached::peerOf(0),
                        with("groups", {{"from", 2}, {"groups", {{{"name", "x"}, {"kind", "pair"}, {"ranks", {0, 0}}}}}}));
                }),
                HasSubstr("a rank twice"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say(Attached::peerOf(0), with("data", {{"kinds_from", 9}, {"kinds", Json::array()}}));
                }),
                HasSubstr("from number 9 on after 3"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say(Attached::peerOf(0), with("data", {{"spans", true}}));
                }),
                HasSubstr("parts that should have more"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say(Attached::peerOf(0), with("data", {{"spans", true}}), {"rubbish"});
                }),
                HasSubstr("broken"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    live::SpanRecord span = job.kernel(0, 5);
                    span.kind = 3;
                    return job.give(0, {span});
                }),
                HasSubstr("it names an unknown kind"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    live::SpanRecord span = job.kernel(0, 5);
                    span.correlation = std::uint64_t{77} << 32U;
                    return job.give(0, {span});
                }),
                HasSubstr("a span of group 76, having named 2"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    Json old = live::header("hello");
                    old["v"] = 99;
                    return job.say("x", old);
                }),
                HasSubstr("version 99 of the protocol"));
    EXPECT_THAT(refusal([&](Attached& job) {
                    return job.say("x", live::header("alive"), {"a", "b", "c"});
                }),
                HasSubstr("4 parts in one message, where at most 3"));
}

TEST(AttachedRun, ManglingAMessageNeverHurts)
{
    std::mt19937 random(7); // NOLINT: the same every time
    Attached job;
    job.join();
    const std::string frame =
        live::packSpans(std::vector<live::RankSpan>{{0, job.kernel(0, 5)}, {0, job.comm(0, 3, SpanTrack::dp, 1, 9)}});
    Json data = live::header("data");
    data["spans"] = true;
    data["steps"] = Json::array({Json::array({1, job.now, job.now + 5, 1.5})});
    for (int i = 0; i < 4000; ++i) {
        std::string text = data.dump(), bytes = frame;
        std::string& victim = random() % 2 == 0 ? text : bytes;
        for (unsigned n = random() % 4; n < 4; ++n)
            victim[random() % victim.size()] = static_cast<char>(random());
        if (random() % 8 == 0)
            victim.resize(random() % victim.size());
        const std::vector<std::string_view> parts = {text, bytes};
        job.run.receive(Attached::peerOf(0), parts, job.now);
        if (i % 100 == 0)
            job.advance(1000);
    }
    job.give(1, {job.kernel(0, 5)});
    job.advance(3 * kSecond);
    EXPECT_FALSE(job.spans().empty());
}

TEST(AttachedRun, MemoryIsBoundedWhateverARankHoldsBack)
{
    Attached job;
    job.join();
    const std::int64_t before = test::residentMegabytes();
    for (std::uint64_t i = 0; i < 200; ++i) {
        std::vector<live::SpanRecord> spans;
        for (std::uint64_t k = 0; k < 1000; ++k)
            spans.push_back(job.comm(0, i * 1000 + k, SpanTrack::dp, 1, 9)); // rank 1 never comes to any of them
        job.give(0, spans);
        job.collector.collect();
    }
    EXPECT_LT(test::residentMegabytes() - before, 100);
    EXPECT_EQ(job.run.ignored(), 0U);
}

/// A process over a real socket.
struct Process {
    zmq::context_t context;
    zmq::socket_t socket{context, zmq::socket_type::dealer};
    explicit Process(const std::string& endpoint, const std::optional<live::ViewerKeys>& keys = {})
    {
        socket.set(zmq::sockopt::linger, 0);
        socket.set(zmq::sockopt::rcvtimeo, 3000);
        if (keys) {
            socket.set(zmq::sockopt::curve_serverkey, keys->serverPublicKey);
            socket.set(zmq::sockopt::curve_publickey, keys->own.publicKey);
            socket.set(zmq::sockopt::curve_secretkey, keys->own.secretKey);
        }
        socket.connect(endpoint);
    }
    void say(const Json& json) { socket.send(zmq::buffer(json.dump()), zmq::send_flags::none); }
    std::string hear()
    {
        zmq::message_t message;
        return socket.recv(message) ? message.to_string() : "nothing";
    }
};

struct Listening {
    live::SpanKinds kinds;
    live::Collector collector{kinds};
    live::Ingest ingest;
    explicit Listening(live::IngestOptions options = {}) : ingest(collector, kinds, options) {}
    static Json hello()
    {
        Json hello = live::header("hello");
        hello.update({{"job", "j"},
                      {"rank", 0},
                      {"world_size", 1},
                      {"host", "h"},
                      {"process_id", 1},
                      {"offset_ns", 0},
                      {"uncertainty_ns", 0}});
        return hello;
    }
};

TEST(Ingest, AJobIsSeenByAViewerThatCameFirstAndTellsHowItEnded)
{
    Listening here({.name = "mine", .settle = std::chrono::milliseconds(10)});
    auto publisher = std::make_unique<live::Publisher>(here.collector, live::PublishOptions{});
    live::Viewer viewer(publisher->endpoint());
    {
        Process process(here.ingest.endpoint());
        Json ping = live::header("ping");
        ping["t"] = 77;
        process.say(ping);
        EXPECT_THAT(process.hear(), AllOf(HasSubstr("pong"), HasSubstr("\"t\":77")));
        process.say(Listening::hello());
        EXPECT_THAT(process.hear(), HasSubstr("welcome"));
        ASSERT_TRUE(eventually([&] { return viewer.state().state == live::ViewerState::connected; }));
        EXPECT_EQ(viewer.history().description.name, "mine");
    } // killed
    EXPECT_TRUE(eventually([&] { return here.ingest.text().find("rank 0 ended without a goodbye") != std::string::npos; }));
    EXPECT_EQ(here.ingest.counts().present, 0);
    EXPECT_TRUE(here.ingest.isFailed());
}

TEST(Ingest, AWrongKeyDoesNotComeIn)
{
    const live::KeyPair server = live::makeKeyPair(), friendly = live::makeKeyPair(), stranger = live::makeKeyPair();
    live::IngestOptions options;
    options.keys = live::ServerKeys{server, {friendly.publicKey}};
    Listening here(options);
    Process wrong(here.ingest.endpoint(), live::ViewerKeys{server.publicKey, stranger});
    Process without(here.ingest.endpoint());
    wrong.say(Listening::hello());
    without.say(Listening::hello());
    Process right(here.ingest.endpoint(), live::ViewerKeys{server.publicKey, friendly});
    right.say(Listening::hello());
    EXPECT_THAT(right.hear(), HasSubstr("welcome"));
    EXPECT_TRUE(eventually([&] { return here.ingest.counts().refusedKeys >= 1; }));
    EXPECT_EQ(here.ingest.counts().messages, 1U);
}

TEST(Ingest, AMessageWithoutAnEndIsCutOffAndOthersAreServed)
{
    Listening here;
    const std::int64_t before = test::residentMegabytes();
    test::RawPeer attacker = test::RawPeer::connectTo(test::portOf(here.ingest.endpoint()));
    ASSERT_TRUE(attacker.greet("DEALER"));
    constexpr std::size_t kMost = std::size_t{600} << 20U;
    EXPECT_LT(attacker.sendWithoutEnd(kMost), kMost);
    EXPECT_LT(test::residentMegabytes() - before, 200);
    EXPECT_TRUE(eventually([&] { return here.ingest.counts().cutConnections == 1; }));
    Process process(here.ingest.endpoint());
    process.say(Listening::hello());
    EXPECT_THAT(process.hear(), HasSubstr("welcome"));
}

TEST(Ingest, SaysAtTheFirstHelloThatNotAllRanksCanComeIn)
{
    std::mutex mutex;
    std::string told;
    live::IngestOptions options;
    options.log = [&](const std::string& line) {
        const std::lock_guard lock(mutex);
        told += line + "\n";
    };
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit low = before;
    low.rlim_cur = static_cast<rlim_t>(live::openFiles().open) + 200;
    {
        Listening here(options);
        Process process(here.ingest.endpoint());
        ::setrlimit(RLIMIT_NOFILE, &low);
        Json hello = Listening::hello();
        hello["world_size"] = 600; // 1,200 files
        process.say(hello);
        EXPECT_THAT(process.hear(), HasSubstr("welcome"));
        EXPECT_TRUE(eventually([&] {
            const std::lock_guard lock(mutex);
            return told.find("warning: of 600 ranks ") != std::string::npos;
        }));
        ::setrlimit(RLIMIT_NOFILE, &before);
    }
    EXPECT_THAT(told, AllOf(HasSubstr(" can come in: each needs 2 open files, "), HasSubstr(" allowed; nearest: ulimit -n ")));
}

TEST(Ingest, BeyondThisMachineItWantsKeys)
{
    live::IngestOptions options;
    options.endpoint = "tcp://0.0.0.0:0";
    try {
        Listening here(options);
        FAIL() << "it listens";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("without keys"), HasSubstr("processes")));
    }
}

} // namespace
