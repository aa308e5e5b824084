// A row of the scenario form: a key's label, its control, whether it was changed, and in words below it what is wrong with it.
// While it has the focus, the form says elsewhere what it means and which values it may have: rows do not move for that.
// What it is told is remembered; label and controls are made when it is built, once somebody may see it: most rows are folded
// away and never seen.
#pragma once

#include "app/session/legal_values.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_keys.h"

#include <QWidget>

#include <functional>

class QHBoxLayout;
class QLabel;
class QToolButton;
class QVBoxLayout;

namespace app {

/// A number that was typed and is not taken, and why not.
struct RefusedNumber {
    double typed = 0;
    std::string why;
    bool operator==(const RefusedNumber&) const = default;
};

/// Widths that make the rows of a form stand below each other.
inline constexpr int kRowGutter = 14, kRowLabel = 96;

class FormRow : public QWidget {
    Q_OBJECT
public:
    /// `what` is the schema's description.
    FormRow(const ScenarioKey& key, std::string pointer, const QString& what, QWidget* parent = nullptr);
    void build(); ///< unless it is built

    const ScenarioKey& key() const { return m_key; }
    const std::string& pointer() const { return m_pointer; }
    const QString& what() const { return m_what; }
    std::optional<double> number() const; ///< in force; nothing where there is none
    /// JSON text of the value in force; nothing where there is none.
    const std::optional<std::string>& json() const { return m_json; }
    void setJson(const std::optional<std::string>& json);
    void setLegalValues(const LegalValues&);
    /// Something was changed, and they are of what was before: none is offered until the next ones come.
    void awaitLegalValues();
    const LegalValues& legalValues() const { return m_legal; }
    void setNote(const QString&);
    /// Whether it may be changed at all: where not, it is grey and says why; where only some may, those are marked.
    void setLimit(bool mayBeChanged, const QString& why);
    bool mayBeChanged() const { return m_whyFixed.isEmpty(); }
    virtual void setProblem(const QString&, bool isError);
    bool hasProblem() const { return !m_problemText.isEmpty(); }
    /// What the file has instead; null where nothing was changed.
    void setFileText(const QString&);
    bool isChanged() const { return !m_fileText.isNull(); }
    /// Every word typed is somewhere in the label or the key; or another of its names has it.
    bool isNamed(const QString& typed) const;
    /// Every word typed is there or in the description.
    bool isDescribed(const QString& typed) const;
    void setOtherNames(const QStringList& names) { m_otherNames = names; }
    /// What the key means, which values it may have, and why not others.
    QString whyText() const;
    bool isWhyShown() const { return m_isExplained; }
    QLabel* problemLabel();
    QToolButton* resetButton();
    QLabel* label();
    QString labelText() const;
    /// The label opens the glossary there; `text` is what the term means. Empty: it is no term.
    void setTerm(const QString& title, const QString& text);
    const QString& term() const { return m_term; }
    /// What is typed and not taken yet is, as if the row lost the focus.
    virtual void takeTyped() {}
    /// A value that was typed is not taken: it stays in its field, with why and what is legal near it.
    virtual void refuse(const RefusedNumber&) {}
    /// What is refused and still in the field.
    virtual std::optional<RefusedNumber> refused() const { return {}; }
    /// What was typed and not taken is given up.
    virtual void leaveTyped() {}
    /// What Tab goes through.
    std::vector<QWidget*> focusOrder();

Q_SIGNALS:
    /// JSON text; null: the key is to be left out. `gesture` is the same for all moves of one slider drag, 0 for a single step.
    void chosen(const QString& json, int gesture);
    void resetRequested();
    void termRequested();
    /// The row has the focus, and this is to be said about it; null: it has lost it.
    void explains(const QString& why);

protected:
    virtual void buildControls() = 0;
    /// The control shows a value, and nobody has chosen anything.
    virtual void present(const std::optional<std::string>& json) = 0;
    virtual void presentLegalValues() {}
    /// As the row would write a value: options by their names, numbers with their thousands.
    virtual QString textOf(const std::string& json) const;
    /// Values by their names where the file's words stand in a sentence.
    virtual QString inItsWords(const QString& sentence) const { return sentence; }
    virtual void focusChanged(bool) {}
    virtual void wrongChanged(bool) {}
    /// The number that the field shows: in force, or what was typed and not taken.
    virtual std::optional<double> shownNumber() const { return number(); }
    void changeEvent(QEvent*) override;
    /// Puts controls on the row's line and takes the label off it if they show it themselves.
    void addControl(QWidget*, int stretch = 0);
    void hideLabel();
    /// The label small above the control, which then has the whole width: for long names.
    void putLabelAbove();
    /// A control that can have the focus: it bears the row's name and description.
    void watch(QWidget*);
    bool eventFilter(QObject*, QEvent*) override;

private:
    bool isBuilt() const { return m_line != nullptr; }
    void describe();
    void showLabel();
    void showTerm();
    void showNote();
    void showProblem();
    void showReset();
    QString names() const;

    const ScenarioKey& m_key;
    std::string m_pointer;
    QString m_what, m_fileText, m_noteText, m_problemText, m_term, m_termText, m_whyFixed;
    QStringList m_otherNames;
    bool m_isError = false, m_isExplained = false, m_awaitsLegalValues = false;
    std::optional<std::string> m_json;
    LegalValues m_legal;
    QToolButton* m_reset = nullptr;
    QLabel *m_label = nullptr, *m_note = nullptr, *m_problem = nullptr;
    QHBoxLayout* m_line = nullptr; ///< nullptr: it is not built
    std::vector<QWidget*> m_watched;
};

/// The row that suits a key: a chooser, a check, a number with slider and stepper, or a line of text.
FormRow* makeFormRow(const sim::Catalogue&, const ScenarioKey&, std::string pointer);

/// 16,384 for whole numbers, as short as it can be for others.
QString plainNumber(double);

} // namespace app
