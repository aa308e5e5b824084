#include "app/shell/widgets/fold_section.h"

#include "app/shell/widgets/style.h"

#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>

namespace app {
namespace {

constexpr int kHeight = 26, kGutter = 14, kFoldGap = 8;

QFont titleFont()
{
    return uiFont(11, QFont::DemiBold);
}

} // namespace

FoldHeader::FoldHeader(const QString& title, QWidget* parent) : QAbstractButton(parent)
{
    setText(title);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    describe();
}

QSize FoldHeader::sizeHint() const
{
    return {kGutter + QFontMetrics(titleFont()).horizontalAdvance(text()) + 100, kHeight};
}

void FoldHeader::setSummary(const QStringList& parts)
{
    if (parts == m_parts)
        return;
    m_parts = parts;
    describe();
}

void FoldHeader::setMarked(bool on)
{
    if (on == m_isMarked)
        return;
    m_isMarked = on;
    describe();
}

void FoldHeader::setOpen(bool on)
{
    if (on == m_isOpen)
        return;
    m_isOpen = on;
    describe();
}

void FoldHeader::describe()
{
    const QString summary = m_parts.join(QStringLiteral(" · "));
    setAccessibleName(text());
    QStringList said{m_isOpen ? tr("unfolded") : tr("folded")};
    if (!summary.isEmpty())
        said << summary;
    if (m_isMarked)
        said << tr("changed since the file");
    setAccessibleDescription(said.join(QStringLiteral(", ")));
    setToolTip(summary.isEmpty() ? QString() : QStringLiteral("<p>%1</p>").arg(summary.toHtmlEscaped()));
    update();
}

void FoldHeader::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor muted = palette().color(QPalette::PlaceholderText), accent = palette().color(QPalette::Highlight);
    const qreal middle = height() / 2.0;
    QPainterPath arrow;
    if (m_isOpen)
        arrow.moveTo(1, middle - 1.5), arrow.lineTo(4.5, middle + 2), arrow.lineTo(8, middle - 1.5);
    else
        arrow.moveTo(3, middle - 3.5), arrow.lineTo(6.5, middle), arrow.lineTo(3, middle + 3.5);
    painter.setPen(QPen(hasFocus() || underMouse() ? accent : muted, 1.5));
    painter.drawPath(arrow);

    painter.setFont(titleFont());
    painter.setPen(hasFocus() || underMouse() ? accent : muted);
    const int titleWidth = painter.fontMetrics().horizontalAdvance(text());
    painter.drawText(QRect(kGutter, 0, titleWidth + 1, height()), Qt::AlignVCenter | Qt::AlignLeft, text());
    if (hasFocus()) { // not by its colour alone
        constexpr qreal kAround = 4, kInset = 2.5;
        painter.drawRoundedRect(QRectF(kGutter - kAround, kInset, titleWidth + 2 * kAround, height() - 2 * kInset), 4, 4);
    }
    int left = kGutter + titleWidth + kFoldGap;
    if (m_isMarked) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(accent);
        painter.drawEllipse(QPointF(left, middle), 2.5, 2.5);
        left += kFoldGap;
    }
    if (!m_isOpen) {
        painter.setFont(uiFont(11));
        painter.setPen(muted);
        const QString dot = QStringLiteral(" · ");
        QString shown;
        for (const QString& part : m_parts) {
            const QString longer = shown.isEmpty() ? part : shown + dot + part;
            if (painter.fontMetrics().horizontalAdvance(longer) > width() - left)
                break;
            shown = longer;
        }
        painter.drawText(QRect(left, 0, width() - left, height()), Qt::AlignVCenter | Qt::AlignRight, shown);
    }
}

void FoldHeader::keyPressEvent(QKeyEvent* event)
{
    const bool opens = event->key() == Qt::Key_Right && !m_isOpen, closes = event->key() == Qt::Key_Left && m_isOpen;
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || opens || closes)
        click();
    else
        QAbstractButton::keyPressEvent(event);
}

FoldSection::FoldSection(const QString& title, bool isOpen, QWidget* parent)
    : QWidget(parent), m_header(new FoldHeader(title)), m_content(new QWidget), m_unplaced(m_content),
      m_column(new QVBoxLayout(m_content)), m_isOpen(isOpen)
{
    m_column->setContentsMargins(0, 0, 0, 6);
    m_column->setSpacing(6);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addWidget(m_header);
    connect(m_header, &QAbstractButton::clicked, this, [this] {
        setOpen(!m_isOpen);
        Q_EMIT toggled();
    });
    refresh();
}

void FoldSection::setOpen(bool on)
{
    m_isOpen = on;
    refresh();
}

void FoldSection::setForcedOpen(bool on)
{
    m_isForced = on;
    refresh();
}

void FoldSection::refresh()
{
    const bool isOpen = m_isOpen || m_isForced;
    m_header->setOpen(isOpen);
    if (isOpen && m_unplaced) {
        layout()->addWidget(m_unplaced.release());
        Q_EMIT placed();
    }
    if (!m_unplaced)
        m_content->setVisible(isOpen);
}

} // namespace app
