// A canvas on which quantities are not told: of "peak 33.8 GiB" is drawn "peak … GiB", of "33.8 GiB" alone nothing; both are
// spoken with "…". For a picture of what somebody is just asked about. Ranks, micro-batches and other numbers without a unit
// stay: they name things.
#pragma once

#include "app/canvas/forwarding_canvas.h"

namespace app {

/// The text with the digits of every quantity (a number with a unit of time, bytes, rates, shares) taken out.
std::string withoutQuantities(std::string_view text);

/// A quantity and nothing else, such as what stands at an axis.
bool isBareQuantity(std::string_view text);

class MaskedCanvas final : public ForwardingCanvas {
public:
    using ForwardingCanvas::ForwardingCanvas;
    void text(Point at, std::string_view text, Color color, FontFace face, Align align) override
    {
        if (!isBareQuantity(text)) // an axis of "… GiB" looks broken
            ForwardingCanvas::text(at, withoutQuantities(text), color, face, align);
    }
    void node(Node node) override
    {
        node.name = withoutQuantities(node.name);
        ForwardingCanvas::node(std::move(node));
    }
};

} // namespace app
