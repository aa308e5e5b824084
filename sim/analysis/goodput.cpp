#include "sim/analysis/goodput.h"

#include "sim/model/parameters.h"
#include "sim/portable_math.h"
#include "sim/program/states.h"
#include "sim/quantile.h"
#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"
#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace sim {
namespace {

constexpr double kSecondsADay = 86400, kSecondsAnHour = 3600;

/// a / (e^a − 1): of the time between restarts, what no failure undoes, where `a` failures are expected from one save to the
/// next.
double keptShare(double a)
{
    constexpr double kSmall = 0.05; // below which e^a − 1 loses digits, and the next term of the series is nothing
    if (a < kSmall)
        return 1 - a / 2 + a * a / 12 * (1 - a * a / 60 * (1 - a * a / 42));
    return a / (portableExp(a) - 1);
}

/// Share of time in which all `lines` are taken, with so much `load`.
double erlangB(int lines, double load)
{
    constexpr double kNever = 1e-18;
    double blocked = 1;
    for (int line = 1; line <= lines && blocked > kNever; ++line)
        blocked = load * blocked / (line + load * blocked);
    return blocked;
}

/// A job as it runs; what it has done is told month by month.
class Player {
public:
    Player(const FailingJob& job, double monthSeconds, int months, std::uint64_t seed)
        : m_job(job), m_month(monthSeconds), m_end(monthSeconds * months), m_useful(static_cast<std::size_t>(months), 0),
          m_random(seed)
    {
    }

    /// Useful share of each month that was played to its end.
    std::vector<double> play()
    {
        while (m_now < m_end && m_failures < kMostFailures) {
            const double begin = m_now, failure = begin + gap();
            const double lastSave = begin + std::floor((failure - begin) / cycle()) * cycle(); // what comes after is repeated
            credit(begin, std::min(lastSave, m_end));
            m_now = failure;
            if (failure >= m_end)
                break;
            restart();
        }
        const double played = std::min(m_now, m_end) / m_month;
        m_useful.resize(std::min(m_useful.size(), static_cast<std::size_t>(played)));
        for (double& seconds : m_useful)
            seconds /= m_month;
        return m_useful;
    }

private:
    double gap()
    {
        constexpr unsigned kSpare = 11; // bits that a double has no room for
        return -m_job.mtbf * portableLog((static_cast<double>(m_random() >> kSpare) + 0.5) * 0x1.0p-53);
    }
    /// Training made in so long without a failure.
    double done(double seconds) const
    {
        const double rounds = std::floor(seconds / cycle());
        return rounds * m_job.every + std::min(std::max(seconds - rounds * cycle(), 0.0), m_job.every);
    }
    double cycle() const { return m_job.every + m_job.save; }
    std::size_t monthOf(double time) const { return std::min(static_cast<std::size_t>(time / m_month), m_useful.size() - 1); }

    void credit(double begin, double end)
    {
        double before = 0;
        for (std::size_t month = monthOf(begin); month < m_useful.size(); ++month) {
            const double upTo = std::min(end, static_cast<double>(month + 1) * m_month);
            const double after = done(upTo - begin);
            m_useful[month] += after - before;
            before = after;
            if (upTo >= end)
                return;
        }
    }

    /// A node is gone, and others may go before the job runs again.
    void restart()
    {
        for (;;) {
            ++m_failures;
            m_back.push_back(m_now + m_job.replace);
            while (!m_back.empty() && m_back.front() <= m_now)
                m_back.pop_front();
            if (m_back.size() > static_cast<std::size_t>(m_job.spares)) {
                m_now = m_back.front();
                m_back.pop_front();
            }
            const double next = gap();
            m_now += std::min(next, m_job.restart);
            if (next >= m_job.restart || m_now >= m_end || m_failures >= kMostFailures)
                return;
        }
    }

    const FailingJob& m_job;
    const double m_month, m_end;
    std::vector<double> m_useful; ///< [month] seconds
    std::mt19937_64 m_random;
    std::deque<double> m_back; ///< when nodes that are away are back, ascending
    double m_now = 0;
    int m_failures = 0;
};

int nodesOf(const Simulation& simulation)
{
    const int each = std::max(1, simulation.scenario().cluster.gpusPerNode);
    return (simulation.metrics().worldSize + each - 1) / each;
}

/// In whole steps: the one below or above that loses less.
double stepsBetweenSaves(FailingJob job, double wantedSeconds, double stepSeconds)
{
    const double below = std::max(1.0, std::floor(wantedSeconds / stepSeconds));
    const auto usefulWith = [&](double steps) {
        job.every = steps * stepSeconds;
        return runShares(job).useful;
    };
    return usefulWith(below + 1) > usefulWith(below) ? below + 1 : below;
}

} // namespace

