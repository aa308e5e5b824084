#include "sim/analysis/sensitivity.h"
#include "sim/answers/answers.h"
#include "sim/scenario/document.h"
#include "tests/sim/analysis/arithmetic.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

using namespace sim;

namespace {

/// The right side of a formula with every term's value in place of its symbol.
double evaluated(const Answer& entry)
{
    std::map<std::string, double> values;
    for (const Answer& term : entry.at("terms")) {
        const std::string symbol = term.at("symbol");
        const double value = term.at("value");
        EXPECT_EQ(symbol.find_first_of("+/() "), std::string::npos) << symbol;
        EXPECT_EQ(values.emplace(symbol, value).first->second, value) << symbol << " stands for two things";
    }
    const std::string formula = entry.at("formula");
    std::string line, word;
    const auto finish = [&] {
        if (const auto found = values.find(word); found != values.end()) {
            char text[400];
            std::snprintf(text, sizeof text, "%.15f", found->second);
            word = text;
        }
        line += word;
        word.clear();
    };
    for (const char c : formula.substr(formula.find(" = ") + 3)) {
        if (c != ' ' && c != '(' && c != ')') {
            word += c;
            continue;
        }
        finish();
        line += c;
    }
    finish();
    return test::evaluate(line);
}

/// Terms that have an explanation of their own, too. Returns how many formulas were evaluated.
int expectTrue(const Answer& entry, double value)
{
    int count = 0;
    if (const std::string formula = entry.at("formula"); !formula.empty()) {
        EXPECT_NEAR(evaluated(entry), value, 1e-6 * std::abs(value) + 1e-12) << formula << "\n" << entry.dump(1);
        ++count;
    }
    for (const Answer& term : entry.at("terms"))
        if (term.contains("because"))
            count += expectTrue(term.at("because"), term.at("value"));
    return count;
}

/// What is printed, done again as it stands there, comes to what is printed. Returns how many lines were.
int expectPrintedTrue(const Answer& entry, double value)
{
    int count = 0;
    if (const std::string line = entry.at("in_numbers"); !entry.at("formula").get<std::string>().empty()) {
        constexpr double kOfPrinting = 1e-3, kOfNothing = 1e-7; // Formula::inNumbers; what cancels leaves the last digits
        EXPECT_NEAR(test::evaluate(line), value, value == 0 ? kOfNothing : kOfPrinting * std::abs(value))
            << entry.at("formula") << "\n"
            << line;
        ++count;
    }
    for (const Answer& term : entry.at("terms"))
        if (term.contains("because"))
            count += expectPrintedTrue(term.at("because"), term.at("value"));
    return count;
}

Answer explained(const Scenario& scenario)
{
    const auto simulation = simulate(scenario);
    Answer answer = stepAnswer(*simulation);
    addBecause(answer, *simulation);
    return answer;
}

double changeBy(const Answer& answer, const std::string& key)
{
    for (const Answer& entry : answer.at("sensitivity"))
        if (entry.at("key") == key)
            return entry.at("step_time_change");
    return 0;
}

} // namespace

TEST(Because, EveryFormulaEvaluatesToTheNumberOfTheAnswer)
{
    const Catalogue catalogue = Catalogue::load(Catalogue::findAssets());
    for (const char* name : {"02-tp8-dp2-two-nodes.json", "40-recompute-175b-selective.json", "50-mixtral-8x7b-ep8.json"}) {
        const Answer answer = explained(readScenario(RANKSCOPE_SOURCE_DIR "/scenarios/" + std::string(name), catalogue));
        int formulas = 0;
        for (const Answer& entry : answer.at("because")) {
            std::string pointer = "/" + entry.at("key").get<std::string>();
            for (char& c : pointer)
                c = c == '.' ? '/' : c;
            EXPECT_EQ(entry.at("value"), answer.at(nlohmann::json_pointer<std::string>(pointer))) << pointer;
            formulas += expectTrue(entry, entry.at("value"));
        }
        EXPECT_GT(formulas, 20) << name;
    }
}

