// What variables of a shell script hold, and arithmetic on them; for the reader of scripts.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

/// Branches of which a script alone does not decide whether they are run: each arm of an if or a case is one of its own, and each
/// end of a list behind a test. They are told by their numbers, from 1; 0 is the script itself, which holds all of them.
class OpenBranches {
public:
    /// The number of another one. `line`: of the condition; `outer`: the branch that it stands in.
    int add(int line, int outer)
    {
        m_all.push_back({line, outer});
        return static_cast<int>(m_all.size());
    }
    /// 0 of the script.
    int lineOf(int branch) const { return branch == 0 ? 0 : at(branch).line; }
    /// Whether all that stands in `inner` stands in `outer`; as deep as they are in each other.
    bool holds(int outer, int inner) const
    {
        while (inner > outer) // what stands in a branch came later
            inner = at(inner).outer;
        return inner == outer;
    }

private:
    struct Branch {
        int line = 0, outer = 0;
    };
    const Branch& at(int branch) const { return m_all[static_cast<std::size_t>(branch - 1)]; }

    std::vector<Branch> m_all;
};

/// Text and the line that it was written in. Lines go on inside of it with each '\n' and each kContinuation.
struct ShellText {
    std::string text;
    int line = 0;
    int branch = 0;         ///< of OpenBranches: that it is assigned in
    bool isPattern = false; ///< has *, ? or [ that are not quoted

    bool operator==(const ShellText&) const = default;
};
/// A backslash at the end of a line inside quotes: blank, but no end of a command.
inline constexpr char kContinuation = '\x1f';
/// Text of several lines with one in place of each such end.
std::string withContinuations(std::string_view text);

inline bool isShellBlank(char c)
{
    return c == ' ' || c == '\t' || c == kContinuation;
}

struct ShellVariable {
    std::vector<ShellText> pieces{};   ///< of a scalar, one after the other
    std::vector<ShellText> elements{}; ///< of an array
    bool isArray = false;
    int branch = 0; ///< of OpenBranches: of what assigned it last, which may have left nothing in it

    bool operator==(const ShellVariable&) const = default;
};
using ShellVariables = std::map<std::string, ShellVariable, std::less<>>;

std::string joined(const ShellVariable&);
/// "[8b]=" of "[8b]=4096", an element that says its key; empty of others.
std::string_view keyOfElement(std::string_view element);
bool hasKeys(const ShellVariable&);
/// What it takes to look at all pieces, and for keys in all elements.
std::size_t costOfLook(const ShellVariable&);
/// A[key]=value: the element at a place of a list, or behind its last, or with its key.
void putElement(ShellVariable&, const std::string& key, ShellText value);

/// Where "=" stands in "name=value"; 0: it is none.
std::size_t assignedAt(std::string_view word);

inline constexpr std::size_t kLongestShellExpression = 4096;
/// "12"; nothing of what is no whole number.
std::optional<long long> wholeShellNumber(std::string_view text);
/// Takes what is read, in bytes; it may throw.
using SpendShell = std::function<void(std::size_t bytes)>;
struct ShellCalculation {
    std::string name;
    std::optional<long long> value; ///< nothing where it is not known
    std::string operands;           ///< what it is made of
};
struct ShellSum {
    std::optional<long long> value; ///< of the last of them; nothing where it is not known
    std::vector<ShellCalculation> assigned{};
};
/// "2 * (A + B)", "A > 1 && B > 1", "X = 1, Y += X++": nothing where something in it is not known, it is no arithmetic, or it
/// takes more than 10,000 factors.
ShellSum shellSum(std::string_view expressions, const ShellVariables&, const SpendShell&);
/// The value of what assigns nothing.
std::optional<long long> shellArithmetic(std::string_view expression, const ShellVariables&, const SpendShell&);

/// A variable that the script does not set stays as "${NAME}".
inline bool isUnsetText(std::string_view text)
{
    return text.find("${") != std::string_view::npos || text.find("$(") != std::string_view::npos;
}

} // namespace sim::frameworks
