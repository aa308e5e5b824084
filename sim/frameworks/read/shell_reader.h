// The reader of scripts, of its own files alone: shell.cpp (files, and what is made of all), shell_statements.cpp (lists,
// groups), shell_branches.cpp (if, case, loops), shell_redirections.cpp, shell_commands.cpp (assignments, what commands do),
// shell_scopes.cpp (what assignments change and what comes back), shell_functions.cpp (functions, their arguments).
#pragma once

#include "sim/frameworks/read/setting.h"
#include "sim/frameworks/read/shell_conditions.h"
#include "sim/frameworks/read/shell_flags.h"
#include "sim/frameworks/read/shell_started.h"
#include "sim/frameworks/read/shell_words.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sim::frameworks {

class ShellReader final : ShellWords {
public:
    explicit ShellReader(std::span<OtherFile> others = {}) : m_others(others) {}

    /// All of a file, whose lines count on behind those of the files before it.
    void readFile(const std::string& name, const std::string& text, int level);
    Sheet take();
    Sheet takeAssignments();

private:
    struct File {
        int before = 0; ///< lines of the files in front of it
        std::string name{};
    };
    struct Branch {
        bool isOn = true;      ///< statements of this branch count
        bool wasTaken = false; ///< so no later branch is
        bool isKnown = true;   ///< the conditions so far could be told
        bool isCase = false;   ///< of a "case": a pattern stands in front of each of its branches
        bool isAtPattern = false;
        bool fallsOn = false;   ///< ";&": the next arm is run as this one is
        bool carriesOn = false; ///< ";&" and ";;&": the next arm begins with what this one assigned
        bool isLoop = false;
        bool mayBePassed = false;  ///< a loop that may not run once
        bool mayHaveEnded = false; ///< a "return" of which the script does not tell stands in front of what is read now
        bool hasEnded = false;     ///< of a subshell: one of which it does
        bool isPiped = false;      ///< stands behind "|"
        std::string subject{};
        int line = 0;                    ///< of the condition
        int outer = 0;                   ///< of OpenBranches: that it stands in
        int open = 0;                    ///< the one that is read now: where the conditions are known the outer one
        bool isGroup = false;            ///< "{ …; }" behind && or ||, or of a function, or "( … )"
        bool isSubshell = false;         ///< "( … )"
        bool isOfFailure = false;        ///< a group behind a command that is taken to end well, and "||"
        std::size_t scopes = 0;          ///< that were open in front of it: the place of its own, where it has one
        std::optional<bool> before = {}; ///< of a group that is passed over: the status that goes on behind it
        std::string function{};          ///< its name; empty: it is none
        std::size_t start = 0;           ///< of its body, which is run where it is called
    };
    enum class ScopeOf : std::uint8_t {
        function,  ///< what is local to it is undone at its end
        subshell,  ///< all is
        construct, ///< a branch, a loop, a group: nothing is, where it turns out to be no part of a pipe
    };
    struct Scope {
        ScopeOf of = ScopeOf::function;
        std::map<std::string, std::optional<ShellVariable>> before{}; ///< nothing where there was no variable
        std::map<std::string, ShellVariable> ofArms{}; ///< of a construct: what arms gave that were read before this one
    };
    struct HereDocument {
        std::string delimiter;
        bool isQuoted = false;
        bool isScript = false; ///< for a shell
    };
    struct Function {
        std::string body;
        int line = 0;
        bool isCalled = false;
        bool isRun = false;  ///< at this moment
        bool isTold = false; ///< that a call of it is passed over
    };

    // Files, and what is told of them.
    const File& fileOf(int line) const;
    std::string lineInFile(int line) const;
    [[noreturn]] void fail(const std::string& message) const override;
    void tell(const std::string& spelled, const std::string& value, int line, const std::string& why);
    /// The sheet, each line of its own file.
    Sheet placed();
    /// What is open at the end of a text that is run ends there: branches, here-documents. All of it is as unsure as it itself.
    void script(const std::string& text, int line, int level);
    void comment();

