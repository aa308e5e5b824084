// What other people's recorders write otherwise than a job of NCCL under CUDA: files that number nobody, marks of steps that
// cover a part of them, exchanges that are no kernel of NCCL's, hosts without devices.
#include "sim/recovery/launch_class.h"
#include "sim/recovery/rank_numbers.h"
#include "sim/recovery/rank_path.h"
#include "sim/recovery/recover.h"
#include "sim/recovery/run_answers.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using testing::HasSubstr;

/// One file of Kineto's.
class Written {
public:
    explicit Written(std::string head = {}, int process = 0) : m_head(std::move(head)), m_process(process) {}
    Written& span(const std::string& category, const std::string& name, int thread, std::int64_t startUs, std::int64_t lastsUs,
                  const std::string& args = {})
    {
        m_events += std::string(m_events.empty() ? "" : ",") + R"({"ph":"X","cat":")" + category + R"(","name":")" + name +
                    R"(","pid":)" + std::to_string(category == "kernel" ? 0 : m_process) + R"(,"tid":)" + std::to_string(thread) +
                    R"(,"ts":)" + std::to_string(startUs) + R"(,"dur":)" + std::to_string(lastsUs) + R"(,"args":{)" + args + "}}";
        return *this;
    }
    /// A launch on the host, and what it launched on device `device`.
    Written& kernel(const std::string& name, std::int64_t askedUs, std::int64_t startUs, std::int64_t lastsUs, int device = 0)
    {
        const std::string correlation = R"("correlation":)" + std::to_string(++m_correlation);
        span("cuda_runtime", "cudaLaunchKernel", 100, askedUs, 1, correlation);
        return span("kernel", name, 7, startUs, lastsUs, correlation + R"(,"stream":7,"device":)" + std::to_string(device));
    }
    std::string text() const { return R"({"schemaVersion":1,)" + m_head + R"("traceEvents":[)" + m_events + "]}"; }
    sim::Recording read(const std::string& path = "trace.json") const
    {
        const std::string text = this->text();
        return sim::readRecording(text.data(), text.size(), path);
    }

private:
    std::string m_head, m_events;
    int m_process = 0;
    int m_correlation = 0;
};

std::string allOf(const std::vector<std::string>& problems)
{
    std::string all;
    for (const std::string& problem : problems)
        all += problem + "\n";
    return all;
}

