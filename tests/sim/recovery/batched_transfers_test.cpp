// Pipelines and rings whose sends and receives torch gives to NCCL as one (batch_isend_irecv): kernels that name no peer, which
// the host asked for long before they run.
#include "sim/recovery/measured_run.h"
#include "sim/recovery/run_answers.h"

#include "tests/support/kineto_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace {

using testing::HasSubstr;

/// One of a pipeline's transfers, seen from a rank: its micro-batch's activations or gradients, out or in.
struct Exchanged {
    bool isForward = true, isSend = true;
    int microbatch = 0;
};
/// A pass, or what is exchanged at once.
struct Doing {
    char what = 'F'; ///< or 'B', or 'C'
    std::vector<Exchanged> exchanged;
    double start = 0, lasts = 0;
};

/// What a rank of Megatron's 1F1B does: neighbours' sends and receives between two passes are one batch.
std::vector<Doing> doingsOf(int rank, int ranks, int microbatches)
{
    std::vector<Doing> row;
    const auto exchange = [&](std::vector<Exchanged> all) {
        std::erase_if(all, [&](const Exchanged& one) {
            const bool isWithPrevious = one.isForward != one.isSend;
            return isWithPrevious ? rank == 0 : rank + 1 == ranks;
        });
        if (!all.empty())
            row.push_back({'C', std::move(all)});
    };
    const auto receive = [](bool isForward, int microbatch) { return Exchanged{isForward, false, microbatch}; };
    const auto send = [](bool isForward, int microbatch) { return Exchanged{isForward, true, microbatch}; };
    const int warmup = std::min(ranks - 1 - rank, microbatches), steady = microbatches - warmup;
    int forward = 0, backward = 0;
    for (; forward < warmup; ++forward) {
        exchange({receive(true, forward)});
        row.push_back({'F', {}});
        exchange({send(true, forward)});
    }
    if (steady > 0)
        exchange({receive(true, forward)});
    for (int i = 0; i < steady; ++i, ++forward, ++backward) {
        row.push_back({'F', {}});
        exchange({send(true, forward), receive(false, backward)});
        row.push_back({'B', {}});
        if (i + 1 < steady)
            exchange({send(false, backward), receive(true, forward + 1)});
        else
            exchange({send(false, backward)});
    }
    for (; backward < microbatches; ++backward) {
        exchange({receive(false, backward)});
        row.push_back({'B', {}});
        exchange({send(false, backward)});
    }
    return row;
}

/// When each happens: a batch ends for both once both have come to it, and takes 50 us. Forwards take 2 ms, backwards 4.
std::vector<std::vector<Doing>> timed(int ranks, int microbatches)
{
    constexpr double kTransfer = 50;
    std::vector<std::vector<Doing>> rows;
    for (int rank = 0; rank < ranks; ++rank)
        rows.push_back(doingsOf(rank, ranks, microbatches));
    std::map<std::tuple<int, bool, bool, int>, double> came; // rank, forward, send, micro-batch
    std::vector<std::size_t> at(rows.size(), 0);
    std::vector<double> now(rows.size(), 0);
    for (bool moves = true; moves;) {
        moves = false;
        for (int rank = 0; rank < ranks; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            for (; at[r] < rows[r].size(); ++at[r], moves = true) {
                Doing& doing = rows[r][at[r]];
                doing.start = now[r];
                double end = now[r] + (doing.what == 'F' ? 2000 : 4000);
                if (doing.what == 'C') {
                    end = now[r];
                    bool isHere = true;
                    for (const Exchanged& one : doing.exchanged) {
                        moves |= came.try_emplace({rank, one.isForward, one.isSend, one.microbatch}, now[r]).second;
                        const int peer = rank + (one.isForward == one.isSend ? 1 : -1);
                        const auto other = came.find({peer, one.isForward, !one.isSend, one.microbatch});
                        isHere = isHere && other != came.end();
                        end = std::max(end, other == came.end() ? 0 : other->second);
                    }
                    if (!isHere)
                        break;
                    end += kTransfer;
                }
                doing.lasts = end - now[r];
                now[r] = end;
            }
        }
    }
    return rows;
}

