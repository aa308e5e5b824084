#include "app/lessons/answer_input.h"

#include "app/lessons/curve_input.h"
#include "app/lessons/lesson_text.h"
#include "app/lessons/list_inputs.h"
#include "app/lessons/typed_number.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/groove_slider.h"
#include "app/shell/widgets/style.h"
#include "sim/lesson/live_text.h"
#include "sim/scenario/json_text.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QFocusEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMouseEvent>
#include <QRadioButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace app {
namespace {

using sim::LessonValue;

/// Empty until something is answered: a number that stands there already is half an answer.
class NumberBox : public QDoubleSpinBox {
public:
    explicit NumberBox(bool asksPercent) : m_asksPercent(asksPercent) {}
    using QDoubleSpinBox::lineEdit;
    /// Of what is typed; empty where it is a number that may be given, and where nothing is.
    QString problem() const
    {
        const QString text = lineEdit()->text();
        if (text.trimmed().isEmpty())
            return {};
        const TypedNumber typed = read(text);
        if (!typed.value)
            return typed.problem;
        if (*typed.value < minimum() || *typed.value > maximum())
            return QObject::tr("Between %1 and %2.").arg(textFromValue(minimum(), false), textFromValue(maximum(), false));
        return decimals() == 0 && *typed.value != std::floor(*typed.value) ? QObject::tr("A whole number is asked for.")
                                                                           : QString();
    }
    void setAnswered()
    {
        if (std::exchange(m_isBlank, false) && lineEdit()->text().trimmed().isEmpty()) // else somebody is typing it
            setValue(value());                                                         // which writes it
    }
    /// Emptied, it stays so: left, it would write again the last number that was legible on the way.
    void setUnanswered() { m_isBlank = true; }
    void stepBy(int steps) override
    {
        m_isBlank = false;
        QDoubleSpinBox::stepBy(steps);
    }

protected:
    QString textFromValue(double value) const override { return textFromValue(value, m_isBlank); }
    double valueFromText(const QString& text) const override { return read(text).value.value_or(value()); }
    QValidator::State validate(QString& text, int&) const override
    {
        static const QRegularExpression kOfNumbers(QStringLiteral("^[-−0-9.,' /⁄∕\\x{00A0}\\x{202F}]*$"));
        static const QRegularExpression kOfPercent(QStringLiteral("^[-−0-9.,' /⁄∕\\x{00A0}\\x{202F}]*%?\\s*$"));
        if (!(m_asksPercent ? kOfPercent : kOfNumbers).match(text).hasMatch())
            return QValidator::Invalid;
        if (text.trimmed().isEmpty())
            return m_isBlank ? QValidator::Acceptable : QValidator::Intermediate;
        const TypedNumber typed = read(text);
        return typed.value && *typed.value >= minimum() && *typed.value <= maximum() &&
                       (decimals() > 0 || *typed.value == std::floor(*typed.value))
                   ? QValidator::Acceptable
                   : QValidator::Intermediate;
    }
    /// What cannot be taken stays as it was typed: the words beside it say why, and it is mended there. Nothing typed is no
    /// answer.
    void keyPressEvent(QKeyEvent* event) override
    {
        if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) &&
            (!problem().isEmpty() || lineEdit()->text().trimmed().isEmpty()))
            return event->ignore();
        QDoubleSpinBox::keyPressEvent(event);
    }
    void focusOutEvent(QFocusEvent* event) override
    {
        if (problem().isEmpty())
            return QDoubleSpinBox::focusOutEvent(event);
        QCoreApplication::sendEvent(lineEdit(), event);
        QWidget::focusOutEvent(event); // NOLINT(bugprone-parent-virtual-call): the box itself would take the text
    }

