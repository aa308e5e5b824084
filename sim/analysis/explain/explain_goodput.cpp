#include "sim/analysis/explain/explain_goodput.h"

#include "sim/analysis/explain/explainer.h"
#include "sim/program/states.h"
#include "sim/text/duration_text.h"

#include <algorithm>

namespace sim {
namespace {

constexpr const char* kDaly = "Daly 2006, A higher order estimate of the optimum checkpoint interval, equation 20";

/// The factors of one job's goodput.
class GoodputExplainer {
public:
    GoodputExplainer(const Simulation& simulation, const Goodput& what)
        : m_simulation(simulation), m_what(what), m_failures(failuresOf(simulation.scenario())->failures)
    {
    }

    Explanation goodput() const
    {
        Account account("Goodput", "G", m_what.shares.useful, Unit::fraction);
        Formula product = Formula::product({account.term(notRestarting()), account.term(kept()), account.term(notSaving())});
        if (m_what.shares.waiting > 0)
            product *= account.term(notWaiting());
        std::string convention = "Training that lasts, over the time that passes: " + m_what.sharesText() +
                                 ". A step takes as long as without failures; what a failure undoes is done again.";
        if (m_what.months)
            convention += " Played through failure by failure for " + numberText(m_what.months->months, Unit::count) + " times " +
                          numberText(m_what.days, Unit::number) + " days: " + percentText(m_what.months->mean) +
                          " in the mean, " + m_what.monthsText() + ".";
        if (m_what.run)
            convention += " The whole run: " + m_what.runText() + ".";
        return account.close(std::move(product), std::move(convention), kDaly);
    }

private:
    const FailingJob& job() const { return m_what.job; }

    Explanation mtbf() const
    {
        Account account("time between failures of the job", "M", job().mtbf, Unit::seconds);
        const Formula each = account.term("m", m_failures.mtbfHours * 3600, Unit::seconds,
                                          "between failures of one GPU with its share of the host, as given");
        return account.close(each / account.term("N", m_simulation.metrics().worldSize, Unit::count, "GPUs of the job"),
                             "One that fails stops all: " + m_what.failuresText() + ".",
                             "Kokolis et al. 2025 (Revisiting Reliability): fits clusters of 8 to 1,024 GPUs");
    }

    Explanation saving() const
    {
        Account account("a save holds training up", "δ", job().save, Unit::seconds);
        if (m_failures.checkpointSeconds)
            return account.close({}, "Given in the scenario.", "");
        const StateBytes states = StateBytes::of(m_simulation.scenario().training);
        const Model& model = m_simulation.scenario().model;
        const Formula elements =
            account.term("Ψ", static_cast<double>(savedParameters(m_simulation)), Unit::count,
                         model.lora.isOn()                 ? "parameters of adapters: what is frozen is saved already"
                         : model.numNextnPredictLayers > 0 ? "parameters of the model, with its modules of multi-token prediction"
                                                           : "parameters of the model");
        const Formula bytes =
            account.term("b", states.parameter + states.optimizer, Unit::bytes, "a parameter: itself and its optimizer states");
        return account.close(elements * bytes /
                                 account.term("w", m_what.storageBytesPerSecond, Unit::number,
                                              "bytes a second that all nodes write together, each as much as given"),
                             "Every state is written once, however many ranks hold it; training waits until it is done. A save "
                             "beside training holds it up for less: the scenario can say how long.",
                             "");
    }

    Formula intervalTerm(Account& account) const
    {
        const std::string best = " The interval that would lose least is " + durationText(m_what.bestSeconds) + ".";
        return account.term("τ", job().every, Unit::seconds,
                            "training between two saves: " + m_what.savesText() + "." +
                                (m_failures.checkpointEverySeconds ? best : std::string()));
    }

    Explanation notSaving() const
    {
        Account account("not spent saving", "u_s", job().every / (job().every + job().save), Unit::fraction);
        const Formula training = intervalTerm(account);
        const Formula both = Formula::sum({training, account.term(saving())});
        return account.close(training / both, "", "Young 1974, A first order approximation to the optimum checkpoint interval");
    }

    Explanation kept() const
    {
        const RunShares& s = m_what.shares;
        const double ofRunning = s.useful + s.saving + s.repeated;
        Account account("not undone by failures", "u_w", ofRunning > 0 ? (s.useful + s.saving) / ofRunning : 0, Unit::fraction);
        Account expected("failures expected from one save to the next", "a", (job().every + job().save) / job().mtbf,
                         Unit::number);
        const Formula both = Formula::sum({expected.term("τ", job().every, Unit::seconds, "training between two saves"),
                                           expected.term("δ", job().save, Unit::seconds, "a save")});
        account.term(expected.close(both / expected.term(mtbf()), "", ""));
        return account.close({}, "a / (e^a − 1): a failure takes back what was done since the last save.", kDaly);
    }

    Explanation notRestarting() const
    {
        const RunShares& s = m_what.shares;
        const double there = 1 - s.waiting;
        Account account("not spent restarting", "u_r", there > 0 ? (there - s.restarting) / there : 0, Unit::fraction);
        account.term("R", job().restart, Unit::seconds, "from a failure until training goes on, as given");
        account.term(mtbf());
        return account.close({}, "e^(−R / M): a failure during a restart begins it again.", kDaly);
    }

    Explanation notWaiting() const
    {
        Account account("all nodes are there", "u_n", 1 - m_what.shares.waiting, Unit::fraction);
        Account blocked("no spare is left", "B", m_what.shares.waiting, Unit::fraction);
        blocked.term("s", job().spares, Unit::count, "nodes stand by: spares");
        blocked.term("D", job().replace, Unit::seconds, "a node that failed is away, as given");
        blocked.term(mtbf());
        Explanation why =
            blocked.close({},
                          "Erlang's loss formula for s + 1 lines and a load of D / M: the job stands still while s + 1 nodes are "
                          "away, however the times that they are away are spread around D.",
                          "Erlang 1917; Sevastyanov 1957 for any spread");
        return account.close(Formula::number(1) - account.term(std::move(why)), "", "");
    }

    const Simulation& m_simulation;
    const Goodput& m_what;
    const Failures& m_failures;
};

} // namespace

Explanation explainGoodput(const Simulation& simulation, const Goodput& what)
{
    return GoodputExplainer(simulation, what).goodput();
}

} // namespace sim
