// Kineto and Chrome JSON: what others counted in real files, and what becomes of files that are damaged.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

namespace {

using nlohmann::json;
using sim::Recording;
using testing::HasSubstr;

const std::filesystem::path kKinetoData = std::filesystem::path(RANKSCOPE_TEST_DATA) / "kineto";

Recording readText(const std::string& text, const sim::ReadOptions& options = {})
{
    return sim::readRecording(text.data(), text.size(), "trace.json", options);
}

std::string document(const std::string& events, const std::string& more = "")
{
    return R"({"schemaVersion":1,)" + more + R"("traceEvents":[)" + events + "]}";
}

std::string kernel(const std::string& name, const std::string& ts, const std::string& dur)
{
    return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","pid":0,"tid":7,"ts":)" + ts + R"(,"dur":)" + dur +
           R"(,"args":{"device":0,"stream":7,"correlation":5}})";
}

std::size_t damagedEvents(const Recording& recording)
{
    std::size_t count = 0;
    for (const sim::RecordedSkip& skip : recording.skipped)
        count += skip.what == "damaged event" ? skip.count : 0;
    return count;
}

TEST(ChromeReader, RanksOfOneFileCountTheirIdsEachByItself)
{
    std::string events;
    for (const char* rank : {"0", "1"}) {
        const std::string pid = rank, elements = pid == "0" ? "100" : "700";
        events += (events.empty() ? "" : ",") +
                  (R"({"ph":"M","name":"process_name","pid":)" + pid + R"(,"args":{"name":"rank )" + pid + R"("}},)") +
                  R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":)" + pid +
                  R"(,"tid":1,"ts":10,"dur":2,"args":{"correlation":5,"External id":9}},)"
                  R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":)" +
                  pid + R"(,"tid":1,"ts":9,"dur":4,"args":{"External id":9,"Collective name":"allreduce","In msg nelems":)" +
                  elements + R"(,"Out msg nelems":)" + elements +
                  R"(,"dtype":"Float"}},)"
                  R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":)" +
                  pid + R"(,"tid":7,"ts":20,"dur":5,"args":{"stream":7,"device":)" + pid +
                  R"(,"correlation":5,"External id":9}})";
    }
    const Recording recording = readText(document(events));
    ASSERT_EQ(recording.ranks.size(), 2U);
    for (const sim::RankRecording& rank : recording.ranks) {
        SCOPED_TRACE(rank.rank);
        EXPECT_EQ(rank.links.size(), 1U);
        ASSERT_EQ(rank.collectives.size(), 1U);
        EXPECT_EQ(rank.collectives[0].inElements, rank.rank == 0 ? 100 : 700);
    }
}

TEST(KinetoReader, CallsOfALibraryOnTheHostAreCollectives)
{
    const std::string call = R"({"ph":"X","cat":"user_annotation","name":"gloo:%","pid":1,"tid":2,"ts":10,"dur":5,)"
                             R"("args":{"Input type":["float","c10::BFloat16"],"Input Dims":[[4,8],[2]]}})";
    const auto named = [&](const std::string& what) { return std::string(call).replace(call.find('%'), 1, what); };
    const auto groups = [](const std::string& more) {
        return R"("distributedInfo":{"backend":"gloo","rank":0,"world_size":4,"pg_config":[{"pg_name":"0","pg_desc":"default_pg",)"
               R"("pg_size":4,"ranks":[0,1,2,3]})" +
               more + "]},";
    };
    const std::string events = named("all_reduce") + "," + named("send");
    const auto groupsOf = [&](const std::string& more) {
        const Recording recording = readText(document(events, groups(more)));
        std::vector<std::string> of;
        for (const sim::RecordedCollective& collective : recording.ranks.at(0).collectives) {
            EXPECT_EQ(collective.inElements, 34);
            EXPECT_EQ(recording.names[collective.dtype], "float");
            of.push_back(collective.group < 0 ? "?" : recording.groups[static_cast<std::size_t>(collective.group)].name);
        }
        return of;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(groupsOf(""), (Names{"0", "0"}));
    // A group of one may sum, but has nobody to send to; of two groups nothing tells which it was.
    EXPECT_EQ(groupsOf(R"(,{"pg_name":"1","pg_desc":"mesh_dp","pg_size":1,"ranks":[0]})"), (Names{"?", "0"}));
    EXPECT_EQ(groupsOf(R"(,{"pg_name":"1","pg_desc":"mesh_dp","pg_size":2,"ranks":[0,1]})"), (Names{"?", "?"}));
    // Where others tell of collectives these are calls within them.
    const std::string told = R"(,{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":2,"ts":9,"dur":7,)"
                             R"("args":{"Collective name":"allreduce","In msg nelems":34,"dtype":"Float"}})";
    EXPECT_EQ(readText(document(events + told, groups(""))).ranks.at(0).collectives.size(), 1U);
}

TEST(KinetoReader, CallsOfALibraryOnTheHostTellHowLongWhatWasAskedForTook)
{
    std::string events;
    for (int step = 0; step < 3; ++step)
        events +=
            std::string(step == 0 ? "" : ",") + R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":2,"ts":)" +
            std::to_string(10000 * step + 9) +
            R"(,"dur":20,"args":{"Collective name":"allreduce","In msg nelems":34,"dtype":"Float","Process Group Name":"0",)" +
            R"("Group size":2,"Process Group Ranks":"[0, 1]"}},{"ph":"X","cat":"user_annotation","name":"gloo:all_reduce",)" +
            R"("pid":1,"tid":3,"ts":)" + std::to_string(10000 * step + 40) + R"(,"dur":3000})";
    const Recording recording = readText(document(events));
    const auto& collectives = recording.ranks.at(0).collectives;
    ASSERT_EQ(collectives.size(), 3U);
    for (const sim::RecordedCollective& collective : collectives) {
        EXPECT_EQ(collective.durationNs, 3'000'000);
        EXPECT_EQ(collective.inElements, 34);
        EXPECT_EQ(recording.groups.at(static_cast<std::size_t>(collective.group)).ranks, (std::vector<int>{0, 1}));
    }
}

TEST(KinetoReader, ATextThatBeginsWithAnEmptyLineIsNoPerfettoTrace)
{
    try {
        readText("\n\nimport torch\n");
        ADD_FAILURE() << "was read";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("is no trace that is known"));
    }
}

