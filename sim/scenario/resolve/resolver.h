// Reads the blocks of a scenario file one after the other, each in a file of its own: model.cpp, cluster.cpp, layout.cpp and so
// on. Private to this folder.
#pragma once

#include "sim/scenario/resolve/resolve.h"
#include "sim/scenario/words.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

inline int clampToInt(std::int64_t value)
{
    return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
}

std::vector<std::string> idsOf(const std::vector<Catalogue::Entry>&);

class Resolver {
public:
    /// What is given must outlive it. `shape`: all that the schema found.
    Resolver(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue&);
    /// Once.
    Resolution run();

private:
    /// An object of the file over the catalogue entry it is based on.
    struct Block {
        Resolver& resolver;
        std::string pointer;
        const Json& own;
        const Json& base;
        std::string baseId;

        /// The usable value of a key; nullptr if nobody gave one.
        const Json* find(std::string_view key) const
        {
            const Json* found = memberOf(own, key);
            if (found == nullptr)
                return memberOf(base, key);
            const Resolution& out = resolver.m_out;
            const bool isUsable = out.broken.empty() || out.isUsable(childPointer(pointer, key), *found);
            return isUsable ? found : nullptr;
        }
        /// False if nobody gave it, or what was given is no T.
        template <typename T>
        bool read(std::string_view key, T& target) const
        {
            const Json* value = find(key);
            if (value == nullptr)
                return false;
            std::optional<T> given = valueAs<T>(*value);
            if (given)
                target = std::move(*given);
            else
                resolver.refuseKind(childPointer(pointer, key));
            return given.has_value();
        }
        template <typename Enum, std::size_t N>
        bool read(std::string_view key, const Words<Enum, N>& words, Enum& target) const
        {
            std::string word;
            const bool given = read(key, word);
            if (given)
                target = fromWord(words, word, target);
            return given;
        }
    };

    /// `own` and `base` stay where they are: a scenario is resolved once for each value that a control might take.
    Block block(std::string pointer, const Json& own, const Json* base, std::string baseId);
    /// A plain object of the file, or an empty one.
    Block block(const Block& parent, std::string_view key);
    void refuseKind(const std::string& pointer);
    void report(const std::string& pointer, std::string message);

    /// The nearest entries or, where none is near, all that a sentence holds.
    static std::string nearestOrAll(const std::string& id, const std::vector<std::string>& ids)
    {
        constexpr std::size_t kMostListed = 24;
        std::string text = nearestWords(id, ids);
        if (text.empty() && ids.size() <= kMostListed)
            for (const std::string& each : ids)
                text += (text.empty() ? "; possible: " : ", ") + quotedText(each);
        return text;
    }

    /// A string, or an object with "base", that names an entry of the catalogue.
    template <typename Lookup>
    Block basedBlock(const Block& parent, std::string_view key, std::string_view what,
                     const std::vector<Catalogue::Entry>& entries, Lookup lookup)
    {
        const std::string at = childPointer(parent.pointer, key);
        const Json* value = parent.find(key);
        if (value == nullptr)
            return block(at, m_nothing, nullptr, {});
        const bool isShort = value->is_string();
        const Json* const name = isShort ? value : memberOf(*value, "base");
        const auto id = name != nullptr ? valueAs<std::string>(*name) : std::nullopt;
        if (!id)
            return block(at, *value, nullptr, {});
        const Json* entry = lookup(*id);
        if (entry == nullptr) {
            report(isShort ? at : at + "/base",
                   "the catalogue has no " + std::string(what) + " " + quotedText(*id) + nearestOrAll(*id, idsOf(entries)));
            m_out.broken.insert(at);
        }
        return block(at, *value, entry, *id);
    }

    /// A key without which the block says nothing.
    template <typename T>
    void require(const Block& from, std::string_view key, T& target, std::string_view catalogueOf)
    {
        if (!from.read(key, target) && m_out.isSound(childPointer(from.pointer, key)))
            report(from.pointer,
                   "key \"" + std::string(key) + "\" is missing; write it, or name a base of assets/" + std::string(catalogueOf));
    }

    /// A file that the scenario names. Shared scenarios must not make the reader wait at a pipe or a device.
    std::string readBeside(const std::string& name, std::size_t mostBytes) const;

    void readModel(const Block& top);
    void readModelFrom(const Block& from);
    static void readOrNull(const Block& from, std::string_view key, int& target);
    void readLayerTypes(const Block& from);

    void readLayout(const Block& top);

    void readCluster(const Block& top);
    void readGpu(const Block& cluster, Efficiency&);
    static void readEfficiency(const Block& from, const std::string& id, Efficiency&);
    void readNamedEfficiency(const std::string& name, Efficiency&);
    void readTiers(const Block& from, int baseGpusPerNode);
    void readHost(const Block& cluster);

    void readSchedule(const Block& top);
    void readActions(const Block& from);

    void readTraining(const Block& top);
    void readLora(const Block& from);
    void readLoraBase(const Block& given);
    void readRopeScaling(const Block& ofModel);
    void readStackOf(const Block& from);
    void readAttention(const Block& from);
    void readMoe(const Block& from);
    void readDocuments(const Block&);

    void readPerturbations(const Block& top);
    static void readFailures(const Block& from, Failures&);

    void readLive(const Block& top);
    void findData(std::string& data);

    const Json m_nothing = Json::object();
    const Json& m_root;
    const std::string& m_file;
    const Catalogue& m_catalogue;
    Resolution m_out;
};

} // namespace sim
