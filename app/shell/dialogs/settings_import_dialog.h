// Settings of another framework before they are opened as a scenario: what the files do not say is asked for, and what became of
// each setting stands in a table.
#pragma once

#include "app/session/settings_import.h"

#include <QDialog>

#include <map>
#include <string>

class QComboBox;
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
    bool take(const std::map<std::string, std::string>& values); ///< by pointer; false: they cannot be
    void showReasons();
    void fillFilter();
    void filterChanged();
    void showResult();

    struct Field {
        QWidget* input;
        QLabel* why;        ///< below it
        std::string wanted; ///< what stands in it, once somebody has changed it
        QString refused;    ///< why what stands in it cannot be: while it does, nothing opens
    };

    SettingsImport m_import;
    std::map<std::string, Field> m_fields; ///< by pointer
    QLabel *m_result, *m_problems;
    QPushButton* m_open;
    QComboBox* m_filter;
    SettingsNotes* m_notes;
};

} // namespace app
