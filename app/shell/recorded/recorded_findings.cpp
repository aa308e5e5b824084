#include "app/shell/recorded/recorded_findings.h"

#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/style.h"
#include "sim/recovery/to_scenario.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace app {

RecordedFindings::RecordedFindings(QWidget* parent) : QScrollArea(parent), m_rows(new QVBoxLayout)
{
    auto* all = new QWidget;
    auto* column = new QVBoxLayout(all);
    column->setContentsMargins(12, 8, 12, 8);
    m_rows->setSpacing(10);
    column->addLayout(m_rows);
    column->addStretch(1);
    setWidget(all);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setRole(this, "clearPane");
}

void RecordedFindings::add(const QString& title, const QString& detail, std::optional<std::size_t> finding)
{
    auto* row = new QWidget;
    auto* column = new QVBoxLayout(row);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    auto* top = new QHBoxLayout;
    top->addWidget(wordsLabel("strong", title), 1);
    if (finding) {
        auto* show = new QPushButton(tr("Show me"));
        setRole(show, "link");
        show->setAccessibleName(tr("Show me: %1").arg(title));
        connect(show, &QPushButton::clicked, this, [this, at = *finding] { Q_EMIT asked(at); });
        top->addWidget(show, 0, Qt::AlignTop);
    }
    column->addLayout(top);
    column->addWidget(wordsLabel("muted12", detail));
    m_rows->addWidget(row);
}

void RecordedFindings::show(const RecoveredRun& run)
{
    emptyLayout(*m_rows);
    if (!run.recording->otherRuns.empty())
        add(tr("These files are not of one run"),
            QString::fromStdString(run.recording->problems.front()).section(QStringLiteral(": "), 1));
    const std::string& whyEmpty = run.answers.whyNothingLasts;
    if (!whyEmpty.empty())
        add(tr("The timeline is empty"), tr("%1. “Streams” marks when each was recorded.").arg(QString::fromStdString(whyEmpty)));
    for (std::size_t i = 0; i < run.answers.findings.size(); ++i) {
        const sim::RunFinding& finding = run.answers.findings[i];
        const bool hasPlace = !finding.ranks.empty() || finding.endNs > finding.startNs;
        add(QString::fromStdString(finding.title), QString::fromStdString(finding.detail),
            hasPlace ? std::optional(i) : std::nullopt);
    }
    if (const std::string unknown = run.recovered.axes.unknownGrid(); !unknown.empty())
        add(tr("The grid of ranks is not known"),
            tr("%1. “Recovered” has a place to say it.").arg(QString::fromStdString(unknown)));
    if (const std::string unnamed = sim::unnamedAxesText(run.recovered.axes); !unnamed.empty())
        add(tr("An axis of the grid is not known"),
            tr("%1. “Recovered” has a place to say it.").arg(QString::fromStdString(unnamed)));
    const bool saysLate = std::any_of(run.answers.findings.begin(), run.answers.findings.end(),
                                      [](const sim::RunFinding& finding) { return finding.kind == "late-rank"; });
    if (!saysLate && !run.answers.arrivals.text.empty())
        add(tr("Who comes late"), QString::fromStdString(run.answers.arrivals.text));
    if (run.answers.findings.empty() && whyEmpty.empty())
        add(tr("No findings"), QString::fromStdString(run.answers.nothingFound));
}

} // namespace app
