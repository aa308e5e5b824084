#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/analysis/balanced_layers.h"
#include "sim/answers/answers.h"
#include "sim/mesh/placement.h"
#include "sim/model/parameters.h"
#include "sim/program/program.h"
#include "sim/scenario/words.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"

#include <iostream>
#include <utility>

namespace sim::cli {
namespace {

std::string modelText(const Model& m)
{
    std::string text = m.name + ": " + counted(m.numHiddenLayers, "layer") + ", hidden size " + grouped(m.hiddenSize) + ", " +
                       counted(m.numAttentionHeads, "head");
    if (m.isLatentAttention())
        text += " of latent attention";
    else if (m.numKeyValueHeads != m.numAttentionHeads)
        text += " (" + grouped(m.numKeyValueHeads) + " for keys and values)";
    if (m.numNextnPredictLayers > 0)
        text += ", " + counted(m.numNextnPredictLayers, "further token") + " predicted";
    if (const int sliding = m.layersOf(LayerType::sliding); sliding > 0)
        text += ", " + counted(sliding, "layer") + " with a window of " + grouped(m.slidingWindow);
    if (const int chunked = m.layersOf(LayerType::chunked); chunked > 0)
        text += ", " + counted(chunked, "layer") + " in chunks of " + grouped(m.attentionChunkSize);
    if (m.numExperts > 0)
        text += ", " + counted(m.numExperts, "expert") + " (" + grouped(m.numExpertsPerTok) + " a token)";
    return text;
}

std::string clusterText(const Cluster& c)
{
    std::string text = counted(c.nodes, "node") + " x " + grouped(c.gpusPerNode) + " " + c.gpu.name;
    constexpr int kDigits = 4;                  // of which zeros at the end go: 450, 12.5, 3.125
    const bool sharesCards = gpusPerNic(c) > 1; // or all is of a GPU
    for (std::size_t i = 0; i < c.tiers.size(); ++i) {
        const ToldBandwidth bandwidth = toldBandwidth(c, i);
        text += (i == 0 ? "; " : ", ") + spokenNetwork(c.tiers[i].name) + " " + numberText(bandwidth.gbs, Unit::number, kDigits) +
                " GB/s" + (sharesCards ? " " + bandwidth.of() : "");
    }
    return text;
}

std::string layoutText(const Layout& l)
{
    std::string text = "tp " + std::to_string(l.tp) + " x cp " + std::to_string(l.cp) + " x pp " + std::to_string(l.pp) +
                       " x dp " + std::to_string(l.dp) + " = " + counted(l.worldSize(), "rank");
    if (l.ep > 1)
        text += ", ep " + std::to_string(l.ep) + " x etp " + std::to_string(l.etp);
    text += "; order " + l.order + (l.sequenceParallel ? ", sequence parallel" : "") + ", ZeRO " + std::to_string(l.zeroStage);
    if (l.zeroStage > 0 && l.dpShard != l.dp * l.cp)
        text += " over " + counted(l.dpShard, "rank");
    return text;
}

std::string scheduleText(const Scenario& s)
{
    return s.schedule.kind + ", " + counted(s.stages(), "stage") + ", " + grouped(s.microbatches()) +
           (s.microbatches() == 1 ? " micro-batch" : " micro-batches") + " of " + counted(s.training.microBatchSize, "sequence");
}

std::string trainingText(const Training& t, const Lora& lora)
{
    std::string text = counted(t.globalBatchSize, "sequence") + " of " + counted(t.sequenceLength, "token") + " a step, " +
                       std::string(toWord(kPrecisionWords, t.precision)) + ", " +
                       std::string(toWord(kOptimizerWords, t.optimizer));
    if (t.recompute != Recompute::none)
        text += ", " + std::string(toWord(kRecomputeWords, t.recompute)) + " recomputation";
    if (t.recompute == Recompute::selective && t.recomputeModules != Training().recomputeModules)
        text += " of " + wordsOf(t.recomputeModules);
    if (t.documents.areGiven())
        text += ", packed from documents of " + (t.documents.lengths.size() == 1
                                                     ? counted(t.documents.lengths[0], "token")
                                                     : counted(static_cast<std::int64_t>(t.documents.lengths.size()), "length"));
    if (t.offload.activationLayers > 0)
        text += ", activations of " + counted(t.offload.activationLayers, "layer") + " of each stage offloaded";
    if (t.offload.optimizer > 0)
        text += ", " + percent(t.offload.optimizer) + " of the optimizer offloaded";
    if (lora.isOn())
        text += ", LoRA of rank " + std::to_string(lora.rank) + " beside " + wordsOf(lora);
    return text;
}

/// Stages, layers and parameters by pipeline rank; ranks in a row that hold as much share a line.
void printRanks(const Scenario& scenario, const Schedule& schedule, const std::vector<std::int64_t>& parametersOfRanks)
{
    const std::vector<int> layers = layersOfRanks(scenario, schedule);
    struct Content {
        std::string stages;
        int layers = 0;
        std::int64_t parameters = 0;
    };
    std::vector<Content> contents;
    for (std::size_t p = 0; p < parametersOfRanks.size(); ++p) {
        Content content{.layers = layers[p], .parameters = parametersOfRanks[p]};
        const std::vector<int> stages = schedule.stagesOfRank(static_cast<int>(p));
        content.stages = std::to_string(stages.front());
        if (stages.size() > 1)
            content.stages += " " + std::to_string(stages[1]);
        if (stages.size() > 2)
            content.stages += (stages.size() > 3 ? " ... " : " ") + std::to_string(stages.back());
        contents.push_back(std::move(content));
    }
    Table table({"pipeline rank", "stages", "layers", "parameters of a rank"});
    for (std::size_t first = 0; first < contents.size();) {
        std::size_t last = first;
        while (last + 1 < contents.size() && contents[last + 1].layers == contents[first].layers &&
               contents[last + 1].parameters == contents[first].parameters)
            ++last;
        const bool alone = first == last;
        table.add({alone ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last),
                   alone ? contents[first].stages : contents[first].stages + " to " + contents[last].stages,
                   grouped(contents[first].layers), grouped(contents[first].parameters)});
        first = last + 1;
    }
    table.print(std::cout);
}

void print(const Scenario& s)
{
    Table table({"model", modelText(s.model)});
    table.add(
        {"parameters",
         grouped(parameterCount(s.model)) +
             (s.model.numExperts > 0 ? " (" + grouped(activeParameterCount(s.model)) + " active for a token)" : "") +
             (s.model.numNextnPredictLayers > 0
                  ? "; " + grouped(predictionParameterCount(s.model)) + " of multi-token prediction beside them"
                  : "") +
             (s.model.lora.isOn() ? "; " + grouped(trainableParameterCount(s.model)) + " of adapters beside them are trained"
                                  : "")});
    table.add({"cluster", clusterText(s.cluster)});
    table.add({"layout", layoutText(s.layout)});
    table.add({"schedule", scheduleText(s)});
    table.add({"training", trainingText(s.training, s.model.lora)});
    if (!s.perturbations.empty())
        table.add({"not ideal", counted(static_cast<std::int64_t>(s.perturbations.size()), "perturbation")});
    if (!s.source.empty())
        table.add({"source", s.source});
    table.print(std::cout);
}

/// Elements that a rank of each pipeline coordinate holds before any sharding. No times: as many ranks may differ as like.
std::vector<std::int64_t> parametersOf(const Program& program)
{
    std::vector<std::int64_t> out;
    for (const RankProgram& rank : program.ranks)
        out.push_back(rank.states.parameterElements);
    return out;
}

void runDescribe(const AnswerArguments& arguments)
{
    const ScenarioDocument document = arguments.scenario.document();
    const Scenario scenario = arguments.scenario.resolved(document);
    const auto [schedule, parameters] = attributed(arguments.scenario.file, [&] {
        Schedule planned = planSchedule(scenario);
        std::vector<std::int64_t> counts = parametersOf(lowerProgram(scenario, planned));
        return std::pair(std::move(planned), std::move(counts));
    });
    if (arguments.json) {
        std::cout << describeAnswer(scenario, parameters, &document).dump(2) << "\n";
        return;
    }
    std::cout << titleOf(scenario, arguments.scenario) << "\n\n";
    print(scenario);
    std::cout << "\n";
    printRanks(scenario, schedule, parameters);
}

} // namespace

void addDescribe(CLI::App& app)
{
    addAnswer(app, "describe", "The scenario with every base and default filled in; its parameters, also per pipeline rank",
              runDescribe);
}

} // namespace sim::cli
