#include "app/shell/form/form_row.h"

#include "app/shell/form/number_row.h"
#include "app/shell/form/value_rows.h"
#include "app/shell/form/words_row.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QStringList>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace app {
namespace {

constexpr int kLabelGap = 6;

/// "1, 2, 4, 8", the middle left out where there are many.
template <class TextOf>
QString listText(const std::vector<double>& values, const TextOf& textOf)
{
    constexpr std::size_t kMost = 9;
    QStringList out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values.size() > kMost && i == kMost - 2) {
            out << QStringLiteral("…");
            i = values.size() - 1;
        }
        out << textOf(values[i]);
    }
    return out.join(QStringLiteral(", "));
}

bool hasWords(const QString& text, const QString& typed)
{
    const QStringList words = typed.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    return std::all_of(words.begin(), words.end(), [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

QString withoutNearest(const QString& problem)
{
    const qsizetype at = problem.indexOf(QLatin1String("; nearest: "));
    return at < 0 ? problem : problem.left(at);
}

} // namespace

FormRow::FormRow(const ScenarioKey& key, std::string pointer, const QString& what, QWidget* parent)
    : QWidget(parent), m_key(key), m_pointer(std::move(pointer)), m_what(what)
{
}

void FormRow::build()
{
    if (isBuilt())
        return;
    // With their parent from the start: what moves into another is styled again.
    m_reset = new QToolButton(this);
    m_label = new QLabel(this);
    m_note = new QLabel(this);
    m_problem = new QLabel(this);
    m_line = new QHBoxLayout;
    m_label->setTextFormat(Qt::RichText); // its unit is small
    showLabel();
    m_label->setFixedWidth(kRowLabel + kLabelGap);
    m_label->setContentsMargins(0, 0, kLabelGap, 0);
    m_label->setWordWrap(true);
    m_reset->setText(QStringLiteral("●"));
    m_reset->setFixedSize(kRowGutter, 20);
    m_reset->setFocusPolicy(Qt::TabFocus);
    setRole(m_reset, "reset");
    QSizePolicy keepsPlace = m_reset->sizePolicy();
    keepsPlace.setRetainSizeWhenHidden(true);
    m_reset->setSizePolicy(keepsPlace);
    m_reset->hide();
    connect(m_reset, &QToolButton::clicked, this, &FormRow::resetRequested);

    for (QLabel* label : {m_note, m_problem}) {
        label->setWordWrap(true);
        label->hide();
    }
    setRole(m_note, "small");
    m_problem->setTextFormat(Qt::RichText);
    m_problem->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(m_problem, &QLabel::linkActivated, this, [this](const QString& json) {
        leaveTyped();
        Q_EMIT chosen(json, 0);
    });

    m_line->setSpacing(0);
    m_line->addWidget(m_reset);
    m_line->addWidget(m_label);
    auto* words = new QVBoxLayout;
    words->setContentsMargins(kRowGutter, 0, 0, 0);
    words->setSpacing(2);
    for (QLabel* label : {m_note, m_problem})
        words->addWidget(label);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addLayout(m_line);
    column->addLayout(words);
    buildControls();
    present(m_json);
    presentLegalValues();
    showTerm();
    showNote();
    showReset();
    showProblem();
    describe();
}

QLabel* FormRow::problemLabel()
{
    build();
    return m_problem;
}

QToolButton* FormRow::resetButton()
{
    build();
    return m_reset;
}

QLabel* FormRow::label()
{
    build();
    return m_label;
}

QString FormRow::labelText() const
{
    return QString::fromUtf8(m_key.label);
}

void FormRow::setTerm(const QString& title, const QString& text)
{
    m_term = title;
    m_termText = text;
    showTerm();
}

void FormRow::showTerm()
{
    if (!isBuilt() || m_term.isEmpty())
        return;
    m_label->setCursor(Qt::PointingHandCursor);
    m_label->setToolTip(
        QStringLiteral("<p>%1</p><p>%2</p>") // as HTML it is wrapped
            .arg(m_termText.toHtmlEscaped(), tr("A click, or Shift+F1 in the setting, opens the glossary at “%1”.").arg(m_term)));
    m_label->installEventFilter(this);
}

void FormRow::showLabel()
{
    const QString name = labelText().toHtmlEscaped(), unit = QString::fromUtf8(m_key.unit).toHtmlEscaped();
    m_label->setText(unit.isEmpty() ? name
                                    : QStringLiteral("%1 <span style=\"font-size:11px; color:%3\">%2</span>")
                                          .arg(name, unit, palette().color(QPalette::PlaceholderText).name()));
}

void FormRow::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && isBuilt()) // the unit's colour is in its text
        showLabel();
}

