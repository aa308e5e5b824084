// Communication in the order of a list, run by the engine: head-of-line blocking and hangs shown.
#include "sim/engine/in_order.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/text/csv.h"
#include "sim/schedule/text/export.h"
#include "tests/sim/schedule/oracle.h"
#include "tests/sim/schedule/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <map>

namespace {

using sim::CommSchedule;
using sim::CommStep;
using sim::CommStreams;
using sim::Schedule;
using sim::WaitReason;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CommSchedule commsOf(const std::string& csv)
{
    return sim::importSchedule(csv).communication.value();
}

/// With fewer actions than a file needs, so that lists under test stay short.
std::vector<std::string> problems(const std::string& csv, CommStreams streams = CommStreams::shared)
{
    return sim::checkInOrder(commsOf(csv), streams);
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(LowerCommunication, NeverHangsForAnySchedule)
{
    std::mt19937 random(43);
    for (int round = 0; round < 150; ++round) {
        Schedule schedule = sim::makeSchedule(oracle::randomRequest(random));
        if (round % 2 == 0)
            schedule = oracle::withSplitBackwards(schedule, random);
        const CommSchedule lowered = sim::lowerCommunication(schedule);
        for (const CommStreams streams : {CommStreams::shared, CommStreams::perPeer}) {
            EXPECT_THAT(sim::checkInOrder(lowered, streams), IsEmpty());
            const sim::PassTimes times{1.0 + static_cast<double>(random() % 9), 1.0 + static_cast<double>(random() % 9), 2, 0.5};
            const sim::InOrderTimes result = sim::evaluateInOrder(lowered, times, streams);
            EXPECT_GE(result.blocked, -1e-9) << "order only ever costs";
            EXPECT_GE(result.makespan, result.span);
        }
    }
    EXPECT_THROW(sim::lowerCommunication(sim::parseScheduleCsv("0F0\n")), sim::Error);
}

const char* const kTwoRanks = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";

TEST(CommunicationDeadlock, IsExplainedAsACircleOfRanksAndTransfers)
{
    const std::string runs = sim::pytorchCommsCsv(
        sim::lowerCommunication(sim::makeSchedule(request("interleaved-1f1b", 2, 2, 4)), {.unshardedStages = 0}));
    EXPECT_THAT(problems(runs), IsEmpty());
    // pytorch/pytorch issue 172668: one receive moved to its pass, and both ranks send before either receives.
    const std::string late = replaced(runs, "2RECV_F0,0F1,0SEND_F1", "0F1,0SEND_F1,2RECV_F0");
    EXPECT_THAT(problems(late),
                ElementsAre("deadlock: rank 0 waits at 0SEND_F1 for 1RECV_F1 of rank 1, which comes after 1SEND_F0, "
                            "which waits for 2RECV_F0 of rank 0, which comes after 0SEND_F1"));
    EXPECT_THAT(problems(late, CommStreams::perPeer), testing::SizeIs(1)) << "two ranks have one stream between them";

    const CommSchedule stuck = commsOf(late);
    const std::vector<sim::CommWait> cycle = sim::communicationDeadlock(stuck);
    ASSERT_EQ(cycle.size(), 4U);
    for (std::size_t i = 0; i < cycle.size(); ++i)
        EXPECT_EQ(cycle[i].needed, cycle[(i + 1) % cycle.size()].waiting) << "a drawing can follow it";
    EXPECT_EQ(cycle[0].reason, WaitReason::partner);
    EXPECT_EQ(cycle[1].reason, WaitReason::order);
    EXPECT_EQ(sim::stepText(stuck.steps[0][cycle[0].waiting.index]), "0SEND_F1");
    EXPECT_THROW(sim::evaluateInOrder(stuck), sim::Error);
    EXPECT_THAT(sim::communicationDeadlock(commsOf(runs)), IsEmpty());
}

/// What a file says in the wrong words is Error; what it says in the right ones runs, or is told why not.
TEST(CommunicationDeadlock, IsToldOfAnyListsThatAreSound)
{
    std::mt19937 random(41);
    const std::vector<std::string> words = {"0F0",      "0B0",      "1F0",      "1B0",     "0SEND_F0",
                                            "1RECV_F0", "1SEND_B0", "0RECV_B0", "0UNSHARD"};
    int ran = 0, refused = 0;
    for (int round = 0; round < 8000; ++round) {
        std::vector<std::string> left = words, rows(2);
        std::shuffle(left.begin(), left.end(), random);
        for (const std::string& word : left)
            rows[random() % 8 == 0 ? random() % 2 : static_cast<std::size_t>(word[0] - '0')] += word + ",";
        CommSchedule communication;
        try {
            communication = commsOf(rows[0] + "\n" + rows[1] + "\n");
        } catch (const sim::Error&) {
            continue;
        }
        if (sim::checkInOrder(communication).empty()) {
            ++ran;
            EXPECT_NO_THROW(sim::evaluateInOrder(communication));
        } else {
            ++refused;
            EXPECT_THROW(sim::evaluateInOrder(communication), sim::Error);
        }
    }
    EXPECT_GT(ran, 3);
    EXPECT_GT(refused, 300);
}

TEST(CommunicationDeadlock, HangsWhereReceivesWaitForTheirPass)
{
    // 1F1B: a rank sends the next forward while its neighbour sends a gradient, and neither receives.
    const Schedule schedule = sim::makeSchedule(request("1f1b", 4, 1, 8));
    const CommSchedule late = sim::lowerCommunication(schedule, {.receives = sim::ReceivePlacement::beforeUse});
    EXPECT_THAT(sim::checkCommunication(late), IsEmpty());
    EXPECT_THAT(sim::checkInOrder(late),
                ElementsAre(testing::AllOf(testing::StartsWith("deadlock: rank "), HasSubstr("SEND_F"), HasSubstr("SEND_B"))));
    // GPipe only ever sends one way at a time.
    const Schedule oneWay = sim::makeSchedule(request("gpipe", 4, 1, 8));
    EXPECT_THAT(sim::checkInOrder(sim::lowerCommunication(oneWay, {.receives = sim::ReceivePlacement::beforeUse})), IsEmpty());
}

TEST(CommunicationDeadlock, IsFoundExactlyWhereTheRunStops)
{
    std::mt19937 random(47);
    int hangs = 0;
    constexpr int kRounds = 300;
    for (int round = 0; round < kRounds; ++round) {
        CommSchedule communication =
            sim::lowerCommunication(sim::makeSchedule(oracle::randomRequest(random)), {.unshardedStages = 0});
        for (int swaps = static_cast<int>(random() % 6); swaps > 0; --swaps) {
            std::vector<CommStep>& steps = communication.steps[random() % communication.steps.size()];
            const std::size_t first = random() % steps.size();
            if (first + 1 < steps.size() &&
                (steps[first].kind != sim::StepKind::pass || steps[first + 1].kind != sim::StepKind::pass) &&
                !steps[first].action.overlapsNext && !(first > 0 && steps[first - 1].action.overlapsNext))
                std::swap(steps[first], steps[first + 1]);
        }
        if (!sim::checkCommunication(communication).empty())
            continue;
        const std::vector<sim::CommWait> cycle = sim::communicationDeadlock(communication);
        hangs += cycle.empty() ? 0 : 1;
        if (cycle.empty()) {
            EXPECT_NO_THROW(sim::evaluateInOrder(communication));
            continue;
        }
        EXPECT_THROW(sim::evaluateInOrder(communication), sim::Error);
        EXPECT_EQ(cycle.front().reason, WaitReason::partner);
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            const sim::CommWait& wait = cycle[i];
            EXPECT_EQ(wait.needed, cycle[(i + 1) % cycle.size()].waiting);
            if (wait.reason == WaitReason::order) {
                EXPECT_EQ(wait.waiting.rank, wait.needed.rank);
                EXPECT_LT(wait.needed.index, wait.waiting.index) << "what comes earlier holds up what comes later";
            }
        }
    }
    EXPECT_GT(hangs, kRounds / 50);
}

TEST(EvaluateInOrder, IsTheLatencyModelWhereNothingIsInTheWay)
{
    // Without communication time and with a stream a peer, GPipe's sends meet receives that are posted.
    for (const char* kind : {"gpipe", "1f1b"}) {
        const Schedule schedule = sim::makeSchedule(request(kind, 4, 1, 8));
        const sim::InOrderTimes times = sim::evaluateInOrder(sim::lowerCommunication(schedule));
        EXPECT_EQ(times.makespan, 33) << kind;
        EXPECT_EQ(times.blocked, 0) << kind;
        EXPECT_EQ(times.span, sim::evaluateSchedule(schedule).span) << kind;
    }
    const sim::InOrderTimes alone = sim::evaluateInOrder(commsOf(kTwoRanks), {2, 3, 4, 0.5});
    EXPECT_EQ(alone.makespan, 2 + 0.5 + 2 + 7 + 0.5 + 7);
    EXPECT_THAT(alone.start[1], ElementsAre(2, 2.5, 4.5, 11.5));
    EXPECT_THAT(alone.end[0], ElementsAre(2, 2.5, 12, 19));
    EXPECT_THAT(alone.heldBack[0], ElementsAre(0, 0, 0, 0));
}

/// Ends of all steps by repeating every rule until nothing moves: slow, and without the library's run. Unsharded lists only.
std::vector<std::vector<double>> endsByRepetition(const CommSchedule& communication, const sim::PassTimes& times,
                                                  CommStreams streams)
{
    const auto rankOf = [&](int stage) { return communication.schedule.stageToRank[static_cast<std::size_t>(stage)]; };
    const auto length = [&](const CommStep& step) {
        if (step.kind != sim::StepKind::pass)
            return times.comm;
        return step.action.kind == sim::ActionKind::forward         ? times.forward
               : step.action.kind == sim::ActionKind::backward      ? times.backward()
               : step.action.kind == sim::ActionKind::backwardInput ? times.backwardInput
                                                                    : times.backwardWeight;
    };
    std::vector<std::vector<double>> ends;
    for (const auto& steps : communication.steps)
        ends.emplace_back(steps.size(), 0);
    // What one stage hands to the next, by words: the sends and receives of a transfer, and the passes around it.
    std::map<std::string, double> begins;
    std::map<std::string, double> made;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t rank = 0; rank < ends.size(); ++rank) {
            double passes = 0;
            std::map<int, double> stream;
            for (std::size_t i = 0; i < ends[rank].size(); ++i) {
                const CommStep& step = communication.steps[rank][i];
                const bool isPass = step.kind == sim::StepKind::pass;
                const bool isForward =
                    isPass ? step.action.kind == sim::ActionKind::forward
                           : step.kind == sim::StepKind::sendForward || step.kind == sim::StepKind::receiveForward;
                const auto name = [&](int receiver) {
                    return std::to_string(receiver) + (isForward ? "F" : "B") + std::to_string(step.action.microbatch);
                };
                double start = passes;
                if (isPass) {
                    if (step.action.kind != sim::ActionKind::backwardWeight)
                        start = std::max(start, made[name(step.action.stage)]);
                    passes = std::max(ends[rank][i], start + length(step));
                    const int next = step.action.stage + (isForward ? 1 : -1);
                    const bool stays =
                        next >= 0 && next < communication.schedule.stages() && rankOf(next) == static_cast<int>(rank);
                    if (stays && step.action.kind != sim::ActionKind::backwardWeight)
                        made[name(next)] = passes;
                } else {
                    const int peer = sim::peerStage(step);
                    double& clock = stream[streams == CommStreams::shared ? 0 : rankOf(peer)];
                    double& both = begins[name(step.isSend() ? peer : step.action.stage)];
                    start = both = std::max({both, clock, start});
                    clock = start + length(step);
                    if (step.isReceive())
                        made[name(step.action.stage)] = clock;
                }
                moved = moved || start + length(step) > ends[rank][i];
                ends[rank][i] = std::max(ends[rank][i], start + length(step));
            }
        }
    }
    return ends;
}

