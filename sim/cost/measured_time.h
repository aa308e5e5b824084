// Time against shape from measurements at some shapes. A fit of terms that kernels have (start, edges, traffic of each matrix,
// work), none negative, gives times everywhere, growing with every size; the measurements around a shape then correct it. At a
// measured shape the result is the measurement; far from all of them the fit.
#pragma once

#include "sim/scenario/scenario.h"

#include <array>
#include <vector>

namespace sim {

class MeasuredTime {
public:
    explicit MeasuredTime(const MeasuredCurve&);

    /// Positive. O(points).
    double seconds(double m, double n, double k = 1, double batch = 1) const;
    /// Without the corrections: never falls when a size grows.
    double fittedSeconds(double m, double n, double k = 1, double batch = 1) const;

private:
    /// 1, batch times: 1, m, n, k, mn, mk, nk, mnk.
    static constexpr std::size_t kTerms = 9;
    using Terms = std::array<double, kTerms>;
    static Terms terms(double m, double n, double k, double batch);
    void fit(const MeasuredCurve&);

    struct Correction {
        std::array<double, 4> at; ///< logarithms of m, n, k, batch
        double log;               ///< of measured over fitted
    };
    Terms m_coefficients{}; ///< seconds a term
    std::vector<Correction> m_corrections;
};

} // namespace sim
