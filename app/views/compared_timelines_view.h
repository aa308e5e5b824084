// Two timelines of the same ranks on one time axis: what was predicted above, what was measured below. They zoom, pan, scroll and
// select together.
#pragma once

#include "app/views/timeline_view.h"

#include <string>

namespace app {

class ComparedTimelinesView : public View {
public:
    /// `selection`: spans in it are the lower timeline's.
    ComparedTimelinesView(Selection& selection, const Theme&);
    ~ComparedTimelinesView() override;

    struct Side {
        std::shared_ptr<const sim::Trace> trace; ///< nullptr: this side has none, and `message` says why
        std::shared_ptr<const sim::Simulation> simulation;
        std::string caption; ///< "Predicted"
        std::string note;    ///< "9.81 ms · laptop, as its catalogue entry says"
        std::string message;
    };
    void setUpper(Side);
    void setLower(Side);
    void setUpperVisible(bool);
    void setTheme(const Theme&);
    TimeRange visibleRange() const;

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