    // Statements.
    /// One command, with assignments in front of it, to the end of its line or to an operator.
    void statement();
    /// ";;", ";&" and ";;&" of a "case".
    void endArm();
    /// `openTest`: line of the test in front of the operator where that cannot be told; 0: it is told, or is none.
    void operatorAfter(std::optional<bool> outcome, int openTest, bool wasSkipped);
    /// A branch, a loop or a group begins here.
    void begin(Branch branch);
    /// It ends: what it assigned is kept or undone at the end of the statement.
    Branch popBranch();
    /// Whether a single "|" or "&" stands here.
    bool isPipeAhead() const;
    /// What stands behind && or || in braces or brackets is run or passed over as a whole.
    void openGroup(int line, bool isSubshell);
    std::optional<bool> closeGroup();
    std::optional<bool> closeSubshell();
    /// Closes the innermost branch, a group; what the list that it stands in knows behind it.
    std::optional<bool> endGroup();
    bool isInSubshell() const;
    bool skipping() const override;
    int openBranch() const override;
    /// The next arm of an if or a case begins.
    void beginArm(Branch& branch);
    /// It begins with what stood in front of the branch: an arm is not run behind another one.
    void nextArm(const Branch& branch);
    /// Whether a pattern of "case" is that of its subject; from one on that is not told here none of its branches is.
    bool isPatternOf(Branch& branch, const std::string& pattern);
    /// "a | b*)" in front of a branch of "case"; false at its end.
    bool casePattern();
    /// At && or || in "[[" or behind one of the conditions.
    void joinCondition(ShellConditions& conditions, std::vector<ShellText>& words);
    /// What a command says that is a test or a sum; nothing where a value in it is of a branch, unless it stands in that branch
    /// itself. `isRun`: what a sum assigns counts; nothing: it may.
    std::optional<bool> statusOf(std::span<const ShellText> words, std::optional<bool> isRun);
    /// The same of "((X += 1))" and let.
    std::optional<bool> calculate(std::span<const ShellText> words, std::optional<bool> isRun);
    /// `isPassedOver`: all that it begins is.
    std::optional<bool> condition(const std::string& keyword, ShellConditions& conditions, const std::vector<ShellText>& words,
                                  int line, bool isPassedOver);
    void closeBranch(const std::string& text);
    /// "((I = 0; I < N; I++))" of a loop.
    ShellText countingLoop();
    /// "for NAME in WORDS" is read once, with the first; of "case" the branch that is meant, or all where nobody can tell.
    void loop(const std::string& keyword, int line);
    bool redirection();
    void hereDocuments();
    /// What a process of its own runs, or a script of one.
    void apart(const std::function<void()>& run);
    void readDeepSpeed(const std::string& json, const std::string& delimiter, int line);

    // Commands.
    /// Length of "[key]" at a place ahead; 0: there is none.
    std::size_t lengthOfKey(std::size_t ahead) const;
    struct Assigned {
        std::string name;
        std::optional<ShellVariable> before{}; ///< nothing where there was no variable
        bool isExported = false;               ///< for as long as it stands in front of a command
    };
    /// NAME=value, NAME+=value, NAME=( … ), NAME[key]=value: the name; empty: none stands here. `before`: takes what it replaces,
    /// where the statement goes on behind it.
    std::string assignment(bool isLocal, std::vector<Assigned>& before);
    /// Whether the statement ends behind what was read of it, and is no part of a list.
    bool isEndAhead() const;
    void remember(std::vector<Assigned>& before, const std::string& name);
    /// What is assigned now and what was before.
    void changePlaces(Assigned&);
    /// What stands in front of a command is that one's alone, and of those from `from` on, which it started.
    void endAssigned(std::vector<Assigned>& before, std::size_t from);
    void assignText(const std::string& name, ShellText value) override;
    void assign(const std::string& name, ShellVariable value, bool isMore = false, const std::string& key = {});
    /// For a copy of a variable.
    void spendOn(const ShellVariable&);
    /// A variable, which is none then.
    std::optional<ShellVariable> takeVariable(const std::string& name);
    void putBack(const std::string& name, std::optional<ShellVariable> value);
    /// A variable comes back at the end of a scope as it is now.
    void keepFor(Scope& scope, const std::string& name);
    /// Of the function that is run.
    void keepLocal(const std::string& name);
    void closeScopes(std::size_t left);
    /// The scopes of a construct that ended in this statement.
    void endConstruct(bool isApart);
    /// Names of variables that a command empties or fills from outside.
    void assignUnknown(std::span<const ShellText> words);
    std::optional<bool> command(std::vector<ShellText> words);
    /// "source FILE": one that is given beside this one is run; another is told, for what it sets is not known.
    void runFile(const std::vector<ShellText>& words);
    /// The file beside this one that a path means; null: none, or not any more.
    OtherFile* otherOf(std::string_view path);
    /// "bash FILE", "./FILE": a process that has exported variables alone.
    void runScript(OtherFile& other, std::span<const ShellText> arguments);
    /// A function or a file that is sourced ends here, or may.
    std::optional<bool> leave(std::span<const ShellText> words);
    /// Ends the innermost subshell or the script, where it is run in any case. In front of the first command a script checks what
    /// it was given, and one that nothing is given to would end there.
    void endScript();
    /// Whether what is read now is run only where a command fails of which the script does not tell: "cd DIR || exit".
    bool isBehindFailure() const;
    /// Runs what a command starts: a function, or a text in quotes. False: it starts nothing.
    bool runStarted(const std::vector<ShellText>& words);
    /// Of bash -c "torchrun … ${ARGS[@]}" all elements but the first are arguments of the shell, and none of what it starts.
    void tellBehindText(const std::vector<ShellText>& words, const ShellStart& start);