TEST(KinetoReader, RequestsOfMtiaAreKernelsCopiesAndWaits)
{
    // Names and arguments as MTIA's profiler writes them (HolisticTraceAnalysis, tests/data/mtia_inference_trace).
    const auto request = [](const char* name, int ts, const char* more) {
        return R"({"ph":"X","cat":"mtia_ccp_events","name":")" + std::string(name) + R"(","pid":17,"tid":3774,"ts":)" +
               std::to_string(ts) + R"(,"dur":10,"args":{"stream":108)" + more + "}}";
    };
    const Recording recording = readText(document(
        R"({"ph":"X","cat":"mtia_runtime","name":"enqueueCommand memcpyHtoDAsync","pid":8,"tid":9,"ts":1,"dur":2,"args":{"correlation":5}},)" +
            request("dma_request", 10, R"(,"correlation":5,"direction":"HOST_TO_DEVICE","size":16)") + "," +
            request("event_wait", 20, R"(,"wait_on_stream":104)") + "," + request("pe_exe", 30, R"(,"column":"0")") + "," +
            request("event_record", 40, ""),
        ""));
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(sim::kernelCount(rank), 1U);
    EXPECT_EQ(sim::busyNs(rank), 20'000); // waiting is no work
    EXPECT_EQ(rank.links.size(), 1U);
    ASSERT_EQ(rank.tracks.size(), 2U);
    EXPECT_TRUE(rank.tracks[1].isDevice);
}

TEST(KinetoReader, ADeviceThatIsCountedOtherwiseHasTheNameThatAllHave)
{
    const auto named = [](const char* second) {
        const std::string list =
            R"("deviceProperties":[{"id":0,"name":"AMD Instinct MI300X"},{"id":1,"name":")" + std::string(second) + R"("}],)";
        const std::string event =
            R"({"ph":"X","cat":"kernel","name":"gemm","pid":9,"tid":0,"ts":1,"dur":1,"args":{"device":9,"stream":0}})";
        return readText(document(event, list)).ranks.at(0).deviceName;
    };
    EXPECT_EQ(named("AMD Instinct MI300X"), "AMD Instinct MI300X");
    EXPECT_EQ(named("AMD Radeon"), "");
}

TEST(KinetoReader, CountsWhatOthersCountInRealFiles)
{
    std::ifstream file(kKinetoData / "counts.json");
    const json counts = json::parse(file);
    for (const auto& [name, want] : counts.items()) {
        SCOPED_TRACE(name);
        const Recording recording = sim::readRecording({kKinetoData / name});
        ASSERT_EQ(recording.ranks.size(), 1U);
        const sim::RankRecording& rank = recording.ranks.front();
        EXPECT_EQ(recording.events(), want.at("events").get<std::size_t>());
        EXPECT_EQ(sim::kernelCount(rank), want.at("kernels").get<std::size_t>());
        EXPECT_EQ(sim::communicationCount(rank), want.at("collectives").get<std::size_t>());
        EXPECT_EQ(sim::busyNs(rank), want.at("busy_ns").get<std::int64_t>());
        EXPECT_EQ(rank.firstNs, want.at("first_ns").get<std::int64_t>());
        EXPECT_EQ(rank.lastNs, want.at("last_ns").get<std::int64_t>());
        EXPECT_EQ(rank.rank, want.at("rank").is_null() ? -1 : want.at("rank").get<int>());
        EXPECT_EQ(recording.worldSize, want.at("world_size").is_null() ? 0 : want.at("world_size").get<int>());
        EXPECT_EQ(recording.groups.size(), want.at("groups").get<std::size_t>());
        std::vector<std::int64_t> steps;
        for (const sim::RecordedStep& step : rank.steps)
            steps.push_back(step.number);
        EXPECT_EQ(steps, want.at("steps").get<std::vector<std::int64_t>>());
        EXPECT_EQ(damagedEvents(recording), 0U);
        EXPECT_TRUE(recording.problems.empty());
        EXPECT_TRUE(recording.isEpoch);
    }
}

TEST(KinetoReader, SpansOfEachRowLieTogetherInOrder)
{
    const Recording recording = sim::readRecording({kKinetoData / "nccl_data.json.gz"});
    const sim::RankRecording& rank = recording.ranks.front();
    std::uint32_t expected = 0;
    for (const sim::RecordedTrack& track : rank.tracks) {
        EXPECT_EQ(track.first, expected);
        expected = track.last;
        EXPECT_TRUE(std::is_sorted(rank.spans.startNs.begin() + track.first, rank.spans.startNs.begin() + track.last));
    }
    EXPECT_EQ(expected, rank.spans.size());
}

TEST(KinetoReader, CollectivesSayTheirGroupAndSize)
{
    const Recording recording = sim::readRecording({kKinetoData / "nccl_data.json.gz"});
    const sim::RankRecording& rank = recording.ranks.front();
    std::size_t onDevice = 0;
    std::map<std::string, int> names;
    for (const sim::RecordedCollective& collective : rank.collectives) {
        if (collective.span == sim::kNoSpan)
            continue;
        ++onDevice;
        ++names[recording.names[collective.name] + " " + recording.names[collective.dtype]];
        EXPECT_GT(collective.inElements, 0);
        EXPECT_NE(collective.hostSpan, sim::kNoSpan);
        EXPECT_EQ(collective.startNs, rank.spans.startNs[collective.span]);
        ASSERT_EQ(collective.group, 0);
    }
    EXPECT_EQ(onDevice, 21U);
    EXPECT_EQ(names, (std::map<std::string, int>{{"allreduce Float", 15}, {"broadcast Float", 3}, {"broadcast Long", 3}}));
    EXPECT_EQ(recording.groups[0].ranks, (std::vector<int>{0, 1}));
    EXPECT_EQ(recording.groups[0].description, "default_pg");
    EXPECT_EQ(recording.groups[0].evidence, "distributedInfo");
}

TEST(KinetoReader, LaunchesComeBeforeWhatTheyLaunch)
{
    const Recording recording = sim::readRecording({kKinetoData / "nccl_data.json.gz"});
    const sim::RankRecording& rank = recording.ranks.front();
    std::size_t launched = 0;
    for (const sim::RecordedLink& link : rank.links)
        if (link.kind == sim::RecordedLink::Kind::launch) {
            ++launched;
            EXPECT_EQ(rank.spans.kind[link.from], sim::RecordedKind::runtime);
            EXPECT_TRUE(sim::isDeviceWork(rank.spans.kind[link.to]));
            EXPECT_LE(rank.spans.startNs[link.from], rank.spans.startNs[link.to] + 1000); // CUPTI's own error
        }
    EXPECT_GT(launched, 2000U);
}

TEST(KinetoReader, NamesOldCollectivesByTheAnnotationAroundTheirLaunch)
{
    const Recording recording = sim::readRecording({kKinetoData / "worker0_step_12.1694128201545.pt.trace.json.gz"});
    std::map<std::string, int> names;
    for (const sim::RecordedCollective& collective : recording.ranks.front().collectives)
        if (collective.span != sim::kNoSpan)
            ++names[recording.names[collective.name]];
    EXPECT_EQ(names, (std::map<std::string, int>{{"all_reduce", 3}, {"all_to_all", 5}}));
}

TEST(KinetoReader, ReadsTheSameThroughAWindowOfAnySize)
{
    const auto file = kKinetoData / "mi250_minitoy_train_ROCm6_2_kineto.json.gz";
    const Recording whole = sim::readRecording({file});
    for (const std::size_t window : {64U, 1000U, 4096U}) {
        const Recording recording = sim::readRecording({file}, {.windowBytes = window});
        EXPECT_EQ(recording.events(), whole.events());
        EXPECT_EQ(recording.ranks[0].spans.startNs, whole.ranks[0].spans.startNs);
        EXPECT_EQ(recording.ranks[0].spans.name, whole.ranks[0].spans.name);
    }
}

TEST(KinetoReader, FilesOfOneRunAreTheSameForAnyNumberOfThreads)
{
    const Recording one = sim::readRecording({kKinetoData}, {.threads = 1}),
                    four = sim::readRecording({kKinetoData}, {.threads = 4});
    ASSERT_EQ(one.ranks.size(), four.ranks.size());
    for (std::size_t rank = 0; rank < one.ranks.size(); ++rank) {
        EXPECT_EQ(one.ranks[rank].rank, four.ranks[rank].rank);
        EXPECT_EQ(one.ranks[rank].spans.name, four.ranks[rank].spans.name);
    }
    ASSERT_FALSE(one.skipped.empty());
    EXPECT_EQ(one.skipped.back().what, "file"); // what lies beside them and is no trace
}

TEST(FolderOfSeveralJobs, OpensTheLargestRunAndNamesTheOthersWithTheirReason)
{
    const Recording recording = sim::readRecording({kKinetoData});
    ASSERT_EQ(recording.files.size(), 2U); // the two of the world of 8
    EXPECT_EQ(recording.worldSize, 8);
    ASSERT_EQ(recording.ranks.size(), 2U);
    EXPECT_EQ(recording.ranks[0].rank, 0);
    EXPECT_EQ(recording.ranks[1].rank, 7);
    ASSERT_FALSE(recording.problems.empty());
    const std::string& said = recording.problems.front();
    EXPECT_THAT(said, HasSubstr("these files are not of one run: 2 files"));
    EXPECT_THAT(said, HasSubstr("nccl_data.json.gz (of a world of 2 ranks, not 8"));
    EXPECT_THAT(said, HasSubstr("sampled_rank-0.json.gz"));
    EXPECT_THAT(said, HasSubstr("mi250_minitoy_train"));
    EXPECT_EQ(recording.otherRuns.size(), 4U);

    // Files of equal names are told apart by their folders.
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / ("rankscope-runs-" + std::to_string(::getpid()));
    for (const char* const day : {"monday", "tuesday"}) {
        fs::create_directories(folder / day);
        std::ofstream(folder / day / "rank0.json")
            << document(kernel("a", "1", "1"),
                        std::string(R"("distributedInfo":{"rank":0,"world_size":)") + (day[0] == 'm' ? "8" : "4") + "},");
    }
    const Recording days = sim::readRecording({folder / "monday", folder / "tuesday"});
    fs::remove_all(folder);
    EXPECT_THAT(days.problems.front(), HasSubstr("(monday/rank0.json) is opened. Left out, to be opened by themselves: "
                                                 "tuesday/rank0.json (of a world of 4 ranks, not 8)"));
}

TEST(ChromeReader, TimesAreExactToTheNanosecondAtAnyDistance)
{
    EXPECT_EQ(sim::microsecondsAsNs("1716423322388068.751"), 1716423322388068751);
    EXPECT_EQ(sim::microsecondsAsNs("4458677009853.4225"), 4458677009853423);
    EXPECT_EQ(sim::microsecondsAsNs("-0.001"), -1);
    EXPECT_EQ(sim::microsecondsAsNs("1.5e3"), 1'500'000);
    EXPECT_EQ(sim::microsecondsAsNs("1.6941282e15"), 1'694'128'200'000'000'000);
    EXPECT_EQ(sim::microsecondsAsNs("15e-1"), 1500);
    EXPECT_EQ(sim::microsecondsAsNs("\"12.5\""), 12500);
    EXPECT_EQ(sim::microsecondsAsNs("5e-9"), 0);
    for (const char* bad : {"", "x", "1.2.3", "1e", "1e400", "9999999999999999999", "--1", "0x10", "null"})
        EXPECT_EQ(sim::microsecondsAsNs(bad), std::nullopt) << bad;
}

TEST(ChromeReader, ReadsKeysInAnyOrderAndMetadataBehindTheEvents)
{
    const Recording recording = readText(
        R"({"traceEvents":[{"args":{"correlation":5,"device":1,"x":{"y":[1,{"z":"}"}]}},"dur":2.5,"name":"k","tid":7,"ts":1,"pid":1,"cat":"kernel","ph":"X"}],)"
        R"("distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg_config":[{"pg_name":"0","pg_desc":"mesh_tp","ranks":"[2, 3]","pg_size":2}]},)"
        R"("baseTimeNanoseconds":1000000000000000000})");
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(rank.rank, 3);
    EXPECT_EQ(rank.rankEvidence, "distributedInfo");
    EXPECT_EQ(rank.device, 1);
    EXPECT_EQ(rank.spans.startNs[0], 1000000000000001000);
    EXPECT_EQ(rank.spans.durationNs[0], 2500);
    EXPECT_EQ(recording.groups.at(0).ranks, (std::vector<int>{2, 3}));
    EXPECT_EQ(recording.groups.at(0).description, "mesh_tp");
}

