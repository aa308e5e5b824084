#include "app/canvas/qt/canvas_accessible.h"

#include "app/canvas/qt/canvas_widget.h"

#include <QAccessibleWidget>
#include <QCoreApplication>
#include <QMouseEvent>

#include <algorithm>
#include <array>
#include <vector>

namespace app {
namespace {

QRect screenRect(const CanvasWidget& widget, Rect rect)
{
    const QRectF local(QPointF(rect.left, rect.top), QPointF(rect.right, rect.bottom));
    return {widget.mapToGlobal(local.topLeft().toPoint()), local.size().toSize()};
}

QAccessible::Role roleOf(const std::string& role)
{
    struct Entry {
        const char* name;
        QAccessible::Role role;
    };
    static constexpr std::array kRoles{Entry{"cell", QAccessible::Cell},       Entry{"row", QAccessible::Row},
                                       Entry{"span", QAccessible::ListItem},   Entry{"chip", QAccessible::Button},
                                       Entry{"button", QAccessible::Button},   Entry{"choice", QAccessible::RadioButton},
                                       Entry{"toggle", QAccessible::CheckBox}, Entry{"slider", QAccessible::Slider},
                                       Entry{"text", QAccessible::StaticText}, Entry{"number", QAccessible::Button}};
    const auto found = std::find_if(kRoles.begin(), kRoles.end(), [&](const Entry& entry) { return role == entry.name; });
    return found == kRoles.end() ? QAccessible::Graphic : found->role;
}

/// A click there, as the mouse would do it.
void click(CanvasWidget& widget, Rect rect)
{
    const QPointF at((rect.left + rect.right) / 2.0, (rect.top + rect.bottom) / 2.0);
    const QPointF global = widget.mapToGlobal(at);
    QMouseEvent move(QEvent::MouseMove, at, global, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QMouseEvent press(QEvent::MouseButtonPress, at, global, Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
    QMouseEvent release(QEvent::MouseButtonRelease, at, global, Qt::LeftButton, Qt::NoButton, Qt::NoModifier);
    for (QMouseEvent* event : {&move, &press, &release})
        QCoreApplication::sendEvent(&widget, event);
}

/// The node at a place of the list; it reads the list of the moment, so that it may outlive a frame.
class AccessibleNode final : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    AccessibleNode(CanvasWidget& widget, int index) : m_widget(&widget), m_index(index) {}

    bool isValid() const override { return node() != nullptr; }
    QObject* object() const override { return nullptr; }
    QWindow* window() const override { return m_widget->window()->windowHandle(); }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_widget); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text kind) const override
    {
        return kind == QAccessible::Name && node() != nullptr ? QString::fromStdString(node()->name) : QString();
    }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override { return node() != nullptr ? screenRect(*m_widget, node()->rect) : QRect(); }
    QAccessible::Role role() const override { return node() == nullptr ? QAccessible::NoRole : roleOf(node()->role); }
    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.focusable = true;
        state.selectable = true;
        state.selected = node() != nullptr && node()->selected;
        state.focused = state.selected && m_widget->hasFocus();
        state.checked = state.selected && (role() == QAccessible::RadioButton || role() == QAccessible::CheckBox);
        return state;
    }
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
    }
    QStringList actionNames() const override { return {pressAction()}; }
    void doAction(const QString& action) override
    {
        if (action == pressAction() && node() != nullptr)
            click(*m_widget, node()->rect);
    }
    QStringList keyBindingsForAction(const QString&) const override { return {}; }

private:
    const Node* node() const
    {
        const auto& nodes = m_widget->nodes();
        return static_cast<std::size_t>(m_index) < nodes.size() ? &nodes[static_cast<std::size_t>(m_index)] : nullptr;
    }
    CanvasWidget* m_widget;
    int m_index;
};

class AccessibleCanvas final : public QAccessibleWidget {
public:
    explicit AccessibleCanvas(CanvasWidget& widget) : QAccessibleWidget(&widget, QAccessible::Canvas) {}
    ~AccessibleCanvas() override
    {
        for (const QAccessible::Id id : m_ids)
            if (id != 0)
                QAccessible::deleteAccessibleInterface(id);
    }

    int childCount() const override { return static_cast<int>(canvas().nodes().size()); }
    QAccessibleInterface* child(int index) const override
    {
        if (index < 0 || index >= childCount())
            return nullptr;
        if (m_ids.size() <= static_cast<std::size_t>(index))
            m_ids.resize(static_cast<std::size_t>(index) + 1, 0);
        QAccessible::Id& id = m_ids[static_cast<std::size_t>(index)];
        if (id == 0)
            id = QAccessible::registerAccessibleInterface(new AccessibleNode(canvas(), index)); // QAccessible owns it
        return QAccessible::accessibleInterface(id);
    }
    QAccessibleInterface* childAt(int x, int y) const override
    {
        const QPointF local = canvas().mapFromGlobal(QPointF(x, y));
        const Point at{static_cast<float>(local.x()), static_cast<float>(local.y())};
        return last([at](const Node& node) { return node.rect.contains(at); }); // what was drawn last lies on top
    }
    QAccessibleInterface* focusChild() const override
    {
        return last([](const Node& node) { return node.selected; });
    }
    int indexOfChild(const QAccessibleInterface* child) const override
    {
        for (std::size_t i = 0; i < m_ids.size(); ++i)
            if (m_ids[i] != 0 && QAccessible::accessibleInterface(m_ids[i]) == child)
                return static_cast<int>(i);
        return -1;
    }

private:
    template <class Wanted>
    QAccessibleInterface* last(Wanted wanted) const
    {
        const auto& nodes = canvas().nodes();
        const auto found = std::find_if(nodes.rbegin(), nodes.rend(), wanted);
        return found == nodes.rend() ? nullptr : child(static_cast<int>(nodes.rend() - found) - 1);
    }
    CanvasWidget& canvas() const { return *static_cast<CanvasWidget*>(widget()); }
    mutable std::vector<QAccessible::Id> m_ids; ///< [child], 0 until asked for
};

QAccessibleInterface* makeInterface(const QString&, QObject* object)
{
    auto* canvas = qobject_cast<CanvasWidget*>(object);
    return canvas != nullptr ? new AccessibleCanvas(*canvas) : nullptr;
}

} // namespace

void installCanvasAccessibility()
{
    static const bool installed = [] {
        QAccessible::installFactory(makeInterface);
        return true;
    }();
    (void)installed;
}

void announceChange(CanvasWidget& canvas)
{
    QAccessibleEvent changed(&canvas, QAccessible::VisibleDataChanged);
    QAccessible::updateAccessibility(&changed);
    QAccessibleInterface* const tree = QAccessible::queryAccessibleInterface(&canvas);
    QAccessibleInterface* const selected = tree != nullptr && canvas.hasFocus() ? tree->focusChild() : nullptr;
    if (selected != nullptr) {
        QAccessibleEvent focus(selected, QAccessible::Focus);
        QAccessible::updateAccessibility(&focus);
    }
}

} // namespace app
