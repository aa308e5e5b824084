#include "sim/error.h"
#include "sim/frameworks/read/setting.h"
#include "sim/text/quoted.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace sim::frameworks {
namespace {

std::size_t sizeOfTree(const Tree& tree)
{
    std::size_t size = 1;
    for (const auto& [key, member] : tree.members)
        size += sizeOfTree(member);
    for (const Tree& item : tree.items)
        size += sizeOfTree(item);
    return size;
}

/// Takes yaml-cpp's events, so that lines are known, keys may come twice, and aliases are counted as what they unfold to.
class YamlTree : public YAML::EventHandler {
public:
    explicit YamlTree(std::string file) : m_file(std::move(file)) { m_open.push_back({&m_root, {}, 0, true}); }

    Tree take() { return m_root.items.empty() ? Tree{} : std::move(m_root.items.front()); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        put({.value = nullptr, .line = mark.line + 1}, anchor);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override
    {
        const bool isQuoted = tag == "!";
        put({.value = isQuoted ? Json(value) : plain(value), .line = mark.line + 1}, anchor);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        const auto found = m_anchors.find(anchor);
        if (found == m_anchors.end())
            failAt(m_file, mark.line + 1, "an alias stands inside of what it names");
        Tree copy = found->second;
        count(sizeOfTree(copy), mark.line + 1);
        put(std::move(copy), 0, true);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override
    {
        start({.kind = Tree::Kind::list, .line = mark.line + 1}, anchor);
    }
    void OnSequenceEnd() override { finish(); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override
    {
        start({.kind = Tree::Kind::map, .line = mark.line + 1}, anchor);
    }
    void OnMapEnd() override { finish(); }

private:
    struct Level {
        Tree* tree = nullptr; ///< the root only; others are made beside and moved in
        Tree made{};
        YAML::anchor_t anchor = 0;
        bool isRoot = false;
        bool hasKey = false;
        std::string key{};
        int keyLine = 0;
        std::vector<Tree> merged{}; ///< maps, or a list of them, that "<<" names
    };
    /// What is merged into a map counts where neither the map nor one merged before says it.
    static void merge(Tree& map, Tree& merged)
    {
        for (Tree& item : merged.items)
            merge(map, item);
        for (auto& member : merged.members)
            if (std::none_of(map.members.begin(), map.members.end(), [&](const auto& own) { return own.first == member.first; }))
                map.members.push_back(std::move(member));
    }

    static Json plain(const std::string& text)
    {
        // YAML 1.1, as PyYAML reads it: in small letters, capitalised, or in capitals.
        for (const std::string_view word : {"yes", "Yes", "YES", "on", "On", "ON", "TRUE"})
            if (text == word)
                return true;
        for (const std::string_view word : {"no", "No", "NO", "off", "Off", "OFF", "FALSE"})
            if (text == word)
                return false;
        if (text == "Null" || text == "NULL")
            return nullptr;
        return valueOf(text);
    }
    void count(std::size_t more, int line)
    {
        m_count += more;
        if (m_count > 4 * kMostSettings)
            failAt(m_file, line,
                   "unfolds to more than " + std::to_string(4 * kMostSettings) + " values; aliases repeat what they name");
    }
    void put(Tree tree, YAML::anchor_t anchor, bool isCounted = false)
    {
        if (!isCounted)
            count(1, tree.line);
        if (anchor != 0) {
            count(sizeOfTree(tree), tree.line);
            m_anchors[anchor] = tree;
        }
        Level& level = m_open.back();
        Tree& parent = level.isRoot ? *level.tree : level.made;
        if (parent.kind == Tree::Kind::map) {
            if (!level.hasKey) {
                if (tree.kind != Tree::Kind::scalar)
                    failAt(m_file, tree.line, "a key is a list or a map");
                level.key = shownValue(tree.value);
                level.keyLine = tree.line;
                level.hasKey = true;
                return;
            }
            level.hasKey = false;
            if (tree.kind == Tree::Kind::scalar)
                tree.line = level.keyLine;
            if (level.key == "<<" &&
                tree.kind != Tree::Kind::scalar) { // merged below, where all that the map says itself is known
                level.merged.push_back(std::move(tree));
                return;
            }
            parent.members.emplace_back(level.key, std::move(tree));
        } else {
            parent.items.push_back(std::move(tree));
        }
    }
    void start(Tree tree, YAML::anchor_t anchor)
    {
        if (static_cast<int>(m_open.size()) > kMostLevels)
            failAt(m_file, tree.line, "is nested more than " + std::to_string(kMostLevels) + " levels deep");
        count(1, tree.line);
        m_open.push_back({nullptr, std::move(tree), anchor});
    }
    void finish()
    {
        Level level = std::move(m_open.back());
        m_open.pop_back();
        for (Tree& merged : level.merged)
            merge(level.made, merged);
        put(std::move(level.made), level.anchor, true);
    }

    std::string m_file;
    Tree m_root{.kind = Tree::Kind::list};
    std::vector<Level> m_open;
    std::map<YAML::anchor_t, Tree> m_anchors;
    std::size_t m_count = 0;
};

void addComments(const std::string& text, Sheet& sheet)
{
    for (std::size_t at = text.find('#'); at != std::string::npos && sheet.comments.size() < 1000; at = text.find('#', at)) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        sheet.comments.push_back(text.substr(at + 1, std::min<std::size_t>(end - at - 1, 200)));
        at = end;
    }
}

} // namespace

Sheet readYaml(const std::string& file, const std::string& text)
{
    Sheet sheet;
    try {
        std::istringstream in(text);
        YAML::Parser parser(in);
        YamlTree events(file);
        parser.HandleNextDocument(events);
        flatten(events.take(), file, sheet.settings);
        YamlTree more(file);
        if (parser.HandleNextDocument(more))
            sheet.unread = "the documents after the first are not read";
    } catch (const YAML::Exception& error) {
        failAt(file, error.mark.is_null() ? 0 : error.mark.line + 1,
               "is no YAML: " + shownText(error.msg, 200) +
                   (error.mark.is_null() ? "" : ", at column " + std::to_string(error.mark.column + 1)));
    }
    addComments(text, sheet);
    resolveInterpolations(sheet.settings);
    return sheet;
}

} // namespace sim::frameworks
