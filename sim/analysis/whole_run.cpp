#include "sim/analysis/whole_run.h"

#include "sim/text/number_text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace sim {

std::optional<double> WholeRun::mostEnergyKwh() const
{
    constexpr double kWattsAKilowatt = 1000;
    return gpuWatts > 0 ? std::optional(gpuHours * gpuWatts / kWattsAKilowatt) : std::nullopt;
}

std::string WholeRun::text() const
{
    return tokensText(tokens) + ": " + numberText(steps, Unit::count) + (steps == 1 ? " step, " : " steps, ") +
           numberText(days, Unit::number) + " days, " + numberText(gpuHours, Unit::number) + " GPU hours";
}

std::string WholeRun::energyText() const
{
    const std::optional<double> kwh = mostEnergyKwh();
    return kwh ? "at most " + sim::energyText(*kwh) + " of the GPUs" : "energy not known without the power limit of the GPU";
}

std::string WholeRun::priceText(double perGpuHour) const
{
    return numberText(gpuHours * perGpuHour, Unit::number) + " at " + numberText(perGpuHour, Unit::number) + " a GPU hour";
}

std::string tokensText(double tokens)
{
    struct Scale {
        double of;
        const char* name;
    };
    constexpr std::array<Scale, 3> kScales{{{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}}};
    for (const Scale& scale : kScales)
        if (tokens >= scale.of) {
            std::array<char, 32> text{};
            std::snprintf(text.data(), text.size(), "%.4g", tokens / scale.of);
            return std::string(text.data()) + scale.name + " tokens";
        }
    return numberText(tokens, Unit::count) + " tokens";
}

std::string energyText(double kwh)
{
    constexpr std::array kUnits{" kWh", " MWh", " GWh", " TWh"};
    std::size_t unit = 0;
    for (; unit + 1 < kUnits.size() && kwh >= 999.5; kwh /= 1000)
        ++unit;
    return numberText(kwh, Unit::number) + kUnits[unit];
}

WholeRun wholeRun(const Simulation& simulation, double tokens)
{
    constexpr double kSecondsAnHour = 3600, kHoursADay = 24;
    const Training& t = simulation.scenario().training;
    WholeRun run{.tokens = tokens, .gpuWatts = simulation.scenario().cluster.gpu.powerWatts};
    run.steps = std::ceil(tokens / (1.0 * t.globalBatchSize * t.sequenceLength));
    const double hours = run.steps * simulation.metrics().stepTimeSeconds / kSecondsAnHour;
    run.days = hours / kHoursADay;
    run.gpuHours = hours * simulation.metrics().worldSize;
    return run;
}

double tokensToTell(const Scenario& scenario)
{
    return scenario.training.tokens > 0 ? scenario.training.tokens : kTokensUnlessSaid;
}

std::optional<WholeRun> wholeRun(const Simulation& simulation)
{
    const double tokens = simulation.scenario().training.tokens;
    return tokens > 0 ? std::optional(wholeRun(simulation, tokens)) : std::nullopt;
}

} // namespace sim
