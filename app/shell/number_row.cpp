#include "app/shell/number_row.h"

#include "app/shell/style.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QSlider>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <climits>

namespace app {
namespace {

class WheelFilter : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        auto* widget = qobject_cast<QWidget*>(watched);
        if (event->type() != QEvent::Wheel || !widget || widget->hasFocus())
            return false;
        event->ignore();
        return true;
    }
};

QToolButton* stepButton(const QString& text, const QString& name)
{
    auto* button = new QToolButton;
    button->setText(text);
    button->setAccessibleName(name);
    button->setAutoRepeat(true);
    button->setFocusPolicy(Qt::NoFocus);
    button->setFixedSize(22, 24);
    setRole(button, "step");
    return button;
}

} // namespace

void leaveWheelToForm(QWidget* widget)
{
    widget->setFocusPolicy(Qt::StrongFocus);
    widget->installEventFilter(new WheelFilter(widget));
}

void LegalSpinBox::stepBy(int steps)
{
    const int next = m_values ? m_values->stepped(value(), steps) : std::clamp(value() + steps, minimum(), maximum());
    if (next != value())
        emit stepped(next);
}

/// Undo and redo mean the scenario, not the letters in the field.
bool LegalSpinBox::event(QEvent* event)
{
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
            event->ignore();
            return false;
        }
    }
    return QSpinBox::event(event);
}

QAbstractSpinBox::StepEnabled LegalSpinBox::stepEnabled() const
{
    StepEnabled enabled = StepNone;
    if (m_values && !m_values->values.empty()) {
        enabled.setFlag(StepDownEnabled, value() > m_values->values.front());
        enabled.setFlag(StepUpEnabled, value() < m_values->values.back());
    }
    return enabled;
}

NumberRow::NumberRow(const QString& label, const QString& what, QWidget* parent)
    : QWidget(parent), m_label(new QLabel(label)), m_note(new QLabel), m_problem(new QLabel),
      m_slider(new QSlider(Qt::Horizontal)), m_stepper(new QFrame), m_spin(new LegalSpinBox),
      m_less(stepButton(QStringLiteral("−"), tr("%1 less").arg(label))),
      m_more(stepButton(QStringLiteral("+"), tr("%1 more").arg(label)))
{
    m_label->setFixedWidth(84);
    m_label->setToolTip(what);
    m_slider->setAccessibleName(label);
    m_slider->setToolTip(what);
    m_slider->setPageStep(1);
    leaveWheelToForm(m_slider);
    m_spin->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_spin->setAlignment(Qt::AlignCenter);
    m_spin->setRange(1, INT_MAX);
    m_spin->setKeyboardTracking(false);
    m_spin->setAccessibleName(label);
    m_spin->setToolTip(what);
    m_spin->setFixedSize(52, 24);
    m_spin->setLegalValues(&m_values);
    leaveWheelToForm(m_spin);
    setRole(m_stepper, "stepper");
    setRole(m_note, "small");
    m_note->setAlignment(Qt::AlignRight);
    m_note->hide();
    m_problem->setWordWrap(true);
    m_problem->hide();

    auto* stepperLine = new QHBoxLayout(m_stepper);
    stepperLine->setContentsMargins(0, 0, 0, 0);
    stepperLine->setSpacing(0);
    stepperLine->addWidget(m_less);
    stepperLine->addWidget(m_spin);
    stepperLine->addWidget(m_more);
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(m_label);
    line->addWidget(m_slider, 1);
    line->addWidget(m_stepper);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addLayout(line);
    column->addWidget(m_note);
    column->addWidget(m_problem);

    connect(m_slider, &QSlider::sliderPressed, this, [this] {
        static int drags = 0;
        m_gesture = ++drags;
    });
    connect(m_slider, &QSlider::sliderReleased, this, [this] {
        m_gesture = 0;
        showLegalValues();
    });
    connect(m_slider, &QSlider::valueChanged, this, [this](int index) {
        if (!m_filling && index >= 0 && index < static_cast<int>(m_values.values.size()))
            choose(m_values.values[static_cast<std::size_t>(index)], m_gesture);
    });
    connect(m_spin, &LegalSpinBox::stepped, this, [this](int value) { choose(value, 0); });
    connect(m_spin, &QSpinBox::valueChanged, this, [this](int value) {
        if (!m_filling)
            choose(value, 0);
    });
    connect(m_less, &QToolButton::clicked, m_spin, [this] { m_spin->stepBy(-1); });
    connect(m_more, &QToolButton::clicked, m_spin, [this] { m_spin->stepBy(1); });
    showLegalValues();
}

int NumberRow::value() const
{
    return m_spin->value();
}

void NumberRow::setValue(int value)
{
    m_filling = true;
    m_spin->setValue(value);
    m_filling = false;
    showLegalValues();
}

void NumberRow::setLegalValues(const LegalValues& values)
{
    m_pending = values; // a drag keeps its stops until it ends
    if (!m_slider->isSliderDown())
        showLegalValues();
}

void NumberRow::showLegalValues()
{
    if (m_slider->isSliderDown())
        return;
    m_values = m_pending;
    const int value = m_spin->value();
    const bool canLess = !m_values.values.empty() && value > m_values.values.front();
    const bool canMore = !m_values.values.empty() && value < m_values.values.back();
    m_less->setEnabled(canLess);
    m_more->setEnabled(canMore);
    m_less->setToolTip(canLess ? QString() : QString::fromStdString(m_values.whyNotLess));
    m_more->setToolTip(canMore ? QString() : QString::fromStdString(m_values.whyNotMore));
    m_filling = true;
    m_slider->setEnabled(m_values.values.size() > 1);
    m_slider->setRange(0, std::max(0, static_cast<int>(m_values.values.size()) - 1));
    m_slider->setValue(m_values.indexOfNearest(value));
    m_filling = false;
}

void NumberRow::setNote(const QString& note)
{
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty());
}

void NumberRow::setProblem(const QString& problem, bool isError)
{
    m_problem->setText(problem);
    m_problem->setVisible(!problem.isEmpty());
    setRole(m_problem, isError ? "error" : "warning");
    m_stepper->setProperty("wrong", !problem.isEmpty() && isError);
    m_stepper->style()->unpolish(m_stepper);
    m_stepper->style()->polish(m_stepper);
}

void NumberRow::choose(int value, int gesture)
{
    emit chosen(value, gesture);
}

} // namespace app
