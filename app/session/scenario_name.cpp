#include "app/session/scenario_name.h"

#include "app/session/plain_words.h"
#include "app/session/scenario_changes.h"
#include "app/session/scenario_keys.h"
#include "sim/analysis/whole_run.h"
#include "sim/schedule/families/families.h"

#include <QFileInfo>
#include <QLocale>
#include <QObject>
#include <QStringList>

#include <algorithm>
#include <utility>

namespace app {
namespace {

QString number(int value)
{
    static const QLocale english(QLocale::English, QLocale::UnitedStates);
    return english.toString(value);
}

QString scheduleTitle(const sim::Scenario& s)
{
    const sim::ScheduleFamily* family = sim::findScheduleFamily(s.schedule.kind);
    return family ? QString::fromUtf8(family->title.data(), static_cast<qsizetype>(family->title.size()))
                  : QString::fromStdString(s.schedule.kind);
}

QString recomputeWord(sim::Recompute recompute)
{
    return recompute == sim::Recompute::none   ? QObject::tr("nothing")
           : recompute == sim::Recompute::full ? QObject::tr("whole layers")
                                               : QObject::tr("selective");
}

/// Sizes in the order of layoutLine(); what a size of 1 leaves out is said where it was another.
QStringList sizes(const sim::Layout& now, const sim::Layout* file)
{
    QStringList out;
    for (const auto& [name, size] : {std::pair{"tp", &sim::Layout::tp},
                                     {"cp", &sim::Layout::cp},
                                     {"ep", &sim::Layout::ep},
                                     {"pp", &sim::Layout::pp},
                                     {"dp", &sim::Layout::dp}}) {
        if (file ? now.*size != file->*size : now.*size > 1)
            out << QLatin1String(name) + QLatin1Char(' ') + number(now.*size);
    }
    return out;
}

/// What a file says otherwise and no part of `told` (a pointer, with all below it) covers: a few, and how many more.
QStringList others(const WrittenScenario& now, const WrittenScenario& file, const QStringList& told)
{
    constexpr qsizetype kMost = 3, kLongestValue = 24;
    QStringList out;
    qsizetype more = 0;
    for (const ScenarioChange& change : scenarioChanges(file.document, file.scenario, now.document, now.scenario)) {
        const QString pointer = QString::fromStdString(change.key.pointer);
        const bool isTold = std::any_of(told.begin(), told.end(), [&](const QString& of) {
            return pointer == of || pointer.startsWith(of + QLatin1Char('/'));
        });
        if (change.follows || isTold)
            continue;
        if (out.size() == kMost) {
            ++more;
            continue;
        }
        const ScenarioKey* key = findScenarioKey(change.key.pointer);
        const QString name = key ? QString::fromStdString(sentenceName(*key))
                                 : pointer.section(QLatin1Char('/'), -1).replace(QLatin1Char('_'), QLatin1Char(' '));
        QString value = QString::fromStdString(change.textB).replace(QLatin1Char('_'), QLatin1Char(' '));
        if (change.key.pointer == "/training/tokens" && now.scenario.training.tokens > 0)
            value = QString::fromStdString(sim::tokensText(now.scenario.training.tokens));
        else if (key && *key->unit != '\0' && !name.split(QLatin1Char(' ')).contains(QString::fromUtf8(key->unit)))
            value += QLatin1Char(' ') + QString::fromUtf8(key->unit);
        out << (key && value.size() <= kLongestValue ? name + QLatin1Char(' ') + value : QObject::tr("%1 changed").arg(name));
    }
    if (more > 0)
        out << QObject::tr("%1 more").arg(more);
    return out;
}

} // namespace

QString modelOnGpus(const sim::Scenario& s)
{
    const int gpus = s.layout.worldSize();
    const QString model = QString::fromStdString(s.model.name.empty() ? std::string("Own model") : s.model.name);
    return gpus == 1 ? QObject::tr("%1 on 1 GPU").arg(model) : QObject::tr("%1 on %2 GPUs").arg(model, number(gpus));
}

QString generatedName(const sim::Scenario& s)
{
    QStringList parts;
    if (s.layout.pp > 1)
        parts << scheduleTitle(s);
    parts << sizes(s.layout, nullptr);
    if (s.layout.pp > 1)
        parts << QStringLiteral("m ") + number(s.microbatches());
    const QString on = modelOnGpus(s);
    return parts.isEmpty() ? on : on + QStringLiteral(": ") + parts.join(QStringLiteral(", "));
}

QString nameOf(const sim::Scenario& s)
{
    return s.name.empty() ? generatedName(s) : QString::fromStdString(s.name);
}

QString nameOfFile(const sim::ScenarioDocument& document, const QString& path, const sim::Catalogue& catalogue)
{
    const auto resolved = document.resolve(catalogue);
    return resolved.scenario ? nameOf(*resolved.scenario) : QFileInfo(path).completeBaseName();
}

QString changedSettings(const WrittenScenario& current, const WrittenScenario& before)
{
    if (current.document.text() == before.document.text()) // as mostly: a hundredth of what comparing each setting costs
        return {};
    const sim::Scenario &now = current.scenario, &file = before.scenario;
    QStringList parts;
    QStringList told{"/layout/zero_stage", "/layout/sequence_parallel", "/training/sequence_length"};
    if (now.schedule.kind != file.schedule.kind) {
        parts << scheduleTitle(now);
        told << "/schedule";
    }
    const QStringList changed = sizes(now.layout, &file.layout);
    parts << changed;
    if (!changed.isEmpty())
        told << "/layout/tp"
             << "/layout/cp"
             << "/layout/ep"
             << "/layout/pp"
             << "/layout/dp"
             << "/cluster/nodes";
    const bool isPipeline = now.layout.pp > 1;
    if (isPipeline && !parts.isEmpty() && now.layout.pp == file.layout.pp && now.schedule.kind != file.schedule.kind)
        parts << QStringLiteral("pp ") + number(now.layout.pp);
    // A size that was changed is told by its own name among the others: beside it, the number that follows reads as wrong.
    if (isPipeline && now.training.microBatchSize == file.training.microBatchSize &&
        (now.microbatches() != file.microbatches() || now.schedule.kind != file.schedule.kind)) {
        parts << QStringLiteral("m ") + number(now.microbatches());
        told << "/training/global_batch_size"
             << "/training/micro_batch_size";
    }
    if (now.layout.zeroStage != file.layout.zeroStage)
        parts << QStringLiteral("ZeRO %1").arg(now.layout.zeroStage);
    if (now.layout.sequenceParallel != file.layout.sequenceParallel)
        parts << (now.layout.sequenceParallel ? QObject::tr("sequence parallel on") : QObject::tr("sequence parallel off"));
    if (now.training.recompute != file.training.recompute) {
        told << "/training/recompute";
        parts << QObject::tr("recompute %1").arg(recomputeWord(now.training.recompute));
    }
    if (now.training.sequenceLength != file.training.sequenceLength)
        parts << QObject::tr("sequence %1").arg(number(now.training.sequenceLength));
    parts << others(current, before, told);
    return parts.join(QStringLiteral(", "));
}

QString shownName(const WrittenScenario& now, const WrittenScenario& file)
{
    const QString name = nameOf(now.scenario);
    if (now.scenario.name.empty() || file.scenario.name != now.scenario.name)
        return name; // that says what it is, or that somebody gave it as it is now
    const QString changed = changedSettings(now, file);
    return changed.isEmpty() ? name : QObject::tr("%1, now %2").arg(name, changed);
}

QString shownDescription(const sim::Scenario& now, bool isAsWritten)
{
    const QString text = plainDescription(QString::fromStdString(now.description));
    return text.isEmpty() || isAsWritten ? text : QObject::tr("*Of the scenario as it was opened:* %1").arg(text);
}

} // namespace app