private:
    TypedNumber read(const QString& text) const { return m_asksPercent ? readTypedPercent(text) : readTypedNumber(text); }
    QString textFromValue(double value, bool isBlank) const
    {
        if (isBlank)
            return {};
        QString text = QLocale::c().toString(value, 'f', decimals()); // "2", not "2.000": noughts claim what nobody knows
        if (text.contains(QLatin1Char('.'))) {
            while (text.endsWith(QLatin1Char('0')))
                text.chop(1);
            if (text.endsWith(QLatin1Char('.')))
                text.chop(1);
        }
        return text == QLatin1String("-0") ? QStringLiteral("0") : text;
    }
    bool m_asksPercent, m_isBlank = true;
};

using Ends = std::pair<QString, QString>;

/// Below the ends of a slider.
QHBoxLayout* endsLine(const Ends& ends)
{
    auto* line = new QHBoxLayout;
    auto *from = new QLabel(ends.first), *to = new QLabel(ends.second);
    for (QLabel* end : {from, to}) {
        end->setTextFormat(Qt::PlainText);
        setRole(end, "small");
    }
    line->addWidget(from);
    line->addStretch();
    line->addWidget(to);
    return line;
}

/// A slider with its number beside it; the number alone where there is no range.
class NumberInput : public AnswerInput {
public:
    /// `ends`: of the range, written below the slider; empty: elsewhere.
    NumberInput(const QString& name, const QString& unit, std::optional<std::pair<double, double>> range, const Ends& ends,
                double step, QWidget* parent)
        : AnswerInput(parent), m_scale(unit == QLatin1String("%") ? 100 : 1), m_box(new NumberBox(unit == QLatin1String("%")))
    {
        constexpr double kFarthest = 1e15;
        const double from = range ? range->first * m_scale : -kFarthest, to = range ? range->second * m_scale : kFarthest;
        const sim::SliderNotches notches(from, to, step * m_scale);
        m_step = range ? notches.step : step > 0 ? step * m_scale : 1;
        // Typed with two digits more than the slider has: the answer may lie between its notches.
        constexpr int kTypedBesides = 2, kWithoutSlider = 3;
        const int decimals = range ? sim::SliderNotches(from, to, 0).decimals : kWithoutSlider;
        m_box->setDecimals(step > 0 && step == std::floor(step) ? 0 : decimals + kTypedBesides);
        m_box->setRange(from, to);
        m_box->setSingleStep(m_step);
        m_box->setSpecialValueText({});
        m_box->setAccessibleName(name);
        m_box->setButtonSymbols(QAbstractSpinBox::NoButtons);
        auto* row = new QGridLayout(this);
        row->setContentsMargins(0, 0, 0, 0);
        row->setVerticalSpacing(0);
        row->setColumnStretch(0, 1);
        if (range) {
            m_slider = new GrooveSlider(Qt::Horizontal);
            m_slider->setRange(0, static_cast<int>(std::lround((to - from) / m_step)));
            m_slider->setAccessibleName(name);
            m_slider->setValue(m_slider->maximum() / 2);
            m_box->setValue(from + m_slider->value() * m_step);
            row->addWidget(m_slider, 0, 0);
            if (!ends.first.isEmpty())
                row->addLayout(endsLine(ends), 1, 0);
            connect(m_slider, &QSlider::valueChanged, this, [this, notches](int notch) {
                if (m_settles)
                    return;
                m_settles = true; // the number is rounded, the slider stays
                m_box->setValue(notches.at(notch));
                m_settles = false;
                touch();
            });
            connect(m_slider, &QSlider::sliderPressed, this, [this] { touch(); });
        } else {
            m_box->setValue(0);
        }
        m_box->setMinimumWidth(86);
        row->addWidget(m_box, 0, range ? 1 : 0);
        if (!unit.isEmpty()) {
            auto* label = new QLabel(unit);
            label->setTextFormat(Qt::PlainText);
            setRole(label, "unit");
            row->addWidget(label, 0, 2);
        }
        setFocusProxy(m_box);
        connect(m_box, &QDoubleSpinBox::valueChanged, this, [this](double value) {
            if (m_settles)
                return;
            if (m_slider != nullptr) {
                m_settles = true;
                m_slider->setValue(static_cast<int>(std::lround((value - m_box->minimum()) / m_step)));
                m_settles = false;
            }
            touch();
        });
        // What is typed is an answer also where the hidden box holds that number already, and no value changes.
        connect(m_box->lineEdit(), &QLineEdit::textEdited, this, [this](const QString& text) {
            if (text.isEmpty())
                m_box->setUnanswered();
            if (!m_box->cleanText().isEmpty() && m_box->hasAcceptableInput())
                touch();
            else
                Q_EMIT changed(); // it is no answer any more
        });
        connect(m_box, &QDoubleSpinBox::editingFinished, this, [this] {
            if (m_box->hasFocus() && !m_box->cleanText().isEmpty())
                touch();
        });
    }
    LessonValue value() const override
    {
        const bool isAnswer = m_isTouched && !m_box->cleanText().trimmed().isEmpty() && m_box->problem().isEmpty();
        return isAnswer ? LessonValue(m_box->value() / m_scale) : LessonValue();
    }
    QString problem() const override { return m_box->problem(); }
    void setValue(const LessonValue& value) override
    {
        if (!value.is_number())
            return;
        m_box->setValue(value.get<double>() * m_scale);
        touch(); // also where it stood there already
    }

private:
    void touch()
    {
        m_isTouched = true;
        m_box->setAnswered();
        Q_EMIT changed();
    }
    double m_scale, m_step = 1;
    NumberBox* m_box;
    GrooveSlider* m_slider = nullptr;
    bool m_isTouched = false, m_settles = false;
};