TEST(ChromeReader, RebuildsRanksThatTheArgumentsCut)
{
    const Recording recording = readText(document(
        R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllGather_RING_LL","pid":0,"tid":9,"ts":1,"dur":1,"args":{"Collective name":"_allgather_base","dtype":"BFloat16","In msg nelems":4,"Out msg nelems":160,"Group size":40,"Process Group Name":"12","Process Group Ranks":"[3, 11, ..., 315]","Global rank start":3,"Global rank stride":8,"Seq":17}})"));
    ASSERT_EQ(recording.groups.size(), 1U);
    EXPECT_EQ(recording.groups[0].ranks.size(), 40U);
    EXPECT_EQ(recording.groups[0].ranks.back(), 3 + 39 * 8);
    EXPECT_EQ(recording.ranks[0].collectives.at(0).sequence, 17);
    EXPECT_EQ(sim::elementBytes("BFloat16"), 2);
}

TEST(ChromeReader, CallsThatNameTheirGroupAndNoMembersAreOfTheOneThatTheFileLists)
{
    const auto call = [](const char* group, int size) {
        return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_Generic","pid":0,"tid":9,"ts":1,"dur":1,"args":{"Collective name":"allreduce","Process Group Name":")" +
               std::string(group) + R"(","Group size":)" + std::to_string(size) + "}}";
    };
    // Siblings of one name, as older versions of torch make them; one that is listed with another size; one that is not listed.
    const Recording recording = readText(
        R"({"traceEvents":[)" + call("7", 2) + "," + call("8", 4) + "," + call("9", 2) +
        R"(],"distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg_config":[{"pg_name":"7","pg_desc":"a","ranks":[0,1],"pg_size":2},)"
        R"({"pg_name":"7","pg_desc":"undefined","ranks":[2,3],"pg_size":2},{"pg_name":"8","pg_desc":"undefined","ranks":[2,3],"pg_size":2}]}})");
    const auto groupOf = [&](std::size_t at) -> const sim::RecordedGroup& {
        return recording.groups.at(static_cast<std::size_t>(recording.ranks.at(0).collectives.at(at).group));
    };
    EXPECT_EQ(groupOf(0).name, "7");
    EXPECT_EQ(groupOf(0).ranks, (std::vector<int>{2, 3}));
    EXPECT_EQ(groupOf(1).name, "8");
    EXPECT_TRUE(groupOf(1).ranks.empty()) << "four are not these two";
    EXPECT_EQ(groupOf(2).name, "9");
    EXPECT_EQ(recording.groups.size(), 5U);
}

