// The scenario as a form: every control edits the session's document, and shows what the document's problems say about it.
#pragma once

#include "app/session/session.h"
#include "app/shell/number_row.h"

#include <QScrollArea>

#include <map>
#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QVBoxLayout;

namespace app {

class ScenarioForm : public QScrollArea {
    Q_OBJECT
public:
    explicit ScenarioForm(Session&, QWidget* parent = nullptr);
    void setLegalValues(const LegalValueTable&);
    LayoutRule layoutRule() const;
    NumberRow* row(Control control) const { return m_rows.at(control); }
    /// What is shown in red or amber at the control of a pointer; for tests.
    QString problemAt(const std::string& pointer) const;

signals:
    void layoutRuleChanged();
    void chooseScheduleRequested();

private:
    struct Choice {
        std::string pointer;
        QComboBox* box;
        QLabel* problem;
    };
    void addSection(const QString& title);
    NumberRow* addNumber(Control, const QString& label, const QString& what);
    Choice& addChoice(const std::string& pointer, const QString& label, const QString& what);
    QCheckBox* addCheck(const QString& label, const QString& what);
    void build();
    void refresh();
    void refreshChoices(const sim::Scenario&);
    void refreshProblems();
    void chooseKey(const std::string& pointer, const std::string& json, std::string_view name, const std::string& before,
                   const QString& after);

    Session& m_session;
    QVBoxLayout* m_column = nullptr;
    QLabel* m_general = nullptr; ///< problems of no control here
    std::map<Control, NumberRow*> m_rows;
    std::map<std::string, Choice> m_choices;
    std::map<std::string, QString> m_shownProblems;
    QLabel *m_modelNote = nullptr, *m_clusterNote = nullptr, *m_scheduleNote = nullptr;
    QCheckBox *m_keepGpus = nullptr, *m_sequenceParallel = nullptr;
};

/// The schedule families that can be made, for choosers: titles with their character as tooltip, kinds as data.
void fillScheduleChooser(QComboBox&);
/// Selects the item with this data; adds one where the document says something the list has not.
void selectData(QComboBox&, const QString& data, const QString& nameIfMissing);

} // namespace app
