// Whose doing it is, where several reasons look alike: a pipeline that drains, ranks that are slow together, links between
// stages, members that were not recorded, one step alone.
#include "sim/recovery/run_answers.h"
#include "sim/recovery/slow_ranks.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMicros = 1000;
constexpr std::int64_t kBeginOfJob = 1'700'000'000 * std::int64_t{1'000'000'000};

/// Ranks of one program; times are µs since its begin.
class JobOfSteps {
public:
    JobOfSteps(int ranks, std::vector<sim::NamedAxis> axes)
    {
        m_evidence.worldSize = ranks;
        m_evidence.isOneClock = true;
        m_evidence.axes = std::move(axes);
        m_evidence.axesEvidence = "as planted";
        m_evidence.names = {"", "gemm", "ncclDevKernel_AllReduce", "ncclDevKernel_SendRecv", "enumerate(DataLoader)"};
        for (int rank = 0; rank < ranks; ++rank)
            m_evidence.ranks.emplace_back().rank = rank;
    }
    std::int32_t group(std::vector<int> ranks)
    {
        m_evidence.groups.push_back({.name = std::to_string(m_evidence.groups.size()), .ranks = std::move(ranks)});
        return static_cast<std::int32_t>(m_evidence.groups.size()) - 1;
    }
    void work(int rank, std::int64_t start, std::int64_t end)
    {
        of(rank).work.push_back({.startNs = at(start), .endNs = at(end), .name = 1, .launchNs = at(start - 5)});
    }
    void loads(int rank, std::int64_t start, std::int64_t end)
    {
        of(rank).marks.push_back({.startNs = at(start), .endNs = at(end), .name = 4});
    }
    /// `starts`: as the group's ranks.
    void sum(std::int32_t group, const std::vector<std::int64_t>& starts, std::int64_t takes = 10)
    {
        const std::vector<int> ranks = m_evidence.groups[static_cast<std::size_t>(group)].ranks;
        const std::int64_t end = *std::max_element(starts.begin(), starts.end()) + takes;
        for (std::size_t i = 0; i < ranks.size(); ++i)
            of(ranks[i]).comms.push_back({.startNs = at(starts[i]),
                                          .endNs = at(end),
                                          .exchange = sim::Exchange::allReduce,
                                          .group = group,
                                          .sequence = m_sums[group],
                                          .bytes = 1 << 20,
                                          .stream = 9,
                                          .name = 2});
        ++m_sums[group];
    }
    void message(int from, int to, std::int64_t begin, std::int64_t takes, std::uint32_t stream = 10)
    {
        const std::int64_t message = m_messages++;
        for (const bool isSend : {true, false})
            of(isSend ? from : to)
                .comms.push_back({.startNs = at(begin),
                                  .endNs = at(begin + takes),
                                  .exchange = isSend ? sim::Exchange::send : sim::Exchange::receive,
                                  .bytes = 4096,
                                  .message = message,
                                  .peer = isSend ? to : from,
                                  .stream = stream,
                                  .name = 3});
    }
    /// Of all ranks.
    void step(std::int64_t number, std::int64_t start, std::int64_t end)
    {
        for (sim::RankEvidence& rank : m_evidence.ranks)
            rank.steps.push_back({.number = number, .startNs = at(start), .endNs = at(end)});
    }
    void leaveOut(int rank) { m_evidence.ranks.erase(m_evidence.ranks.begin() + rank); }
    void onOneHost()
    {
        for (sim::RankEvidence& rank : m_evidence.ranks)
            rank.host = "node";
    }
    /// Each rank on a host of its own, as nobody has put their clocks together.
    void takeApart()
    {
        m_evidence.isOneClock = false;
        for (sim::RankEvidence& rank : m_evidence.ranks)
            rank.host = "node" + std::to_string(rank.rank);
    }
    sim::RunAnswers answers() { return sim::answersOf(recovered()); }
    sim::Recovered recovered()
    {
        for (sim::RankEvidence& rank : m_evidence.ranks) {
            const auto isEarlier = [](const auto& a, const auto& b) { return a.startNs < b.startNs; };
            std::stable_sort(rank.work.begin(), rank.work.end(), isEarlier);
            std::stable_sort(rank.comms.begin(), rank.comms.end(), isEarlier);
        }
        return sim::recover(m_evidence);
    }

private:
    static std::int64_t at(std::int64_t micros) { return kBeginOfJob + micros * kMicros; }
    sim::RankEvidence& of(int rank) { return m_evidence.ranks[static_cast<std::size_t>(rank)]; }
    sim::RunEvidence m_evidence;
    std::map<std::int32_t, std::int64_t> m_sums;
    std::int64_t m_messages = 0;
};

