#include "tests/sim/analysis/arithmetic.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace test {
namespace {

class Reader {
public:
    explicit Reader(std::string_view line) : m_rest(line) {}

    double all()
    {
        const double value = sum();
        skip();
        if (!m_rest.empty())
            throw std::runtime_error("not understood: " + std::string(m_rest));
        return value;
    }

private:
    void skip()
    {
        while (!m_rest.empty() && m_rest.front() == ' ')
            m_rest.remove_prefix(1);
    }
    bool take(std::string_view sign)
    {
        skip();
        if (!m_rest.starts_with(sign))
            return false;
        m_rest.remove_prefix(sign.size());
        return true;
    }
    double sum()
    {
        double value = product();
        while (true) {
            if (take("+"))
                value += product();
            else if (take("−"))
                value -= product();
            else
                return value;
        }
    }
    double product()
    {
        double value = factor();
        while (true) {
            if (take("×"))
                value *= factor();
            else if (take("/"))
                value /= factor();
            else
                return value;
        }
    }
    double factor()
    {
        if (take("(")) {
            const double value = sum();
            if (!take(")"))
                throw std::runtime_error("bracket left open before: " + std::string(m_rest));
            return value;
        }
        skip();
        std::string digits;
        while (!m_rest.empty() && std::string_view("0123456789.,-").find(m_rest.front()) != std::string_view::npos) {
            if (m_rest.front() != ',')
                digits += m_rest.front();
            m_rest.remove_prefix(1);
        }
        if (digits.empty())
            throw std::runtime_error("a number is missing before: " + std::string(m_rest));
        return std::stod(digits) * unit();
    }
    double unit()
    {
        static constexpr std::array<std::pair<std::string_view, double>, 25> kUnits{{{"GFLOP/s", 1e9},
                                                                                     {"kB/s", 1e3},
                                                                                     {"MB/s", 1e6},
                                                                                     {"GB/s", 1e9},
                                                                                     {"TB/s", 1e12},
                                                                                     {"TFLOP/s", 1e12},
                                                                                     {"GFLOP", 1e9},
                                                                                     {"TFLOP", 1e12},
                                                                                     {"PFLOP", 1e15},
                                                                                     {"EFLOP", 1e18},
                                                                                     {"ZFLOP", 1e21},
                                                                                     {"FLOP", 1},
                                                                                     {"KiB", 1024},
                                                                                     {"MiB", 1048576},
                                                                                     {"GiB", 1073741824},
                                                                                     {"TiB", 1099511627776},
                                                                                     {"PiB", 1125899906842624},
                                                                                     {"B", 1},
                                                                                     {"ns", 1e-9},
                                                                                     {"µs", 1e-6},
                                                                                     {"ms", 1e-3},
                                                                                     {"s", 1},
                                                                                     {"%", 0.01},
                                                                                     {"/s", 1},
                                                                                     {"\x01", 1}}};
        for (const auto& [name, factor] : kUnits)
            if (take(name))
                return factor;
        return 1;
    }

    std::string_view m_rest;
};

} // namespace

double evaluate(std::string_view line)
{
    return Reader(line).all();
}

} // namespace test
