#include "sim/scenario/catalogue.h"

#include "sim/error.h"
#include "sim/portable_math.h"
#include "sim/scenario/catalogue_entry.h"
#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/profile_file.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/unforeseen.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

namespace sim {

namespace fs = std::filesystem;

namespace {

struct Shelf {
    std::vector<Catalogue::Entry> entries;
    std::map<std::string, Json, std::less<>> json;
    const Json* find(std::string_view id) const
    {
        const auto found = json.find(id);
        return found == json.end() ? nullptr : &found->second;
    }
};

double sizeOf(const Json& entry)
{
    const auto number = [&entry](const char* key) { return memberOr<double>(entry, key, 0); };
    const double hidden = number("hidden_size");
    const double experts = std::max(1.0, number("num_experts"));
    const double inner = experts > 1 ? experts * number("moe_intermediate_size") : number("intermediate_size");
    return number("num_hidden_layers") * hidden * (4 * hidden + 3 * inner) + number("memory_gib") +
           number("gpus_per_node") * number("nodes");
}

/// Removes a key that only catalogue entries have; empty if it is not there.
std::string takeText(Json& entry, const char* key, const std::string& file)
{
    const Json* found = memberOf(entry, key);
    if (found == nullptr)
        return {};
    const auto text = valueAs<std::string>(*found);
    if (!text)
        throw ScenarioError({{file, childPointer("", key), "a string is expected"}});
    entry.erase(key);
    return *text;
}

/// `definition`: what an entry of this folder is in the schema, besides the keys that only catalogues have.
Shelf readShelf(const fs::path& folder, const Schema& schema, std::string_view definition)
{
    constexpr std::size_t kMostBytes = 1U << 20U;
    std::vector<std::tuple<std::string, double, std::string, std::string>> order; // family, size, id, name
    Shelf shelf;
    std::error_code error;
    for (fs::directory_iterator file(folder, error); !error && file != fs::directory_iterator(); file.increment(error)) {
        if (file->path().extension() != ".json")
            continue;
        const std::string name = file->path().string();
        CatalogueEntry entry = readCatalogueEntry(readFile(file->path(), kMostBytes), name, schema, definition);
        const std::string id = file->path().stem().string();
        order.emplace_back(entry.family, entry.size, id, entry.name.empty() ? id : entry.name);
        shelf.json.emplace(id, std::move(entry.json));
    }
    if (error)
        throw Error(shownPlace(folder.string()) + ": the catalogue cannot be read: " + error.message());
    std::sort(order.begin(), order.end());
    for (auto& [family, size, id, name] : order)
        shelf.entries.push_back({std::move(id), std::move(name), std::move(family)});
    return shelf;
}

/// Entries of clusters name what other folders hold.
void checkClusters(const Shelf& clusters, const Shelf& gpus, const fs::path& folder)
{
    for (const auto& [id, entry] : clusters.json) {
        const std::string file = (folder / (id + ".json")).string();
        const auto gpu = memberOr<std::string>(entry, "gpu", {});
        if (gpus.find(gpu) == nullptr)
            throw ScenarioError({{file, "/gpu", "the id of an entry of gpus/ is expected"}});
        const Json* efficiency = memberOf(entry, "efficiency");
        if (efficiency != nullptr && !efficiency->is_object())
            throw ScenarioError({{file, "/efficiency", "an object is expected"}});
    }
}

/// A line of residuals.json; an empty gpu or stack stands for all.
struct Residuals {
    std::string gpu, stack, kind;
    Uncertainty factors;
};

std::vector<Residuals> readResiduals(const fs::path& file)
{
    constexpr std::size_t kMostBytes = 1U << 20U;
    const std::string name = file.string();
    std::vector<Residuals> out;
    if (std::error_code error; !fs::exists(file, error))
        return out; // nothing was measured: the usual factors
    const Json json = readSafely(name, [&] { return parseStrict(readFile(file, kMostBytes), name); });
    const Json* entries = memberOf(json, "residuals");
    if (entries == nullptr || !entries->is_array() || entries->empty())
        throw ScenarioError({{name, "/residuals", "a list is expected"}});
    for (const Json& entry : *entries) {
        Residuals of{.gpu = memberOr<std::string>(entry, "gpu", {}),
                     .stack = memberOr<std::string>(entry, "stack", {}),
                     .kind = memberOr<std::string>(entry, "kind", {}),
                     .factors = {}};
        Uncertainty& u = of.factors;
        u.level = memberOr(json, "level", u.level);
        u.basis = memberOr<std::string>(entry, "basis", {});
        u.ratioBasis = memberOr<std::string>(entry, "ratio_basis", {});
        double ratioLow = 1, ratioHigh = 1;
        for (const auto& [key, low, high] :
             {std::tuple("step", &u.stepLow, &u.stepHigh), std::tuple("memory", &u.memoryLow, &u.memoryHigh),
              std::tuple("ratio", &ratioLow, &ratioHigh)})
            if (const Json* pair = memberOf(entry, key); pair != nullptr && pair->is_array() && pair->size() == 2) {
                *low = valueAs<double>((*pair)[0]).value_or(*low);
                *high = valueAs<double>((*pair)[1]).value_or(*high);
                if (!(0 < *low && *low <= 1 && *high >= 1))
                    throw ScenarioError({{name, "/residuals/" + std::to_string(out.size()) + "/" + key,
                                          "a factor of at most 1 and one of at least 1 are expected"}});
            }
        if (ratioLow < ratioHigh && u.stepLow < u.stepHigh) // else pairs were not looked at: as sure as a step by itself
            u.ratioShare = portableLog(ratioHigh / ratioLow) / portableLog(u.stepHigh / u.stepLow);
        out.push_back(std::move(of));
    }
    return out;
}

fs::path programFolder()
{
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path{} : program.parent_path();
}

} // namespace

CatalogueEntry readCatalogueEntry(std::string_view text, const std::string& file, const Schema& schema,
                                  std::string_view definition)
{
    Json json = readSafely(file, [&] { return parseStrict(text, file); });
    if (!json.is_object())
        throw ScenarioError({{file, "", "a catalogue entry is an object"}});
    CatalogueEntry entry;
    entry.family = takeText(json, "family", file);
    takeText(json, "source", file);
    auto problems = schema.check(json, file, definition);
    if (!problems.empty())
        throw ScenarioError(std::move(problems));
    if (json.contains("base"))
        throw ScenarioError({{file, "/base", "an entry stands by itself"}});
    entry.size = sizeOf(json);
    entry.name = memberOr<std::string>(json, "name", {});
    entry.json = std::move(json);
    return entry;
}

struct Catalogue::Data {
    fs::path assets;
    Schema schema;
    Shelf models, gpus, clusters, stacks;
    std::vector<Residuals> residuals; ///< the closer ones first
    struct LastProfile {
        std::mutex lock;
        std::shared_ptr<const ProfileFile> file;
    };
    std::unique_ptr<LastProfile> lastProfile = std::make_unique<LastProfile>();
};

Catalogue Catalogue::load(const fs::path& assets)
{
    constexpr std::size_t kMostBytes = 4U << 20U;
    const fs::path schemaFile = assets / "scenario.schema.json";
    Schema schema = readSafely(schemaFile.string(), [&] {
        try {
            return Schema(parseStrict(readFile(schemaFile, kMostBytes), schemaFile.string()));
        } catch (const ScenarioError&) {
            throw;
        } catch (const Error& error) {
            const std::string place = shownPlace(schemaFile.string());
            const std::string_view what = error.what();
            throw Error(what.starts_with(place) ? std::string(what) : place + ": " + std::string(what));
        }
    });
    Shelf models = readShelf(assets / "models", schema, "model");
    Shelf gpus = readShelf(assets / "gpus", schema, "gpu");
    Shelf clusters = readShelf(assets / "clusters", schema, "cluster");
    Shelf stacks = readShelf(assets / "stacks", schema, "stack");
    checkClusters(clusters, gpus, assets / "clusters");
    Catalogue catalogue;
    catalogue.m_data =
        std::make_shared<const Data>(Data{assets, std::move(schema), std::move(models), std::move(gpus), std::move(clusters),
                                          std::move(stacks), readResiduals(assets / "residuals.json")});
    return catalogue;
}

fs::path Catalogue::findAssets()
{
    if (const char* chosen = std::getenv("RANKSCOPE_ASSETS"); chosen != nullptr && *chosen != '\0')
        return chosen;
    const fs::path program = programFolder();
    for (const char* place : {"assets", RANKSCOPE_INSTALLED_ASSETS, RANKSCOPE_SOURCE_ASSETS}) { // the last may be absolute
        const fs::path candidate = (program / place).lexically_normal();
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
const std::vector<Catalogue::Entry>& Catalogue::stacks() const
{
    return m_data->stacks.entries;
}
const Json* Catalogue::modelJson(std::string_view id) const
{
    return m_data->models.find(id);
}
const Json* Catalogue::gpuJson(std::string_view id) const
{
    return m_data->gpus.find(id);
}
const Json* Catalogue::clusterJson(std::string_view id) const
{
    return m_data->clusters.find(id);
}
const Json* Catalogue::stackJson(std::string_view id) const
{
    return m_data->stacks.find(id);
}
bool Catalogue::isCpu(std::string_view gpu) const
{
    return std::any_of(gpus().begin(), gpus().end(), [gpu](const Entry& of) { return of.id == gpu && of.family == "CPU"; });
}
Uncertainty Catalogue::uncertainty(std::string_view gpu, std::string_view stack, bool isMoe) const
{
    if (isCpu(gpu)) // people are told none; scripts, which want two numbers, get what is a guess: half and double
        return {.level = 0, .stepLow = 0.5, .stepHigh = 2, .basis = "no steps of CPUs were measured"};
    for (const Residuals& of : m_data->residuals)
        if ((of.gpu.empty() || of.gpu == gpu) && (of.stack.empty() || of.stack == stack) &&
            (of.kind.empty() || of.kind == (isMoe ? "moe" : "dense")))
            return of.factors;
    return {};
}
fs::path Catalogue::assets() const
{
    return m_data->assets;
}

fs::path Catalogue::scenarios() const
{
    if (const char* named = std::getenv("RANKSCOPE_SCENARIOS"))
        return named;
    const fs::path beside = assets().parent_path() / "scenarios";
    std::error_code unseen;
    return fs::is_directory(beside, unseen) ? beside : assets() / "scenarios";
}
const Schema& Catalogue::schema() const
{
    return m_data->schema;
}

std::shared_ptr<const ProfileFile> Catalogue::profile(std::string text, const std::string& name) const
{
    Data::LastProfile& last = *m_data->lastProfile;
    {
        const std::lock_guard guard(last.lock);
        if (last.file && last.file->name == name && last.file->text == text)
            return last.file;
    }
    const auto read =
        std::make_shared<ProfileFile>(ProfileFile{.text = std::move(text), .name = name, .json = {}, .problems = {}});
    read->json = parseStrict(read->text, shownPlace(name));
    read->problems = schema().check(read->json, name, "efficiency", "/cluster/efficiency");
    const std::lock_guard guard(last.lock);
    last.file = read;
    return read;
}

} // namespace sim
