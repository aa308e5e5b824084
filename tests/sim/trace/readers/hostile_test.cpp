// Files that were made to do harm, or are damaged as if they were: small ones that would take all memory, all time or the stack.
#include "sim/error.h"
#include "sim/trace/cache/check_recording.h"
#include "sim/trace/readers/merge.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace {

using sim::Recording;
using testing::HasSubstr;

Recording readBytes(const std::string& bytes, const std::string& name = "file")
{
    return sim::readRecording(bytes.data(), bytes.size(), name);
}

std::string whyRefused(const std::string& bytes)
{
    try {
        readBytes(bytes);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

std::string repeated(const std::string& text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

std::string events(const std::string& list, const std::string& more = "")
{
    return "{" + more + "\"traceEvents\":[" + list + "]}";
}

/// As deep as a stack of 8 MiB does not hold.
std::string deep()
{
    constexpr std::size_t kDeep = 200'000;
    return std::string(kDeep, '[') + std::string(kDeep, ']');
}

TEST(DeepNesting, OfAnInspectorsLineCostsTheLine)
{
    const std::string good = R"({"header":{"id":"0x1","rank":0,"n_ranks":2},"metadata":{"dump_timestamp_us":1000},)"
                             R"("coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_exec_time_us":5}})";
    const Recording recording = readBytes(good + "\n" + R"({"coll_perf":{},"header":{"id":)" + deep() + "}}\n" + good + "\n");
    EXPECT_EQ(recording.ranks.at(0).collectives.size(), 2U);
    ASSERT_EQ(recording.skipped.size(), 2U);
    EXPECT_THAT(recording.skipped[1].why, HasSubstr("nested more than 64 deep"));
}

TEST(DeepNesting, OfADumpIsRefused)
{
    EXPECT_THAT(whyRefused(R"({"version":"2.1","entries":[],"pg_config":)" + deep() + R"(})"),
                HasSubstr("nested more than 64 deep"));
}

TEST(DeepNesting, OfMetadataLeavesTheEvents)
{
    const std::string event = R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1})";
    for (const std::string key : {"distributedInfo", "deviceProperties"})
        EXPECT_EQ(readBytes(events(event, "\"" + key + "\":" + deep() + ",")).spanCount(), 1U) << key;
}

TEST(InspectorsId, IsATextOrANumber)
{
    for (const auto& [written, name] : {std::pair{"\"0x7\"", "0x7"}, std::pair{"17", "17"}, std::pair{"[1]", "?"}}) {
        const Recording recording = readBytes(
            std::string(R"({"header":{"id":)") + written +
            R"(,"rank":0,"n_ranks":2},"coll_perf":{"coll":"x","event_trace_ts":{"coll_start_ts":1,"coll_stop_ts":2}}})");
        EXPECT_EQ(recording.groups.at(0).name, name);
    }
}

/// Of this process's own time, whatever else the machine does.
double secondsOf(const std::string& bytes)
{
    const std::clock_t begin = std::clock();
    whyRefused(bytes);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Four times as much takes about four times as long, on any machine and in any build; by its square it would be sixteen.
void expectTimeByLength(const std::function<std::string(int)>& bytesOf, int many)
{
    secondsOf(bytesOf(many / 8)); // what only the first costs
    const double quarter = secondsOf(bytesOf(many / 4));
    EXPECT_LT(secondsOf(bytesOf(many)), 8 * quarter + 0.1);
}

TEST(EventsWithoutEnd, CostTimeByTheFilesLength)
{
    for (const char* const begun : {",{\"a\n", ",{\"a\":["})
        expectTimeByLength([&](int many) { return events("{\"ph\":\"X\"}" + repeated(begun, static_cast<std::size_t>(many))); },
                           12'000);
}

TEST(Numbers, OfRanksThatNoJobHasAreNone)
{
    const std::string list =
        R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":1,"dur":1,"args":{)"
        R"("Process Group Name":"1","Process Group Ranks":"[0, 2147483647]"}})";
    const Recording recording = readBytes(events(
        list,
        R"("distributedInfo":{"rank":0,"world_size":2,"pg_config":[{"pg_name":"0","ranks":[0,1,-1,2147483647,9223372036854775807]}]},)"));
    ASSERT_EQ(recording.groups.size(), 2U);
    EXPECT_TRUE(recording.groups[0].ranks.empty()); // of the event
    EXPECT_EQ(recording.groups[1].ranks, (std::vector<int>{0, 1}));
    const std::string named = R"({"ph":"M","name":"process_name","pid":0,"args":{"name":"rank 2147483647"}})";
    EXPECT_EQ(readBytes(events(named + "," + list)).ranks.at(0).rank, -1);
}

TEST(Numbers, OfElementsWhoseProductIsNoneAreNotSaid)
{
    const auto elementsOf = [](const std::string& sizes) {
        return readBytes(R"({"version":"2.1","entries":[{"record_id":0,"profiling_name":"nccl:all_reduce",)"
                         R"("state":"scheduled","input_sizes":)" +
                         sizes + "}]}")
            .ranks.at(0)
            .collectives.at(0)
            .inElements;
    };
    EXPECT_EQ(elementsOf("[[4,8],[2]]"), 34);
    EXPECT_EQ(elementsOf("[[1099511627776,1099511627776]]"), -1);
    EXPECT_EQ(elementsOf("[1099511627776,1099511627776,0]"), -1);
}

TEST(Times, AtTheEndOfAllTimeAreCutOffThereAndMakeARecordingThatIsWhole)
{
    const auto span = [](const std::string& start, const std::string& length, const std::string& more = "") {
        return R"({"ph":"X","pid":1,"tid":1,"name":"a","cat":"kernel","ts":)" + start + R"(,"dur":)" + length + more + "}";
    };
    const std::string frame = R"({"ph":"X","pid":1,"tid":1,"name":"f","cat":"python_function","ts":4e15,"dur":4e15})",
                      pair = R"({"ph":"B","pid":1,"tid":1,"name":"a","ts":-4e15},{"ph":"E","pid":1,"tid":1,"ts":4e15})",
                      counter = R"({"ph":"C","pid":1,"tid":1,"name":"c","ts":4e15,"args":{"x":1}})", usual = span("10", "5");
    for (const std::string& list : {span("4e15", "5"), span("4e15", "4e15"), span("-4e15", "4e15"), pair, frame, counter})
        for (const char* base : {"", R"("baseTimeNanoseconds":4000000000000000000,)", R"("baseTimeNanoseconds":1,)"}) {
            SCOPED_TRACE(list + base);
            const Recording recording = readBytes(events(list + "," + usual, base));
            ASSERT_EQ(recording.ranks.size(), 1U);
            EXPECT_NO_THROW(sim::checkRank(recording.ranks[0], recording));
        }
    const Recording cut = readBytes(events(span("4e15", "5") + "," + usual));
    EXPECT_EQ(cut.ranks[0].lastNs, sim::kMostTraceNs);
    ASSERT_EQ(cut.skipped.size(), 1U);
    EXPECT_EQ(cut.skipped[0].what, "end of a span");
    EXPECT_THAT(cut.skipped[0].why, HasSubstr("126.8 years"));
    EXPECT_NEAR(1e-9 * sim::kMostTraceNs / 86400 / 365.25, 126.8, 0.05);
}

TEST(GroupsOfFewBytes, HaveABudgetOfMembersAndThenASize)
{
    std::string list;
    for (int i = 0; i < 300; ++i)
        list +=
            (i > 0 ? "," : "") +
            std::string(R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":1,"dur":1,"args":{)") +
            R"("Process Group Name":")" + std::to_string(i) +
            R"(","Group size":1048576,"Global rank start":0,"Global rank stride":1}})";
    std::string config;
    for (int i = 0; i < 300; ++i)
        config += (i > 0 ? "," : "") + std::string(R"({"pg_name":"c)") + std::to_string(i) + R"(","pg_size":16000000})";
    const Recording recording =
        readBytes(events(list, R"("distributedInfo":{"rank":0,"world_size":16000000,"pg_config":[)" + config + "]},"));
    ASSERT_EQ(recording.groups.size(), 600U);
    std::size_t members = 0;
    for (const sim::RecordedGroup& group : recording.groups) {
        members += group.ranks.size();
        EXPECT_GE(group.size, 1048576);
    }
    EXPECT_EQ(members, 4U << 20);
    EXPECT_THAT(recording.skipped, testing::Contains(testing::Field(&sim::RecordedSkip::what, "members of a group")));
}

