// `traffic`: that its forms say the same as each other and as the library.
#include "sim/analysis/traffic/traffic.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(TrafficCommand, SumsAgreeHoweverTheyAreCut)
{
    for (const char* file : {"05-", "50-", "54-"}) {
        const json traffic = test::runJson("traffic --json " + test::gallery(file));
        std::int64_t byTier = 0, byGroup = 0;
        for (const json& tier : traffic.at("tiers")) {
            byTier += tier.at("bytes").get<std::int64_t>();
            EXPECT_GE(tier.at("mean_load").get<double>(), 0);
        }
        for (const json& group : traffic.at("groups")) {
            byGroup += group.at("bytes").get<std::int64_t>();
            std::int64_t ofGroup = 0;
            for (const json& bytes : group.at("by_tier"))
                ofGroup += bytes.get<std::int64_t>();
            EXPECT_EQ(ofGroup, group.at("bytes").get<std::int64_t>());
        }
        EXPECT_EQ(byTier, traffic.at("total").get<std::int64_t>());
        EXPECT_EQ(byGroup, byTier);
        EXPECT_GT(byTier, 0);
    }
}

TEST(TrafficCommand, SaysWhereEachGroupsBytesComeFrom)
{
    for (const char* file : {"05-", "50-", "54-"}) {
        const json traffic = test::runJson("traffic --json " + test::gallery(file));
        for (const json& group : traffic.at("groups")) {
            const json& because = group.at("because");
            EXPECT_EQ(because.at("value").get<double>(), group.at("bytes").get<double>());
            EXPECT_THAT(because.at("formula").get<std::string>(), HasSubstr(" = "));
            EXPECT_FALSE(because.at("numbers").get<std::string>().empty());
            EXPECT_FALSE(because.at("source").get<std::string>().empty());
            EXPECT_FALSE(because.at("terms").empty());
        }
        for (const json& tier : traffic.at("tiers"))
            EXPECT_EQ(tier.at("because").at("value").get<double>(), tier.at("bytes").get<double>());
    }
}

TEST(TrafficCommand, ListsALayerInItsOrderAndCountsItsCollectives)
{
    const json dense = test::runJson("traffic --json --set layout.sequence_parallel=false " + test::gallery("02-"));
    const auto placeOf = [](const json& pass, const std::string& op) {
        for (std::size_t i = 0; i < pass.size(); ++i)
            if (pass[i].at("op") == op)
                return static_cast<int>(i);
        return -1;
    };
    const json& forward = dense.at("layer").at("forward");
    int before = -1;
    for (const char* op : {"attn.qkv", "attn.out", "attn.reduce", "mlp.up", "mlp.down", "mlp.reduce"}) {
        const int at = placeOf(forward, op);
        EXPECT_GT(at, before) << op;
        EXPECT_EQ(forward[static_cast<std::size_t>(at)].at("at"), at) << op;
        before = at;
    }
    EXPECT_EQ(forward[static_cast<std::size_t>(before)].at("group"), "tp");
    EXPECT_EQ(forward[static_cast<std::size_t>(before)].at("collective"), "all_reduce");
    EXPECT_EQ(placeOf(dense.at("layer").at("backward"), "attn.reduce"), -1) << "there inputs' gradients are added up";
    const auto perLayer = [](const json& traffic, const std::string& name) {
        for (const json& group : traffic.at("groups"))
            if (group.at("group") == name)
                return group.at("per_layer");
        return json();
    };
    EXPECT_EQ(perLayer(dense, "tp"), (json{{"kind", "dense"}, {"forward", 2}, {"backward", 2}, {"again", 0}}));
    const json experts = test::runJson("traffic --json " + test::gallery("50-"));
    EXPECT_EQ(perLayer(experts, "ep"), (json{{"kind", "moe"}, {"forward", 2}, {"backward", 2}, {"again", 2}}))
        << "there and back";
    const json split = test::runJson("traffic --json " + test::gallery("65-")); // I and W are passes of their own
    EXPECT_GE(placeOf(split.at("layer").at("backward"), "mlp.down.dgrad"), 0) << split.at("layer").dump();
    EXPECT_GE(placeOf(split.at("layer").at("backward"), "mlp.down.wgrad"), 0);
}

int timesOf(const json& pass, const std::string& op)
{
    return static_cast<int>(std::count_if(pass.begin(), pass.end(), [&](const json& entry) { return entry.at("op") == op; }));
}

