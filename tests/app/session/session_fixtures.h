// What the tests of sessions and of the shell start from: the catalogue, gallery files, documents, waiting.
#pragma once

#include "app/session/session.h"
#include "tests/support/patience.h"

#include <QDeadlineTimer>
#include <QEventLoop>
#include <QString>
#include <QThread>

#include <functional>
#include <stdexcept>

namespace app::test {

inline const sim::Catalogue& catalogue()
{
    static const sim::Catalogue kCatalogue = sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    return kCatalogue;
}

inline QString galleryFile(const char* name)
{
    return QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios/") + QLatin1String(name);
}

inline const char* const kTiny = "60-tiny-tp2-pp2-dp2.json";
inline const char* const kSixteen = "09-tp2-cp2-pp2-dp2-grid.json";
inline const char* const kLarge = "42-llama3-405b-16384-gpus.json";

inline sim::ScenarioDocument document(const char* name)
{
    return sim::ScenarioDocument::readFile(galleryFile(name).toStdString());
}

inline sim::Scenario scenario(const sim::ScenarioDocument& document)
{
    const auto resolved = document.resolve(catalogue());
    if (!resolved.scenario)
        throw std::runtime_error(resolved.problems.empty() ? "not legal" : resolved.problems.front().text());
    return *resolved.scenario;
}

/// Runs the event loop until it is so; false if it does not come to be within some seconds.
inline bool waitFor(const std::function<bool()>& condition)
{
    constexpr int kLongMs = 20000;
    const QDeadlineTimer deadline(kLongMs * ::test::patience());
    QEventLoop loop;
    while (!condition()) {
        if (deadline.hasExpired())
            return false;
        loop.processEvents(QEventLoop::AllEvents);
        QThread::msleep(1);
    }
    return true;
}

} // namespace app::test
