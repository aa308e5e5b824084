#include "app/shell/recorded/recorded_tables.h"

#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QHeaderView>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <map>

namespace app {
namespace {

QString recordedTime(double seconds)
{
    return seconds == 0 ? QStringLiteral("–") : durationQuantity(seconds).text();
}

QString recordedNs(std::int64_t ns)
{
    return recordedTime(static_cast<double>(ns) * 1e-9);
}

QString changeOf(double seconds)
{
    return seconds == 0 ? QStringLiteral("–")
                        : (seconds > 0 ? QStringLiteral("+") : QStringLiteral("−")) + recordedTime(std::abs(seconds));
}

/// "No kernel was recorded."
QString noneIn(const RecoveredRun& run, const QString& none)
{
    return run.recording->spanCount() == 0 ? QObject::tr("%1 was recorded that has ended.").arg(none)
           : run.steps().steps.empty()     ? QObject::tr("No step was recovered: what is told here is of one.")
                                           : QObject::tr("%1 was recorded in the steps.").arg(none);
}

QString axisName(const std::string& axes)
{
    return axes.empty() ? QObject::tr("unknown use") : QString::fromStdString(axes);
}

} // namespace

RecordedTable::RecordedTable(const QString& name, QWidget* parent) : QTableWidget(parent)
{
    setRole(this, "table");
    setAccessibleName(name);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setShowGrid(false);
    setTabKeyNavigation(false); // Tab goes on to what comes next; arrows go from cell to cell
    setFont(uiFont(12));
    setFrameShape(QFrame::NoFrame);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    verticalHeader()->hide();
    constexpr int kRowHeight = 22;
    verticalHeader()->setDefaultSectionSize(kRowHeight);
    horizontalHeader()->setHighlightSections(false);
    connect(this, &QTableWidget::itemSelectionChanged, this, [this] {
        const QList<QTableWidgetItem*> items = selectedItems();
        if (!items.isEmpty() && items.front()->data(Qt::UserRole).toInt() >= 0)
            Q_EMIT chosen(items.front()->data(Qt::UserRole).toInt());
    });
}

void RecordedTable::paintEvent(QPaintEvent* event)
{
    QTableWidget::paintEvent(event);
    if (whyEmpty().isEmpty())
        return;
    constexpr int kAround = 8;
    QPainter painter(viewport());
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect().adjusted(kAround, kAround, -kAround, -kAround),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, whyEmpty());
}