TEST(Pickles, CountTheBytesOfWhatTheyRecall)
{
    std::string bomb = "\x80\x02X";
    const std::size_t length = 1'000'000;
    for (int i = 0; i < 4; ++i)
        bomb += static_cast<char>(length >> (8 * i));
    bomb += std::string(length, 'a') + "q" + '\0' + "0(" + repeated(std::string("h\0", 2), 5000) + "l.";
    EXPECT_THAT(whyRefused(bomb), HasSubstr("more than 128 MiB"));
}

TEST(FilesOfTwoClocks, AreSaidOnce)
{
    const auto at = [](const char* us) {
        return events(std::string(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)") + us + R"(,"dur":1})");
    };
    const std::string epoch = at("1700000000000000"), other = at("1000");
    const std::string begins = ": its times begin at ";
    for (const auto& [first, second] : {std::pair{epoch, other}, std::pair{other, epoch}}) {
        sim::RecordingMerger merger;
        for (const std::string& text : {first, second, second, first})
            merger.add(readBytes(text));
        const sim::Recording all = merger.finish();
        EXPECT_EQ(all.spanCount(), 4U);
        ASSERT_EQ(all.problems.size(), 1U);
        EXPECT_THAT(all.problems[0], HasSubstr(begins + (first == epoch ? "a start of its own" : "1970")));
    }
    sim::RecordingMerger same;
    same.add(readBytes(other));
    same.add(readBytes(other));
    EXPECT_TRUE(same.finish().problems.empty());
}

