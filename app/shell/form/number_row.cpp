#include "app/shell/form/number_row.h"

#include "app/session/plain_words.h"
#include "app/shell/form/token_count.h"
#include "app/shell/widgets/groove_slider.h"
#include "app/shell/widgets/style.h"

#include <QContextMenuEvent>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QRegularExpression>
#include <QSlider>
#include <QStyle>
#include <QToolButton>

#include <algorithm>

namespace app {
namespace {

constexpr int kStepWidth = 16, kFieldWidth = 64, kStepperHeight = 24;
constexpr int kWidestField = 144, kAroundDigits = 12; ///< fifteen digits are seen whole

QToolButton* stepButton(const QString& text, const QString& name, QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setText(text);
    button->setAccessibleName(name);
    button->setAutoRepeat(true);
    button->setFocusPolicy(Qt::NoFocus);
    button->setFixedSize(kStepWidth, kStepperHeight);
    setRole(button, "step");
    return button;
}

} // namespace

std::optional<double> typedNumber(const QString& text, bool isShare)
{
    QString digits = text.trimmed();
    const bool isPercent = isShare && digits.endsWith(QLatin1Char('%'));
    if (isPercent)
        digits.chop(1);
    digits.remove(QLatin1Char(' ')).remove(QChar(0x00a0)).remove(QChar(0x202f));
    // Commas are between groups of three, as numbers are shown here, or else the point of many languages: 19,5 is not 195.
    static const QRegularExpression kGrouped(QStringLiteral("^[-+]?[0-9]{1,3}(,[0-9]{3})+(\\.[0-9]*)?$"));
    if (kGrouped.match(digits).hasMatch())
        digits.remove(QLatin1Char(','));
    else if (digits.count(QLatin1Char(',')) == 1 && !digits.contains(QLatin1Char('.')))
        digits.replace(QLatin1Char(','), QLatin1Char('.'));
    bool isNumber = false;
    const double value = digits.toDouble(&isNumber);
    if (!isNumber || !qIsFinite(value))
        return std::nullopt;
    return isPercent ? value / 100 : value;
}

LegalSpinBox::LegalSpinBox(QWidget* parent) : QAbstractSpinBox(parent)
{
    setButtonSymbols(QAbstractSpinBox::NoButtons);
    setAlignment(Qt::AlignCenter);
    connect(this, &QAbstractSpinBox::editingFinished, this, &LegalSpinBox::takeText);
}

QString LegalSpinBox::text() const
{
    return lineEdit()->text();
}

void LegalSpinBox::setIfAbsent(const QString& text, double assumed)
{
    lineEdit()->setPlaceholderText(text);
    m_assumed = assumed;
}

QString LegalSpinBox::textOf(double value) const
{
    return m_countsTokens ? tokenCountText(value) : plainNumber(value);
}

void LegalSpinBox::present(std::optional<double> value)
{
    m_value = value;
    const QString shown = value ? textOf(*value) : QString();
    if (shown == m_shown && shown == text())
        return;
    m_shown = shown;
    lineEdit()->setText(shown);
}

void LegalSpinBox::setValue(double value)
{
    lineEdit()->setText(textOf(value));
    takeText();
}

void LegalSpinBox::takeText()
{
    const QString now = text();
    lineEdit()->setText(now); // what was taken is the window's to undo, letters that were not are the field's
    if (now == m_shown)
        return;
    m_shown = now;
    Q_EMIT typed(m_shown);
}

void LegalSpinBox::stepBy(int steps)
{
    takeText();
    if (!m_values || m_values->values.empty())
        return;
    const auto& values = m_values->values;
    const double next = m_value          ? m_values->stepped(*m_value, steps)
                        : m_assumed != 0 ? values[static_cast<std::size_t>(m_values->indexOfNearest(m_assumed))]
                        : steps > 0      ? values.front()
                                         : values.back();
    if (next != m_value)
        Q_EMIT stepped(next);
}

std::unique_ptr<QMenu> LegalSpinBox::makeMenu() const
{
    std::unique_ptr<QMenu> menu(lineEdit()->createStandardContextMenu());
    for (const QWidget* row = parentWidget(); row != nullptr; row = row->parentWidget()) {
        if (qobject_cast<const FormRow*>(row) == nullptr)
            continue;
        QAction* const first = menu->actions().value(0);
        menu->insertActions(first, row->actions());
        if (!row->actions().isEmpty())
            menu->insertSeparator(first);
        break;
    }
    return menu;
}

void LegalSpinBox::contextMenuEvent(QContextMenuEvent* event)
{
    makeMenu()->exec(event->globalPos());
    event->accept();
}

QAbstractSpinBox::StepEnabled LegalSpinBox::stepEnabled() const
{
    StepEnabled enabled = StepNone;
    if (m_values && !m_values->values.empty()) {
        enabled.setFlag(StepDownEnabled, !m_value || *m_value > m_values->values.front());
        enabled.setFlag(StepUpEnabled, !m_value || *m_value < m_values->values.back());
    }
    return enabled;
}

NumberRow::NumberRow(const ScenarioKey& key, std::string pointer, const QString& what, const sim::KeyFacts& facts,
                     QWidget* parent)
    : FormRow(key, std::move(pointer), what, parent), m_isShare(facts.type == sim::KeyType::number && facts.high <= 1),
      m_countsTokens(key.pointer == "/training/tokens")
{
}

GrooveSlider* NumberRow::slider()
{
    build();
    return m_slider;
}

LegalSpinBox* NumberRow::spinBox()
{
    build();
    return m_spin;
}

void NumberRow::buildControls()
{
    auto* line = new QWidget(this);
    m_slider = new GrooveSlider(Qt::Horizontal, line);
    m_stepper = new QFrame(line);
    m_less = stepButton(QStringLiteral("−"), tr("%1 less").arg(labelText()), m_stepper);
    m_spin = new LegalSpinBox(m_stepper);
    m_more = stepButton(QStringLiteral("+"), tr("%1 more").arg(labelText()), m_stepper);
    m_slider->setPageStep(1);
    m_slider->setMinimumWidth(24);
    m_spin->setFixedSize(kFieldWidth, kStepperHeight);
    m_spin->setIfAbsent(QString::fromUtf8(key().ifAbsent), key().assumed);
    m_spin->setCountsTokens(m_countsTokens);
    m_spin->setLegalValues(&m_values);
    setRole(m_stepper, "stepper");
    auto* stepperLine = new QHBoxLayout(m_stepper);
    stepperLine->setContentsMargins(0, 0, 0, 0);
    stepperLine->setSpacing(0);
    for (QWidget* part : {static_cast<QWidget*>(m_less), static_cast<QWidget*>(m_spin), static_cast<QWidget*>(m_more)})
        stepperLine->addWidget(part);
    auto* parts = new QHBoxLayout(line);
    parts->setContentsMargins(0, 0, 0, 0);
    parts->setSpacing(6);
    parts->addWidget(m_slider, 1);
    parts->addWidget(m_stepper);
    addControl(line, 1);
    watch(m_slider);
    watch(m_spin);

    connect(m_slider, &QSlider::sliderPressed, this, &NumberRow::beginGesture);
    connect(m_slider, &QSlider::sliderReleased, this, [this] {
        m_gesture = 0;
        showLegalValues();
    });
    for (QWidget* held : {static_cast<QWidget*>(m_less), static_cast<QWidget*>(m_more)})
        held->installEventFilter(this);
    connect(m_slider, &QSlider::valueChanged, this, [this](int index) {
        if (!m_filling && index >= 0 && index < static_cast<int>(m_values.values.size()))
            choose(m_values.values[static_cast<std::size_t>(index)], m_gesture);
    });
    connect(m_spin, &LegalSpinBox::stepped, this, [this](double value) { choose(value, m_gesture); });
    connect(m_spin, &LegalSpinBox::typed, this, &NumberRow::take);
    connect(m_less, &QToolButton::clicked, m_spin, [this] { m_spin->stepBy(-1); });
    connect(m_more, &QToolButton::clicked, m_spin, [this] { m_spin->stepBy(1); });
}

void NumberRow::beginGesture()
{
    static int gestures = 0;
    m_gesture = ++gestures;
}

/// A key or a button that is held down repeats itself: that is one gesture, from its first press to its release.
bool NumberRow::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_slider && (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress)) {
        const auto& key = static_cast<const QKeyEvent&>(*event);
        const bool isShortcut = (key.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0;
        const QString text = key.text();
        if (!isShortcut && text.size() == 1 && text.front().isDigit()) { // a number for the field, not the key of a lens
            event->accept();
            if (event->type() == QEvent::KeyPress) {
                m_spin->setFocus(Qt::ShortcutFocusReason);
                m_spin->selectAll();
                QCoreApplication::sendEvent(m_spin, event);
            }
            return true;
        }
    }
    if (watched == m_spin && (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape && (m_isNotTaken || m_spin->isBeingTyped())) {
        event->accept(); // else it is the window's
        if (event->type() == QEvent::KeyPress)
            giveUpTyped();
        return true;
    }
    const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::KeyRelease;
    const bool isButton = watched == m_less || watched == m_more;
    if (isKey && !static_cast<QKeyEvent*>(event)->isAutoRepeat()) {
        if (event->type() == QEvent::KeyPress)
            beginGesture();
        else
            m_gesture = 0;
    } else if (isButton && event->type() == QEvent::MouseButtonPress) {
        m_spin->setFocus(Qt::MouseFocusReason); // what is undone next is this, not what was typed elsewhere
        beginGesture();
    } else if (isButton && event->type() == QEvent::MouseButtonRelease) { // which clicks once more
        QMetaObject::invokeMethod(
            this, [this] { m_gesture = 0; }, Qt::QueuedConnection);
    }
    return FormRow::eventFilter(watched, event);
}

void NumberRow::takeTyped()
{
    if (m_spin != nullptr)
        m_spin->takeText();
}

void NumberRow::take(const QString& text)
{
    const auto value = m_countsTokens ? typedTokenCount(text) : typedNumber(text, m_isShare);
    leaveTyped();
    m_isNotTaken = !value && !text.trimmed().isEmpty();
    if (m_isNotTaken)
        FormRow::setProblem(tr("“%1” is not a number").arg(text.trimmed()), true);
    else if (value)
        choose(*value, 0);
    else
        Q_EMIT chosen(QString(), 0);
}

void NumberRow::refuse(const RefusedNumber& refused)
{
    m_isNotTaken = true;
    m_refused = refused;
    m_spin->present(refused.typed); // steps go on from what is seen
    showLegalValues();
    FormRow::setProblem(QString::fromStdString(refused.why), true);
}

std::optional<double> NumberRow::shownNumber() const
{
    if (m_refused)
        return m_refused->typed;
    return m_isNotTaken ? std::nullopt : number(); // of what is no number nothing is near
}

/// The value in force is chosen: it stands there again, with what is to be said of it.
void NumberRow::giveUpTyped()
{
    leaveTyped();
    Q_EMIT chosen(json() ? QString::fromStdString(*json()) : QString(), 0);
    m_spin->selectAll();
}

void NumberRow::leaveTyped()
{
    m_isNotTaken = false;
    m_refused.reset();
}

void NumberRow::setProblem(const QString& problem, bool isError)
{
    if (!m_isNotTaken)
        FormRow::setProblem(problem, isError);
}

void NumberRow::present(const std::optional<std::string>& json)
{
    const auto value = json ? numberOf(*json) : std::nullopt;
    if (m_isNotTaken && value == m_presented)
        return;
    leaveTyped();
    m_presented = value;
    m_spin->present(value);
    if (const QString text = m_spin->text(); m_countsTokens)
        m_spin->setFixedWidth(
            std::clamp(m_spin->fontMetrics().horizontalAdvance(text) + kAroundDigits, kFieldWidth, kWidestField));
    showLegalValues();
}

void NumberRow::presentLegalValues()
{
    showLegalValues();
}

void NumberRow::showLegalValues()
{
    if (m_slider->isSliderDown())
        return;
    m_values = legalValues();
    const double value = m_spin->valueOrAssumed();
    const bool canLess = !m_values.values.empty() && value > m_values.values.front();
    const bool canMore = !m_values.values.empty() && value < m_values.values.back();
    m_less->setEnabled(canLess);
    m_more->setEnabled(canMore);
    m_less->setToolTip(canLess ? QString() : asSentence(plainWords(QString::fromStdString(m_values.whyNotLess()))));
    m_more->setToolTip(canMore ? QString() : asSentence(plainWords(QString::fromStdString(m_values.whyNotMore()))));
    m_filling = true;
    m_slider->setKnown(!m_values.values.empty());
    m_slider->setEnabled(m_values.values.size() > 1);
    m_slider->setRange(0, std::max(0, static_cast<int>(m_values.values.size()) - 1));
    m_slider->setValue(m_values.indexOfNearest(value));
    m_filling = false;
}

void NumberRow::focusChanged(bool)
{
    mark("focused", m_spin->hasFocus());
}

void NumberRow::wrongChanged(bool isWrong)
{
    mark("wrong", isWrong);
}

/// A property of the frame that the style sheet looks at.
void NumberRow::mark(const char* property, bool on)
{
    if (m_stepper->property(property).toBool() == on)
        return;
    m_stepper->setProperty(property, on);
    m_stepper->style()->unpolish(m_stepper);
    m_stepper->style()->polish(m_stepper);
}

QString NumberRow::textOf(const std::string& json) const
{
    const auto tokens = m_countsTokens ? numberOf(json) : std::nullopt;
    return tokens ? tokenCountText(*tokens) : FormRow::textOf(json);
}

void NumberRow::choose(double value, int gesture)
{
    leaveTyped();
    Q_EMIT chosen(QString::fromStdString(jsonNumber(value)), gesture);
}

} // namespace app
