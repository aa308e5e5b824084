#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/part.h"
#include "sim/cli/table.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/pointer_text.h"

#include "sim/answers/answers.h"
#include "sim/memory_limit.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <set>
#include <variant>

namespace sim::cli {
namespace {

struct Axis {
    std::string pointer;
    std::vector<std::string> values;
};

struct SweepArguments {
    ScenarioArguments scenario;
    std::vector<std::string> vary;
    bool csv = false, json = false;
    std::string part;
};

/// "layout.tp=1,2,4,8"; a JSON list, object or text may hold commas of its own.
Axis axisOf(const std::string& text)
{
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
        throw UsageError("--vary " + shownText(text) + ": write POINTER=VALUE,VALUE,…, such as layout.tp=1,2,4,8");
    Axis axis{text.substr(0, equals), {""}};
    int depth = 0;
    bool quoted = false, escaped = false;
    for (const char c : text.substr(equals + 1)) {
        if (quoted) {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            quoted = c == '"' && (depth > 0 || axis.values.back().empty());
            depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        }
        if (c == ',' && depth == 0 && !quoted)
            axis.values.emplace_back();
        else
            axis.values.back() += c;
    }
    return axis;
}

/// One combination and what came of it: metrics, or why there are none.
struct Point {
    std::vector<std::string> values; ///< [axis]
    std::variant<Metrics, std::string> outcome;
    bool fits = false;
    std::string misfit; ///< why it does not, where the column of peaks does not tell: the cap that was asked for, or the host
    const Metrics* metrics() const { return std::get_if<Metrics>(&outcome); }
};

std::string misfitOf(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    std::string text;
    if (const auto missed = missedCap(simulation))
        text = "/schedule/memory_cap_gib: " + missed->text();
    if (const double has = simulation.scenario().cluster.host.memoryGib; !m.hostFits) {
        const int decimals = decimalsBeyond(m.hostMemoryGib, has, 1);
        text += (text.empty() ? "" : " | ") + std::string("/cluster/host/memory_gib: what is offloaded takes ") +
                fixed(m.hostMemoryGib, decimals) + " GiB of a host, and it has " + fixed(has, decimals);
    }
    return text;
}

void simulatePoint(const ScenarioDocument& document, const std::string& file, const std::vector<std::string>& overrides,
                   Point& point)
{
    try {
        const auto simulation = simulate(resolvedScenario(withOverrides(document, file, catalogue(), overrides), catalogue()));
        point.outcome = simulation->metrics();
        point.fits = fitsEverywhere(*simulation);
        point.misfit = misfitOf(*simulation);
    } catch (const ScenarioError& error) {
        std::string text;
        for (Problem problem : error.problems()) {
            problem.file.clear();
            if (problem.severity == Severity::error)
                text += (text.empty() ? "" : " | ") + problem.text();
        }
        point.outcome = text;
    } catch (const Error& error) {
        point.outcome = std::string(error.what());
    }
}

/// A day's work; each axis alone has its values written out, their product has not.
constexpr std::size_t kMostCombinations = 1'000'000;

std::size_t combinations(const std::vector<Axis>& axes)
{
    double product = 1;
    std::string factors;
    for (const Axis& axis : axes) {
        product *= static_cast<double>(axis.values.size());
        factors += (factors.empty() ? "" : " x ") + std::to_string(axis.values.size());
    }
    if (product > kMostCombinations)
        throw UsageError("--vary: " + factors + " = " + fixed(product, 0) + " combinations are more than " +
                         grouped(kMostCombinations) + "; give fewer values, or fewer --vary");
    return static_cast<std::size_t>(product);
}

/// All combinations of a part; the last axis varies fastest.
std::vector<Point> pointsOf(const SweepArguments& arguments, const std::vector<Axis>& axes, Part part)
{
    // Read once: it may be a pipe, and a file that cannot be read is one error, not one a row.
    const ScenarioDocument document = documentBeside(arguments.scenario.beside, arguments.scenario.file, {});
    const std::size_t count = combinations(axes);
    const auto partBegin = [&](int index) { return count * asIndex(index) / asIndex(part.count); };
    const std::size_t first = partBegin(part.index), end = partBegin(part.index + 1);
    std::vector<Point> points(end - first);
    for (std::size_t n = first; n < end; ++n) {
        Point& point = points[n - first];
        std::vector<std::string> overrides = arguments.scenario.overrides;
        std::size_t block = count;
        std::size_t rest = n;
        for (const Axis& axis : axes) {
            block /= axis.values.size();
            point.values.push_back(axis.values[rest / block]);
            rest %= block;
            overrides.push_back(axis.pointer + "=" + point.values.back());
        }
        simulatePoint(document, arguments.scenario.file, overrides, point);
    }
    return points;
}

/// A column of metrics: all digits for programs, few for people.
struct Column {
    const char* csvName;
    const char* title;
    double (*value)(const Metrics&);
    std::string (*text)(double);
};

/// The shortest text that reads back as the same number.
std::string allDigits(double value)
{
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

constexpr Column kColumns[] = {
    {"step_time_s", "step time", [](const Metrics& m) { return m.stepTimeSeconds; }, seconds},
    {"tokens_per_second", "tokens a second", [](const Metrics& m) { return m.tokensPerSecond; }, groupedRound},
    {"model_tflops_per_gpu", "TFLOP/s a GPU", [](const Metrics& m) { return m.modelTflopsPerGpu; },
     [](double rate) { return fixed(rate, 1); }},
    {"mfu", "MFU", [](const Metrics& m) { return m.mfu; }, percent},
    {"bubble_fraction", "bubble", [](const Metrics& m) { return m.bubbleFraction; }, percent},
    {"exposed_comm_fraction", "exposed comm", [](const Metrics& m) { return m.exposedComm.total(); }, percent},
    {"peak_memory_gib", nullptr, [](const Metrics& m) { return m.peakMemoryGib; }, nullptr}, // its unit is the table's
};

/// Of the largest peak.
ByteUnit unitOfPeaks(const std::vector<Point>& points)
{
    double largest = 0;
    for (const Point& point : points)
        largest = std::max(largest, point.metrics() != nullptr ? point.metrics()->peakMemoryGib : 0);
    return ByteUnit(largest * kBytesPerGib);
}

Table tableOf(const std::vector<Axis>& axes, const std::vector<Point>& points, bool csv)
{
    const ByteUnit unit = unitOfPeaks(points);
    std::vector<std::string> header;
    header.reserve(axes.size() + std::size(kColumns) + 2);
    for (const Axis& axis : axes)
        header.push_back(csv ? axis.pointer : shownText(axis.pointer));
    for (const Column& column : kColumns)
        header.push_back(csv ? column.csvName : column.title != nullptr ? column.title : std::string("peak ") + unit.name());
    header.emplace_back("fits");
    if (csv)
        header.emplace_back("problem");
    Table table(header);
    for (const Point& point : points) {
        std::vector<std::string> row = point.values;
        if (!csv)
            for (std::string& value : row)
                value = shownText(value);
        if (point.metrics() == nullptr) {
            table.addNote(std::move(row), std::get<std::string>(point.outcome));
            continue;
        }
        for (const Column& column : kColumns)
            row.push_back(csv                      ? allDigits(column.value(*point.metrics()))
                          : column.text != nullptr ? column.text(column.value(*point.metrics()))
                                                   : unit.text(point.metrics()->peakMemoryGib * kBytesPerGib));
        row.emplace_back(point.fits ? "yes" : "no");
        if (csv && !point.misfit.empty())
            row.push_back(point.misfit);
        table.add(std::move(row));
    }
    return table;
}

/// As the scenario has it: what is no JSON is a text; nothing where the key is erased.
Answer valueOf(const std::string& text)
{
    if (text.empty())
        return nullptr;
    try {
        return parseStrict(text, {});
    } catch (const ScenarioError&) {
        return text;
    }
}

/// The columns of CSV, by name; the varied keys are "settings", as of a plan.
Answer answerOf(const std::vector<Axis>& axes, const std::vector<Point>& points)
{
    Answer rows = Answer::array();
    for (const Point& point : points) {
        const Metrics* const metrics = point.metrics();
        Answer row;
        for (std::size_t a = 0; a < axes.size(); ++a)
            row["settings"][slashed(axes[a].pointer)] = valueOf(point.values[a]);
        for (const Column& column : kColumns)
            row[column.csvName] = metrics == nullptr ? Answer() : Answer(column.value(*metrics));
        row["fits"] = metrics == nullptr ? Answer() : Answer(point.fits);
        const std::string& problem = metrics == nullptr ? std::get<std::string>(point.outcome) : point.misfit;
        row["problem"] = problem.empty() ? Answer() : Answer(problem);
        rows.push_back(std::move(row));
    }
    Answer answer;
    answer["rows"] = std::move(rows);
    return answer;
}

/// "layout.tp=4 schedule.memory_cap_gib=3".
std::string settingsOf(const std::vector<Axis>& axes, const Point& point)
{
    std::string text;
    for (std::size_t a = 0; a < axes.size(); ++a)
        text += (a == 0 ? "" : " ") + axes[a].pointer + "=" + point.values[a];
    return text;
}

/// The fastest that fits, where there is a choice.
void printBest(const std::vector<Axis>& axes, const std::vector<Point>& points)
{
    const Point* best = nullptr;
    std::size_t fitting = 0;
    for (const Point& point : points)
        if (point.fits) {
            ++fitting;
            if (best == nullptr || point.metrics()->tokensPerSecond > best->metrics()->tokensPerSecond)
                best = &point;
        }
    if (fitting == 0)
        std::cout << "\nNone fits into memory.\n";
    if (fitting < 2)
        return;
    std::cout << "\nFastest that fits: " << settingsOf(axes, *best) << "\n";
}

void run(const SweepArguments& arguments)
{
    std::vector<Axis> axes;
    std::set<std::string> pointers;
    for (const std::string& text : arguments.vary) {
        axes.push_back(axisOf(text));
        if (!pointers.insert(slashed(axes.back().pointer)).second)
            throw UsageError("--vary " + shownText(axes.back().pointer) + " is given twice; give all its values at once");
    }
    const Part part = partOf(arguments.part);
    if (!arguments.part.empty() && !arguments.csv)
        throw UsageError("--part is for --csv: the parts' rows one after the other are the whole's");
    const std::vector<Point> points = pointsOf(arguments, axes, part);
    const bool forPeople = !arguments.csv && !arguments.json;
    if (arguments.json)
        std::cout << answerOf(axes, points).dump(-1, ' ', false, Answer::error_handler_t::replace) << "\n";
    else if (const Table table = tableOf(axes, points, arguments.csv); arguments.csv)
        table.printCsv(std::cout, part.index == 0);
    else
        table.print(std::cout);
    if (forPeople)
        for (const Point& point : points)
            if (!point.misfit.empty())
                std::cerr << linesForAPerson(settingsOf(axes, point) + ": " + point.misfit);
    if (part.count == 1 &&
        std::none_of(points.begin(), points.end(), [](const Point& point) { return point.metrics() != nullptr; }))
        throw Error("No combination can be simulated");
    if (forPeople)
        printBest(axes, points);
}

} // namespace

void addSweep(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("sweep", "One row of metrics for each combination of values");
    auto arguments = std::make_shared<SweepArguments>();
    arguments->scenario.addTo(*command);
    command->add_option("--vary", arguments->vary, "Values to try, such as layout.tp=1,2,4,8; repeatable: all combinations")
        ->type_name("POINTER=VALUE,...")
        ->required()
        ->allow_extra_args(false);
    CLI::Option* csv = command->add_flag("--csv", arguments->csv, "Comma-separated, with all digits");
    command->add_flag("--json", arguments->json, "One JSON document: the rows, with all digits")->excludes(csv);
    command
        ->add_option("--part", arguments->part,
                     "I/N: the I-th of N parts of the rows, or auto as mpirun, srun or a Slurm array says; with --csv. All parts "
                     "in their order are the whole: the first has the header")
        ->check(notEmpty());
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
