// Settings of another framework before they are opened as a scenario: what the files do not say is asked for, and what became of
// each setting stands in a table.
#pragma once

#include "app/session/settings_import.h"

#include <QDialog>

class QComboBox;
class QGridLayout;
class QLabel;
class QPushButton;

namespace app {

class SettingsNotes;

class SettingsImportDialog : public QDialog {
    Q_OBJECT
public:
    explicit SettingsImportDialog(SettingsImport, QWidget* parent = nullptr);
    const SettingsImport& settings() const { return m_import; }

Q_SIGNALS:
    void chosen(const sim::ScenarioDocument& document);

private:
    QWidget* questions();
    QWidget* inputOf(const SettingsQuestion&);
    void answer(const std::string& pointer, const std::string& value);
    void fillFilter();
    void filterChanged();
    void showResult(const QString& failure = {});

    SettingsImport m_import;
    QLabel *m_result, *m_problems;
    QComboBox* m_filter;
    SettingsNotes* m_notes;
};

} // namespace app
