// The few causes that matter of all that two runs differ in: findings that have one are one, and small ones are counted.
#include "sim/recovery/compared_runs.h"
#include "sim/recovery/kernel_words.h"
#include "sim/text/characters.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace sim {
namespace {

constexpr std::size_t kMostCauses = 8; ///< that a person reads
constexpr double kEnough = 0.9;        ///< of all that was found: what is left explains little

bool isHeadline(const DifferenceFinding& finding)
{
    return finding.kind == "step" || finding.kind == "configuration";
}

/// Others wait for a slow rank, stage or host: several of them cost no more than the one that costs most.
bool isWaitedFor(const DifferenceFinding& finding)
{
    return finding.kind == "rank" || finding.kind == "idle" || finding.kind == "stage";
}

bool isShorter(const DifferenceFinding& finding)
{
    return finding.verdict == Verdict::faster || finding.verdict == Verdict::gone;
}

/// "14 are new, 29 gone, 2 take longer"
std::string countsText(const std::vector<const DifferenceFinding*>& of)
{
    constexpr std::pair<Verdict, const char*> kWords[] = {{Verdict::appeared, "new"},
                                                          {Verdict::gone, "gone"},
                                                          {Verdict::slower, "longer than before"},
                                                          {Verdict::faster, "shorter than before"}};
    std::string text;
    for (const auto& [verdict, word] : kWords)
        if (const auto count =
                std::count_if(of.begin(), of.end(), [v = verdict](const auto* finding) { return finding->verdict == v; });
            count > 0)
            text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + word;
    return text;
}

std::string titleOf(const std::vector<const DifferenceFinding*>& of, double seconds)
{
    const DifferenceFinding& first = *of.front();
    const std::string many = std::to_string(of.size());
    const char* const moreOrLess = seconds < 0 ? " less" : " more";
    const std::string amount = numberText(std::abs(seconds), Unit::seconds) + " a step of the mean rank" + moreOrLess;
    const char* const direction = isShorter(first) ? "shorter" : "longer";
    if (first.kind == "rank")
        return many + " ranks compute " + direction + " than the other ranks' change explains";
    if (first.kind == "stage")
        return many + " stages compute " + direction + " than the other stages' change explains";
    if (first.kind == "idle")
        return "The devices of " + many + " ranks wait " + direction + " for their hosts than the other ranks' change explains";
    if (first.kind == "waiting")
        return "Ranks wait " + std::string(direction) + " for the last of them in " + many + " kinds of collectives: " + amount;
    constexpr std::size_t kMostOfSubject = 100; // functions of templates have names of any length
    const std::size_t cut = cutBetweenCharacters(first.subject, std::min(kMostOfSubject, first.subject.size()));
    return first.subject.substr(0, cut) + (cut < first.subject.size() ? "…" : "") + ", " + many + " kinds of " +
           (first.kind == "kernel" ? "kernels" : "collectives") + " (" + countsText(of) + "): " + amount;
}

/// "at::native::(anonymous namespace)::multi_tensor_apply_kernel" of a kernel's whole name.
std::string functionOf(std::string name)
{
    constexpr std::string_view kVoid = "void ", kAnonymous = "(anonymous namespace)";
    if (name.starts_with(kVoid))
        name.erase(0, kVoid.size());
    std::size_t at = name.find_first_of("<(");
    while (at != std::string::npos && name.compare(at, kAnonymous.size(), kAnonymous) == 0)
        at = name.find_first_of("<(", at + kAnonymous.size());
    return at == std::string::npos || at == 0 ? name : name.substr(0, at);
}

} // namespace

std::string subjectOfKernel(const std::string& name, bool isRenamed)
{
    const std::string lowered = loweredName(name);
    if (isRenamed && namesFusedAttention(lowered))
        return "Attention";
    if (isRenamed && namesProduct(lowered))
        return "Matrix products";
    return functionOf(name);
}

std::string subjectOfCollective(const std::string& name)
{
    const std::size_t axis = std::min(name.find(" over "), name.find(" of an "));
    return axis == std::string::npos ? name : "Communication" + name.substr(axis, name.find(',', axis) - axis);
}

std::vector<const DifferenceFinding*> RunDifference::headlines() const
{
    std::vector<const DifferenceFinding*> list;
    for (const DifferenceFinding& finding : findings)
        if (isHeadline(finding))
            list.push_back(&finding);
    return list;
}

void tellCauses(RunDifference& difference)
{
    // What is alike shares its direction too, but for kernels and collectives: what is new is in place of what is gone.
    std::map<std::tuple<std::string, std::string, bool>, std::vector<std::size_t>> byCause;
    for (std::size_t i = 0; i < difference.findings.size(); ++i) {
        const DifferenceFinding& of = difference.findings[i];
        if (!isHeadline(of))
            byCause[{of.kind, of.subject, of.subject.empty() && isShorter(of)}].push_back(i);
    }
    std::vector<DifferenceCause> all;
    double sum = 0;
    for (auto& [key, findings] : byCause) {
        DifferenceCause& cause = all.emplace_back();
        std::vector<const DifferenceFinding*> of;
        for (const std::size_t i : findings)
            of.push_back(&difference.findings[i]); // the largest first, as they stand there
        for (const DifferenceFinding* finding : of)
            cause.seconds = isWaitedFor(*finding) ? of.front()->costSeconds : cause.seconds + finding->costSeconds;
        const bool isOne = of.size() == 1;
        cause.title = isOne ? of.front()->title : titleOf(of, cause.seconds);
        cause.detail = isOne ? of.front()->detail : "The largest: " + of.front()->title + ". " + of.front()->detail;
        cause.findings = std::move(findings);
        sum += std::abs(cause.seconds);
    }
    const auto isWaiting = [&](const DifferenceCause& cause) {
        return difference.findings[cause.findings.front()].kind == "waiting";
    };
    std::stable_sort(all.begin(), all.end(), [](const DifferenceCause& x, const DifferenceCause& y) {
        return std::abs(x.seconds) > std::abs(y.seconds);
    });
    double told = 0;
    for (DifferenceCause& cause : all) {
        cause.share = sum > 0 ? std::abs(cause.seconds) / sum : 0;
        // Whose only fellow would be a count is told as well.
        const bool isLastOne = &cause == &all.back() && difference.otherFindings == 0 && cause.findings.size() == 1;
        if (isLastOne || (difference.causes.size() < kMostCauses && told < kEnough)) {
            told += cause.share;
            difference.causes.push_back(std::move(cause));
        } else {
            difference.otherFindings += cause.findings.size();
            difference.otherShare += cause.share;
        }
    }
    std::stable_partition(difference.causes.begin(), difference.causes.end(),
                          [&](const DifferenceCause& cause) { return !isWaiting(cause); });
}

} // namespace sim
