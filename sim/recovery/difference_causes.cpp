// The few causes that matter of all that two runs differ in: findings that have one are one, and small ones are counted. None
// is a balance: what is longer, shorter, new or gone stands for itself.
#include "sim/recovery/compared_runs.h"
#include "sim/recovery/kernel_words.h"
#include "sim/text/characters.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>

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

/// Whose parts may be new or gone, and change in both directions: what these cost is told apart, as a sum of all would hide it.
bool isOfNames(const DifferenceFinding& finding)
{
    return finding.kind == "kernel" || finding.kind == "collective";
}

const char* changeText(Verdict verdict)
{
    switch (verdict) {
    case Verdict::appeared:
        return "are new";
    case Verdict::gone:
        return "are gone";
    case Verdict::faster:
        return "take less";
    case Verdict::alike:
    case Verdict::slower:
        break;
    }
    return "take longer";
}

std::string amountText(double seconds)
{
    constexpr double kNothing = 1e-9;
    return std::abs(seconds) < kNothing
               ? std::string("no more and no less")
               : numberText(std::abs(seconds), Unit::seconds) + " a step of the mean rank" + (seconds < 0 ? " less" : " more");
}

std::string titleOf(const std::vector<const DifferenceFinding*>& of, double seconds)
{
    const DifferenceFinding& first = *of.front();
    const std::string many = std::to_string(of.size());
    const std::string amount = amountText(seconds);
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
           (first.kind == "kernel" ? "kernels" : "collectives") + " that " + changeText(first.verdict) + ": " + amount;
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
    struct Key {
        std::string kind, subject;
        Verdict verdict = Verdict::alike;
        auto operator<=>(const Key&) const = default; // NOLINT(modernize-use-nullptr)
    };
    std::map<Key, std::vector<std::size_t>> byCause;
    for (std::size_t i = 0; i < difference.findings.size(); ++i) {
        const DifferenceFinding& of = difference.findings[i];
        if (!isHeadline(of))
            byCause[{of.kind, of.subject,
                     isOfNames(of)   ? of.verdict
                     : isShorter(of) ? Verdict::faster
                                     : Verdict::slower}]
                .push_back(i);
    }
    const auto costOf = [&](const std::vector<std::size_t>& findings) {
        const DifferenceFinding& largest = difference.findings[findings.front()]; // as they stand there
        double seconds = 0;
        for (const std::size_t i : findings)
            seconds += difference.findings[i].costSeconds;
        return isWaitedFor(largest) ? largest.costSeconds : seconds;
    };
    std::vector<DifferenceCause> all;
    for (auto& [key, findings] : byCause) {
        DifferenceCause& cause = all.emplace_back();
        std::vector<const DifferenceFinding*> of;
        for (const std::size_t i : findings)
            of.push_back(&difference.findings[i]);
        cause.seconds = costOf(findings);
        const bool isOne = of.size() == 1;
        cause.title = isOne ? of.front()->title : titleOf(of, cause.seconds);
        cause.detail = isOne ? of.front()->detail : "The largest: " + of.front()->title + ". " + of.front()->detail;
        // What is new may do what is gone did: other GPUs and libraries call their kernels otherwise.
        const bool isNew = key.verdict == Verdict::appeared;
        if (isNew || key.verdict == Verdict::gone)
            if (const auto other = byCause.find({key.kind, key.subject, isNew ? Verdict::gone : Verdict::appeared});
                other != byCause.end() && !key.subject.empty())
                cause.detail += " Of the like " + std::to_string(other->second.size()) +
                                (other->second.size() == 1 ? " is " : " are ") + (isNew ? "gone" : "new") + ": with " +
                                (other->second.size() == 1 ? "it " : "them ") +
                                amountText(cause.seconds + costOf(other->second)) + ".";
        cause.findings = findings;
        difference.differingSeconds += std::abs(cause.seconds);
    }
    const double sum = difference.differingSeconds;
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
