// What others measured of jobs of the gallery (assets/reality.json), beside what is predicted of them.
#pragma once

#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace app {

struct Measurement {
    enum class Quantity { stepTime, modelFlopRate, peakMemory };
    QString scenario;                                     ///< of the gallery, without .json
    int gpus = 0, stages = 0, sequences = 0;              ///< of the job, by which most others are told apart without its file
    std::vector<std::pair<std::string, std::string>> set; ///< keys of the measured job that the file has otherwise: pointer, JSON
    Quantity quantity = Quantity::stepTime;
    double measured = 0; ///< seconds; TFLOP/s a GPU; GiB
    QString how;         ///< "worked back from 137 TFLOP/s a GPU"
    QString row;         ///< id in tests/data/published; empty: the source has no row there
    QString title, reference, table;
    QStringList differs; ///< why a prediction may differ; sentences
};

/// A prediction of what was measured, in its unit, and the interval that it is likely in.
struct BesideMeasured {
    double predicted = 0, low = 0, high = 0;
    bool isInside(double measured) const { return measured >= low && measured <= high; }
};
BesideMeasured besideMeasured(Measurement::Quantity, const sim::Simulation&);

class Reality {
public:
    Reality() = default; ///< knows nothing
    /// Throws sim::Error where reality.json is there and is not as it should be.
    static Reality read(const std::filesystem::path& assets);

    const std::vector<Measurement>& measurements() const { return m_measurements; }
    /// The job that was measured. Throws sim::Error where the gallery has no such file or the file does not resolve.
    sim::Scenario scenarioOf(const Measurement&, const sim::Catalogue&) const;
    /// Those of just this job, whatever it is called and however long it trains. The first question about such a job reads its
    /// gallery file: a few milliseconds.
    std::vector<const Measurement*> of(const sim::Scenario&, const sim::Catalogue&) const;

private:
    std::vector<Measurement> m_measurements;
    mutable std::vector<std::optional<sim::Scenario>> m_jobs; ///< as m_measurements; those that were asked about
};

} // namespace app
