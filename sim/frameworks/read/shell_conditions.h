// Conditions of a shell script: "[ … ]", "[[ … ]]", "(( … ))", and what && and || make of them where not all can be known.
#pragma once

#include "sim/frameworks/read/shell_values.h"

#include <optional>
#include <span>
#include <string>

namespace sim::frameworks {

/// "((TP > 1))", whose word the reader leaves whole.
bool isArithmeticTest(std::span<const ShellText> words);
/// Whether a command is a test: "[ a = b ]", "[[ a == b* && c ]]", "test a = b", "((TP > 1))".
bool isShellTest(std::span<const ShellText> words);
/// Whether "[[" is not closed yet: in it && and || end no command.
bool isOpenDoubleTest(std::span<const ShellText> words);
/// What a test, "true" or "false" says; nothing where only running it would tell, or where a word of it is of a branch.
std::optional<bool> shellStatus(std::span<const ShellText> words, const ShellVariables&, const SpendShell&);

/// Conditions that are joined by && and ||, as far as they are read: of equal rank, from left to right.
struct ShellConditions {
    std::optional<bool> told{};
    std::string op{}, written{};

    /// `status`: what the script alone says of the command.
    void take(std::span<const ShellText> words, std::optional<bool> status);
    void join(const std::string& with);
};

} // namespace sim::frameworks
