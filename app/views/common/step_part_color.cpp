#include "app/views/common/step_part_color.h"

#include "app/views/common/color.h"
#include "sim/simulate/action_class.h"

namespace app {

Color fillOf(sim::StepPart part, const Theme& theme)
{
    if (const auto dimension = sim::dimensionOfPart(part))
        return theme.fill(sim::opClassOf(*dimension));
    switch (part) {
    case sim::StepPart::recomputation:
        return theme.fill(sim::OpClass::recompute);
    case sim::StepPart::optimizer:
        return theme.fill(sim::OpClass::optimizer);
    case sim::StepPart::host:
        return theme.fill(sim::OpClass::hostTransfer);
    case sim::StepPart::bubble:
        return mix(theme.canvas, theme.text, theme.dark ? 0.24F : 0.17F);
    default:
        return mix(theme.canvas, theme.text, theme.dark ? 0.62F : 0.55F); // computing: all passes together
    }
}

} // namespace app
