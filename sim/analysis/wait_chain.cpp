#include "sim/analysis/wait_chain.h"

#include "sim/analysis/wait_advice.h"
#include "sim/index.h"
#include "sim/mesh/spoken_group.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"
#include "sim/text/wait_lines.h"

#include <algorithm>
#include <array>
#include <map>

namespace sim {
namespace {

struct OpPlace {
    int classIndex = 0;
    std::size_t op = 0; ///< among all ops
    bool operator==(const OpPlace&) const = default;
};

/// What kept an op until it began.
struct Blocker {
    OpPlace at;
    bool hasBegun = false; ///< it had to begin, not to end: ops of a pass are issued once the last kernel before them runs
};

constexpr StreamMask kInsidePass = static_cast<StreamMask>(maskOf(Stream::tp) | maskOf(Stream::cp) | maskOf(Stream::ep));

/// Where ops of a class lie, looked up by what leads to them.
struct ClassIndex {
    std::vector<std::size_t> firstOfStep;                                     ///< [step], and one past the end
    std::vector<std::size_t> kernels;                                         ///< in order of time
    std::array<std::vector<std::size_t>, kCommunicatorRoleCount> collectives; ///< [role]
    std::map<std::size_t, std::size_t> ordinalOfCollective;                   ///< among those of its role
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> sends;       ///< (pipeline rank, slot)
    std::map<std::int32_t, std::size_t> posts;                                ///< slot
    std::int64_t insidePassesNs = 0; ///< in which no kernel of a pass that has begun runs
};

/// What is communicated. What a pass gathers on its way forward it reduces on its way back: the label's own word is of one of
/// them.
std::string communicatedText(const std::string& label)
{
    if (label.starts_with("grad."))
        return "gradients";
    if (label.starts_with("param."))
        return "parameters";
    if (label == "regather")
        return "activations";
    std::string text = spokenOp(label);
    for (const std::string_view way : {" again", " gathering", " reduction"})
        if (text.ends_with(way))
            text.resize(text.size() - way.size());
    return text;
}

} // namespace

struct WaitChains::Data {
    const Simulation& simulation;
    const Program& program;
    const RankClasses& classes;
    const EngineResult& times;
    std::vector<std::unique_ptr<ClassIndex>> index; ///< [class]; nullptr: nobody has asked

    WaitAdviser adviser;

    explicit Data(const Simulation& s)
        : simulation(s), program(s.program()), classes(s.classes()), times(s.times()), index(asIndex(s.classCount())), adviser(s)
    {
    }

    const RankProgram& programOf(int c) const { return program.ranks[asIndex(classes.pipelineRank[asIndex(c)])]; }
    const ClassIndex& of(int c)
    {
        auto& known = index[asIndex(c)];
        if (!known) {
            known = make(c);
            const std::vector<std::size_t>& kernels = known->kernels;
            for (std::size_t i = 1; i < kernels.size(); ++i)
                if (isOnePass(c, kernels[i - 1], kernels[i]))
                    known->insidePassesNs +=
                        std::max<std::int64_t>(0, times.opStartNs[kernels[i]] - times.opEndNs[kernels[i - 1]]);
        }
        return *known;
    }
    std::unique_ptr<ClassIndex> make(int c) const
    {
        auto out = std::make_unique<ClassIndex>();
        std::size_t place = times.firstOp[asIndex(c)];
        CancelPoll poll;
        for (const Step& step : programOf(c).steps) {
            out->firstOfStep.push_back(place);
            const Pass& pass = program.passes[step.pass];
            poll(pass.ops.size() + 1);
            for (const Op& op : pass.ops) {
                if (op.kind == OpKind::compute && op.stream == Stream::compute)
                    out->kernels.push_back(place);
                else if (op.kind == OpKind::collective) {
                    auto& all = out->collectives[asIndex(op.group)];
                    out->ordinalOfCollective.emplace(place, all.size());
                    all.push_back(place);
                } else if (op.kind == OpKind::send)
                    out->sends.emplace(std::pair{step.sendTo, step.sendSlot}, place);
                else if (op.kind == OpKind::post)
                    out->posts.emplace(step.receiveSlot, place);
                ++place;
            }
        }
        out->firstOfStep.push_back(place);
        return out;
    }