struct Host {
    double aheadUs = 18, speed = 1; ///< how long before its device it asks; µs of its own for one of the device
    double isSeenFirstUs = 0;       ///< for how long calls and launches are recorded, and no kernels yet
    bool hasRccl = false;           ///< whose kernels have one name, whatever they exchange
};

/// Three steps of a pipeline, whose group the trace describes so.
sim::Recording pipelineOf(int ranks, int microbatches, const std::string& description, const Host& host = {})
{
    const std::vector<std::vector<Doing>> rows = timed(ranks, microbatches);
    double lasts = 0;
    for (const auto& row : rows)
        lasts = std::max(lasts, row.back().start + row.back().lasts);
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    test::KinetoJob job(ranks);
    job.group("0", "default_pg", all);
    job.group("3", description, all);
    const auto kernelOf = [&host](const char* nccl) {
        return std::string(host.hasRccl ? "ncclDevKernel_Generic_4" : nccl) + "(ncclDevKernelArgsStorage<4096ul>)";
    };
    for (int step = 0; step < 3; ++step) {
        const double begin = 1000 + step * (lasts + 500);
        for (int rank = 0; rank < ranks; ++rank) {
            test::KinetoRank& file = job[rank];
            for (const Doing& doing : rows[static_cast<std::size_t>(rank)]) {
                const double start = begin + doing.start, asked = begin + doing.start * host.speed - host.aheadUs;
                for (const Exchanged& one : doing.exchanged) {
                    const int peer = rank + (one.isForward == one.isSend ? 1 : -1);
                    file.host("cpu_op", "record_param_comms", asked, 1,
                              test::KinetoJob::args(one.isSend ? "send" : "recv", "3", all, 1 << 20,
                                                    (one.isSend ? R"("Dst Rank":)" : R"("Src Rank":)") + std::to_string(peer)));
                }
                if (start < 1000 + host.isSeenFirstUs)
                    file.host("cuda_runtime", "cudaLaunchKernelExC", asked + (doing.what == 'C' ? 3 : 0), 1);
                else if (doing.what == 'C')
                    file.kernel(kernelOf("ncclDevKernel_SendRecv"), asked + 3, start, doing.lasts, 24);
                else
                    file.kernel(doing.what == 'F' ? "gemm_f" : "flash_bwd_kernel", asked, start, doing.lasts);
            }
            file.kernel(kernelOf("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), begin + lasts - 1, begin + lasts + 5, 495, 20,
                        test::KinetoJob::args("allreduce", "0", all, 1));
            file.step(step + 1, begin - 30, lasts + 500, begin, lasts + 500);
        }
    }
    return job.read();
}

TEST(BatchedTransfers, AreInTheOrderOfTheDeviceHoweverFarTheHostIsAhead)
{
    struct Case {
        int ranks, microbatches;
        Host host;
    };
    for (const Case& of : {Case{4, 8, {18, 1}}, Case{4, 8, {300, 0.2}}, Case{2, 8, {18, 1}}, Case{2, 8, {300, 0.2}}}) {
        const sim::Recovered run = sim::recover(pipelineOf(of.ranks, of.microbatches, "PIPELINE_MODEL_PARALLEL_GROUP", of.host));
        ASSERT_TRUE(run.schedule) << of.ranks;
        EXPECT_EQ(run.schedule->kind, "1f1b") << of.ranks << " ranks, host ahead by " << of.host.aheadUs;
        EXPECT_EQ(run.schedule->microbatches, of.microbatches);
        EXPECT_EQ(run.schedule->stages, of.ranks);
    }
}

TEST(BatchedTransfers, OfRcclAreKnownByWhatTheHostAskedFor)
{
    for (const char* description : {"PIPELINE_MODEL_PARALLEL_GROUP", "undefined"}) {
        const sim::Recovered nccl = sim::recover(pipelineOf(4, 8, description)),
                             rccl = sim::recover(pipelineOf(4, 8, description, {.hasRccl = true}));
        ASSERT_TRUE(rccl.schedule) << description;
        EXPECT_EQ(rccl.schedule->kind, "1f1b");
        EXPECT_EQ(rccl.schedule->microbatches, 8);
        EXPECT_EQ(rccl.schedule->sure, nccl.schedule->sure);
        EXPECT_EQ(rccl.meetings.meetings.size(), nccl.meetings.meetings.size());
        EXPECT_EQ(rccl.meetings.transfers.size(), nccl.meetings.transfers.size());
    }
}

TEST(BatchedTransfers, OfNeighboursAreAPipelineWhereNobodyNamesTheirGroup)
{
    for (const int ranks : {2, 4}) {
        const sim::Recovered run = sim::recover(pipelineOf(ranks, 8, "undefined"));
        ASSERT_NE(run.axes.find("pp"), nullptr) << ranks;
        EXPECT_EQ(run.axes.find("pp")->size, ranks);
        EXPECT_EQ(run.axes.find("cp"), nullptr);
    }
}

TEST(BatchedTransfers, MeetByTheirPeersAndAreNoCollectivesOfAll)
{
    const sim::Recovered run = sim::recover(pipelineOf(4, 8, "undefined"));
    EXPECT_EQ(run.meetings.meetings.size(), 3U) << "the sum of each step";
    EXPECT_EQ(run.meetings.transfers.size(), 3U * 3U * 8U * 2U) << "steps, neighbours, micro-batches, there and back";
    for (const std::string& problem : run.meetings.problems)
        ADD_FAILURE() << problem;
    for (const sim::Meeting& transfer : run.meetings.transfers) {
        const sim::CommSpan& send = run.evidence.ranks[transfer.parts[0].rank].comms[transfer.parts[0].span];
        const sim::CommSpan& receive = run.evidence.ranks[transfer.parts[1].rank].comms[transfer.parts[1].span];
        EXPECT_EQ(std::abs(static_cast<int>(transfer.parts[0].rank) - static_cast<int>(transfer.parts[1].rank)), 1);
        EXPECT_LT(send.startNs, receive.endNs);
        EXPECT_LT(receive.startNs, send.endNs);
    }
}

TEST(BatchedTransfers, OfKernelsThatWereNotRecordedAreNoOthers)
{
    const sim::Recovered run = sim::recover(pipelineOf(4, 8, "PIPELINE_MODEL_PARALLEL_GROUP", {.isSeenFirstUs = 21'000}));
    ASSERT_GT(run.meetings.transfers.size(), 100U);
    for (const sim::Meeting& transfer : run.meetings.transfers) {
        const sim::CommSpan& send = run.evidence.ranks[transfer.parts[0].rank].comms[transfer.parts[0].span];
        const sim::CommSpan& receive = run.evidence.ranks[transfer.parts[1].rank].comms[transfer.parts[1].span];
        EXPECT_LT(send.startNs, receive.endNs);
        EXPECT_LT(receive.startNs, send.endNs);
    }
    for (const sim::RankEvidence& rank : run.evidence.ranks)
        for (const sim::AskedTransfer& transfer : rank.asked)
            if (transfer.kernel >= 0) {
                EXPECT_LT(rank.comms[static_cast<std::size_t>(transfer.kernel)].launchNs - transfer.askedNs, 5'000);
            }
    EXPECT_EQ(run.schedule->kind, "1f1b");
}

TEST(BatchedTransfers, LeadTheCriticalPathFromRankToRank)
{
    const sim::Recovered run = sim::recover(pipelineOf(4, 8, "PIPELINE_MODEL_PARALLEL_GROUP"));
    const sim::RankPath path = sim::criticalPathOver(run);
    // Down the pipeline and back over all ranks, or where a micro-batch turns: (8 + 4 - 1) passes there and back.
    EXPECT_GE(path.jumps, 6U);
    EXPECT_EQ(path.ns.at(sim::PathPart::computing), 11 * 6'000'000);
}

TEST(BatchedTransfers, CountAKernelOfSeveralOnce)
{
    const sim::Recovered run = sim::recover(pipelineOf(4, 8, "PIPELINE_MODEL_PARALLEL_GROUP"));
    double kernels = 0, counted = 0;
    for (const sim::RankEvidence& rank : run.evidence.ranks)
        kernels += static_cast<double>(std::count_if(rank.comms.begin(), rank.comms.end(),
                                                     [](const sim::CommSpan& span) { return sim::isTransfer(span.exchange); }));
    const sim::MeasuredRun measured(run, false);
    double waiting = 0;
    for (const auto& [of, series] : measured.collectives)
        for (const sim::StepSeries& ofRank : series) {
            if (of.axis == "pp" && of.what != "all-reduce")
                counted += ofRank.count;
            waiting += std::accumulate(ofRank.waiting.begin(), ofRank.waiting.end(), 0.0);
        }
    EXPECT_EQ(counted, kernels);
    EXPECT_GT(waiting, 0);
}

TEST(BatchedTransfers, ThatWaitAreToldOfWhereNoCollectiveKeepsAnybody)
{
    const sim::Arrivals arrivals = sim::arrivalsOf(sim::recover(pipelineOf(4, 8, "PIPELINE_MODEL_PARALLEL_GROUP")));
    EXPECT_THAT(arrivals.text, HasSubstr("in collectives nobody waits for anybody; receives wait for their sends for "));
}

/// Each rank sends to the next and receives from the one before, the last to the first: keys and values of ring attention.
sim::Recording ringOf(int ranks, bool isBatched)
{
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    test::KinetoJob job(ranks);
    job.group("0", "default_pg", all);
    job.group("3", "undefined", all);
    for (int step = 0; step < 3; ++step)
        for (int rank = 0; rank < ranks; ++rank) {
            test::KinetoRank& file = job[rank];
            const double begin = 1000 + step * 10000;
            double at = begin;
            for (int i = 0; i < 6; ++i) {
                const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
                const std::string send = test::KinetoJob::args("send", "3", all, 4096, R"("Dst Rank":)" + std::to_string(next));
                const std::string receive =
                    test::KinetoJob::args("recv", "3", all, 4096, R"("Src Rank":)" + std::to_string(before));
                if (isBatched) {
                    file.host("cpu_op", "record_param_comms", at - 18, 1, send);
                    file.host("cpu_op", "record_param_comms", at - 16, 1, receive);
                    file.kernel("ncclDevKernel_SendRecv", at - 10, at, 200, 24);
                } else {
                    file.kernel("ncclDevKernel_SendRecv", at - 10, at, 200, 24, send);
                    file.kernel("ncclDevKernel_SendRecv", at - 8, at, 200, 25, receive);
                }
                file.kernel(i < 3 ? "flash_fwd_kernel" : "flash_bwd_kernel", at - 8, at, 1000);
                at += 1000;
            }
            file.step(step + 1, begin - 30, 9000, begin, 6000);
        }
    return job.read();
}

TEST(Rings, OfSendsAndReceivesThatGoRoundAreNoPipeline)
{
    for (const bool isBatched : {true, false}) {
        const sim::Recovered run = sim::recover(ringOf(4, isBatched));
        ASSERT_NE(run.axes.find("cp"), nullptr) << isBatched;
        EXPECT_EQ(run.axes.find("cp")->size, 4);
        EXPECT_EQ(run.axes.find("pp"), nullptr);
    }
}

} // namespace
