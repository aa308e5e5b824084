#include "live/huggingface/folder.h"

#include "live/huggingface/foreign_keys.h"
#include "live/huggingface/stored_model.h"
#include "live/runtime/crc32.h"
#include "live/runtime/snapshot.h"
#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/text/failure_text.h"

#include <limits>
#include <optional>

namespace live::huggingface {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kUnfinished = ".part"; ///< what a file's name ends in until it is whole

const Place& placeOf(const WeightMap& map, const ParameterSpec& spec)
{
    const auto found = map.places.find(spec.name);
    if (found == map.places.end() || found->second.rows != spec.globalRows || found->second.columns != spec.globalColumns)
        throw sim::Error(spec.name + " has no place in the model class"); // a fault of this program
    return found->second;
}

FileStyle styleOf(const StoredModel& stored, const json& config, ModelClass of)
{
    FileStyle style;
    style.stacked = stored.hasAnyWith(".experts.gate_up_proj");
    style.interleaved = config.value("rope_interleave", json(true)) != false;
    if (of == ModelClass::gpt2)
        style.prefix = stored.hasAnyWith("transformer.") ? "transformer." : "";
    return style;
}

ordered_json read(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks)
{
    if (!fs::exists(folder / kConfig))
        throw sim::Error(folder.string() + " has no " + kConfig);
    ordered_json inOrder = readJson(folder / kConfig);
    const json config = inOrder;
    std::vector<std::string> apart;
    ModelClass of{};
    try {
        of = classOf(config);
        apart = differences(config, scenario, of);
    } catch (const std::exception& error) {
        throw sim::Error((folder / kConfig).string() + ": " + sim::failureText(error));
    }
    if (!apart.empty()) {
        std::string text = (folder / kConfig).string() + " is of another model:";
        for (const std::string& each : apart)
            text += "\n  " + each;
        throw sim::Error(text);
    }
    const StoredModel stored(folder);
    const WeightMap map = mapWeights(scenario.model, of, styleOf(stored, config, of));
    stored.check(map, scenario.model);
    for (Rank* rank : ranks) {
        const bool isDouble = rank->context().accumulation == DType::f64;
        const double most =
            isDouble ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
        // Adapters begin as new ones do.
        const auto isThere = [&](const ParameterSpec& spec) {
            return !scenario.model.lora.isOn() || map.places.contains(spec.name);
        };
        rank->weights().restore(
            Quantity::value,
            [&](const ParameterSpec& spec, std::int64_t first, std::span<double> values) {
                stored.read(spec, placeOf(map, spec), first, most, values);
            },
            isThere);
    }
    return inOrder;
}

FileStyle styleToWrite(ModelClass of)
{
    FileStyle style;
    if (of == ModelClass::gpt2)
        style.prefix = "transformer.";
    return style;
}

/// The files of one model, as one process makes them with the others. Each phase ends when all are through it.
class FolderWriting {
public:
    FolderWriting(fs::path folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks, int process,
                  const ExchangeTexts& exchange, const ordered_json& config)
        : m_folder(std::move(folder)), m_growing(m_folder / (std::string(kSingle) + kUnfinished)), m_ranks(ranks),
          m_phases("weights", process, exchange), m_class(config.is_object() ? classOf(json(config)) : classOf(scenario.model)),
          m_map(mapWeights(scenario.model, m_class, styleToWrite(m_class)))
    {
        const bool isDouble = ranks.front()->context().accumulation == DType::f64;
        m_config = configOf(scenario, m_class);
        m_config["dtype"] = m_config["torch_dtype"] = isDouble ? "float64" : "float32";
        if (config.is_object())
            m_config = keptConfig(config, m_config);
        for (const auto& [name, shape] : m_map.tensors) {
            m_table.tensors[name] = {.type = isDouble ? StoredType::f64 : StoredType::f32, .shape = shape};
            m_elements += m_table.tensors[name].elements();
        }
        m_table.place();
        m_header = m_table.header({{"format", "pt"}});
    }

    void prove()
    {
        create();
        phase([&] {
            if (m_file)
                m_file->giveName(); // the last thing that can be refused
            m_file.reset();
            if (m_phases.isFirst())
                fs::remove(m_growing);
            return json();
        });
    }

    void write()
    {
        create();
        const std::vector<json> written = phase([&] { return json(fill()); });
        phase([&] {
            std::int64_t all = 0;
            for (const json& count : written)
                all += count.get<std::int64_t>();
            if (all != m_elements)
                throw sim::Error("the ranks have written " + std::to_string(all) + " elements of " + m_growing.string() +
                                 ", it has " + std::to_string(m_elements));
            if (m_phases.isFirst())
                putInPlace();
            return json();
        });
    }

private:
    std::vector<json> phase(const std::function<json()>& work)
    {
        return m_phases.together(work, [this] {
            m_file.reset();
            std::error_code none;
            if (m_phases.isFirst())
                fs::remove(m_growing, none); // so that what was full is no fuller than before
        });
    }

