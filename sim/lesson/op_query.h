// Which ops of a trace somebody asks for: a part of a name ("attn"), or an expression on one op: `duration_us > 50 and comm`.
#pragma once

#include "sim/analysis/op_table.h"
#include "sim/lesson/expression.h"
#include "sim/simulate/simulation.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sim {

/// What an expression may ask of an op.
struct OpQueryName {
    const char* name;
    const char* what; ///< with its unit
};
std::span<const OpQueryName> opQueryNames();
/// Questions of one word or two that most are after, for completion: kinds of collectives, passes as the timeline writes them.
std::span<const char* const> opQueryWords();

class OpQuery {
public:
    /// Without < > = ! ( ) and quotes it is a part of a name, whatever its case, but for "comm" and "not comm", which are true or
    /// false by themselves; kinds of collectives, however they are spelled ("all_gather"); and passes as the timeline writes them
    /// ("F3" of a micro-batch, "3B" of a stage, "0F3" of both). Nothing but blanks asks for all. Throws
    /// ExpressionError, also for names that no op has.
    static OpQuery parse(std::string_view text);

    bool isForAll() const { return !m_expression && m_part.empty(); }
    /// May be called while the trace lives, by one thread. What it throws is an ExpressionError. What is the same
    /// of all ops of a kind is found out once a kind; else some 0.3 µs an op and comparison.
    /// What collectives are is known of a simulation's; else their names have to say it.
    OpFilter filterOf(const Trace&, const Simulation* = nullptr) const;

private:
    std::string m_part;                             ///< in lower case
    std::shared_ptr<const Expression> m_expression; ///< nullptr: there is none
};

/// Two questions that find something among the ops of a table: a part of a name (empty where names hold no word), and an
/// expression. Both find its longest op.
struct OpQueryExamples {
    std::string part, expression;
};
OpQueryExamples opQueryExamples(const Trace&, const OpTable&);

} // namespace sim
