#include "app/lessons/typed_number.h"

#include "sim/text/typed_number.h"

namespace app {

TypedNumber readTypedNumber(const QString& text)
{
    const sim::TypedNumber read = sim::readTypedNumber(text.toStdString());
    return {.value = read.value, .problem = QString::fromStdString(read.problem)};
}

TypedNumber readTypedPercent(const QString& text)
{
    const sim::TypedNumber read = sim::readTypedPercent(text.toStdString());
    return {.value = read.value, .problem = QString::fromStdString(read.problem)};
}

} // namespace app
