#include "sim/cli/plan_arguments.h"

#include "sim/cli/number_lists.h"
#include "sim/cli/part.h"

namespace sim::cli {

PlanSetting settingOf(const std::string& assignment, const char* option)
{
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == assignment.size())
        throw UsageError(std::string(option) + " takes POINTER=VALUE, as layout.tp=8; it got " + shownText(assignment));
    return {assignment.substr(0, equals), assignment.substr(equals + 1)};
}

std::vector<PlanSetting> questionOf(const std::string& asked)
{
    std::vector<PlanSetting> settings;
    int depth = 0;
    bool isQuoted = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= asked.size(); ++i) {
        const char c = i < asked.size() ? asked[i] : ',';
        isQuoted = isQuoted != (c == '"' && (i == 0 || asked[i - 1] != '\\'));
        depth += isQuoted ? 0 : c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        if (i < asked.size() && (c != ',' || isQuoted || depth > 0 || asked.find('=', i) == std::string::npos))
            continue;
        settings.push_back(settingOf(asked.substr(begin, i - begin), "--why"));
        begin = i + 1;
    }
    return settings;
}

PlanRequest requestOf(const PlanArguments& arguments)
{
    PlanRequest request{.document = arguments.scenario.document()};
    request.gpus = arguments.gpus;
    request.objective = arguments.objective == "headroom"    ? PlanObjective::headroom
                        : arguments.objective == "gpu-hours" ? PlanObjective::gpuHours
                        : arguments.objective == "cost"      ? PlanObjective::cost
                        : arguments.objective == "tokens"    ? PlanObjective::tokens
                                                             : PlanObjective::time;
    request.price = arguments.price;
    if (request.objective == PlanObjective::cost && request.price <= 0)
        throw UsageError("--objective cost needs --price, of a GPU for an hour");
    for (const std::string& assignment : arguments.fixed)
        attributed(arguments.scenario.file, [&] { hold(request, settingOf(assignment, "--fix"), catalogue()); });
    request.freed = arguments.freed;
    request.marginGib = arguments.margin;
    if (!arguments.rampBatch.empty()) {
        const std::vector<int> numbers = splitNumbers(arguments.rampBatch, ':', "--ramp-batch takes FIRST:STEP, as 16:16");
        if (numbers.size() != 2)
            throw UsageError("--ramp-batch takes FIRST:STEP, as 16:16; it got " + shownText(arguments.rampBatch));
        attributed(arguments.scenario.file,
                   [&] { request.rampBatches = rampedBatches(request, catalogue(), numbers[0], numbers[1]); });
    }
    request.framework = arguments.framework;
    request.top = arguments.top;
    request.jobs = arguments.jobs;
    request.mostSimulated = arguments.most;
    const Part part = partOf(arguments.part);
    request.part = part.index;
    request.parts = part.count;
    request.isPart = !arguments.part.empty();
    return request;
}

} // namespace sim::cli
