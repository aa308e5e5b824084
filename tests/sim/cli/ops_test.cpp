// `ops`: that it says what the library says, in each of its forms, and what it says of calls that ask for nothing.
#include "sim/analysis/op_table.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using test::Outcome;
using test::run;
using test::runJson;
using testing::HasSubstr;

TEST(OpsCommand, SaysWhatTheLibrarySays)
{
    const std::string file = test::gallery("05-");
    const auto catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    const sim::Trace trace = sim::simulate(sim::readScenario(file, catalogue))->trace(sim::TraceDetail::kernels);
    for (const sim::OpGrouping grouping : sim::kOpGroupings) {
        const sim::OpTable table = sim::opTable(trace, grouping);
        const json told = runJson("ops --json --by " + std::string(sim::opGroupingName(grouping)) + " " + file);
        EXPECT_EQ(told.at("of"), "kernels");
        EXPECT_EQ(told.at("ranks"), table.ranks);
        ASSERT_EQ(told.at("groups").size(), table.groups.size());
        for (std::size_t i = 0; i < table.groups.size(); ++i) {
            const json& group = told.at("groups")[i];
            EXPECT_EQ(group.at("name"), table.groups[i].name);
            EXPECT_EQ(group.at("count"), table.groups[i].count);
            EXPECT_EQ(group.at("bytes"), table.groups[i].bytes);
            EXPECT_EQ(group.at("flops"), table.groups[i].flops);
            EXPECT_NEAR(group.at("total_s").get<double>(), table.groups[i].totalNs * 1e-9, 1e-12);
            EXPECT_NEAR(group.at("share").get<double>(), table.share(table.groups[i]), 1e-12);
        }
    }
}

TEST(OpsCommand, TakesARangeRanksAndAQuery)
{
    const std::string ops = "ops --json " + test::gallery("05-");
    const json all = runJson(ops), one = runJson(ops + " --rank 3"), comm = runJson(ops + " --where 'comm and duration_us > 0'");
    EXPECT_EQ(one.at("ranks"), 1);
    EXPECT_LT(one.at("all").at("total_s"), all.at("all").at("total_s"));
    EXPECT_EQ(comm.at("all").at("flops"), 0);
    EXPECT_EQ(comm.at("all").at("bytes"), all.at("all").at("bytes")) << "what takes time moves all there is";
    const double end = all.at("end_s").get<double>();
    const std::string middle = std::to_string(end / 2);
    const double first = runJson(ops + " --end " + middle).at("all").at("total_s").get<double>();
    const double second = runJson(ops + " --begin " + middle).at("all").at("total_s").get<double>();
    EXPECT_NEAR(first + second, all.at("all").at("total_s").get<double>(), 1e-9);
    EXPECT_EQ(runJson(ops + " --passes").at("of"), "passes");
}

TEST(OpsCommand, CountsTheTensorOfAMessageAtBothEnds)
{
    const std::string file = test::gallery("05-");
    double ofMessages = 0, sent = 0;
    const json ops = runJson("ops --json --by class " + file), traffic = runJson("traffic --json " + file);
    for (const json& group : ops.at("groups"))
        ofMessages += group.at("name") == "pp comm" ? group.at("bytes").get<double>() : 0;
    for (const json& group : traffic.at("groups"))
        sent += group.at("group") == "pp" ? group.at("bytes").get<double>() : 0;
    EXPECT_GT(sent, 0);
    EXPECT_EQ(ofMessages, 2 * sent);
}

TEST(OpsCommand, PrintsATableAndCsv)
{
    const std::string ops = "ops --by class " + test::gallery("05-");
    const json groups = runJson(ops + " --json").at("groups");
    const Outcome people = run(ops), csv = run(ops + " --csv");
    EXPECT_THAT(people.out, HasSubstr("tensor bytes  FLOP/s"));
    EXPECT_THAT(people.out,
                HasSubstr("a collective's once at each member, a message at both ends. `traffic` tells what is sent."));
    EXPECT_THAT(run(ops + " --where 'flops > 0'").out, testing::Not(HasSubstr("at both ends")));
    EXPECT_EQ(test::lines(csv.out).size(), groups.size() + 1);
    for (const json& group : groups)
        EXPECT_THAT(people.out, HasSubstr(group.at("name").get<std::string>()));
}

TEST(OpsCommand, SaysWhatThereIsWhereNothingFits)
{
    const std::string ops = "ops " + test::gallery("05-");
    const Outcome nothing = run(ops + " --where \"class == 'gemm'\"");
    EXPECT_EQ(nothing.code, 0);
    EXPECT_THAT(nothing.err, HasSubstr("fits no op; of the classes here there are backward, "));
    EXPECT_EQ(run(ops + " --where comm").err, "");
}

TEST(OpsCommand, SaysWhatCannotBeAsked)
{
    const std::string ops = "ops " + test::gallery("05-");
    for (const auto& [arguments, told] : std::vector<std::pair<std::string, std::string>>{
             {" --where 'duration > 5'",
              "--where \"duration > 5\": character 1: ops have no \"duration\"; nearest: \"duration_us\""},
             {" --where 'class = 1'", "write == to compare"},
             {" --by colour", "\"colour\" is none of name, class, rank, stage"},
             {" --rank 16", "the last rank is 15"},
             {" --csv --json", "--json"},
             {" --begin 1000", "nothing lies between"},
             {" --begin 0.2 --end 0.1", "nothing lies between"}}) {
        const Outcome outcome = run(ops + arguments);
        EXPECT_EQ(outcome.code, 2) << arguments;
        EXPECT_EQ(outcome.out, "") << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(told)) << arguments;
    }
}

} // namespace
