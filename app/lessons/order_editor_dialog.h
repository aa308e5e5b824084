// The order editor beside a lesson's question: actions are dragged along their rows, and what the order costs, or why it would
// hang, is told at once.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/views/order/order_editor_view.h"
#include "sim/lesson/question.h"

#include <QDialog>
#include <QStringList>

class QLabel;

namespace app {

class OrderEditorDialog : public QDialog {
    Q_OBJECT
public:
    OrderEditorDialog(OrderDraft, const Theme&, QWidget* parent = nullptr);
    ~OrderEditorDialog() override;
    /// States what is asked, and how far the order is. It must live as long.
    void setAsked(const sim::AskedQuestion&);
    QStringList rows() const; ///< one a rank, as an answer has them
    CanvasWidget& canvas() const { return *m_canvas; }

Q_SIGNALS:
    void orderChanged();

private:
    void tell();
    OrderEditorView m_view; ///< before the canvas that shows it
    CanvasWidget* m_canvas;
    QStringList m_told;
    QLabel *m_goal, *m_state;
    const sim::AskedQuestion* m_asked = nullptr;
};

/// Of rows of actions, each pass so many units long. One unit is drawn as a second. Nothing where the order cannot run, or is
/// none.
std::optional<OrderDraft> draftOfRows(const QStringList& rows, double forward = 1, double input = 1, double weight = 1,
                                      double communication = 0);

} // namespace app