/// Options, each with text that may be longer than a line.
class ChoiceInput : public AnswerInput {
public:
    ChoiceInput(const QStringList& options, bool many, QWidget* parent) : AnswerInput(parent), m_many(many)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(8);
        auto* group = new QButtonGroup(this);
        group->setExclusive(!many);
        for (const QString& option : options) {
            QAbstractButton* button =
                many ? static_cast<QAbstractButton*>(new QCheckBox) : static_cast<QAbstractButton*>(new QRadioButton);
            button->setAccessibleName(option);
            auto* label = new QLabel;
            setLessonText(label, option);
            label->setWordWrap(true);
            label->setBuddy(button);
            label->setTextInteractionFlags(Qt::NoTextInteraction);
            auto* row = new QHBoxLayout;
            row->setSpacing(6);
            row->addWidget(button, 0, Qt::AlignTop);
            row->addWidget(label, 1);
            column->addLayout(row);
            label->installEventFilter(this);
            label->setProperty("option", m_buttons.size());
            group->addButton(button);
            m_buttons.append(button);
            connect(button, &QAbstractButton::toggled, this, [this] {
                m_isTouched = true;
                Q_EMIT changed();
            });
        }
        if (!m_buttons.isEmpty())
            setFocusProxy(m_buttons.front());
    }
    LessonValue value() const override
    {
        LessonValue places = LessonValue::array();
        for (qsizetype i = 0; i < m_buttons.size(); ++i)
            if (m_buttons[i]->isChecked())
                places.push_back(i);
        if (m_many)
            return m_isTouched ? places : LessonValue(); // none of them is an answer, too
        return places.empty() ? LessonValue() : places.front();
    }
    void setValue(const LessonValue& value) override
    {
        for (const LessonValue& place : value.is_array() ? value : LessonValue::array({value}))
            if (const auto at = sim::valueAs<int>(place); at && *at < m_buttons.size())
                m_buttons[*at]->setChecked(true);
        m_isTouched = m_isTouched || value.is_array();
        Q_EMIT changed();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        // The words are as good as the dot.
        if (event->type() == QEvent::MouseButtonRelease && isEnabled() &&
            static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton) {
            QAbstractButton* button = m_buttons[watched->property("option").toLongLong()];
            button->setFocus(Qt::MouseFocusReason); // keys go on from there
            button->click();
        }
        return AnswerInput::eventFilter(watched, event);
    }

private:
    bool m_many, m_isTouched = false;
    QList<QAbstractButton*> m_buttons;
};

