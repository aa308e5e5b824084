// The tree that an expression is read into. Included by this folder's .cpp files only.
#pragma once

#include "sim/lesson/expression.h"

namespace sim {

enum class ExpressionKind : std::uint8_t {
    literal,  ///< value
    list,     ///< of its parts
    name,     ///< text
    member,   ///< of part 0: text
    index,    ///< part 0 [ part 1 ]
    call,     ///< text( parts ); where isOfPart, of part 0: half.groups( other parts )
    negative, ///< of part 0
    negation, ///< not part 0
    both,     ///< part 0 and part 1
    either,   ///< part 0 or part 1
    compare,  ///< parts with operators between them: text holds one letter each, of kComparisons
    combine   ///< part 0 and part 1 by the operator in text: + - * / ^
};

struct Expression::Node {
    ExpressionKind kind = ExpressionKind::literal;
    std::size_t begin = 0, end = 0; ///< in the expression's text
    std::string text = {};
    LessonValue value = {};
    std::vector<Node> parts = {};
    bool isOfPart = false;
};

/// How comparisons are written, and the letter that stands for each in a node.
inline constexpr std::string_view kComparisonLetters = "lLgGen"; // < <= > >= == !=

} // namespace sim
