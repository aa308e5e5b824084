// Amounts beside a limit: what is beyond it reads as more than it, not as 80.0 GiB of 80.0 GiB.
#pragma once

#include "sim/text/number_text.h"

#include <string>

namespace sim {

/// A need and a limit that it is beyond, in as many digits, three or more, as show it; of a need within the limit in three.
class BesideLimit {
public:
    BesideLimit(double need, double limit, Unit);
    std::string need() const { return text(m_need); }
    std::string limit() const { return text(m_limit); }
    /// Another amount of the same sentence.
    std::string text(double amount) const { return numberText(amount, m_unit, m_digits); }
    bool isUsual() const { return m_digits == kUsual; } ///< three digits are enough

private:
    static constexpr int kUsual = 3;
    double m_need, m_limit;
    Unit m_unit;
    int m_digits = kUsual;
};

} // namespace sim