TEST(ChromeReader, OneDamagedEventCostsOneEvent)
{
    const std::string good = kernel("good", "1", "1"), last = kernel("last", "9", "1");
    struct Case {
        const char* what;
        std::string event;
        bool isKept;
    };
    const Case cases[] = {
        {"raw control characters", kernel("a\x01\n\tb", "2", "1"), true},
        {"bytes that are no UTF-8", kernel("a\xff\xc3", "2", "1"), true},
        {"quotes that nobody escaped", kernel("void f<\"x\">()", "2", "1"), true},
        {"no time", R"({"ph":"X","name":"a","pid":0,"tid":1,"dur":1})", false},
        {"a time that is none", kernel("a", "\"noon\"", "1"), false},
        {"a negative length", kernel("a", "2", "-5"), false},
        {"a time beyond all", kernel("a", "1e30", "1"), false},
        {"no phase", R"({"name":"a"})", false},
        {"a missing value", R"({"ph":"X","name":,"ts":1})", false},
        {"a missing comma", R"({"ph":"X" "name":"a"})", false},
        {"a word", "garbage", false},
        {"an end without a beginning", R"({"ph":"E","pid":0,"tid":1,"ts":1})", false},
        {"an event inside an event", R"({"ph":"X","name":"half",)", false},
        {"a list that never ends", R"({"ph":"X","name":"a","args":{"x":[1,2},"ts":1})", false},
    };
    for (const Case& one : cases) {
        SCOPED_TRACE(one.what);
        const Recording recording = readText(document(good + ",\n" + one.event + ",\n" + last));
        const auto& names = recording.names;
        EXPECT_NE(names.find("good"), sim::kNoSpan);
        EXPECT_NE(names.find("last"), sim::kNoSpan);
        EXPECT_EQ(recording.spanCount(), one.isKept ? 3U : 2U);
        EXPECT_EQ(damagedEvents(recording), one.isKept ? 0U : 1U);
        if (!one.isKept) {
            EXPECT_EQ(recording.skipped.at(0).firstByte, static_cast<std::int64_t>(document(good + ",\n").size()) - 2);
        }
    }
}