TEST(EvaluateInOrder, AgreesWithRulesRepeatedUntilNothingMoves)
{
    std::mt19937 random(53);
    int compared = 0;
    for (int round = 0; round < 120; ++round) {
        Schedule schedule = sim::makeSchedule(oracle::randomRequest(random));
        if (schedule.chains > 1 || schedule.slices > 1)
            continue;
        for (auto& actions : schedule.actions)
            for (sim::Action& action : actions)
                action.overlapsNext = false;
        if (round % 2 == 0)
            schedule = oracle::withSplitBackwards(schedule, random);
        const CommSchedule lowered = sim::lowerCommunication(schedule, {.unshardedStages = 0});
        const auto below = [&](unsigned bound) { return static_cast<double>(random() % bound); };
        const sim::PassTimes times{1 + below(9), 1 + below(9), 1 + below(9), below(4)};
        for (const CommStreams streams : {CommStreams::shared, CommStreams::perPeer})
            EXPECT_EQ(sim::evaluateInOrder(lowered, times, streams).end, endsByRepetition(lowered, times, streams))
                << sim::pytorchCommsCsv(lowered);
        ++compared;
    }
    EXPECT_GT(compared, 60);
}

TEST(EvaluateInOrder, RunsTheTwoPassesOfABlockInTheTimeOfBoth)
{
    Schedule schedule = sim::makeSchedule(request("gpipe", 1, 1, 2)); // F0, F1 and B0 in one block, B1
    schedule.actions[0][1].overlapsNext = true;
    const CommSchedule communication = sim::lowerCommunication(schedule, {.unshardedStages = 0});
    sim::PassTimes times{2, 3, 1, 0};
    EXPECT_EQ(sim::evaluateInOrder(communication, times).makespan, 2 + (2 + 4) + 4);
    times.overlapped = 4.5;
    const sim::InOrderTimes blocks = sim::evaluateInOrder(communication, times);
    EXPECT_EQ(blocks.makespan, 2 + 4.5 + 4);
    EXPECT_THAT(blocks.start[0], ElementsAre(0, 2, 2, 6.5));
    EXPECT_THAT(blocks.end[0], ElementsAre(2, 6.5, 6.5, 10.5));
}

