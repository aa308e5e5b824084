#include "app/shell/findings/findings_panel.h"

#include "app/shell/findings/finding_row.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/mask_note.h"
#include "app/shell/widgets/severity_icon.h"
#include "app/shell/widgets/style.h"
#include "sim/analysis/findings/finding_because.h"
#include "sim/text/number_text.h"

#include <QLabel>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>

namespace app {

Edit editOf(const sim::SuggestedEdit& edit)
{
    Edit out;
    out.text = edit.text;
    for (const sim::Change& change : edit.changes)
        out.assignments.push_back({change.pointer, change.json});
    return out;
}

FindingsPanel::FindingsPanel(QWidget* parent)
    : QScrollArea(parent), m_theme(&lightTheme()), m_summary(new QLabel), m_fixNote(new QLabel), m_column(new QVBoxLayout)
{
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setRole(this, "pane");
    setAccessibleName(tr("Findings"));
    setRole(m_summary, "muted");
    m_summary->setWordWrap(true);
    setRole(m_fixNote, "muted");
    m_fixNote->setObjectName(QStringLiteral("fixNote"));
    m_fixNote->setWordWrap(true);
    m_fixNote->setTextFormat(Qt::PlainText);
    m_fixNote->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_fixNote->hide();
    m_column->setSpacing(8);
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(14, 4, 12, 16);
    column->setSpacing(8);
    column->addWidget(m_fixNote);
    column->addWidget(m_summary);
    column->addLayout(m_column);
    column->addStretch();
    setWidget(page);
    m_maskNote = new MaskNote(viewport());
    showSummary();
}

void FindingsPanel::follow(Desk& desk)
{
    connect(&desk, &Desk::opened, this, &FindingsPanel::clear);
    connect(&desk, &Desk::stepChanged, this, [this] { // what was said is of another step
        clear();
        m_summary->setText(tr("Looking at this step…"));
    });
    connect(&desk.session(), &Session::changed, this, [this, &desk] { widget()->setEnabled(!desk.isSimulating()); });
    connect(&desk, &Desk::waits, this, [this, &desk] { widget()->setEnabled(!desk.isSimulating()); });
    connect(&desk, &Desk::findingsReady, this,
            [this, &desk](const FindingList& found) { setFindings(found, desk.simulation()); });
    connect(&desk, &Desk::findingsFailed, this, &FindingsPanel::setFailure);
    connect(&desk, &Desk::editMeasured, this, &FindingsPanel::setResult);
    connect(this, &FindingsPanel::editRequested, &desk.session(), &Session::edit);
    m_desk = &desk;
    m_fix = std::make_unique<FixSearch>(desk.session().catalogue());
    connect(m_fix.get(), &FixSearch::finished, this, &FindingsPanel::fixed);
    connect(m_fix.get(), &FixSearch::failed, this, &FindingsPanel::sayOfFix);
    connect(&desk.session(), &Session::changed, this, [this, &desk] {
        m_fix->drop(); // it was of another scenario
        showFixing();
        if (!desk.session().isOpen() || desk.session().document().text() != m_fixNoteOf)
            m_fixNote->hide();
    });
}

void FindingsPanel::fix()
{
    if (!m_desk || !m_desk->session().isOpen() || !m_desk->session().isLegal())
        return;
    m_fixNote->hide();
    m_fix->start(m_desk->session().document());
    showFixing();
}

void FindingsPanel::fixed(const Fix& fix)
{
    const QString text = QString::fromStdString(fix.change.text());
    if (!fix.change.found())
        return sayOfFix(text);
    m_desk->session().edit(makeFixEdit(fix.change));
    const QString said = tr("Fixed, and Undo takes it back: %1.").arg(text);
    sayOfFix(fix.leavesRoom
                 ? said + QLatin1Char(' ') +
                       tr("Of each GPU's memory %1 was kept free: allocators reserve about %2 more than is allocated.")
                           .arg(QString::fromStdString(sim::numberText(sim::kTightShare, sim::Unit::fraction, 1)),
                                QString::fromStdString(sim::numberText(sim::kAllocatorReserve, sim::Unit::fraction, 1)))
                 : said);
}

void FindingsPanel::sayOfFix(const QString& text)
{
    showFixing();
    m_fixNoteOf = m_desk->session().document().text();
    m_fixNote->setText(text);
    m_fixNote->show();
}

void FindingsPanel::showFixing()
{
    for (FindingRow* row : m_rows)
        row->setFixing(isFixing());
}

void FindingsPanel::setMasked(bool masked, const QString& why)
{
    m_maskNote->setText(why);
    widget()->setVisible(!masked);
    m_maskNote->setVisible(masked);
    Q_EMIT changed();
}

int FindingsPanel::complaints() const
{
    return static_cast<int>(std::count_if(m_findings.begin(), m_findings.end(), [](const sim::Finding& finding) {
        return finding.kind != sim::FindingKind::composition;
    }));
}

void FindingsPanel::setFindings(const FindingList& findings, const SimulationPtr& of)
{
    m_findings = findings;
    m_simulation = of;
    m_isOfStep = true;
    m_failure.clear();
    m_results.clear();
    rebuild();
    verticalScrollBar()->setValue(0);
}

void FindingsPanel::setFailure(const QString& why)
{
    setFindings({});
    m_failure = why;
    showSummary();
}

void FindingsPanel::clear()
{
    m_isOfStep = false; // before it is shown
    m_findings.clear();
    m_simulation.reset();
    m_failure.clear();
    m_results.clear();
    rebuild();
}

void FindingsPanel::setResult(const EditResult& result)
{
    if (result.finding >= m_rows.size())
        return;
    m_results.push_back(result);
    m_rows[result.finding]->setEffect(result.edit, result.effect);
    if (isComplete())
        rank();
}

void FindingsPanel::openBecause(std::size_t finding, QWidget* beside)
{
    if (!m_simulation)
        return;
    std::vector<BecauseSubject> subjects;
    for (const sim::ClaimBecause& each : sim::becauseOf(*m_simulation, m_findings.at(finding)))
        subjects.push_back({QString::fromStdString(each.text), [because = each.because] { return because; }});
    if (subjects.empty())
        return;
    auto* popup = new BecausePopup(std::move(subjects), this);
    connect(popup, &BecausePopup::showRequested, this, &FindingsPanel::showRequested);
    popup->openBeside(*beside);
}

/// When all has been tried, once: before, rows would jump under the reader's eyes.
void FindingsPanel::rank()
{
    std::vector<std::vector<sim::EditEffect>> tried(m_findings.size());
    for (const EditResult& result : m_results)
        if (result.effect)
            tried[result.finding].push_back(*result.effect);
    int place = 0;
    for (const std::size_t finding : sim::rankedByGain(m_findings, tried))
        m_column->insertWidget(place++, m_rows[finding]);
}

void FindingsPanel::setTheme(const Theme& theme)
{
    m_theme = &theme;
    rebuild();
}

bool FindingsPanel::isComplete() const
{
    return std::all_of(m_rows.begin(), m_rows.end(), [](const FindingRow* row) { return row->isComplete(); });
}

QString FindingsPanel::text() const
{
    QStringList lines{m_summary->text()};
    if (!m_fixNote->isHidden())
        lines.prepend(m_fixNote->text());
    for (int place = 0; place < m_column->count(); ++place)
        lines << static_cast<const FindingRow*>(m_column->itemAt(place)->widget())->text();
    return lines.join(QLatin1Char('\n'));
}

void FindingsPanel::rebuild()
{
    while (QLayoutItem* item = m_column->takeAt(0)) {
        if (QWidget* row = item->widget()) {
            row->hide();
            row->deleteLater(); // its button may be what asked for this
        }
        delete item;
    }
    m_rows.clear();
    for (std::size_t i = 0; i < m_findings.size(); ++i) {
        auto* row = new FindingRow(m_findings[i], *m_theme);
        connect(row, &FindingRow::showRequested, this, [this, i] { Q_EMIT showRequested(m_findings.at(i).show); });
        connect(row, &FindingRow::fixRequested, this, &FindingsPanel::fix);
        connect(row, &FindingRow::becauseRequested, this, [this, i](QWidget* beside) { openBecause(i, beside); });
        connect(row, &FindingRow::editRequested, this,
                [this, i](std::size_t edit) { Q_EMIT editRequested(editOf(m_findings.at(i).suggestions.at(edit))); });
        m_column->addWidget(row);
        m_rows.push_back(row);
    }
    showFixing();
    for (const EditResult& result : m_results)
        m_rows[result.finding]->setEffect(result.edit, result.effect);
    if (!m_results.empty() && isComplete())
        rank();
    showSummary();
    Q_EMIT changed();
}

void FindingsPanel::showSummary()
{
    if (m_findings.empty()) {
        m_summary->setText(!m_isOfStep ? tr("When a step has been simulated, what there is to say about it stands here.")
                           : m_failure.isEmpty() ? tr("There is nothing to say about this step.")
                                                 : tr("Nothing can be said about this step: %1").arg(m_failure));
        m_summary->show();
        return;
    }
    const auto count = [this](sim::FindingSeverity severity) {
        return std::count_if(m_findings.begin(), m_findings.end(), [=](const sim::Finding& f) { return f.severity == severity; });
    };
    QStringList parts;
    const auto broken = std::find_if(m_findings.begin(), m_findings.end(),
                                     [](const sim::Finding& f) { return f.severity == sim::FindingSeverity::broken; });
    if (broken != m_findings.end())
        parts << severityName(*broken);
    if (const auto costly = count(sim::FindingSeverity::costly); costly > 0)
        parts << tr("%1 costly").arg(costly);
    if (const auto hints = count(sim::FindingSeverity::hint); hints > 0)
        parts << (hints == 1 ? tr("1 hint") : tr("%1 hints").arg(hints));
    m_summary->setText(parts.join(QStringLiteral(" · ")));
    m_summary->setVisible(!parts.isEmpty());
}

} // namespace app