    // Functions.
    static bool isFunction(const Branch& branch) { return !branch.function.empty(); }
    /// NAME of "NAME()", "NAME () {" and "function NAME {"; empty: it is none.
    static std::string functionOf(std::span<const ShellText> words);
    void openFunction(const std::string& name);
    /// A function that nothing closes is read where it stands, and all behind it are.
    bool reopenFunction();
    void setArguments(std::vector<ShellText> arguments);
    /// False: no function has that name.
    bool call(const std::string& name, std::span<const ShellText> arguments);
    /// Functions that are started in a way that is not seen, for what they say more than all that is.
    void runUncalled();

    static constexpr std::size_t kMostFilesRun = 100;
    static constexpr int kDeepestText = 4; ///< of files, functions and quoted commands in each other
    std::span<OtherFile> m_others;
    std::vector<File> m_files; ///< that are read, in the order of their lines
    int m_linesOfFiles = 0;
    int m_level = 0;
    std::size_t m_called = 0; ///< bytes of functions that were run
    bool m_skipsNext = false;
    std::optional<bool> m_status;                   ///< of the list so far: of "A && X=1" in front of "|| X=2"
    std::optional<bool> m_lastStatus;               ///< of the last statement that was run
    bool m_lastIsOpen = false;                      ///< it is one of which the script alone does not tell
    bool m_behindFailure = false;                   ///< the next statement is run where such a command fails
    bool m_behindPipe = false;                      ///< "|" stands in front of the next statement
    bool m_inPipe = false;                          ///< "|" stands in front of this one
    std::optional<std::size_t> m_closedFrom;        ///< scopes of a construct that ended in this statement
    bool m_closedInPipe = false;                    ///< it stands behind "|"
    std::vector<Assigned>* m_ofStatement = nullptr; ///< takes what words of the statement replace: "$((X++))"
    std::vector<Assigned> m_ofList;                 ///< what the list that is read has replaced so far
    bool m_mayReturn = false;                       ///< a function or a file that is sourced is run
    bool m_hasReturned = false;                     ///< it has ended
    bool m_hasExited = false;                       ///< the script has ended
    bool m_mayHaveEnded = false;                    ///< it may have
    int m_listBranch = 0;                           ///< of what stands behind a test that cannot be told and && or ||; 0: none
    int m_outerBranch = 0;                          ///< that the text which is run stands in
    std::vector<Branch> m_branches;
    std::vector<HereDocument> m_waiting;           ///< that begin with the next line
    std::string m_readInto;                        ///< variable that takes the text of the one that begins next
    std::vector<Scope> m_scopes;                   ///< that are open, the inner ones last
    std::set<std::string, std::less<>> m_exported; ///< variables and functions that other processes get
    bool m_exportsAll = false;                     ///< set -a
    ShellVariables m_ended;                        ///< those of scopes that had no variable of this name around them
    std::map<std::string, Function, std::less<>> m_functions;
    std::string m_functionAhead;        ///< whose body begins with the next "{"
    bool m_functionsInline = false;     ///< bodies of the text that is run are read where they stand
    std::set<int> m_commentLines;       ///< that were read
    std::vector<ShellText> m_arguments; ///< of the function that is run
    std::vector<std::string> m_order;
    std::set<std::string> m_ordered; ///< those in m_order
    std::vector<ShellCommand> m_commands;
    Sheet m_sheet;
};

} // namespace sim::frameworks
