// Sizes that all views share.
#pragma once

namespace app {

inline constexpr float kMargin = 12;    ///< between a view's edge and what it shows
inline constexpr float kDragPixels = 3; ///< a press that moves less is a click

} // namespace app