RunShares runShares(const FailingJob& job)
{
    const double cycle = job.every + job.save;
    const double blocked = erlangB(job.spares + 1, job.replace / job.mtbf);
    const double running = (1 - blocked) * portableExp(-job.restart / job.mtbf);
    const double kept = running * keptShare(cycle / job.mtbf);
    return {.useful = kept * job.every / cycle,
            .saving = kept * job.save / cycle,
            .repeated = running - kept,
            .restarting = 1 - blocked - running,
            .waiting = blocked};
}

double bestInterval(double saveSeconds, double mtbfSeconds)
{
    // The derivative is 0 where (1 − x) e^(x + save / mtbf) = 1 of x = interval / mtbf; that is where log(1 − x) + x has fallen
    // from 0 to −save / mtbf. For small x it is −x² / 2 − x³ / 3 − …, of which the difference of two logarithms would leave
    // little.
    constexpr int kHalvings = 200;
    constexpr double kSmall = 1e-3;
    const double aim = saveSeconds / mtbfSeconds;
    double low = 0, high = 1;
    for (int i = 0; i < kHalvings; ++i) {
        const double x = (low + high) / 2;
        const double fallen = x < kSmall ? x * x * (1.0 / 2 + x * (1.0 / 3 + x * (1.0 / 4 + x / 5))) : -(portableLog(1 - x) + x);
        (fallen < aim ? low : high) = x;
    }
    return saveSeconds > 0 ? low * mtbfSeconds : 0;
}

std::optional<MonthsOfRun> simulateMonths(const FailingJob& job, double monthSeconds, int months, std::uint64_t seed)
{
    std::vector<double> shares = Player(job, monthSeconds, months, seed).play();
    if (shares.size() < static_cast<std::size_t>(std::min(months, kFewestMonths)))
        return std::nullopt;
    MonthsOfRun out{.months = static_cast<int>(shares.size())};
    for (const double share : shares)
        out.mean += share / out.months;
    std::sort(shares.begin(), shares.end());
    out.low = quantileOf(shares, (1 - MonthsOfRun::level) / 2);
    out.high = quantileOf(shares, (1 + MonthsOfRun::level) / 2);
    return out;
}

const Perturbation* failuresOf(const Scenario& scenario)
{
    const auto& all = scenario.perturbations;
    const auto found =
        std::find_if(all.begin(), all.end(), [](const Perturbation& p) { return p.kind == PerturbationKind::failure; });
    return found == all.end() ? nullptr : &*found;
}

std::int64_t savedParameters(const Simulation& simulation)
{
    return trainableParameterCount(simulation.scenario().model);
}

