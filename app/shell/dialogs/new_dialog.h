// A new scenario in three clicks: the model, the GPUs, the goal.
#pragma once

#include "app/session/new_scenario.h"
#include "app/session/worker.h"

#include <QDialog>

class QComboBox;
class QLabel;
class QListWidget;
class QProgressBar;

namespace app {

class NewDialog : public QDialog {
    Q_OBJECT
public:
    explicit NewDialog(const sim::Catalogue&, QWidget* parent = nullptr);

Q_SIGNALS:
    void made(const sim::ScenarioDocument& document);

private:
    void fillGpus();
    void make();
    void setBusy(bool);

    const sim::Catalogue m_catalogue;
    QListWidget *m_models, *m_gpus, *m_goals;
    QComboBox* m_clusters;
    QLabel* m_status;
    QProgressBar* m_busy; ///< moves while layouts are tried
    Worker m_worker;      ///< last: ends before what it uses
};

} // namespace app
