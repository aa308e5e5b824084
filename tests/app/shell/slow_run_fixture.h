// A window and the file of a recorded run.
#pragma once

#include "sim/trace/export.h"
#include "tests/app/shell/window_fixture.h"

#include <QTemporaryDir>

namespace app::test {

class SlowRunTest : public WindowTest {
protected:
    /// Eight ranks of which the fifth computes slower by two fifths.
    void SetUp() override
    {
        sim::Scenario planted = scenario(document(kTiny));
        planted.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
        path = folder.filePath(QStringLiteral("run.json"));
        sim::saveTrace(sim::simulate(planted, {.full = true})->trace(sim::TraceDetail::kernels), path.toStdString());
    }
    const QTemporaryDir folder;
    QString path;
};

} // namespace app::test
