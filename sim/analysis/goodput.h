// What is left of a run where GPUs fail: the job is saved now and then, and goes on from its last checkpoint after each failure,
// on a spare node or when one is back. A step of it takes as long as without failures.
//
// Failures come at random (exponential gaps) at a rate of GPUs / mtbf while the job runs or restarts, and each takes one node
// away. With mean time M between them, τ of training between saves of δ, and R to restart, training over time is
//     (1 − B) · e^(−R/M) · a / (e^a − 1) · τ / (τ + δ),   a = (τ + δ) / M:
// Daly 2006, equation 20, is all but the first factor. A run of so many tokens saves at its end at the latest, so that its τ is
// at most its training: a run without other saves takes M · e^(R/M) · (e^((τ + δ) / M) − 1) / (1 − B), all of it. B is Erlang's
// loss formula: a job with s spares stands still while s + 1 nodes are away, each for a time D, which is a telephone exchange of
// s + 1 lines and D / M calls at a time; it asks for the mean of D alone (Sevastyanov 1957). Both are exact for what
// `simulateMonths` plays through.
#pragma once

#include "sim/analysis/whole_run.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sim {

/// All in seconds.
struct FailingJob {
    double mtbf = 0;  ///< between failures of the job
    double every = 0; ///< training between two saves; above 0
    double save = 0, restart = 0;
    double replace = 0; ///< a node is away
    int spares = 0;     ///< nodes
};

/// Shares of the time that passes; they add up to 1.
struct RunShares {
    double useful = 1;
    double saving = 0;
    double repeated = 0;   ///< training, and saves, that a failure undid
    double restarting = 0; ///< restarts that failed themselves included
    double waiting = 0;    ///< for a node: no spare was left
};
/// In the mean over a long run.
RunShares runShares(const FailingJob&);

/// Training between two saves that loses least, in seconds: where the derivative of runShares().useful is 0. Of it Daly 2006,
/// equation 37, is an approximation, and Young's 1974 sqrt(2 · save · mtbf) the first term of that.
double bestInterval(double saveSeconds, double mtbfSeconds);

/// The same job played through, failure by failure, for so many months one after the other.
struct MonthsOfRun {
    int months = 0;
    double mean = 0;          ///< useful share
    double low = 0, high = 0; ///< between which it was in `level` of the months
    static constexpr double level = 0.8;
};
/// Deterministic. Fewer months where they have more than kMostFailures together; nothing where that leaves too few to tell.
std::optional<MonthsOfRun> simulateMonths(const FailingJob&, double monthSeconds, int months, std::uint64_t seed);
inline constexpr int kMonths = 400, kFewestMonths = 20;
inline constexpr int kMostFailures = 50'000;

struct Goodput {
    FailingJob job;
    RunShares shares;
    double days = 0;                  ///< what `failures` and `months` are of
    double failures = 0;              ///< expected
    double everySteps = 1;            ///< job.every in steps
    double bestSeconds = 0;           ///< bestInterval of the job, at most all of the run's training
    double checkpointBytes = 0;       ///< parameters and optimizer states, each once
    double storageBytesPerSecond = 0; ///< all nodes; job.save follows from it unless the scenario gives it
    double tokensPerSecond = 0;       ///< of the time that passes
    std::optional<MonthsOfRun> months;
    std::optional<WholeRun> run; ///< with all that is lost; GPU hours with those of spares

    std::string sharesText() const;   ///< "91.9 % training, 5.8 % restarting, 1.2 % saving, 1.1 % repeated"
    std::string failuresText() const; ///< "259 in 30 days, one in 2.78 h"; of a job that also waits for nodes, "… while it runs"
    /// "every 56 steps (3.9 min), each holds training up for 2.84 s"; of a run that ends before, "once, at the end of the run …"
    std::string savesText() const;
    std::string runText() const;    ///< as WholeRun::text, of `run`; empty without one
    std::string monthsText() const; ///< "90.8 % to 92.9 % in 80 % of such times"; empty where they were not played through
};

/// The scenario's failures; nullptr where it has none.
const Perturbation* failuresOf(const Scenario&);
/// Nothing where the scenario has no failures. Some milliseconds. Of a run of as many tokens as the scenario says, or of one
/// without an end.
std::optional<Goodput> goodput(const Simulation&);
/// Of a run of so many tokens.
std::optional<Goodput> goodput(const Simulation&, double tokens);
/// A run of which failures leave less of the time practically never ends: its days are infinite.
inline constexpr double kLeastUseful = 1e-6;
/// What so many tokens take with all that is lost to the scenario's failures, GPU hours with those of spares; where it has none,
/// wholeRun. Microseconds.
WholeRun lastingRun(const Simulation&, double tokens);
/// What a checkpoint has: all that is trained, prediction modules included; with LoRA the adapters, since what is frozen is saved
/// already.
std::int64_t savedParameters(const Simulation&);

} // namespace sim
