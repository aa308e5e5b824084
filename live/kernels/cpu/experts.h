// Mixture of experts: routing, and moving rows to experts and back.
#pragma once

#include "live/kernels/cpu/matrix.h"
#include "live/kernels/device.h"

#include <cmath>
#include <functional>
#include <vector>

namespace live::cpu {

/// Below what is divided by, so that scores of 0 give weights of 0 (as DeepSeek-V3's code).
inline constexpr double kLeastScoreSum = 1e-20;

template <class T>
T sigmoid(T x)
{
    return 1 / (1 + std::exp(-x));
}

/// Gives the experts of all but the best groups the score 0: as Hugging Face's classes have it, whose weights and losses are to
/// come out alike (DeepSeek's own code has -infinity, which is the same wherever scores with their biases are positive).
template <class T>
void keepBestGroups(const RouterRule& rule, std::vector<T>& choice)
{
    const std::size_t size = choice.size() / static_cast<std::size_t>(rule.groups);
    const std::size_t counted = rule.score == RouterRule::Score::sigmoid ? 2 : 1;
    std::vector<T> best(static_cast<std::size_t>(rule.groups));
    std::vector<T> sorted(size);
    for (std::size_t group = 0; group < best.size(); ++group) {
        std::copy_n(choice.begin() + static_cast<std::ptrdiff_t>(group * size), size, sorted.begin());
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        for (std::size_t i = 0; i < std::min(counted, size); ++i)
            best[group] += sorted[i];
    }
    std::vector<bool> kept(best.size(), false);
    for (int i = 0; i < rule.chosenGroups; ++i) {
        std::size_t next = best.size();
        for (std::size_t group = 0; group < best.size(); ++group) // the first of equals
            if (!kept[group] && (next == best.size() || best[group] > best[next]))
                next = group;
        kept[next] = true;
    }
    for (std::size_t e = 0; e < choice.size(); ++e)
        if (!kept[e / size])
            choice[e] = 0;
}

template <class T>
void routeTopK(const Parallel& parallel, const RouterRule& rule, Matrix<const T> logits, Matrix<const T> bias,
               Matrix<T> probabilities, Matrix<std::int32_t> experts, Matrix<T> weights)
{
    assert(probabilities.columns == logits.columns && experts.columns == weights.columns && experts.columns <= logits.columns);
    assert(logits.columns % rule.groups == 0 && experts.columns <= logits.columns / rule.groups * rule.chosenGroups);
    const bool isSoftmax = rule.score == RouterRule::Score::softmax;
    const auto count = static_cast<std::size_t>(logits.columns);
    parallel.overRows(logits.rows, logits.columns, [&](std::int64_t first, std::int64_t last) {
        std::vector<T> scores(count), choice(count);
        for (std::int64_t row = first; row < last; ++row) {
            const T* in = logits.row(row);
            const T largest = *std::max_element(in, in + count);
            T sum = 0;
            for (std::size_t e = 0; e < count; ++e)
                sum += scores[e] = isSoftmax ? std::exp(in[e] - largest) : sigmoid(in[e]);
            T* p = probabilities.row(row);
            for (std::size_t e = 0; e < count; ++e) {
                p[e] = scores[e] / (isSoftmax ? sum : sum + static_cast<T>(kLeastScoreSum));
                if (isSoftmax)
                    scores[e] = p[e];
                choice[e] = bias ? scores[e] + bias.at(static_cast<std::int64_t>(e)) : scores[e];
            }
            if (rule.chosenGroups < rule.groups)
                keepBestGroups(rule, choice);
            T chosen = 0;
            std::int32_t* picks = experts.row(row);
            for (std::int64_t j = 0; j < experts.columns; ++j) {
                std::size_t best = count;
                for (std::size_t e = 0; e < count; ++e) // the first of equals
                    if (std::find(picks, picks + j, static_cast<std::int32_t>(e)) == picks + j &&
                        (best == count || choice[e] > choice[best]))
                        best = e;
                picks[j] = static_cast<std::int32_t>(best);
                chosen += scores[best];
            }
            for (std::int64_t j = 0; j < experts.columns; ++j) {
                const T score = scores[static_cast<std::size_t>(picks[j])];
                const T weight =
                    !rule.normalized ? score : score / (isSoftmax ? chosen : chosen + static_cast<T>(kLeastScoreSum));
                weights.row(row)[j] = weight * static_cast<T>(rule.scale);
            }
        }
    });
}

/// Of a score: of w_j = f s_j / c over the chosen, ds_j = (f dw_j - sum_i dw_i w_i) / c, else f dw_j; of p = s (softmax) or
/// p_e = s_e / S, ds_e = (a_e - sum_i a_i p_i) / S. Then through the softmax or the sigmoid.
template <class T>
void routeGradient(const Parallel& parallel, const RouterRule& rule, Matrix<const T> logits, Matrix<const T> probabilities,
                   Matrix<const std::int32_t> experts, Matrix<const T> weights, Matrix<const T> dWeights,
                   Matrix<const T> auxGradient, Matrix<T> dLogits)
{
    const bool isSoftmax = rule.score == RouterRule::Score::softmax;
    const auto scale = static_cast<T>(rule.scale);
    const std::int64_t count = probabilities.columns;
    parallel.overRows(probabilities.rows, count, [&](std::int64_t first, std::int64_t last) {
        std::vector<T> sigmoids(isSoftmax ? 0 : static_cast<std::size_t>(count));
        for (std::int64_t row = first; row < last; ++row) {
            const T* p = probabilities.row(row);
            const T* scores = p;
            T* slope = dLogits.row(row);
            T ofAux = 0, sum = 1;
            if (!isSoftmax) {
                sum = static_cast<T>(kLeastScoreSum);
                for (std::int64_t e = 0; e < count; ++e) {
                    sum += sigmoids[static_cast<std::size_t>(e)] = sigmoid(logits.row(row)[e]);
                    ofAux += auxGradient ? auxGradient.at(e) * p[e] : T{0};
                }
                scores = sigmoids.data();
            }
            for (std::int64_t e = 0; e < count; ++e)
                slope[e] = auxGradient ? (auxGradient.at(e) - ofAux) / sum : T{0};
            T chosen = isSoftmax ? T{0} : static_cast<T>(kLeastScoreSum), mean = 0;
            for (std::int64_t j = 0; j < experts.columns; ++j) {
                chosen += scores[experts.row(row)[j]];
                mean += dWeights.row(row)[j] * weights.row(row)[j];
            }
            for (std::int64_t j = 0; j < experts.columns; ++j)
                slope[experts.row(row)[j]] +=
                    rule.normalized ? (scale * dWeights.row(row)[j] - mean) / chosen : scale * dWeights.row(row)[j];
            T product = 0;
            for (std::int64_t e = 0; isSoftmax && e < count; ++e)
                product += p[e] * slope[e];
            for (std::int64_t e = 0; e < count; ++e)
                slope[e] = isSoftmax ? p[e] * (slope[e] - product) : slope[e] * scores[e] * (1 - scores[e]);
        }
    });
}

inline void countExperts(Matrix<const std::int32_t> experts, Matrix<std::int64_t> counts)
{
    std::fill_n(counts.data, counts.columns, 0);
    for (std::int64_t row = 0; row < experts.rows; ++row)
        for (std::int64_t j = 0; j < experts.columns; ++j)
            ++counts.data[experts.row(row)[j]];
}

/// A counting sort, which keeps the order of slots.
inline void sortByExpert(Matrix<const std::int32_t> experts, std::int64_t expertCount, Matrix<std::int32_t> order,
                         Matrix<std::int32_t> place)
{
    std::vector<std::int32_t> next(static_cast<std::size_t>(expertCount) + 1, 0);
    for (std::int64_t row = 0; row < experts.rows; ++row)
        for (std::int64_t j = 0; j < experts.columns; ++j)
            ++next[static_cast<std::size_t>(experts.row(row)[j]) + 1];
    for (std::size_t e = 1; e < next.size(); ++e)
        next[e] += next[e - 1];
    for (std::int64_t row = 0; row < experts.rows; ++row)
        for (std::int64_t j = 0; j < experts.columns; ++j) {
            const std::int32_t to = next[static_cast<std::size_t>(experts.row(row)[j])]++;
            order.at(to) = static_cast<std::int32_t>(row * experts.columns + j);
            place.row(row)[j] = to;
        }
}

template <class T>
void gatherRows(const Parallel& parallel, Matrix<const T> x, Matrix<const std::int32_t> index, std::int64_t divisor, Matrix<T> y)
{
    assert(x.columns == y.columns);
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            std::copy_n(x.row(index.at(row) / divisor), y.columns, y.row(row));
    });
}

