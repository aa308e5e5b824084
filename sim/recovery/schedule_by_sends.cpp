#include "sim/recovery/schedule_by_sends.h"

#include "sim/index.h"
#include "sim/recovery/pass_tokens.h"
#include "sim/recovery/recogniser.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <map>
#include <set>

namespace sim {
namespace {

/// How alike a schedule's sends must be to those recorded: as many from a rank to another, and what they carry as far as it is
/// told.
enum class SendsAlike : std::uint8_t { inOrder, inNumber, any };

bool sendAlike(const TokenRows& rows, SendsAlike asked)
{
    if (asked == SendsAlike::any)
        return true;
    const auto sendsOf = [&](const std::vector<PassToken>& tokens) {
        std::vector<std::pair<PassToken, bool>> sends; // to, a forward's
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (tokens[i] >= 0) {
                const bool isTold = sends.size() < rows.ofBlock.size() && !rows.ofBlock[sends.size()];
                sends.emplace_back(tokens[i], isTold && i > 0 && tokens[i - 1] == kForwardToken);
            }
        if (asked == SendsAlike::inNumber)
            std::sort(sends.begin(), sends.end());
        return sends;
    };
    return sendsOf(rows.recorded) == sendsOf(rows.schedule);
}

} // namespace

std::string recogniseBySends(const RunEvidence& evidence, const RecoveredAxis& pipeline,
                             const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow, RecoveredSchedule& result)
{
    const int p = pipeline.size;
    const TokenWords words = tokenWordsOf(evidence);
    std::map<int, RankTokens> recorded; // by pipeline rank
    std::set<int> present;
    std::size_t sends = 0, mostOfRank = 0;
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        const int self = RecoveredAxes::coordinate(pipeline, evidence.ranks[r].rank);
        present.insert(self);
        if (recorded.contains(self))
            continue;
        RankTokens tokens = recordedTokens(evidence.ranks[r], pipeline, stepWindow[r], words);
        sends += tokens.sends;
        mostOfRank = std::max(mostOfRank, tokens.sends);
        if (tokens.sends > 0)
            recorded[self] = std::move(tokens);
    }
    if (static_cast<int>(present.size()) < p && recorded.size() == present.size())
        return std::to_string(present.size()) + " of " + std::to_string(p) +
               " pipeline ranks are recorded, and the order in which these send does not tell";
    if (static_cast<int>(recorded.size()) != p)
        return "sends and receives are not told apart by peer";

    // Recordings of many steps that nothing parts would be one of millions of passes: no order is made for them.
    constexpr std::size_t kMostSendsOfAStep = 200'000, kMostOfARank = 3'000;
    if (sends > kMostSendsOfAStep || mostOfRank > kMostOfARank)
        return "a rank sends " + numberText(static_cast<double>(mostOfRank), Unit::count) +
               " times: more than a step's order is looked for in";
    Recogniser recogniser(result);
    const auto compareAll = [&](SendsAlike asked) {
        const auto likeness = [&](const Schedule& schedule) {
            double sum = 0;
            for (const auto& [rank, tokens] : recorded) {
                const TokenRows rows = tokensBeside(tokens, schedule, rank, words);
                if (!sendAlike(rows, asked))
                    return 0.0;
                sum += likenessOfRows(rows.recorded, rows.schedule);
            }
            return sum / p;
        };
        constexpr int kMostChunks = 8;
        constexpr std::size_t kMostSends = 20'000; // of larger jobs the first order that fits is taken
        for (int v = 1; v <= kMostChunks && (result.alike < 1 || sends <= kMostSends); ++v) {
            // Each micro-batch crosses every boundary between ranks twice; a V's turn lies within a rank, and of two copies of
            // the model each micro-batch crosses one.
            for (const int edges : std::set<int>{p * v - 1, p * v - 2, p * v / 2 - 1}) {
                if (edges < 1 || sends % (2 * asIndex(edges)) != 0)
                    continue;
                const auto units = static_cast<int>(sends / (2 * asIndex(edges)));
                for (int slices = 1; slices <= (v == 1 ? kMostSlices : 1); ++slices) {
                    if (units % slices != 0)
                        continue;
                    ScheduleRequest request{
                        .ranks = p, .virtualStages = v, .microbatches = units / slices, .microbatchGroup = p, .slices = slices};
                    for (const bool overlaps : {false, true}) {
                        request.overlapExpertComm = overlaps;
                        recogniser.compare(request, likeness);
                    }
                }
            }
        }
    };
    // Sends are recorded as they were made: their order is the schedule's, or it is another schedule. Where not even their
    // numbers are any schedule's some were not recorded, and the nearest order is the likeliest.
    compareAll(SendsAlike::inOrder);
    const bool isInOrder = !result.kind.empty();
    if (!isInOrder)
        compareAll(SendsAlike::inNumber);
    const bool isInNumber = !result.kind.empty();
    if (!isInNumber)
        compareAll(SendsAlike::any);
    // Where words tell everything passes are exact, but for kernels of two of them at once.
    const double nearly = words.tellsWeights && isInNumber ? (recogniser.hasBlocks() ? 0.85 : 1) : 0.75;
    if (isInNumber && (!isInOrder || result.alike < nearly)) {
        result.evidence = "no annotations; ranks compute and send in an order of no known schedule: ";
        nameNoSchedule(result);
        result.sure = 0.6;
        return {};
    }
    if (result.alike < nearly)
        return "no known schedule has ranks send in this order";
    // Orders that several schedules share leave them open: as sure of each as of the others.
    result.sure = (words.tellsGradients ? 0.85 : 0.75) * result.alike / static_cast<double>(1 + result.alsoPossible.size());
    result.evidence =
        "no annotations; ranks " +
        std::string(!words.tellsGradients ? "send to their neighbours"
                    : words.tellsWeights  ? "compute forwards, gradients and weight gradients, and send to neighbours,"
                                          : "compute forwards and gradients, and send to neighbours,") +
        (result.alike >= 1 ? " in the order of " : " nearly in the order of ") + result.kind;
    if (!result.alsoPossible.empty())
        result.evidence += " (" + possibleText(result.alsoPossible) + " would do so in the same order)";
    return {};
}

} // namespace sim
