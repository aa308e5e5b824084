#include "app/shell/widgets/metric_card.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QStyle>
#include <QVBoxLayout>

#include <cmath>
#include <utility>

namespace app {

MetricCard::MetricCard(const QString& title, Better better, DeltaUnit deltaUnit, QWidget* parent)
    : QFrame(parent), m_better(better), m_deltaUnit(deltaUnit), m_title(new QLabel), m_value(new QLabel), m_unit(new QLabel),
      m_delta(new QLabel), m_note(new QLabel), m_because(new QLabel(QStringLiteral("=")))
{
    setRole(this, "card");
    setRole(m_title, "small");
    setRole(m_value, "value");
    setRole(m_unit, "unit");
    setRole(m_note, "small");
    m_note->setWordWrap(true);
    m_note->hide();
    setTitle(title);
    setRole(m_because, "because");
    m_because->hide();

    auto* head = new QHBoxLayout;
    head->setSpacing(4);
    head->addWidget(m_title);
    head->addStretch();
    head->addWidget(m_delta, 0, Qt::AlignVCenter); // its frame is not stretched to what stands beside it
    head->addWidget(m_because);
    auto* line = new QHBoxLayout;
    line->setSpacing(4);
    line->addWidget(m_value, 0, Qt::AlignBaseline);
    line->addWidget(m_unit, 0, Qt::AlignBaseline);
    line->addStretch();
    m_column = new QVBoxLayout(this);
    m_column->setContentsMargins(10, 8, 8, 8);
    m_column->setSpacing(2);
    m_column->addLayout(head);
    m_column->addLayout(line);
    m_column->addWidget(m_note);
    m_column->addStretch(1); // beside a card of which more is said, title and number stay as high as its own
}

QString MetricCard::title() const
{
    return m_title->text();
}

void MetricCard::setTitle(const QString& title)
{
    m_title->setText(title);
    setAccessibleName(title);
}

void MetricCard::setValue(const Quantity& quantity)
{
    m_value->setText(quantity.number);
    m_unit->setText(quantity.unit);
    setAccessibleDescription(quantity.text());
}

void MetricCard::setNote(const QString& note, Qt::TextFormat format)
{
    m_note->setTextFormat(format);
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty());
}

void MetricCard::showChange(double before, double after)
{
    const double moved =
        m_deltaUnit == DeltaUnit::points ? (after - before) * 100 : (before != 0 ? (after / before - 1) * 100 : 0);
    if (std::fabs(moved) < 0.05 || !std::isfinite(moved)) {
        hideChange();
        return;
    }
    const QString size = m_deltaUnit == DeltaUnit::points
                             ? QString::number(std::fabs(moved), 'f', std::fabs(moved) < 9.95 ? 1 : 0) + QStringLiteral(" pts")
                             : ratioText(after / before);
    m_delta->setText((moved > 0 ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) + size);
    const bool gotBetter = (moved > 0) == (m_better == Better::higher);
    setRole(m_delta, m_better == Better::neither ? "changed" : gotBetter ? "better" : "worse");
    m_delta->show();
}

void MetricCard::setAgainst(const QString& what, bool isBaseline)
{
    m_delta->setToolTip(what);
    m_delta->setProperty("against", isBaseline ? "baseline" : "step");
    m_delta->style()->unpolish(m_delta);
    m_delta->style()->polish(m_delta);
}

void MetricCard::hideChange()
{
    m_delta->clear();
    m_delta->hide();
}

void MetricCard::addBelow(QWidget* widget)
{
    m_column->insertSpacing(m_column->count() - 1, 6); // before what stretches
    m_column->insertWidget(m_column->count() - 1, widget);
}

void MetricCard::setExplained(bool explained)
{
    setFocusPolicy(explained ? Qt::StrongFocus : Qt::NoFocus);
    setCursor(explained ? Qt::PointingHandCursor : Qt::ArrowCursor);
    setProperty("explained", explained);
    m_because->setVisible(explained);
    m_because->setToolTip(tr("Where this number comes from"));
}

void MetricCard::setTerm(const QString& term, std::function<QString()> toolTip)
{
    m_makeToolTip = std::move(toolTip);
    setToolTip({});
    m_term = term;
    m_title->setCursor(Qt::WhatsThisCursor);
    m_title->setAccessibleDescription(tr("What “%1” means").arg(term));
    m_title->removeEventFilter(this);
    m_title->installEventFilter(this);
}

bool MetricCard::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && m_makeToolTip && toolTip().isEmpty())
        setToolTip(m_makeToolTip());
    return QFrame::event(event);
}

bool MetricCard::eventFilter(QObject* of, QEvent* event)
{
    const auto underline = [this](bool on) {
        QFont font = m_title->font();
        font.setUnderline(on);
        m_title->setFont(font);
    };
    switch (event->type()) {
    case QEvent::Enter:
        underline(true);
        break;
    case QEvent::Leave:
        underline(false);
        break;
    case QEvent::MouseButtonPress: // else the card takes it for a question about the number
        return true;
    case QEvent::MouseButtonRelease:
        if (static_cast<const QMouseEvent*>(event)->button() == Qt::LeftButton)
            Q_EMIT termRequested();
        return true;
    default:
        break;
    }
    return QFrame::eventFilter(of, event);
}

void MetricCard::mousePressEvent(QMouseEvent* event)
{
    event->setAccepted(isExplained() && event->button() == Qt::LeftButton);
}

void MetricCard::mouseReleaseEvent(QMouseEvent* event)
{
    if (isExplained() && event->button() == Qt::LeftButton && rect().contains(event->position().toPoint()))
        Q_EMIT explanationRequested();
}

void MetricCard::keyPressEvent(QKeyEvent* event)
{
    const int key = event->key();
    if (isExplained() && (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space))
        Q_EMIT explanationRequested();
    else
        QFrame::keyPressEvent(event);
}

QString MetricCard::deltaText() const
{
    return m_delta->text();
}

} // namespace app