/// Several numbers of one range.
class BarsInput : public AnswerInput {
public:
    BarsInput(const QStringList& names, const QString& unit, std::optional<std::pair<double, double>> range, const Ends& ends,
              double step, QWidget* parent)
        : AnswerInput(parent)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        for (const QString& name : names) {
            auto* label = new QLabel(name);
            label->setTextFormat(Qt::PlainText);
            label->setWordWrap(true);
            setRole(label, "muted12");
            const bool isLast = m_bars.size() + 1 == names.size(); // they stand below each other
            auto* bar = new NumberInput(name, unit, range, isLast ? ends : Ends(), step, this);
            column->addWidget(label);
            column->addWidget(bar);
            m_bars.append(bar);
            connect(bar, &AnswerInput::changed, this, &AnswerInput::changed);
        }
        setFocusProxy(m_bars.front());
    }
    LessonValue value() const override
    {
        LessonValue values = LessonValue::array();
        for (const AnswerInput* bar : m_bars) {
            if (bar->value().is_null())
                return {};
            values.push_back(bar->value());
        }
        return values;
    }
    QString problem() const override
    {
        for (const AnswerInput* bar : m_bars)
            if (QString why = bar->problem(); !why.isEmpty())
                return why;
        return {};
    }
    void setValue(const LessonValue& value) override
    {
        for (qsizetype i = 0; value.is_array() && i < m_bars.size() && i < static_cast<qsizetype>(value.size()); ++i)
            m_bars[i]->setValue(value[static_cast<std::size_t>(i)]);
    }

private:
    QList<AnswerInput*> m_bars;
};

/// Ranks: those that are selected on the grid, or typed.
class RanksInput : public AnswerInput {
public:
    RanksInput(Desk& desk, QWidget* parent) : AnswerInput(parent), m_desk(desk), m_line(new QLineEdit)
    {
        auto* hint = new QLabel(tr("Click a rank in the grid, Ctrl+click adds more; or type them."));
        hint->setWordWrap(true);
        setRole(hint, "small");
        m_line->setPlaceholderText(tr("one, another, first-last"));
        m_line->setAccessibleName(tr("Ranks"));
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_line);
        column->addWidget(hint);
        setFocusProxy(m_line);
        connect(m_line, &QLineEdit::textChanged, this, &AnswerInput::changed);
        connect(m_line, &QLineEdit::textEdited, this, [this] { m_isOfSelection = false; });
        connect(&desk, &Desk::selectionChanged, this, [this](bool onlyCursor) {
            if (onlyCursor || !isEnabled())
                return;
            const Selection& selection = m_desk.selection();
            std::vector<int> ranks = selection.ranks;
            if (ranks.empty() && selection.selectedRank)
                ranks.push_back(*selection.selectedRank);
            if (!ranks.empty() || m_isOfSelection)
                setValue(ranks);
            m_isOfSelection = !ranks.empty();
        });
    }
    LessonValue value() const override
    {
        LessonValue ranks = LessonValue::array();
        static const QRegularExpression kOneOrFromTo(QStringLiteral("(\\d+)(?:\\s*[-–]\\s*(\\d+))?"));
        static const QRegularExpression kBetween(QStringLiteral("^(?:[,;\\s]|\\b(?:ranks?|and)\\b)*$"), // "rank 5"
                                                 QRegularExpression::CaseInsensitiveOption);
        constexpr int kMostTyped = 1 << 16;
        const QString text = m_line->text();
        qsizetype done = 0;
        for (auto each = kOneOrFromTo.globalMatch(text); each.hasNext();) { // "8-15", as the grid writes them
            const QRegularExpressionMatch match = each.next();
            bool isNumber = false, isEnd = true;
            const int from = match.captured(1).toInt(&isNumber);
            const int to = match.hasCaptured(2) ? match.captured(2).toInt(&isEnd) : from;
            if (!isNumber || !isEnd || to < from || to - from >= kMostTyped ||
                !kBetween.match(text.mid(done, match.capturedStart() - done)).hasMatch())
                return {};
            for (int rank = from; rank <= to; ++rank)
                ranks.push_back(rank);
            done = match.capturedEnd();
        }
        if (!kBetween.match(text.mid(done)).hasMatch())
            return {};
        return ranks.empty() ? LessonValue() : ranks;
    }
    QString problem() const override
    {
        return m_line->text().trimmed().isEmpty() || !value().is_null()
                   ? QString()
                   : tr("Ranks are numbers with commas between them; first-last is a range.");
    }
    void setValue(const LessonValue& value) override
    {
        QStringList words;
        if (const auto ranks = sim::valueAs<std::vector<int>>(value))
            for (const int rank : *ranks)
                words << QString::number(rank);
        m_line->setText(words.join(QStringLiteral(", ")));
    }

