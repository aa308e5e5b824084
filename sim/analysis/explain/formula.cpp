#include "sim/analysis/explain/formula.h"

#include <cmath>
#include <utility>

namespace sim {

Formula Formula::term(std::size_t index)
{
    Formula out(Kind::term, {});
    out.m_term = index;
    return out;
}

Formula Formula::number(double value)
{
    Formula out(Kind::number, {});
    out.m_number = value;
    return out;
}

/// a + b + c is one sum of three, and so is a product.
Formula Formula::join(Kind kind, Formula left, Formula right)
{
    const bool flat = kind == Kind::sum || kind == Kind::product;
    if (flat && left.m_kind == kind) {
        left.m_parts.push_back(std::move(right));
        return left;
    }
    std::vector<Formula> parts;
    parts.push_back(std::move(left));
    parts.push_back(std::move(right));
    return {kind, std::move(parts)};
}

Formula operator+(Formula left, Formula right)
{
    return Formula::join(Formula::Kind::sum, std::move(left), std::move(right));
}
Formula operator-(Formula left, Formula right)
{
    return Formula::join(Formula::Kind::difference, std::move(left), std::move(right));
}
Formula operator*(Formula left, Formula right)
{
    return Formula::join(Formula::Kind::product, std::move(left), std::move(right));
}
Formula operator/(Formula left, Formula right)
{
    return Formula::join(Formula::Kind::quotient, std::move(left), std::move(right));
}

Formula Formula::sum(std::vector<Formula> parts)
{
    if (parts.empty())
        return number(0);
    return parts.size() == 1 ? parts.front() : Formula(Kind::sum, std::move(parts));
}

Formula Formula::product(std::initializer_list<Formula> parts)
{
    return {Kind::product, parts};
}

double Formula::evaluate(std::span<const Quantity> quantities) const
{
    if (m_kind == Kind::term)
        return quantities[m_term].value;
    if (m_kind == Kind::number)
        return m_number;
    double out = m_parts.front().evaluate(quantities);
    for (std::size_t i = 1; i < m_parts.size(); ++i) {
        const double next = m_parts[i].evaluate(quantities);
        out = m_kind == Kind::sum          ? out + next
              : m_kind == Kind::difference ? out - next
              : m_kind == Kind::product    ? out * next
                                           : out / next;
    }
    return out;
}

bool Formula::needsBrackets(const Formula& part, bool isFirst) const
{
    const bool additive = part.m_kind == Kind::sum || part.m_kind == Kind::difference;
    const bool compound = additive || part.m_kind == Kind::product || part.m_kind == Kind::quotient;
    switch (m_kind) {
    case Kind::product:
        return additive || (part.m_kind == Kind::quotient && !isFirst);
    case Kind::quotient:
        return additive || (compound && !isFirst);
    case Kind::difference:
        return additive && !isFirst;
    default:
        return false;
    }
}

template <typename Leaf>
std::string Formula::print(const Leaf& leaf) const
{
    if (m_kind == Kind::term || m_kind == Kind::number)
        return leaf(*this);
    const char* sign = m_kind == Kind::sum ? " + " : m_kind == Kind::difference ? " − " : m_kind == Kind::product ? " × " : " / ";
    std::string out;
    for (std::size_t i = 0; i < m_parts.size(); ++i) {
        const std::string part = m_parts[i].print(leaf);
        out += i > 0 ? sign : "";
        out += needsBrackets(m_parts[i], i == 0) ? "(" + part + ")" : part;
    }
    return out;
}

std::string Formula::inSymbols(std::span<const Quantity> quantities) const
{
    return print([&](const Formula& leaf) {
        return leaf.m_kind == Kind::term ? quantities[leaf.m_term].symbol : numberText(leaf.m_number, Unit::number, 4);
    });
}

std::string Formula::inNumbers(std::span<const Quantity> quantities) const
{
    constexpr int kLeast = 4, kMost = 9;
    constexpr double kClose = 1e-3;
    const double exact = evaluate(quantities);
    int digits = kLeast;
    for (; digits < kMost; ++digits) {
        std::vector<Quantity> rounded(quantities.begin(), quantities.end());
        for (Quantity& q : rounded)
            q.value = asShown(q.value, q.unit, digits);
        if (std::abs(evaluate(rounded) - exact) <= kClose * std::abs(exact))
            break;
    }
    return print([&](const Formula& leaf) {
        return leaf.m_kind == Kind::term ? numberText(quantities[leaf.m_term].value, quantities[leaf.m_term].unit, digits)
                                         : numberText(leaf.m_number, Unit::number, 4);
    });
}

} // namespace sim
