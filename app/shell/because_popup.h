// Where a number comes from: its formula, the formula with the values in it, what each of them is (down to the shapes of the
// model), its convention and source. Opens beside the number, closes with Esc or a click elsewhere.
#pragma once

#include "app/views/step_view.h"
#include "sim/analysis/explain.h"

#include <QDialog>

#include <optional>
#include <vector>

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace app {

class BecausePopup : public QDialog {
    Q_OBJECT
public:
    /// The first of the numbers is shown, the others are a click away. Deletes itself when closed.
    BecausePopup(SimulationPtr, std::vector<sim::MetricId>, std::optional<int> rank, QWidget* parent = nullptr);
    /// Beside the widget that shows the number, on the screen.
    void openBeside(const QWidget& number);
    void choose(sim::MetricId);
    const sim::Explanation& shown() const { return m_shown; }
    /// As shown: formula, line with values, terms.
    QString text() const;

signals:
    void showRequested(const sim::ShowHint&);

private:
    void addTerms(QTreeWidgetItem* parent, const sim::Explanation&);
    void fitHeight();

    const SimulationPtr m_simulation;
    const std::vector<sim::MetricId> m_ids;
    const std::optional<int> m_rank;
    sim::Explanation m_shown;
    std::vector<QPushButton*> m_choices; ///< by number; empty if there is only one
    QLabel *m_name, *m_value, *m_formula, *m_numbers, *m_convention, *m_source;
    QTreeWidget* m_terms;
    QPushButton* m_show;
};

} // namespace app
