#include "app/views/timeline/range_because.h"

#include "sim/analysis/explain/account.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace app {
namespace {

using sim::Account;
using sim::Explanation;
using sim::Formula;
using sim::Unit;

constexpr double kSecondsOfNs = 1e-9;
constexpr std::size_t kMostRowsListed = 12;
const char* const kCountedSource = "The spans of the trace, cut by the range";

/// What the explanations are made from, for as long as they are shown.
struct Told {
    RangeStatistics of;
    std::array<std::string, sim::kOpClassCount> names; ///< of classes that are present
    double peak = 0;                                   ///< FLOP/s of a GPU; 0: not known

    double ranks() const
    {
        double sum = 0;
        for (const RangeStatistics::Row& row : of.rows)
            sum += row.ranks;
        return sum;
    }
    double length() const { return static_cast<double>(of.lengthNs()) * kSecondsOfNs; }
    Formula lengthTerm(Account& account) const { return account.term("t", length(), Unit::seconds, "length of the range"); }
    sim::ShowHint show() const { return {.pictures = {"timeline"}, .range = sim::TimeSpan{of.range.beginNs, of.range.endNs}}; }
    /// A time as a mean over ranks: rows count as often as they have ranks.
    template <typename NsOf>
    Explanation mean(std::string name, const char* symbol, NsOf nsOf) const
    {
        double sum = 0;
        for (const RangeStatistics::Row& row : of.rows)
            sum += row.ranks * nsOf(row) * kSecondsOfNs;
        Account account(std::move(name), symbol, sum / ranks(), Unit::seconds);
        std::vector<Formula> parts;
        if (of.rows.size() > kMostRowsListed)
            parts.push_back(account.term("t_all", sum, Unit::seconds, "all ranks together"));
        else
            for (std::size_t i = 0; i < of.rows.size(); ++i) {
                const RangeStatistics::Row& row = of.rows[i];
                Formula part = account.term("t_" + std::to_string(i), nsOf(row) * kSecondsOfNs, Unit::seconds, row.name);
                if (row.ranks > 1)
                    part = account.term("n_" + std::to_string(i), row.ranks, Unit::count, "ranks of that row") * std::move(part);
                parts.push_back(std::move(part));
            }
        const Formula all = Formula::sum(std::move(parts));
        return account.close(all / account.term("R", ranks(), Unit::count, "ranks"), "", kCountedSource);
    }