private:
    Desk& m_desk;
    QLineEdit* m_line;
    bool m_isOfSelection = false; ///< what stands there is what is selected
};

/// [from, to) of a tensor: marked on the storage picture, or typed.
class TensorInput : public AnswerInput {
public:
    TensorInput(Desk& desk, const QString& unit, QWidget* parent)
        : AnswerInput(parent),
          m_ends(new BarsInput({QObject::tr("From"), QObject::tr("To (not in it any more)")}, unit, {}, {}, 1, this))
    {
        auto* hint = new QLabel(tr("Drag over it on the storage picture; or type where it begins and ends."));
        hint->setWordWrap(true);
        setRole(hint, "small");
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_ends);
        column->addWidget(hint);
        setFocusProxy(m_ends);
        connect(m_ends, &AnswerInput::changed, this, &AnswerInput::changed);
        connect(&desk, &Desk::selectionChanged, this, [this, &desk] {
            if (const auto& marked = desk.selection().marked; isEnabled() && marked && m_taken != marked) {
                m_taken = marked;
                setValue({marked->begin, marked->end});
            }
        });
    }
    LessonValue value() const override { return m_ends->value(); }
    QString problem() const override { return m_ends->problem(); }
    void setValue(const LessonValue& value) override { m_ends->setValue(value); }

private:
    BarsInput* m_ends;
    std::optional<MarkedSlice> m_taken;
};

QStringList filledTexts(const sim::AskedQuestion& asked)
{
    QStringList texts;
    for (const sim::QuestionOption& option : asked.question().options)
        texts << QString::fromStdString(asked.filled(option.text));
    for (const sim::QuestionPart& part : asked.question().parts)
        texts << QString::fromStdString(asked.filled(part.text));
    return texts;
}

QString numberWithUnit(double value, const sim::Question& question)
{
    if (question.asksPercent())
        return percentQuantity(value).text();
    const QString number = QString::fromStdString(sim::writtenValue(value, ""));
    return question.unit.empty() ? number : number + QLatin1Char(' ') + QString::fromStdString(question.unit);
}

} // namespace

AnswerInput* makeAnswerInput(const sim::AskedQuestion& asked, Desk& desk, QWidget* parent)
{
    const sim::Question& question = asked.question();
    const QString unit = QString::fromStdString(question.unit);
    const auto range = question.range.empty() ? std::nullopt : std::optional(asked.range());
    const Ends ends = range ? rangeTexts(asked) : Ends();
    using enum sim::QuestionInput;
    switch (question.input) {
    case slider:
    case number:
        return new NumberInput(QObject::tr("Your answer"), unit, range, ends, question.step, parent);
    case choice:
        return new ChoiceInput(filledTexts(asked), question.many, parent);
    case ranks:
        return new RanksInput(desk, parent);
    case bars:
        return new BarsInput(filledTexts(asked), unit, *range, ends, question.step, parent);
    case sketch: {
        QStringList places;
        for (const LessonValue& place : asked.valueOf(question.over))
            places << QString::fromStdString(sim::writtenValue(place, ""));
        auto* curve = new CurveInput(places, unit, *range, question.asksPercent() ? 100 : 1, question.step, parent);
        curve->setAlong(QString::fromStdString(question.along));
        return curve;
    }
    case tensor:
        return new TensorInput(desk, unit, parent);
    case order:
        return new OrderInput(filledTexts(asked), parent);
    case actions: {
        QStringList rows;
        for (const LessonValue& row : asked.valueOf(question.on + ".ranks"))
            rows << QString::fromStdString(row.get<std::string>());
        std::array<double, 4> times{1, 1, 1, 0};
        if (const sim::CaseSubject* subject = asked.names().subject(question.on))
            if (const auto* pipeline = std::get_if<LessonValue>(subject))
                if (const auto given = sim::memberOr<std::vector<double>>(*pipeline, "times", {}); given.size() == times.size())
                    std::copy(given.begin(), given.end(), times.begin());
        auto* input = new ActionsInput(rows, times, parent);
        input->setAsked(asked);
        return input;
    }
    }
    return nullptr;
}

