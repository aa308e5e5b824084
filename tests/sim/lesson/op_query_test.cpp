// Which ops a query finds, and what it says of one that cannot be asked.
#include "sim/lesson/op_query.h"

#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace {

using namespace sim;
using test::catalogue;
using testing::HasSubstr;

Trace handWritten()
{
    Trace trace;
    trace.endNs = 1'000'000;
    trace.slices = 2;
    trace.processes = {{.rank = 5, .multiplicity = 1, .name = "rank 5"}};
    trace.kinds = {{.name = "attn.qkv", .opClass = OpClass::forward, .stage = 1, .layer = 7, .flops = 600},
                   {.name = "All-Reduce", .opClass = OpClass::tpComm, .group = "tp", .bytes = 800}};
    Track track{.process = 0, .name = "compute", .role = TrackRole::compute};
    for (const std::int64_t i : {0, 1, 2, 3}) {
        track.startNs.push_back(i * 100'000);
        track.durationNs.push_back((i + 1) * 10'000);
        track.kind.push_back(static_cast<std::uint32_t>(i % 2));
        track.microbatch.push_back(static_cast<std::int32_t>(i == 3 ? -1 : i));
    }
    trace.tracks = {std::move(track)};
    return trace;
}

std::set<std::size_t> found(const std::string& text)
{
    static const Trace trace = handWritten();
    const OpFilter filter = OpQuery::parse(text).filterOf(trace);
    std::set<std::size_t> out;
    for (std::size_t i = 0; i < trace.tracks[0].size(); ++i)
        if (!filter || filter(0, i))
            out.insert(i);
    return out;
}

std::string refusal(const std::string& text)
{
    try {
        found(text);
    } catch (const ExpressionError& error) {
        return error.what();
    }
    return "nothing is wrong";
}

using Spans = std::set<std::size_t>;

TEST(OpQuery, WordsAloneAreLookedForInNames)
{
    EXPECT_EQ(found(""), (Spans{0, 1, 2, 3}));
    EXPECT_EQ(found("  "), (Spans{0, 1, 2, 3}));
    EXPECT_EQ(found("QKV"), (Spans{0, 2}));
    EXPECT_EQ(found("comm"), (Spans{1, 3})) << "what is true or false by itself is no part of a name";
    EXPECT_EQ(found(" not comm "), (Spans{0, 2}));
    EXPECT_EQ(found("not qkv"), (Spans{}));
    EXPECT_EQ(found(" all-red "), (Spans{1, 3}));
    EXPECT_EQ(found("norm"), Spans{});
}

TEST(OpQuery, ExpressionsAskWhatAnOpIs)
{
    EXPECT_EQ(found("duration_us > 20"), (Spans{2, 3}));
    EXPECT_EQ(found("duration_us > 20 and class == \"tp comm\""), Spans{3});
    EXPECT_EQ(found("comm == true or duration_us <= 10"), (Spans{0, 1, 3}));
    EXPECT_EQ(found("not (comm)"), (Spans{0, 2}));
    EXPECT_EQ(found("start_us >= 100 and start_us < 300"), (Spans{1, 2}));
    EXPECT_EQ(found("group == \"tp\" and bytes == 800"), (Spans{1, 3}));
    EXPECT_EQ(found("layer == 7 and stage == 1 and flops > 599"), (Spans{0, 2}));
    EXPECT_EQ(found("microbatch == 1"), Spans{2}) << "the third of two slices each";
    EXPECT_EQ(found("microbatch == -1"), Spans{3});
    EXPECT_EQ(found("rank == 5 and track == \"compute\""), (Spans{0, 1, 2, 3}));
    EXPECT_EQ(found("rank != 5"), Spans{});
    EXPECT_EQ(found("contains(name, \"qkv\")"), (Spans{0, 2}));
}

TEST(OpQuery, KindsOfCollectivesAreFoundHoweverTheyAreSpelled)
{
    for (const char* word : {"all-reduce", "all_reduce", "AllReduce", "allred"})
        EXPECT_EQ(found(word), (Spans{1, 3})) << word;
    EXPECT_EQ(found("all-gather"), Spans{});
    EXPECT_EQ(found("collective == \"all-reduce\""), (Spans{1, 3}));
    EXPECT_EQ(found("collective == \"\""), (Spans{0, 2}));
}

TEST(OpQuery, PassesAreFoundAsTheTimelineWritesThem)
{
    EXPECT_EQ(found("1F"), (Spans{0, 2})) << "of a stage";
    EXPECT_EQ(found("0F"), Spans{});
    EXPECT_EQ(found("F1"), Spans{2}) << "of a micro-batch";
    EXPECT_EQ(found("f0"), Spans{0});
    EXPECT_EQ(found("1F1"), Spans{2});
    EXPECT_EQ(found("F1.1"), Spans{}) << "of its other slice";
    EXPECT_EQ(found("F1.0"), Spans{2});
    EXPECT_EQ(found("B1"), Spans{});
}

/// What an op called "reduce" does is known of a simulation alone.
TEST(OpQuery, ASimulationKnowsWhatItsCollectivesAre)
{
    const auto simulation = simulate(resolvedScenario(
        readDocument(RANKSCOPE_SOURCE_DIR "/scenarios/05-dp2-tp4-pp2-sixteen-gpus.json", catalogue(), {}), catalogue()));
    const Trace trace = simulation->trace(TraceDetail::kernels);
    const auto namesOf = [&](const char* text) {
        const OpTable table =
            opTable(trace, OpGrouping::name, {.filter = OpQuery::parse(text).filterOf(trace, simulation.get())});
        std::set<std::string> names;
        for (const OpGroup& group : table.groups)
            names.insert(group.name);
        return names;
    };
    EXPECT_THAT(namesOf("reduce-scatter"), testing::IsSupersetOf({"attn.reduce", "mlp.reduce"}));
    EXPECT_THAT(namesOf("all_gather"), testing::IsSupersetOf({"attn.gather", "regather", "param.gather"}));
    EXPECT_THAT(namesOf("collective == \"all-gather\" and group == \"tp\""), testing::Not(testing::Contains("param.gather")));
    EXPECT_THAT(namesOf("collective == \"send\""), testing::UnorderedElementsAre("send activation", "send gradient"));
    EXPECT_TRUE(namesOf("all-to-all").empty());
    EXPECT_THAT(namesOf("B3"), testing::Contains("mlp.up.dgrad"));
    EXPECT_THAT(namesOf("B3"), testing::Not(testing::Contains("mlp.up")));
    for (const char* word : opQueryWords())
        EXPECT_NO_THROW(namesOf(word)) << word;
}

TEST(OpQuery, SaysWhatCannotBeAskedAndWhere)
{
    EXPECT_THAT(refusal("duration > 5"), HasSubstr("character 1: ops have no \"duration\"; nearest: \"duration_us\""));
    EXPECT_THAT(refusal("comm and clas == \"x\""), HasSubstr("character 10: ops have no \"clas\"; nearest: \"class\""));
    EXPECT_THAT(refusal("rank < 4 and pp"),
                HasSubstr("ops have no \"pp\"; of its communication: group == \"pp\"; ops have name, "
                          "class, comm, collective, group, stage, layer, bytes, flops, duration_us, start_us, "
                          "microbatch, track and rank"));
    EXPECT_EQ(found("rank < 9 and group == \"tp\""), (Spans{1, 3}));
    EXPECT_THAT(refusal("comm and (qkv)"), HasSubstr("; of names that hold it: contains(name, \"qkv\"); ops have name, "));
    EXPECT_THAT(refusal("class = \"tp comm\""), HasSubstr("write == to compare"));
    EXPECT_THAT(refusal("(duration_us)"), HasSubstr("neither true nor false"));
    EXPECT_THAT(refusal("name > 5"), HasSubstr("only numbers have an order"));
    EXPECT_THAT(refusal("contains(name, 5)"), HasSubstr("wants words, not 5"));
}

/// A query that was made once may be used after it has gone.
TEST(OpQuery, FiltersOutliveTheirQuery)
{
    const Trace trace = handWritten();
    OpFilter filter;
    {
        const OpQuery query = OpQuery::parse("duration_us == 40");
        filter = query.filterOf(trace);
    }
    EXPECT_TRUE(filter(0, 3));
    EXPECT_FALSE(filter(0, 0));
}

TEST(OpQuery, NamesAreSaidWithTheirMeaning)
{
    for (const OpQueryName& name : opQueryNames()) {
        EXPECT_STRNE(name.what, "");
        EXPECT_NO_THROW(found("(" + std::string(name.name) + " == " + std::string(name.name) + ")")) << name.name;
    }
}

TEST(OpQuery, ATimeAloneAsksNothing)
{
    for (const char* time : {"duration_us", " start_us "})
        try {
            (void)OpQuery::parse(time);
            ADD_FAILURE() << time;
        } catch (const ExpressionError& error) {
            EXPECT_NE(std::string(error.what()).find("_us > 50"), std::string::npos) << error.what();
        }
    EXPECT_NO_THROW((void)OpQuery::parse("layer")) << "a part of names";
}

TEST(OpQuery, ExamplesFindSomethingInWhatIsShown)
{
    const Trace trace = handWritten();
    for (const OpClass c : {OpClass::forward, OpClass::tpComm}) {
        const OpTable table = opTable(trace, OpGrouping::opClass, {.classes = [c](OpClass of) { return of == c; }});
        const OpQueryExamples examples = opQueryExamples(trace, table);
        EXPECT_FALSE(found(examples.part).empty()) << examples.part;
        EXPECT_TRUE(found(examples.expression).contains(table.all.longestSpan)) << examples.expression;
    }
    EXPECT_EQ(opQueryExamples(trace, opTable(trace, OpGrouping::name)).expression, "duration_us > 20 and comm");
}

} // namespace
