#include "sim/cost/measured_time.h"

#include "sim/portable_math.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

constexpr double kMicro = 1e-6;
/// Distance (factor in one size) beyond which a measurement says little: kernels change character within about a factor of 4.
const double kReach = portableLog(4.0);
/// Rounds of coordinate descent: each is a few hundred multiplications, and fits of nine terms settle within some tens.
constexpr int kRounds = 300;

} // namespace

MeasuredTime::Terms MeasuredTime::terms(double m, double n, double k, double batch)
{
    return {1, batch, batch * m, batch * n, batch * k, batch * m * n, batch * m * k, batch * n * k, batch * m * n * k};
}

MeasuredTime::MeasuredTime(const MeasuredCurve& curve)
{
    fit(curve);
    for (const MeasuredPoint& p : curve.points)
        m_corrections.push_back({{portableLog(p.m), portableLog(p.n), portableLog(p.k), portableLog(p.batch)},
                                 portableLog(p.microseconds * kMicro / fittedSeconds(p.m, p.n, p.k, p.batch))});
}

/// Non-negative least squares of the relative error by coordinate descent (Franc, Hlavac & Navara 2005): exact in the limit, and
/// the same on every machine.
void MeasuredTime::fit(const MeasuredCurve& curve)
{
    std::array<double, kTerms> scale{}; // columns of unit length: sizes differ by powers of ten
    std::array<Terms, kTerms> gram{};
    Terms target{};
    std::vector<Terms> rows;
    for (const MeasuredPoint& p : curve.points) {
        Terms row = terms(p.m, p.n, p.k, p.batch);
        for (double& term : row)
            term /= p.microseconds * kMicro;
        rows.push_back(row);
        for (std::size_t i = 0; i < kTerms; ++i)
            scale[i] += row[i] * row[i];
    }
    for (double& length : scale)
        length = std::sqrt(length);
    for (const Terms& row : rows)
        for (std::size_t i = 0; i < kTerms; ++i) {
            target[i] += row[i] / scale[i];
            for (std::size_t j = 0; j < kTerms; ++j)
                gram[i][j] += row[i] / scale[i] * (row[j] / scale[j]);
        }
    Terms solution{};
    solution[kTerms - 1] = target[kTerms - 1]; // all of it is work, to begin with
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = kTerms; i-- > 0;) {
            double residual = target[i];
            for (std::size_t j = 0; j < kTerms; ++j)
                residual -= gram[i][j] * solution[j];
            solution[i] = std::max(0.0, solution[i] + residual);
        }
    for (std::size_t i = 0; i < kTerms; ++i)
        m_coefficients[i] = solution[i] / scale[i];
}

double MeasuredTime::fittedSeconds(double m, double n, double k, double batch) const
{
    const Terms row = terms(m, n, k, batch);
    double seconds = 0;
    for (std::size_t i = 0; i < kTerms; ++i)
        seconds += m_coefficients[i] * row[i];
    return seconds;
}

/// Shepard's inverse-distance weights (1968), with a standing vote for no correction so that far measurements fade out.
double MeasuredTime::seconds(double m, double n, double k, double batch) const
{
    const std::array<double, 4> at{portableLog(m), portableLog(n), portableLog(k), portableLog(batch)};
    constexpr double kSame = 1e-18;
    const double reach2 = kReach * kReach;
    double votes = 1 / (reach2 * reach2), sum = 0;
    for (const Correction& correction : m_corrections) {
        double distance2 = kSame;
        for (std::size_t i = 0; i < at.size(); ++i)
            distance2 += (at[i] - correction.at[i]) * (at[i] - correction.at[i]);
        const double weight = 1 / (distance2 * distance2);
        votes += weight;
        sum += weight * correction.log;
    }
    return fittedSeconds(m, n, k, batch) * portableExp(sum / votes);
}

} // namespace sim
