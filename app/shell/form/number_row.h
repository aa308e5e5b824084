// A number of the form: slider and stepper that stop only at legal values, and a field that anything can be typed into.
#pragma once

#include "app/shell/form/form_row.h"
#include "app/shell/widgets/groove_slider.h"

#include <QAbstractSpinBox>

#include <memory>

class QFrame;
class QMenu;

namespace app {

/// Arrow keys go from one legal value to the next; anything may be typed, and is then judged.
class LegalSpinBox : public QAbstractSpinBox {
    Q_OBJECT
    Q_PROPERTY(double value READ value WRITE setValue) // assistive technology reads and sets it
public:
    explicit LegalSpinBox(QWidget* parent = nullptr);
    void setLegalValues(const LegalValues* values) { m_values = values; }
    double value() const { return m_value.value_or(0); }
    double valueOrAssumed() const { return m_value.value_or(m_assumed); }
    /// As if it had been typed.
    void setValue(double);
    /// Nothing is said about it.
    void present(std::optional<double>);
    void setIfAbsent(const QString&, double assumed = 0);
    /// They are shown and read as such: "15 T".
    void setCountsTokens(bool on) { m_countsTokens = on; }
    QString text() const;
    bool isBeingTyped() const { return text() != m_shown; }
    void takeText(); ///< if it is another than was taken last
    void stepBy(int steps) override;
    QValidator::State validate(QString&, int&) const override { return QValidator::Acceptable; }
    /// What can be done with the setting, then what with the letters in the field.
    std::unique_ptr<QMenu> makeMenu() const;

Q_SIGNALS:
    void stepped(double value);
    void typed(const QString& text);

protected:
    void contextMenuEvent(QContextMenuEvent*) override;
    StepEnabled stepEnabled() const override;

private:
    QString textOf(double) const;

    const LegalValues* m_values = nullptr;
    std::optional<double> m_value;
    double m_assumed = 0; ///< of the key
    bool m_countsTokens = false;
    QString m_shown;
};

class NumberRow : public FormRow {
    Q_OBJECT
public:
    NumberRow(const ScenarioKey& key, std::string pointer, const QString& what, const sim::KeyFacts&, QWidget* parent = nullptr);
    double value() const { return number().value_or(0); }
    void setProblem(const QString&, bool isError) override;
    void takeTyped() override;
    void refuse(const RefusedNumber&) override;
    std::optional<RefusedNumber> refused() const override { return m_refused; }
    void leaveTyped() override;
    GrooveSlider* slider();
    LegalSpinBox* spinBox();

protected:
    void buildControls() override;
    void presentLegalValues() override;
    void present(const std::optional<std::string>& json) override;
    void focusChanged(bool) override;
    void wrongChanged(bool) override;
    std::optional<double> shownNumber() const override;

private:
    bool eventFilter(QObject*, QEvent*) override;
    void beginGesture();
    void showLegalValues();
    void take(const QString& text);
    void giveUpTyped();
    void choose(double value, int gesture);
    void mark(const char* property, bool);
    QString textOf(const std::string& json) const override;

    const bool m_isShare;      ///< a fraction of 1: may be typed as "75 %"
    const bool m_countsTokens; ///< of a whole run: may be typed as "15T"
    GrooveSlider* m_slider = nullptr;
    QFrame* m_stepper = nullptr;
    LegalSpinBox* m_spin = nullptr;
    QToolButton *m_less = nullptr, *m_more = nullptr;
    LegalValues m_values;      ///< as the slider has them: a drag keeps its stops until it ends
    bool m_filling = false;    ///< the widgets are being set, nobody chose anything
    bool m_isNotTaken = false; ///< what was typed is no number or refused, and stays until it is mended
    std::optional<RefusedNumber> m_refused;
    std::optional<double> m_presented;
    int m_gesture = 0;
};

/// A number as a person types it: "16,384", "0.75", "75 %" of a share; nothing for what is none.
std::optional<double> typedNumber(const QString&, bool isShare);

} // namespace app
