// Tokens of a whole run as people say and type them: "15 T", "400 B".
#pragma once

#include <QString>

#include <optional>

namespace app {

/// In trillions, billions or millions where few digits say it exactly; else all its digits.
QString tokenCountText(double tokens);
/// "15T", "15 T", "15 trillion tokens", "1.5e13", "400B", "15,000,000,000,000"; nothing for what is none.
std::optional<double> typedTokenCount(const QString&);

} // namespace app
