#include "live/huggingface/folder.h"

#include "live/huggingface/weight_map.h"
#include "live/runtime/snapshot.h"
#include "live/runtime/tensor_file.h"
#include "sim/error.h"
#include "sim/scenario/files.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace live::huggingface {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kConfig = "config.json";
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// f(first element of theirs, our elements of it) for runs of theirs; ours are places in the piece.
template <class F>
void forEachRun(const ParameterSpec& spec, const Place& place, std::int64_t first, std::int64_t count, F&& f)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> elements; // theirs, ours
    spec.forEachRun(first, count, [&](std::int64_t at, std::int64_t whole, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i)
            elements.emplace_back(place.element((whole + i) / place.columns, (whole + i) % place.columns), at + i);
    });
    if (!place.isRun())
        std::sort(elements.begin(), elements.end());
    std::vector<std::int64_t> ours;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        ours.push_back(elements[i].second);
        if (i + 1 < elements.size() && elements[i + 1].first == elements[i].first + 1)
            continue;
        f(elements[i].first - static_cast<std::int64_t>(ours.size()) + 1, ours);
        ours.clear();
    }
}

const Place& placeOf(const WeightMap& map, const ParameterSpec& spec)
{
    const auto found = map.places.find(spec.name);
    if (found == map.places.end() || found->second.rows != spec.globalRows || found->second.columns != spec.globalColumns)
        throw sim::Error(spec.name + " has no place in the model class"); // a fault of this program
    return found->second;
}

json readJson(const fs::path& path)
{
    constexpr std::size_t kMostBytes = std::size_t{1} << 28U;
    json read = json::parse(sim::readFile(path, kMostBytes), nullptr, false);
    if (!read.is_object())
        throw sim::Error(path.string() + " is no JSON object");
    return read;
}

/// The tensors of a folder, over all its files.
class StoredModel {
public:
    explicit StoredModel(const fs::path& folder) : m_folder(folder)
    {
        if (fs::exists(folder / kSingle)) {
            open(folder / kSingle);
            return;
        }
        if (!fs::exists(folder / kIndex))
            throw sim::Error(folder.string() + " has neither " + kSingle + " nor " + kIndex);
        std::set<std::string> files;
        const json index = readJson(folder / kIndex);
        for (const auto& [tensor, file] : index.at("weight_map").items())
            files.insert(file.get<std::string>());
        for (const std::string& file : files) {
            if (fs::path(file).filename() != file)
                throw sim::Error((folder / kIndex).string() + " names \"" + file + "\", which is not in the folder");
            open(folder / file);
        }
    }

    bool has(const std::string& name) const { return m_tensors.contains(name); }
    bool hasAnyWith(const std::string& part) const
    {
        return std::any_of(m_tensors.begin(), m_tensors.end(),
                           [&](const auto& each) { return each.first.find(part) != std::string::npos; });
    }

    /// All of the map are there in their shapes, and no others but those that hold nothing of the model.
    void check(const WeightMap& map, const sim::Model& model) const
    {
        std::string wrong;
        int count = 0;
        const auto tell = [&](const std::string& what) {
            constexpr int kMostTold = 8;
            if (++count <= kMostTold)
                wrong += "\n  " + what;
        };
        for (const auto& [name, shape] : map.tensors) {
            const auto found = m_tensors.find(name);
            if (found == m_tensors.end())
                tell("it has no " + name + ", " + shapeText(shape) + " in this model");
            else if (found->second.tensor.shape != shape)
                tell(name + " is " + shapeText(found->second.tensor.shape) + " there, " + shapeText(shape) + " in this model");
        }
        for (const auto& [name, held] : m_tensors)
            if (!map.tensors.contains(name) && !isKnownToHoldNothing(name, model))
                tell("it has " + name + " (" + shapeText(held.tensor.shape) + "), this model has not");
        if (count > 0)
            throw sim::Error(m_folder.string() + " is of another model:" + wrong +
                             (count > 8 ? "\n  and " + std::to_string(count - 8) + " more" : ""));
    }

    void read(const ParameterSpec& spec, const Place& place, std::int64_t first, std::span<double> values) const
    {
        const Held& held = m_tensors.at(place.tensor);
        const std::uint64_t size = bytesOf(held.tensor.type);
        std::vector<std::byte> bytes;
        std::vector<double> run;
        forEachRun(spec, place, first, static_cast<std::int64_t>(values.size()),
                   [&](std::int64_t element, const std::vector<std::int64_t>& ours) {
                       bytes.resize(ours.size() * size);
                       run.resize(ours.size());
                       held.file->read(held.dataBegin + held.tensor.begin + static_cast<std::uint64_t>(element) * size,
                                       bytes.data(), bytes.size());
                       toDoubles(held.tensor.type, bytes.data(), run);
                       for (std::size_t i = 0; i < ours.size(); ++i)
                           values[static_cast<std::size_t>(ours[i])] = run[i];
                   });
    }

private:
    struct Held {
        const PlacedFile* file;
        std::uint64_t dataBegin;
        StoredTensor tensor;
    };

    void open(const fs::path& path)
    {
        const PlacedFile& file = m_files.emplace_back(path, PlacedFile::Mode::read);
        ReadTable read;
        try {
            read = readTensorTable(file);
        } catch (const sim::Error& error) {
            throw sim::Error(path.string() + ": " + error.what());
        }
        if (read.dataBegin + read.table.dataBytes() > file.size())
            throw sim::Error(path.string() + " has " + std::to_string(file.size()) + " bytes, its header says " +
                             std::to_string(read.dataBegin + read.table.dataBytes()));
        for (const auto& [name, tensor] : read.table.tensors)
            if (!m_tensors.emplace(name, Held{&file, read.dataBegin, tensor}).second)
                throw sim::Error(m_folder.string() + " has " + name + " twice");
    }

