// Where each number of simulate --json comes from: what the window says of it, for scripts.
#include "sim/answers/answers.h"

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/sensitivity.h"

#include <array>
#include <string>
#include <tuple>
#include <utility>

namespace sim {
namespace {

const char* wordOf(Unit unit)
{
    switch (unit) {
    case Unit::seconds:
        return "s";
    case Unit::bytes:
        return "bytes";
    case Unit::flops:
        return "FLOP";
    case Unit::flopRate:
        return "FLOP/s";
    case Unit::byteRate:
        return "B/s";
    case Unit::rate:
        return "1/s";
    case Unit::number:
    case Unit::count:
    case Unit::fraction:
        break;
    }
    return "";
}

/// What follows the value in an entry, and in a term that has an explanation of its own.
void addExplanation(Answer& to, const Explanation& why)
{
    to["formula"] = why.inSymbols();
    to["in_numbers"] = why.inNumbers();
    Answer terms = Answer::array();
    for (const Term& term : why.terms) {
        Answer entry{{"symbol", term.quantity.symbol},
                     {"value", term.quantity.value},
                     {"unit", wordOf(term.quantity.unit)},
                     {"meaning", term.meaning}};
        if (term.because) {
            Answer because = Answer::object();
            addExplanation(because, *term.because);
            entry["because"] = std::move(because);
        }
        terms.push_back(std::move(entry));
    }
    to["terms"] = std::move(terms);
    to["convention"] = why.convention;
    to["source"] = why.source;
}

/// A number of the answer that the library explains in another unit.
struct Scale {
    const char* unit = nullptr; ///< nullptr: in the same
    const char* symbol = "";    ///< in the formula, where a "/" would divide
    const char* meaning = "";
    double size = 1;
    Unit of = Unit::number; ///< of the size: printed with it, "28.2 GiB / 1 GiB", the unit is not divided by twice
};
constexpr Scale kAsItIs{}, kGib{"GiB", "GiB", "bytes in a GiB", 1024.0 * 1024 * 1024, Unit::bytes},
    kTera{"TFLOP/s", "TFLOP", "FLOP/s in a TFLOP/s", 1e12, Unit::flopRate};

struct Explained {
    const char* pointer; ///< into the answer
    MetricId metric;
    Scale scale = kAsItIs;
};
constexpr std::array kExplained{Explained{"/step_time_s", MetricId::stepTime},
                                Explained{"/tokens_per_second", MetricId::tokensPerSecond},
                                Explained{"/tokens_per_second_per_gpu", MetricId::tokensPerSecondPerGpu},
                                Explained{"/model_tflops_per_gpu", MetricId::modelFlopRate, kTera},
                                Explained{"/hardware_tflops_per_gpu", MetricId::hardwareFlopRate, kTera},
                                Explained{"/mfu", MetricId::mfu},
                                Explained{"/mfu_full_attention", MetricId::mfuFullAttention},
                                Explained{"/hfu", MetricId::hfu},
                                Explained{"/bubble_fraction", MetricId::bubble},
                                Explained{"/exposed_comm_fraction/tp", MetricId::exposedTp},
                                Explained{"/exposed_comm_fraction/cp", MetricId::exposedCp},
                                Explained{"/exposed_comm_fraction/ep", MetricId::exposedEp},
                                Explained{"/exposed_comm_fraction/pp", MetricId::exposedPp},
                                Explained{"/exposed_comm_fraction/dp", MetricId::exposedDp},
                                Explained{"/peak_memory_gib", MetricId::peakMemory, kGib},
                                Explained{"/parameters", MetricId::parameters}};

/// "exposed_comm_fraction.tp"
std::string keyOf(std::string_view pointer)
{
    std::string key(pointer.substr(1));
    for (char& c : key)
        c = c == '/' ? '.' : c;
    return key;
}

Answer entryOf(const Explained& what, const Answer& answer, const Simulation& simulation)
{
    Explanation why = explain(simulation, what.metric);
    const char* unit = wordOf(why.result.unit);
    if (what.scale.unit != nullptr) {
        if (why.formula) {
            why.terms.push_back({{what.scale.symbol, what.scale.size, what.scale.of}, what.scale.meaning, nullptr});
            *why.formula /= Formula::term(why.terms.size() - 1);
        }
        unit = what.scale.unit;
    }
    Answer entry{
        {"key", keyOf(what.pointer)}, {"value", answer.at(nlohmann::json_pointer<std::string>(what.pointer))}, {"unit", unit}};
    addExplanation(entry, why);
    return entry;
}

/// One end of the interval: the prediction times what measured steps of its kind were over predicted ones.
Answer boundOf(const char* key, double value, const char* unit, double prediction, double factor, const Uncertainty& sure)
{
    Explanation why;
    why.result = {"b", value, Unit::number};
    why.terms = {
        {{"x", prediction, Unit::number}, "the prediction", nullptr},
        {{"f", factor, Unit::number}, "measured over predicted, at this end of " + chosenPercentText(sure.level), nullptr}};
    why.formula = Formula::product({Formula::term(0), Formula::term(1)});
    why.source = sure.basis;
    Answer entry{{"key", key}, {"value", value}, {"unit", unit}};
    addExplanation(entry, why);
    return entry;
}

} // namespace

void addBecause(Answer& answer, const Simulation& simulation)
{
    Answer because = Answer::array();
    for (const Explained& what : kExplained)
        because.push_back(entryOf(what, answer, simulation));
    const Metrics& m = simulation.metrics();
    const Uncertainty& sure = simulation.scenario().uncertainty;
    for (const auto& [key, unit, prediction, low, high] :
         {std::tuple("interval.step_time_s", "s", m.stepTimeSeconds, sure.stepLow, sure.stepHigh),
          std::tuple("interval.peak_memory_gib", "GiB", m.peakMemoryGib, sure.memoryLow, sure.memoryHigh)}) {
        if (!sure.isKnown())
            continue;
        const std::string at(key);
        because.push_back(boundOf((at + ".0").c_str(), prediction * low, unit, prediction, low, sure));
        because.push_back(boundOf((at + ".1").c_str(), prediction * high, unit, prediction, high, sure));
    }
    if (const std::optional<Goodput> failing = goodput(simulation)) {
        Answer entry{{"key", "goodput.goodput"}, {"value", failing->shares.useful}, {"unit", ""}};
        addExplanation(entry, explainGoodput(simulation, *failing));
        because.push_back(std::move(entry));
    }
    answer["because"] = std::move(because);

    Answer list = Answer::array();
    for (const Sensitivity& of : sensitivities(simulation)) {
        Answer entry{{"key", of.key}, {"meaning", of.meaning}};
        entry["value"] = of.value ? Answer(*of.value) : Answer();
        entry["change"] = of.change;
        entry["step_time_change"] = of.stepTimeChange;
        list.push_back(std::move(entry));
    }
    answer["sensitivity"] = std::move(list);
}

} // namespace sim
