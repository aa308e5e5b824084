// Words of a shell script: quotes, and what $NAME, ${NAME…}, $((…)) stand for, from the script's own assignments. What runs or
// comes from elsewhere stays as it is written. The lower half of the reader of scripts (shell_reader.h): shell_words.cpp,
// shell_expansions.cpp, shell_printed.cpp.
#pragma once

#include "sim/frameworks/read/shell_values.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim::frameworks {

class ShellWords {
protected:
    virtual ~ShellWords() = default;
    /// Whether what is read now is in a branch that is not taken: it assigns nothing.
    virtual bool skipping() const = 0;
    /// The innermost branch that is read now of those that the script does not decide; 0: what is read is run in any case.
    virtual int openBranch() const = 0;
    /// Gives a variable a value: "${NAME:=text}", "$((NAME++))".
    virtual void assignText(const std::string& name, ShellText value) = 0;
    /// Throws Error with the place that is read.
    [[noreturn]] virtual void fail(const std::string& message) const = 0;

    char peek(std::size_t ahead = 0) const { return m_at + ahead < m_text->size() ? (*m_text)[m_at + ahead] : '\n'; }
    bool atEnd() const { return m_at >= m_text->size(); }
    char next()
    {
        const char c = (*m_text)[m_at++];
        if (c == '\n' || c == kContinuation)
            ++m_line;
        return c;
    }
    /// Blanks and continued lines.
    void blanks()
    {
        while (!atEnd()) {
            if (isShellBlank(peek()))
                next();
            else if (peek() == '\\' && peek(1) == '\n') {
                next();
                next();
            } else
                return;
        }
    }

    /// What stands here up to a blank or an operator, expanded: none, one or, of arrays and split variables, several words.
    std::vector<ShellText> word();
    /// The same as the value of an assignment: not split, each piece with its line.
    std::vector<ShellText> wordPieces();
    /// Text with its expansions, nothing else of it changed: here-documents, defaults.
    std::string expandedText(const std::string& text, int line, int depth = 0);

    const std::string* m_text = nullptr;
    std::size_t m_at = 0;
    int m_line = 1;
    ShellVariables m_variables;
    /// Names that only branches which are passed over assign: nothing, where they are no variables of the environment.
    std::set<std::string, std::less<>> m_assignedElsewhere;
    int m_unclosed = 0; ///< line of a quote that the script does not close; 0: all are

    OpenBranches m_openBranches;
    /// Whether a value of a branch is decided where it is read now: in that branch, or in one that stands in it.
    bool isDecided(int branch) const { return branch == 0 || m_openBranches.holds(branch, openBranch()); }
    /// Of two branches, both of which a value comes from, the one that leaves more open here.
    int moreOpen(int a, int b) const;
    /// The branch that the variables which a text names leave open. `isSum`: names stand in it without "$".
    int branchOf(std::string_view written, bool isSum = false);

    /// What sums of a text assign, which hang on a branch: nothing where it is passed over.
    void assignSums(const ShellSum& sum, int line, int branch);
    bool m_ranOther = false; ///< a "$(…)" was read whose output and end are not known

    /// What stands in the brackets of "A[key]", without quotes.
    std::string keyText(const std::string& written, int line, int depth = 0);

    /// What is in "$@", of m_variables.
    static constexpr const char* kArguments = "@";
    /// Fails where all that is expanded or looked at has become too much.
    void spend(std::size_t bytes);
    SpendShell spender()
    {
        return [this](std::size_t bytes) { spend(bytes); };
    }

private:
    /// A part of a word; what is not quoted is split at blanks when it comes from a variable.
    struct Part {
        std::vector<ShellText> texts;
        bool isSplit = false;   ///< at blanks
        bool areWords = false;  ///< each text is a word of its own: "${ARRAY[@]}"
        bool isPattern = false; ///< has *, ? or [ that are not quoted
    };

    std::vector<Part> parts();
    void quoted(std::vector<Part>& out);
    /// $NAME, ${NAME…}, $((…)), $(…), `…`.
    void expansion(std::vector<Part>& out, bool isQuoted, int depth);
    enum class Elements : std::uint8_t {
        first,  ///< "$ARRAY", "${ARRAY[0]}"
        words,  ///< "${ARRAY[@]}": in quotes as many words as there are
        joined, ///< "${ARRAY[*]}": in quotes one word of all, with blanks between
    };
    void variable(const std::string& name, const std::string& asWritten, int line, std::vector<Part>& out, bool isQuoted,
                  Elements);
    void braced(const std::string& inside, int line, std::vector<Part>& out, bool isQuoted, int depth);
    /// The element that "${A[index]}" names, by its place, from the end where that is negative, or by its key; nothing where the
    /// script alone does not say which it is.
    std::optional<ShellText> elementOf(const ShellVariable&, const std::string& index, int line, int depth);
    /// Whether each of these is what the script alone says, and so one word.
    bool areDecided(std::span<const ShellText> texts) const;
    /// What $(…) says where it is text or a sum: "$(echo a b)", "$(cat <<EOF …)", "$(expr 2 + 2)"; nothing where something would
    /// have to run.
    std::optional<ShellText> printedBy(const std::string& command, int line, int depth);

    std::size_t m_spent = 0; ///< bytes that expansions took, and values that were looked at
};

} // namespace sim::frameworks
