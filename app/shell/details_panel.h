// The numbers of the step, each with its convention and how it moved, and below them the rank under the pointer.
#pragma once

#include "app/shell/metric_card.h"
#include "app/shell/stacked_bar.h"
#include "app/views/selection.h"
#include "sim/simulation.h"

#include <QScrollArea>

#include <memory>
#include <optional>

class QGridLayout;
class QLabel;

namespace app {

class DetailsPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit DetailsPanel(QWidget* parent = nullptr);
    /// `before`: the numbers to compare with; nothing right after opening a file.
    void setSimulation(std::shared_ptr<const sim::Simulation>, const std::optional<sim::Metrics>& before);
    void setRank(std::optional<int>);
    /// What the pointer is over in the timeline, else what was clicked there.
    void setSpan(const std::shared_ptr<const sim::Trace>&, std::optional<SpanRef>);
    void setTheme(const Theme&);
    /// As shown, for tests.
    QString rankText() const;
    QString spanText() const;

private:
    void showMetrics(const std::optional<sim::Metrics>& before);
    void showRank();
    void showGroups(int rank);

    std::shared_ptr<const sim::Simulation> m_simulation;
    std::optional<int> m_rank;
    const Theme* m_theme;
    MetricCard *m_stepTime, *m_tokens, *m_mfu, *m_bubble, *m_parameters, *m_exposed, *m_memory;
    StackedBar *m_exposedBar, *m_memoryBar, *m_rankMemory;
    QLabel *m_spanSection, *m_spanTitle, *m_spanText;
    QLabel *m_rankTitle, *m_coordinates, *m_place, *m_alike, *m_rankMemoryTitle;
    QGridLayout* m_groups;
};

} // namespace app
