#include "app/views/timeline/column_mix.h"

#include <algorithm>
#include <vector>

namespace app {
namespace {

// Boxes of five columns, three times over: what repeats within seven pixels (a forward and a backward, as long as these are not
// drawn one by one) is damped to a twentieth, what repeats within four to a hundredth.
constexpr std::size_t kReach = 2, kBox = 2 * kReach + 1;
constexpr int kTimes = 3;
constexpr std::size_t kShortest = kReach * kTimes; ///< columns of a part: what lies closer is rhythm, not another part

/// Where a value comes into the run or leaves it, with the run's ends, ascending: means across it would blur an edge that is
/// there.
std::vector<std::size_t> edgesOf(std::span<const double> values, std::size_t valuesOfColumn, std::size_t first, std::size_t last)
{
    std::vector<std::size_t> found;
    for (std::size_t value = 0; value < valuesOfColumn; ++value) {
        const auto isThere = [&](std::size_t column) { return values[column * valuesOfColumn + value] > 0; };
        std::size_t begin = first, end = last;
        while (begin < last && !isThere(begin))
            ++begin;
        while (end > begin && !isThere(end - 1))
            --end;
        if (begin < last)
            found.insert(found.end(), {begin, end});
    }
    std::sort(found.begin(), found.end());
    std::vector<std::size_t> edges{first};
    for (const std::size_t edge : found)
        if (edge >= edges.back() + kShortest && last - edge >= kShortest)
            edges.push_back(edge);
    edges.push_back(last);
    return edges;
}

void evenOutPart(std::span<double> values, std::size_t valuesOfColumn, std::size_t first, std::size_t last)
{
    if (last < first + 2)
        return;
    const std::size_t count = last - first;
    std::vector<double> padded(count + 2 * kReach), means(count);
    // Beyond its ends the part is mirrored, as often as it takes: so no value is lost or doubled.
    const auto mirrored = [&](std::size_t beyond) {
        const std::size_t place = beyond % (2 * count);
        return std::min(place, 2 * count - 1 - place);
    };
    for (std::size_t value = 0; value < valuesOfColumn; ++value) {
        for (std::size_t i = 0; i < count; ++i)
            means[i] = values[(first + i) * valuesOfColumn + value];
        if (std::all_of(means.begin(), means.end(), [](double mean) { return mean == 0; }))
            continue;
        for (int time = 0; time < kTimes; ++time) {
            std::copy(means.begin(), means.end(), padded.begin() + kReach);
            for (std::size_t i = 0; i < kReach; ++i) {
                padded[kReach - 1 - i] = means[mirrored(i)];
                padded[kReach + count + i] = means[count - 1 - mirrored(i)];
            }
            for (std::size_t i = 0; i < count; ++i) {
                double sum = 0;
                for (std::size_t b = 0; b < kBox; ++b)
                    sum += padded[i + b];
                means[i] = sum / static_cast<double>(kBox);
            }
        }
        for (std::size_t i = 0; i < count; ++i)
            values[(first + i) * valuesOfColumn + value] = means[i];
    }
}

} // namespace

void evenOut(std::span<double> values, std::size_t valuesOfColumn, std::size_t first, std::size_t last)
{
    const std::vector<std::size_t> edges = edgesOf(values, valuesOfColumn, first, last);
    for (std::size_t i = 0; i + 1 < edges.size(); ++i)
        evenOutPart(values, valuesOfColumn, edges[i], edges[i + 1]);
}

} // namespace app
