// Orders of communication that would hang are refused before the run, with the circle of waits; and what may run gives the same
// results however late its transfers come.
#include "live/runtime/comm_plan.h"
#include "live/runtime/planning_communicator.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/schedule/text/csv.h"
#include "sim/simulate/plan_schedule.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace live::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Requests of ranks on a planning communicator, one after the other; they need not end.
class Planned {
public:
    explicit Planned(int ranks) : m_pool(1), m_communicator(m_pool, ranks) {}

    const CommGroup& group(const std::string& name, std::vector<int> ranks)
    {
        return m_groups.emplace_back(CommGroup{.id = static_cast<int>(m_groups.size()), .name = name, .ranks = std::move(ranks)});
    }
    /// Returns whether it has completed.
    bool issue(const CommGroup& group, int rank, CommKind kind, const std::string& what)
    {
        Request& made = m_requests.emplace_back();
        made.request.kind = kind;
        made.request.group = &group;
        made.request.member = static_cast<int>(std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin());
        made.request.peer = 1 - made.request.member;
        made.request.what = what;
        m_communicator.issue(made.request, made.completion);
        return made.completion.isDone();
    }
    PlanningCommunicator& communicator() { return m_communicator; }

private:
    struct Request {
        CommRequest request;
        Completion completion;
    };
    WorkerPool m_pool;
    PlanningCommunicator m_communicator;
    std::deque<CommGroup> m_groups;
    std::deque<Request> m_requests;
};

TEST(Planning, CompletesWhatAllMembersReachAndNumbersItInThatOrder)
{
    Planned planned(3);
    const CommGroup& all = planned.group("world", {0, 1, 2});
    const CommGroup& two = planned.group("tp", {1, 2});
    EXPECT_FALSE(planned.issue(all, 0, CommKind::allReduce, "sums"));
    EXPECT_FALSE(planned.issue(two, 1, CommKind::allGather, "rows"));
    EXPECT_TRUE(planned.issue(two, 2, CommKind::allGather, "rows"));
    EXPECT_FALSE(planned.issue(all, 1, CommKind::allReduce, "sums"));
    EXPECT_TRUE(planned.issue(all, 2, CommKind::allReduce, "sums"));
    const CommPlan& plan = planned.communicator().plan;
    EXPECT_EQ(plan.transfers, 2);
    EXPECT_EQ(plan.requests[0][0].sequence, 1);
    EXPECT_EQ(plan.requests[1][0].sequence, 0);
    EXPECT_EQ(plan.requests[2][1].sequence, 1);
}

TEST(Planning, TellsTheCircleOfTwoGroupsTakenInOppositeOrder)
{
    Planned planned(2);
    const CommGroup& a = planned.group("tp", {0, 1});
    const CommGroup& b = planned.group("dp_cp", {0, 1});
    planned.issue(a, 0, CommKind::allReduce, "attn.sum");
    planned.issue(b, 1, CommKind::allReduce, "gradient.reduce");
    EXPECT_EQ(planned.communicator().stuck(),
              "the step would hang: rank 0 waits for rank 1 in attn.sum (all-reduce in group tp); rank 1 waits for rank 0 in "
              "gradient.reduce (all-reduce in group dp_cp)");
}

TEST(Planning, TellsACircleOfThreeAndNotWhoOnlyWaitsForIt)
{
    Planned planned(4);
    const std::vector<std::vector<int>> pairs = {{0, 1}, {1, 2}, {2, 3}, {3, 1}};
    for (const auto& ranks : pairs) {
        const CommGroup& pair = planned.group("pp", {ranks[1], ranks[0]});
        planned.issue(pair, ranks[0], CommKind::receive, "receive.activation");
    }
    const std::string text = planned.communicator().stuck();
    EXPECT_THAT(text, AllOf(HasSubstr("rank 1 waits for rank 2"), HasSubstr("rank 2 waits for rank 3"),
                            HasSubstr("rank 3 waits for rank 1"), testing::Not(HasSubstr("rank 0"))));
}

TEST(Planning, TellsWhatARankWaitsForAndNotWhatItLeftUnderWay)
{
    Planned planned(2);
    const CommGroup& tp = planned.group("tp", {0, 1});
    const CommGroup& dp = planned.group("dp_cp", {0, 1});
    const CommGroup& world = planned.group("world", {0, 1});
    planned.issue(dp, 0, CommKind::allReduce, "gradient.reduce"); // overlapped: goes on
    planned.issue(tp, 0, CommKind::allReduce, "mlp.sum");
    planned.issue(world, 1, CommKind::allReduce, "sums");
    EXPECT_THAT(planned.communicator().stuck(), HasSubstr("rank 0 waits for rank 1 in mlp.sum"));
}

TEST(Planning, RefusesMembersThatMeetInDifferentCommunications)
{
    Planned planned(2);
    const CommGroup& group = planned.group("tp", {0, 1});
    planned.issue(group, 0, CommKind::allGather, "attn.gather");
    try {
        planned.issue(group, 1, CommKind::reduceScatter, "attn.sum");
        FAIL() << "accepted";
    } catch (const sim::Error& error) {
        EXPECT_STREQ(error.what(), "members of group tp meet in different communications: all-gather attn.gather and "
                                   "reduce-scatter attn.sum");
    }
}

/// Plans the scenario with the actions of `csv` in place of its own, though they would hang.
void planWith(const sim::Scenario& scenario, const std::string& csv)
{
    sim::Schedule schedule = sim::planSchedule(scenario);
    schedule.actions = sim::parseScheduleCsv(csv).actions;
    const sim::Mesh mesh(scenario.layout, sim::endsOf(schedule));
    const JobGroups groups(scenario, mesh, schedule);
    planCommunication(Job{.scenario = scenario, .mesh = mesh, .schedule = schedule, .groups = groups, .options = {}}, DType::f64,
                      DType::f64);
}

