// What the panel says of the rank, the span and the pause that are pointed at.
#include "app/shell/details/details_panel.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/step/class_names.h"
#include "sim/mesh/spoken_group.h"
#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <QGridLayout>
#include <QLabel>
#include <QStringList>

namespace app {
namespace {

/// "0 1 2 3 … 15": the first few and the last.
QString membersText(const sim::Mesh& mesh, sim::ProcessGroup kind, int group, int rank)
{
    constexpr int kShown = 4;
    const int size = mesh.groupSize(kind);
    QStringList parts;
    const auto add = [&](int index) {
        const int member = mesh.member(kind, group, index);
        parts << (member == rank ? QStringLiteral("<b>%1</b>").arg(separated(member)) : separated(member));
    };
    if (size <= kShown + 2) {
        for (int i = 0; i < size; ++i)
            add(i);
    } else {
        for (int i = 0; i < kShown; ++i)
            add(i);
        parts << QStringLiteral("…");
        add(size - 1);
    }
    return parts.join(QLatin1Char(' '));
}

/// What a span is, when, and how fast its work went.
QStringList spanLines(const sim::Trace& trace, const ClassNames& names, SpanRef span)
{
    const sim::Track& track = trace.tracks[span.track];
    const sim::SpanKind& kind = trace.kinds[track.kind[span.span]];
    const double seconds = static_cast<double>(track.durationNs[span.span]) * 1e-9;
    QStringList what{QString::fromStdString(names[kind.opClass])};
    if (kind.stage >= 0)
        what << QObject::tr("stage %1").arg(kind.stage);
    if (kind.layer >= 0)
        what << QObject::tr("layer %1").arg(kind.layer);
    if (track.microbatch[span.span] >= 0)
        what << QObject::tr("micro-batch %1").arg(QString::fromStdString(trace.microbatchText(track.microbatch[span.span])));
    QStringList lines{what.join(QStringLiteral(" · ")),
                      QObject::tr("%1, from %2 on")
                          .arg(durationQuantity(seconds).text(),
                               durationQuantity(static_cast<double>(track.startNs[span.span]) * 1e-9).text())};
    if (kind.flops > 0 && seconds > 0)
        lines << QObject::tr("%1 GFLOP at %2").arg(shortNumber(kind.flops * 1e-9), flopRateQuantity(kind.flops / seconds).text());
    if (kind.bytes > 0) {
        QString line = memoryQuantity(gib(kind.bytes)).text();
        if (seconds > 0)
            line += QObject::tr(" at %1 GB/s").arg(shortNumber(static_cast<double>(kind.bytes) * 1e-9 / seconds));
        if (!kind.group.empty())
            line += QObject::tr(" in group %1").arg(QString::fromStdString(kind.group));
        lines << line;
    }
    return lines;
}

} // namespace

void DetailsPanel::setRank(std::optional<int> rank)
{
    if (rank == m_rank)
        return;
    m_rank = rank;
    showRank();
}

bool DetailsPanel::isRankKnown() const
{
    return m_simulation && m_rank && *m_rank < m_simulation->mesh().worldSize();
}

void DetailsPanel::scrollToRank()
{
    ensureWidgetVisible(m_alike->isVisible() ? m_alike : m_place, 0, 120);
}

void DetailsPanel::setSpan(const std::shared_ptr<const sim::Trace>& trace, std::optional<SpanRef> span)
{
    const bool known = trace && span && span->track < trace->tracks.size() && span->span < trace->tracks[span->track].size();
    for (QLabel* line : {m_spanSection, m_spanTitle, m_spanText})
        line->setVisible(known);
    if (!known) {
        m_spanTitle->clear();
        m_spanText->clear();
        return;
    }
    m_spanTitle->setText(spanName(*trace, *span));
    m_spanText->setText(spanLines(*trace, ClassNames(*trace, m_simulation.get()), *span).join(QLatin1Char('\n')));
}

void DetailsPanel::setIdle(const std::optional<IdleTime>& idle)
{
    for (QLabel* line : {m_idleSection, m_idleTitle, m_idleText})
        line->setVisible(idle.has_value());
    if (!idle) {
        m_idleTitle->clear();
        m_idleText->clear();
        return;
    }
    const auto seconds = [](std::int64_t ns) { return durationQuantity(static_cast<double>(ns) * 1e-9).text(); };
    m_idleTitle->setText(
        tr("Rank %1, from %2 to %3").arg(separated(idle->rank), seconds(idle->time.beginNs), seconds(idle->time.endNs)));
    m_idleText->setText(QString::fromStdString(idle->why));
}

void DetailsPanel::showRank()
{
    showMemory();
    const bool known = isRankKnown();
    for (QLabel* line : {m_rankTitle, m_place, m_alike})
        line->setVisible(known);
    while (QLayoutItem* item = m_groups->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    if (!known) {
        m_coordinates->setText(tr("Point at a rank to see its place, its groups and what fills its memory."));
        return;
    }
    const int rank = *m_rank;
    const sim::Mesh& mesh = m_simulation->mesh();
    const sim::Placement& placement = m_simulation->placement();
    const sim::Coordinates c = mesh.coordinates(rank);
    const sim::Scenario& scenario = m_simulation->scenario();
    m_rankTitle->setText(tr("Rank %1").arg(separated(rank)));
    QString coordinates = QStringLiteral("tp %1 · cp %2 · pp %3 · dp %4").arg(c.tp).arg(c.cp).arg(c.pp).arg(c.dp);
    if (scenario.layout.ep > 1)
        coordinates += QStringLiteral(" · ep %1").arg(c.ep);
    m_coordinates->setText(coordinates);

    QStringList stages;
    for (const int stage : m_simulation->schedule().stagesOfRank(c.pp))
        stages << QString::number(stage);
    m_place->setText(tr("Node %1, GPU %2 · stage %3")
                         .arg(separated(placement.node(rank)))
                         .arg(placement.gpuOfNode(rank))
                         .arg(stages.join(QStringLiteral(", "))));
    const int classIndex = m_simulation->classOf(rank);
    const int alike = m_simulation->classSize(classIndex);
    m_alike->setText(alike == 2  ? tr("Behaves exactly as 1 other")
                     : alike > 2 ? tr("Behaves exactly as %1 others").arg(separated(alike - 1))
                                 : QString());
    m_alike->setVisible(alike > 1);

    showGroups(rank);
}

void DetailsPanel::showGroups(int rank)
{
    const sim::Mesh& mesh = m_simulation->mesh();
    using enum sim::ProcessGroup;
    int line = 0;
    // Who holds the same experts, where that is not who holds the same of everything.
    const auto membersOf = [&](sim::ProcessGroup kind) {
        const int group = mesh.groupOf(kind, rank);
        return group < 0 ? std::vector{rank} : mesh.members(kind, group);
    };
    const bool hasExpertsElsewhere = m_simulation->scenario().model.numExperts > 0 && membersOf(expt_dp) != membersOf(dp_cp);
    for (const sim::ProcessGroup kind : {tp, cp, pp, dp, dp_cp, ep, expt_dp}) {
        const int group = mesh.groupOf(kind, rank);
        const int size = group < 0 ? 1 : mesh.groupSize(kind);
        if (size < 2 || (kind == dp_cp && (mesh.groupSize(cp) < 2 || mesh.groupSize(dp) < 2)) ||
            (kind == expt_dp && !hasExpertsElsewhere))
            continue;
        const std::string name = sim::spokenGroup(sim::processGroupName(kind), m_simulation->scenario().layout);
        const auto purpose = sim::processGroupPurpose(kind);
        auto* nameLabel = new QLabel(QString::fromStdString(name));
        auto* sizeLabel = new QLabel(separated(size));
        auto* members = new QLabel(membersText(mesh, kind, group, rank));
        setRole(nameLabel, "muted");
        setRole(sizeLabel, "muted");
        sizeLabel->setAlignment(Qt::AlignRight);
        members->setTextFormat(Qt::RichText);
        members->setWordWrap(true);
        for (QLabel* l : {nameLabel, sizeLabel, members})
            l->setToolTip(QString::fromUtf8(purpose.data(), static_cast<qsizetype>(purpose.size())));
        m_groups->addWidget(nameLabel, line, 0, Qt::AlignTop);
        m_groups->addWidget(sizeLabel, line, 1, Qt::AlignTop);
        m_groups->addWidget(members, line, 2);
        ++line;
    }
}

QString DetailsPanel::spanText() const
{
    return m_spanTitle->text() + QLatin1Char('\n') + m_spanText->text();
}

QString DetailsPanel::idleText() const
{
    return m_idleTitle->text() + QLatin1Char('\n') + m_idleText->text();
}

QString DetailsPanel::rankText() const
{
    return QStringList{m_rankTitle->text(), m_coordinates->text(), m_place->text(), m_memoryBar->summary()}.join(
        QLatin1Char('\n'));
}

} // namespace app