TEST(ChromeReader, SaysOfAnExecutionTraceThatItHoldsNoTimes)
{
    for (const char* text :
         {R"({"schema":"1.1.1-chakra.0.0.4","pid":9,"time":"2026-11-28","start_ts":4,"nodes":[{"id":2,"name":"aten::mm"}]})",
          R"({"workload_graph":[{"Id":216,"Name":"aten::mm","NodeType":4,"ctrlDeps":[3],"runtime":318}]})"})
        try {
            readText(text);
            ADD_FAILURE() << "was read";
        } catch (const sim::Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("is an execution trace (Chakra)"));
        }
}

TEST(ChromeReader, ATextThatEndsAnywhereKeepsWhatWasBefore)
{
    const std::string whole = document(kernel("a", "1", "1") + "," + kernel("b", "2", "1") + "," + kernel("c", "3", "1"),
                                       R"("distributedInfo":{"rank":5,"world_size":8},)");
    const std::size_t first = whole.find(R"({"ph")");
    for (std::size_t size = first; size < whole.size(); ++size) {
        const Recording recording = readText(whole.substr(0, size));
        ASSERT_FALSE(recording.files.at(0).isComplete) << size;
        ASSERT_THAT(recording.problems, testing::Contains(HasSubstr("ends too early, at byte " + std::to_string(size))));
        ASSERT_EQ(recording.ranks.at(0).rank, 5);
    }
    EXPECT_EQ(readText(whole.substr(0, whole.size() - 2)).spanCount(), 3U);
    EXPECT_TRUE(readText(whole).files.at(0).isComplete);
}