namespace {

/// All but the months and the run, which there may be none of.
Goodput meanGoodput(const Simulation& simulation, const Failures& f, const std::optional<WholeRun>& run)
{
    constexpr double kBytesAGigabyte = 1e9;
    const Metrics& m = simulation.metrics();
    const StateBytes states = StateBytes::of(simulation.scenario().training);

    Goodput out;
    out.checkpointBytes = static_cast<double>(savedParameters(simulation)) * (states.parameter + states.optimizer);
    out.storageBytesPerSecond = f.storageGBs * kBytesAGigabyte * nodesOf(simulation);
    out.job = {.mtbf = f.mtbfHours * kSecondsAnHour / m.worldSize,
               .save = f.checkpointSeconds.value_or(out.checkpointBytes / out.storageBytesPerSecond),
               .restart = f.restartSeconds,
               .replace = f.replaceSeconds,
               .spares = f.spares};
    const double mostSteps = run ? std::max(1.0, run->steps) : std::numeric_limits<double>::infinity();
    out.bestSeconds = std::min(bestInterval(out.job.save, out.job.mtbf), mostSteps * m.stepTimeSeconds);
    out.everySteps = f.checkpointEverySeconds ? std::max(1.0, std::floor(*f.checkpointEverySeconds / m.stepTimeSeconds + 0.5))
                                              : stepsBetweenSaves(out.job, out.bestSeconds, m.stepTimeSeconds);
    out.everySteps = std::min(out.everySteps, mostSteps);
    out.job.every = out.everySteps * m.stepTimeSeconds;
    out.shares = runShares(out.job);
    out.days = f.days;
    out.failures = f.days * kSecondsADay * (1 - out.shares.waiting) / out.job.mtbf;
    out.tokensPerSecond = m.tokensPerSecond * out.shares.useful;
    return out;
}

WholeRun withLosses(WholeRun run, const Goodput& goodput, const Simulation& simulation)
{
    constexpr double kHoursADay = 24;
    const double useful = goodput.shares.useful;
    run.days = useful >= kLeastUseful ? run.days / useful : std::numeric_limits<double>::infinity();
    run.gpuHours =
        run.days * kHoursADay *
        (simulation.metrics().worldSize + 1.0 * goodput.job.spares * std::max(1, simulation.scenario().cluster.gpusPerNode));
    return run;
}

std::optional<Goodput> goodputOf(const Simulation& simulation, const std::optional<WholeRun>& run)
{
    const Perturbation* const given = failuresOf(simulation.scenario());
    if (given == nullptr)
        return std::nullopt;
    Goodput out = meanGoodput(simulation, given->failures, run);
    out.months = simulateMonths(out.job, out.days * kSecondsADay, kMonths, given->seed);
    if (run)
        out.run = withLosses(*run, out, simulation);
    return out;
}

} // namespace

std::optional<Goodput> goodput(const Simulation& simulation)
{
    return goodputOf(simulation, wholeRun(simulation));
}

std::optional<Goodput> goodput(const Simulation& simulation, double tokens)
{
    return goodputOf(simulation, wholeRun(simulation, tokens));
}

WholeRun lastingRun(const Simulation& simulation, double tokens)
{
    const WholeRun run = wholeRun(simulation, tokens);
    const Perturbation* const given = failuresOf(simulation.scenario());
    return given == nullptr ? run : withLosses(run, meanGoodput(simulation, given->failures, run), simulation);
}

std::string Goodput::sharesText() const
{
    std::array<std::pair<double, const char*>, 4> lost{{{shares.saving, "saving"},
                                                        {shares.repeated, "repeated"},
                                                        {shares.restarting, "restarting"},
                                                        {shares.waiting, "waiting for nodes"}}};
    std::stable_sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    // What trains is told alone elsewhere, with the same digits: rounding is left to what is lost.
    const double useful = roundedParts({shares.useful}, shares.useful).front();
    std::vector<double> shown;
    for (const auto& [share, what] : lost)
        if (share >= kLeastPercentShown)
            shown.push_back(share);
    shown = roundedParts(std::move(shown), 1 - useful);
    std::string out = percentText(useful) + " training";
    for (std::size_t i = 0; i < shown.size(); ++i)
        out += ", " + percentText(shown[i]) + " " + lost[i].second;
    return out;
}

std::string Goodput::failuresText() const
{
    constexpr double kCounted = 10; // below, a part of one says more
    return numberText(failures, failures < kCounted ? Unit::number : Unit::count) + " in " + numberText(days, Unit::number) +
           " days, one in " + durationText(job.mtbf) + (shares.waiting >= kLeastPercentShown ? " while it runs" : "");
}

std::string Goodput::savesText() const
{
    if (run && everySteps >= run->steps)
        return "once, at the end of the run (" + countedText(static_cast<std::int64_t>(everySteps), "step") + ", " +
               durationText(job.every) + "), which takes " + durationText(job.save);
    return "every " + (everySteps == 1 ? std::string("step") : numberText(everySteps, Unit::count) + " steps") + " (" +
           durationText(job.every) + "), each holds training up for " + durationText(job.save);
}

std::string Goodput::runText() const
{
    return !run ? std::string() : std::isfinite(run->days) ? run->text() : "practically never ends";
}

std::string Goodput::monthsText() const
{
    if (!months)
        return {};
    return percentText(months->low) + " to " + percentText(months->high) + " in " + chosenPercentText(MonthsOfRun::level) +
           " of such times";
}

} // namespace sim
