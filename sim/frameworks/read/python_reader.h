// The reader of recipes, of its own files alone: python.cpp (statements, what is assigned), python_functions.cpp (functions of
// the file and what they are given).
#pragma once

#include "sim/frameworks/read/python_words.h"
#include "sim/frameworks/read/setting.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sim::frameworks {

/// Reads what is data in Python: `a.b.c = literal`, and `a.b = Name(x=literal, …)`. Anything else is passed over. Of several
/// functions the first public one counts, with those of the file that it calls.
class PythonReader final : PythonWords {
    static constexpr int kMostCalls = 1000;              ///< that are followed
    static constexpr std::size_t kMostRead = 4UL << 20U; ///< letters of functions, each time they are called

public:
    PythonReader(std::string file, const std::string& text) : PythonWords(std::move(file), text) { findFunctions(); }
    Sheet read();

private:
    struct Function {
        std::string name;
        std::size_t start = 0, end = 0, open = 0; ///< the bracket of its parameters
        int line = 1, endLine = 1;
        int calls = 0;
    };

    void lines(std::size_t end);
    /// Those that begin at the left margin.
    void findFunctions();
    /// NeMo 2 has the model and the trainer in functions of their own before it.
    Function* recipe();
    void comment(std::string text);
    using Constants = std::map<std::string, Json>; ///< null: not known
    /// With what it is given by name; other parameters have the values that stand with them.
    void call(Function& function, int depth, const Constants& given = {}, const std::string& returnsTo = {});
    /// Of a function of this file, with the arguments that begin here. What it returns is what `returnsTo` holds then.
    bool callOf(const std::string& name, const std::string& returnsTo = {});
    /// "return other.trainer(tensor_parallelism=4)" and "return config" of a function whose value is assigned. False: it is
    /// something else, and nothing is read of it.
    bool returned(int line);
    /// A function of another file that a configuration begins as: "cfg = llama3_8b_pretrain_config()". What it sets is not known.
    void addBase(const std::string& name, const std::string& callee, int line);
    /// "(a, name: type = literal, …)": the literals are constants.
    void parameters(const Function& function);
    /// Of a call whose bracket is here: what it says by name. Ends behind it.
    Constants keywords();
    /// A program's later assignment takes the place of an earlier one.
    void tellReplaced();

    void statement();
    /// "NAME:" of a constant that is false here, or "not NAME:" of one that is true.
    bool isSwitchedOff();
    /// The lines that are indented more than the one that `start` stands on.
    void skipBlock(std::size_t start);
    /// {"key": literal, **other, …} as settings below `name`.
    void dictionary(const std::string& name);

    /// What stands behind "=": a literal, or a call whose keyword arguments are settings below `name`.
    void assigned(const std::string& name, int line, int level);

    /// Whether what a variable holds is read where it is assigned: strategy = run.Config(…), and then strategy=strategy.
    bool isFollowed(const std::string& variable) const;

    /// A class whose objects are models, with sizes of its own: "Llama31ModelProvider70B", "llm.Llama31Config70B".
    void addModelClass(const std::string& name, const std::string& callee, int line);

    void add(const std::string& name, const Json& value, int line);

    std::vector<Function> m_functions;
    std::map<std::string, Json> m_constants; ///< names without a dot
    struct Return {
        std::string name{};   ///< what the value of the function that is read is assigned to; empty: nothing, or it is not known
        std::size_t from = 0; ///< the first setting that is its own
    };
    Return m_return;
    int m_depth = 0, m_calls = 0;
    std::size_t m_read = 0; ///< of functions that were called
};

} // namespace sim::frameworks
