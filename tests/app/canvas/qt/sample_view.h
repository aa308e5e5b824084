// A small view with one of everything, for tests of the canvases.
#pragma once

#include "app/canvas/view.h"

namespace test {

inline constexpr app::Color kWhite = app::Color::rgb(0xFFFFFF), kBlue = app::Color::rgb(0x0072B2),
                            kInk = app::Color::rgb(0x202020), kOrange = app::Color::rgb(0xE69F00);

inline constexpr const char* kLabel = "tp 8 × pp 16, µs → ≤ Ω";

class SampleView final : public app::View {
public:
    std::string title() const override { return "Sample"; }
    bool takesWheel() const override { return turnsByWheel; }
    bool turnsByWheel = true;
    void draw(app::Canvas& canvas) override
    {
        ++draws;
        canvas.fillRect(canvas.area(), kWhite);
        canvas.fillRect({10, 10, 40, 30}, kBlue);
        canvas.strokeRect({50, 10, 80, 30}, kInk, 2);
        canvas.strokeRect({90, 10, 130, 30}, kInk, 1, app::LineStyle::dashed);
        canvas.line({10, 40}, {130, 40}, kInk);
        canvas.line({150, 40}, {150, 60}, kInk, 3);
        canvas.line({160, 10}, {190, 40}, kInk, 1, app::LineStyle::dotted);
        canvas.polyline({{10, 70}, {40, 50}, {70, 70}, {100, 50}}, kBlue, 2);
        canvas.fillConvex({{110, 70}, {130, 70}, {120, 50}}, kInk);
        canvas.text({10, 80}, kLabel, kInk);
        canvas.text({10, 100}, "Small 0123456789", kInk, app::FontFace::small);
        canvas.text({190, 80}, "bold", kInk, app::FontFace::bold, app::Align::right);
        canvas.text({160, 100}, "0F1 0B1", kInk, app::FontFace::mono, app::Align::center);
        canvas.pushClip({10, 120, 60, 130});
        canvas.fillRect({0, 100, 200, 200}, app::Color::rgb(0xE69F00, 0.5F));
        canvas.popClip();
        if (canvas.wantsNodes()) {
            canvas.node({.id = 1, .role = "cell", .name = "blue box", .rect = {10, 10, 40, 30}, .selected = selected});
            canvas.node({.id = 2,
                         .role = "axis",
                         .name = kLabel,
                         .rect = {10, 80, 10 + canvas.textWidth(kLabel), 80 + canvas.textHeight()}});
        }
    }
    bool pointer(const app::PointerEvent& event, app::Rect area) override
    {
        lastEvent = event;
        lastArea = area;
        return answers;
    }
    bool command(app::ViewCommand command, bool fast, app::Rect) override
    {
        lastCommand = command;
        lastWasFast = fast;
        return answers;
    }
    app::CursorShape cursor() const override { return shape; }
    std::string tooltip() const override { return tip; }
    bool animating() const override { return moves; }

    int draws = 0;
    bool answers = true, selected = false, moves = false, lastWasFast = false;
    std::string tip = "tip";
    app::CursorShape shape = app::CursorShape::arrow;
    app::PointerEvent lastEvent;
    app::Rect lastArea;
    app::ViewCommand lastCommand = app::ViewCommand::clear;
};

} // namespace test
