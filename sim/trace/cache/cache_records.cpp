#include "sim/trace/cache/cache_records.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace sim {
namespace {

// A name's number between two bytes that no text of ours holds; the first of them twice is itself.
constexpr char kNameBegins = '\x01', kNameEnds = '\x02';

/// Whether a name that ends here stands for itself, and is no part of a longer word.
bool endsWord(std::string_view after)
{
    return after.empty() || std::string_view("/:\"' ,\n").find(after.front()) != std::string_view::npos;
}

bool beginsWord(std::string_view before)
{
    return before.empty() || std::string_view("\"' \n").find(before.back()) != std::string_view::npos;
}

} // namespace

OpenedNames::OpenedNames(const std::vector<std::filesystem::path>& opened) : m_byLength(opened.size())
{
    for (const std::filesystem::path& path : opened)
        m_names.push_back(path.string());
    std::iota(m_byLength.begin(), m_byLength.end(), std::size_t{0});
    std::stable_sort(m_byLength.begin(), m_byLength.end(),
                     [&](std::size_t a, std::size_t b) { return m_names[a].size() > m_names[b].size(); });
}

std::string OpenedNames::withoutNames(const std::string& text) const
{
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = std::string_view(text).substr(at);
        const bool mayBegin = beginsWord(std::string_view(text).substr(0, at));
        const auto name = std::find_if(m_byLength.begin(), m_byLength.end(), [&](std::size_t of) {
            return mayBegin && !m_names[of].empty() && rest.starts_with(m_names[of]) &&
                   (m_names[of].ends_with('/') || endsWord(rest.substr(m_names[of].size())));
        });
        if (name != m_byLength.end()) {
            out += kNameBegins + std::to_string(*name) + kNameEnds;
            at += m_names[*name].size();
            continue;
        }
        out += text[at];
        if (text[at] == kNameBegins)
            out += kNameEnds;
        ++at;
    }
    return out;
}

std::string OpenedNames::withNames(const std::string& text) const
{
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != kNameBegins) {
            out += text[at];
            continue;
        }
        const std::size_t end = text.find(kNameEnds, at);
        if (end == std::string::npos)
            throw Error("a text names a file without an end");
        if (end == at + 1) {
            out += kNameBegins;
        } else {
            std::size_t number = 0;
            const auto [after, error] = std::from_chars(text.data() + at + 1, text.data() + end, number);
            if (error != std::errc() || after != text.data() + end || number >= m_names.size())
                throw Error("a text names a file that was not opened");
            out += m_names[number];
        }
        at = end;
    }
    return out;
}

Recording copyOfShared(const Recording& shared)
{
    Recording out;
    out.files = shared.files;
    out.groups = shared.groups;
    out.flows = shared.flows;
    out.meanings = shared.meanings;
    out.shapes = shared.shapes;
    for (std::uint32_t i = 0; i < shared.names.size(); ++i)
        out.names.add(shared.names[i]);
    out.axes = shared.axes;
    out.worldSize = shared.worldSize;
    out.isEpoch = shared.isEpoch;
    out.hasManyClocks = shared.hasManyClocks;
    out.slices = shared.slices;
    out.otherRuns = shared.otherRuns;
    out.skipped = shared.skipped;
    out.problems = shared.problems;
    return out;
}

} // namespace sim
