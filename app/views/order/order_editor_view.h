// Puts the actions of a schedule into another order by dragging them along their rows.
#pragma once

#include "app/views/common/asked_view.h"
#include "app/views/common/theme.h"
#include "app/views/order/order_draft.h"

#include <memory>
#include <optional>

namespace app {

class OrderEditorView : public AskedView {
public:
    explicit OrderEditorView(const Theme&);
    ~OrderEditorView() override;

    /// Starts anew; nullopt ends it.
    void setDraft(std::optional<OrderDraft>);
    /// Goes on with what was moved so far, in a step that has the same actions.
    void goOn(OrderDraft);
    const OrderDraft* draft() const;
    /// Takes the last move back. False if there is none.
    bool takeBack();
    bool canTakeBack() const;
    std::optional<ActionPlace> selected() const;
    void setTheme(const Theme&);

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

protected:
    Becauses becauseOf(std::optional<Point>) const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
