#include "app/shell/widgets/text_habit.h"

#include <QAbstractItemView>
#include <QCoreApplication>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLabel>
#include <QRegularExpression>
#include <QToolTip>
#include <utility>

namespace app {
namespace {

/// What would be told of the place.
QString toolTipAt(const QWidget& widget, QPoint at)
{
    const auto* view = qobject_cast<const QAbstractItemView*>(widget.parentWidget());
    if (view == nullptr || view->viewport() != &widget)
        return widget.toolTip();
    if (const auto* header = qobject_cast<const QHeaderView*>(view))
        return header->model() == nullptr
                   ? QString()
                   : header->model()->headerData(header->logicalIndexAt(at), header->orientation(), Qt::ToolTipRole).toString();
    return view->indexAt(at).data(Qt::ToolTipRole).toString();
}

/// A paragraph as the program writes them: with a few tags, and pictures that stand in the text whole.
bool isOfTheProgram(const QString& text)
{
    if (!text.startsWith(QLatin1String("<p>")))
        return false;
    for (qsizetype at = text.indexOf(QLatin1Char('<')); at >= 0; at = text.indexOf(QLatin1Char('<'), at + 1)) {
        const QStringView tag = QStringView(text).mid(at, text.indexOf(QLatin1Char('>'), at) + 1 - at);
        const bool isPicture = tag.startsWith(QLatin1String("<img ")) && tag.contains(QLatin1String("src=\"data:")) &&
                               tag.count(QLatin1String("src=")) == 1;
        if (!isPicture && tag != QLatin1String("<p>") && tag != QLatin1String("</p>") && tag != QLatin1String("<b>") &&
            tag != QLatin1String("</b>") && tag != QLatin1String("<br>"))
            return false;
    }
    return true;
}

} // namespace

TextHabit::TextHabit(QObject* parent) : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool TextHabit::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Polish) { // before a label reads its text for the first time
        auto* label = qobject_cast<QLabel*>(watched);
        if (label != nullptr && label->textFormat() == Qt::AutoText && !label->inherits("QTipLabel"))
            label->setTextFormat(Qt::PlainText);
        return false;
    }
    if (event->type() != QEvent::ToolTip || !watched->isWidgetType())
        return false;
    auto& widget = *static_cast<QWidget*>(watched);
    const auto& help = static_cast<const QHelpEvent&>(*event);
    const QString text = toolTipAt(widget, help.pos());
    if (!Qt::mightBeRichText(text) || isOfTheProgram(text))
        return false;
    QToolTip::showText(help.globalPos(), Qt::convertFromPlainText(text), &widget);
    return true;
}

QString readableMarkdown(QString markdown)
{
    constexpr int kMostMarks = 1000;
    static const QRegularExpression marks(QStringLiteral("[*_\\[`<>]|[-+] |\\d[.)] "));
    int count = 0;
    for (auto match = marks.globalMatch(markdown); match.hasNext() && count <= kMostMarks; match.next())
        ++count;
    if (count <= kMostMarks)
        return markdown;
    // Escaped they would be as slow: each is a piece of text of its own then.
    static const QRegularExpression signs(QStringLiteral("[\\\\*_\\[\\]`<>#&]|(?<=[-+]) |(?<=\\d)[.)](?= )"));
    return markdown.remove(signs);
}

QString withoutHtml(QString markdown)
{
    markdown = readableMarkdown(std::move(markdown));
    return markdown.replace(QLatin1Char('<'), QStringLiteral("&lt;")).replace(QStringLiteral("!["), QStringLiteral("! ["));
}

} // namespace app
