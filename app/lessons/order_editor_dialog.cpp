#include "app/lessons/order_editor_dialog.h"

#include "app/shell/widgets/style.h"
#include "sim/error.h"
#include "sim/schedule/text/csv.h"

#include <QAction>
#include <QLabel>
#include <QVBoxLayout>

namespace app {

OrderEditorDialog::OrderEditorDialog(OrderDraft draft, const Theme& theme, QWidget* parent)
    : QDialog(parent), m_view(theme), m_canvas(new CanvasWidget(m_view))
{
    setWindowTitle(tr("Order Editor"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* hint =
        new QLabel(tr("Drag an action along its row; or arrows to choose one, Alt+Left and Alt+Right to move it. One unit of "
                      "time is drawn as a second."));
    hint->setWordWrap(true);
    setRole(hint, "muted");
    m_canvas->setFocusPolicy(Qt::StrongFocus);
    m_canvas->setAccessibleName(tr("Order of actions"));
    m_canvas->setMinimumSize(320, 200);
    auto* column = new QVBoxLayout(this);
    column->addWidget(hint);
    column->addWidget(m_canvas, 1);
    m_view.setDraft(std::move(draft));
    m_told = rows();
    connect(m_canvas, &CanvasWidget::viewChanged, this, [this] {
        if (QStringList now = rows(); now != m_told) {
            m_told = std::move(now);
            Q_EMIT orderChanged();
        }
    });
    for (const auto& [keys, command] : {std::pair{QKeySequence(Qt::ALT | Qt::Key_Left), ViewCommand::moveEarlier},
                                        {QKeySequence(Qt::ALT | Qt::Key_Right), ViewCommand::moveLater},
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
