#include "sim/cli/command.h"
#include "sim/cli/options.h"

#include "sim/lesson/check.h"
#include "sim/lesson/paper.h"
#include "sim/lesson/results.h"
#include "sim/scenario/json_text.h"
#include "sim/text/number_text.h"

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <set>

namespace sim::cli {
namespace {

struct LessonArguments {
    std::vector<std::string> files, learners;
    std::string file;
    std::uint64_t seed = 1;
    bool json = false, results = false, csv = false;
};

/// Whatever is wrong with it.
std::vector<Problem> problemsOf(const std::string& file)
{
    try {
        return checkLesson(readLesson(file, catalogue()), catalogue());
    } catch (const ScenarioError& error) {
        return error.problems();
    } catch (const Error& error) { // of the check: reading tells all as problems
        return {{file, "", error.what()}};
    }
}

void check(const LessonArguments& arguments)
{
    bool allGood = true;
    LessonValue answer = LessonValue::array();
    for (const std::string& file : arguments.files) {
        const auto begin = std::chrono::steady_clock::now();
        const auto problems = problemsOf(file);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        allGood = allGood && problems.empty();
        LessonValue told = LessonValue::array();
        for (const Problem& problem : problems) {
            told.push_back({{"pointer", problem.pointer}, {"message", problem.message}});
            if (!arguments.json)
                std::cout << linesForAPerson(problem.text());
        }
        answer.push_back({{"file", file}, {"good", problems.empty()}, {"problems", std::move(told)}, {"seconds", seconds}});
    }
    if (arguments.json)
        std::cout << LessonValue{{"good", allGood}, {"lessons", std::move(answer)}}.dump(-1, ' ', false,
                                                                                         LessonValue::error_handler_t::replace)
                  << "\n";
    if (!allGood)
        throw CLI::RuntimeError(kBadInput);
}

Paper paperOf(const std::string& file, std::uint64_t seed)
{
    const Lesson lesson = readLesson(file, catalogue()); // which names its file itself
    return attributed(file, [&] { return Paper(lesson, seed, catalogue()); });
}

constexpr std::size_t kMostOfAnOption = 400;

/// "17.6 GiB", "33.8 %".
std::string toldNumber(const LessonValue& number, const std::string& unit)
{
    if (number.is_number() && unit == "%")
        return numberText(number.get<double>(), Unit::fraction);
    return shownValue(number) + (unit.empty() ? "" : " " + shownText(unit));
}

/// Of a question, as a person reads it: the number, the option's words, the cards in order, "1F1B: 17.6 GiB" of each bar.
std::string toldAnswer(const LessonValue& question)
{
    const LessonValue& answer = question.at("answer");
    const LessonValue* choices = memberOf(question, "choices");
    const bool isBars = question.at("input").get<std::string>() == "bars";
    const auto unit = memberOr<std::string>(question, "unit", {});
    std::string told;
    const LessonValue parts = answer.is_array() ? answer : LessonValue::array({answer});
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto choice = [&](std::size_t at) { return shownText(choices->at(at).get<std::string>(), kMostOfAnOption); };
        told += (told.empty() ? "" : "; ") + (choices == nullptr ? toldNumber(parts[i], unit)
                                              : isBars           ? choice(i) + ": " + toldNumber(parts[i], unit)
                                                                 : choice(parts[i].get<std::size_t>()));
    }
    return told;
}

void printKey(const LessonArguments& arguments)
{
    const Paper paper = paperOf(arguments.file, arguments.seed);
    const LessonValue key = paper.key();
    if (arguments.json) {
        std::cout << key.dump() << "\n";
        return;
    }
    std::cout << shownText(key.at("title").get<std::string>()) << " (seed " << arguments.seed << ")\n";
    for (const LessonValue& question : key.at("questions")) {
        std::cout << "\n" << question.at("id").get<std::string>() << ": ";
        if (question.contains("problem"))
            std::cout << linesForAPerson(question.at("problem").get<std::string>());
        else
            std::cout << linesForAPerson(question.at("ask").get<std::string>()) << "    " << toldAnswer(question) << "\n";
    }
    for (const LessonValue& challenge : key.at("challenges")) {
        std::cout << "\n"
                  << challenge.at("id").get<std::string>() << ": " << linesForAPerson(challenge.at("ask").get<std::string>());
        for (const LessonValue& solution : challenge.at("solved_by"))
            std::cout << "    " << solution.dump() << "\n";
    }
}

void printMark(const LessonValue& result, const std::string& fileName)
{
    const auto learner = result.at("learner").get<std::string>();
    std::cout << shownText(result.at("title").get<std::string>()) << (learner.empty() ? "" : ", " + shownText(learner)) << ": "
              << result.at("right") << " of " << result.at("of") << " right\n";
    for (const LessonValue& mark : result.at("marks")) {
        const bool isRight = mark.at("right").get<bool>(), isGiven = !mark.at("given").is_null();
        std::cout << "\n" << (isRight ? "right  " : isGiven ? "wrong  " : "open   ") << mark.at("id").get<std::string>();
        if (isGiven && !isRight && mark.contains("answer"))
            std::cout << ": " << shownValue(mark.at("given")) << ", the engine says " << shownValue(mark.at("answer"));
        std::cout << "\n";
        if (mark.contains("meant"))
            std::cout << "       " << shownValue(mark.at("given")) << " is taken for " << shownValue(mark.at("meant")) << "\n";
        for (const char* key : {"reason", "problem"})
            if (mark.contains(key))
                std::cout << "       " << linesForAPerson(mark.at(key).get<std::string>());
    }
    if (result.contains("problems"))
        for (const LessonValue& problem : result.at("problems"))
            std::cerr << linesForAPerson(fileName + ": " + problem.get<std::string>());
}

using SheetsBySeed = std::map<std::uint64_t, std::vector<AnswerSheet>>;

/// Of all files, by the paper that each answers: exams have seeds of their own.
SheetsBySeed sheetsIn(const LessonArguments& arguments)
{
    constexpr std::size_t kMostBytes = 64U << 20U;
    SheetsBySeed sheets;
    for (const std::string& file : arguments.learners)
        for (AnswerSheet& sheet : answersIn(readFile(file, kMostBytes, Pipes::read), file)) {
            std::uint64_t seed = arguments.seed;
            if (const LessonValue* said = memberOf(sheet.answers, "seed")) { // of the paper that was answered
                const auto number = valueAs<std::uint64_t>(*said);
                if (!number)
                    throw ScenarioError({{file, "/seed", shownValue(*said) + " is no whole number"}});
                seed = *number;
            }
            sheets[seed].push_back(std::move(sheet));
        }
    return sheets;
}

/// Of what was marked before: what was another then, once a file.
void tellChanges(const Paper& paper, const std::vector<AnswerSheet>& sheets, std::set<std::string>& told)
{
    const std::string hash = scenarioHash(paper);
    for (const AnswerSheet& sheet : sheets)
        if (const std::string changed = changedSince(sheet, hash, RANKSCOPE_VERSION); !changed.empty())
            if (const std::string line = linesForAPerson(sheet.fileName + ": " + changed); told.insert(line).second)
                std::cerr << line;
}

void printMarks(const LessonArguments& arguments)
{
    const SheetsBySeed sheets = sheetsIn(arguments);
    if (arguments.results && sheets.size() > 1)
        throw ScenarioError({{arguments.learners.front(), "/seed",
                              "--results is about one paper, and these answer those of " + std::to_string(sheets.size()) +
                                  " seeds; --csv takes them all"}});
    const bool asResults = arguments.results || arguments.csv;
    std::vector<LessonValue> marked; // results a paper, else marks a sheet
    std::vector<std::string> fileNames;
    std::set<std::string> changes;
    for (const auto& [seed, ofSeed] : sheets) {
        const Paper paper = paperOf(arguments.file, seed);
        tellChanges(paper, ofSeed, changes);
        if (asResults)
            marked.push_back(resultsOf(paper, ofSeed, RANKSCOPE_VERSION));
        else
            for (const AnswerSheet& sheet : ofSeed) {
                marked.push_back(paper.mark(sheet.answers, sheet.fileName, sheet.pointer));
                fileNames.push_back(sheet.fileName);
            }
    }
    if (arguments.csv) {
        std::cout << resultsCsv(marked);
    } else if (arguments.json || arguments.results) { // one learner: one object
        std::cout << (marked.size() == 1 ? marked.front() : LessonValue(marked)).dump() << "\n";
    } else {
        for (std::size_t i = 0; i < marked.size(); ++i) {
            std::cout << (i == 0 ? "" : "\n");
            printMark(marked[i], fileNames[i]);
        }
    }
}

} // namespace

