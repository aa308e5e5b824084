// The table of kinds, and which reader and dialect a file goes through.
#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/job.h"
#include "sim/frameworks/read/shell_sources.h"
#include "sim/frameworks/recognition.h"

#include "sim/text/characters.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

constexpr std::array kKinds = {
    FrameworkKind{"megatron-args", "Megatron-LM arguments", "2020 to NVIDIA/Megatron-LM d98e8a6 (2026)", ".sh"},
    FrameworkKind{"megatron-yaml", "Megatron-LM --yaml-cfg", "NVIDIA/Megatron-LM d98e8a6", ".yaml", false},
    FrameworkKind{"nemo-yaml", "NeMo 1 YAML", "NeMo-Framework-Launcher 26e42fa (NeMo 1.x)", ".yaml"},
    FrameworkKind{"bridge-python", "Megatron-Bridge recipe", "NVIDIA-NeMo/Megatron-Bridge 067f987", ".py"},
    FrameworkKind{"torchtitan-toml", "torchtitan TOML", "early 2024 to v0.2.0 (29624e3), overrides of b5bcd76 (2026)", ".toml"},
    FrameworkKind{"deepspeed-json", "DeepSpeed JSON", "deepspeedai/DeepSpeed edaa722, transformers 008e574", ".json"},
    FrameworkKind{"megatron-deepspeed", "Megatron-DeepSpeed arguments",
                  "deepspeedai/Megatron-DeepSpeed 4efb479, bigscience 9e64ede, gpt-neox ea7aefd8", ".sh", false},
    FrameworkKind{"nanotron-yaml", "nanotron YAML", "huggingface/nanotron 2411b02", ".yaml"},
    FrameworkKind{"accelerate-yaml", "Accelerate YAML", "huggingface/accelerate 16cb6eb", ".yaml"},
    FrameworkKind{"axolotl-yaml", "axolotl YAML", "axolotl-ai-cloud/axolotl 067b021", ".yaml", false},
    FrameworkKind{"llamafactory-yaml", "LLaMA-Factory YAML", "hiyouga/LLaMA-Factory ff6d4d1 (2026)", ".yaml", false},
    FrameworkKind{"trl-args", "TRL or Transformers' Trainer", "huggingface/trl f2cd577 (2026), transformers 008e574", ".yaml",
                  false},
    FrameworkKind{"swift-args", "ms-swift arguments", "modelscope/ms-swift 3602360 (2026)", ".sh", false},
    FrameworkKind{"veomni-yaml", "VeOmni YAML", "ByteDance-Seed/VeOmni d977449 (2026)", ".yaml", false},
    FrameworkKind{"huggingface", "Hugging Face config.json", "huggingface/transformers 008e574", ".json"},
    FrameworkKind{"picotron-json", "picotron JSON", "huggingface/picotron 59714b1", ".json"},
    FrameworkKind{"maxtext", "MaxText YAML", "AI-Hypercomputer/maxtext e591f30", ".yml"},
};

} // namespace

std::span<const FrameworkKind> frameworkKinds()
{
    return kKinds;
}

std::string_view wordOf(Became became)
{
    switch (became) {
    case Became::used:
        return "used";
    case Became::byDefault:
        return "default";
    case Became::harmless:
        return "harmless";
    case Became::notRepresentable:
        return "not_representable";
    case Became::contradictory:
        return "contradictory";
    case Became::unknown:
        break;
    }
    return "unknown";
}

namespace frameworks {
namespace {

/// "name=value" words of a command, as MaxText takes them.
Sheet readAssignedWords(const std::string& file, const std::string& text)
{
    Sheet sheet;
    int line = 1;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" \t\n\\;", at), text.size());
        const std::string word = text.substr(at, end - at);
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos && equals > 0 && equals < 80 &&
            std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                        [](char c) { return startsName(c) || isDigit(c); })) {
            std::string value = word.substr(equals + 1);
            std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
            if (sheet.settings.size() > kMostSettings)
                failAt(file, line, "has more than " + std::to_string(kMostSettings) + " settings");
            const std::string name = word.substr(0, equals);
            const bool isVariable = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
            sheet.settings.push_back({(isVariable ? "@env." : "") + name, valueOf(value), line, name, file});
        }
        if (end < text.size() && text[end] == '\n')
            ++line;
        at = end + 1;
    }
    return sheet;
}