void FormRow::addControl(QWidget* control, int stretch)
{
    m_line->addWidget(control, stretch);
}

void FormRow::hideLabel()
{
    m_label->hide();
}

void FormRow::putLabelAbove()
{
    auto* column = static_cast<QVBoxLayout*>(layout());
    m_line->removeWidget(m_label);
    m_label->setMaximumWidth(QWIDGETSIZE_MAX);
    m_label->setContentsMargins(kRowGutter, 0, 0, 0);
    setRole(m_label, "small");
    column->insertWidget(0, m_label);
}

void FormRow::watch(QWidget* control)
{
    control->installEventFilter(this);
    const std::string_view place = std::string_view(m_pointer).substr(0, m_pointer.rfind('/'));
    const bool isOfList = m_key.pointer.find('*') != std::string_view::npos;
    const int number = isOfList ? std::stoi(std::string(place.substr(place.rfind('/') + 1))) + 1 : 0;
    control->setAccessibleName(isOfList ? tr("%1, entry %2").arg(labelText()).arg(number) : labelText());
    m_watched.push_back(control);
}

bool FormRow::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_label) {
        if (event->type() == QEvent::Enter || event->type() == QEvent::Leave) {
            QFont font = m_label->font();
            font.setUnderline(event->type() == QEvent::Enter);
            m_label->setFont(font);
        } else if (event->type() == QEvent::MouseButtonRelease && static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton) {
            Q_EMIT termRequested();
            return true;
        }
        return event->type() == QEvent::MouseButtonPress;
    }
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
        const bool isIn = event->type() == QEvent::FocusIn;
        m_isExplained = isIn;
        Q_EMIT explains(isIn ? whyText() : QString());
        focusChanged(isIn);
    }
    return QWidget::eventFilter(watched, event);
}

std::vector<QWidget*> FormRow::focusOrder()
{
    build();
    std::vector<QWidget*> out = m_watched;
    out.push_back(m_reset);
    return out;
}

std::optional<double> FormRow::number() const
{
    return m_json ? numberOf(*m_json) : std::nullopt;
}

void FormRow::setJson(const std::optional<std::string>& json)
{
    m_json = json;
    if (isBuilt())
        present(json);
}

void FormRow::setLegalValues(const LegalValues& values)
{
    const bool wereAwaited = std::exchange(m_awaitsLegalValues, false);
    if (values == m_legal) {
        if (wereAwaited && hasProblem())
            showProblem();
        return;
    }
    m_legal = values;
    if (!isBuilt())
        return;
    presentLegalValues();
    describe();
    showProblem();
}

void FormRow::awaitLegalValues()
{
    if (std::exchange(m_awaitsLegalValues, true) || !hasProblem())
        return;
    showProblem();
}

void FormRow::setNote(const QString& note)
{
    if (note == m_noteText)
        return;
    m_noteText = note;
    showNote();
}

void FormRow::showNote()
{
    if (!isBuilt())
        return;
    m_note->setText(m_noteText);
    m_note->setVisible(!m_noteText.isEmpty());
}

void FormRow::setLimit(bool mayBeChanged, const QString& why)
{
    const QString fixed = mayBeChanged ? QString() : why;
    const bool isMarked = mayBeChanged && !why.isEmpty();
    setEnabled(mayBeChanged || isChanged()); // what was changed all the same can be put back
    if (fixed != m_whyFixed) {
        m_whyFixed = fixed;
        describe();
    }
    if (isMarked != property("marked").toBool()) {
        setAttribute(Qt::WA_StyledBackground, isMarked);
        setProperty("marked", isMarked);
        style()->unpolish(this);
        style()->polish(this);
    }
}

void FormRow::setProblem(const QString& problem, bool isError)
{
    if (problem == m_problemText && isError == m_isError)
        return;
    m_problemText = problem;
    m_isError = isError;
    showProblem();
}

void FormRow::showProblem()
{
    if (!isBuilt())
        return;
    std::vector<double> nearest;
    if (const auto now = shownNumber(); now && m_isError && !m_awaitsLegalValues)
        nearest = m_legal.around(*now);
    QString text =
        asSentence(plainWords(inItsWords(nearest.empty() ? m_problemText : withoutNearest(m_problemText)))).toHtmlEscaped();
    text.replace(QLatin1Char('\n'), QLatin1String("<br>"));
    QStringList links;
    for (const double value : nearest)
        links << QStringLiteral("<a href=\"%1\">%2</a>")
                     .arg(QString::fromStdString(jsonNumber(value)), tr("use %1").arg(textOf(jsonNumber(value))));
    if (!links.isEmpty() && !m_problemText.isEmpty())
        text += QStringLiteral("<br>") + links.join(QStringLiteral(" &nbsp; "));
    m_problem->setText(text);
    m_problem->setVisible(!m_problemText.isEmpty());
    setRole(m_problem, m_isError ? "error" : "warning");
    wrongChanged(hasProblem() && m_isError);
}