    /// Before a kernel of the class, by its number; with as many as there are: after the last one.
    Gap gapBefore(int c, std::size_t kernel)
    {
        const std::vector<std::size_t>& kernels = of(c).kernels;
        Gap gap{.classIndex = c, .beginNs = 0, .endNs = times.endNs, .next = std::nullopt};
        if (kernel > 0)
            gap.beginNs = times.opEndNs[kernels[kernel - 1]];
        if (kernel < kernels.size()) {
            gap.next = kernels[kernel];
            gap.endNs = times.opStartNs[kernels[kernel]];
        }
        return gap;
    }
    /// The first kernel of the class that begins after a time, by its number.
    std::size_t kernelAfter(int c, std::int64_t ns)
    {
        const std::vector<std::size_t>& kernels = of(c).kernels;
        const auto after = std::upper_bound(kernels.begin(), kernels.end(), ns,
                                            [&](std::int64_t at, std::size_t place) { return at < times.opStartNs[place]; });
        return asIndex(after - kernels.begin());
    }

    std::size_t stepOf(OpPlace at)
    {
        const auto& first = of(at.classIndex).firstOfStep;
        return asIndex(std::upper_bound(first.begin(), first.end(), at.op) - first.begin()) - 1;
    }
    /// Of a pass: when its first kernel begins.
    std::int64_t computesFrom(const WaitLink& link)
    {
        const std::size_t first = of(link.classIndex).firstOfStep[asIndex(link.step)];
        const std::vector<Op>& ops = program.passes[programOf(link.classIndex).steps[asIndex(link.step)].pass].ops;
        const auto kernel = std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == OpKind::compute; });
        return kernel == ops.end() ? link.beginNs : times.opStartNs[first + static_cast<std::size_t>(kernel - ops.begin())];
    }
    const Step& step(OpPlace at) { return programOf(at.classIndex).steps[stepOf(at)]; }
    const Op& op(OpPlace at) { return program.passes[step(at).pass].ops[at.op - of(at.classIndex).firstOfStep[stepOf(at)]]; }
    std::int64_t start(OpPlace at) const { return times.opStartNs[at.op]; }
    std::int64_t end(OpPlace at) const { return times.opEndNs[at.op]; }
    std::int64_t released(const Blocker& by) const { return by.hasBegun ? start(by.at) : end(by.at); }
    /// Messages are launched in time.
    bool waitsForLaunch(OpPlace at)
    {
        const PassLaunches* const launches = simulation.prices().launchesOf(step(at).pass);
        return launches != nullptr &&
               launches->ops[at.op - of(at.classIndex).firstOfStep[stepOf(at)]].startedNs != OpLaunch::kNever;
    }

    std::optional<Blocker> blockerOnRank(OpPlace at, std::int64_t untilNs);
    std::optional<Blocker> blockerOf(OpPlace at, std::int64_t untilNs);
    std::vector<OpPlace> membersOf(OpPlace collective);
    OpPlace lastMember(OpPlace collective);
    OpPlace senderOf(OpPlace receive);
    OpPlace lastOfAll();
    OpPlace origin(OpPlace at);
    WaitLink::Kind kindOf(OpPlace at, bool isFirst);
    void add(WaitChain&, WaitLink::Kind, OpPlace origin, std::int64_t beginNs, std::int64_t endNs);

    /// Between two kernels of one pass; nothing where the gap lies between passes.
    bool isInsidePass(const Gap&);
    bool isOnePass(int c, std::size_t a, std::size_t b);

    std::int64_t besideKernelsNs(int c, std::size_t step, std::size_t place);
    std::int64_t computedNs(int c, std::size_t step);
    std::int64_t readyNs(OpPlace collective);

    std::string rankText(int c) const;
    std::string stepName(const Step&, int c) const;
    std::string aboutCollective(const std::vector<WaitLink>& inARow, const std::string& whose, std::int64_t waitedNs);
    std::string hidingText(const WaitLink&);
};