/// What a command line says goes before what the files say that it names, in whatever order they are given.
Sheet ofCommand(Sheet sheet)
{
    for (Setting& setting : sheet.settings)
        setting.isOfCommand = true;
    return sheet;
}

Sheet sheetOf(const std::string& kind, const std::string& file, const std::string& text, std::span<OtherFile> others = {})
{
    if (isNeoxText(text) || isYamlInBraces(file, text) || isPrimusText(text))
        return readYaml(file, text); // with comments and commas that JSON does not have
    if (firstCharacter(text) == '{')
        return readJson(file, text);
    if (kind == "megatron-args" || kind == "megatron-deepspeed") {
        if (isMappingOfFlags(text))
            return readYaml(file, text);
        return looksLikeArgumentDump(text) && !contains(text, {"--num-layers", "--hidden-size"})
                   ? readArgumentDump(file, text)
                   : ofCommand(readShell(file, text, others));
    }
    const bool isCommand = (kind == "trl-args" && !isTrainersFile(text)) || (kind == "swift-args" && !isSwiftFile(text));
    if (isCommand || (kind == "deepspeed-json" && contains(text, {"--"})))
        return ofCommand(readShell(file, text, others));
    if (kind == "torchtitan-toml") {
        if (!contains(text, {"--parallelism.", "--training.", "--model."}))
            return readToml(file, text);
        return ofCommand(readShell(file, text, others));
    }
    if (kind == "bridge-python") {
        if (!contains(text, {"_target_:"}) && (contains(text, {"="}) || !contains(text, {":"})))
            return readPython(file, text);
        Sheet dump = readYaml(file, text);
        joinReferences(dump.settings);
        return dump;
    }
    if (kind == "maxtext") {
        if (!text.starts_with("#!") &&
            contains(text, {"_parallelism:", "per_device_batch_size:", "base_emb_dim:", "model_name:"}))
            return readYaml(file, text);
        Sheet command = readShellAssignments(file, text);
        return ofCommand(command.settings.empty() ? readAssignedWords(file, text) : std::move(command));
    }
    return readYaml(file, text);
}

using Dialect = void (*)(Job&);
Dialect dialectOf(const std::string& kind)
{
    static constexpr std::array<std::pair<std::string_view, Dialect>, 17> kDialects = {
        {{"megatron-args", readMegatron},
         {"megatron-yaml", readMegatronYaml},
         {"nemo-yaml", readNemo},
         {"bridge-python", readBridge},
         {"torchtitan-toml", readTorchtitan},
         {"deepspeed-json", readDeepSpeed},
         {"megatron-deepspeed", readMegatronDeepSpeed},
         {"nanotron-yaml", readNanotron},
         {"accelerate-yaml", readAccelerate},
         {"axolotl-yaml", readAxolotl},
         {"llamafactory-yaml", readLlamaFactory},
         {"trl-args", readTrl},
         {"swift-args", readSwift},
         {"veomni-yaml", readVeOmni},
         {"huggingface", readHuggingFace},
         {"picotron-json", readPicotron},
         {"maxtext", readMaxText}}};
    for (const auto& [id, dialect] : kDialects)
        if (id == kind)
            return dialect;
    return nullptr;
}

std::string idsOfKinds()
{
    std::string text;
    for (const FrameworkKind& kind : frameworkKinds())
        text += (text.empty() ? "" : ", ") + std::string(kind.id);
    return text;
}

