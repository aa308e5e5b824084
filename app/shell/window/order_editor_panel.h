// The order editor with its buttons: stands where the timeline is while an order is edited.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/views/order/order_editor_view.h"

#include <QWidget>

class QPushButton;

namespace app {

class OrderEditorPanel : public QWidget {
    Q_OBJECT
public:
    explicit OrderEditorPanel(Renderer, QWidget* parent = nullptr);
    ~OrderEditorPanel() override;

    void start(OrderDraft);
    const OrderDraft* draft() const { return m_view.draft(); }
    void takeBack();
    void setTheme(const Theme&);
    CanvasWidget& canvas() const { return *m_canvas; }
    QPushButton* saveButton() const { return m_save; }

Q_SIGNALS:
    void saved(); ///< the order of draft() shall be the scenario's
    void cancelled();

private:
    void refresh();

    OrderEditorView m_view; ///< before the canvas that shows it
    CanvasWidget* m_canvas;
    QPushButton *m_save, *m_takeBack;
};

} // namespace app
