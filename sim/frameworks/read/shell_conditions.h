// Conditions of a shell script: "[ … ]", "[[ … ]]", "(( … ))", and what && and || make of them where not all can be known.
#pragma once

#include "sim/frameworks/read/shell_values.h"

#include <optional>
#include <span>
#include <string>

namespace sim::frameworks {

/// "((TP > 1))", whose word the reader leaves whole.
bool isArithmeticTest(std::span<const ShellText> words);
/// The same, or "let A=1".
bool isShellCalculation(std::span<const ShellText> words);
/// Whether a command is a test: "[ a = b ]", "[[ a == b* && c ]]", "test a = b", "((TP > 1))".
bool isShellTest(std::span<const ShellText> words);
/// Whether "[[" is not closed yet: in it && and || end no command.
bool isOpenDoubleTest(std::span<const ShellText> words);
/// What a test of texts, "true" or "false" says; nothing where only running it would tell, or where a word of it is of a branch.
std::optional<bool> shellStatus(std::span<const ShellText> words);

/// Conditions that are joined by && and ||, as far as they are read: of equal rank, from left to right.
struct ShellConditions {
    std::optional<bool> isBegun{true}; ///< whether the first of them is run
    std::optional<bool> told{};
    std::string op{}, written{};

    /// Whether the next of them is run; nothing where those in front of it are not told.
    std::optional<bool> isRun() const;
    /// `status`: what the script alone says of the command.
    void take(std::span<const ShellText> words, std::optional<bool> status);
    void join(const std::string& with);
};

} // namespace sim::frameworks
