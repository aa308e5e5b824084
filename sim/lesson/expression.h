// The language in which a file says what must be true of its numbers: `step_time_s < 0.9 * half.step_time_s`. Numbers, words in
// quotes, true and false, lists; names, members, indices; + - * / ^, comparisons (chained too: 0 < a < b), and, or, not; the
// functions of kFunctions. No loops, no assignment, no files: what anybody wrote may be read and evaluated. Length, depth and
// work are bounded, so it ends within milliseconds beyond what its names take.
#pragma once

#include "sim/error.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sim {

/// A value: number, word, true or false, null, list or object. The names of objects keep their order.
using LessonValue = nlohmann::ordered_json;

/// What is wrong with an expression, and from which of its characters on.
class ExpressionError : public Error {
public:
    /// "character 7: …"; `position` counts bytes from 0.
    ExpressionError(std::size_t position, const std::string& message);
    std::size_t position() const { return m_position; }

private:
    std::size_t m_position;
};

/// What the names of an expression mean. Only what an expression asks for is worked out.
class Names {
public:
    /// Nothing, a value, or names below this one. What is pointed to lives as long as these names.
    using Meaning = std::variant<std::monostate, const LessonValue*, const Names*>;

    virtual ~Names() = default;
    /// May throw Error: then the expression fails where the name stands.
    virtual Meaning find(std::string_view name) const = 0;
    /// Is there something of that name that takes arguments, such as groups(5)?
    virtual bool takesArguments(std::string_view name) const;
    virtual Meaning call(std::string_view name, std::span<const double> arguments) const;
    /// For messages: what could have been meant.
    virtual std::vector<std::string> known() const = 0;
};

class Expression {
public:
    static constexpr std::size_t kMostCharacters = 2000;
    static constexpr int kDeepest = 100;
    /// Operations and entries of lists that one evaluation may touch.
    static constexpr std::size_t kMostSteps = 2'000'000;

    /// Throws ExpressionError.
    static Expression parse(std::string_view text);

    Expression(Expression&&) noexcept;
    Expression& operator=(Expression&&) noexcept;
    ~Expression();

    /// Throws ExpressionError: for names that mean nothing, values of the wrong kind, division by zero, too much work.
    LessonValue evaluate(const Names&) const;
    const std::string& text() const { return m_text; }

    /// "step_time_s is 8.5665, 0.9 * half.step_time_s is 7.2": both sides of each comparison in it that is a comparison of what
    /// it stands for; empty where nothing can be said.
    std::string sides(const Names&) const;

    /// The outermost names that it may ask for, each as often as it stands there, with its place and what is asked of it: `half`
    /// and ".mfu" of half.mfu. Those that take arguments are not among them.
    struct NameAsked {
        std::string name;
        std::size_t position = 0;
        std::string path = {}; ///< without spaces
    };
    std::vector<NameAsked> namesAsked() const;

    struct Node;

private:
    Expression(std::string text, std::unique_ptr<Node> root);
    std::string m_text;
    std::unique_ptr<Node> m_root;
};

/// Why what is claimed is not so, with the values on both sides; nothing where it is. Throws nothing but bad_alloc: an expression
/// that cannot be read or worked out says so.
std::optional<std::string> whyNot(const std::string& claim, const Names&);

/// "8.57", "[0, 8]", "\"1f1b\"": a value as a message shows it, shortened.
std::string shownValue(const LessonValue&);

} // namespace sim
