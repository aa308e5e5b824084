#include "sim/recovery/told_mark.h"

#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sim {
namespace {

constexpr std::string_view kOrnaments = "#=*-~+|", kSpaces = " \t";

std::string_view withoutSpaces(std::string_view text)
{
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

/// Around a text: as many of one ornament as stand at its begin, two at least; at its end two or more, or none beside a space at
/// the begin. "--flag" and "__init__" are names.
std::string_view withoutOrnaments(std::string_view text)
{
    if (text.empty() || kOrnaments.find(text.front()) == std::string_view::npos)
        return text;
    const char ornament = text.front();
    const std::size_t before = std::min(text.find_first_not_of(ornament), text.size());
    const std::size_t end = text.find_last_not_of(ornament) + 1, after = text.size() - end;
    if (before < 2 || before >= end || (after < 2 && kSpaces.find(text[before]) == std::string_view::npos))
        return text;
    return withoutSpaces(text.substr(before, (after < 2 ? text.size() : end) - before));
}

/// Of what torch itself marks the part that tells the most.
std::string_view partOfTorch(std::string_view text)
{
    constexpr std::array<std::string_view, 2> kOptimizer{"Optimizer.step#", "Optimizer.zero_grad#"};
    for (const std::string_view begin : kOptimizer)
        if (text.starts_with(begin) && text.size() > begin.size())
            return text.substr(begin.size());
    constexpr std::string_view kLoader = "enumerate(DataLoader)", kClass = "<class '", kClassEnd = "'>";
    if (text.starts_with(kLoader))
        return text.substr(0, kLoader.size());
    if (text.starts_with(kClass) && text.ends_with(kClassEnd) && text.size() > kClass.size() + kClassEnd.size())
        return text.substr(kClass.size(), text.size() - kClass.size() - kClassEnd.size());
    return text;
}

} // namespace

std::string toldMark(std::string_view mark)
{
    const std::string_view text = partOfTorch(withoutOrnaments(withoutSpaces(mark)));
    return quotedText(text.empty() ? mark : text);
}

} // namespace sim
