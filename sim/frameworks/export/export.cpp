// Writes settings, reads them again as their framework would, and tells what did not come back: so the list of what a framework
// cannot say is what it cannot say, and not what somebody thought of.
#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"

#include "sim/scenario/document.h"
#include "sim/scenario/words.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace sim {
namespace frameworks {

std::string worldLine(const Scenario& s)
{
    const Layout& l = s.layout;
    const int perNode = std::max(1, std::min(s.cluster.gpusPerNode, l.worldSize()));
    return std::to_string(std::max(1, l.worldSize() / perNode)) + " nodes x " + std::to_string(perNode) + " GPUs: tp " +
           std::to_string(l.tp) + " x cp " + std::to_string(l.cp) + " x pp " + std::to_string(l.pp) + " x dp " +
           std::to_string(l.dp) + " = " + std::to_string(l.worldSize()) + "; m " + std::to_string(s.microbatches()) +
           " micro-batches of " + std::to_string(s.training.microBatchSize);
}

std::int64_t stepsOfRun(const Scenario& s)
{
    const double ofStep = 1.0 * s.training.sequenceLength * s.training.globalBatchSize;
    const double steps = s.training.tokens / ofStep, nearest = std::round(steps);
    return static_cast<std::int64_t>(nearest * ofStep == s.training.tokens ? nearest : std::ceil(steps));
}

std::string pythonLiteral(const Json& value)
{
    if (value.is_boolean())
        return value.get<bool>() ? "True" : "False";
    return value.is_null() ? "None" : value.dump();
}

std::string yamlText(const Json& value, int indentation)
{
    std::string text;
    const std::string blanks(static_cast<std::size_t>(indentation), ' ');
    for (const auto& [key, member] : value.items()) {
        if (member.is_object()) {
            text += blanks + key + ":\n" + yamlText(member, indentation + 2);
            continue;
        }
        const bool isPlain = member.is_string() && !member.get<std::string>().empty() &&
                             member.get<std::string>().find_first_of(" :#{}[]*&!|>'\"%@`,?") == std::string::npos &&
                             member != "no" && member != "32" && member != "16";
        text += blanks + key + ": " + (isPlain ? member.get<std::string>() : member.dump()) + "\n";
    }
    return text;
}

namespace {

/// Leaves that differ, in `want`'s order. Lists are one value.
void differences(const Json& want, const Json& have, const std::string& pointer, std::vector<std::array<std::string, 3>>& out)
{
    if (want.is_object() && have.is_object()) {
        for (const auto& [key, value] : want.items()) {
            const Json* const other = memberOf(have, key);
            differences(value, other != nullptr ? *other : Json(nullptr), childPointer(pointer, key), out);
        }
        for (const auto& [key, value] : have.items())
            if (!want.contains(key))
                differences(Json(nullptr), value, childPointer(pointer, key), out);
        return;
    }
    if (want == have)
        return;
    // An order that names ep is the same one as without where there are no experts' groups.
    if (pointer == "/layout/order" && want.is_string() && have.is_string()) {
        const auto plain = [](std::string order) {
            if (const std::size_t at = order.find("ep-"); at != std::string::npos)
                order.erase(at, 3);
            return order;
        };
        if (plain(want.get<std::string>()) == plain(have.get<std::string>()))
            return;
    }
    out.push_back({pointer, want.dump(), have.dump()});
}

/// So many layers of each chunk as the fullest has, or more, are all of them, which need not be counted.
void sayAllLayersPlainly(Json& scenario)
{
    Json& recompute = scenario["training"]["recompute"];
    const Json* const layers = recompute.is_object() ? memberOf(recompute, "layers") : nullptr;
    const Json& counts = scenario["schedule"]["layers_per_stage"];
    if (layers == nullptr || recompute["kind"] != "full" || !counts.is_array())
        return;
    int fullest = 0;
    for (const Json& count : counts)
        fullest = std::max(fullest, count.get<int>());
    if (fullest > 0 && layers->get<int>() >= fullest)
        recompute = "full";
}

/// The one key that means the biases of every matrix says each part's, and all parts' where no layer has other matrices say it.
void sayBiasesPlainly(Json& scenario)
{
    Json& model = scenario["model"];
    const auto isOn = [&model](const char* key) { return memberOr<bool>(model, key, false); };
    const bool hasExpertsAlone = memberOr<int>(model, "num_experts", 0) > 0 && memberOr<int>(model, "moe_layer_freq", 1) == 1 &&
                                 memberOr<int>(model, "first_k_dense_replace", 0) == 0 &&
                                 memberOr<int>(model, "num_shared_experts", 0) == 0;
    if (hasExpertsAlone && isOn("qkv_bias") && isOn("attention_output_bias") && isOn("expert_bias"))
        model["bias"] = true;
    if (isOn("bias"))
        for (const char* part : {"qkv_bias", "attention_output_bias", "expert_bias"})
            model[part] = true;
}

bool hasMeaning(const Scenario& s, const std::string& pointer)
{
    if (pointer == "/model/intermediate_size" && s.model.moeLayers() == s.model.numHiddenLayers) // no layer is dense
        return false;
    if (pointer.ends_with("/base") || pointer.ends_with("/name") || (pointer == "/training/tokens" && s.training.tokens == 0))
        return false;
    if (s.layout.ep == 1 && pointer == "/training/moe/send_once_per_node")
        return false;
    if (s.layout.pp == 1 && pointer == "/schedule/kind") // one rank has an order, too: all forward passes may come first
        return s.microbatches() > 1 && s.schedule.kind != "1f1b";
    if (s.layout.pp == 1 && (pointer.starts_with("/schedule") || pointer == "/training/overlap/p2p"))
        return false;
    if ((s.layout.pp == 1 || s.layout.dp == 1) && pointer == "/layout/order")
        return false;
    if (s.schedule.virtualStages == 1 && pointer == "/schedule/microbatch_group")
        return false;
    if (s.layout.tp == 1 && (pointer == "/layout/sequence_parallel" || pointer == "/training/overlap/tp_comm"))
        return false;
    if (!isSplitInReplicas(s) && (pointer == "/training/overlap/grad_reduce" || pointer == "/training/overlap/param_gather"))
        return false;
    if (!isSplitInReplicas(s) && (pointer == "/layout/zero_stage" || pointer == "/layout/reshard_after_forward" ||
                                  pointer == "/layout/reduce_each_microbatch" || pointer == "/layout/dp_shard"))
        return false;
    if (s.layout.zeroStage == 0 && (pointer == "/layout/dp_shard" || pointer == "/training/overlap/param_gather"))
        return false;
    if (s.layout.zeroStage < 3 && pointer == "/layout/reshard_after_forward")
        return false;
    if ((s.layout.zeroStage < 2 || s.layout.pp > 1 || s.microbatches() == 1) && pointer == "/layout/reduce_each_microbatch")
        return false;
    // What the software does of itself is told with it, as /training/stack.
    const Stack& stack = s.training.stack;
    if (pointer == "/training/overlap/param_gather" && s.layout.zeroStage == 3 && !stack.gathersAhead &&
        !s.training.overlap.paramGather)
        return false;
    if (pointer == "/training/attention" && stack.attention != AttentionKernel::automatic &&
        s.training.attention == stack.attention)
        return false;
    if (pointer == "/training/gradient_dtype" && stack.gradientDtype == "bf16" && s.training.gradientBytes == 2)
        return false;
    if (s.model.numExperts == 0 &&
        (pointer == "/layout/etp" || pointer == "/training/overlap/ep_comm" || pointer.starts_with("/training/moe")))
        return false;
    return true;
}

/// A form may name the software, as whether it compiles; which kernels that has is no setting. Gives the document the scenario's
/// own, with what selective recomputation means to the one that it names, and returns that, resolved.
Json keepKernels(ScenarioDocument& document, const Json& want, const Catalogue& catalogue)
{
    const ScenarioDocument::Resolved own = document.resolve(catalogue);
    if (!own.scenario)
        return Json::object();
    const Training& training = own.scenario->training;
    if (training.recompute == Recompute::selective) {
        Json modules = Json::array();
        for (const auto& [word, module] : kRecomputeModuleWords)
            if (training.recomputeModules.has(module))
                modules.push_back(word);
        document.set("/training/recompute", Json({{"kind", "selective"}, {"modules", modules}}).dump());
    }
    document.set("/training/stack", want["training"]["stack"].dump());
    return Json::parse(resolvedText(*own.scenario))["training"]["stack"];
}

/// What differs of the software: its name, and each key that the scenario says besides and the form, which means `have`, does
/// not. Kernels that another name brings with it are told by that name.
std::vector<std::array<std::string, 3>> lostOfStack(const Json& scenario, const Json& have, bool isSaid,
                                                    const Catalogue& catalogue)
{
    constexpr const char* kStack = "/training/stack";
    const Json& want = scenario["training"]["stack"];
    const std::string id = memberOr<std::string>(want, "id", ""), said = memberOr<std::string>(have, "id", "");
    std::vector<std::array<std::string, 3>> lost;
    if (id == said) { // the form may say more of it than the scenario does
        differences(want, have, kStack, lost);
        return lost;
    }
    lost.push_back({kStack, id, isSaid ? said : "what belongs to the GPU"});
    ScenarioDocument named =
        ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "layout": {"tp": 1, "dp": 1}})");
    for (const auto& [pointer, value] :
         {std::pair{"/model", Json("tiny-llama")}, {"/cluster", scenario["cluster"]}, {kStack, Json(id)}})
        named.set(pointer, value.dump());
    const ScenarioDocument::Resolved resolved = named.resolve(catalogue);
    if (!resolved.scenario) { // a name of the scenario's own brings no kernels: each that differs is told
        std::vector<std::array<std::string, 3>> all;
        differences(want, have, kStack, all);
        for (auto& one : all)
            if (one[0] != "/training/stack/id" && one[0] != "/training/stack/name" && one[0] != "/training/stack/date")
                lost.push_back(std::move(one));
        return lost;
    }
    const Json plain = Json::parse(resolvedText(*resolved.scenario))["training"]["stack"];
    std::vector<std::array<std::string, 3>> own;
    differences(want, plain, kStack, own);
    for (auto& [pointer, value, _] : own) {
        const Json::json_pointer inStack(pointer.substr(std::string_view(kStack).size()));
        const std::string instead = have.contains(inStack) ? have.at(inStack).dump() : std::string("null");
        if (instead != value)
            lost.push_back({std::move(pointer), std::move(value), instead});
    }
    return lost;
}

