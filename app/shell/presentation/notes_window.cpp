#include "app/shell/presentation/notes_window.h"

#include "app/shell/presentation/presentation.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/text_habit.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace app {
namespace {

constexpr int kNotesText = 20, kSmallText = 16; ///< logical pixels: read at arm's length, standing
constexpr int kTickMs = 10'000;

} // namespace

NotesWindow::NotesWindow(Presentation& presentation)
    : QWidget(&presentation, Qt::Window), m_presentation(presentation), m_place(new QLabel), m_time(new QLabel),
      m_next(new QLabel), m_notes(new QTextBrowser)
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Notes – Rankscope"));
    setAccessibleName(tr("Notes of the presentation"));
    resize(900, 640);
    m_place->setAccessibleName(tr("Slide"));
    m_time->setAccessibleName(tr("Time taken"));
    m_notes->setAccessibleName(tr("Notes"));
    m_notes->setFrameShape(QFrame::NoFrame);
    m_notes->setOpenLinks(false);
    m_notes->installEventFilter(this);
    m_next->setWordWrap(true);
    m_next->setTextFormat(Qt::PlainText);
    m_next->setAccessibleName(tr("Next"));
    setRole(m_next, "muted");
    auto* keys =
        new QLabel(tr("PageDown, PageUp: next, back · A: ask the room · B: black · S: spot · 1 … 9: pictures · Esc: end"));
    keys->setWordWrap(true);
    setRole(keys, "muted");
    const auto sized = [](QWidget& widget, int pixels) { widget.setStyleSheet(QStringLiteral("font-size: %1px;").arg(pixels)); };
    for (QLabel* label : {m_place, m_time, m_next})
        sized(*label, kSmallText);
    sized(*m_notes, kNotesText);
    auto* head = new QHBoxLayout;
    head->addWidget(m_place);
    head->addStretch();
    head->addWidget(m_time);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 18, 24, 18);
    column->setSpacing(12);
    column->addLayout(head);
    column->addWidget(m_notes, 1);
    column->addWidget(m_next);
    column->addWidget(keys);
    m_since.start();
    connect(&m_tick, &QTimer::timeout, this, &NotesWindow::tellTime);
    m_tick.start(kTickMs);
    tellTime();
}

void NotesWindow::tellTime()
{
    constexpr qint64 kMinuteMs = 60'000;
    const qint64 minutes = m_since.elapsed() / kMinuteMs;
    m_time->setText(minutes == 1 ? tr("1 minute") : tr("%1 minutes").arg(minutes));
}

void NotesWindow::tell(const QString& place, const QString& notesMarkdown, const QString& next)
{
    m_place->setText(place);
    m_notes->setMarkdown(withoutHtml(notesMarkdown)); // words of a file from anywhere
    m_next->setText(next.isEmpty() ? tr("This is the last one.") : tr("Next: %1").arg(next));
}

QString NotesWindow::text() const
{
    return QStringList{m_place->text(), m_notes->toPlainText(), m_next->text()}.join(QLatin1Char('\n'));
}

void NotesWindow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_N || event->key() == Qt::Key_Escape)
        return static_cast<void>(close());
    QKeyEvent passed(event->type(), event->key(), event->modifiers(), event->text());
    QCoreApplication::sendEvent(&m_presentation, &passed);
}

bool NotesWindow::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::KeyPress)
        return QWidget::eventFilter(watched, event);
    keyPressEvent(static_cast<QKeyEvent*>(event));
    return true;
}

} // namespace app
