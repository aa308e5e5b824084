// One transformer block as it runs on a rank: operators in order with the shapes that it really holds, collectives where they
// stand, forward and backward. Where all rows have no room they are lines; where lines have none either they scroll. Two selected
// ranks stand side by side. A click on a collective selects its group.
#pragma once

#include "app/step/selection.h"
#include "app/views/common/step_view.h"

#include <memory>

namespace app {

class BlockView : public StepView {
public:
    BlockView(Selection& selection, const Theme& theme);
    ~BlockView() override;
    void setTheme(const Theme&) override;

    std::string title() const override;
    std::optional<float> contentHeight(float width) override;
    std::optional<float> leastHeight(float width) override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

protected:
    void take(const ShownStep&, PictureModelPtr) override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
