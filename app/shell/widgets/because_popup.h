// Where a number comes from: its formula, the formula with the values in it, what each of them is (down to the shapes of the
// model), its convention and source. Opens beside the number, closes with Esc or a click elsewhere.
#pragma once

#include "app/canvas/canvas.h"
#include "app/session/worker.h"
#include "app/step/shown_step.h"
#include "app/views/common/because.h"
#include "sim/analysis/explain/explain.h"

#include <QDialog>

#include <functional>
#include <optional>
#include <vector>

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace app {

/// What can be asked about, and what it is called where several are a click away from each other.
struct BecauseSubject {
    QString choice;
    std::function<sim::Explanation()> explain;
    std::function<std::string()> further{}; ///< words behind its convention that take longer; on another thread
};
/// The numbers of the details. Memory is of the rank, or of the fullest where none is given.
std::vector<BecauseSubject> becauseOfMetrics(const SimulationPtr&, const std::vector<sim::MetricId>&, std::optional<int> rank);

/// The numbers of a picture.
std::vector<BecauseSubject> becauseSubjects(const Becauses&);

class BecausePopup : public QDialog {
    Q_OBJECT
public:
    /// The first of the numbers is shown, the others are a click away. Deletes itself when closed.
    explicit BecausePopup(std::vector<BecauseSubject>, QWidget* parent = nullptr);
    /// Beside the part of the widget that shows the number, on the screen.
    void openBeside(const QWidget&, QRect number);
    void openBeside(const QWidget& number) { openBeside(number, number.rect()); }
    /// No larger than that: terms scroll first, then the whole.
    void fitInto(QSize room);
    void choose(std::size_t subject);
    const sim::Explanation& shown() const { return m_shown; }
    /// As shown: formula, line with values, terms.
    QString text() const;

Q_SIGNALS:
    void showRequested(const sim::ShowHint&);

private:
    void askFurther(const std::function<std::string()>&);
    void addTerms(QTreeWidgetItem* parent, const sim::Explanation&);
    int wantedWidth() const;
    void fit();

    const std::vector<BecauseSubject> m_subjects;
    sim::Explanation m_shown;
    std::vector<QPushButton*> m_choices; ///< by number; empty if there is only one
    QSize m_room;
    QWidget* m_page; ///< all that is in it
    QLabel *m_name, *m_value, *m_formula, *m_numbers, *m_convention, *m_source;
    QTreeWidget* m_terms;
    QPushButton* m_show;
    Worker m_worker; ///< last: ends before what it uses
};

/// Beside the number in a picture that was asked about. `show`: who shows where to look; nobody: it is not offered.
void openBecause(QWidget& picture, const Becauses&, Rect at, std::function<void(const sim::ShowHint&)> show = {});

} // namespace app
