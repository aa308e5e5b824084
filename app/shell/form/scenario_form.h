// The scenario as a form: a row for every key of scenario_keys.h. A row's choice edits the session's document; what the document
// says, its problems and how it differs from its file come back to the rows.
#pragma once

#include "app/session/presets.h"
#include "app/session/session.h"
#include "app/shell/form/form_parts.h"
#include "app/shell/form/number_row.h"

#include <QWidget>

#include <functional>
#include <map>
#include <string>
#include <vector>

class QCheckBox;
class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;
class QScrollArea;
class QToolButton;
class QVBoxLayout;

namespace app {

class Desk;
class FoldSection;
class LinesArea;
struct HelpEntry;

/// What of the settings may be changed; nothing in it: all.
struct FormLimit {
    std::function<bool(const std::string& pointer)> allows;
    QString why; ///< stands above the form, and at each row that may not
    bool may(const std::string& pointer) const { return !allows || allows(pointer); }
};

class ScenarioForm : public QWidget {
    Q_OBJECT
public:
    explicit ScenarioForm(Session&, QWidget* parent = nullptr);
    /// From now on the legal values of the desk whose session this is. Ends before it.
    void follow(Desk&);
    void setLegalValues(const LegalValueTable&);
    void forgetLegalValues(); ///< they were of another scenario
    LayoutRule layoutRule() const;
    FormRow* rowAt(std::string_view pointer) const; ///< nullptr: there is none
    /// Of a key that is a number.
    NumberRow* row(std::string_view pointer) const { return qobject_cast<NumberRow*>(rowAt(pointer)); }
    /// What is shown in red or amber at the control of a pointer; for tests.
    QString problemAt(const std::string& pointer) const;
    /// What stands at the form's foot about the row in focus.
    QString helpText() const;

    /// Common what-ifs that can be done now; the palette lists them, too.
    std::vector<Preset> whatIfs() const;
    void perform(const Preset&);
    /// What is typed into the row in focus and not taken yet becomes the scenario's.
    void takeTyped();
    /// Leaves the rows that match; all of them for nothing.
    void search(const QString&);
    void focusSearch();
    /// Rows that may be changed are marked, and the first of them is in sight; the others are grey.
    void limitTo(FormLimit);
    /// Leads to the row of a setting, or to the first below it: in sight, and with the focus.
    void lead(std::string_view pointer);
    /// Which parts the user has folded or unfolded against their custom; for the settings.
    QStringList folds() const;
    void setFolds(const QStringList&);

    /// Which glossary entry a row is about; nullptr: none. It must outlive the form.
    void setTerms(std::function<const HelpEntry*(const FormRow&)>);
    /// What people call the setting of a pointer besides its label; it must outlive the form.
    void setOtherNames(std::function<QStringList(std::string_view pointer)>);
    QString focusedTerm() const; ///< of the row in focus; empty: it is none

Q_SIGNALS:
    void termRequested(const QString& title);
    void layoutRuleChanged();
    void chooseScheduleRequested();
    /// Of a setting that can be planned, "layout.tp": the rest around it as it is, or it alone (`frees`) around the rest.
    void planRequested(const QString& pointer, bool frees);

protected:
    void resizeEvent(QResizeEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    FormRow* focusedRow() const; ///< nullptr: none
    void fitHelp();
    /// A title inside a fold, and the rows below it.
    struct Group {
        QWidget* heading;
        std::vector<FormRow*> rows;
        QString name; ///< of a perturbation, what it is: "Jitter"
    };
    /// Rows of a list's entries, made anew when there are others.
    struct ListPart {
        const FormPart* part;
        QVBoxLayout* column;
        QString shape; ///< what the rows were made for
        QLabel* rest = nullptr;
        QWidget* content = nullptr;
    };

    void build();
    void addPart(const FormPart&, QVBoxLayout*);
    void tellTerm(FormRow*) const;
    FormRow* addRow(const ScenarioKey&, const std::string& pointer, QVBoxLayout*);
    void addExtras(const ScenarioKey&, QVBoxLayout*);
    QToolButton* addBackToBase(const char* block, QVBoxLayout*);
    std::vector<KeyOption> perturbationKinds() const;
    void addPerturbationMenu(QVBoxLayout*);
    QWidget* addHeading(const QString& text, QVBoxLayout*, int perturbation = -1);
    void fillWhatIf();
    bool isAllowed(const Edit&) const;

    void refresh();
    void refreshLists(const ScenarioState&);
    void rebuild(ListPart&);
    void refreshWords(const ScenarioState&);
    void refreshProblems();
    void refreshVisibility();
    void refreshMarks();
    void refreshLimit();
    void scrollTo(FormRow*);
    void scrollToAllowed();
    void placeRows();
    void takeFile();
    bool isRelevant(const FormRow&) const;
    ScenarioState state() const { return {m_session.document(), m_session.shownValues(), m_session.catalogue()}; }
    void choose(FormRow*, const QString& json, int gesture);
    void judgeRefused();
    void followHistory();
    bool isStillRefused(const ScenarioState&, const FormRow&) const;
    void resetRow(const FormRow*);

    Session& m_session;
    std::optional<ScenarioState> m_file; ///< as it is saved
    QString m_path;                      ///< where
    QLineEdit* m_search;
    QToolButton* m_whatIf;
    QMenu* m_whatIfMenu;
    QScrollArea* m_area;
    QLabel *m_general, *m_nothingFound; ///< problems of no control here; a search in vain
    QLabel* m_limited;                  ///< why not all may be changed
    FormLimit m_limit;
    bool m_scrollsWhenShown = false; ///< to what the limit leaves
    QWidget* m_helpPlace;            ///< with the room around it, so that the field shows whole lines
    LinesArea* m_helpArea;           ///< always in its place, so that nothing moves when there is something to say
    QLabel* m_help;
    std::map<std::string, FormRow*, std::less<>> m_rows;
    std::vector<FormRow*> m_order; ///< from top to bottom
    std::vector<Group> m_groups;
    std::vector<std::pair<const FormPart*, FoldSection*>> m_folds;
    std::vector<std::pair<const char*, QToolButton*>> m_backs; ///< to what a block is based on
    std::vector<ListPart> m_lists;
    std::function<const HelpEntry*(const FormRow&)> m_termOf;
    std::function<QStringList(std::string_view)> m_otherNamesOf;
    LegalValueTable m_legal;
    std::map<std::string, QString> m_shownProblems;
    quint64 m_place = 0, m_newestPlace = 0; ///< in the history: where the rows are of, and the newest of all
    std::int64_t m_gpusOfRefused = 0;       ///< of the cluster that numbers were refused on, and still are
    QCheckBox* m_keepGpus;
    QPushButton* m_compareSchedules;
    QToolButton* m_addPerturbation;
    QStringList m_addable; ///< what it adds, in words somebody may look for
};

} // namespace app