TEST(Planning, RefusesAScheduleWhoseRanksWaitForEachOther)
{
    const sim::Scenario scenario = job({"layout.pp=2", "training.global_batch_size=2"});
    EXPECT_NO_THROW(planWith(scenario, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"));
    try {
        planWith(scenario, "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
        FAIL() << "accepted";
    } catch (const sim::Error& error) {
        EXPECT_STREQ(error.what(),
                     "the step would hang: rank 0 waits for rank 1 in receive.gradient (receive in group pp); rank 1 "
                     "waits for rank 0 in receive.activation (receive in group pp)");
    }
}

TEST(Planning, RefusesItInEveryPipelineOfALargerJob)
{
    const sim::Scenario scenario = job({"layout.pp=2", "layout.dp=2", "layout.tp=2", "training.global_batch_size=4"});
    EXPECT_THROW(planWith(scenario, "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"), sim::Error);
}

/// Hands requests on late, those of different groups in any order.
class LateCommunicator final : public Communicator {
public:
    LateCommunicator(std::unique_ptr<Communicator> inner, std::uint32_t seed)
        : m_inner(std::move(inner)), m_random(seed), m_thread([this] { deliver(); })
    {
    }
    ~LateCommunicator() override
    {
        {
            const std::lock_guard lock(m_mutex);
            m_ended = true;
        }
        m_changed.notify_all();
        m_thread.join();
    }
    std::string name() const override { return m_inner->name(); }
    void issue(const CommRequest& request, Completion& completion) override
    {
        {
            const std::lock_guard lock(m_mutex);
            m_lanes[{request.group->id, request.member}].emplace_back(&request, &completion);
        }
        m_changed.notify_all();
    }
    void abort(const std::string& why) override { m_inner->abort(why); }

private:
    using Held = std::pair<const CommRequest*, Completion*>;

    void deliver()
    {
        std::unique_lock lock(m_mutex);
        for (;;) {
            m_changed.wait(lock, [this] { return m_ended || !m_lanes.empty(); });
            if (m_ended)
                return;
            lock.unlock(); // others come to choose from
            std::this_thread::sleep_for(std::chrono::microseconds(m_random() % 60));
            lock.lock();
            auto lane = std::next(m_lanes.begin(), static_cast<std::ptrdiff_t>(m_random() % m_lanes.size()));
            const Held held = lane->second.front();
            lane->second.pop_front();
            if (lane->second.empty())
                m_lanes.erase(lane);
            lock.unlock();
            m_inner->issue(*held.first, *held.second);
            lock.lock();
        }
    }

    std::unique_ptr<Communicator> m_inner;
    std::mt19937 m_random;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::map<std::pair<int, int>, std::deque<Held>> m_lanes; ///< by group and member: a member's requests keep their order
    bool m_ended = false;
    std::thread m_thread;
};

TEST(Delays, DoNotChangeABit)
{
    const Settings large = {"layout.tp=2", "layout.sequence_parallel=true", "layout.pp=2", "layout.dp=2", "layout.zero_stage=2"};
    const std::vector<Settings> jobs = {
        large + kTied,
        {"layout.cp=4", "live.dtype=fp32"},
        kExperts + Settings{"layout.dp=4", "layout.ep=2"},
        {"layout.pp=4", "schedule.kind=zb-2p", "training.global_batch_size=7"},
        {"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"},
        {"layout.pp=2", "layout.dp=2", "layout.zero_stage=3", "schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2"},
    };
    for (const Settings& settings : jobs) {
        const sim::Scenario scenario = job(settings);
        const TrainOptions options{.steps = 2};
        const TrainedSteps prompt = trainSteps(scenario, options);
        for (std::uint32_t seed = 1; seed <= 2; ++seed) {
            WorkerPool pool(2);
            const auto device = makeCpuDevice(scenario.live.dtype == "fp64" ? DType::f64 : DType::f32, &pool);
            LateCommunicator late(makeLocalCommunicator(pool), seed);
            EXPECT_TRUE(isIdentical(compareSteps(prompt, trainSteps(scenario, options, pool, *device, late))))
                << settings.front();
        }
    }
}

/// What one rank cannot do ends the step on all, with its reason.
TEST(Failure, OfOneRankEndsTheRunOnAllWithItsMessage)
{
    struct Fails final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void crossEntropy(T partial, T targets, T loss) override
        {
            if (++m_calls == 3)
                throw sim::Error("the third loss cannot be had");
            QueueDecorator::crossEntropy(partial, targets, loss);
        }
        int m_calls = 0;
    };
    for (const int workers : {1, 2}) {
        WorkerPool pool(workers);
        DeviceDecorator device(makeCpuDevice(DType::f64, &pool), [](std::unique_ptr<Queue> inner, int rank) {
            return rank == 7 ? std::make_unique<Fails>(std::move(inner)) : std::move(inner);
        });
        const auto communicator = makeLocalCommunicator(pool);
        const sim::Scenario scenario = job({"layout.tp=2", "layout.pp=2", "layout.dp=2"});
        try {
            trainSteps(scenario, {}, pool, device, *communicator);
            FAIL() << "trained";
        } catch (const sim::Error& error) {
            EXPECT_STREQ(error.what(), "the third loss cannot be had");
        }
    }
}

} // namespace
} // namespace live::test
