#include "live/comm/communicator.h"
#include "sim/error.h"
#include "tests/live/comm/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace live {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class LocalCommunicatorOf : public ::testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(RanksAndWorkers, LocalCommunicatorOf,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5, 8), ::testing::Values(1, 2, 4)));

TEST_P(LocalCommunicatorOf, EveryKindGivesTheBitsOfSumsInOrder)
{
    const auto [ranks, workers] = GetParam();
    for (const unsigned seed : {1U, 2U}) {
        WorkerPool pool(workers);
        const auto communicator = makeLocalCommunicator(pool);
        const std::vector<CommGroup> groups = test::groupsOf(ranks);
        const std::vector<test::Planned> plan = test::planExchange(groups, 4, seed);
        test::Tally tally;
        std::vector<Task<>> tasks;
        for (int rank = 0; rank < ranks; ++rank)
            tasks.push_back(test::exchangeRank(*communicator, pool, plan, rank, seed == 1 ? 0 : 5, tally));
        for (const Task<>& task : tasks)
            pool.post(task.handle());
        pool.run([&, count = ranks] { return tally.ended == count; });
        EXPECT_EQ(tally.wrong, 0);
        EXPECT_GT(tally.compared, 4 * ranks * 7);
    }
}

TEST(LocalCommunicator, ManyRanksOnTwoWorkers)
{
    constexpr int kRanks = 64;
    WorkerPool pool(2);
    const auto communicator = makeLocalCommunicator(pool);
    std::vector<CommGroup> groups = test::groupsOf(kRanks);
    std::vector<test::Planned> plan = test::planExchange(groups, 1, 3);
    for (test::Planned& planned : plan)
        planned.elements = std::min<std::int64_t>(planned.elements, 33); // the reference is quadratic
    test::Tally tally;
    std::vector<Task<>> tasks;
    for (int rank = 0; rank < kRanks; ++rank)
        tasks.push_back(test::exchangeRank(*communicator, pool, plan, rank, 2, tally));
    for (const Task<>& task : tasks)
        pool.post(task.handle());
    pool.run([&] { return tally.ended == kRanks; });
    EXPECT_EQ(tally.wrong, 0);
}

/// Ranks that each issue one request and await it; what each of them was told.
struct Meeting {
    CommGroup group;
    std::vector<std::unique_ptr<test::Part>> parts;
    std::vector<std::string> messages;
    std::atomic<int> ended{0};

    explicit Meeting(int members) : messages(static_cast<std::size_t>(members))
    {
        group.id = 7;
        group.name = "tp";
        for (int member = 0; member < members; ++member)
            group.ranks.push_back(10 + member);
        for (int member = 0; member < members; ++member) {
            test::Planned planned;
            planned.group = &group;
            planned.kind = CommKind::allReduce;
            planned.elements = 100;
            planned.sequence = 5;
            parts.push_back(test::makePart(planned, member));
        }
    }
    CommRequest& request(std::size_t member) { return parts[member]->request; }

    Task<> rank(Communicator& communicator, std::size_t member)
    {
        try {
            Completion& completion = parts[member]->completion;
            communicator.issue(parts[member]->request, completion);
            co_await completion;
        } catch (const sim::Error& error) {
            messages[member] = error.what();
        }
        ++ended;
    }

    void run(int workers = 2)
    {
        WorkerPool pool(workers);
        const auto communicator = makeLocalCommunicator(pool);
        std::vector<Task<>> tasks;
        for (std::size_t member = 0; member < parts.size(); ++member)
            tasks.push_back(rank(*communicator, member));
        for (const Task<>& task : tasks)
            pool.post(task.handle());
        pool.run([&] { return ended == static_cast<int>(parts.size()); });
    }
};

TEST(LocalCommunicator, DifferentKindsAreBothDescribed)
{
    Meeting meeting(3);
    meeting.request(2).kind = CommKind::allGather;
    meeting.request(2).what = "5F1 attn.out";
    meeting.run();
    EXPECT_THAT(meeting.messages, Each(AllOf(HasSubstr("group tp"), HasSubstr("rank 10: all-reduce test 5 of 100 fp32"),
                                             HasSubstr("rank 12: all-gather 5F1 attn.out of 100 fp32, place 5"))));
}