/// A document's model, with no more beside it than every scenario has; else why it is none.
std::optional<Json> modelAlone(const ScenarioDocument& document, const Catalogue& catalogue, std::string& problem)
{
    ScenarioDocument alone =
        ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "layout": {"tp": 1, "dp": 1}})");
    for (const char* block : {"/model", "/cluster"})
        alone.set(block, document.get(block).value_or("{}"));
    const ScenarioDocument::Resolved resolved = alone.resolve(catalogue);
    if (!resolved.scenario) {
        problem = resolved.problems.empty() ? std::string() : resolved.problems.front().text();
        return std::nullopt;
    }
    return Json::parse(resolvedText(*resolved.scenario))["model"];
}

std::string writtenAs(const Scenario& s, std::string_view kind)
{
    using Writer = std::string (*)(const Scenario&);
    static constexpr std::array<std::pair<std::string_view, Writer>, 10> kWriters = {{{"megatron-args", writeMegatron},
                                                                                      {"nemo-yaml", writeNemo},
                                                                                      {"bridge-python", writeBridge},
                                                                                      {"torchtitan-toml", writeTorchtitan},
                                                                                      {"deepspeed-json", writeDeepSpeed},
                                                                                      {"nanotron-yaml", writeNanotron},
                                                                                      {"accelerate-yaml", writeAccelerate},
                                                                                      {"huggingface", writeHuggingFace},
                                                                                      {"picotron-json", writePicotron},
                                                                                      {"maxtext", writeMaxText}}};
    std::vector<std::string> ids;
    for (const auto& [id, write] : kWriters) {
        if (id == kind)
            return write(s);
        ids.emplace_back(id);
    }
    std::string list;
    for (const std::string& id : ids)
        list += (list.empty() ? "" : ", ") + id;
    throw Error(quotedText(kind) + " is no kind of settings that is written" + nearestWords(kind, ids) + "; there are " + list);
}

} // namespace
} // namespace frameworks

