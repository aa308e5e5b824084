#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/table.h"

#include "sim/answers/answers.h"
#include "sim/lesson/op_query.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

namespace sim::cli {
namespace {

struct OpsArguments : AnswerArguments {
    std::string by = opGroupingName(OpGrouping::name), where;
    double beginSeconds = 0, endSeconds = 0;
    CLI::Option* ends = nullptr; ///< was the end said?
    std::vector<int> ranks;
    bool passes = false, csv = false;
};

OpGrouping groupingNamed(const std::string& name)
{
    return *std::find_if(kOpGroupings.begin(), kOpGroupings.end(), [&](OpGrouping g) { return opGroupingName(g) == name; });
}

OpTable tableOf(const Simulation& simulation, const Trace& trace, const OpsArguments& arguments)
{
    constexpr double kNs = 1e9;
    const double stepSeconds = simulation.metrics().stepTimeSeconds;
    const double end = arguments.ends->count() > 0 ? arguments.endSeconds : stepSeconds;
    if (end <= arguments.beginSeconds)
        throw UsageError("--begin and --end: nothing lies between " + seconds(arguments.beginSeconds) + " and " + seconds(end) +
                         (arguments.ends->count() > 0 ? std::string() : ", the end of the step"));
    OpSelection selection{.beginNs = std::llround(arguments.beginSeconds * kNs),
                          .endNs = std::llround(std::min(end, stepSeconds) * kNs)};
    if (!arguments.ranks.empty())
        selection.ranks.resize(trace.processes.size());
    for (const int rank : arguments.ranks) {
        if (rank >= simulation.mesh().worldSize())
            throw UsageError("--rank " + std::to_string(rank) + ": the last rank is " +
                             std::to_string(simulation.mesh().worldSize() - 1));
        selection.ranks[static_cast<std::size_t>(simulation.classOf(rank))] = 1; // process i of a trace is class i
    }
    try {
        selection.filter = OpQuery::parse(arguments.where).filterOf(trace, &simulation);
        return opTable(trace, groupingNamed(arguments.by), selection);
    } catch (const ExpressionError& error) {
        throw UsageError("--where " + quotedText(arguments.where) + ": " + error.what());
    }
}

double microseconds(double ns)
{
    return ns * 1e-3;
}

Answer answerOf(const OpTable& table)
{
    const auto groupOf = [&](const OpGroup& group) {
        return Answer{{"name", group.name},
                      {"count", group.count},
                      {"total_s", group.totalNs * 1e-9},
                      {"share", table.share(group)},
                      {"mean_us", microseconds(group.meanNs())},
                      {"shortest_us", microseconds(static_cast<double>(group.shortestNs))},
                      {"longest_us", microseconds(static_cast<double>(group.longestNs))},
                      {"bytes", group.bytes},
                      {"flops", group.flops},
                      {"tflops", group.flopsPerSecond() * 1e-12}};
    };
    Answer groups = Answer::array();
    for (const OpGroup& group : table.groups)
        groups.push_back(groupOf(group));
    return {{"by", opGroupingName(table.grouping)},
            {"of", table.ofKernels ? "kernels" : "passes"},
            {"ranks", table.ranks},
            {"begin_s", static_cast<double>(table.beginNs) * 1e-9},
            {"end_s", static_cast<double>(table.endNs) * 1e-9},
            {"groups", std::move(groups)},
            {"all", groupOf(table.all)}};
}

Table forPeople(const OpTable& table, const OpGroup& all)
{
    Table out({opGroupingName(table.grouping), "ops", "total", "share", "mean", "longest", "tensor bytes", "FLOP/s"});
    const auto add = [&](const OpGroup& group, const std::string& name) {
        out.add({name, grouped(group.count), seconds(group.totalNs * 1e-9), percent(table.share(group)),
                 seconds(group.meanNs() * 1e-9), seconds(static_cast<double>(group.longestNs) * 1e-9),
                 group.bytes > 0 ? numberText(group.bytes, Unit::bytes) : "",
                 group.flops > 0 ? numberText(group.flopsPerSecond(), Unit::flopRate) : ""});
    };
    for (const OpGroup& group : table.groups)
        add(group, group.name);
    add(all, "all");
    return out;
}

Table forPrograms(const OpTable& table)
{
    Table out({opGroupingName(table.grouping), "ops", "total_s", "share", "mean_us", "longest_us", "bytes", "flops", "tflops"});
    for (const OpGroup& group : table.groups)
        out.add({group.name, std::to_string(group.count), fixed(group.totalNs * 1e-9, 9), fixed(table.share(group), 6),
                 fixed(microseconds(group.meanNs()), 3), fixed(microseconds(static_cast<double>(group.longestNs)), 3),
                 fixed(group.bytes, 0), fixed(group.flops, 0), fixed(group.flopsPerSecond() * 1e-12, 3)});
    return out;
}

/// What there is to ask for where nothing was found.
void tellNothing(const OpsArguments& arguments, const Trace& trace)
{
    std::set<std::string> classes;
    for (const SpanKind& kind : trace.kinds)
        classes.insert(opClassName(kind.opClass));
    std::string listed;
    for (const std::string& name : classes)
        listed += (listed.empty() ? "" : ", ") + name;
    std::cerr << "--where " << quotedText(arguments.where) << " fits no op; of the classes here there are " << listed << "\n";
}

void runOps(const OpsArguments& arguments)
{
    const auto simulation = arguments.scenario.simulated();
    const Trace trace = simulation->trace(arguments.passes ? TraceDetail::actions : TraceDetail::kernels);
    const OpTable table = tableOf(*simulation, trace, arguments);
    if (table.all.count == 0 && !arguments.where.empty())
        tellNothing(arguments, trace);
    if (arguments.json) {
        std::cout << answerOf(table).dump() << "\n";
    } else if (arguments.csv) {
        forPrograms(table).printCsv(std::cout);
    } else {
        std::cout << titleOf(simulation->scenario(), arguments.scenario) << "\n\n";
        forPeople(table, table.all).print(std::cout);
        std::cout << "\nTotals are of " << counted(table.ranks, "rank") << " together, shares of the time of each"
                  << (table.ofKernels ? "; streams run at once, so that shares may sum to more than 100 %.\n" : ".\n");
        if (simulation->metrics().expertWait > 0)
            std::cout << "Times are of the rank whose experts have the most tokens, bytes and FLOPs of a mean one.\n";
        if (table.all.bytes > 0)
            std::cout
                << "Bytes are of tensors: a collective's once at each member, a message at both ends. `traffic` tells what is "
                   "sent.\n";
    }
}

std::string namesHelp()
{
    std::string out =
        "Only these: a part of a name, a kind of collective (all-gather), a pass (F3, 3B, 0F3), or an expression such as "
        "'duration_us > 50 and comm' on";
    for (const OpQueryName& name : opQueryNames())
        out += std::string(&name == opQueryNames().data() ? " " : ", ") + name.name;
    return out;
}

} // namespace

void addOps(CLI::App& app)
{
    auto arguments = std::make_shared<OpsArguments>();
    CLI::App* command =
        addAnswer(app, "ops", "The ops of a step added up: count, time, bytes of their tensors, FLOP/s", runOps, arguments);
    std::vector<std::string> groupings;
    for (const OpGrouping grouping : kOpGroupings)
        groupings.emplace_back(opGroupingName(grouping));
    command->add_option("--by", arguments->by, "name, class, rank or stage")->check(oneOf(groupings));
    command->add_option("--where", arguments->where, namesHelp());
    command->add_option("--rank", arguments->ranks, "Only of this rank; repeatable")
        ->check(wholeNumberFrom(0))
        ->allow_extra_args(false);
    command->add_option("--begin", arguments->beginSeconds, "From here on, seconds into the step")
        ->check(positiveNumber(Zero::taken));
    arguments->ends =
        command->add_option("--end", arguments->endSeconds, "Up to here, seconds")->check(positiveNumber(Zero::refused));
    command->add_flag("--passes", arguments->passes, "Whole passes instead of their kernels and collectives");
    command->add_flag("--csv", arguments->csv, "One line a group")->excludes("--json");
}

} // namespace sim::cli
