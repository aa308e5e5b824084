// Recordings of others, written again in either format: ranks, kernels, collectives, groups and steps are those of the original.
#include "sim/trace/export.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/recorded_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

namespace {

sim::Recording writtenAgain(const sim::Recording& recording, bool isPerfetto)
{
    std::ostringstream out;
    const sim::Trace trace = sim::traceToWrite(recording);
    isPerfetto ? sim::writePerfetto(trace, out) : sim::writeChromeJson(trace, out);
    const std::string bytes = out.str();
    return sim::readRecording(bytes.data(), bytes.size(), isPerfetto ? "o.pftrace" : "o.json");
}

void expectSameRecording(const sim::Recording& again, const sim::Recording& recording)
{
    EXPECT_EQ(again.worldSize, recording.worldSize);
    EXPECT_EQ(again.isEpoch, recording.isEpoch);
    EXPECT_EQ(again.isOfOneClock(), recording.isOfOneClock());
    ASSERT_EQ(again.groups.size(), recording.groups.size());
    for (std::size_t g = 0; g < recording.groups.size(); ++g) {
        EXPECT_EQ(again.groups[g].name, recording.groups[g].name);
        EXPECT_EQ(again.groups[g].description, recording.groups[g].description);
        EXPECT_EQ(again.groups[g].backend, recording.groups[g].backend);
        EXPECT_EQ(again.groups[g].ranks, recording.groups[g].ranks);
        EXPECT_EQ(again.groups[g].size, recording.groups[g].size);
        EXPECT_EQ(again.groups[g].evidence, recording.groups[g].evidence);
    }
    ASSERT_EQ(again.ranks.size(), recording.ranks.size());
    for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
        const sim::RankRecording &one = again.ranks[r], &other = recording.ranks[r];
        EXPECT_EQ(one.rank, other.rank);
        EXPECT_EQ(one.rankEvidence, other.rankEvidence);
        EXPECT_EQ(one.host, other.host);
        EXPECT_EQ(one.device, other.device);
        EXPECT_EQ(one.deviceName, other.deviceName);
        EXPECT_EQ(one.worldSize, other.worldSize);
        EXPECT_EQ(one.spans.size(), other.spans.size());
        EXPECT_EQ(one.firstNs, other.firstNs);
        EXPECT_EQ(one.lastNs, other.lastNs);
        EXPECT_EQ(sim::kernelCount(one), sim::kernelCount(other));
        EXPECT_EQ(sim::communicationCount(one), sim::communicationCount(other));
        EXPECT_EQ(sim::busyNs(one), sim::busyNs(other));
        std::map<sim::RecordedKind, int> kinds, expectedKinds;
        for (const sim::RecordedKind kind : one.spans.kind)
            ++kinds[kind];
        for (const sim::RecordedKind kind : other.spans.kind)
            ++expectedKinds[kind];
        EXPECT_EQ(kinds, expectedKinds);
        ASSERT_EQ(one.steps.size(), other.steps.size());
        for (std::size_t s = 0; s < other.steps.size(); ++s) {
            EXPECT_EQ(one.steps[s].number, other.steps[s].number);
            EXPECT_EQ(one.steps[s].startNs, other.steps[s].startNs);
            EXPECT_EQ(one.steps[s].deviceEndNs, other.steps[s].deviceEndNs);
        }
        std::size_t launches = 0, expectedLaunches = 0;
        for (const sim::RecordedLink& link : one.links)
            launches += link.kind == sim::RecordedLink::Kind::launch ? 1 : 0;
        for (const sim::RecordedLink& link : other.links)
            expectedLaunches += link.kind == sim::RecordedLink::Kind::launch ? 1 : 0;
        EXPECT_EQ(launches, expectedLaunches);
        ASSERT_EQ(one.collectives.size(), other.collectives.size());
        for (std::size_t c = 0; c < other.collectives.size(); ++c) {
            const sim::RecordedCollective &said = one.collectives[c], &expected = other.collectives[c];
            EXPECT_EQ(again.names[said.name], recording.names[expected.name]);
            EXPECT_EQ(again.names[said.dtype], recording.names[expected.dtype]);
            EXPECT_EQ(said.group, expected.group);
            EXPECT_EQ(said.inElements, expected.inElements);
            EXPECT_EQ(said.outElements, expected.outElements);
            EXPECT_EQ(said.sequence, expected.sequence);
            EXPECT_EQ(said.startNs, expected.startNs);
            EXPECT_EQ(said.durationNs, expected.durationNs);
            EXPECT_EQ(said.span != sim::kNoSpan, expected.span != sim::kNoSpan);
        }
    }
}

class WrittenAgain : public testing::TestWithParam<bool> {};

TEST_P(WrittenAgain, EachRealFileSaysTheSame)
{
    std::size_t files = 0;
    for (const std::filesystem::path& path : sim::traceFiles(std::string(RANKSCOPE_TEST_DATA) + "/kineto")) {
        if (path.extension() != ".gz")
            continue;
        SCOPED_TRACE(path.filename().string());
        const sim::Recording recording = sim::readRecording({path});
        expectSameRecording(writtenAgain(recording, GetParam()), recording);
        ++files;
    }
    EXPECT_GE(files, 6U);
}

TEST_P(WrittenAgain, RanksOfOneJobStayApart)
{
    const std::string folder = std::string(RANKSCOPE_TEST_DATA) + "/kineto/";
    const sim::Recording recording = sim::readRecording(
        {folder + "worker0_step_12.1694128201545.pt.trace.json.gz", folder + "worker7_step_12.1694128201553.pt.trace.json.gz"});
    ASSERT_EQ(recording.ranks.size(), 2U);
    const sim::Recording again = writtenAgain(recording, GetParam());
    expectSameRecording(again, recording);
    expectSameRecording(writtenAgain(again, !GetParam()), recording); // and once more, through the other format
}

INSTANTIATE_TEST_SUITE_P(Formats, WrittenAgain, testing::Values(false, true),
                         [](const auto& param) { return param.param ? "Perfetto" : "Chrome"; });

TEST(GroupsOfAWorld, KeepNoMemberThatTheWorldDoesNotHave)
{
    const std::string text = R"({"schemaVersion":1,"distributedInfo":{"rank":9,"world_size":8,"pg_config":[
{"pg_name":"0","pg_desc":"dp","ranks":[0,1,99999]}]},"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}]})";
    const sim::Recording recording = sim::readRecording(text.data(), text.size(), "a.json");
    EXPECT_THAT(recording.groups.at(0).ranks, testing::ElementsAre(0, 1));
    EXPECT_THAT(recording.problems, testing::UnorderedElementsAre(
                                        testing::HasSubstr("is of rank 9 of a world of 8 ranks, whose last is 7"),
                                        testing::HasSubstr("1 of its 3 members are no ranks of a world of 8, the first 99999")));
}

} // namespace