WaitChains::WaitChains(const Simulation& simulation) : m_data(std::make_unique<Data>(simulation)) {}
WaitChains::~WaitChains() = default;

std::optional<Gap> WaitChains::gapAt(int c, std::int64_t atNs)
{
    Data& d = *m_data;
    if (atNs < 0 || atNs >= d.times.endNs)
        return std::nullopt;
    const Gap gap = d.gapBefore(c, d.kernelAfter(c, atNs));
    return gap.beginNs > atNs ? std::nullopt : std::optional(gap);
}

std::optional<Gap> WaitChains::firstGapFrom(int c, std::int64_t fromNs, std::int64_t leastNs)
{
    Data& d = *m_data;
    const std::size_t count = d.of(c).kernels.size();
    CancelPoll poll;
    for (std::size_t kernel = d.kernelAfter(c, fromNs); kernel <= count; ++kernel) {
        poll(1);
        if (const Gap gap = d.gapBefore(c, kernel); gap.beginNs >= fromNs && gap.lengthNs() >= leastNs)
            return gap;
    }
    return std::nullopt;
}

std::optional<Gap> WaitChains::lastGapUntil(int c, std::int64_t untilNs, std::int64_t leastNs)
{
    Data& d = *m_data;
    CancelPoll poll;
    for (std::size_t kernel = d.kernelAfter(c, untilNs) + 1; kernel-- > 0;) {
        poll(1);
        if (const Gap gap = d.gapBefore(c, kernel); gap.endNs <= untilNs && gap.lengthNs() >= leastNs)
            return gap;
    }
    return std::nullopt;
}

std::optional<Gap> WaitChains::longestGapIn(int c, std::int64_t fromNs, std::int64_t toNs)
{
    Data& d = *m_data;
    const std::vector<std::size_t>& kernels = d.of(c).kernels;
    std::optional<Gap> longest;
    const auto take = [&](const std::optional<Gap>& gap) {
        if (gap && gap->lengthNs() > 0 && (!longest || gap->lengthNs() > longest->lengthNs()))
            longest = gap;
    };
    take(gapAt(c, std::max<std::int64_t>(0, fromNs)));
    auto next = std::upper_bound(kernels.begin(), kernels.end(), fromNs,
                                 [&](std::int64_t ns, std::size_t place) { return ns < d.times.opEndNs[place]; });
    CancelPoll poll;
    for (; next != kernels.end() && d.times.opEndNs[*next] < toNs; ++next) {
        poll(1);
        take(d.gapBefore(c, asIndex(next - kernels.begin()) + 1));
    }
    return longest;
}

/// Among what was issued before an op on the streams that it follows: what ended when it began, else what ended last before.
std::optional<Blocker> WaitChains::Data::blockerOnRank(OpPlace at, std::int64_t untilNs)
{
    const Op& waiting = op(at);
    auto left = static_cast<StreamMask>(waiting.waits | maskOf(waiting.stream));
    const bool isKernel = waiting.stream == Stream::compute;
    const ClassIndex& ops = of(at.classIndex);
    const std::size_t ownStep = stepOf(at);
    bool passBegan = isKernel;   // ops beside kernels also wait for the pass before to have begun
    std::optional<Blocker> best; // behind it the op waited for its launch
    std::int64_t bestNs = -1;
    const auto take = [&](const Blocker& by) {
        if (const std::int64_t ns = released(by); ns < untilNs && ns > bestNs) {
            bestNs = ns;
            best = by;
        }
    };
    for (std::size_t s = ownStep + 1; s-- > 0 && (left != 0 || !passBegan);) {
        const Pass& pass = program.passes[programOf(at.classIndex).steps[s].pass];
        const std::size_t first = ops.firstOfStep[s];
        for (std::size_t i = std::min(at.op, ops.firstOfStep[s + 1]) - first; i-- > 0;) {
            const Op& before = pass.ops[i];
            const OpPlace place{at.classIndex, first + i};
            if (!passBegan && s < ownStep && before.stream == Stream::compute) {
                passBegan = true;
                if (start(place) == untilNs)
                    return Blocker{place, true};
                take({place, true});
            }
            if ((left & maskOf(before.stream)) == 0)
                continue;
            left &= static_cast<StreamMask>(~maskOf(before.stream));
            if (end(place) == untilNs)
                return Blocker{place};
            take({place});
            if (left == 0 && passBegan)
                break;
        }
    }
    return best;
}

