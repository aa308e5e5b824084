#include "app/shell/recorded/recorded_words.h"

#include "app/session/recorded_run.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

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
    if (!recovered.axes.unknownGrid().empty())
        parts << QObject::tr("grid not known");
    parts << (recovered.steps.steps.size() == 1 ? QObject::tr("1 step")
                                                : QObject::tr("%1 steps").arg(recovered.steps.steps.size()));
    if (!run.recording->files.empty())
        parts << QString::fromStdString(run.recording->files.front().format);
    constexpr std::size_t kFew = 100; // "54 spans", not "54.0 spans"
    const std::size_t spans = run.recording->spanCount();
    parts << (spans < kFew ? counted(static_cast<std::int64_t>(spans), "span")
                           : QObject::tr("%1 spans").arg(countQuantity(static_cast<double>(spans)).text()));
    return parts.join(QStringLiteral("  ·  "));
}

} // namespace app