TEST(LocalCommunicator, DifferentSizesAreBothDescribed)
{
    Meeting meeting(2);
    meeting.request(1).input.rows = meeting.request(1).output.rows = 99;
    meeting.run();
    EXPECT_THAT(meeting.messages, Each(AllOf(HasSubstr("of 100 fp32"), HasSubstr("of 99 fp32"))));
}

TEST(LocalCommunicator, DifferentPlacesInTheOrderAreBothDescribed)
{
    Meeting meeting(2);
    meeting.request(0).sequence = 6;
    meeting.run();
    EXPECT_THAT(meeting.messages, Each(AllOf(HasSubstr("place 6"), HasSubstr("place 5"))));
}

TEST(LocalCommunicator, ASendThatDoesNotFitItsReceiveIsDescribed)
{
    Meeting meeting(2);
    meeting.request(0).kind = CommKind::send;
    meeting.request(0).peer = 1;
    meeting.request(1).kind = CommKind::receive;
    meeting.request(1).peer = 0;
    meeting.request(1).output.rows = 50;
    meeting.run();
    EXPECT_THAT(meeting.messages, Each(AllOf(HasSubstr("send test 5 of 100"), HasSubstr("receive test 5 of 50"))));
}

TEST(LocalCommunicator, RowsThatNobodyWaitsForAreNamed)
{
    Meeting meeting(2);
    for (std::size_t member = 0; member < 2; ++member) {
        meeting.request(member).kind = CommKind::allToAll;
        meeting.request(member).sendRows = {50, 50};
        meeting.request(member).receiveRows = {50, 50};
    }
    meeting.request(1).receiveRows = {40, 60};
    meeting.run();
    EXPECT_THAT(meeting.messages, Each(HasSubstr("rank 10 sends 50 rows to rank 11, which waits for 40")));
}

TEST(LocalCommunicator, ARequestThatContradictsItselfFailsAtOnce)
{
    Meeting meeting(1);
    meeting.request(0).output.rows = 7;
    meeting.run();
    EXPECT_THAT(meeting.messages[0], AllOf(HasSubstr("100 x 1"), HasSubstr("7 x 1")));
}

TEST(LocalCommunicator, HalfPrecisionIsRefusedWithAdvice)
{
    Meeting meeting(2);
    for (std::size_t member = 0; member < 2; ++member)
        meeting.request(member).input.type = meeting.request(member).output.type = DType::bf16;
    meeting.run();
    EXPECT_THAT(meeting.messages, Each(HasSubstr("fp32 or fp64")));
}

TEST(LocalCommunicator, AbortEndsWhatWaitsAndWhatComesLater)
{
    Meeting meeting(3);
    WorkerPool pool(2);
    const auto communicator = makeLocalCommunicator(pool);
    std::vector<Task<>> tasks;
    for (std::size_t member = 0; member < 3; ++member)
        tasks.push_back(meeting.rank(*communicator, member));
    pool.post(tasks[0].handle()); // member 1 never comes
    std::thread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        communicator->abort("rank 11 died");
        communicator->abort("a later reason");
        pool.post(tasks[2].handle());
    });
    pool.run([&] { return meeting.ended == 2; });
    killer.join();
    EXPECT_EQ(meeting.messages[0], "rank 11 died");
    EXPECT_EQ(meeting.messages[2], "rank 11 died");
}

TEST(LocalCommunicator, WhoComesLastGoesOnWithoutWaiting)
{
    Meeting meeting(2);
    WorkerPool pool(1);
    const auto communicator = makeLocalCommunicator(pool);
    communicator->issue(meeting.parts[0]->request, meeting.parts[0]->completion);
    EXPECT_FALSE(meeting.parts[0]->completion.isDone());
    communicator->issue(meeting.parts[1]->request, meeting.parts[1]->completion);
    EXPECT_TRUE(meeting.parts[0]->completion.isDone());
    EXPECT_TRUE(meeting.parts[1]->completion.isDone());
}

} // namespace
} // namespace live
