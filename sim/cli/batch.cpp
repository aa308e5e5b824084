#include "sim/cli/command.h"
#include "sim/cli/options.h"

#include "sim/answers/answers.h"
#include "sim/parallel.h"
#include "sim/scenario/files.h"

#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sim::cli {
namespace {

struct BatchArguments {
    std::string file, beside;
    std::vector<std::string> overrides;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
};

struct LineAnswer {
    std::string json;
    bool isGood = false;
};

/// One line of the file as a step and its memory, or what is wrong with it.
LineAnswer answerOf(const std::string& line, const std::string& place, const BatchArguments& arguments)
{
    Answer answer;
    bool isGood = false;
    try {
        const auto simulation = simulate(attributed(place, [&] {
            const std::string name = arguments.beside.empty() ? place : standInBeside(arguments.beside);
            return resolvedScenario(withOverrides(ScenarioDocument::parse(line, name), place, catalogue(), arguments.overrides),
                                    catalogue());
        }));
        answer = {{"simulate", stepAnswer(*simulation)}, {"memory", memoryAnswer(*simulation)}};
        isGood = true;
    } catch (const ScenarioError& error) {
        answer = {{"error", error.what()}, {"problems", Answer::array()}};
        for (const Problem& problem : error.problems())
            answer["problems"].push_back(problemAnswer(problem));
    } catch (const std::exception& error) {
        answer = {{"error", error.what()}};
    }
    return {answer.dump(-1, ' ', false, Answer::error_handler_t::replace), isGood};
}

/// Prints answers in the order of the lines, each as soon as those before it are there: whoever reads them may stop, and what was
/// worked out is not lost where a later line ends the program.
class InOrder {
public:
    explicit InOrder(std::size_t count) : m_answers(count) {}
    void add(std::size_t place, std::string answer)
    {
        const std::lock_guard guard(m_lock);
        m_answers[place] = std::move(answer);
        for (; m_next < m_answers.size() && m_answers[m_next]; ++m_next) {
            std::cout << *m_answers[m_next] << "\n";
            m_answers[m_next] = std::string(); // of many lines no answer stays
        }
        std::cout.flush();
    }

private:
    std::mutex m_lock;
    std::vector<std::optional<std::string>> m_answers;
    std::size_t m_next = 0;
};

void run(const BatchArguments& arguments)
{
    constexpr std::size_t kMostBytes = 256UL << 20U;
    std::vector<std::string> lines;
    std::vector<std::size_t> numbers; // of these lines in the file
    std::istringstream text(readFile(arguments.file, kMostBytes, Pipes::read));
    std::size_t number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (line.empty())
            continue;
        lines.push_back(std::move(line));
        numbers.push_back(number);
    }
    catalogue(); // read once, before the threads
    InOrder answers(lines.size());
    std::atomic<bool> isAnyGood = lines.empty();
    forEachInParallel(lines.size(), arguments.jobs, [&](std::size_t i) {
        LineAnswer answer = answerOf(lines[i], arguments.file + ", line " + std::to_string(numbers[i]), arguments);
        if (answer.isGood)
            isAnyGood = true;
        answers.add(i, std::move(answer.json));
    });
    if (!isAnyGood)
        throw Error(shownPlace(arguments.file) + ": no line could be simulated; the answers say why");
}

} // namespace

void addBatch(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("batch", "Many steps at once: a scenario a line, and a line of JSON for each");
    const auto arguments = std::make_shared<BatchArguments>();
    command->add_option("FILE", arguments->file, "Scenarios as JSON, one a line; /dev/stdin too")
        ->type_name("")
        ->required()
        ->check(notEmpty());
    addOverrides(*command, arguments->overrides);
    addBeside(*command, arguments->beside);
    command->add_option("--jobs", arguments->jobs, "Threads; as many as cores without it")
        ->type_name("N")
        ->check(wholeNumberFrom(1));
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