TEST(MembersOfAGroup, ThatAreNoRanksAreSaid)
{
    const Recording recording = readBytes(
        R"({"traceEvents":[{"name":"k","cat":"kernel","ph":"X","ts":1.0,"dur":1.0,"pid":0,"tid":7}],)"
        R"("distributedInfo":{"rank":0,"world_size":2,"pg_config":[{"pg_name":"7","ranks":[0,1,-1,99999999,"a",1.5,null]}]}})");
    ASSERT_EQ(recording.groups.size(), 1U);
    EXPECT_EQ(recording.groups[0].ranks, (std::vector<int>{0, 1}));
    ASSERT_EQ(recording.skipped.size(), 1U);
    EXPECT_EQ(recording.skipped[0].count, 5U);
    EXPECT_THAT(recording.skipped[0].why, HasSubstr("the first is -1, of group \"7\""));
}

TEST(FilesWithGroupsOfTheirOwn, CostWhatTheyHoldHoweverManyWereBefore)
{
    const auto secondsOf = [](int files) {
        double best = 1e9;
        for (int round = 0; round < 3; ++round) {
            sim::RecordingMerger merger;
            const std::clock_t begin = std::clock();
            for (int file = 0; file < files; ++file) {
                sim::Recording recording;
                recording.files.push_back(
                    {.path = "f", .format = "", .bytes = 0, .textBytes = 0, .events = 1, .isComplete = true});
                for (int group = 0; group < 8; ++group) {
                    sim::RecordedGroup& made = recording.groups.emplace_back();
                    made.name = std::to_string(8 * file + group);
                    made.ranks = {file, file + 1};
                    made.toldBy = {file};
                }
                merger.add(std::move(recording));
            }
            EXPECT_EQ(merger.finish().groups.size(), 8U * static_cast<std::size_t>(files));
            best = std::min(best, static_cast<double>(std::clock() - begin));
        }
        return best;
    };
    EXPECT_LT(secondsOf(3200), 10 * secondsOf(800)); // four times as many: it was sixteen times as long
}

