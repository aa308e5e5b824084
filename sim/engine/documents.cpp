#include "sim/engine/documents.h"

#include "sim/cancel.h"
#include "sim/cost/cost.h"
#include "sim/index.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

/// SplitMix64: the same numbers everywhere.
class Drawing {
public:
    explicit Drawing(std::uint64_t seed) : m_state(seed) {}
    /// Of [0, 1).
    double next()
    {
        m_state += 0x9E3779B97F4A7C15ULL;
        std::uint64_t x = m_state;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return static_cast<double>((x ^ (x >> 31U)) >> 11U) * 0x1.0p-53;
    }

private:
    std::uint64_t m_state;
};

} // namespace

namespace {

/// `half`: keys at which the kernel reaches half of its rate, as often as queries see fewer of them.
std::vector<std::vector<double>> sharesOf(const Scenario& scenario, int step, double half)
{
    const Documents& documents = scenario.training.documents;
    std::vector<double> upTo(documents.weights);
    std::partial_sum(upTo.begin(), upTo.end(), upTo.begin());
    const double length = scenario.training.sequenceLength;
    const auto work = [half](double tokens) { return tokens * (tokens + half); };
    CancelPoll poll;
    const auto shareOfSequence = [&](Drawing& drawing) {
        double left = length, sum = 0;
        while (left > 0) {
            poll(1);
            const auto drawn = std::upper_bound(upTo.begin(), upTo.end(), drawing.next() * upTo.back());
            const auto which = std::min(static_cast<std::size_t>(drawn - upTo.begin()), upTo.size() - 1);
            const double tokens = std::min(left, static_cast<double>(documents.lengths[which]));
            sum += work(tokens);
            left -= tokens;
        }
        return sum / work(length);
    };
    const auto slices = asIndex(scenario.schedule.sequenceSlices);
    const auto microbatches = asIndex(scenario.microbatches());
    std::vector<std::vector<double>> out(asIndex(scenario.layout.dp));
    for (std::size_t replica = 0; replica < out.size(); ++replica)
        for (std::size_t microbatch = 0; microbatch < microbatches; ++microbatch) {
            Drawing drawing((documents.seed + 1) * 0xD1B54A32D192ED03ULL +
                            static_cast<std::uint64_t>(step) * 0x2545F4914F6CDD1DULL + replica * 0x9E6C63D0876A9A47ULL +
                            microbatch * 0xD6E8FEB86659FD93ULL);
            double sum = 0;
            for (int sequence = 0; sequence < scenario.training.microBatchSize; ++sequence)
                sum += shareOfSequence(drawing);
            out[replica].insert(out[replica].end(), slices, sum / scenario.training.microBatchSize);
        }
    return out;
}

} // namespace

std::vector<std::vector<double>> attentionShares(const Scenario& scenario, int step)
{
    if (!scenario.training.documents.areGiven())
        return {};
    return sharesOf(scenario, step, (scenario.training.causal ? 2 : 1) * meanAttentionHalfLength(scenario));
}

double attentionFlopsShare(const Scenario& scenario)
{
    if (!scenario.training.documents.areGiven())
        return 1;
    double sum = 0, count = 0;
    for (const std::vector<double>& replica : sharesOf(scenario, 0, 0))
        for (const double share : replica) {
            sum += share;
            ++count;
        }
    return sum / std::max(1.0, count);
}

double attentionShareOf(const RankClasses& classes, int classIndex, int microbatch, const OpShape& shape)
{
    const bool isAttention = shape.family == KernelFamily::attention; // unfused, a mask skips no work
    const int replica = classes.slowdown[asIndex(classIndex)].replica;
    return isAttention && replica >= 0 && microbatch >= 0 ? classes.attentionShares[asIndex(replica)][asIndex(microbatch)] : 1;
}

} // namespace sim
