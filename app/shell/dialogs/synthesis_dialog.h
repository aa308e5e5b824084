// Looking for a schedule: how long its step would be, how near to the best possible, what it is made from; while the search runs.
#pragma once

#include "app/session/synthesis_run.h"
#include "app/views/common/theme.h"
#include "sim/scenario/document.h"

#include <QDialog>

#include <memory>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QTableWidget;

namespace app {

class SynthesisDialog : public QDialog {
    Q_OBJECT
public:
    /// `now`: of the document; what is found is compared with it. The search starts when the dialog opens.
    SynthesisDialog(const sim::ScenarioDocument&, const sim::Catalogue&, std::shared_ptr<const sim::Simulation> now, const Theme&,
                    QWidget* parent = nullptr);
    ~SynthesisDialog() override;
    const std::optional<SynthesisState>& state() const { return m_state; }

Q_SIGNALS:
    /// The schedule to keep as the scenario's own.
    void chosen(const sim::Schedule& schedule);

private:
    class Sketch;

    void restart();
    void show(const SynthesisState&);
    void showFailure(const QString& message);
    void fillTable();
    void pauseOrResume();

    const sim::ScenarioDocument m_document;
    const sim::Catalogue& m_catalogue;
    const std::shared_ptr<const sim::Simulation> m_now;
    const Theme& m_theme;
    std::optional<SynthesisState> m_state;
    QComboBox* m_chunks;
    QDoubleSpinBox* m_memory;
    QPushButton *m_pause, *m_use;
    QProgressBar* m_progress;
    QLabel *m_step, *m_span, *m_idle, *m_gap, *m_madeFrom, *m_message;
    Sketch* m_sketch;
    QTableWidget* m_table;
    std::unique_ptr<SynthesisRun> m_run; ///< last: ends before what it shows on
};

} // namespace app
