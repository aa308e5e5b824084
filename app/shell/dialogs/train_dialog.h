// Before a training starts: on what, how long, how exactly; what that takes of this machine, and what would fit where it is too
// much.
#pragma once

#include "app/session/make_step.h"
#include "app/session/training_plan.h"
#include "app/session/worker.h"

#include <QDialog>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSpinBox;

namespace app {

class TrainDialog : public QDialog {
    Q_OBJECT
public:
    /// Of the step that is on screen.
    TrainDialog(SimulationPtr, const sim::Catalogue&, const Machine&, QWidget* parent = nullptr,
                SimulateFunction = sim::simulate);
    ~TrainDialog() override;
    const TrainingPlan& plan() const { return m_plan; }
    bool isPreparing() const { return m_isPreparing; } ///< a tiny model: neither it nor what was there can be started yet

Q_SIGNALS:
    void chosen(const sim::Scenario& scenario);

private:
    sim::Scenario scenario() const;
    void showDevice();
    void showPlan();
    void shrink();
    void showShrunk(const SimulationPtr&);
    void showFailure(const QString& why);

    const sim::Catalogue& m_catalogue;
    const SimulateFunction m_simulate;
    const Machine m_machine;
    SimulationPtr m_simulation;
    TrainingPlan m_plan;
    QLabel *m_name, *m_layout, *m_text, *m_problem, *m_deviceNote;
    QComboBox *m_device, *m_dtype;
    QSpinBox* m_steps;
    QDoubleSpinBox* m_rate;
    QPushButton *m_shrink, *m_start;
    bool m_isPreparing = false;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
