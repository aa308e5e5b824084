// import: settings of another framework as a scenario on standard output, what became of each on standard error. export: back.
#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/table.h"
#include "sim/scenario/pointer_text.h"

#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"
#include "sim/frameworks/read/setting.h"
#include "sim/scenario/json_text.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct ImportArguments {
    std::vector<std::string> files;
    std::string from;
    int gpus = 0;
    std::vector<std::string> overrides;
    bool json = false, all = false;
};

Json noteJson(const Note& note)
{
    Json json{{"setting", note.setting},       {"value", note.value},     {"line", note.line},
              {"became", wordOf(note.became)}, {"pointer", note.pointer}, {"text", note.text}};
    if (!note.file.empty())
        json["file"] = note.file;
    return json;
}

/// "model.yaml:12: tensor_model_parallel_size = 8: used as /layout/tp".
std::string noteLine(const Note& note, const std::string& onlyFile)
{
    std::string text = note.file.empty() ? onlyFile : note.file;
    if (note.line > 0)
        text += ":" + std::to_string(note.line);
    text += ": " + note.setting;
    if (!note.value.empty())
        text += " = " + note.value;
    std::string became(wordOf(note.became));
    std::replace(became.begin(), became.end(), '_', ' ');
    text += ": " + became;
    if (!note.pointer.empty())
        text += " (" + note.pointer + ")";
    return note.text.empty() ? text : text + ": " + note.text;
}

void printNotes(const Imported& imported, const std::string& file, bool all)
{
    std::array<int, 6> counts{};
    for (const Note& note : imported.notes)
        ++counts[static_cast<std::size_t>(note.became)];
    std::string text;
    for (const Note& note : imported.notes)
        if (all || note.became == Became::notRepresentable || note.became == Became::contradictory ||
            note.became == Became::unknown || !note.text.empty())
            if (all || note.became != Became::harmless)
                text += noteLine(note, file) + "\n";
    text += file + ": read as " + imported.kind + ": " + std::to_string(counts[0]) + " used, " + std::to_string(counts[1]) +
            " by default, " + std::to_string(counts[2]) + " harmless, " + std::to_string(counts[3]) + " not representable, " +
            std::to_string(counts[4]) + " contradictory, " + std::to_string(counts[5]) + " unknown" +
            (all ? "" : " (--all-notes lists each)") + "\n";
    std::cerr << linesForAPerson(text);
}

void runImport(const ImportArguments& arguments)
{
    std::vector<SettingsFile> files;
    for (const std::string& name : arguments.files)
        files.push_back({name, readFile(name, frameworks::kMostBytes, Pipes::read)});
    ImportOptions options{.kind = arguments.from};
    if (arguments.gpus > 0)
        options.gpus = arguments.gpus;
    for (const std::string& assignment : arguments.overrides) { // what else follows from these the reading knows
        const std::size_t equals = assignment.find('=');
        if (equals == std::string::npos)
            continue;
        const std::string pointer = slashed(assignment.substr(0, equals)), value = assignment.substr(equals + 1);
        if (const std::optional<int> size = sim::wholeNumber<int>(frameworks::valueOf(value)))
            options.sizes.emplace(pointer, *size);
        else if (pointer == "/cluster/base" && catalogue().clusterJson(value) != nullptr)
            options.cluster = value;
    }
    Imported imported = importSettings(files, options, catalogue());
    ScenarioDocument document = ScenarioDocument::parse(imported.scenario);
    for (const std::string& assignment : arguments.overrides) {
        document.applyOverride(assignment, catalogue());
        const std::string pointer = slashed(assignment.substr(0, assignment.find('=')));
        const auto isSaid = [&](const std::string& one) { return one == pointer || pointer.starts_with(one + "/"); };
        std::erase_if(imported.notes, [&](const Note& note) { // which asks for what is said now
            return note.became == Became::unknown && isSaid(note.pointer) &&
                   std::find(imported.unknown.begin(), imported.unknown.end(), note.pointer) != imported.unknown.end();
        });
        std::erase_if(imported.unknown, isSaid);
    }
    const std::string text = document.text();
    const auto resolved = document.resolve(catalogue());
    if (arguments.json) {
        Json notes = Json::array();
        for (const Note& note : imported.notes)
            notes.push_back(noteJson(note));
        Json problems = Json::array();
        for (const Problem& problem : resolved.problems)
            problems.push_back(problem.text());
        std::cout << Json{{"kind", imported.kind}, {"scenario", Json::parse(text)},          {"unknown", imported.unknown},
                          {"notes", notes},        {"legal", resolved.scenario.has_value()}, {"problems", problems}}
                         .dump(2)
                  << "\n";
        return;
    }
    std::cout << text;
    printNotes(imported, arguments.files.front(), arguments.all);
    for (const Problem& problem : resolved.problems)
        std::cerr << linesForAPerson("scenario: " + problem.text());
    if (!resolved.scenario) // the settings were read all the same: that is what was asked for
        std::cerr << "scenario: its job breaks a rule, and is refused wherever a legal one is asked for; plan finds others\n";
}