/// A message also begins no earlier than its receiver has posted it.
std::optional<Blocker> WaitChains::Data::blockerOf(OpPlace at, std::int64_t untilNs)
{
    auto found = blockerOnRank(at, untilNs);
    const bool isExact = found && released(*found) == untilNs;
    if (isExact || op(at).kind != OpKind::send)
        return found;
    const Step& sent = step(at);
    const int receiver = classes.peerOf(at.classIndex, sent.sendTo).classIndex;
    const auto& posts = of(receiver).posts;
    if (const auto post = posts.find(sent.sendSlot); post != posts.end())
        if (const auto ofPost = blockerOnRank({receiver, post->second}, untilNs);
            ofPost && (!found || released(*ofPost) > released(*found)))
            return ofPost;
    return found;
}

/// The classes that a collective joins, its own first, each with its op.
std::vector<OpPlace> WaitChains::Data::membersOf(OpPlace at)
{
    const auto role = asIndex(op(at).group);
    const int group = classes.groups[asIndex(at.classIndex)][role];
    if (group < 0)
        return {at};
    const std::size_t ordinal = of(at.classIndex).ordinalOfCollective.at(at.op);
    std::vector<OpPlace> members{at};
    for (const int member : classes.classGroups[asIndex(group)].classes)
        if (const auto& theirs = of(member).collectives[role]; member != at.classIndex && ordinal < theirs.size())
            members.push_back({member, theirs[ordinal]});
    return members;
}

/// The last to arrive.
OpPlace WaitChains::Data::lastMember(OpPlace at)
{
    const std::vector<OpPlace> members = membersOf(at);
    return *std::max_element(members.begin(), members.end(),
                             [this](const OpPlace& a, const OpPlace& b) { return start(a) < start(b); });
}

OpPlace WaitChains::Data::senderOf(OpPlace at)
{
    const Step& received = step(at);
    const int sender = classes.peerOf(at.classIndex, received.receiveFrom).classIndex;
    const auto& sends = of(sender).sends;
    const auto found = sends.find({classes.pipelineRank[asIndex(at.classIndex)], received.receiveSlot});
    return found == sends.end() ? at : OpPlace{sender, found->second};
}

/// The op whose beginning decides when this one is over.
OpPlace WaitChains::Data::origin(OpPlace at)
{
    switch (op(at).kind) {
    case OpKind::collective:
        return lastMember(at);
    case OpKind::receive:
    case OpKind::post:
        return senderOf(at);
    default:
        return at;
    }
}

OpPlace WaitChains::Data::lastOfAll()
{
    const auto last = asIndex(std::max_element(times.opEndNs.begin(), times.opEndNs.end()) - times.opEndNs.begin());
    const auto after = std::upper_bound(times.firstOp.begin(), times.firstOp.end(), last);
    return {static_cast<int>(after - times.firstOp.begin()) - 1, last};
}

/// Of an op of the class, as long as kernels of a step run beside it.
std::int64_t WaitChains::Data::besideKernelsNs(int c, std::size_t step, std::size_t place)
{
    const std::int64_t beginNs = times.opStartNs[place], endNs = times.opEndNs[place];
    const ClassIndex& ops = of(c);
    const auto first = std::lower_bound(ops.kernels.begin(), ops.kernels.end(), ops.firstOfStep[step]);
    const auto last = std::lower_bound(first, ops.kernels.end(), ops.firstOfStep[step + 1]);
    std::int64_t sum = 0;
    for (auto kernel =
             std::upper_bound(first, last, beginNs, [this](std::int64_t ns, std::size_t at) { return ns < times.opEndNs[at]; });
         kernel != last && times.opStartNs[*kernel] < endNs; ++kernel)
        sum += std::min(endNs, times.opEndNs[*kernel]) - std::max(beginNs, times.opStartNs[*kernel]);
    return sum;
}