TEST(ChromeReader, WhatFollowsTheDocumentIsSaidToBeLeftOut)
{
    const std::string one = document(kernel("a", "1", "2")), two = document(kernel("b", "5", "2"));
    for (const auto& [rest, said] :
         {std::pair{two, "where another begins"}, std::pair{std::string("done."), "what is none follows"}}) {
        const Recording recording = readText(one + "\n" + rest + "\n");
        EXPECT_EQ(recording.events(), 1U);
        EXPECT_FALSE(recording.files.at(0).isComplete);
        ASSERT_EQ(recording.problems.size(), 1U);
        EXPECT_THAT(recording.problems[0], HasSubstr("ends before byte " + std::to_string(one.size() + 1)));
        EXPECT_THAT(recording.problems[0], HasSubstr(said));
        EXPECT_THAT(recording.problems[0], HasSubstr(" bytes are left out"));
    }
    for (const std::string& rest : {std::string("\r\n \t\n"), std::string("]}\n"), std::string(4096, '\0')}) {
        const Recording recording = readText(one + rest);
        EXPECT_TRUE(recording.files.at(0).isComplete);
        EXPECT_TRUE(recording.problems.empty());
    }
}

TEST(ChromeReader, ADamagedStretchIsSaidWithItsBytesAndAboutHowManyEventsItHeld)
{
    std::string events;
    for (int i = 0; i < 200; ++i)
        events += (i > 0 ? "," : "") + kernel("kernel " + std::to_string(i), std::to_string(10 * i), "2");
    const std::size_t each = events.size() / 200;
    for (const std::size_t first : {std::size_t{3000}, document(events).rfind(R"({"ph")", 3000)}) {
        std::string text = document(events);
        std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(first), 20 * each, '\0');
        const Recording recording = readText(text);
        const auto skip = std::find_if(recording.skipped.begin(), recording.skipped.end(),
                                       [](const sim::RecordedSkip& of) { return of.what == "damaged event"; });
        ASSERT_NE(skip, recording.skipped.end());
        EXPECT_THAT(skip->why, testing::ContainsRegex(" bytes are passed over in all, about 2[01] events"));
        EXPECT_NEAR(static_cast<double>(recording.events()), 179, 1);
        EXPECT_TRUE(recording.files.at(0).isComplete);
    }
}

