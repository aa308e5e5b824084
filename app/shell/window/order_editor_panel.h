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

    /// Of the schedule that was edited last, and was neither saved nor given up: with what was moved so far.
    void start(OrderDraft);
    /// What was moved is not part of the scenario.
    bool hasMoves() const { return draft() != nullptr && draft()->isChanged(); }
    bool canTakeBack() const { return m_view.canTakeBack(); }
    void giveUp(); ///< what was moved
    const OrderDraft* draft() const { return m_view.draft(); }
    void takeBack();
    void setTheme(const Theme&);
    CanvasWidget& canvas() const { return *m_canvas; }
    QPushButton* saveButton() const { return m_save; }

protected:
    void resizeEvent(QResizeEvent*) override;

Q_SIGNALS:
    void saved(); ///< the order of draft() shall be the scenario's
    void cancelled();
    void moved(); ///< or taken back

private:
    void refresh();

    OrderEditorView m_view; ///< before the canvas that shows it
    CanvasWidget* m_canvas;
    QPushButton *m_save, *m_takeBack, *m_cancel;
    QWidget* m_title = nullptr;
};

} // namespace app
