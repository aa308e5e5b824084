#include "sim/scenario/catalogue.h"

#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/scenario/schema.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace sim {

namespace fs = std::filesystem;

namespace {

struct Shelf {
    std::vector<Catalogue::Entry> entries;
    std::map<std::string, std::string, std::less<>> json;
    const std::string* find(std::string_view id) const
    {
        const auto found = json.find(id);
        return found == json.end() ? nullptr : &found->second;
    }
};

/// Orders a family by size; only the ratio matters.
double sizeOf(const Json& entry)
{
    const auto number = [&entry](const char* key, double fallback) { return entry.value(key, fallback); };
    const double hidden = number("hidden_size", 0);
    const double experts = std::max(1.0, number("num_experts", 0));
    const double inner = experts > 1 ? experts * number("moe_intermediate_size", 0) : number("intermediate_size", 0);
    return number("num_hidden_layers", 0) * hidden * (4 * hidden + 3 * inner) + number("memory_gib", 0) +
           number("gpus_per_node", 0) * number("nodes", 0);
}

/// Removes a key that only catalogue entries have; empty if it is not there.
std::string takeText(Json& entry, const char* key, const fs::path& file)
{
    const auto found = entry.find(key);
    if (found == entry.end())
        return {};
    if (!found->is_string())
        throw Error(file.string() + ": /" + key + ": a string is expected");
    const std::string text = found->get<std::string>();
    entry.erase(found);
    return text;
}

/// `definition`: what an entry of this folder is in the schema, besides the keys that only catalogues have.
Shelf readShelf(const fs::path& folder, const Schema& schema, std::string_view definition)
{
    constexpr std::size_t kMostBytes = 1U << 20U;
    std::vector<std::tuple<std::string, double, std::string, std::string>> order; // family, size, id, name
    Shelf shelf;
    std::error_code error;
    fs::directory_iterator files(folder, error);
    if (error)
        throw Error(folder.string() + ": the catalogue cannot be read: " + error.message());
    for (const fs::directory_entry& file : files) {
        if (file.path().extension() != ".json")
            continue;
        Json entry = parseStrict(readFile(file.path(), kMostBytes), file.path().string());
        if (!entry.is_object())
            throw Error(file.path().string() + ": a catalogue entry is an object");
        const std::string id = file.path().stem().string();
        const std::string family = takeText(entry, "family", file.path());
        takeText(entry, "source", file.path());
        auto problems = schema.check(entry, file.path().string(), definition);
        if (!problems.empty())
            throw ScenarioError(std::move(problems));
        if (entry.contains("base"))
            throw Error(file.path().string() + ": /base: an entry stands by itself");
        order.emplace_back(family, sizeOf(entry), id, entry.value("name", id));
        shelf.json.emplace(id, entry.dump());
    }
    std::sort(order.begin(), order.end());
    for (auto& [family, size, id, name] : order)
        shelf.entries.push_back({std::move(id), std::move(name)});
    return shelf;
}

/// Entries of clusters name what other folders hold.
void checkClusters(const Shelf& clusters, const Shelf& gpus, const fs::path& folder)
{
    for (const auto& [id, text] : clusters.json) {
        const Json entry = Json::parse(text);
        const std::string file = (folder / (id + ".json")).string();
        const auto gpu = entry.find("gpu");
        if (gpu == entry.end() || !gpu->is_string() || gpus.find(gpu->get<std::string>()) == nullptr)
            throw Error(file + ": /gpu: the id of an entry of gpus/ is expected");
        if (entry.contains("efficiency") && !entry.at("efficiency").is_object())
            throw Error(file + ": /efficiency: an object is expected");
    }
}

fs::path programFolder()
{
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path{} : program.parent_path();
}

} // namespace

struct Catalogue::Data {
    fs::path assets;
    Schema schema;
    Shelf models, gpus, clusters;
};

Catalogue Catalogue::load(const fs::path& assets)
{
    constexpr std::size_t kMostBytes = 4U << 20U;
    const fs::path schemaFile = assets / "scenario.schema.json";
    Schema schema(parseStrict(readFile(schemaFile, kMostBytes), schemaFile.string()));
    Shelf models = readShelf(assets / "models", schema, "model");
    Shelf gpus = readShelf(assets / "gpus", schema, "gpu");
    Shelf clusters = readShelf(assets / "clusters", schema, "cluster");
    checkClusters(clusters, gpus, assets / "clusters");
    Catalogue catalogue;
    catalogue.m_data =
        std::make_shared<const Data>(Data{assets, std::move(schema), std::move(models), std::move(gpus), std::move(clusters)});
    return catalogue;
}

fs::path Catalogue::findAssets()
{
    if (const char* chosen = std::getenv("RANKSCOPE_ASSETS"); chosen != nullptr && *chosen != '\0')
        return chosen;
    const fs::path program = programFolder();
    for (const fs::path& candidate : {program / "assets", program / ".." / "share" / "rankscope",
                                      fs::path(RANKSCOPE_INSTALLED_ASSETS), fs::path(RANKSCOPE_SOURCE_ASSETS)}) {
        std::error_code error;
        if (fs::exists(candidate / "scenario.schema.json", error))
            return candidate;
    }
    throw Error("the catalogue (assets/) was not found; name its folder in RANKSCOPE_ASSETS");
}

const std::vector<Catalogue::Entry>& Catalogue::models() const
{
    return m_data->models.entries;
}
const std::vector<Catalogue::Entry>& Catalogue::gpus() const
{
    return m_data->gpus.entries;
}
const std::vector<Catalogue::Entry>& Catalogue::clusters() const
{
    return m_data->clusters.entries;
}
const std::string* Catalogue::modelJson(std::string_view id) const
{
    return m_data->models.find(id);
}
const std::string* Catalogue::gpuJson(std::string_view id) const
{
    return m_data->gpus.find(id);
}
const std::string* Catalogue::clusterJson(std::string_view id) const
{
    return m_data->clusters.find(id);
}
fs::path Catalogue::assets() const
{
    return m_data->assets;
}
const Schema& Catalogue::schema() const
{
    return m_data->schema;
}

} // namespace sim
