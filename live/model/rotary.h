// Rotary positions (Su et al. 2021): how far each pair of a head is turned a position, scaled as models for long sequences are:
// Llama 3.1's rule, YaRN (Peng et al. 2023), or all pairs alike.
#pragma once

#include "live/model/rank_context.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <vector>

namespace live {

/// [pair], radians a position, of heads of which `width` elements are rotated.
std::vector<double> rotaryFrequencies(const sim::Model&, int width);
/// What rotated elements are multiplied by: YaRN's attention factor.
double rotaryLength(const sim::Model&);
/// What scores of latent attention are multiplied by beside 1 / sqrt(head): the square of YaRN's mscale_all_dim, as in
/// DeepSeek-V3.
double scoreFactor(const sim::Model&);

/// One rank's table of them.
class Rotary {
public:
    Rotary(RankContext&, int width);
    /// Each `width` columns of x by the row's position; back, for gradients.
    void turn(const Tensor& x, const Tensor& positions) const { rotate(x, positions, false); }
    void turnBack(const Tensor& x, const Tensor& positions) const { rotate(x, positions, true); }

private:
    void rotate(const Tensor& x, const Tensor& positions, bool inverse) const;

    RankContext& m_context;
    int m_width;
    double m_length;
    Array m_frequencies;
};

} // namespace live