/// For how long kernels of a step run.
std::int64_t WaitChains::Data::computedNs(int c, std::size_t step)
{
    const ClassIndex& ops = of(c);
    std::int64_t sum = 0;
    for (const std::size_t kernel : ops.kernels)
        if (kernel >= ops.firstOfStep[step] && kernel < ops.firstOfStep[step + 1])
            sum += times.opEndNs[kernel] - times.opStartNs[kernel];
    return sum;
}

/// When a member has computed what it brings to a collective. On the stream it may then still wait for those before it, which
/// their own late members held up.
std::int64_t WaitChains::Data::readyNs(OpPlace at)
{
    const std::vector<std::size_t>& kernels = of(at.classIndex).kernels;
    const auto after = std::lower_bound(kernels.begin(), kernels.end(), at.op);
    const bool waits = (op(at).waits & maskOf(Stream::compute)) != 0;
    return waits && after != kernels.begin() ? std::min(start(at), times.opEndNs[*(after - 1)]) : start(at);
}

bool WaitChains::Data::isInsidePass(const Gap& gap)
{
    if (!gap.next)
        return false;
    const std::vector<std::size_t>& kernels = of(gap.classIndex).kernels; // ascending, in place as in time
    const auto at = std::lower_bound(kernels.begin(), kernels.end(), *gap.next);
    return at != kernels.begin() && isOnePass(gap.classIndex, *(at - 1), *at);
}

/// Whether two ops of a class are of the same pass; the optimizer is none.
bool WaitChains::Data::isOnePass(int c, std::size_t a, std::size_t b)
{
    const std::size_t at = stepOf({c, b});
    return at == stepOf({c, a}) && programOf(c).steps[at].action >= 0;
}

WaitLink::Kind WaitChains::Data::kindOf(OpPlace at, bool isFirst)
{
    const Op& of = op(at);
    switch (of.kind) {
    case OpKind::collective: // inside a pass it is a part of that, unless it is what the rank itself waits for
        return !isFirst && (kInsidePass & maskOf(of.stream)) != 0 ? WaitLink::Kind::pass : WaitLink::Kind::collective;
    case OpKind::send:
    case OpKind::receive:
    case OpKind::post:
        return WaitLink::Kind::message;
    case OpKind::copy:
        return WaitLink::Kind::copy;
    default:
        return WaitLink::Kind::pass;
    }
}

void WaitChains::Data::add(WaitChain& chain, WaitLink::Kind kind, OpPlace origin, std::int64_t beginNs, std::int64_t endNs)
{
    const auto stepIndex = static_cast<std::int32_t>(stepOf(origin));
    if (!chain.links.empty()) {
        WaitLink& before = chain.links.back();
        const bool isOfPass = kind == WaitLink::Kind::pass || kind == WaitLink::Kind::launch;
        if (isOfPass && before.kind == WaitLink::Kind::pass && before.step == stepIndex && before.beginNs == endNs &&
            classes.pipelineRank[asIndex(before.classIndex)] == classes.pipelineRank[asIndex(origin.classIndex)]) {
            before.beginNs = beginNs;
            if (isSlowed(simulation, origin.classIndex) &&
                !isSlowed(simulation, before.classIndex)) { // it kept the others: the same op of it
                before.place += times.firstOp[asIndex(origin.classIndex)] - times.firstOp[asIndex(before.classIndex)];
                before.classIndex = origin.classIndex;
            }
            return;
        }
    }
    chain.links.push_back({.kind = kind,
                           .classIndex = origin.classIndex,
                           .step = stepIndex,
                           .place = origin.op,
                           .beginNs = beginNs,
                           .endNs = endNs});
}