std::string span(const std::string& category, const std::string& name, const std::string& pid, const std::string& us,
                 const std::string& arguments = "")
{
    return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":)" + pid + R"(,"tid":)" + us + R"(,"ts":)" +
           us + R"(,"dur":1,"args":{)" + arguments + "}}";
}

TEST(ManyOfOneSort, CostTimeByTheirNumber)
{
    const auto renamed = [](const std::string& at) {
        return R"(,{"ph":"M","name":"process_name","pid":)" + at + R"(,"args":{"name":"rank )" + at + R"("}})";
    };
    using One = std::function<std::string(const std::string&)>;
    const std::vector<One> sorts = {
        [](const std::string&) { // calls of one external id
            return span("kernel", "ncclDevKernel_AllReduce", "0", "7", R"("External id":5)") + "," +
                   span("cpu_op", "record_param_comms", "0", "8", R"("External id":5,"Collective name":"x")");
        },
        [](const std::string& at) { // rows
            return span("cuda_runtime", "launch", "0", at, "\"correlation\":" + at) + "," +
                   span("kernel", "ncclDevKernel_AllReduce", "1", at, "\"correlation\":" + at);
        },
        [&](const std::string& at) { return span("user_annotation", "ProfilerStep#" + at, at, at) + renamed(at); },
        [&](const std::string& at) { // counters
            return span("kernel", "k", at, at) + R"(,{"ph":"C","name":"c","pid":)" + at + R"(,"tid":)" + at +
                   R"(,"ts":1,"args":{"v":1}})" + renamed(at);
        },
    };
    for (const One& one : sorts)
        expectTimeByLength(
            [&](int many) {
                std::string list;
                for (int i = 1; i <= many; ++i)
                    list += (i > 1 ? "," : "") + one(std::to_string(i));
                return events(list);
            },
            20'000);
}

TEST(CallsOfOneExternalId, TellAllItsKernels)
{
    const std::string list =
        span("kernel", "ncclDevKernel_AllReduce", "0", "7", R"("External id":5)") + "," +
        span("cpu_op", "record_param_comms", "0", "8", R"("External id":5,"Collective name":"first","dtype":"Float")") + "," +
        span("cpu_op", "record_param_comms", "0", "9", R"("External id":5,"Collective name":"second","In msg nelems":4)") + "," +
        span("cpu_op", "record_param_comms", "0", "9", R"("External id":5,"Collective name":"third","In msg nelems":8)") + "," +
        span("kernel", "ncclDevKernel_AllReduce", "0", "7", R"("External id":5)");
    const Recording recording = readBytes(events(list));
    ASSERT_EQ(recording.ranks.at(0).collectives.size(), 2U);
    for (const sim::RecordedCollective& collective : recording.ranks[0].collectives) {
        EXPECT_EQ(recording.names[collective.name], "second"); // the last that tells before one says how much
        EXPECT_EQ(recording.names[collective.dtype], "Float");
        EXPECT_EQ(collective.inElements, 4);
    }
}

TEST(StepsOfProcesses, AreTheirOwn)
{
    std::string list;
    for (const char* pid : {"1", "2"})
        list += std::string(R"({"ph":"M","name":"process_name","pid":)") + pid + R"(,"args":{"name":"rank )" + pid + R"("}},)" +
                span("user_annotation", "ProfilerStep#1", pid, pid) + "," + span("user_annotation", "ProfilerStep#1", pid, "9") +
                ",";
    list.pop_back();
    const Recording recording = readBytes(events(list));
    ASSERT_EQ(recording.ranks.size(), 2U);
    for (std::size_t rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(recording.ranks[rank].steps.size(), 1U);
        EXPECT_EQ(recording.ranks[rank].steps[0].startNs, static_cast<std::int64_t>(rank + 1) * 1000);
        EXPECT_EQ(recording.ranks[rank].steps[0].endNs, 10'000);
    }
}

} // namespace