void checkKind(const std::string& kind)
{
    if (dialectOf(kind) != nullptr)
        return;
    std::vector<std::string> ids;
    for (const FrameworkKind& one : frameworkKinds())
        ids.emplace_back(one.id);
    throw Error(quotedText(kind) + " is no kind of settings" + nearestWords(kind, ids) + "; there are " + idsOfKinds());
}

/// Kinds that Accelerate's file may stand beside, as it launches them.
bool isLaunchedByAccelerate(std::string_view kind)
{
    return kind == "llamafactory-yaml" || kind == "trl-args" || kind == "swift-args";
}

/// Kinds that name a DeepSpeed file.
bool startsDeepSpeed(std::string_view kind)
{
    return kind == "axolotl-yaml" || kind == "accelerate-yaml" || isLaunchedByAccelerate(kind);
}

/// "auto" that whoever starts DeepSpeed fills in from a setting of its own. A bucket it makes from the model, which the dialect
/// knows.
bool isFilledInByScript(const Setting& setting)
{
    return setting.value == Json("auto") && setting.name != "zero_optimization.reduce_bucket_size";
}

/// "auto" of DeepSpeed's file beside the script that fills it in.
void tellFilledIn(Sheet& sheet, const std::string& script, std::vector<Note>& others)
{
    std::erase_if(sheet.settings, [&](const Setting& setting) {
        const bool isOpen = isFilledInByScript(setting);
        if (isOpen)
            others.push_back({setting.spelled, "auto", setting.line, Became::harmless, "",
                              "is filled in as " + script + " has it", setting.file});
        return isOpen;
    });
}

/// The model is taken from a file beside: settings that say another value are contradicted by it.
void tellReplaced(std::vector<Note>& notes, const Json& said, const Json& taken, const std::string& from)
{
    for (Note& note : notes) {
        if (!note.pointer.starts_with("/model/") || note.file == from ||
            (note.became != Became::used && note.became != Became::byDefault))
            continue;
        const Json::json_pointer key(note.pointer);
        if (!said.contains(key) || (taken.contains(key) && taken.at(key) == said.at(key)))
            continue;
        note.became = note.became == Became::used ? Became::contradictory : Became::harmless;
        note.text = (taken.contains(key) ? from + " says " + taken.at(key).dump() : from + " does not say it") +
                    ", and the model is taken from there";
    }
}

} // namespace
} // namespace frameworks

std::string recognisedKind(const SettingsFile& file)
{
    return frameworks::kindOfText(file.name, file.text);
}