template <class T>
void combineRows(const Parallel& parallel, Matrix<const T> x, Matrix<const std::int32_t> place, Matrix<const T> weights,
                 Matrix<T> y)
{
    assert(x.columns == y.columns && place.rows == y.rows);
    parallel.overRows(y.rows, y.columns * place.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            T* out = y.row(row);
            std::fill_n(out, y.columns, T{0});
            for (std::int64_t j = 0; j < place.columns; ++j) {
                const T weight = weights ? weights.row(row)[j] : T{1};
                const T* in = x.row(place.row(row)[j]);
                for (std::int64_t i = 0; i < y.columns; ++i)
                    out[i] += weight * in[i];
            }
        }
    });
}

template <class T>
void combineGradient(const Parallel& parallel, Matrix<const T> x, Matrix<const std::int32_t> place, Matrix<const T> weights,
                     Matrix<const T> dy, Matrix<T> dx, Matrix<T> dWeights)
{
    assert(x.columns == dy.columns && dx.columns == dy.columns && place.rows == dy.rows);
    parallel.overRows(dy.rows, dy.columns * place.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t j = 0; j < place.columns; ++j) {
                const std::int64_t slot = place.row(row)[j];
                const T weight = weights ? weights.row(row)[j] : T{1};
                T product = 0;
                for (std::int64_t i = 0; i < dy.columns; ++i) {
                    product += dy.row(row)[i] * x.row(slot)[i];
                    dx.row(slot)[i] = weight * dy.row(row)[i];
                }
                if (dWeights)
                    dWeights.row(row)[j] = product;
            }
    });
}

} // namespace live::cpu