TEST(ForeignFiles, OfAWorkerThatNobodyNumbersAreLookedAtWhereItIsTheOnlyOne)
{
    const sim::Recording recording =
        Written().span("user_annotation", "ProfilerStep#3", 100, 1000, 900).kernel("gemm", 1100, 1200, 300).read();
    ASSERT_EQ(recording.ranks.at(0).rank, -1); // that stays to be said
    const sim::Recovered run = sim::recover(recording);
    ASSERT_EQ(run.evidence.ranks.size(), 1U);
    EXPECT_EQ(run.evidence.ranks[0].rank, 0);
    ASSERT_EQ(run.steps.steps.size(), 1U);
    EXPECT_EQ(run.steps.steps[0].number, 3);
    EXPECT_THAT(allOf(run.problems), HasSubstr("does not say which rank it is of"));
    const sim::RunAnswers answers = sim::answersOf(run);
    ASSERT_EQ(answers.times.ranks.size(), 1U);
    EXPECT_EQ(answers.times.ranks[0].computingNs, 300'000);
    ASSERT_EQ(answers.times.kernels.size(), 1U);
    EXPECT_EQ(answers.times.kernels[0].name, "gemm");
}

/// A folder with these files in it, gone with the test.
class Folder {
public:
    explicit Folder(const std::string& name)
        : m_path(std::filesystem::temp_directory_path() / (name + "." + std::to_string(::getpid())))
    {
        std::filesystem::create_directories(m_path);
    }
    ~Folder() { std::filesystem::remove_all(m_path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    void write(const std::string& file, const Written& written) const { std::ofstream(m_path / file) << written.text(); }
    sim::Recording read() const { return sim::readRecording({m_path}); }

private:
    std::filesystem::path m_path;
};

/// What a call of torch.profiler in a process records: a forward pass of 300 us of kernels that begins at `us`.
Written recordedAt(std::int64_t us, int process = 4711)
{
    return Written({}, process)
        .span("cpu_op", "aten::mm", 100, us, 50)
        .kernel("gemm", us + 10, us + 100, 300)
        .kernel("gemm", us + 20, us + 450, 200);
}

TEST(ForeignFiles, OfOneProcessOneAfterAnotherAreOneWorkerAndAStepEach)
{
    const Folder folder("windows_of_a_worker");
    folder.write("host_4711.1700000000000000001.pt.trace.json", recordedAt(1'700'000'000'000'000));
    folder.write("host_4711.1700000000000000002.pt.trace.json", recordedAt(1'700'000'003'000'000));
    folder.write("host_4711.1700000000000000003.pt.trace.json", recordedAt(1'700'000'007'000'000));
    const sim::Recording recording = folder.read();
    ASSERT_EQ(recording.ranks.size(), 1U);
    const sim::RankRecording& worker = recording.ranks[0];
    EXPECT_EQ(worker.windows.size(), 3U);
    EXPECT_EQ(sim::kernelCount(worker), 6U);
    // A row is one, of all three; what belongs together does still.
    ASSERT_EQ(worker.tracks.size(), 2U);
    EXPECT_FALSE(worker.tracks[0].isDevice);
    EXPECT_TRUE(std::is_sorted(worker.spans.startNs.begin() + worker.tracks[1].first, worker.spans.startNs.end()));
    ASSERT_EQ(worker.links.size(), 6U);
    for (const sim::RecordedLink& link : worker.links) {
        EXPECT_EQ(worker.spans.kind[link.from], sim::RecordedKind::runtime);
        EXPECT_EQ(worker.spans.kind[link.to], sim::RecordedKind::kernel);
        EXPECT_LT(worker.spans.startNs[link.to] - worker.spans.startNs[link.from], 1'000'000);
    }
    const sim::Recovered run = sim::recover(recording);
    EXPECT_THAT(allOf(run.problems), HasSubstr("all 3 are of one process, recorded one after another"));
    ASSERT_EQ(run.steps.steps.size(), 3U);
    for (const sim::RecoveredStep& step : run.steps.steps)
        EXPECT_EQ(step.endNs - step.startNs, 550'000) << "of its device, and nothing of what lies between two";
    EXPECT_THAT(run.steps.evidence, HasSubstr("each of 3 recordings"));
}

TEST(ForeignFiles, OfOneProcessThatAreCountedFromZeroAreOneWorkerToo)
{
    const Folder windows("counted_windows"), ranks("counted_ranks");
    for (const int k : {0, 1, 2}) {
        windows.write("trace_" + std::to_string(k) + ".json", recordedAt(1'700'000'000'000'000 + k * 3'000'000));
        ranks.write("trace_" + std::to_string(k) + ".json", recordedAt(1'700'000'000'000'000 + k * 20));
    }
    EXPECT_EQ(windows.read().ranks.size(), 1U);
    EXPECT_EQ(ranks.read().ranks.size(), 3U) << "at one time: of a number each in containers of their own";
}

TEST(ForeignFiles, OfTwoProcessesOrOfOneTimeStayTwoWorkers)
{
    const Folder folder("two_workers");
    folder.write("a.json", recordedAt(1'700'000'000'000'000, 4711));
    folder.write("b.json", recordedAt(1'700'000'003'000'000, 4712));
    folder.write("c.json", recordedAt(1'700'000'000'000'100, 4711)); // another host's, of the same number
    const sim::Recording recording = folder.read();
    ASSERT_EQ(recording.ranks.size(), 3U);
    for (const sim::RankRecording& worker : recording.ranks)
        EXPECT_TRUE(worker.windows.empty());
    EXPECT_THAT(sim::recover(recording).problems, testing::Contains(HasSubstr("3 workers do not say which ranks they are")));
}

TEST(ForeignFiles, MarkedStepsOfAWorkersWindowsKeepTheirNumbers)
{
    const Folder folder("marked_windows");
    for (const int k : {0, 1})
        folder.write("rank0." + std::to_string(k) + ".json",
                     recordedAt(1'700'000'000'000'000 + k * 5'000'000)
                         .span("user_annotation", "ProfilerStep#" + std::to_string(7 + 10 * k), 100,
                               1'700'000'000'000'000 + k * 5'000'000, 900));
    const sim::Recovered run = sim::recover(folder.read());
    ASSERT_EQ(run.steps.steps.size(), 2U);
    EXPECT_EQ(run.steps.steps[0].number, 7);
    EXPECT_EQ(run.steps.steps[1].number, 17);
    EXPECT_LT(run.steps.steps[0].endNs - run.steps.steps[0].startNs, 1'000'000);
}

TEST(ForeignFiles, ANumberAtTheEndOfANameIsARankOnlyWhereFilesAreCountedOrAWorldHasIt)
{
    const auto ranksOf = [](const std::vector<std::pair<std::string, Written>>& files) {
        const Folder folder("numbered_files");
        for (const auto& [name, written] : files)
            folder.write(name, written);
        std::vector<int> ranks;
        for (const sim::RankRecording& rank : folder.read().ranks)
            ranks.push_back(rank.rank);
        return ranks;
    };
    const auto of = [](int process) { return recordedAt(1'700'000'000'000'000, process); };
    using Ranks = std::vector<int>;
    EXPECT_EQ(ranksOf({{"batch_size_16.json", of(1)}, {"batch_size_32.json", of(2)}, {"batch_size_64.json", of(3)}}),
              (Ranks{-1, -1, -1}));
    EXPECT_EQ(ranksOf({{"trace_5.json", of(1)}}), Ranks{-1});
    EXPECT_EQ(ranksOf({{"trace_0.json", of(1)}, {"trace_1.json", of(2)}, {"trace_3.json", of(3)}}), (Ranks{0, 1, 3}))
        << "one is missing";
    EXPECT_EQ(ranksOf({{"rank5.json", of(1)}}), Ranks{5}) << "a word says what it is";
    Written inAWorld(R"("distributedInfo":{"backend":"nccl","world_size":8},)");
    EXPECT_EQ(ranksOf({{"trace_5.json", inAWorld.kernel("gemm", 1100, 1200, 300)}}), Ranks{5});
}

TEST(ForeignFiles, CopiesOnTheCriticalPathAreNoComputing)
{
    const sim::Recording recording = Written()
                                         .span("user_annotation", "ProfilerStep#0", 100, 1000, 900)
                                         .kernel("gemm", 1000, 1000, 100)
                                         .span("gpu_memcpy", "Memcpy HtoD", 7, 1100, 800, R"("stream":7,"device":0)")
                                         .read();
    const sim::RankPath path = sim::criticalPathOver(sim::recover(recording));
    EXPECT_EQ(path.ns.at(sim::PathPart::computing), 100'000);
    EXPECT_EQ(path.ns.at(sim::PathPart::copying), 800'000);
}

TEST(ForeignFiles, OfAHostWithoutMarksSayWhatIsMissingForSteps)
{
    const sim::Recovered run = sim::recover(Written().span("cpu_op", "aten::mm", 100, 1000, 300).read());
    EXPECT_THAT(allOf(run.problems), HasSubstr("no kernel, collective or annotation of a rank was recorded"));
}

TEST(ForeignFiles, OfAWorkerOfALargerWorldAreLeftToBeNumbered)
{
    const sim::Recording recording =
        Written(R"("distributedInfo":{"backend":"nccl","world_size":8},)").kernel("gemm", 1100, 1200, 300).read();
    const sim::Recovered run = sim::recover(recording);
    EXPECT_TRUE(run.evidence.ranks.empty());
    EXPECT_THAT(allOf(run.problems), HasSubstr("left out until somebody says"));
}

TEST(ForeignFiles, ProcessesOfOneHostAreNumberedByTheirGpus)
{
    sim::Recording recording;
    for (const int device : {2, 0, 1}) {
        sim::RankRecording& rank = recording.ranks.emplace_back();
        rank.host = "node";
        rank.device = device;
    }
    const sim::RankNumbers numbers = sim::numbersOf(recording);
    EXPECT_EQ(numbers.ofRank, (std::vector<int>{2, 0, 1}));
    EXPECT_THAT(numbers.assumed, HasSubstr("in the order of their GPUs"));
    recording.worldSize = 8; // of which five are somewhere else
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{-1, -1, -1}));
    recording.worldSize = 3;
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{2, 0, 1}));
    // Not where two share one, hosts differ, or a file each has nothing to do with the other.
    recording.ranks[1].device = 2;
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{-1, -1, -1}));
    recording.ranks[1].device = 0;
    recording.ranks[1].host = "other";
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{-1, -1, -1}));
    recording.ranks[1].host = "node";
    recording.ranks[1].file = 1;
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{-1, -1, -1}));
    for (sim::RankRecording& rank : recording.ranks)
        rank.collectives.emplace_back();
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{2, 0, 1}));
    recording.worldSize = 3; // which these are
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{2, 0, 1}));
    recording.worldSize = 8; // of which others are missing
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{-1, -1, -1}));
    recording.ranks[1].rank = 5; // somebody is numbered: the others are not guessed
    EXPECT_EQ(sim::numbersOf(recording).ofRank, (std::vector<int>{-1, 5, -1}));
}

TEST(ForeignFiles, AStepIsWhatTheDeviceDidOfWhatWasAskedWithinItsMark)
{
    // As ROCm's profiler has it: the twin on the device covers the last kernel alone.
    Written file(R"("distributedInfo":{"rank":0,"world_size":1},)");
    for (int step = 0; step < 3; ++step) {
        const std::int64_t host = 1000 + step * 1000, device = host + 500;
        const std::string mark = "ProfilerStep#" + std::to_string(step);
        file.span("user_annotation", mark, 100, host, 900);
        file.kernel("fwd", host + 10, device, 400)
            .kernel("bwd", host + 20, device + 400, 500)
            .kernel("opt", host + 30, device + 900, 20);
        file.span("gpu_user_annotation", mark, 7, device + 900, 20);
    }
    const sim::Recovered run = sim::recover(file.read());
    ASSERT_EQ(run.steps.steps.size(), 3U);
    EXPECT_EQ(run.steps.steps[1].startNs, 2'420'000) << "the last one is done, and the host in this one";
    EXPECT_EQ(run.steps.steps[1].endNs, 3'420'000);
    EXPECT_EQ(sim::answersOf(run).times.ranks.at(0).computingNs, 920'000);
}

TEST(ForeignFiles, AStepIsAsLongAsTheDeviceTakesWhereTheHostRunsAhead)
{
    // No twin on the device, and a host that has asked for all three before the first is done.
    const auto run = [](std::int64_t hostTakes) {
        Written file(R"("distributedInfo":{"rank":0,"world_size":1},)");
        for (int step = 0; step < 3; ++step) {
            const std::int64_t host = 1000 + step * hostTakes, device = std::max<std::int64_t>(2000 + step * 1000, host + 60);
            file.span("user_annotation", "ProfilerStep#" + std::to_string(step), 100, host, hostTakes - 10);
            file.kernel("fwd", host + 20, device, 400).kernel("bwd", host + 30, device + 400, 500);
        }
        return sim::recover(file.read()).steps.steps;
    };
    const auto ahead = run(100);
    ASSERT_EQ(ahead.size(), 3U);
    EXPECT_EQ(ahead[1].startNs, 2'900'000); // what was asked before it is done
    EXPECT_EQ(ahead[1].endNs, 3'900'000);
    const auto slow = run(5000); // the device waits for the host: its own mark is the step
    ASSERT_EQ(slow.size(), 3U);
    EXPECT_EQ(slow[1].endNs - slow[1].startNs, 5'000'000) << "with what lies between two marks";
}

TEST(ForeignFiles, AMarkWithinWhichNothingWasAskedForIsNoStepOfADeviceThatIsBehind)
{
    Written file(R"("distributedInfo":{"rank":0,"world_size":1},)");
    for (int step = 0; step < 3; ++step) {
        const std::int64_t host = 1000 + step * 100;
        file.span("user_annotation", "ProfilerStep#" + std::to_string(step), 100, host, 90);
        if (step != 1)
            file.kernel("all", host + 20, 2000 + step * 1000, 900);
    }
    const auto steps = sim::recover(file.read()).steps.steps;
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].number, 0);
    EXPECT_EQ(steps[1].number, 2);
    EXPECT_EQ(steps[1].endNs - steps[1].startNs, 2'000'000) << "from the end of what was asked before";
}

TEST(ForeignFiles, MarksThatNameTheirPassTellWhatTheirKernelsAreFor)
{
    // As in DeepSeek's published training trace: no autograd, "attn(F)", "mlp(B)", "mlp(W)".
    const sim::Recording recording = Written(R"("distributedInfo":{"rank":0,"world_size":1},)")
                                         .span("user_annotation", "ProfilerStep#1", 100, 1000, 900)
                                         .span("user_annotation", "mlp(F)", 100, 1000, 100)
                                         .span("user_annotation", "attn(B)", 100, 1100, 100)
                                         .span("user_annotation", "attn(W)", 100, 1200, 50)
                                         .kernel("gemm_a", 1010, 2000, 10)
                                         .kernel("gemm_b", 1110, 2010, 10)
                                         .kernel("gemm_c", 1210, 2020, 10)
                                         .kernel("gemm_d", 1300, 2030, 10)
                                         .read();
    const sim::RankRecording& rank = recording.ranks.at(0);
    const sim::ClassOfStart classes(recording, rank, sim::LaunchNames(recording));
    const auto device = std::find_if(rank.tracks.begin(), rank.tracks.end(), [](const auto& track) { return track.isDevice; });
    const auto stream = static_cast<std::uint32_t>(device - rank.tracks.begin()) + 1;
    EXPECT_EQ(classes.of(2'000'000, stream), sim::OpClass::forward);
    EXPECT_EQ(classes.of(2'010'000, stream), sim::OpClass::backward);
    EXPECT_EQ(classes.of(2'020'000, stream), sim::OpClass::backwardWeight);
    EXPECT_EQ(classes.of(2'030'000, stream), sim::OpClass::other);
    EXPECT_EQ(classes.of(2'000'000, stream + 1), sim::OpClass::other) << "which begins nothing then";
}

TEST(ForeignFiles, WhatAnAlignedClockBringsToOneTimeKeepsItsClass)
{
    Written file(R"("distributedInfo":{"rank":0,"world_size":1},)");
    file.span("user_annotation", "mlp(F)", 100, 1000, 100).span("user_annotation", "attn(B)", 100, 1100, 100);
    for (const auto& [stream, asked] : {std::pair{7, 1010}, {9, 1110}}) {
        const std::string correlation = R"("correlation":)" + std::to_string(900 + stream);
        file.span("cuda_runtime", "cudaLaunchKernel", 100, asked, 1, correlation)
            .span("kernel", "gemm", stream, 2000, 10, correlation + R"(,"device":0,"stream":)" + std::to_string(stream));
    }
    sim::Recording recording = file.read();
    sim::RankRecording& rank = recording.ranks.at(0);
    std::vector<std::uint32_t> streams; // as streamOf()
    for (std::uint32_t t = 0; t < rank.tracks.size(); ++t)
        if (rank.tracks[t].isDevice && rank.tracks[t].last > rank.tracks[t].first)
            streams.push_back(t + 1);
    ASSERT_EQ(streams.size(), 2U);
    // A nanosecond apart, the first stream last: half a nanosecond ahead and a millionth more of each rounds them to one time.
    rank.spans.startNs[rank.tracks[streams[0] - 1].first] = 2'000'001;
    sim::ClassOfStart classes(recording, rank, sim::LaunchNames(recording));
    const sim::OpClass first = classes.of(2'000'001, streams[0]), second = classes.of(2'000'000, streams[1]);
    EXPECT_NE(first, sim::OpClass::other);
    EXPECT_NE(second, sim::OpClass::other);
    EXPECT_NE(first, second);
    sim::ClockAlignment clock;
    clock.isAligned = true;
    clock.sinceNs = 2'000'000;
    clock.ranks.push_back({.offsetNs = 0.4999995, .driftPpm = 1});
    ASSERT_EQ(clock.aligned(0, 2'000'001), clock.aligned(0, 2'000'000));
    classes.align(clock, 0);
    EXPECT_EQ(classes.of(2'000'000, streams[0]), first);
    EXPECT_EQ(classes.of(2'000'000, streams[1]), second);
}

TEST(ForeignFiles, WhatTwoStreamsBeginInOneMicrosecondIsOfWhoeverLaunchedEach)
{
    // Of the backward a gradient, while parameters are gathered that the main thread asked for, and of the next forward a kernel.
    Written file(R"("distributedInfo":{"rank":0,"world_size":2},)");
    file.span("cpu_op", "aten::mm", 100, 1000, 20).kernel("gemm_f", 1005, 1500, 50);
    file.span("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 200, 1100, 20)
        .span("cuda_runtime", "cudaLaunchKernel", 200, 1105, 1, R"("correlation":901)")
        .span("kernel", "gemm_b", 7, 1600, 50, R"("correlation":901,"stream":7,"device":0)")
        .span("cuda_runtime", "cudaLaunchKernel", 100, 1110, 1, R"("correlation":902)")
        .span("kernel", "ncclDevKernel_AllGather_RING_LL(x)", 20, 1600, 30, R"("correlation":902,"stream":20,"device":0)")
        .span("cuda_runtime", "cudaLaunchKernel", 100, 1112, 1, R"("correlation":903)")
        .span("kernel", "gemm_next", 9, 1600, 40, R"("correlation":903,"stream":9,"device":0)");
    const sim::Recovered run = sim::recover(file.read());
    std::map<std::string, sim::OpClass> classes;
    for (const sim::WorkSpan& work : run.evidence.ranks.at(0).work)
        classes[run.evidence.names[work.name]] = work.opClass;
    EXPECT_THAT(classes, testing::UnorderedElementsAre(testing::Pair("gemm_f", sim::OpClass::forward),
                                                       testing::Pair("gemm_b", sim::OpClass::backward),
                                                       testing::Pair("gemm_next", sim::OpClass::forward)));
}

TEST(ForeignFiles, KernelsOfDeepEpAreCommunicationInAnyNamespace)
{
    // Names of DeepSeek's published training trace (deepseek-ai/profile-data, train.json).
    Written file(R"("distributedInfo":{"rank":0,"world_size":64},)");
    file.span("user_annotation", "ProfilerStep#1", 100, 1000, 1000).kernel("gemm", 1000, 1000, 300);
    std::int64_t at = 1300;
    for (const char* name :
         {"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*)",
          "void dpsk::ep::internode::cached_notify<false>(int)", "void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*)",
          "void dpsk::ep::internode::notify_dispatch<false, 8>(int const*)", "void deep_ep::intranode::dispatch<8>(int4*)",
          "void deep_ep::internode_ll::combine<true>(void*)"}) {
        file.kernel(name, at - 200, at, 100);
        at += 100;
    }
    file.kernel("void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*)", 1800, at, 50);
    const sim::Recovered run = sim::recover(file.read());
    ASSERT_EQ(run.evidence.ranks.at(0).comms.size(), 6U);
    for (const sim::CommSpan& span : run.evidence.ranks[0].comms)
        EXPECT_EQ(span.exchange, sim::Exchange::allToAll);
    const sim::RankTime time = sim::answersOf(run).times.ranks.at(0);
    EXPECT_EQ(time.computingNs, 350'000);
    EXPECT_EQ(time.exposedCommNs, 600'000);
}

TEST(ForeignFiles, KernelsThatReachIntoOtherGpusAreCommunication)
{
    const sim::Recording recording =
        Written(R"("distributedInfo":{"rank":0,"world_size":2},)")
            .span("user_annotation", "ProfilerStep#1", 100, 1000, 900)
            .kernel("gemm", 1000, 1100, 300)
            .kernel("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(…)", 1010, 1400, 100)
            .kernel("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(…)", 1020, 1500, 200)
            .read();
    EXPECT_EQ(sim::kernelCount(recording.ranks.at(0)), 3U);
    const sim::Recovered run = sim::recover(recording);
    ASSERT_EQ(run.evidence.ranks.at(0).comms.size(), 2U);
    for (const sim::CommSpan& span : run.evidence.ranks[0].comms)
        EXPECT_EQ(span.exchange, sim::Exchange::allReduce);
    const sim::RankTime time = sim::answersOf(run).times.ranks.at(0);
    EXPECT_EQ(time.computingNs, 300'000);
    EXPECT_EQ(time.exposedCommNs, 300'000);
}

TEST(ForeignFiles, OfHostsAloneSayNothingOfDevices)
{
    const std::string tensor = R"("Input Dims":[[4,8]],"Input type":["float"])";
    const sim::Recording recording =
        Written(
            R"("distributedInfo":{"backend":"gloo","rank":0,"world_size":2,"pg_config":[{"pg_name":"0","pg_desc":"default_pg",)"
            R"("pg_size":2,"ranks":[0,1]}]},)")
            .span("user_annotation", "ProfilerStep#1", 100, 1000, 1000)
            .span("user_annotation", "gloo:all_reduce", 101, 1100, 400, tensor)
            .read();
    const sim::Recovered run = sim::recover(recording);
    ASSERT_EQ(run.evidence.ranks.at(0).comms.size(), 1U);
    EXPECT_EQ(run.evidence.ranks[0].comms[0].bytes, 128);
    const sim::RunAnswers answers = sim::answersOf(run);
    EXPECT_TRUE(answers.findings.empty());
    const nlohmann::ordered_json rank = sim::answersJson(run, answers).at("ranks").at(0);
    EXPECT_EQ(rank.at("comm_s"), 400e-6);
    for (const char* unknown : {"computing_s", "exposed_comm_s", "copy_s", "idle_s", "host_bound_s", "overlap"})
        EXPECT_TRUE(rank.at(unknown).is_null()) << unknown;
    EXPECT_THAT(sim::answersText(run, answers), HasSubstr("communicating 40.0 %; no kernels that compute were recorded"));
}

} // namespace