WaitChain WaitChains::chain(const Gap& gap)
{
    Data& d = *m_data;
    WaitChain chain{.gap = gap, .links = {}, .unexplainedNs = 0};
    std::int64_t untilNs = gap.endNs;
    std::optional<OpPlace> waiting;
    if (gap.next)
        waiting = OpPlace{gap.classIndex, *gap.next};
    CancelPoll poll;
    while (untilNs > gap.beginNs) {
        poll(16);
        const std::optional<Blocker> blocker = waiting ? d.blockerOf(*waiting, untilNs) : std::optional(Blocker{d.lastOfAll()});
        const std::int64_t releasedNs = blocker ? std::max(d.released(*blocker), gap.beginNs) : gap.beginNs;
        if (releasedNs < untilNs) { // its streams were free
            if (waiting && d.waitsForLaunch(*waiting))
                d.add(chain, WaitLink::Kind::launch, *waiting, releasedNs, untilNs);
            else
                chain.unexplainedNs += untilNs - releasedNs;
            untilNs = releasedNs;
        }
        if (!blocker)
            break;
        waiting = blocker->at;
        if (blocker->hasBegun)
            continue;
        waiting = d.origin(blocker->at);
        if (const std::int64_t beginNs = std::max(d.start(*waiting), gap.beginNs); beginNs < untilNs) {
            d.add(chain, d.kindOf(blocker->at, chain.isOnlyLaunched()), *waiting, beginNs, untilNs);
            untilNs = beginNs;
        }
    }
    return chain;
}

// In words ----------------------------------------------------------------------------------------------------------------------

std::string WaitChains::Data::rankText(int c) const
{
    const int pp = classes.pipelineRank[asIndex(c)];
    const auto alike = std::count(classes.pipelineRank.begin(), classes.pipelineRank.end(), pp);
    const std::string rank = "rank " + numberText(classes.representative[asIndex(c)], Unit::count);
    if (program.ranks.size() == 1)
        return alike == 1 ? std::string("every rank") : rank;
    return "pp " + std::to_string(pp) + (alike == 1 ? "" : " (" + rank + ")");
}

std::string WaitChains::Data::stepName(const Step& of, int c) const
{
    const Schedule& schedule = simulation.schedule();
    if (of.action < 0)
        return of.stage < 0 ? "the optimizer" : "its first transfers";
    const auto& actions = schedule.actions[asIndex(classes.pipelineRank[asIndex(c)])];
    const Action& action = actions[asIndex(of.action)];
    return actionName(action, schedule.slices, schedule.stagesOfRank(classes.pipelineRank[asIndex(c)]).size() > 1);
}

/// Of some outside the passes, one after the other, the last one first: who comes last to them, and what they hide behind or
/// could. `waitedNs`: of the rank that waits for it.
std::string WaitChains::Data::aboutCollective(const std::vector<WaitLink>& inARow, const std::string& whose,
                                              std::int64_t waitedNs)
{
    std::int64_t lateNs = -1;
    int last = 0;
    for (const WaitLink& link : inARow) {
        std::int64_t firstNs = INT64_MAX, lastNs = INT64_MIN;
        int ofThese = link.classIndex;
        for (const OpPlace& member : membersOf({link.classIndex, link.place})) {
            const std::int64_t ns = readyNs(member);
            firstNs = std::min(firstNs, ns);
            if (ns > lastNs) {
                lastNs = ns;
                ofThese = member.classIndex;
            }
        }
        if (lastNs - firstNs > lateNs) {
            lateNs = lastNs - firstNs;
            last = ofThese;
        }
    }
    constexpr std::int64_t kBlamed = 10; // a tenth of the wait: what is less is not why the rank waits
    const std::string late = numberText(static_cast<double>(lateNs) * 1e-9, Unit::seconds);
    return whose +
           (lateNs == 0                   ? "members come at the same time"
            : lateNs * kBlamed < waitedNs ? "members come within " + late
                                          : "last member is " + rankText(last) + ", " + late + " after the first") +
           hidingText(inARow.back());
}

