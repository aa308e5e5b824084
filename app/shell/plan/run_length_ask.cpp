#include "app/shell/plan/run_length_ask.h"

#include "app/shell/form/token_count.h"
#include "app/shell/widgets/style.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace app {
namespace {

constexpr int kAroundPlaceholder = 24; ///< margins and frame of the field

} // namespace

RunLengthAsk::RunLengthAsk(QWidget* parent)
    : QWidget(parent), m_field(new QLineEdit), m_set(new QPushButton(tr("Set"))), m_problem(new QLabel)
{
    setFocusProxy(m_field);
    auto* title = new QLabel(tr("How many tokens does the run train?"));
    setRole(title, "strong");
    auto* why = new QLabel(tr("The scenario does not say it yet. Days and cost follow from it; the form calls it Whole run."));
    setRole(why, "muted12");
    setRole(m_problem, "error");
    for (QLabel* label : {title, why, m_problem}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    m_field->setObjectName(QStringLiteral("runTokens"));
    m_field->setPlaceholderText(tr("15 T or 400 B"));
    m_field->setAccessibleName(tr("Tokens of the whole run"));
    m_field->ensurePolished();
    m_field->setMinimumWidth(m_field->fontMetrics().horizontalAdvance(m_field->placeholderText()) + kAroundPlaceholder);
    m_field->setMaximumWidth(220);
    m_set->setObjectName(QStringLiteral("setRunTokens"));
    m_set->setAccessibleName(tr("Set the tokens of the whole run"));
    m_set->setToolTip(tr("Writes it into the scenario, as one step that can be undone"));
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(m_field, 1);
    line->addWidget(m_set);
    line->addStretch(1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 12, 12, 12);
    column->setSpacing(8);
    column->addWidget(title);
    column->addWidget(why);
    column->addLayout(line);
    column->addWidget(m_problem);
    column->addStretch(1);
    m_problem->hide();
    connect(m_field, &QLineEdit::returnPressed, this, &RunLengthAsk::take);
    connect(m_field, &QLineEdit::textEdited, m_problem, &QLabel::hide);
    connect(m_set, &QPushButton::clicked, this, &RunLengthAsk::take);
}

void RunLengthAsk::take()
{
    const QString text = m_field->text().trimmed();
    const auto tokens = typedTokenCount(text);
    const bool isNumber = tokens && *tokens > 0;
    m_problem->setText(text.isEmpty() ? tr("Type a number first: 15 T is fifteen trillion")
                                      : tr("“%1” is no number of tokens").arg(text));
    m_problem->setVisible(!isNumber);
    if (!isNumber) {
        m_field->setFocus();
        return;
    }
    m_field->clear();
    Q_EMIT said(*tokens);
}

} // namespace app