const sim::RunFinding* findingOf(const sim::RunAnswers& answers, const std::string& kind)
{
    const auto found = std::find_if(answers.findings.begin(), answers.findings.end(),
                                    [&](const sim::RunFinding& finding) { return finding.kind == kind; });
    return found == answers.findings.end() ? nullptr : &*found;
}

/// A pipeline of four stages, `replicas` times: stage 3 ends its last backward first, stage 0 last. Then the ranks of each
/// pipeline sum a norm. In replica 1 stage 1 takes `late` longer, and so do the stages after it.
sim::RunAnswers drained(int replicas, std::int64_t late = 0)
{
    JobOfSteps job(4 * replicas, replicas > 1 ? std::vector<sim::NamedAxis>{{"dp", replicas, 1}, {"pp", 4, replicas}}
                                              : std::vector<sim::NamedAxis>{{"pp", 4, 1}});
    std::vector<std::int32_t> pipelines;
    for (int replica = 0; replica < replicas; ++replica)
        pipelines.push_back(job.group({replica, replica + replicas, replica + 2 * replicas, replica + 3 * replicas}));
    for (std::int64_t step = 0; step < 6; ++step) {
        const std::int64_t begin = step * 20'000;
        for (int replica = 0; replica < replicas; ++replica) {
            std::vector<std::int64_t> starts;
            for (int stage = 0; stage < 4; ++stage) {
                const std::int64_t longer = replica == 1 && stage <= 1 ? late : 0;
                starts.push_back(begin + 10'000 + (3 - stage) * 1000 + longer);
                job.work(replica + stage * replicas, starts.back() - 9000 - (stage == 1 ? longer : 0), starts.back());
            }
            job.sum(pipelines[static_cast<std::size_t>(replica)], starts);
        }
        job.step(step, begin, begin + 20'000);
    }
    return job.answers();
}

TEST(DrainingPipelines, AreNobodysDoing)
{
    for (const int replicas : {1, 2, 4}) {
        const sim::RunAnswers answers = drained(replicas);
        EXPECT_EQ(answers.arrivals.straggler, -1) << answers.arrivals.text;
        EXPECT_EQ(answers.arrivals.causedNs, 0);
        EXPECT_EQ(findingOf(answers, "late-rank"), nullptr);
        // 1 + 2 + 3 ms a step.
        EXPECT_THAT(answers.arrivals.text, HasSubstr("nobody waits for anybody but for stages that end later in the pipeline's "
                                                     "order, " +
                                                     std::to_string(6 * 6 * replicas)));
    }
}

TEST(DrainingPipelines, ThatEndLaterThanTheirReplicasAreKeptByOne)
{
    const sim::RunAnswers answers = drained(2, 3000);
    // Stages 2 and 3 wait 3 ms longer than those of the other replica, which wait for nobody; stage 1 comes 2 ms after these are
    // gone.
    EXPECT_EQ(answers.arrivals.causedNs, 6 * (3000 + 3000 + 1000) * kMicros);
    EXPECT_EQ(answers.arrivals.ranks[0].waitedNs, 0);
    const sim::RunFinding* const late = findingOf(answers, "late-rank");
    ASSERT_NE(late, nullptr) << answers.arrivals.text;
    const sim::RunFinding* const slow = findingOf(answers, "slow-rank");
    ASSERT_NE(slow, nullptr);
    EXPECT_THAT(slow->ranks, ElementsAre(3)); // of stage 1
    EXPECT_EQ(slow->title, "Rank 3 computes 33.3 % longer than its peers of stage 1");
}

TEST(SlowRanks, AreToldOfAllAndNotOnlyTheOneThatComesLast)
{
    JobOfSteps job(8, {{"dp", 8, 1}});
    const std::int32_t all = job.group({0, 1, 2, 3, 4, 5, 6, 7});
    for (std::int64_t step = 0; step < 6; ++step) {
        std::vector<std::int64_t> starts;
        for (int rank = 0; rank < 8; ++rank) {
            starts.push_back(step * 20'000 + 10'000 + (rank == 3 ? 2000 : rank == 6 ? 1900 : 0));
            job.work(rank, step * 20'000, starts.back());
        }
        job.sum(all, starts, 5000);
        job.step(step, step * 20'000, step * 20'000 + 20'000);
    }
    const sim::RunAnswers answers = job.answers();
    const sim::RunFinding *const late = findingOf(answers, "late-rank"), *const slow = findingOf(answers, "slow-rank");
    ASSERT_NE(late, nullptr);
    EXPECT_THAT(late->ranks, ElementsAre(3));
    ASSERT_NE(slow, nullptr);
    EXPECT_THAT(slow->ranks, ElementsAre(6));
    EXPECT_THAT(slow->title, HasSubstr("Rank 6 computes 19.0 % longer than its peers"));
    // Everybody waits longer than either costs, and that follows from them.
    const sim::RunFinding* const exposed = findingOf(answers, "exposed-communication");
    ASSERT_NE(exposed, nullptr);
    EXPECT_GT(exposed->seconds, late->seconds);
    EXPECT_EQ(exposed, &answers.findings.back());
    EXPECT_THAT(exposed->detail, HasSubstr(" of it for rank 3"));
}

TEST(Peers, AreOfOneStageAndOneSlice)
{
    JobOfSteps job(8, {{"cp", 2, 1}, {"dp", 2, 2}, {"pp", 2, 4}});
    for (int rank = 0; rank < 8; ++rank)
        job.work(rank, 0, 1000);
    job.step(0, 0, 1000);
    EXPECT_THAT(sim::peersOf(job.recovered()),
                ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4, 6), ElementsAre(5, 7)));
}

/// dp 4, pp 2: activations of rank 2 go to rank 6 over a link of its own, on which each takes so many µs.
JobOfSteps ofALink(std::int64_t takes, std::uint32_t stream = 10)
{
    JobOfSteps job(8, {{"dp", 4, 1}, {"pp", 2, 4}});
    for (std::int64_t step = 0; step < 6; ++step) {
        const std::int64_t begin = step * 30'000;
        for (int rank = 0; rank < 4; ++rank) {
            job.work(rank, begin, begin + 8000);
            job.message(rank, rank + 4, begin + 8000, rank == 2 ? takes : 100, stream);
            job.work(rank + 4, begin + 8000 + (rank == 2 ? takes : 100), begin + 20'000);
        }
        job.step(step, begin, begin + 30'000);
    }
    return job;
}

TEST(SlowLinks, BetweenStagesAreNotToldByClocksThatAreApart)
{
    JobOfSteps job = ofALink(4000);
    job.takeApart();
    const sim::RunAnswers answers = job.answers();
    ASSERT_THAT(answers.arrivals.text, testing::StartsWith("who comes late cannot be told, as clocks are not aligned: "));
    EXPECT_EQ(findingOf(answers, "slow-link"), nullptr);
}

TEST(SlowLinks, BetweenStagesAreFoundBesideThoseOfTheOtherReplicas)
{
    for (const std::int64_t takes : {100, 4000}) {
        const sim::RunAnswers answers = ofALink(takes).answers();
        const sim::RunFinding* const link = findingOf(answers, "slow-link");
        ASSERT_EQ(link != nullptr, takes > 100);
        if (link == nullptr)
            continue;
        EXPECT_EQ(link->title, "The link between ranks 2 and 6 is 40.0 times slower than its siblings");
        EXPECT_THAT(link->ranks, ElementsAre(2, 6));
        EXPECT_NEAR(link->seconds, 3.9e-3, 1e-5);
    }
}

TEST(SlowLinks, AreNoneWhereOneHostExchangesInItsMemory)
{
    JobOfSteps ofKernels = ofALink(4000), ofHost = ofALink(4000, sim::kStreamOfHost);
    for (JobOfSteps* job : {&ofKernels, &ofHost})
        job->onOneHost();
    EXPECT_NE(findingOf(ofKernels.answers(), "slow-link"), nullptr) << "GPUs of a host have links";
    EXPECT_EQ(findingOf(ofHost.answers(), "slow-link"), nullptr);
    EXPECT_NE(findingOf(ofALink(4000, sim::kStreamOfHost).answers(), "slow-link"), nullptr) << "on hosts that may be several";
}

TEST(SlowLinks, AreNotToldByTransfersThatTheHostWaitsForTogether)
{
    for (const std::int64_t between : {0, 200}) { // the other message begins while the first is under way, or behind it
        JobOfSteps job = ofALink(4000, sim::kStreamOfHost);
        for (std::int64_t step = 0; step < 6; ++step)
            job.message(6, 2, step * 30'000 + (between == 0 ? 8010 : 12'000 + between), 3980, sim::kStreamOfHost);
        EXPECT_EQ(findingOf(job.answers(), "slow-link") != nullptr, between > 0);
    }
}

TEST(SlowLinks, AreNoneOfProcessesOfOneMachineThatWaitForALateOne)
{
    const sim::RunAnswers answers =
        sim::answersOf(sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/gloo-late-input"})));
    EXPECT_NE(findingOf(answers, "late-rank"), nullptr);
    EXPECT_EQ(findingOf(answers, "slow-link"), nullptr);
    EXPECT_EQ(findingOf(answers, "slow-group"), nullptr);
}

TEST(LateRanks, ThatMayWaitForOneThatIsNotRecordedSaySo)
{
    // tp 2, dp 2. Rank 2 computes 3 ms longer, rank 3 waits for it in tp, and rank 1 in dp for rank 3.
    JobOfSteps job(4, {{"tp", 2, 1}, {"dp", 2, 2}});
    const std::int32_t first = job.group({0, 1}), second = job.group({2, 3}), even = job.group({0, 2}), odd = job.group({1, 3});
    for (std::int64_t step = 0; step < 6; ++step) {
        const std::int64_t begin = step * 20'000, ready = begin + 8000;
        for (int rank = 0; rank < 4; ++rank)
            job.work(rank, begin, ready + (rank == 2 ? 3000 : 0));
        job.sum(first, {ready, ready});
        job.sum(second, {ready + 3000, ready});
        job.sum(even, {ready + 10, ready + 3010}, 100);
        job.sum(odd, {ready + 10, ready + 3010}, 100);
        job.step(step, begin, begin + 20'000);
    }
    job.leaveOut(2);
    const sim::RunAnswers answers = job.answers();
    const sim::RunFinding* const late = findingOf(answers, "late-rank");
    ASSERT_NE(late, nullptr) << answers.arrivals.text;
    EXPECT_EQ(late->title, "Rank 3 is late as it waits in tp with rank 2, of which nothing is recorded");
    EXPECT_THAT(late->detail, HasSubstr("most of it in a group with rank 2, of which nothing is recorded"));
}

TEST(LateHosts, AreFoundWhereFewWaitForThemInCollectives)
{
    // dp 2, pp 4. Rank 1's host loads data for 3 of 60 ms; only the first stage sums gradients behind it.
    JobOfSteps job(8, {{"dp", 2, 1}, {"pp", 4, 2}});
    const std::int32_t first = job.group({0, 1});
    for (std::int64_t step = 0; step < 6; ++step) {
        const std::int64_t begin = step * 60'000;
        for (int rank = 0; rank < 8; ++rank)
            job.work(rank, begin + (rank == 1 ? 3000 : 10), begin + (rank == 1 ? 53'000 : 50'010));
        job.loads(1, begin, begin + 2990);
        job.sum(first, {begin + 50'010, begin + 53'000}, 100);
        job.step(step, begin, begin + 60'000);
    }
    const sim::RunAnswers answers = job.answers();
    const sim::RunFinding* const late = findingOf(answers, "late-rank");
    ASSERT_NE(late, nullptr) << answers.arrivals.text;
    EXPECT_THAT(late->ranks, ElementsAre(1));
    EXPECT_THAT(late->detail, HasSubstr("its host asks late, which meanwhile was in \"enumerate(DataLoader)\""));
}

TEST(StepsThatTakeLonger, SayWhoseDoingItIsInThem)
{
    for (const int late : {2, -1}) { // one rank, or all
        JobOfSteps job(4, {{"dp", 4, 1}});
        const std::int32_t all = job.group({0, 1, 2, 3});
        std::int64_t at = 0;
        for (std::int64_t step = 0; step < 12; ++step) {
            const std::int64_t longer = step == 7 ? 9000 : 0;
            std::vector<std::int64_t> starts;
            for (int rank = 0; rank < 4; ++rank) {
                const std::int64_t begin = at + (rank == late ? longer : 0);
                if (rank == late)
                    job.loads(rank, at, begin + 20);
                starts.push_back(begin + 8000 + (late < 0 ? longer : 0));
                job.work(rank, begin + 10, starts.back());
            }
            job.sum(all, starts, 1000);
            job.step(step, at, at + 10'000 + longer);
            at += 10'000 + longer;
        }
        const sim::RunAnswers answers = job.answers();
        const sim::RunFinding* const outlier = findingOf(answers, "outlier-step");
        ASSERT_NE(outlier, nullptr);
        EXPECT_THAT(outlier->title, HasSubstr("Step 7 takes 19.0 ms, the others 10.0 ms"));
        if (late < 0) {
            EXPECT_THAT(outlier->detail, HasSubstr("A rank, in the mean, computes 9.00 ms longer than in its other steps"));
            EXPECT_TRUE(outlier->ranks.empty());
        } else {
            EXPECT_THAT(outlier->detail,
                        HasSubstr("The others wait in it for rank 2, which idles 9.00 ms longer than in its other "
                                  "steps, its host in \"enumerate(DataLoader)\"."));
            EXPECT_THAT(outlier->ranks, ElementsAre(2));
        }
    }
}

} // namespace
