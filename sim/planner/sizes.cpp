#include "sim/planner/sizes.h"

#include "sim/cancel.h"
#include "sim/planner/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace sim {
namespace {

constexpr double kSecondsPerDay = 86400;

double stepsOf(const Scenario& scenario)
{
    const Training& training = scenario.training;
    if (training.tokens <= 0)
        throw Error("/training/tokens: how long the run is has to be known for a deadline: --set training.tokens=15e12");
    return std::ceil(training.tokens / (1.0 * training.globalBatchSize * training.sequenceLength));
}

} // namespace

double runDays(const Scenario& scenario, double stepSeconds)
{
    return stepsOf(scenario) * stepSeconds / kSecondsPerDay;
}

std::vector<int> usualSizes(int gpusPerNode, int most)
{
    std::set<int> sizes;
    for (int part = 1; part < gpusPerNode; part *= 2)
        sizes.insert(part);
    for (std::int64_t nodes = 1; nodes * gpusPerNode <= most; nodes *= 2)
        for (const std::int64_t size : {nodes * gpusPerNode, nodes * 3 / 2 * gpusPerNode})
            if (size <= most)
                sizes.insert(static_cast<int>(size));
    return {sizes.lower_bound(1), sizes.upper_bound(most)};
}

SizeAnswer fewestGpus(const SizeRequest& request, const Catalogue& catalogue,
                      const std::function<void(int gpus, const PlanProgress&)>& progress)
{
    const Scenario job = PlanSpace(request.job, catalogue).base;
    if (!(request.days > 0) || !std::isfinite(request.days))
        throw Error("a deadline is a number of days above 0");
    if (request.job.objective == PlanObjective::headroom)
        throw Error("the fewest GPUs in time are searched by the step's time, not by headroom");
    SizeAnswer answer{.days = request.days, .tokens = job.training.tokens};
    const double enough = request.days * kSecondsPerDay / stepsOf(job);
    std::vector<int> sizes =
        request.sizes.empty() ? usualSizes(std::max(1, job.cluster.gpusPerNode), request.most) : request.sizes;
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    answer.isFewest = true;
    std::string firstProblem;
    for (const int gpus : sizes) {
        const auto told = [&](const PlanProgress& now) {
            if (progress)
                progress(gpus, now);
        };
        PlanRequest within = request.job;
        within.gpus = gpus;
        within.enoughSeconds = enough;
        TriedSize tried{.gpus = gpus};
        PlanAnswer found;
        try {
            found = plan(within, catalogue, told);
        } catch (const Cancelled&) {
            answer.stopped = true;
            break;
        } catch (const Error& error) { // this size cannot be: perturbations of ranks that are not there
            tried.problem = error.what();
            tried.proved = true;
            tried.leastDays = std::numeric_limits<double>::infinity();
            answer.tried.push_back(tried);
            if (firstProblem.empty())
                firstProblem = tried.problem;
            continue;
        }
        tried.meets = !found.best.empty() && found.best.front().stepSeconds <= enough;
        if (!tried.meets) {
            const double open = found.openKey * 1e-9; // where nothing is open, all that fits was simulated
            const double least = found.best.empty() ? open : std::min(open, found.best.front().stepSeconds);
            tried.leastDays = runDays(job, least);
            tried.proved = !found.stopped && least > enough;
        } else {
            tried.proved = true;
        }
        answer.tried.push_back(tried);
        if (found.stopped) {
            answer.stopped = true;
            answer.isFewest = false;
            if (!tried.meets)
                break;
        }
        if (!tried.meets) {
            answer.isFewest = answer.isFewest && tried.proved;
            continue;
        }
        answer.gpus = gpus;
        within.enoughSeconds = 0;
        if (!answer.stopped)
            found = plan(within, catalogue, told);
        answer.stopped = answer.stopped || found.stopped;
        answer.best = std::move(found);
        if (!answer.best.best.empty())
            answer.bestDays = runDays(job, answer.best.best.front().stepSeconds);
        return answer;
    }
    answer.isFewest = false;
    const bool anySearched =
        std::any_of(answer.tried.begin(), answer.tried.end(), [](const TriedSize& size) { return size.problem.empty(); });
    if (!anySearched && !firstProblem.empty())
        throw Error(firstProblem);
    return answer;
}

} // namespace sim