Imported importSettings(const std::vector<SettingsFile>& files, const ImportOptions& options, const Catalogue& catalogue)
{
    using namespace frameworks;
    if (files.empty())
        throw Error("no file of settings is given");
    if (options.gpus && *options.gpus < 1)
        throw Error(std::to_string(*options.gpus) + " GPUs train nothing; give 1 or more");
    if (!options.kind.empty())
        checkKind(options.kind);
    std::vector<std::string> clusters;
    for (const Catalogue::Entry& entry : catalogue.clusters())
        clusters.push_back(entry.id);
    if (!options.cluster.empty() && catalogue.clusterJson(options.cluster) == nullptr)
        throw Error(quotedText(options.cluster) + " is no cluster of the catalogue" + nearestWords(options.cluster, clusters));
    struct Part {
        std::string name, text, kind;
    };
    std::vector<Part> parts;
    for (const SettingsFile& file : files) {
        std::string text = cleanText(file.name, file.text);
        std::string kind = kindOfText(file.name, text);
        parts.push_back({file.name, std::move(text), std::move(kind)});
    }
    // The one that says most about the layout leads; a DeepSpeed file or a model's config beside it says the rest.
    std::size_t lead = 0;
    const auto isBeside = [](const std::string& kind) {
        return kind == "deepspeed-json" || kind == "huggingface" || kind.empty();
    };
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (!options.kind.empty() ? parts[i].kind == options.kind : isBeside(parts[lead].kind) && !isBeside(parts[i].kind)) {
            lead = i;
            break;
        }
    if (options.kind.empty() && parts[lead].kind == "accelerate-yaml") // it may launch what another one says
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (isLaunchedByAccelerate(parts[i].kind))
                lead = i;
    std::string kind = options.kind.empty() ? parts[lead].kind : options.kind;
    const std::string& leadName = parts[lead].name;
    const bool isScript = leadName.ends_with(".sh") || leadName.ends_with(".slurm") || leadName.ends_with(".sbatch");
    for (std::size_t i = 0; i < parts.size(); ++i) // what runs it is read, which may say no more than that
        if (i != lead && (parts[i].kind == parts[lead].kind || (isScript && parts[i].kind.empty())) &&
            isRunBy(parts[i].text, leadName)) {
            lead = i;
            break;
        }
    if ((kind.empty() || kind == "torchtitan-toml") && isTitanRegistry(parts[lead].text))
        throw Error(parts[lead].name + ": is a program that makes torchtitan's configurations, and no program is run here: start "
                                       "torchtitan with --debug.print_config and give the JSON that it prints, or give overrides "
                                       "(--parallelism.…, --training.…)");
    if (kind.empty())
        throw Error(parts[lead].name + ": is none of the kinds of settings known here (" + idsOfKinds() +
                    "); say which with --from");
    for (const Part& part : parts) // FlagScale's: its program, or its tokenizer
        if (kind == "megatron-yaml" && contains(part.text, {"train_rwkv.py", "rwkv/tokenizer/"}))
            throw Error(part.name +
                        ": is of RWKV, whose layers have no attention: a scenario's layers all have it, so that nothing "
                        "of this is imported");
    const bool hasDeepSpeed =
        std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.kind == "deepspeed-json"; });
    if (kind == "megatron-args" && hasDeepSpeed && options.kind.empty())
        kind = "megatron-deepspeed";
    std::vector<OtherFile> others;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (i != lead && firstCharacter(parts[i].text) != '{')
            others.push_back({parts[i].name, parts[i].text});
    Sheet sheet = sheetOf(kind, parts[lead].name, parts[lead].text, others);
    const auto isRun = [&others](const std::string& name) {
        return std::any_of(others.begin(), others.end(),
                           [&](const OtherFile& other) { return other.isRun && other.name == name; });
    };
    Json model = Json::object();
    std::string modelFrom;
    std::vector<Note> notes;
    int sequenceBeside = 0; // as much as a config.json says of it
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i == lead || isRun(parts[i].name))
            continue;
        const Part& part = parts[i];
        if (part.kind == "deepspeed-json" && firstCharacter(part.text) == '{' &&
            !(isNeoxText(parts[lead].text) && isYamlInBraces(part.name, part.text)) &&
            (kind == "megatron-deepspeed" || startsDeepSpeed(kind))) {
            for (Setting& setting : readJson(part.name, part.text).settings) {
                if (startsDeepSpeed(kind) && isFilledInByScript(setting)) {
                    notes.push_back({setting.spelled, "auto", setting.line, Became::harmless, "",
                                     "is filled in as " + parts[lead].name + " has it", part.name});
                    continue;
                }
                setting.name = "ds_config." + setting.name;
                sheet.settings.push_back(std::move(setting));
            }
        } else if (isNeoxText(parts[lead].text) && isYamlInBraces(part.name, part.text)) { // the other half of its table
            Sheet more = readYaml(part.name, part.text);
            std::move(more.settings.begin(), more.settings.end(), std::back_inserter(sheet.settings));
            std::move(more.comments.begin(), more.comments.end(), std::back_inserter(sheet.comments));
        } else if (part.kind == "accelerate-yaml" && isLaunchedByAccelerate(kind)) { // that it is launched with
            for (Setting& setting : readYaml(part.name, part.text).settings) {
                setting.name = "accelerate." + setting.name;
                sheet.settings.push_back(std::move(setting));
            }
        } else if (part.kind == "huggingface") {
            Job beside{.reading = Reading(readJson(part.name, part.text)), .catalogue = catalogue};
            readHuggingFace(beside);
            model = beside.model;
            modelFrom = part.name;
            sequenceBeside = memberOr<int>(beside.training, "sequence_length", 0);
            for (Note& note : beside.reading.takeNotes()) // of the model alone: how it is trained the other file says
                if (note.pointer.empty() || note.pointer.starts_with("/model") ||
                    (note.pointer != "/training/sequence_length" && note.line > 0)) {
                    if (note.file.empty())
                        note.file = part.name;
                    if (note.became == Became::used && note.pointer.starts_with("/training")) {
                        note.became = Became::harmless;
                        note.text = "how the model is trained " + parts[lead].name + " says";
                    }
                    notes.push_back(std::move(note));
                }
        } else if (part.kind == kind) {
            Sheet more = sheetOf(kind, part.name, part.text, others);
            fillIn(more.settings, sheet.variables);
            std::move(more.settings.begin(), more.settings.end(), std::back_inserter(sheet.settings));
            std::move(more.undecided.begin(), more.undecided.end(), std::back_inserter(sheet.undecided));
            std::move(more.comments.begin(), more.comments.end(), std::back_inserter(sheet.comments));
        } else {
            notes.push_back({part.name, "", 0, Became::unknown, "",
                             "a file of the kind " + (part.kind.empty() ? std::string("that is not known") : part.kind) +
                                 " beside one of the kind " + kind + " is not read",
                             part.name});
        }
    }
    if (kind == "deepspeed-json")
        for (const Part& part : parts)
            if (part.kind == kind && firstCharacter(part.text) != '{') // a script: it fills in what is left open
                tellFilledIn(sheet, part.name, notes);
    if (sheet.settings.empty())
        throw Error(parts[lead].name + ": has no settings of the kind " + kind + "; say which kind it is with --from (" +
                    idsOfKinds() + ")");
    if (files.size() == 1)
        for (Setting& setting : sheet.settings)
            setting.file.clear();
    Job job{.reading = Reading(std::move(sheet)),
            .catalogue = catalogue,
            .askedGpus = options.gpus,
            .askedCluster = options.cluster,
            .askedSizes = options.sizes,
            .modelBeside = model};
    for (const Part& part : parts)
        job.fileNames.push_back(part.name);
    dialectOf(kind)(job);
    if (sequenceBeside > 0 && !job.training.contains("sequence_length")) {
        job.training["sequence_length"] = sequenceBeside;
        job.ask("/training/sequence_length",
                modelFrom + " says no more than the longest sequence: " + std::to_string(sequenceBeside) + " is assumed");
    }
    const Json said{{"model", job.model}};
    if (!model.empty())
        job.model = model;
    Imported out = scenarioOf(std::move(job), kind);
    if (!model.empty())
        tellReplaced(out.notes, said, Json{{"model", model}}, modelFrom);
    for (Note& note : notes)
        out.notes.push_back(std::move(note));
    if (std::none_of(out.notes.begin(), out.notes.end(), [](const Note& note) { return note.became == Became::used; })) {
        const auto wrong = std::find_if(out.notes.begin(), out.notes.end(), [](const Note& note) {
            return note.became == Became::unknown && note.line > 0 && !note.pointer.empty();
        });
        throw Error(parts[lead].name + ": nothing in it is a setting of the kind " + kind + " that says something about a job; " +
                    std::to_string(out.notes.size()) + " lines were looked at" +
                    (wrong != out.notes.end()
                         ? "; line " + std::to_string(wrong->line) + ": " + wrong->setting + ": " + wrong->text
                         : std::string()) +
                    (options.kind.empty() ? "; say which kind it is with --from" : ""));
    }
    return out;
}

} // namespace sim