    /// The file with room for all, open on each process. Of a process alone it has no name: a kill leaves nothing of it.
    void create()
    {
        const bool isAlone = phase([] { return json(); }).size() == 1;
        phase([&] {
            if (!m_phases.isFirst())
                return json();
            createFolders(m_folder);
            for (const char* name : {kSingle, kConfig})
                if (fs::exists(m_folder / name) && !fs::is_regular_file(m_folder / name))
                    throw sim::Error("cannot write " + (m_folder / name).string() + ": it is no ordinary file");
            fs::remove(m_growing);
            m_file.emplace(m_growing, isAlone ? PlacedFile::Mode::unnamed : PlacedFile::Mode::create);
            m_file->reserve(m_header.size() + m_table.dataBytes());
            m_file->write(0, m_header.data(), m_header.size());
            return json();
        });
        phase([&] {
            if (!m_phases.isFirst())
                m_file.emplace(m_growing, PlacedFile::Mode::write);
            return json();
        });
    }

    std::int64_t fill()
    {
        std::int64_t count = 0;
        for (Rank* rank : m_ranks)
            forEachPiece(*rank, Quantity::value,
                         [&](const ParameterSpec& spec, std::int64_t first, std::span<const double> values) {
                             const Place& place = placeOf(m_map, spec);
                             const StoredTensor& tensor = m_table.tensors.at(place.tensor);
                             std::vector<double> run;
                             forEachRun(spec, place, first, static_cast<std::int64_t>(values.size()),
                                        [&](std::int64_t element, const std::vector<std::int64_t>& ours) {
                                            run.clear();
                                            for (const std::int64_t at : ours)
                                                run.push_back(values[static_cast<std::size_t>(at)]);
                                            const std::vector<std::byte> bytes = fromDoubles(tensor.type, run);
                                            m_file->write(m_header.size() + tensor.begin +
                                                              static_cast<std::uint64_t>(element) * bytesOf(tensor.type),
                                                          bytes.data(), bytes.size());
                                            count += static_cast<std::int64_t>(ours.size());
                                        });
                         });
        m_file->sync();
        return count;
    }

    void putInPlace()
    {
        const std::string config = m_config.dump(2) + "\n";
        m_file->giveName();
        // Whoever is killed here leaves weights without a config.json, which nobody loads, rather than with another model's.
        constexpr std::size_t kMostBytes = std::size_t{1} << 28U;
        if (fs::exists(m_folder / kConfig) && sim::readFile(m_folder / kConfig, kMostBytes) != config) {
            fs::remove(m_folder / kConfig);
            syncFolder(m_folder);
        }
        fs::rename(m_growing, m_folder / kSingle);
        sim::replaceFile(m_folder / kConfig, config);
        syncFolder(m_folder);
    }

    const fs::path m_folder, m_growing;
    const std::vector<Rank*>& m_ranks;
    const Phases m_phases;
    const ModelClass m_class;
    const WeightMap m_map;
    ordered_json m_config;
    TensorTable m_table;
    std::int64_t m_elements = 0;
    std::string m_header;
    std::optional<PlacedFile> m_file;
};

} // namespace

ordered_json readWeights(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks, int process,
                         const ExchangeTexts& exchange)
{
    ordered_json config;
    Phases("weights", process, exchange).together([&] {
        config = read(folder, scenario, ranks);
        return json();
    });
    return config;
}

FileMark markOfWeights(const fs::path& folder)
{
    const std::vector<fs::path> files = weightFiles(folder);
    FileMark all;
    std::string lines;
    for (const fs::path& file : files) {
        const FileMark mark = markOf(PlacedFile(file, PlacedFile::Mode::read), kMostMarkedBytes / files.size());
        all.bytes += mark.bytes;
        lines += file.filename().string() + ": " + markText(mark) + "\n";
    }
    all.crc32 = crc32(lines.data(), lines.size());
    return all;
}

void checkCanBeWritten(const sim::Model& model)
{
    classOf(model);
    if (model.lora.isOn())
        throw sim::Error("the classes of Hugging Face hold no adapters (training.lora of rank " +
                         std::to_string(model.lora.rank) + "): use checkpoints, which do");
}

void proveCanBeWritten(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks, int process,
                       const ExchangeTexts& exchange)
{
    FolderWriting(folder, scenario, ranks, process, exchange, {}).prove();
}

void writeWeights(const fs::path& folder, const sim::Scenario& scenario, const std::vector<Rank*>& ranks, int process,
                  const ExchangeTexts& exchange, const ordered_json& config)
{
    FolderWriting(folder, scenario, ranks, process, exchange, config).write();
}

} // namespace live::huggingface