TEST(Because, WhatIsPrintedComesToWhatIsPrinted)
{
    const Catalogue catalogue = Catalogue::load(Catalogue::findAssets());
    for (const char* name :
         {"02-tp8-dp2-two-nodes", "05-dp2-tp4-pp2-sixteen-gpus", "10-fsdp-four-nodes", "17-schedule-1f1b", "21-slow-gpu",
          "38-gpt3-175b-1024-gpus", "40-recompute-175b-selective", "42-llama3-405b-16384-gpus", "44-llama3-405b-1024-gpus-fp8",
          "45-llama3-70b-64-gpus", "50-mixtral-8x7b-ep8", "54-deepseek-v3-2048-h800", "57-tiny-dp4"}) {
        SCOPED_TRACE(name);
        const Answer answer =
            explained(readScenario(RANKSCOPE_SOURCE_DIR "/scenarios/" + std::string(name) + ".json", catalogue));
        int lines = 0;
        for (const Answer& entry : answer.at("because"))
            lines += expectPrintedTrue(entry, entry.at("value"));
        EXPECT_GT(lines, 20);
    }
}

TEST(Sensitivity, OfAnIdealMachineIsTheInverseOfItsProducts)
{
    // One GPU whose products take all the time: 10 % more of them is a step shorter by 1 - 1 / 1.1.
    Scenario scenario = test::smallScenario();
    scenario.cluster.gpu.memoryBandwidthGBs = 1e15;
    scenario.cluster.efficiency.launchUs = scenario.cluster.efficiency.kernelUs = 0;
    Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = stack.stepMs = 0;
    const Answer answer = explained(scenario);
    const double products = changeBy(answer, "cluster.efficiency.gemm"),
                 attention = changeBy(answer, "cluster.efficiency.attention");
    EXPECT_LT(products, 0);
    EXPECT_LT(attention, 0);
    EXPECT_NEAR(products + attention, 1 / (1 + kSensitivityChange) - 1, 2e-3);
}

TEST(Sensitivity, OfASoftmaxThatRunsInStepsIsThatOfItsSteps)
{
    Scenario scenario = test::smallScenario();
    scenario.training.flashAttention = false;
    scenario.training.attention = AttentionKernel::unfused;
    Stack& stack = scenario.training.stack;
    for (Fusion& part : stack.parts)
        part.traffic = part.backwardTraffic = 0; // of nothing else
    stack.softmaxMultiple = 1 << 20;
    EXPECT_GT(changeBy(explained(scenario), "training.stack"), 0);
}

TEST(Sensitivity, IsToldInWordsTheWeightiestFirst)
{
    EXPECT_EQ(sensitivityText({}), "");
    EXPECT_EQ(
        sensitivityText(
            {{"a", "rate of a", {}, -0.0678}, {"b", "time of b", {}, 0.02}, {"c", "c", {}, 0.01}, {"d", "d", {}, 0.009}}),
        "10 % more of the rate of a, and the step is 6.8 % shorter; of the time of b, 2.0 % longer; of the c, 1.0 % longer.");
    EXPECT_EQ(sensitivityText({{"a", "rate of a", {}, -0.0678}, {"b", "time of b", {}, 0.0004}}),
              "10 % more of the rate of a, and the step is 6.8 % shorter.")
        << "not 0.0 %";
    EXPECT_EQ(sensitivityText({{"b", "time of b", {}, 0.0004}}), "");
}

TEST(Sensitivity, IsWhatTheStepWouldTake)
{
    Scenario scenario = test::llama405b();
    scenario.cluster.efficiency.besideTransfers = 1.07;
    const auto before = simulate(scenario);
    const std::vector<Sensitivity> found = sensitivities(*before);
    ASSERT_GT(found.size(), 5U);
    int tried = 0;
    for (std::size_t i = 1; i < found.size(); ++i)
        EXPECT_LE(std::abs(found[i].stepTimeChange), std::abs(found[i - 1].stepTimeChange));
    for (const Sensitivity& of : found) {
        Scenario changed = scenario;
        const std::map<std::string, double*> known{
            {"cluster.tiers.0.bandwidth_gbs", &changed.cluster.tiers[0].bandwidthGBs},
            {"cluster.efficiency.beside_transfers", &changed.cluster.efficiency.besideTransfers},
            {"training.stack.optimizer_bytes", &changed.training.stack.optimizerBytes}};
        const auto number = known.find(of.key);
        if (number == known.end())
            continue;
        ++tried;
        EXPECT_EQ(of.value, *number->second);
        *number->second *= 1 + of.change;
        EXPECT_NEAR(of.stepTimeChange, simulate(changed)->metrics().stepTimeSeconds / before->metrics().stepTimeSeconds - 1,
                    1e-12);
    }
    EXPECT_GE(tried, 2);
}
