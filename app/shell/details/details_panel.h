// The numbers of the step, each with its convention and how it moved, and the rank and span that are pointed at.
#pragma once

#include "app/session/desk.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/stacked_bar.h"
#include "app/step/selection.h"
#include "sim/analysis/explain/explain.h"
#include "sim/analysis/goodput.h"
#include "sim/simulate/simulation.h"

#include <QScrollArea>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

class QGridLayout;
class QLabel;
class QToolButton;

namespace app {

struct BecauseSubject;
class MaskNote;
class RealityCard;

class DetailsPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit DetailsPanel(QWidget* parent = nullptr);
    /// From now on the step, the rank and the span of the desk. Ends before it.
    void follow(Desk&);
    /// `before`: the numbers to compare with; nothing right after opening a file.
    /// `goodput`: what failures leave of it. `runBefore`: the whole run that `before` is of.
    void setSimulation(std::shared_ptr<const sim::Simulation>, const std::optional<sim::Metrics>& before,
                       const std::optional<sim::Goodput>& goodput = {}, const std::optional<sim::WholeRun>& runBefore = {});
    void setRank(std::optional<int>);
    /// What the pointer is over in the timeline, else what was clicked there.
    void setSpan(const std::shared_ptr<const sim::Trace>&, std::optional<SpanRef>);
    void setIdle(const std::optional<IdleTime>&); ///< that was clicked there
    void setTheme(const Theme&);
    /// Says nothing but `why`, as one of its numbers is being asked for.
    void setMasked(bool, const QString& why);
    void setGpuHourPrice(double); ///< 0: not told
    void scrollToRank();
    /// As shown, for tests.
    QString rankText() const;
    QString spanText() const;
    QString idleText() const;
    const RealityCard& reality() const { return *m_reality; }

Q_SIGNALS:
    /// What an explanation speaks of.
    void showRequested(const sim::ShowHint&);
    void priceRequested(); ///< of a GPU hour: another is to be told

private:
    /// The card's number opens the explanation of the first of these, and the others beside it.
    void explain(MetricCard*, std::vector<sim::MetricId>);
    /// The card's number opens what `subjects` are then.
    void openBecause(MetricCard*, std::function<std::vector<BecauseSubject>()> subjects);
    void showMetrics();
    QString misfit() const;
    void showGoodput();
    void showRun();
    sim::WholeRun shownRun() const; ///< with its failures
    void showExposed();
    void showMemory();
    bool isRankKnown() const;
    void showRank();
    void showGroups(int rank);

    std::shared_ptr<const sim::Simulation> m_simulation;
    std::optional<sim::Metrics> m_before;
    std::optional<sim::WholeRun> m_runBefore;
    bool m_isMasked = false;
    MaskNote* m_maskNote;
    std::optional<sim::Goodput> m_failing; ///< of a scenario with failures
    std::optional<int> m_rank, m_selectedRank;
    int m_scrolledFrom = 0; ///< where the numbers stood before a rank was selected
    const Theme* m_theme;
    MetricCard *m_stepTime, *m_tokens, *m_mfu, *m_bubble, *m_goodput, *m_run, *m_parameters, *m_exposed, *m_memory;
    RealityCard* m_reality;
    QToolButton* m_price; ///< of a GPU hour
    double m_gpuHourPrice = 0;
    StackedBar *m_exposedBar, *m_memoryBar;
    std::optional<QString> m_baselineName; ///< that changes are told against; nothing: the step before
    QLabel* m_against = nullptr;
    QLabel *m_spanSection, *m_spanTitle, *m_spanText;
    QLabel *m_idleSection, *m_idleTitle, *m_idleText;
    QLabel *m_rankSection, *m_rankTitle, *m_coordinates, *m_place, *m_alike;
    QGridLayout* m_groups;
};

} // namespace app
