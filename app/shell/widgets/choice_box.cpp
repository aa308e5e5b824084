#include "app/shell/widgets/choice_box.h"

#include <QAbstractItemView>
#include <QEvent>
#include <QStyleOptionComboBox>
#include <QStylePainter>

#include <algorithm>

namespace app {
namespace {

/// Pixels that styles leave beside the text, and forget when they say how wide a box is.
constexpr int kBesideLabel = 2;

} // namespace

QSize ChoiceBox::sizeHint() const
{
    return QComboBox::sizeHint() + QSize(kBesideLabel, 0);
}

QSize ChoiceBox::minimumSizeHint() const
{
    return QComboBox::minimumSizeHint() + QSize(kBesideLabel, 0);
}

bool ChoiceBox::event(QEvent* event)
{
    const bool tellsItself = !m_what.isEmpty() || toolTip().isEmpty() || toolTip() == m_told;
    if (event->type() == QEvent::ToolTip && tellsItself) {
        m_told = QStringLiteral("<p><b>%1</b></p><p>%2</p>").arg(currentText().toHtmlEscaped(), m_what.toHtmlEscaped());
        setToolTip(m_told);
    }
    return QComboBox::event(event);
}

void ChoiceBox::showPopup()
{
    constexpr int kRoundText = 40; // padding and a scroll bar
    view()->setMinimumWidth(std::max(width(), view()->sizeHintForColumn(0) + kRoundText));
    QComboBox::showPopup();
}

void ChoiceBox::paintEvent(QPaintEvent*)
{
    QStylePainter painter(this);
    QStyleOptionComboBox option;
    initStyleOption(&option);
    painter.drawComplexControl(QStyle::CC_ComboBox, option);
    const QRect field = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
    option.currentText = fontMetrics().elidedText(option.currentText, Qt::ElideRight, field.width() - kBesideLabel);
    painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

} // namespace app
