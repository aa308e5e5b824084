#include "sim/analysis/wait_chain.h"

#include "sim/analysis/wait_chain_data.h"

namespace sim {

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

WaitChain WaitChains::within(WaitChain chain, std::int64_t fromNs, std::int64_t toNs)
{
    for (WaitLink& link : chain.links) {
        link.beginNs = std::max(link.beginNs, fromNs);
        link.endNs = std::min(link.endNs, toNs);
    }
    std::erase_if(chain.links, [](const WaitLink& link) { return link.lengthNs() <= 0; });
    chain.gap.beginNs = std::max(chain.gap.beginNs, fromNs);
    chain.gap.endNs = std::min(chain.gap.endNs, toNs);
    return chain;
}

std::optional<WaitLink> WaitChains::linkAt(const Gap& gap, std::int64_t atNs)
{
    const WaitChain found = chain(gap);
    const auto link = std::find_if(found.links.begin(), found.links.end(),
                                   [&](const WaitLink& of) { return of.beginNs <= atNs && atNs < of.endNs; });
    return link == found.links.end() ? std::nullopt : std::optional(*link);
}

} // namespace sim
