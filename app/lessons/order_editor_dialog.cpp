#include "app/lessons/order_editor_dialog.h"

#include "app/lessons/answer_input.h"
#include "app/lessons/lesson_text.h"
#include "app/shell/widgets/style.h"
#include "sim/error.h"
#include "sim/schedule/text/csv.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace app {

OrderEditorDialog::OrderEditorDialog(OrderDraft draft, const Theme& theme, QWidget* parent)
    : QDialog(parent), m_view(theme), m_canvas(new CanvasWidget(m_view)), m_goal(new QLabel), m_state(new QLabel)
{
    setWindowTitle(tr("Order Editor"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* hint = new QLabel(tr("One unit of time is drawn as a second.")); // the picture tells how actions are moved
    hint->setWordWrap(true);
    setRole(hint, "muted");
    m_canvas->setFocusPolicy(Qt::StrongFocus);
    m_canvas->setAccessibleName(tr("Order of actions"));
    m_canvas->setMinimumSize(320, 200);
    for (QLabel* label : {m_goal, m_state}) {
        label->setWordWrap(true);
        label->hide();
    }
    m_goal->setAccessibleName(tr("What is asked"));
    m_state->setTextFormat(Qt::PlainText);
    m_state->setAccessibleName(tr("What the order comes to"));
    auto* done = new QPushButton(tr("Done"));
    setRole(done, "primary");
    done->setAutoDefault(false);
    connect(done, &QPushButton::clicked, this, &QDialog::accept);
    auto* foot = new QHBoxLayout;
    foot->addWidget(m_state, 1);
    foot->addWidget(done, 0, Qt::AlignRight | Qt::AlignBottom);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_goal);
    column->addWidget(hint);
    column->addWidget(m_canvas, 1);
    column->addLayout(foot);
    m_view.setDraft(std::move(draft));
    m_told = rows();
    connect(m_canvas, &CanvasWidget::viewChanged, this, [this] {
        if (QStringList now = rows(); now != m_told) {
            m_told = std::move(now);
            tell();
            Q_EMIT orderChanged();
        }
    });
    for (const auto& [keys, command] :
         {std::pair{QKeySequence(Qt::ALT | Qt::Key_Left), ViewCommand::moveEarlier}, // as in the window
          {QKeySequence(Qt::ALT | Qt::Key_Right), ViewCommand::moveLater},
          {QKeySequence(Qt::CTRL | Qt::Key_Left), ViewCommand::moveEarlier}, // as in the lists
          {QKeySequence(Qt::CTRL | Qt::Key_Right), ViewCommand::moveLater},
          {QKeySequence(Qt::Key_Left), ViewCommand::stepLeft},
          {QKeySequence(Qt::Key_Right), ViewCommand::stepRight},
          {QKeySequence(Qt::Key_Up), ViewCommand::stepUp},
          {QKeySequence(Qt::Key_Down), ViewCommand::stepDown}}) {
        auto* action = new QAction(this);
        action->setShortcut(keys);
        connect(action, &QAction::triggered, this, [this, command = command] { m_canvas->runCommand(command); });
        addAction(action);
    }
    resize(900, 420);
    m_canvas->setFocus();
}

OrderEditorDialog::~OrderEditorDialog()
{
    delete m_canvas; // before the view that it shows
}

void OrderEditorDialog::setAsked(const sim::AskedQuestion& asked)
{
    m_asked = &asked;
    setLessonText(m_goal, QString::fromStdString(asked.text()));
    m_goal->show();
    m_state->show();
    tell();
}

void OrderEditorDialog::tell()
{
    if (m_asked == nullptr)
        return;
    sim::LessonValue lines = sim::LessonValue::array();
    for (const QString& row : rows())
        lines.push_back(row.toStdString());
    const sim::OrderOutcome outcome = m_asked->outcomeOf(lines);
    m_state->setText(outcome.unmet.empty()      ? tr("Now: %1. The goal is reached.").arg(orderText(outcome))
                     : !outcome.problem.empty() ? tr("Now: %1.").arg(orderText(outcome))
                                                : tr("Now: %1. Not yet: %2.").arg(orderText(outcome), unmetText(outcome)));
}

QStringList OrderEditorDialog::rows() const
{
    QStringList out;
    for (const auto& row : m_view.draft()->schedule().actions) {
        QStringList cells;
        for (const sim::Action& action : row)
            cells << QString::fromStdString(sim::actionText(action));
        out << cells.join(QLatin1Char(' '));
    }
    return out;
}

std::optional<OrderDraft> draftOfRows(const QStringList& rows, double forward, double input, double weight, double communication)
{
    constexpr double kUnitNs = 1e9;
    std::vector<std::string> lines;
    for (const QString& row : rows)
        lines.push_back(row.split(QLatin1Char(' '), Qt::SkipEmptyParts).join(QLatin1Char(',')).toStdString());
    try {
        sim::Schedule schedule = sim::parseScheduleCsv(lines);
        if (!sim::checkSchedule(schedule).empty() || !sim::deadlockCycle(schedule).empty())
            return std::nullopt;
        return OrderDraft(std::move(schedule), {{.forward = forward * kUnitNs,
                                                 .backwardInput = input * kUnitNs,
                                                 .backwardWeight = weight * kUnitNs,
                                                 .comm = communication * kUnitNs}});
    } catch (const sim::Error&) {
        return std::nullopt;
    }
}

} // namespace app
