// Chains of waits in words.
#include "sim/analysis/wait_chain_data.h"

#include "sim/mesh/spoken_group.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"

namespace sim {
namespace {

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

WaitChains::Data::Told WaitChains::Data::toldOf(const WaitChains& waits, const WaitChain& chain)
{
    const auto duration = [](std::int64_t ns) { return numberText(static_cast<double>(ns) * 1e-9, Unit::seconds); };
    const auto passText = [&](const WaitLink& link) {
        const bool isRest = link.kind == WaitLink::Kind::pass && computesFrom(link) < link.beginNs;
        return (isRest ? "the rest of " : "") + waits.linkText(link);
    };
    constexpr std::int64_t kShort = 20; // a twentieth of the gap: such waits for launches are told in sum
    Told out;
    std::vector<WaitLink>& links = out.links;
    for (const WaitLink& link : chain.links)
        if (link.kind == WaitLink::Kind::launch && link.lengthNs() * kShort < chain.gap.lengthNs())
            out.launchesNs += link.lengthNs();
        else
            links.push_back(link);
    // A pass and the message that brings its result are told as one.
    std::vector<WaitedFor>& told = out.parts;
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
            const std::string text = waits.linkText(link);
            std::int64_t ns = link.lengthNs();
            int inARow = 1;
            for (; i + 1 < links.size() && links[i + 1].kind == link.kind && waits.linkText(links[i + 1]) == text; ++i, ++inARow)
                ns += links[i + 1].lengthNs();
            told.push_back({text + (inARow > 1 ? ", " + std::to_string(inARow) + " in a row, " : ", ") + duration(ns), ns});
        } else {
            told.push_back({passText(link) + ", " + duration(link.lengthNs()), link.lengthNs()});
        }
    }
    return out;
}

std::string WaitChains::mostText(const WaitChain& chain) const
{
    const Data::Told told = m_data->toldOf(*this, chain);
    const auto most = std::max_element(told.parts.begin(), told.parts.end(),
                                       [](const WaitedFor& a, const WaitedFor& b) { return a.ns < b.ns; });
    if (most != told.parts.end() && most->ns >= told.launchesNs)
        return most->text;
    return told.launchesNs == 0
               ? std::string()
               : "hosts to launch what could begin, " + numberText(static_cast<double>(told.launchesNs) * 1e-9, Unit::seconds);
}

std::vector<std::string> WaitChains::lines(const WaitChain& chain) const
{
    const Data& d = *m_data;
    const auto duration = [](std::int64_t ns) { return numberText(static_cast<double>(ns) * 1e-9, Unit::seconds); };
    const Gap& gap = chain.gap;
    const auto [told, links, launchesNs] = m_data->toldOf(*this, chain);
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