void FormRow::setFileText(const QString& text)
{
    if (text == m_fileText && text.isNull() == m_fileText.isNull())
        return;
    m_fileText = text;
    showReset();
}

void FormRow::showReset()
{
    if (!isBuilt())
        return;
    m_reset->setVisible(isChanged());
    m_reset->setToolTip(isChanged() ? tr("Was %1 in the file; click to go back to it").arg(m_fileText) : QString());
    m_reset->setAccessibleName(tr("%1: back to %2, as in the file").arg(labelText(), m_fileText));
}

QString FormRow::names() const
{
    const QString key = QString::fromStdString(m_pointer);
    return labelText() + QLatin1Char(' ') + key + QLatin1Char(' ') + QString(key).replace(QLatin1Char('_'), QLatin1Char(' '));
}

bool FormRow::isNamed(const QString& typed) const
{
    const auto beginsWordOf = [&typed](const QString& name) {
        const qsizetype at = name.indexOf(typed, 0, Qt::CaseInsensitive);
        return at == 0 || (at > 0 && !name[at - 1].isLetterOrNumber());
    };
    return std::any_of(m_otherNames.begin(), m_otherNames.end(), beginsWordOf) || hasWords(names(), typed);
}

bool FormRow::isDescribed(const QString& typed) const
{
    return hasWords(names() + QLatin1Char(' ') + m_what, typed);
}

QString FormRow::textOf(const std::string& json) const
{
    const auto number = numberOf(json);
    return number ? plainNumber(*number) : QString::fromStdString(unquoted(json));
}

QString FormRow::whyText() const
{
    if (!m_whyFixed.isEmpty())
        return m_whyFixed + QLatin1Char('\n') + m_what;
    QStringList lines{m_what};
    if (m_legal.values.size() > 1)
        lines << tr("Possible: %1").arg(listText(m_legal.values, [this](double value) { return textOf(jsonNumber(value)); }));
    else if (m_legal.values.size() == 1)
        lines << tr("Nothing but %1 is possible").arg(textOf(jsonNumber(m_legal.values.front())));
    constexpr std::size_t kMostReasons = 4;
    for (std::size_t i = 0; i < std::min(m_legal.refused.size(), kMostReasons); ++i) {
        const Refusal& refusal = m_legal.refused[i];
        const QString name = textOf(refusal.json), why = QString::fromStdString(refusal.why);
        const QString written = QString::fromStdString(refusal.json) + QLatin1Char(' '); // reasons begin with what they refuse
        lines << (why.startsWith(written) ? tr("Not %1: it %2").arg(name, why.mid(written.size()))
                                          : tr("Not %1: %2").arg(name, why));
    }
    if (m_legal.refused.size() > kMostReasons)
        lines << tr("And %1 more that cannot be chosen now").arg(m_legal.refused.size() - kMostReasons);
    return plainWords(inItsWords(lines.join(QLatin1Char('\n'))));
}

void FormRow::describe()
{
    if (!isBuilt())
        return;
    const QString why = whyText();
    if (m_isExplained)
        Q_EMIT explains(why);
    setToolTip(QStringLiteral("<p>%1</p>").arg(why.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>"))));
    for (QWidget* control : m_watched)
        control->setAccessibleDescription(why);
}

FormRow* makeFormRow(const sim::Catalogue& catalogue, const ScenarioKey& key, std::string pointer)
{
    const auto facts = sim::keyFacts(catalogue, key.pointer);
    const QString what = facts ? QString::fromStdString(facts->description) : QString();
    std::vector<KeyOption> options = keyOptions(catalogue, key);
    if (!options.empty())
        return new ChoiceRow(key, std::move(pointer), what, std::move(options));
    if (std::vector<KeyOption> words = wordOptions(key); !words.empty())
        return new WordsRow(key, std::move(pointer), what, std::move(words));
    switch (facts ? facts->type : sim::KeyType::text) {
    case sim::KeyType::boolean:
        return new CheckRow(key, std::move(pointer), what);
    case sim::KeyType::integer:
    case sim::KeyType::number:
        return new NumberRow(key, std::move(pointer), what, *facts);
    default:
        return new TextRow(key, std::move(pointer), what);
    }
}

QString plainNumber(double value)
{
    constexpr double kLargest = 9e15;
    if (std::trunc(value) == value && std::fabs(value) < kLargest)
        return separated(static_cast<std::int64_t>(value));
    return QString::number(value, 'g', 12);
}

} // namespace app
