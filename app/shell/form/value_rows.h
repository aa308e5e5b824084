// Rows of what is no number: one of a few, yes or no, a line of text.
#pragma once

#include "app/shell/form/form_row.h"
#include "app/shell/widgets/choice_box.h"

class QCheckBox;
class QLineEdit;

namespace app {

/// What cannot be chosen now stays in the list, faint and with its reason: choosing it all the same tells the whole problem.
class ChoiceRow : public FormRow {
    Q_OBJECT
public:
    ChoiceRow(const ScenarioKey& key, std::string pointer, const QString& what, std::vector<KeyOption>,
              QWidget* parent = nullptr);
    ChoiceBox* box();
    /// For what the list has not: "Own model".
    void setNameIfMissing(const QString& name) { m_nameIfMissing = name; }

protected:
    void buildControls() override;
    void present(const std::optional<std::string>& json) override;
    void presentLegalValues() override;
    QString textOf(const std::string& json) const override;
    void wrongChanged(bool) override;

private:
    std::vector<KeyOption> m_options;
    ChoiceBox* m_box = nullptr;
    QString m_nameIfMissing;
};

class CheckRow : public FormRow {
    Q_OBJECT
public:
    using FormRow::FormRow;
    QCheckBox* box();

protected:
    void buildControls() override;
    void present(const std::optional<std::string>& json) override;
    QString textOf(const std::string& json) const override;

private:
    QCheckBox* m_box = nullptr;
};

class TextRow : public FormRow {
    Q_OBJECT
public:
    using FormRow::FormRow;
    QLineEdit* line();
    void takeTyped() override;

protected:
    void buildControls() override;
    void present(const std::optional<std::string>& json) override;
    QString textOf(const std::string& json) const override;

private:
    void take();

    QLineEdit* m_line = nullptr;
    QString m_shown;
};

/// "7, 14×8, 7" of [7, 8, 8, …, 7], and back; what is no list of whole numbers comes back as a JSON string, for the reader to
/// judge.
QString runsText(const std::string& json);
std::string runsJson(const QString&);

} // namespace app
