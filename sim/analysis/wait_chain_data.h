// What WaitChains knows of a simulated step, and how it looks that up: shared by what finds chains (wait_chain.cpp) and what
// tells them (wait_chain_text.cpp). Private to them.
#pragma once

#include "sim/analysis/wait_advice.h"
#include "sim/analysis/wait_chain.h"
#include "sim/index.h"
#include "sim/text/wait_lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// An op of a class of ranks.
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

/// What a pass waits for inside itself.
inline constexpr StreamMask kInsidePass = static_cast<StreamMask>(maskOf(Stream::tp) | maskOf(Stream::cp) | maskOf(Stream::ep));

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

    /// A chain as it is told: part by part, from the gap's end back, and in sum what hosts launched in many short waits.
    struct Told {
        std::vector<WaitedFor> parts;
        std::vector<WaitLink> links; ///< that the parts are of
        std::int64_t launchesNs = 0; ///< beside them
    };
    Told toldOf(const WaitChains&, const WaitChain&);

    std::string rankText(int c) const;
    std::string stepName(const Step&, int c) const;
    std::string aboutCollective(const std::vector<WaitLink>& inARow, const std::string& whose, std::int64_t waitedNs);
    std::string hidingText(const WaitLink&);
};

} // namespace sim