/// "; it can hide behind B7, which …".
std::string WaitChains::Data::hidingText(const WaitLink& link)
{
    const auto duration = [](std::int64_t ns) { return numberText(static_cast<double>(ns) * 1e-9, Unit::seconds); };
    const auto s = asIndex(link.step);
    const std::vector<Step>& steps = programOf(link.classIndex).steps;
    const ClassIndex& ops = of(link.classIndex);
    const Op& collective = op({link.classIndex, link.place});
    if (steps[s].action < 0) { // outside the passes
        const std::string& label = program.labels[collective.label];
        if (label.starts_with("param.")) // what the optimizer has made
            return "; it could hide behind the first forward of the next step";
        if (!label.starts_with("grad."))
            return {};
        const auto pass = std::find_if(steps.rbegin() + static_cast<std::ptrdiff_t>(steps.size() - s), steps.rend(),
                                       [](const Step& before) { return before.action >= 0; });
        if (pass == steps.rend())
            return {};
        const std::string of = stepName(*pass, link.classIndex);
        if (simulation.scenario().training.overlap.gradReduce) // and is still outside: the tied embedding, a second copy's
            return "; what it adds up is there when " + of + " ends";
        return "; it could hide behind " + of + ", which computes for " +
               duration(computedNs(link.classIndex, static_cast<std::size_t>(steps.rend() - pass) - 1));
    }
    std::int64_t hiddenNs = 0;
    for (const std::size_t place : ops.collectives[asIndex(collective.group)])
        hiddenNs += besideKernelsNs(link.classIndex, s, place);
    const std::string pass = stepName(steps[s], link.classIndex);
    if (hiddenNs == 0)
        return "; it can hide behind " + pass + ", where none of it does";
    const std::int64_t computesNs = computedNs(link.classIndex, s), roomNs = computesNs - hiddenNs;
    constexpr std::int64_t kFull = 100; // a hundredth of the pass is no room
    const std::string already = duration(hiddenNs) + " of such already run";
    return roomNs * kFull <= computesNs
               ? "; behind " + pass + " " + already + ", and there is no room left"
               : "; behind " + pass + " " + already + ", and at most " + duration(roomNs) + " more have room";
}

std::string WaitChains::linkText(const WaitLink& link) const
{
    Data& d = *m_data;
    const OpPlace at{link.classIndex, link.place};
    const Step& step = d.step(at);
    const Op& op = d.op(at);
    const std::string action = d.stepName(step, link.classIndex), rank = d.rankText(link.classIndex);
    const auto collective = [&] {
        std::string kind =
            factsOf(d.program.passes[step.pass].shapes[link.place - d.of(link.classIndex).firstOfStep[d.stepOf(at)]].collective)
                .plural;
        kind.pop_back();
        return "the " + kind + " of " + communicatedText(d.program.labels[op.label]) + " in " +
               spokenGroup(communicatorRoleName(op.group), d.simulation.scenario().layout);
    };
    switch (link.kind) {
    case WaitLink::Kind::pass:
        return action + " of " + rank;
    case WaitLink::Kind::collective:
        return collective();
    case WaitLink::Kind::message:
        return "the message of " + action + " from " + rank;
    case WaitLink::Kind::copy:
        return spokenOp(d.program.labels[op.label]) + " of " + rank;
    case WaitLink::Kind::launch:
        return "the host's launch of " + (op.kind == OpKind::collective ? collective() : spokenOp(d.program.labels[op.label])) +
               " on " + rank;
    }
    return {};
}

std::string WaitChains::nextText(const Gap& gap) const
{
    return gap.next ? m_data->stepName(m_data->step({gap.classIndex, *gap.next}), gap.classIndex) : "the next step";
}

