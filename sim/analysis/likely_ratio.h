// How sure it is that one step is faster than another. A prediction has an interval of its own (Uncertainty); two predictions of
// one job err alike, so that their ratio is surer than if each erred by itself: by how much was measured on published steps of
// one job that are one setting apart (assets/residuals.json, "ratio", made by tools/accuracy). Those err by some 8 % whether
// steps of their software are told well or badly by themselves.
#pragma once

#include "sim/scenario/scenario.h"

#include <string>

namespace sim {

/// Of two times, b over a.
struct LikelyRatio {
    double predicted = 1;
    double low = 1, high = 1; ///< between which the measured ratio is in `level` of such pairs
    double level = 0;         ///< 0: not known
    bool isOfOneJob = true;   ///< the same model, GPU, software and precision; else each is as unsure as it is by itself
    std::string basis;        ///< "2,214 pairs of measured steps …"; what both are taken from
    /// Faster or slower, or within what the model can tell apart?
    bool canTell() const { return low > 1 || high < 1; }
    bool isKnown() const { return level > 0; }
    bool operator==(const LikelyRatio&) const = default;
};

/// Whether a time is longer or shorter than another that it is `predicted` times as long as, of predictions that are as sure as
/// these: LikelyRatio::canTell() where the steps are two. `isOfOneJob`: as there.
bool canTellApart(const Uncertainty& a, const Uncertainty& b, bool isOfOneJob, double predicted);

/// `predicted`: time of b over that of a, of the step or of a token. Simplified: whatever is changed about a job, and however
/// much, it is as sure as one setting.
LikelyRatio likelyRatio(const Scenario& a, const Scenario& b, double predicted);

/// "likely -6.1 % to -0.4 %", or that it cannot be told; of changes relative to a.
std::string sureText(const LikelyRatio&);
inline constexpr const char* kCannotTell = "smaller than the model's own error";

} // namespace sim