QString orderText(const sim::OrderOutcome& outcome)
{
    if (!outcome.problem.empty())
        return QObject::tr("it does not run: %1").arg(QString::fromStdString(outcome.problem));
    return (outcome.mostHeld == 1 ? QObject::tr("bubble %1 of the ideal time, at most %2 micro-batch held")
                                  : QObject::tr("bubble %1 of the ideal time, at most %2 micro-batches held"))
        .arg(percentQuantity(outcome.bubbleOverIdeal).text())
        .arg(outcome.mostHeld);
}

QString unmetText(const sim::OrderOutcome& outcome)
{
    // Only one comparison with an upper limit says what is too large; of all else the check's own words are shown.
    static const QRegularExpression kUpperLimit(
        QStringLiteral("^(mine\\.bubble(?:\\.\\w+)*|max\\(mine\\.peak_activations\\)|mine\\.peak_activations(?:\\[\\d+\\])?)"
                       "\\s*<=?(?!.*(?:[<>=!]|\\b(?:and|or|not|if)\\b))"));
    QStringList missed;
    for (const std::string& goal : outcome.unmet) {
        const QString text = QString::fromStdString(goal);
        const qsizetype end = text.indexOf(QStringLiteral(" does not hold: "));
        const QRegularExpressionMatch limit = end < 0 ? QRegularExpressionMatch() : kUpperLimit.match(text.left(end));
        missed << (!limit.hasMatch() ? text
                   : limit.captured(1).startsWith(QStringLiteral("mine.bubble"))
                       ? QObject::tr("the bubble is too large")
                       : QObject::tr("too many micro-batches are held"));
    }
    return missed.join(QStringLiteral("; "));
}

QString answerText(const sim::AskedQuestion& asked, const LessonValue& value)
{
    const sim::Question& question = asked.question();
    const QStringList texts = filledTexts(asked);
    QStringList words;
    const bool isPlaces = question.input == sim::QuestionInput::choice || question.input == sim::QuestionInput::order;
    for (const LessonValue& one : value.is_array() ? value : LessonValue::array({value})) {
        if (const auto place = sim::valueAs<int>(one); isPlaces && place && *place >= 0 && *place < texts.size())
            words << texts[*place];
        else if (one.is_number())
            words << numberWithUnit(one.get<double>(), question);
        else
            words << QString::fromStdString(sim::writtenValue(one, ""));
    }
    return words.join(question.input == sim::QuestionInput::actions ? QStringLiteral("\n")
                      : isPlaces                                    ? QStringLiteral(" · ")
                                                                    : QStringLiteral(", "));
}

QString endText(const sim::AskedQuestion& asked, double end)
{
    static const QRegularExpression kZeros(QStringLiteral("(?<=\\d)(?:\\.0+|(\\.\\d*[1-9])0+)(?!\\d)"));
    return answerText(asked, end).replace(kZeros, QStringLiteral("\\1"));
}

std::pair<QString, QString> rangeTexts(const sim::AskedQuestion& asked)
{
    const auto [from, to] = asked.range();
    return {endText(asked, from), endText(asked, to)};
}

} // namespace app