TEST(EvaluateInOrder, ShowsHeadOfLineBlocking)
{
    // pytorch/pytorch issue 188833: rank 0 posts the receive for its second chunk before it sends the next micro-batch, so that
    // send waits for a round through all ranks.
    const Schedule schedule = sim::makeSchedule(request("interleaved-1f1b", 4, 2, 8));
    const sim::PassTimes times{1, 1, 1, 0.1};
    const CommSchedule lowered = sim::lowerCommunication(schedule);
    const sim::InOrderTimes shared = sim::evaluateInOrder(lowered, times, CommStreams::shared);
    EXPECT_GT(shared.blocked, 1) << "more than all of the communication";
    double held = 0;
    for (const auto& rank : shared.heldBack)
        for (const double time : rank)
            held += time;
    EXPECT_GT(held, shared.blocked);
    // In its ring each rank hears from one neighbour and speaks to another, so a stream for each of them frees the sends.
    const sim::InOrderTimes apart = sim::evaluateInOrder(lowered, times, CommStreams::perPeer);
    EXPECT_LT(apart.blocked, shared.blocked);
}

TEST(EvaluateInOrder, SaysHowManyPeersCanHaveAStreamOfTheirOwn)
{
    // Every chunk on the next rank but one more: with a stage on each of nine ranks and rank 0 in between, it talks to all of
    // them.
    const auto problemsWith = [](int others) {
        Schedule schedule;
        schedule.kind = "imported";
        schedule.ranks = others + 1;
        schedule.microbatches = 1;
        schedule.actions.resize(static_cast<std::size_t>(others) + 1);
        std::vector<sim::Action> forward;
        for (int other = 1; other <= others; ++other)
            for (const int rank : {0, other}) {
                const int stage = static_cast<int>(schedule.stageToRank.size());
                schedule.stageToRank.push_back(rank);
                schedule.actions[static_cast<std::size_t>(rank)].push_back({.kind = sim::ActionKind::forward, .stage = stage});
            }
        for (int stage = static_cast<int>(schedule.stageToRank.size()) - 1; stage >= 0; --stage)
            schedule.actions[static_cast<std::size_t>(schedule.stageToRank[static_cast<std::size_t>(stage)])].push_back(
                {.kind = sim::ActionKind::backward, .stage = stage});
        return sim::checkInOrder(sim::lowerCommunication(schedule), CommStreams::perPeer);
    };
    EXPECT_THAT(problemsWith(sim::kMostPeers), testing::IsEmpty());
    EXPECT_THAT(problemsWith(sim::kMostPeers + 1),
                testing::ElementsAre("rank 0 talks to 8 others; with a stream for each pair at most 7 can be run"));
}

TEST(EvaluateInOrder, KnowsUnequalStages)
{
    const std::vector<sim::PassTimes> times = {{1, 1, 1, 0.5}, {2, 2, 2, 9}};
    const sim::InOrderTimes result = sim::evaluateInOrder(commsOf(kTwoRanks), times);
    EXPECT_EQ(result.makespan, 1 + 0.5 + 2 + 4 + 0.5 + 2) << "the edge's time is that of the stage before it";
    EXPECT_EQ(result.blocked, 0);
}

} // namespace
