#include "app/shell/presentation/comparison_talk.h"

#include "app/shell/widgets/format.h"
#include "app/step/selection.h"
#include "app/views/common/labels.h"
#include "app/views/compare/waterfall.h"
#include "sim/simulate/purpose_name.h"

#include <QObject>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

namespace app {
namespace {

/// Another scenario than A, and what came of it.
struct Other {
    QChar letter;
    QString name;
    SimulationPtr simulation;
    sim::Comparison toA;
};

/// "C takes 86.6 ms less than A, −11.3 %, most of it bubble: −86.1 ms. Its peak is 21.4 GiB, A's 33.8 GiB."
QString saidOf(const Other& other, const SimulationPtr& a)
{
    const sim::Comparison& c = other.toA;
    const auto nsA = static_cast<double>(c.stepNs.a), nsB = static_cast<double>(c.stepNs.b);
    QString text;
    if (durationText(nsA) == durationText(nsB)) {
        text = QObject::tr("%1 takes as long as A.").arg(other.letter);
    } else {
        const QString size = QString::fromStdString(durationText(std::abs(nsB - nsA)));
        text = (nsB > nsA ? QObject::tr("%1 takes %2 more than A, %3") : QObject::tr("%1 takes %2 less than A, %3"))
                   .arg(other.letter)
                   .arg(size, QString::fromStdString(ratioText(nsA, nsB)));
        const auto most = *std::ranges::max_element(sim::kStepParts, {}, [&](sim::StepPart p) { return std::abs(c.deltaNs(p)); });
        const std::array<const sim::Simulation*, 2> both{a.get(), other.simulation.get()};
        text += QObject::tr(", most of it %1: %2.")
                    .arg(QString::fromStdString(sim::partName(most, sim::dataTransfersOf(both))),
                         QString::fromStdString(signedDurationText(static_cast<double>(c.deltaNs(most)))));
    }
    const auto peak = [](std::int64_t bytes) { return memoryQuantity(gib(bytes)).text(); };
    const QString peakA = peak(c.memory.a.total()), peakB = peak(c.memory.b.total());
    return text + QLatin1Char(' ') +
           (peakA == peakB ? QObject::tr("Both need %1 at their peak.").arg(peakA)
                           : QObject::tr("Its peak is %1, A's %2.").arg(peakB, peakA));
}

class ComparisonTalk final : public Talk {
public:
    ComparisonTalk(const CompareView& of, const Theme& theme)
        : m_steps(of.steps()), m_nameOfA(QString::fromStdString(of.contents().a.name)), m_whole(m_selection, theme), m_pair(theme)
    {
        CompareView::Contents contents = of.contents();
        if (!of.isSecondLeftOut())
            m_others.push_back({QLatin1Char('B'), QString::fromStdString(contents.b.name), contents.b.simulation,
                                *contents.prepared.comparison});
        char16_t letter = u'C';
        for (const CompareView::Further& further : contents.further)
            m_others.push_back({letter++, QString::fromStdString(further.side.name), further.side.simulation, further.toA});
        m_a = contents.a.simulation;
        m_whole.setCausesOnly(true);
        m_whole.setContents(std::move(contents));
    }
    int size() const override { return 1 + static_cast<int>(m_others.size()); }
    Slide goTo(int index) override
    {
        if (index == 0)
            return {.heading = headingOfAll(), .caption = captionOfAll(), .pictures = {}, .own = &m_whole};
        const auto place = static_cast<std::size_t>(index);
        m_pair.setSteps({m_steps[0], m_steps[place]});
        return {.heading = headingOf(m_others[place - 1]),
                .caption = saidOf(m_others[place - 1], m_a),
                .pictures = {},
                .own = &m_pair};
    }
    QString upNext(int index) const override
    {
        return index + 1 < size() ? headingOf(m_others[static_cast<std::size_t>(index)]) : QString();
    }

private:
    QString headingOf(const Other& other) const
    {
        return QObject::tr("A %1  ·  %2 %3").arg(m_nameOfA).arg(other.letter).arg(other.name);
    }
    QString headingOfAll() const
    {
        return m_others.size() == 1 ? headingOf(m_others.front()) : QObject::tr("%1 scenarios compared").arg(m_steps.size());
    }
    /// Of several, who is who: the picture has the letters.
    QString captionOfAll() const
    {
        if (m_others.size() == 1)
            return saidOf(m_others.front(), m_a);
        QStringList names{QStringLiteral("A %1").arg(m_nameOfA)};
        for (const Other& other : m_others)
            names << QStringLiteral("%1 %2").arg(other.letter).arg(other.name);
        return names.join(QStringLiteral("  ·  "));
    }

    std::vector<StackedTimelinesView::Step> m_steps;
    QString m_nameOfA;
    SimulationPtr m_a;
    std::vector<Other> m_others; ///< in the order of the steps after A's
    Selection m_selection;
    CompareView m_whole;
    StackedTimelinesView m_pair;
};

} // namespace

std::unique_ptr<Talk> talkOfComparison(const CompareView& of, const Theme& theme)
{
    return of.comparison() ? std::make_unique<ComparisonTalk>(of, theme) : nullptr;
}

} // namespace app
