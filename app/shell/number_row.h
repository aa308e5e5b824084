// A number of the form: label, slider and stepper that stop only at legal values, and what is wrong with it right below.
#pragma once

#include "app/session/legal_values.h"

#include <QSpinBox>
#include <QWidget>

class QFrame;
class QLabel;
class QSlider;
class QToolButton;

namespace app {

/// Arrow keys and wheel go from one legal value to the next; anything may be typed, and is then judged.
class LegalSpinBox : public QSpinBox {
    Q_OBJECT
public:
    using QSpinBox::QSpinBox;
    void setLegalValues(const LegalValues* values) { m_values = values; }
    void stepBy(int steps) override;

signals:
    void stepped(int value);

protected:
    bool event(QEvent*) override;
    StepEnabled stepEnabled() const override;

private:
    const LegalValues* m_values = nullptr;
};

class NumberRow : public QWidget {
    Q_OBJECT
public:
    NumberRow(const QString& label, const QString& what, QWidget* parent = nullptr);
    void setValue(int value);
    int value() const;
    void setLegalValues(const LegalValues&);
    void setNote(const QString& note);
    void setProblem(const QString& problem, bool isError);
    QSlider* slider() const { return m_slider; }
    LegalSpinBox* spinBox() const { return m_spin; }

signals:
    /// `gesture` is the same for all moves of one slider drag, 0 for a step or a typed number.
    void chosen(int value, int gesture);

private:
    void showLegalValues();
    void choose(int value, int gesture);

    QLabel *m_label, *m_note, *m_problem;
    QSlider* m_slider;
    QFrame* m_stepper;
    LegalSpinBox* m_spin;
    QToolButton *m_less, *m_more;
    LegalValues m_values, m_pending;
    bool m_filling = false; ///< the widgets are being set, nobody chose anything
    int m_gesture = 0;
};

/// A wheel over an unfocused control scrolls the form and changes nothing.
void leaveWheelToForm(QWidget*);

} // namespace app
