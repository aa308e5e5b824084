#include "app/shell/recorded/recorded_words.h"

#include "app/session/recorded_run.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "sim/calibration/calibrate.h"

#include <QLabel>
#include <QLayout>
#include <QRegularExpression>

#include <cmath>

namespace app {

QLabel* wordsLabel(const char* role, const QString& text)
{
    auto* label = new QLabel(text);
    setRole(label, role);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void emptyLayout(QLayout& layout)
{
    while (QLayoutItem* item = layout.takeAt(0)) {
        delete item->widget();
        delete item;
    }
}

QString inOneLine(QString text)
{
    static const QRegularExpression controls(QStringLiteral("[\\x{0000}-\\x{001F}\\x{007F}]+"));
    return text.replace(controls, QStringLiteral(" "));
}

QString signedPercentText(double fraction)
{
    return (fraction >= 0 ? QStringLiteral("+") : QStringLiteral("−")) + percentQuantity(std::abs(fraction)).text();
}

QString recordedHeadline(const RecoveredRun& run)
{
    const sim::Recovered& recovered = run.recovered;
    QStringList parts{
        QObject::tr("%1 of %2 ranks")
            .arg(separated(static_cast<std::int64_t>(recovered.evidence.ranks.size())), separated(recovered.axes.worldSize))};
    for (const sim::RecoveredAxis& axis : recovered.axes.axes)
        if (!axis.name.empty())
            parts << QStringLiteral("%1 %2").arg(QString::fromStdString(axis.name)).arg(axis.size);
        else if (recovered.axes.unknownGrid().empty())
            parts << QObject::tr("an axis of %1 not known").arg(axis.size);
    if (!recovered.axes.unknownGrid().empty())
        parts << QObject::tr("grid not known");
    parts << (recovered.steps.areGuessed          ? QObject::tr("steps not known")
              : recovered.steps.steps.size() == 1 ? QObject::tr("1 step")
                                                  : QObject::tr("%1 steps").arg(recovered.steps.steps.size()));
    if (!run.recording->files.empty())
        parts << QString::fromStdString(run.recording->files.front().format);
    constexpr std::size_t kFew = 100; // "54 spans", not "54.0 spans"
    const std::size_t spans = run.recording->spanCount();
    parts << (spans < kFew ? counted(static_cast<std::int64_t>(spans), "span")
                           : QObject::tr("%1 spans").arg(countQuantity(static_cast<double>(spans)).text()));
    return parts.join(QStringLiteral("  ·  "));
}

QString stepName(const sim::RecoveredSteps& steps, const sim::RecoveredStep& step)
{
    return !steps.areGuessed         ? QObject::tr("step %1").arg(step.number)
           : steps.steps.size() == 1 ? QObject::tr("all that was recorded")
                                     : QObject::tr("recording %1").arg(step.number);
}

QString whatIfText(const QString& run, const sim::RunCalibration& calibration)
{
    const QString step =
        QObject::tr("%1 against %2 measured (%3).")
            .arg(durationQuantity(calibration.calibratedSeconds).text(), durationQuantity(calibration.measuredSeconds).text(),
                 signedPercentText(calibration.errorAfter()));
    QStringList slow; // a layout that is changed need not have that rank
    for (const sim::SlowRankOfRun& of : calibration.slowRanks)
        slow << QObject::tr("rank %1, which takes %2 × as long there,").arg(of.rank).arg(of.factor, 0, 'f', 2);
    QString text = slow.isEmpty() ? QObject::tr("Predicts from %1: its step %2").arg(run, step)
                                  : QObject::tr("Predicts from %1, with %2 as fast as its peers. With that delay its step is %3")
                                        .arg(run, slow.join(QObject::tr(" and ")), step);
    if (calibration.heldOut)
        text += QObject::tr(" Steps it has not seen: %1.").arg(signedPercentText(calibration.heldOut->error()));
    return text;
}

} // namespace app
