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
    } catch (const Error& error) {
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
        std::cout << LessonValue{{"good", allGood}, {"lessons", std::move(answer)}}.dump() << "\n";
    if (!allGood)
        throw CLI::RuntimeError(kBadInput);
}

Paper paperOf(const LessonArguments& arguments)
{
    return attributed(arguments.file,
                      [&] { return Paper(readLesson(arguments.file, catalogue()), arguments.seed, catalogue()); });
}

constexpr std::size_t kMostOfAnOption = 400;

/// Of a question, as a person reads it: "1F1B: 17.6 GiB", the option's words, the cards in order.
std::string toldAnswer(const LessonValue& question)
{
    const LessonValue& answer = question.at("answer");
    const LessonValue* choices = memberOf(question, "choices");
    const auto input = question.at("input").get<std::string>();
    if (choices != nullptr && input != "bars") {
        std::string words;
        for (const LessonValue& place : answer.is_array() ? answer : LessonValue::array({answer}))
            words += (words.empty() ? "" : ", ") +
                     shownText(choices->at(place.get<std::size_t>()).get<std::string>(), kMostOfAnOption);
        return words;
    }
    const auto unit = memberOr<std::string>(question, "unit", {});
    if (answer.is_number() && unit == "%")
        return numberText(answer.get<double>(), Unit::fraction);
    return shownValue(answer) + (unit.empty() ? "" : " " + shownText(unit));
}

void printKey(const LessonArguments& arguments)
{
    const Paper paper = paperOf(arguments);
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
        for (const char* key : {"reason", "problem"})
            if (mark.contains(key))
                std::cout << "       " << linesForAPerson(mark.at(key).get<std::string>());
    }
    if (result.contains("problems"))
        for (const LessonValue& problem : result.at("problems"))
            std::cerr << linesForAPerson(fileName + ": " + problem.get<std::string>());
}

/// Answers to one paper, from however many files; several papers (exams with seeds of their own) are marked each by its own.
void printMarks(const LessonArguments& arguments)
{
    constexpr std::size_t kMostBytes = 64U << 20U;
    std::map<std::uint64_t, std::vector<AnswerSheet>> sheets;
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& file : arguments.learners) {
        const auto& [name, text] = files.emplace_back(file, readFile(file, kMostBytes, Pipes::read));
        for (LessonValue& answers : answersIn(text, name)) {
            std::uint64_t seed = arguments.seed;
            if (const LessonValue* said = memberOf(answers, "seed")) { // of the paper that was answered
                const auto number = valueAs<std::uint64_t>(*said);
                if (!number)
                    throw ScenarioError({{file, "/seed", shownValue(*said) + " is no whole number"}});
                seed = *number;
            }
            sheets[seed].push_back({std::move(answers), file});
        }
    }
    LessonValue all = LessonValue::array();
    bool hasHeader = false, isFirst = true;
    for (const auto& [seed, ofSeed] : sheets) {
        LessonArguments asked = arguments;
        asked.seed = seed;
        const Paper paper = paperOf(asked);
        if (isFirst) // what was marked before, by whom
            for (const auto& [name, text] : files)
                if (const std::string changed =
                        changedSince(text, name, scenarioHash(paper.lesson(), paper.cases()), RANKSCOPE_VERSION);
                    !changed.empty())
                    std::cerr << linesForAPerson(name + ": " + changed);
        if (arguments.results || arguments.csv) {
            LessonValue results = resultsOf(paper, ofSeed, RANKSCOPE_VERSION);
            if (arguments.csv) {
                const std::string csv = resultsCsv(results);
                std::cout << (hasHeader ? csv.substr(csv.find('\n') + 1) : csv);
                hasHeader = true;
            } else {
                all.push_back(std::move(results));
            }
            isFirst = false;
            continue;
        }
        for (const AnswerSheet& sheet : ofSeed) {
            LessonValue result = paper.mark(sheet.answers, sheet.fileName);
            if (arguments.json) {
                all.push_back(std::move(result));
                isFirst = false;
                continue;
            }
            std::cout << (isFirst ? "" : "\n");
            printMark(result, sheet.fileName);
            isFirst = false;
        }
    }
    if (arguments.csv || all.empty())
        return;
    if (arguments.results && all.size() > 1)
        throw ScenarioError({{arguments.learners.front(), "/seed",
                              "--results is about one paper, and these answer those of " + std::to_string(all.size()) +
                                  " seeds; --csv takes them all"}});
    std::cout << (all.size() == 1 ? all.front() : all).dump() << "\n"; // one learner: one object
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
        ->required();
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
    mark->add_flag("--csv", arguments->csv, "Results as CSV, one row a learner and question")->excludes(results);
}

} // namespace sim::cli
