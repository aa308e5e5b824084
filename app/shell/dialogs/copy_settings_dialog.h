// The scenario's layout as the settings of another framework: seen, copied or saved.
#pragma once

#include "app/session/edit.h"
#include "app/session/worker.h"
#include "sim/frameworks/frameworks.h"
#include "sim/scenario/scenario.h"

#include <QDialog>

class QLabel;
class QListWidget;
class QPlainTextEdit;
class QPushButton;
class QVBoxLayout;

namespace app {

class CopySettingsDialog : public QDialog {
    Q_OBJECT
public:
    /// The document and what it means; `fileName` is without its ending.
    CopySettingsDialog(const sim::ScenarioDocument&, const sim::Scenario&, const sim::Catalogue&, const QString& fileName,
                       QWidget* parent = nullptr);
    /// Another state of it, after a remedy.
    void setScenario(const sim::ScenarioDocument&, const sim::Scenario&);
    void show(std::string_view kind); ///< by its id
    QString text() const;             ///< of the kind that is chosen; empty where the framework would refuse the layout
    void copy();

Q_SIGNALS:
    /// One of the edits was chosen with which the framework would not refuse the layout.
    void remedyChosen(const app::Edit& edit);
    void copied(const QString& name);
    void saved(const QString& path);

private:
    void kindChanged();
    void chooseFile();
    void findRemedies();
    void offer(const std::vector<Edit>& remedies);
    const sim::FrameworkKind& kind() const;

    sim::ScenarioDocument m_document;
    sim::Scenario m_scenario;
    const sim::Catalogue m_catalogue;
    const QString m_fileName;
    QListWidget* m_kinds;
    QPlainTextEdit* m_text;
    QLabel *m_notes, *m_failure;
    QVBoxLayout* m_remedies; ///< a button an edit
    QString m_changed;       ///< by a remedy
    QPushButton *m_copy, *m_save;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