std::vector<std::string> WaitChains::lines(const WaitChain& chain) const
{
    const Data& d = *m_data;
    const auto duration = [](std::int64_t ns) { return numberText(static_cast<double>(ns) * 1e-9, Unit::seconds); };
    const Gap& gap = chain.gap;
    const auto passText = [this](const WaitLink& link) {
        const bool isRest = link.kind == WaitLink::Kind::pass && m_data->computesFrom(link) < link.beginNs;
        return (isRest ? "the rest of " : "") + linkText(link);
    };
    constexpr std::int64_t kShort = 20; // a twentieth of the gap: such waits for launches are told in sum
    std::vector<WaitLink> links;
    std::int64_t launchesNs = 0;
    for (const WaitLink& link : chain.links)
        if (link.kind == WaitLink::Kind::launch && link.lengthNs() * kShort < gap.lengthNs())
            launchesNs += link.lengthNs();
        else
            links.push_back(link);
    // A pass and the message that brings its result are told as one.
    std::vector<WaitedFor> told;
    for (std::size_t i = 0; i < links.size(); ++i) {
        const WaitLink& link = links[i];
        const WaitLink* made = i + 1 < links.size() ? &links[i + 1] : nullptr;
        if (link.kind == WaitLink::Kind::message && made != nullptr && made->kind == WaitLink::Kind::pass &&
            made->classIndex == link.classIndex && made->step == link.step) {
            told.push_back(
                {passText(*made) + ", " + duration(made->lengthNs()) + ", and its message, " + duration(link.lengthNs()),
                 made->lengthNs() + link.lengthNs()});
            ++i;
        } else if (link.kind == WaitLink::Kind::collective) { // told once, however many there are in a row
            const std::string text = linkText(link);
            std::int64_t ns = link.lengthNs();
            int times = 1;
            for (; i + 1 < links.size() && links[i + 1].kind == link.kind && linkText(links[i + 1]) == text; ++i, ++times)
                ns += links[i + 1].lengthNs();
            told.push_back({text + (times > 1 ? ", " + std::to_string(times) + " in a row, " : ", ") + duration(ns), ns});
        } else {
            told.push_back({passText(link) + ", " + duration(link.lengthNs()), link.lengthNs()});
        }
    }
    std::vector<std::string> out = waitLines(told, !gap.next);
    // Of what is waited for itself, and named first.
    const auto isOutside = [&](const WaitLink& link) {
        return link.kind == WaitLink::Kind::collective &&
               (kInsidePass & maskOf(m_data->op({link.classIndex, link.place}).stream)) == 0;
    };
    if (!links.empty() && isOutside(links.front())) {
        const std::string name = linkText(links.front());
        const auto isIt = [&](const WaitLink& link) { return isOutside(link) && linkText(link) == name; };
        const auto other = std::find_if_not(links.begin(), links.end(), isIt);
        const bool isOnly = std::none_of(other, links.end(), isOutside); // no other can be meant
        out.push_back(m_data->aboutCollective({links.begin(), other}, isOnly ? "the collective's " : "of " + name + " the ",
                                              gap.lengthNs()));
    }
    if (launchesNs > 0)
        out.push_back("and " + duration(launchesNs) + " until hosts have launched what could begin");
    if (chain.unexplainedNs > 0)
        out.push_back("and " + duration(chain.unexplainedNs) + " that no dependency tells");
    const int size = d.classes.size[asIndex(gap.classIndex)];
    const bool isInside = m_data->isInsidePass(gap);
    const std::string where = isInside ? " idle inside " + nextText(gap) + ", before " +
                                             spokenOp(d.program.labels[m_data->op({gap.classIndex, *gap.next}).label])
                              : gap.next ? " idle before " + nextText(gap)
                                         : std::string(" to the end of the step: the rank is done");
    out.insert(out.begin(), duration(gap.lengthNs()) + where);
    const auto ofStep = [&](std::int64_t ns) {
        return percentText(static_cast<double>(ns) / static_cast<double>(d.times.endNs)) + " of the step";
    };
    const std::string each = size > 1 ? " on each of " + countedText(size, "rank") : std::string();
    // One of many alike costs next to nothing; all together are what something can be done about.
    if (isInside)
        out.push_back("all waits inside passes together are " + ofStep(m_data->of(gap.classIndex).insidePassesNs) + " long" +
                      each + ", this one " + ofStep(gap.lengthNs()));
    else if (gap.next) // to be done early costs nothing
        out.push_back("is " + ofStep(gap.lengthNs()) + " long" + each);
    if (std::string advice = m_data->adviser.advice(chain); !advice.empty())
        out.push_back(std::move(advice));
    return out;
}

} // namespace sim