Exported exportSettings(const Scenario& scenario, std::string_view kind, const Catalogue& catalogue)
{
    using namespace frameworks;
    Exported out{.kind = std::string(kind), .text = writtenAs(scenario, kind)};
    const Imported back =
        importSettings({{"exported", out.text}}, {.kind = std::string(kind), .gpus = scenario.layout.worldSize()}, catalogue);
    Json want = Json::parse(resolvedText(scenario));
    ScenarioDocument document = ScenarioDocument::parse(back.scenario);
    document.set("/cluster", want["cluster"].dump());
    std::vector<std::array<std::string, 3>> lost;
    if (kind == "deepspeed-json" || kind == "accelerate-yaml") { // it says nothing of the model, which stands beside it
        document.set("/model", want["model"].dump());
        // What is assumed where nobody says the length may be more than the model's positions: the rest is compared beside its
        // own.
        const std::string length = want["training"]["sequence_length"].dump();
        document.set("/training/sequence_length", length);
        lost.push_back({"/training/sequence_length", length, ""});
    }
    const bool saysStack = document.get("/training/stack").has_value();
    Json stackSaid = saysStack ? keepKernels(document, want, catalogue) : Json::object();
    ScenarioDocument::Resolved resolved = document.resolve(catalogue);
    std::optional<Json> standIn; // the model that a form without a name for this one is read with, where the rest is not of it
    if (!resolved.scenario) {
        std::string problem;
        standIn = modelAlone(document, catalogue, problem);
        if (!standIn)
            out.notes.push_back({"/model", "", 0, Became::notRepresentable, "/model", "is read back as none: " + problem});
        document.set("/model", want["model"].dump());
        resolved = document.resolve(catalogue);
    }
    Json have = resolved.scenario ? Json::parse(resolvedText(*resolved.scenario)) : Json::parse(back.scenario);
    if (resolved.scenario && standIn)
        have["model"] = *standIn;
    sayAllLayersPlainly(want);
    sayBiasesPlainly(want);
    if (resolved.scenario) {
        sayAllLayersPlainly(have);
        sayBiasesPlainly(have);
    }
    for (const char* block : {"model", "layout", "schedule", "training"})
        differences(*memberOf(want, block), have.contains(block) ? have[block] : Json::object(), std::string("/") + block, lost);
    std::erase_if(lost, [](const auto& one) { return one[0].starts_with("/training/stack"); });
    if (!saysStack && resolved.scenario)
        stackSaid = have["training"]["stack"];
    for (auto& one : lostOfStack(want, stackSaid, saysStack, catalogue))
        lost.push_back(std::move(one));
    // What a form has nothing of at all is told once.
    const auto isNothingOf = [&](std::string_view block) {
        if (kind == "huggingface")
            return block != "/model";
        return (kind == "deepspeed-json" || kind == "accelerate-yaml") && block == "/model";
    };
    for (const char* block : {"/model", "/layout", "/schedule", "/training"})
        if (isNothingOf(block))
            out.notes.push_back({block, "", 0, Became::notRepresentable, block, "is no part of this form"});
    for (auto& [pointer, value, instead] : lost) {
        if (isNothingOf(pointer.substr(0, pointer.find('/', 1))))
            continue;
        if (!hasMeaning(scenario, pointer))
            continue;
        if (const double run = pointer == "/training/tokens" ? memberOr<double>(have["training"], "tokens", 0) : 0; run > 0)
            out.notes.push_back({pointer, shownText(value, 80), 0, Became::used, pointer,
                                 "a run is whole steps: " + std::to_string(stepsOfRun(scenario)) + " of them have " +
                                     shownText(instead, 80) + " tokens"});
        else if (isLeftToProgram(kind, scenario, pointer))
            out.notes.push_back({pointer, shownText(value, 80), 0, Became::notRepresentable, pointer,
                                 "is said to the program that reads this form, and not in it"});
        else
            out.notes.push_back({pointer, shownText(value, 80), 0, Became::notRepresentable, pointer,
                                 "not expressible; there it is " + shownText(instead, 80)});
    }
    if (kind == "picotron-json" && huggingFaceId(scenario.model.base).empty())
        out.notes.push_back({"/model/base", shownText(scenario.model.base, 80), 0, Became::notRepresentable, "/model/base",
                             "picotron takes the model's sizes from a name on Hugging Face: give model.name one of this size"});
    if (!scenario.perturbations.empty())
        out.notes.push_back(
            {"/perturbations", "", 0, Became::notRepresentable, "/perturbations", "what is not ideal is no setting"});
    const bool hasComments = kind != "deepspeed-json" && kind != "huggingface" && kind != "picotron-json";
    if (hasComments) {
        for (const Note& note : out.notes)
            if (note.became == Became::notRepresentable)
                out.text += "# not expressible: " + note.setting + (note.value.empty() ? "" : " = " + note.value) + "\n";
        out.text += "# " + worldLine(scenario) + "\n";
    } else {
        out.notes.push_back({"world", worldLine(scenario), 0, Became::used, "", "the launcher starts this many"});
    }
    return out;
}

} // namespace sim