    /// Tables that are computed, the head once more where it is the embedding, layers that predict further tokens.
    static bool isKnownToHoldNothing(const std::string& name, const sim::Model& model)
    {
        for (const char* table : {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"})
            if (name.ends_with(table))
                return true;
        if (name == "lm_head.weight")
            return model.tieWordEmbeddings;
        const std::string layers = "model.layers.";
        return model.isLatentAttention() && name.starts_with(layers) &&
               std::atoi(name.c_str() + layers.size()) >= model.numHiddenLayers; // NOLINT(cert-err34-c): 0 is a layer
    }

    const fs::path m_folder;
    std::deque<PlacedFile> m_files;
    std::map<std::string, Held> m_tensors;
};

FileStyle styleOf(const StoredModel& stored, const json& config, ModelClass of)
{
    FileStyle style;
    style.stacked = stored.hasAnyWith(".experts.gate_up_proj");
    style.interleaved = config.value("rope_interleave", true);
    if (of == ModelClass::gpt2)
        style.prefix = stored.hasAnyWith("transformer.") ? "transformer." : "";
    return style;
}

void read(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks)
{
    if (!fs::exists(folder / kConfig))
        throw sim::Error(folder.string() + " has no " + kConfig);
    const json config = readJson(folder / kConfig);
    const ModelClass of = classOf(config);
    const std::vector<std::string> apart = differences(config, scenario, of);
    if (!apart.empty()) {
        std::string text = (folder / kConfig).string() + " is of another model:";
        for (const std::string& each : apart)
            text += "\n  " + each;
        throw sim::Error(text);
    }
    const StoredModel stored(folder);
    const WeightMap map = mapWeights(scenario.model, of, styleOf(stored, config, of));
    stored.check(map, scenario.model);
    for (Rank* rank : ranks)
        rank->weights().restore(Quantity::value, [&](const ParameterSpec& spec, std::int64_t first, std::span<double> values) {
            stored.read(spec, placeOf(map, spec), first, values);
        });
}

FileStyle styleToWrite(ModelClass of)
{
    FileStyle style;
    if (of == ModelClass::gpt2)
        style.prefix = "transformer.";
    return style;
}

} // namespace

void readWeights(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks, int process,
                 const ExchangeTexts& exchange)
{
    Phases("weights", process, exchange).together([&] {
        try {
            read(folder, scenario, ranks);
        } catch (const json::exception& error) {
            throw sim::Error(folder.string() + ": " + error.what());
        }
        return json();
    });
}

void checkCanBeWritten(const sim::Model& model)
{
    classOf(model);
}

void writeWeights(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks, int process,
                  const ExchangeTexts& exchange)
{
    const Phases phases("weights", process, exchange);
    const ModelClass of = classOf(scenario.model);
    const WeightMap map = mapWeights(scenario.model, of, styleToWrite(of));
    const bool isDouble = ranks.front()->context().accumulation == DType::f64;
    TensorTable table;
    std::int64_t elements = 0;
    for (const auto& [name, shape] : map.tensors) {
        table.tensors[name] = {.type = isDouble ? StoredType::f64 : StoredType::f32, .shape = shape};
        elements += table.tensors[name].elements();
    }
    table.place();
    const std::string header = table.header({{"format", "pt"}});
    const fs::path growing = folder / (std::string(kSingle) + ".part");
    const auto remove = [&] {
        std::error_code none;
        if (phases.isFirst())
            fs::remove(growing, none);
    };
    phases.together(
        [&] {
            if (!phases.isFirst())
                return json();
            createFolders(folder);
            fs::remove(growing);
            PlacedFile file(growing, PlacedFile::Mode::create);
            file.reserve(header.size() + table.dataBytes());
            file.write(0, header.data(), header.size());
            return json();
        },
        remove);
    const std::vector<json> written = phases.together(
        [&] {
            PlacedFile file(growing, PlacedFile::Mode::write);
            std::int64_t count = 0;
            for (Rank* rank : ranks)
                forEachPiece(*rank, Quantity::value,
                             [&](const ParameterSpec& spec, std::int64_t first, std::span<const double> values) {
                                 const Place& place = placeOf(map, spec);
                                 const StoredTensor& tensor = table.tensors.at(place.tensor);
                                 std::vector<double> run;
                                 forEachRun(spec, place, first, static_cast<std::int64_t>(values.size()),
                                            [&](std::int64_t element, const std::vector<std::int64_t>& ours) {
                                                run.clear();
                                                for (const std::int64_t at : ours)
                                                    run.push_back(values[static_cast<std::size_t>(at)]);
                                                const std::vector<std::byte> bytes = fromDoubles(tensor.type, run);
                                                file.write(header.size() + tensor.begin +
                                                               static_cast<std::uint64_t>(element) * bytesOf(tensor.type),
                                                           bytes.data(), bytes.size());
                                                count += static_cast<std::int64_t>(ours.size());
                                            });
                             });
            file.sync();
            return json(count);
        },
        remove);
    phases.together(
        [&] {
            std::int64_t all = 0;
            for (const json& count : written)
                all += count.get<std::int64_t>();
            if (all != elements)
                throw sim::Error("the ranks have written " + std::to_string(all) + " elements of " + growing.string() +
                                 ", it has " + std::to_string(elements));
            if (!phases.isFirst())
                return json();
            nlohmann::ordered_json config = configOf(scenario, of);
            config["dtype"] = config["torch_dtype"] = isDouble ? "float64" : "float32";
            fs::rename(growing, folder / kSingle);
            sim::replaceFile(folder / kConfig, config.dump(2) + "\n");
            syncFolder(folder);
            return json();
        },
        remove);
}

} // namespace live::huggingface
