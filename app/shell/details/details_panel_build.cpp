// What the panel of details is put together from.
#include "app/shell/details/details_panel.h"

#include "app/shell/details/reality_card.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/mask_note.h"
#include "app/shell/widgets/style.h"
#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/explain/explain_whole_run.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

namespace app {
namespace {

QLabel* label(const char* role)
{
    auto* out = new QLabel;
    setRole(out, role);
    out->setWordWrap(true);
    return out;
}

} // namespace

DetailsPanel::DetailsPanel(QWidget* parent) : QScrollArea(parent), m_theme(&lightTheme())
{
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setRole(this, "pane");
    setAccessibleName(tr("Details"));

    m_stepTime = new MetricCard(tr("Step time"), Better::lower);
    m_tokens = new MetricCard(tr("Tokens/s"), Better::higher);
    m_mfu = new MetricCard(tr("MFU"), Better::higher, DeltaUnit::points);
    m_bubble = new MetricCard(tr("Bubble"), Better::lower, DeltaUnit::points);
    m_goodput = new MetricCard(tr("Goodput"), Better::neither);
    m_run = new MetricCard(tr("Whole run"), Better::lower);
    m_price = new QToolButton;
    setRole(m_price, "link");
    m_run->addBelow(m_price);
    connect(m_price, &QToolButton::clicked, this, &DetailsPanel::priceRequested);
    m_parameters = new MetricCard(tr("Parameters"), Better::neither);
    m_exposed = new MetricCard(tr("Exposed communication"), Better::lower, DeltaUnit::points);
    m_memory = new MetricCard(tr("Peak memory"), Better::lower);
    m_exposedBar = new StackedBar;
    m_exposed->addBelow(m_exposedBar);
    m_memoryBar = new StackedBar;
    m_memory->addBelow(m_memoryBar);

    using enum sim::MetricId;
    explain(m_stepTime, {stepTime, modelFlopRate, hardwareFlopRate});
    explain(m_tokens, {tokensPerSecond, tokensPerSecondPerGpu});
    explain(m_mfu, {mfu, mfuFullAttention, hfu});
    explain(m_bubble, {bubble});
    openBecause(m_goodput, [this] {
        return std::vector<BecauseSubject>{{tr("Goodput"), [simulation = m_simulation, failing = *m_failing] {
                                                return sim::explainGoodput(*simulation, failing);
                                            }}};
    });
    openBecause(m_run, [this] {
        const double tokens = sim::tokensToTell(m_simulation->scenario());
        const auto of = [&](const QString& name, auto why) {
            return BecauseSubject{name, [simulation = m_simulation, tokens, why] { return why(*simulation, tokens); }};
        };
        return std::vector{of(tr("Time"), sim::explainRunTime), of(tr("GPU hours"), sim::explainRunGpuHours)};
    });
    explain(m_parameters, {parameters});
    explain(m_exposed, {exposed});
    explain(m_memory, {peakMemory});

    m_spanSection = label("section");
    m_spanSection->setText(tr("SPAN"));
    m_spanTitle = label("heading");
    m_spanText = label("muted");
    m_idleSection = label("section");
    m_idleSection->setText(tr("IDLE"));
    m_idleTitle = label("heading");
    m_idleText = label("muted");
    m_rankSection = label("section");
    m_rankSection->setText(tr("RANK"));
    m_rankSection->setContentsMargins(0, 8, 0, 0);
    m_rankTitle = label("heading");
    m_coordinates = label("muted");
    m_place = label("muted");
    m_alike = label("small");
    m_groups = new QGridLayout;
    m_groups->setHorizontalSpacing(12);
    m_groups->setVerticalSpacing(3);
    m_groups->setColumnStretch(2, 1);

    auto* cards = new QGridLayout;
    cards->setSpacing(8);
    cards->addWidget(m_stepTime, 0, 0);
    cards->addWidget(m_tokens, 0, 1);
    cards->addWidget(m_mfu, 1, 0);
    cards->addWidget(m_bubble, 1, 1);
    cards->addWidget(m_goodput, 2, 0, 1, 2);
    cards->addWidget(m_memory, 3, 0, 1, 2);
    m_reality = new RealityCard;
    cards->addWidget(m_reality, 4, 0, 1, 2);
    cards->addWidget(m_exposed, 5, 0, 1, 2);
    cards->addWidget(m_run, 6, 0, 1, 2);
    cards->setColumnStretch(0, 1);
    cards->setColumnStretch(1, 1);
    cards->setColumnMinimumWidth(0, 100);
    cards->setColumnMinimumWidth(1, 100);

    m_against = label("against");
    m_against->hide();
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(14, 4, 12, 16);
    column->setSpacing(6);
    column->addWidget(m_against);
    column->addLayout(cards);
    column->addSpacing(8);
    for (QWidget* line : {m_spanSection, m_spanTitle, m_spanText, m_idleSection, m_idleTitle, m_idleText, m_rankSection,
                          m_rankTitle, m_coordinates, m_place, m_alike})
        column->addWidget(line);
    column->addLayout(m_groups);
    column->addSpacing(8);
    column->addWidget(m_parameters);
    column->addStretch();
    setWidget(page);
    m_maskNote = new MaskNote(viewport());
    setSpan(nullptr, std::nullopt);
    setIdle(std::nullopt);
}

} // namespace app
