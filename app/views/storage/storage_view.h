// What does this GPU store? For one rank every kind of tensor it has, its slice of each, and the bytes of weights, gradients and
// optimizer states under ZeRO.
#pragma once

#include "app/step/selection.h"
#include "app/views/common/step_view.h"

#include <memory>

namespace app {

class StorageView : public StepView {
public:
    StorageView(Selection& selection, const Theme& theme);
    ~StorageView() override;
    void setTheme(const Theme&) override;
    /// The row of a tensor, by its name, is brought into sight and marked; empty: none is, and what is in sight stays.
    void pointAt(const std::string& tensor);

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

protected:
    void take(const ShownStep&, PictureModelPtr) override;
    Becauses becauseOf(std::optional<Point>) const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