void addLesson(CLI::App& app)
{
    CLI::App* lesson = app.add_subcommand("lesson", "Lessons: prove them, print the engine's answers, mark a paper");
    lesson->require_subcommand(1);
    auto arguments = std::make_shared<LessonArguments>();
    const auto add = [&](const char* name, const char* help, void (*run)(const LessonArguments&)) {
        CLI::App* command = lesson->add_subcommand(name, help);
        command->add_flag("--json", arguments->json, "One JSON document");
        command->callback([arguments, run] { run(*arguments); });
        return command;
    };
    const auto takeFile = [&](CLI::App* command) {
        command->add_option("FILE", arguments->file, "Lesson file")->type_name("")->required()->check(notEmpty());
        command->add_option("--seed", arguments->seed, "Numbers of questions that vary; the same seed, the same paper; default 1")
            ->type_name("N")
            ->check(wholeNumber(0, 9'007'199'254'740'992)); // what any JSON reader keeps
    };
    add("check", "One line a problem; nothing when all lessons are right", check)
        ->add_option("FILE", arguments->files, "Lesson files")
        ->type_name("")
        ->required()
        ->check(notEmpty());
    takeFile(add("key", "The engine's answers", printKey));
    CLI::App* mark = add("mark", "Marks what a learner answered", printMarks);
    takeFile(mark);
    mark->add_option("--learner", arguments->learners,
                     "Answers: { \"format\": \"rankscope-answers\", \"version\": 1, … }, or results as --results and --csv write "
                     "them, to be marked again; several files are a class")
        ->type_name("ANSWERS")
        ->required()
        ->check(notEmpty());
    CLI::Option* results =
        mark->add_flag("--results", arguments->results, "Results as JSON, answers, scenario hash and version with them");
    mark->add_flag("--csv", arguments->csv, "Results as CSV, one row a learner and question")
        ->excludes(results)
        ->excludes("--json");
}

} // namespace sim::cli
