#include "app/shell/window/drawn_terms.h"

#include "app/canvas/qt/canvas_widget.h"

#include <QAbstractItemView>
#include <QCursor>
#include <QHeaderView>

#include <algorithm>
#include <array>

namespace app {
namespace {

/// Parts of a picture that are words of the screen; ranks, spans and cells are things, not words.
bool isWord(const Node& node)
{
    constexpr std::array kRoles{"class", "choice", "purpose", "legend", "heading", "bar", "toggle"};
    return std::any_of(kRoles.begin(), kRoles.end(), [&](const char* role) { return node.role == role; });
}

QStringList wordsOf(const CanvasWidget& canvas, QPoint global)
{
    const QPointF local = canvas.mapFromGlobal(QPointF(global));
    const Point at{static_cast<float>(local.x()), static_cast<float>(local.y())};
    QStringList out;
    const std::vector<Node>& nodes = canvas.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) // what was drawn last lies on top
        if (isWord(*node) && node->rect.contains(at))
            out << QString::fromStdString(node->name);
    return out;
}

QStringList wordsOf(const QHeaderView& header, QPoint global)
{
    const int section = header.logicalIndexAt(header.viewport()->mapFromGlobal(global));
    return section < 0 || header.model() == nullptr
               ? QStringList()
               : QStringList(header.model()->headerData(section, header.orientation()).toString());
}

/// A cell: itself, what its row is, what its column is.
QStringList wordsOf(const QAbstractItemView& table, const QModelIndex& index)
{
    return index.isValid() ? QStringList{index.data().toString(), index.siblingAtColumn(0).data().toString(),
                                         table.model()->headerData(index.column(), Qt::Horizontal).toString()}
                           : QStringList();
}

} // namespace

QStringList drawnWordsAt(const QWidget& window, QPoint global)
{
    for (const QWidget* at = window.childAt(window.mapFromGlobal(global)); at != nullptr; at = at->parentWidget()) {
        if (const auto* canvas = qobject_cast<const CanvasWidget*>(at))
            return wordsOf(*canvas, global);
        if (const auto* header = qobject_cast<const QHeaderView*>(at))
            return wordsOf(*header, global);
        if (const auto* table = qobject_cast<const QAbstractItemView*>(at))
            return wordsOf(*table, table->indexAt(table->viewport()->mapFromGlobal(global)));
    }
    return {};
}

QStringList focusedWords(const QWidget& focused)
{
    if (const auto* canvas = qobject_cast<const CanvasWidget*>(&focused)) {
        QStringList out = canvas->underMouse() ? wordsOf(*canvas, QCursor::pos()) : QStringList();
        for (const Node& node : canvas->nodes())
            if (node.role == "choice" && node.selected)
                out << QString::fromStdString(node.name);
        return out;
    }
    if (const auto* table = qobject_cast<const QAbstractItemView*>(&focused))
        return wordsOf(*table, table->currentIndex());
    return {};
}

} // namespace app