TEST(TrafficCommand, ListsALayersBackwardOnceThoughSomeMicrobatchesHaveItInHalves)
{
    const json halves = test::runJson("traffic --json " + test::gallery("70-"));
    const json whole =
        test::runJson("traffic --json --set schedule.kind=1f1b --set schedule.virtual_stages=1 " + test::gallery("70-"));
    ASSERT_EQ(halves.at("layers").size(), 1U);
    for (const char* op : {"mlp.down.wgrad", "mlp.up.wgrad", "attn.out.wgrad", "attn.qkv.wgrad", "mlp.down.dgrad"})
        EXPECT_EQ(timesOf(halves.at("layer").at("backward"), op), 1) << op;
    EXPECT_EQ(halves.at("layer").at("backward").size(), whole.at("layer").at("backward").size());
}

TEST(TrafficCommand, ListsEachKindOfLayerThatAModelHas)
{
    const json traffic = test::runJson("traffic --json " + test::gallery("54-"));
    const json& layers = traffic.at("layers");
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_EQ(layers[0].at("kind"), "moe");
    EXPECT_EQ(layers[0].at("count"), 58);
    EXPECT_EQ(layers[1].at("kind"), "dense");
    EXPECT_EQ(layers[1].at("count"), 3);
    EXPECT_LT(layers[1].at("layer").get<int>(), 3);
    EXPECT_GE(layers[0].at("layer").get<int>(), 3);
    EXPECT_EQ(traffic.at("layer"), layers[0]);
    for (const json& layer : layers)
        for (const char* op : {"attn.out.dgrad", "attn.out.wgrad", "attn.core.backward", "attn.norm.backward"})
            EXPECT_EQ(timesOf(layer.at("backward"), op), 1) << layer.at("kind") << " " << op;
    for (const json& group : traffic.at("groups")) {
        EXPECT_EQ(group.at("per_layer"), group.at("per_layer_of_kind").at(0));
        if (group.at("group") != "ep")
            continue;
        EXPECT_EQ(group.at("per_layer").at("forward"), 2) << "there and back";
        EXPECT_EQ(group.at("per_layer").at("backward"), 2);
        EXPECT_EQ(group.at("per_layer_of_kind").at(1).at("forward"), 0) << "a dense layer has no experts";
    }
}

TEST(TrafficCommand, SaysWhatTheLibrarySays)
{
    const std::string file = test::gallery("05-");
    const auto catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    const sim::TrafficSums sums = sim::Traffic(*sim::simulate(sim::readScenario(file, catalogue))).senders().total();
    const json traffic = test::runJson("traffic --json " + file);
    EXPECT_EQ(traffic.at("total").get<std::int64_t>(), sums.total());
    EXPECT_EQ(traffic.at("tiers").at(0).at("bytes").get<std::int64_t>(), sums.ofTier(0));
}

TEST(TrafficCommand, PrintsATableOfGroupsAndTiers)
{
    const test::Outcome outcome = test::run("traffic " + test::gallery("05-"));
    EXPECT_EQ(outcome.code, 0);
    for (const char* word : {"NVLink GiB", "InfiniBand GiB", "\ntp ", "\npp ", "\ndp_cp ", "\ntotal ", "\nmean load ", "exposed"})
        EXPECT_THAT(outcome.out, HasSubstr(word));
}

TEST(TrafficCommand, ExposedPartsAddUpAsTheyAreRead)
{
    for (const char* file : {"21-", "45-"}) {
        double sum = 0, total = 0;
        for (const std::string& line : test::lines(test::run("traffic " + test::gallery(file)).out)) {
            if (!line.ends_with(" %") || line.starts_with("mean load"))
                continue;
            const std::size_t end = line.size() - 2;
            (line.starts_with("total ") ? total : sum) += std::stod(line.substr(line.rfind(' ', end - 1)));
        }
        EXPECT_GT(total, 1) << file;
        EXPECT_NEAR(sum, total, 1e-6) << file;
    }
}

/// 10.863 %: of tenths that add up it would be told as 10.8, where the window says 10.9.
TEST(TrafficCommand, TheLargestExposedPartReadsAsItDoesElsewhere)
{
    const std::string file = test::gallery("42-");
    const double exposed = test::runJson("simulate --json " + file).at("exposed_comm_fraction").at("tp").get<double>();
    int found = 0;
    for (const std::string& line : test::lines(test::run("traffic " + file).out))
        if (line.starts_with("tp ")) {
            EXPECT_NEAR(std::stod(line.substr(line.rfind(' ', line.size() - 3))), 100 * exposed, 0.011) << line;
            ++found;
        }
    EXPECT_EQ(found, 1);
}

TEST(TrafficCommand, OneRankSendsNothing)
{
    EXPECT_THAT(test::run("traffic " + test::gallery("56-")).out, HasSubstr("One rank sends nothing"));
    EXPECT_EQ(test::runJson("traffic --json " + test::gallery("56-")).at("total"), 0);
}

} // namespace
