#include "sim/error.h"
#include "sim/frameworks/read/setting.h"
#include "sim/text/quoted.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#define TOML_EXCEPTIONS 1
// toml++ asserts on some texts that it then refuses; an importer reads what strangers write.
#define TOML_ASSERT(condition) static_cast<void>(0) // NOLINT(cppcoreguidelines-macro-usage)
#include <toml++/toml.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>

namespace sim::frameworks {
namespace {

Tree treeOfToml(const toml::node& node, const std::string& file, int level)
{
    const int line = static_cast<int>(node.source().begin.line);
    if (level > kMostLevels)
        failAt(file, line, "is nested more than " + std::to_string(kMostLevels) + " levels deep");
    if (const toml::table* table = node.as_table()) {
        Tree tree{.kind = Tree::Kind::map, .line = line};
        for (const auto& [key, member] : *table) {
            Tree below = treeOfToml(member, file, level + 1);
            if (below.kind == Tree::Kind::scalar)
                below.line = static_cast<int>(key.source().begin.line);
            tree.members.emplace_back(std::string(key.str()), std::move(below));
        }
        return tree;
    }
    if (const toml::array* array = node.as_array()) {
        Tree tree{.kind = Tree::Kind::list, .line = line};
        for (const toml::node& item : *array)
            tree.items.push_back(treeOfToml(item, file, level + 1));
        return tree;
    }
    Tree tree{.line = line};
    if (const auto text = node.value<std::string>(); text && node.is_string())
        tree.value = *text;
    else if (node.is_boolean())
        tree.value = *node.value<bool>();
    else if (node.is_integer())
        tree.value = *node.value<std::int64_t>();
    else if (node.is_floating_point())
        tree.value = *node.value<double>();
    else
        tree.value = "a date";
    return tree;
}

} // namespace

Sheet readToml(const std::string& file, const std::string& text)
{
    Sheet sheet;
    try {
        const toml::table table = toml::parse(std::string_view(text), std::string_view(file));
        flatten(treeOfToml(table, file, 0), file, sheet.settings);
    } catch (const toml::parse_error& error) {
        failAt(file, static_cast<int>(error.source().begin.line),
               "is no TOML: " + shownText(error.description(), 200) + ", at column " +
                   std::to_string(error.source().begin.column));
    }
    std::stable_sort(sheet.settings.begin(), sheet.settings.end(),
                     [](const Setting& a, const Setting& b) { return a.line < b.line; });
    for (std::size_t at = text.find('#'); at != std::string::npos && sheet.comments.size() < 1000; at = text.find('#', at)) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        sheet.comments.push_back(text.substr(at + 1, std::min<std::size_t>(end - at - 1, 200)));
        at = end;
    }
    return sheet;
}

} // namespace sim::frameworks