TEST(ChromeReader, ADamagedGzipKeepsWhatWasBefore)
{
    std::ifstream file(kKinetoData / "sampled_rank-0.json.gz", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const std::size_t half = bytes.size() / 2;
    const Recording cut = sim::readRecording(bytes.data(), half, "half.json.gz");
    EXPECT_FALSE(cut.files.at(0).isComplete);
    EXPECT_GT(cut.events(), 1000U);
    EXPECT_LT(cut.events(), 4855U);
    EXPECT_THAT(cut.problems.at(0), HasSubstr("gzip stream ends too early after "));
    for (std::size_t i = half; i < half + 64; ++i)
        bytes[i] = static_cast<char>(~bytes[i]);
    const Recording damaged = sim::readRecording(bytes.data(), bytes.size(), "damaged.json.gz");
    EXPECT_FALSE(damaged.problems.empty());
    EXPECT_GT(damaged.events(), 1000U);
}

TEST(ChromeReader, NoBytesChangedAnywhereBreakIt)
{
    const std::string whole = document(kernel("a", "1", "1") + "," + kernel("b", "2", "1") + "," + kernel("c", "3", "1"));
    std::mt19937 random(1);
    for (int round = 0; round < 3000; ++round) {
        std::string text = whole;
        for (int change = 0; change < 1 + round % 3; ++change)
            text[random() % text.size()] = static_cast<char>(R"({}[]",:\0e-x)"[random() % 12]);
        try {
            const Recording recording = readText(text, {.windowBytes = 64});
            EXPECT_LE(recording.spanCount(), 6U);
        } catch (const sim::Error&) { // no trace any more
        }
    }
}

TEST(ChromeReader, PairsBeginningsAndEndsAndLeavesOutWhatHasNoLength)
{
    const Recording recording =
        readText(R"([{"ph":"B","name":"outer","pid":1,"tid":1,"ts":0},{"ph":"B","name":"inner","pid":1,"tid":1,"ts":1},
        {"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":10},{"ph":"i","name":"mark","pid":1,"tid":1,"ts":4,"s":"t"},
        {"ph":"B","name":"open","pid":1,"tid":1,"ts":5},{"ph":"C","name":"memory","pid":1,"ts":1,"args":{"bytes":7}}])");
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(rank.spans.durationNs, (std::vector<std::int64_t>{10'000, 2'000, 5'000}));
    EXPECT_THAT(recording.problems, testing::Contains(HasSubstr("1 spans begin and never end")));
    EXPECT_EQ(rank.counters.at(0).value, (std::vector<double>{7}));
    EXPECT_EQ(recording.files.at(0).format, "Chrome");
    EXPECT_FALSE(recording.isEpoch);
}

TEST(ChromeReader, FramesOfPythonAreCountedAndKeptOnlyWhenAsked)
{
    const std::string text =
        document(R"({"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":1,"dur":5},)" + kernel("k", "2", "1"));
    const Recording without = readText(text);
    EXPECT_EQ(without.spanCount(), 1U);
    EXPECT_EQ(without.events(), 2U);
    EXPECT_EQ(without.skipped.at(0).what, "python_function");
    EXPECT_EQ(without.ranks[0].firstNs, 1000);
    EXPECT_EQ(readText(text, {.pythonFunctions = true}).spanCount(), 2U);
}

TEST(ChromeReader, RefusesWhatIsNoTrace)
{
    for (const char* text : {"", "hello", "{}", "{\"a\":1}", "<html>",
                             "\x7f"
                             "ELF"})
        EXPECT_THROW(readText(text), sim::Error) << text;
    EXPECT_THROW(sim::readRecording({std::filesystem::path("/nowhere/at/all")}), sim::Error);
    EXPECT_THROW(sim::readRecording({std::filesystem::path(RANKSCOPE_TEST_DATA) / "kineto" / "SOURCES.md"}), sim::Error);
}

TEST(ChromeReader, CanBeCancelled)
{
    std::atomic<bool> flag = true;
    const sim::CancelScope scope(flag);
    EXPECT_THROW(sim::readRecording({kKinetoData / "nccl_data.json.gz"}), sim::Cancelled);
}

TEST(ChromeReader, SaysHowFarItIs)
{
    sim::ReadProgress last;
    int calls = 0;
    sim::readRecording({kKinetoData / "nccl_data.json.gz"},
                       {.windowBytes = 1 << 20, .progress = [&](const sim::ReadProgress& progress) {
                            EXPECT_GE(progress.bytesDone, last.bytesDone);
                            last = progress;
                            ++calls;
                        }});
    EXPECT_GT(calls, 4);
    EXPECT_EQ(last.bytesDone, last.bytes);
    EXPECT_EQ(last.filesDone, 1U);
}

} // namespace
