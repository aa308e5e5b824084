// A line of arithmetic over named terms, printed in symbols, printed with the numbers in it, and evaluated: all from one tree, so
// that what is shown cannot differ from what is computed.
#pragma once

#include "sim/text/number_text.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace sim {

/// What a symbol stands for.
struct Quantity {
    std::string symbol; ///< "T"
    double value = 0;
    Unit unit = Unit::number;
};

class Formula {
public:
    static Formula term(std::size_t index); ///< of the quantities that the functions below are given
    static Formula number(double);          ///< a constant of the formula
    /// In lists, so that terms made on the way are made in the order in which they are written.
    static Formula sum(std::vector<Formula>); ///< of none: 0
    static Formula product(std::initializer_list<Formula>);
    friend Formula operator+(Formula, Formula);
    friend Formula operator-(Formula, Formula);
    friend Formula operator*(Formula, Formula);
    friend Formula operator/(Formula, Formula);
    Formula& operator*=(Formula by) { return *this = std::move(*this) * std::move(by); }
    Formula& operator/=(Formula by) { return *this = std::move(*this) / std::move(by); }

    double evaluate(std::span<const Quantity>) const;
    std::string inSymbols(std::span<const Quantity>) const;
    /// With so many digits (at least four) that whoever does the sum again comes within 0.1 % of the value.
    std::string inNumbers(std::span<const Quantity>) const;
    bool isSingleTerm() const { return m_kind == Kind::term; }

private:
    enum class Kind : std::uint8_t { term, number, sum, difference, product, quotient };
    Formula(Kind kind, std::vector<Formula> parts) : m_kind(kind), m_parts(std::move(parts)) {}
    static Formula join(Kind, Formula, Formula);
    template <typename Leaf>
    std::string print(const Leaf&) const;
    bool needsBrackets(const Formula& part, bool isFirst) const;

    Kind m_kind = Kind::number;
    std::size_t m_term = 0;
    double m_number = 0;
    std::vector<Formula> m_parts;
};

} // namespace sim