std::vector<std::string> idsOfFrameworks(bool onlyExported)
{
    std::vector<std::string> ids;
    for (const FrameworkKind& kind : frameworkKinds())
        if (!onlyExported || kind.isExported)
            ids.emplace_back(kind.id);
    return ids;
}

/// What --to names: a kind, or a framework as plan --for has it.
std::string kindNamed(const std::string& word)
{
    const auto kinds = frameworkKinds();
    const bool isKind = std::any_of(kinds.begin(), kinds.end(), [&](const FrameworkKind& kind) { return kind.id == word; });
    const Framework* const framework = isKind ? nullptr : findFramework(word);
    return framework == nullptr ? word : std::string(framework->kind);
}

std::vector<std::string> wordsOfKinds()
{
    std::vector<std::string> words = idsOfFrameworks(true);
    for (const Framework& framework : frameworkList())
        if (std::find(words.begin(), words.end(), framework.id) == words.end())
            words.emplace_back(framework.id);
    return words;
}

struct ExportArguments {
    ScenarioArguments scenario;
    std::string to;
    bool json = false;
};

void runExport(const ExportArguments& arguments)
{
    const Scenario scenario = arguments.scenario.read();
    const Exported exported =
        attributed(arguments.scenario.file, [&] { return exportSettings(scenario, kindNamed(arguments.to), catalogue()); });
    if (arguments.json) {
        Json notes = Json::array();
        for (const Note& note : exported.notes)
            notes.push_back(noteJson(note));
        std::cout << Json{{"kind", exported.kind}, {"text", exported.text}, {"notes", notes}}.dump(2) << "\n";
        return;
    }
    std::cout << exported.text;
    for (const Note& note : exported.notes)
        std::cerr << linesForAPerson(noteLine(note, exported.kind));
}

} // namespace

void addImport(CLI::App& app)
{
    CLI::App* command = app.add_subcommand(
        "import", "Settings of another framework as a scenario; what became of each on standard error. Succeeds "
                  "where they were read, if the job breaks a rule, too, which validate refuses");
    auto arguments = std::make_shared<ImportArguments>();
    command->add_option("FILE", arguments->files, "Files of one job: a script and its JSON, a YAML and a model's config.json")
        ->type_name("")
        ->required()
        ->check(notEmpty());
    command->add_option("--from", arguments->from, "The kind they are; recognised by content where not given")
        ->type_name("KIND")
        ->check(oneOf(idsOfFrameworks(false), Words::listed));
    command->add_option("--gpus", arguments->gpus, "GPUs of the job, where the files do not say")
        ->type_name("N")
        ->check(wholeNumberFrom(1));
    addOverrides(*command, arguments->overrides);
    command->add_flag("--json", arguments->json,
                      "One JSON document: kind, scenario, unknown, notes, whether the job is legal and problems");
    command->add_flag("--all-notes", arguments->all, "Also what is used or harmless, setting by setting");
    command->callback([arguments] { runImport(*arguments); });
}

void addExport(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("export", "The settings that produce this layout in another framework");
    auto arguments = std::make_shared<ExportArguments>();
    arguments->scenario.addTo(*command);
    command->add_option("--to", arguments->to, "The kind to write, or a framework as plan --for has it")
        ->type_name("KIND")
        ->required()
        ->check(oneOf(wordsOfKinds(), Words::listed));
    command->add_flag("--json", arguments->json, "One JSON document: kind, text, notes");
    command->callback([arguments] { runExport(*arguments); });
}

} // namespace sim::cli
