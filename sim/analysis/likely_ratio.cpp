#include "sim/analysis/likely_ratio.h"

#include "sim/portable_math.h"
#include "sim/text/number_text.h"

#include <cmath>
#include <tuple>
#include <utility>

namespace sim {
namespace {

/// Of a prediction's own interval, in logarithms.
struct Own {
    double middle, half;
    explicit Own(const Uncertainty& u)
        : middle((portableLog(u.stepHigh) + portableLog(u.stepLow)) / 2),
          half((portableLog(u.stepHigh) - portableLog(u.stepLow)) / 2)
    {
    }
};

/// Of times, b over a.
std::pair<double, double> likelyBetween(const Uncertainty& a, const Uncertainty& b, bool isOfOneJob, double predicted)
{
    const Own ofA(a), ofB(b);
    const double half =
        isOfOneJob ? b.ratioShare * (ofA.half + ofB.half) / 2 : std::sqrt(ofA.half * ofA.half + ofB.half * ofB.half);
    const double middle = ofB.middle - ofA.middle; // both are off by the same where they are one job
    return {predicted * portableExp(middle - half), predicted * portableExp(middle + half)};
}

bool areOneJob(const Scenario& a, const Scenario& b)
{
    return a.model == b.model && a.cluster.efficiency.id == b.cluster.efficiency.id &&
           a.training.stack.id == b.training.stack.id && a.training.precision == b.training.precision;
}

/// Whatever they are called: nothing that a step takes its time from differs.
bool areOneStep(const Scenario& a, const Scenario& b)
{
    return a.model == b.model && a.cluster == b.cluster && a.layout == b.layout && a.schedule == b.schedule &&
           a.training == b.training && a.perturbations == b.perturbations;
}

std::string changeText(double ratio)
{
    return (ratio < 1 ? "−" : "+") + percentText(std::abs(ratio - 1));
}

} // namespace

bool canTellApart(const Uncertainty& a, const Uncertainty& b, bool isOfOneJob, double predicted)
{
    const auto [low, high] = likelyBetween(a, b, isOfOneJob, predicted);
    return LikelyRatio{.low = low, .high = high}.canTell();
}

LikelyRatio likelyRatio(const Scenario& a, const Scenario& b, double predicted)
{
    LikelyRatio out{
        .predicted = predicted, .level = a.uncertainty.isKnown() ? b.uncertainty.level : 0, .isOfOneJob = areOneJob(a, b)};
    if (predicted == 1 && areOneStep(a, b)) {
        out.low = out.high = 1;
        out.basis = "the same step";
        return out;
    }
    std::tie(out.low, out.high) = likelyBetween(a.uncertainty, b.uncertainty, out.isOfOneJob, predicted);
    out.basis = out.isOfOneJob && out.isKnown()              ? b.uncertainty.ratioBasis
                : a.uncertainty.basis == b.uncertainty.basis ? a.uncertainty.basis
                                                             : a.uncertainty.basis + "; " + b.uncertainty.basis;
    return out;
}

std::string sureText(const LikelyRatio& ratio)
{
    return !ratio.isKnown() || ratio.low == ratio.high ? std::string() // nothing to add to what is exact
           : ratio.canTell()                           ? "likely " + changeText(ratio.low) + " to " + changeText(ratio.high)
                                                       : kCannotTell;
}

} // namespace sim
