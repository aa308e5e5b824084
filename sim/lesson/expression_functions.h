// The functions that every expression knows. Included by this folder's .cpp files only.
#pragma once

#include "sim/lesson/expression.h"

#include <vector>

namespace sim {

struct ExpressionFunction {
    std::string_view name;
    std::string_view meaning;                                        ///< for the manual: what it takes and gives
    LessonValue (*apply)(const std::vector<LessonValue>& arguments); ///< throws Error
};

std::span<const ExpressionFunction> expressionFunctions();
const ExpressionFunction* findFunction(std::string_view name);
std::vector<std::string> functionNames();

} // namespace sim