void RecordedTable::show(const QStringList& headers, const std::vector<Line>& lines, const QString& whyEmpty)
{
    m_whyEmpty = whyEmpty;
    setAccessibleDescription(lines.empty() ? whyEmpty : QString());
    const QSignalBlocker quiet(this);
    setUpdatesEnabled(false);
    clear();
    setColumnCount(static_cast<int>(headers.size()));
    setRowCount(static_cast<int>(lines.size()));
    setHorizontalHeaderLabels(headers);
    for (int c = 0; c < columnCount(); ++c)
        horizontalHeaderItem(c)->setTextAlignment((c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    for (int row = 0; row < rowCount(); ++row) {
        const Line& line = lines[static_cast<std::size_t>(row)];
        for (int c = 0; c < columnCount(); ++c) {
            auto* item = new QTableWidgetItem(line.cells.value(c));
            item->setTextAlignment((c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
            item->setToolTip(line.tips.value(c).isEmpty() ? line.cells.value(c) : line.tips.value(c));
            item->setData(Qt::UserRole, line.key);
            if (line.stands)
                item->setFont(uiFont(12, QFont::DemiBold));
            setItem(row, c, item);
        }
    }
    resizeColumnsToContents();
    constexpr int kWidestName = 360;
    if (columnCount() > 0 && columnWidth(0) > kWidestName)
        setColumnWidth(0, kWidestName);
    setUpdatesEnabled(true);
}

QString RecordedTable::text() const
{
    QStringList lines, cells; // tabs and ends of lines are ours here
    for (int c = 0; c < columnCount(); ++c)
        cells << horizontalHeaderItem(c)->text();
    lines << cells.join(QLatin1Char('\t'));
    for (int row = 0; row < rowCount(); ++row) {
        cells.clear();
        for (int c = 0; c < columnCount(); ++c)
            cells << inOneLine(item(row, c)->text());
        lines << cells.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n'));
}

void showRanks(RecordedTable& table, const RecoveredRun& run)
{
    std::vector<RecordedTable::Line> lines;
    const auto steps = static_cast<std::int64_t>(std::max<std::size_t>(1, run.steps().usual().size())); // a step's, as the others
    for (std::size_t r = 0; r < run.recovered.evidence.ranks.size(); ++r) {
        const sim::RankEvidence& rank = run.recovered.evidence.ranks[r];
        const sim::RankArrivals& late = run.answers.arrivals.ranks[r];
        RecordedTable::Line line{.cells = {QObject::tr("rank %1").arg(rank.rank), QString::fromStdString(rank.host)},
                                 .key = rank.rank,
                                 .stands = run.answers.arrivals.straggler == static_cast<int>(r)};
        if (r < run.answers.times.ranks.size()) {
            const sim::RankTime& time = run.answers.times.ranks[r];
            line.cells << recordedNs(time.windowNs) << recordedNs(time.computingNs) << recordedNs(time.exposedCommNs)
                       << recordedNs(time.copyNs) << recordedNs(time.idleNs) << recordedNs(time.hostBoundNs);
        } else {
            line.cells << QString() << QString() << QString() << QString() << QString() << QString();
        }
        line.cells << recordedNs(late.waitedNs / steps) << recordedNs(late.causedNs / steps)
                   << QObject::tr("%1 of %2")
                          .arg(separated(static_cast<std::int64_t>(late.last)),
                               separated(static_cast<std::int64_t>(late.meetings)));
        lines.push_back(std::move(line));
    }
    table.show({QObject::tr("Rank"), QObject::tr("Host"), QObject::tr("Step"), QObject::tr("Computing"),
                QObject::tr("Exposed comm."), QObject::tr("Copies"), QObject::tr("Idle"), QObject::tr("Host late"),
                QObject::tr("Waited"), QObject::tr("Made others wait"), QObject::tr("Came last")},
               lines);
}

void showCommunication(RecordedTable& table, const RecoveredRun& run)
{
    struct OfAxis {
        double all = 0, exposed = 0, hidden = 0;
    };
    std::map<std::string, OfAxis> byAxis;
    double window = 0;
    for (const sim::RankTime& rank : run.answers.times.ranks) {
        window += static_cast<double>(rank.windowNs);
        for (const auto& [axis, ns] : rank.commByAxis)
            byAxis[axis].all += static_cast<double>(ns);
        for (const auto& [axis, ns] : rank.exposedByAxis)
            byAxis[axis].exposed += static_cast<double>(ns);
        for (const auto& [axis, ns] : rank.hiddenByAxis)
            byAxis[axis].hidden += static_cast<double>(ns);
    }
    if (!sim::anyRan(run.answers.times.ranks)) // what was computed meanwhile was not recorded
        window = 0;
    const auto waitsOf = [&run](const std::string& axis) {
        const auto found = run.answers.arrivals.byAxis.find(axis);
        return found == run.answers.arrivals.byAxis.end() ? sim::AxisWaits{} : found->second;
    };
    const auto ranks = static_cast<double>(std::max<std::size_t>(1, run.answers.times.ranks.size()));
    const auto steps = static_cast<double>(std::max<std::size_t>(1, run.steps().usual().size()));
    std::vector<RecordedTable::Line> lines;
    for (const auto& [axis, times] : byAxis)
        lines.push_back(
            {.cells = {axisName(axis), recordedTime(times.all * 1e-9 / ranks),
                       recordedTime(window > 0 ? times.exposed * 1e-9 / ranks : 0),
                       window > 0 ? percentQuantity(times.exposed / window).text() : QStringLiteral("–"),
                       window > 0 && times.all > 0 ? percentQuantity(times.hidden / times.all).text() : QStringLiteral("–"),
                       recordedTime(static_cast<double>(waitsOf(axis).waitedNs) * 1e-9 / ranks / steps),
                       separated(static_cast<std::int64_t>(waitsOf(axis).meetings))}});
    table.show({QObject::tr("Groups"), QObject::tr("Communicates"), QObject::tr("Exposed"), QObject::tr("Of the step"),
                QObject::tr("Hidden"), QObject::tr("Waits for the last"), QObject::tr("Matched")},
               lines, noneIn(run, QObject::tr("No collective, send or receive")));
    table.horizontalHeaderItem(2)->setToolTip(QObject::tr(
        "While nothing computes. An instant in which several groups communicate is shared by them, so that they add up."));
    table.horizontalHeaderItem(4)->setToolTip(QObject::tr("Of what it communicates: while something computes."));
}

void showSteps(RecordedTable& table, const RecoveredRun& run)
{
    std::vector<RecordedTable::Line> lines;
    const auto& steps = run.steps();
    for (std::size_t i = 0; i < steps.steps.size(); ++i) {
        const sim::RecoveredStep& step = steps.steps[i];
        const double over = steps.medianSeconds > 0 ? step.seconds() / steps.medianSeconds - 1 : 0;
        lines.push_back(
            {.cells = {stepName(steps, step), recordedTime(step.seconds()), changeOf(step.seconds() - steps.medianSeconds),
                       (over >= 0 ? QStringLiteral("+") : QStringLiteral("−")) + percentQuantity(std::abs(over)).text(),
                       QString::fromUtf8(step.unlikeText())},
             .key = static_cast<int>(i),
             .stands = step.isOutlier});
    }
    table.show({QObject::tr("Step"), QObject::tr("Takes"), QObject::tr("Against the median"), QString(), QString()}, lines,
               QObject::tr("No step was recovered."));
}

void showKernelTimes(RecordedTable& table, const RecoveredRun& run)
{
    constexpr std::size_t kMostKernels = 200;
    std::vector<RecordedTable::Line> lines;
    double all = 0;
    for (const sim::KernelTime& kernel : run.answers.times.kernels)
        all += static_cast<double>(kernel.totalNs);
    const auto ranks = static_cast<double>(std::max<std::size_t>(1, run.answers.times.ranks.size()));
    for (std::size_t i = 0; i < std::min(kMostKernels, run.answers.times.kernels.size()); ++i) {
        const sim::KernelTime& kernel = run.answers.times.kernels[i];
        lines.push_back({.cells = {beginningOf(kernel.name), recordedTime(static_cast<double>(kernel.totalNs) * 1e-9 / ranks),
                                   all > 0 ? percentQuantity(static_cast<double>(kernel.totalNs) / all).text() : QString(),
                                   separated(static_cast<std::int64_t>(kernel.count)), recordedNs(kernel.shortestNs),
                                   recordedNs(kernel.longestNs)}});
    }
    table.show({QObject::tr("Kernel"), QObject::tr("A rank's step"), QObject::tr("Of all"), QObject::tr("Calls, all ranks"),
                QObject::tr("Shortest"), QObject::tr("Longest")},
               lines, noneIn(run, QObject::tr("No kernel")));
}

QString shapesText(const RecoveredRun& run)
{
    const auto& shapes = run.answers.shapes;
    if (shapes.empty())
        return QObject::tr("By shape: no inputs of operators were recorded (record_shapes=True).");
    const bool hasPeak = std::any_of(shapes.begin(), shapes.end(), [](const sim::ShapedWork& work) { return work.peakFlops; });
    return hasPeak ? QObject::tr("By shape, of matrix products and attention; peak: of %1, dense.")
                         .arg(QString::fromStdString(shapes.front().gpu))
                   : QObject::tr("By shape, of matrix products and attention. The trace names no GPU whose peak is known.");
}

void showShapes(RecordedTable& table, const RecoveredRun& run)
{
    std::vector<RecordedTable::Line> lines;
    const auto ranks = static_cast<double>(std::max<std::size_t>(1, run.answers.times.ranks.size()));
    for (const sim::ShapedWork& work : run.answers.shapes) {
        QStringList kernels;
        for (const std::string& name : work.kernelNames)
            kernels << beginningOf(name);
        lines.push_back(
            {.cells = {QString::fromStdString(work.op + "  " + work.shape), QString::fromStdString(work.dtype),
                       separated(static_cast<std::int64_t>(work.calls)),
                       recordedTime(static_cast<double>(work.totalNs) * 1e-9 / ranks), countQuantity(work.flops).text(),
                       flopRateQuantity(work.flopsPerSecond()).text(), QString::fromStdString(sim::ofPeakText(work))},
             .tips = {kernels.join(QLatin1Char('\n'))}});
    }
    table.setVisible(!lines.empty());
    table.show({QObject::tr("Operator and shape"), QObject::tr("Type"), QObject::tr("Calls, all ranks"),
                QObject::tr("A rank's step"), QObject::tr("FLOP a call"), QObject::tr("Rate"), QObject::tr("Of the peak")},
               lines);
}

QString pathText(const RecoveredRun& run, const sim::RankPath& path)
{
    if (path.segments.empty())
        return QObject::tr("No chain through the step can be told: %1.")
            .arg(run.steps().steps.empty() ? QObject::tr("no step was recovered")
                                           : QString::fromStdString(run.recovered.clock.why));
    QStringList parts;
    double all = 0;
    for (const auto& [part, ns] : path.ns)
        all += static_cast<double>(ns);
    for (const auto& [part, ns] : path.ns)
        parts << QObject::tr("%1 %2").arg(QString::fromUtf8(sim::pathPartText(part).data()),
                                          percentQuantity(static_cast<double>(ns) / all).text());
    QString text = QObject::tr("What makes step %1 as long as it is, back from its end: %2.")
                       .arg(run.steps().steps[path.step].number)
                       .arg(parts.join(QStringLiteral(", ")));
    if (const int missing = run.recovered.evidence.missingRanks(); missing > 0)
        text += QObject::tr(" What led to it on %1 that %2 not recorded is not seen.")
                    .arg(counted(missing, "rank"), missing == 1 ? QObject::tr("is") : QObject::tr("are"));
    return text;
}

void showPath(RecordedTable& table, const RecoveredRun& run, const sim::RankPath& path)
{
    std::vector<RecordedTable::Line> lines;
    const std::vector<sim::PathStretch> stretches = sim::stretchesOf(path);
    const auto whole = stretches.empty() ? 1.0 : static_cast<double>(stretches.back().endNs - stretches.front().startNs);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        const sim::PathStretch& of = stretches[i];
        const auto part = [&](sim::PathPart which) {
            const auto found = of.ns.find(which);
            return recordedNs(found == of.ns.end() ? 0 : found->second);
        };
        const QString reached = QString::fromStdString(sim::reachedText(run.recovered, of));
        lines.push_back(
            {.cells = {QObject::tr("rank %1").arg(run.recovered.evidence.ranks[of.rank].rank),
                       recordedNs(of.startNs - stretches.front().startNs), recordedNs(of.endNs - of.startNs),
                       percentQuantity(static_cast<double>(of.endNs - of.startNs) / whole).text(), part(sim::PathPart::computing),
                       part(sim::PathPart::copying), part(sim::PathPart::communicating), part(sim::PathPart::launching),
                       part(sim::PathPart::idling), reached.isEmpty() ? QStringLiteral("–") : reached,
                       of.spans > 0 ? beginningOf(run.recovered.evidence.names[of.longest]) : QString()},
             .key = static_cast<int>(i)});
    }
    table.show({QObject::tr("On"), QObject::tr("From"), QObject::tr("For"), QObject::tr("Of the step"), QObject::tr("Computing"),
                QObject::tr("Copies"), QObject::tr("Communicating"), QObject::tr("Host late"), QObject::tr("Idle"),
                QObject::tr("Reached by"), QObject::tr("Longest in")},
               lines);
}

QString predictionText(const RecordedPrediction& prediction)
{
    if (!prediction.calibration) {
        const double seconds = prediction.prediction->simulation->metrics().stepTimeSeconds;
        return QObject::tr("Predicted %1. The recording cannot calibrate it: %2")
            .arg(durationQuantity(seconds).text(), prediction.whyNotCalibrated);
    }
    const sim::RunCalibration& c = *prediction.calibration;
    QStringList lines{QObject::tr("Measured %1, predicted %2 (%3); with what was measured of kernels and transfers %4 (%5).")
                          .arg(durationQuantity(c.measuredSeconds).text(), durationQuantity(c.predictedSeconds).text(),
                               signedPercentText(c.errorBefore()), durationQuantity(c.calibratedSeconds).text(),
                               signedPercentText(c.errorAfter()))};
    if (c.heldOut)
        lines << QObject::tr("Held-out steps: predicted %1 of the first %2, measured %3 (%4).")
                     .arg(durationQuantity(c.heldOut->predictedSeconds).text())
                     .arg(counted(static_cast<std::int64_t>(c.heldOut->learnt), "step"))
                     .arg(durationQuantity(c.heldOut->measuredSeconds).text(), signedPercentText(c.heldOut->error()));
    for (const std::string& problem : c.problems)
        lines << QString::fromStdString(problem);
    return lines.join(QLatin1Char('\n'));
}

QString comparisonText(const QString& with, const sim::RunDifference& difference)
{
    QStringList lines{
        QObject::tr("Beside %1: a step takes %2 there, %3 here.")
            .arg(with, durationQuantity(difference.stepSeconds.b).text(), durationQuantity(difference.stepSeconds.a).text())};
    for (const sim::DifferenceFinding* headline : difference.headlines())
        lines << QString::fromStdString(headline->title);
    constexpr std::size_t kMostCauses = 3; // above a table that has the rest
    for (std::size_t i = 0; i < std::min(kMostCauses, difference.causes.size()); ++i)
        lines << QString::fromStdString(difference.causes[i].title);
    for (const std::string& problem : difference.problems)
        lines << QString::fromStdString(problem);
    return lines.join(QLatin1Char('\n'));
}

void showCalibration(RecordedTable& table, const sim::RunCalibration& calibration)
{
    std::vector<RecordedTable::Line> lines;
    lines.push_back(
        {.cells = {QObject::tr("Step"), recordedTime(calibration.measuredSeconds), recordedTime(calibration.predictedSeconds),
                   changeOf(calibration.measuredSeconds - calibration.predictedSeconds),
                   calibration.predictedSeconds > 0
                       ? QString::number(calibration.measuredSeconds / calibration.predictedSeconds, 'f', 2)
                       : QString()},
         .stands = true});
    for (const auto* classes : {&calibration.kernels, &calibration.transfers})
        for (const sim::CalibratedClass& one : *classes)
            lines.push_back({.cells = {QString::fromStdString(one.name), recordedTime(one.measuredSeconds),
                                       recordedTime(one.predictedSeconds), changeOf(one.measuredSeconds - one.predictedSeconds),
                                       one.ratio > 0 ? QString::number(one.ratio, 'f', 2) : QStringLiteral("–")},
                             .tips = {QString::fromStdString(one.note)}});
    table.show({QObject::tr("A rank's step"), QObject::tr("Measured"), QObject::tr("Predicted"), QObject::tr("Difference"),
                QObject::tr("× predicted")},
               lines);
}

void showDifference(RecordedTable& table, const sim::RunDifference& difference)
{
    std::vector<RecordedTable::Line> lines;
    const auto add = [&](const QString& name, const sim::OfRuns& of, const char* verdict, int rank = -1, bool stands = false) {
        lines.push_back(
            {.cells = {name, recordedTime(of.a), recordedTime(of.b), changeOf(of.delta()), QString::fromUtf8(verdict)},
             .key = rank,
             .stands = stands});
    };
    add(QObject::tr("Step, median"), difference.stepSeconds, sim::verdictText(difference.verdict), -1, true);
    for (const sim::PartDifference& part : difference.parts)
        add(QString::fromStdString(part.name), part.seconds, "");
    for (const sim::RankDifference& rank : difference.ranks)
        if (rank.verdict != sim::Verdict::alike)
            add(QObject::tr("rank %1, computing").arg(rank.rankA), rank.computing, sim::verdictText(rank.verdict), rank.rankA);
    for (const auto* classes : {&difference.kernels, &difference.collectives})
        for (const sim::ClassDifference& one : *classes)
            if (one.verdict != sim::Verdict::alike)
                add(beginningOf(one.name), one.seconds, sim::verdictText(one.verdict));
    table.show(
        {QObject::tr("A rank's step"), QObject::tr("This run"), QObject::tr("The other"), QObject::tr("Difference"), QString()},
        lines);
}

} // namespace app
