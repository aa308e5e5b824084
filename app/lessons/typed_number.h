// A number as people type it, in a field.
#pragma once

#include <QString>

#include <optional>

namespace app {

struct TypedNumber {
    std::optional<double> value;
    QString problem; ///< why it is none; empty where it is one
};
/// As sim::readTypedNumber.
TypedNumber readTypedNumber(const QString& text);
/// As sim::readTypedPercent.
TypedNumber readTypedPercent(const QString& text);

} // namespace app