    Explanation lengthOf() const
    {
        Account account("Length of the selected range", "t", length(), Unit::seconds);
        const Formula end =
            account.term("t_1", static_cast<double>(of.range.endNs) * kSecondsOfNs, Unit::seconds, "its end in the step");
        return account.close(
            end - account.term("t_0", static_cast<double>(of.range.beginNs) * kSecondsOfNs, Unit::seconds, "its beginning"),
            "As selected.", "", show());
    }
    Explanation shareOf(sim::OpClass c) const
    {
        const auto index = static_cast<std::size_t>(c);
        Account account("Share of " + names[index] + " in the selected range", "s", of.share[index], Unit::fraction);
        const Formula time = account.term(mean("time in " + names[index] + ", a mean of ranks", "t_c",
                                               [index](const auto& row) { return static_cast<double>(row.ns[index]); }));
        return account.close(time / lengthTerm(account),
                             of.ofKernels ? "Of the range, each rank counted once: while such kernels run on its lane of work."
                                          : "Of the range, each rank counted once: while it is in such a pass.",
                             kCountedSource, show());
    }
    Explanation idle() const
    {
        Account account("Idle in the selected range", "f_idle", of.idle, Unit::fraction);
        const double rest = 1 - of.counted - of.other - of.exposed - of.waiting;
        Formula sum = Formula::number(1) - account.term("f_busy", of.counted, Unit::fraction, "classes that count");
        if (of.other > 0 || rest < 0)
            sum = std::move(sum) - account.term("f_other", 1 - of.counted - of.exposed - of.waiting - of.idle, Unit::fraction,
                                                "classes that are left out");
        if (of.waiting > 0)
            sum = std::move(sum) - account.term("f_waiting", of.waiting, Unit::fraction, "waiting for other ranks");
        if (of.exposed > 0)
            sum = std::move(sum) - account.term("f_exposed", of.exposed, Unit::fraction, "transfers that are waited for");
        return account.close(std::move(sum), "Of the range, a mean of ranks: nothing runs on their lanes of work.",
                             kCountedSource, show());
    }
    Explanation otherClasses() const
    {
        Account account("Classes left out, in the selected range", "f_other", of.other, Unit::fraction);
        Formula rest = Formula::number(1) - account.term("f_busy", of.counted, Unit::fraction, "classes that count");
        rest = std::move(rest) - account.term("f_idle", of.idle, Unit::fraction, "nothing runs");
        if (of.waiting > 0)
            rest = std::move(rest) - account.term("f_waiting", of.waiting, Unit::fraction, "waiting for other ranks");
        if (of.exposed > 0)
            rest = std::move(rest) - account.term("f_exposed", of.exposed, Unit::fraction, "transfers that are waited for");
        return account.close(std::move(rest),
                             "Of the range, a mean of ranks. A click on a class above leaves it out or counts it.",
                             kCountedSource, show());
    }
    Explanation spans() const
    {
        Account account("Spans in the selected range", "n", static_cast<double>(of.spans), Unit::count);
        return account.close({}, "Of classes that count, at least in part inside; ranks that cannot differ share a row.",
                             kCountedSource, show());
    }
    Explanation busy() const
    {
        Account account(std::string("Ranks ") + of.busyWord() + " in the selected range", "f", of.counted, Unit::fraction);
        const double all = length() * 1e9;
        const Formula time = account.term(
            mean("time of classes that count, a mean of ranks", "t_busy", [all](const auto& row) { return row.busy * all; }));
        return account.close(time / lengthTerm(account), "", kCountedSource, show());
    }
    Explanation busy(const RangeStatistics::Row& row) const
    {
        Account account(row.name + " " + of.busyWord() + " in the selected range", "f", row.busy, Unit::fraction);
        const Formula time =
            account.term("t_busy", row.busy * length(), Unit::seconds, "classes that count, on its lane of work");
        return account.close(time / lengthTerm(account), "", kCountedSource, show());
    }
    Explanation mfu() const
    {
        Account account("Model FLOPs utilisation in the selected range", "MFU", of.mfu.value_or(0), Unit::fraction);
        const Formula flops = account.term("C", of.flops, Unit::flops, "of all kernels in it, without recomputation");
        const Formula time = lengthTerm(account), all = account.term("R", ranks(), Unit::count, "ranks");
        return account.close(
            flops / Formula::product({time, all, account.term("P", peak, Unit::flopRate, "dense peak of the precision")}),
            "Kernels that the range cuts count in proportion.", sim::kSimulated, show());
    }
    Explanation moved() const
    {
        Account account("Moved in the selected range", "M", of.bytes(), Unit::bytes);
        std::vector<Formula> parts;
        for (std::size_t c = 0; c < of.bytesOfClass.size(); ++c)
            if (of.bytesOfClass[c] > 0)
                parts.push_back(account.term("M_" + std::to_string(parts.size() + 1), of.bytesOfClass[c], Unit::bytes, names[c]));
        return account.close(Formula::sum(std::move(parts)),
                             "By all ranks; a tensor counts once at each member of its group, a message at both ends. Transfers "
                             "that the range cuts "
                             "count in proportion.",
                             kCountedSource, show());
    }
};

std::shared_ptr<const Told> told(const TimelineModel& model, const RangeStatistics& of)
{
    auto out = std::make_shared<Told>(Told{.of = of, .names = {}});
    for (std::size_t c = 0; c < out->names.size(); ++c)
        out->names[c] = model.className(static_cast<sim::OpClass>(c));
    if (const sim::Simulation* simulation = model.simulation()) {
        const sim::Scenario& scenario = simulation->scenario();
        if (const auto found = scenario.cluster.gpu.peakTflops.find(scenario.training.precision);
            found != scenario.cluster.gpu.peakTflops.end())
            out->peak = found->second * 1e12;
    }
    return out;
}

Becauses becauseOfNumber(const std::shared_ptr<const Told>& of, RangeNumber number)
{
    switch (number) {
    case RangeNumber::length:
        return {{"Length", [of] { return of->lengthOf(); }}};
    case RangeNumber::idle:
        return {{"Idle", [of] { return of->idle(); }}};
    case RangeNumber::otherClasses:
        return {{"Other classes", [of] { return of->otherClasses(); }}};
    case RangeNumber::spans:
        return {{"Spans", [of] { return of->spans(); }}};
    case RangeNumber::mfu:
        return {{"MFU", [of] { return of->mfu(); }}};
    case RangeNumber::moved:
        return {{"Moved", [of] { return of->moved(); }}};
    case RangeNumber::busy:
        break;
    }
    const auto [least, most] =
        std::minmax_element(of->of.rows.begin(), of->of.rows.end(), [](const auto& a, const auto& b) { return a.busy < b.busy; });
    Becauses out{{"Mean", [of] { return of->busy(); }}};
    if (least != most) {
        out.push_back({"Least", [of, row = &*least] { return of->busy(*row); }});
        out.push_back({"Most", [of, row = &*most] { return of->busy(*row); }});
    }
    return out;
}

} // namespace

Becauses becauseOf(const TimelineModel& model, const RangeStatistics& statistics, RangeNumber number)
{
    return becauseOfNumber(told(model, statistics), number);
}

Becauses becauseOf(const TimelineModel& model, const RangeStatistics& statistics, sim::OpClass c)
{
    const auto of = told(model, statistics);
    return {{of->names[static_cast<std::size_t>(c)], [of, c] { return of->shareOf(c); }}};
}

Becauses becauseOfRange(const TimelineModel& model, const RangeStatistics& statistics)
{
    const auto of = told(model, statistics);
    Becauses out = {becauseOfNumber(of, RangeNumber::length)};
    constexpr double kWorthTelling = 0.0005; // shares below would read 0.0 %
    for (const sim::OpClass c : model.classesPresent())
        if (of->of.share[static_cast<std::size_t>(c)] >= kWorthTelling)
            out.push_back({of->names[static_cast<std::size_t>(c)], [of, c] { return of->shareOf(c); }});
    const auto add = [&](RangeNumber number) { out.push_back(becauseOfNumber(of, number).front()); };
    add(RangeNumber::idle);
    if (of->of.mfu)
        add(RangeNumber::mfu);
    if (of->of.bytes() > 0)
        add(RangeNumber::moved);
    return out;
}

} // namespace app
