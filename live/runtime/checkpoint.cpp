#include "live/runtime/checkpoint.h"

#include "live/runtime/crc32.h"
#include "live/runtime/tensor_file.h"
#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/text/failure_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace live {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kUnfinished = ".part"; ///< what a checkpoint's name ends in until it is whole
constexpr const char* kSetAside = ".old";    ///< and while another takes its place (exchangeFolders)
constexpr const char* kFormat = "rankscope-checkpoint";
constexpr int kVersion = 2;

struct QuantityName {
    Quantity quantity;
    const char* name;
};
constexpr std::array kQuantityNames = {
    QuantityName{Quantity::value, "weights"}, QuantityName{Quantity::firstMoment, "first_moments"},
    QuantityName{Quantity::secondMoment, "second_moments"}, QuantityName{Quantity::gradient, "gradients"}};

std::string fileOf(const QuantityName& quantity)
{
    return std::string(quantity.name) + ".safetensors";
}

bool isKept(const QuantityName& quantity, const Rank& rank)
{
    return quantity.quantity == Quantity::value || rank.optimizer() == sim::Optimizer::adamw;
}

/// What a file's header says beside its tensors.
std::map<std::string, std::string> metadataOf(const std::string& quantity, std::int64_t step)
{
    return {{"format", kFormat}, {"quantity", quantity}, {"step", std::to_string(step)}};
}

json jsonOf(const FileMark& mark)
{
    return {{"bytes", mark.bytes}, {"crc32", mark.crc32}};
}

/// What a process has written of a tensor.
struct Written {
    std::int64_t elements = 0;
    std::uint32_t linearCrc = 0;
};
using WrittenTensors = std::map<std::string, Written>;

/// Makes one file, with the other processes.
class TensorWriter {
public:
    TensorWriter(const fs::path& path, const TensorTable& table, std::uint64_t headerBytes)
        : m_file(path, PlacedFile::Mode::write), m_table(table), m_headerBytes(headerBytes)
    {
    }
    void write(const ParameterSpec& spec, std::int64_t first, std::span<const double> values)
    {
        const StoredTensor& tensor = m_table.tensors.at(spec.name);
        const std::uint64_t size = bytesOf(tensor.type);
        const std::vector<std::byte> elements = fromDoubles(tensor.type, values);
        Written& written = m_written[spec.name];
        PiecewiseCrc32 crc(tensor.end - tensor.begin);
        spec.forEachRun(first, static_cast<std::int64_t>(values.size()),
                        [&](std::int64_t at, std::int64_t place, std::int64_t count) {
                            const std::byte* const from = elements.data() + static_cast<std::uint64_t>(at) * size;
                            const std::uint64_t offset = static_cast<std::uint64_t>(place) * size,
                                                bytes = static_cast<std::uint64_t>(count) * size;
                            m_file.write(m_headerBytes + tensor.begin + offset, from, bytes);
                            crc.add(offset, from, bytes);
                            written.elements += count;
                        });
        written.linearCrc ^= crc.linear();
    }
    WrittenTensors finish()
    {
        m_file.sync();
        return std::move(m_written);
    }

private:
    PlacedFile m_file;
    const TensorTable& m_table;
    const std::uint64_t m_headerBytes;
    WrittenTensors m_written;
};

/// One writing of a checkpoint, as one process sees it. Each phase ends when all processes are through it; if one fails, all do.
class CheckpointWriting {
public:
    CheckpointWriting(const CheckpointInfo& info, const std::vector<Rank*>& ranks, int process, const ExchangeTexts& exchange)
        : m_info(info), m_ranks(ranks), m_phases("checkpoint", process, exchange)
    {
        for (const QuantityName& quantity : kQuantityNames)
            if (quantity.quantity == Quantity::gradient ? info.gradients : isKept(quantity, *ranks.front()))
                m_quantities.push_back(quantity);
    }

    fs::path write(const fs::path& folder)
    {
        char name[32];
        std::snprintf(name, sizeof name, "step-%08d", m_info.step);
        fs::path complete = folder / name;
        m_growing = folder / (std::string(name) + kUnfinished);
        phase([&] {
            if (m_phases.isFirst()) {
                createFolders(folder);
                fs::remove_all(m_growing);
                fs::create_directory(m_growing);
            }
            return ownTensors();
        });
        gatherTable();
        phase([&] {
            for (const QuantityName& quantity : m_quantities)
                if (m_phases.isFirst())
                    createFile(quantity);
            return json();
        });
        phase([&] { return writeTensors(); });
        phase([&] {
            if (m_phases.isFirst())
                putInPlace(folder, complete);
            return json();
        });
        return complete;
    }

private:
    /// m_answers: what it gave on each process.
    void phase(const std::function<json()>& work)
    {
        m_answers = m_phases.together(work, [this] {
            std::error_code none;
            if (m_phases.isFirst())
                fs::remove_all(m_growing, none); // so that what was full is no fuller than before
        });
    }

    json ownTensors() const
    {
        json tensors = json::object();
        for (Rank* rank : m_ranks)
            rank->weights().forEachOwned(true, [&](const OwnedRange& own) {
                tensors[own.parameter->spec.name] = {own.parameter->spec.wholeShape(), own.parameter->isTrained()};
            });
        return tensors;
    }

    void gatherTable()
    {
        const bool isDouble = m_ranks.front()->context().accumulation == DType::f64;
        m_type = isDouble ? StoredType::f64 : StoredType::f32;
        for (const QuantityName& quantity : m_quantities) {
            TensorTable& table = m_tables[quantity.name];
            for (const json& tensors : m_answers)
                for (const auto& [name, tensor] : tensors.items())
                    if (quantity.quantity == Quantity::value || tensor.at(1).get<bool>()) // what is frozen has values alone
                        table.tensors[name] = {.type = m_type, .shape = tensor.at(0)};
            table.place();
        }
    }

    std::string headerOf(const QuantityName& quantity) const
    {
        return m_tables.at(quantity.name).header(metadataOf(quantity.name, m_info.step));
    }

    void createFile(const QuantityName& quantity) const
    {
        const std::string header = headerOf(quantity);
        PlacedFile file(m_growing / fileOf(quantity), PlacedFile::Mode::create);
        file.reserve(header.size() + m_tables.at(quantity.name).dataBytes());
        file.write(0, header.data(), header.size());
        file.sync();
    }

    json writeTensors() const
    {
        json written = json::object();
        for (const QuantityName& quantity : m_quantities) {
            TensorWriter writer(m_growing / fileOf(quantity), m_tables.at(quantity.name), headerOf(quantity).size());
            for (Rank* rank : m_ranks)
                forEachPiece(*rank, quantity.quantity,
                             [&](const ParameterSpec& spec, std::int64_t first, std::span<const double> values) {
                                 writer.write(spec, first, values);
                             });
            for (const auto& [name, tensor] : writer.finish())
                written[quantity.name][name] = {tensor.elements, tensor.linearCrc};
        }
        return written;
    }

    /// All tensors are whole: their checksums into the manifest, and the folder to its place.
    void putInPlace(const fs::path& folder, const fs::path& complete) const
    {
        json manifest = {{"format", kFormat},
                         {"version", kVersion},
                         {"step", m_info.step},
                         {"seed", m_info.seed},
                         {"scenario", m_info.scenarioJson},
                         {"files", json::object()}};
        if (m_info.data)
            manifest["data"] = jsonOf(*m_info.data);
        if (m_info.weights) {
            const WeightsOrigin& origin = *m_info.weights;
            manifest["weights"] = origin.folder.empty() ? json() : jsonOf(origin.mark);
            if (!origin.folder.empty())
                manifest["weights"]["folder"] = sim::validUtf8(origin.folder);
        }
        for (const QuantityName& quantity : m_quantities) {
            const std::uint64_t headerBytes = headerOf(quantity).size();
            json tensors = json::object();
            const TensorTable& table = m_tables.at(quantity.name);
            for (const auto& [name, tensor] : table.tensors)
                tensors[name] = {{"shape", tensor.shape},
                                 {"offsets", {headerBytes + tensor.begin, headerBytes + tensor.end}},
                                 {"crc32", checksum(quantity.name, name, tensor)}};
            manifest["files"][fileOf(quantity)] = {{"quantity", quantity.name},
                                                   {"dtype", storedTypeName(m_type)},
                                                   {"bytes", headerBytes + table.dataBytes()},
                                                   {"tensors", std::move(tensors)}};
        }
        const std::string text = manifest.dump();
        manifest["crc32"] = crc32(text.data(), text.size()); // of the rest
        sim::replaceFile(m_growing / "manifest.json", manifest.dump(1) + "\n");
        syncFolder(m_growing);
        const bool isReplaced = exchangeFolders(m_growing, complete);
        syncFolder(folder); // the new one is there whatever happens from now on
        if (!isReplaced)
            return;
        std::error_code stays; // what is left of the old one is no failure of the new one: the next run removes it
        fs::remove_all(m_growing, stays);
        syncFolder(folder);
    }

    std::uint32_t checksum(const char* quantity, const std::string& name, const StoredTensor& tensor) const
    {
        std::int64_t elements = 0;
        PiecewiseCrc32 crc(tensor.end - tensor.begin);
        for (const json& answer : m_answers) // still those of writing
            if (const auto files = answer.find(quantity); files != answer.end())
                if (const auto written = files->find(name); written != files->end()) {
                    elements += written->at(0).get<std::int64_t>();
                    crc.join(written->at(1).get<std::uint32_t>());
                }
        if (elements != tensor.elements())
            throw sim::Error("of " + name + " the ranks have written " + std::to_string(elements) + " elements, it has " +
                             std::to_string(tensor.elements()));
        return crc.value();
    }

    const CheckpointInfo& m_info;
    const std::vector<Rank*>& m_ranks;
    const Phases m_phases;
    std::vector<QuantityName> m_quantities;
    fs::path m_growing;
    StoredType m_type = StoredType::f32;
    std::map<std::string, TensorTable> m_tables; ///< by quantity
    std::vector<json> m_answers;                 ///< of the last phase, by process
};

[[noreturn]] void refuseDamaged(const fs::path& path, const std::string& why)
{
    throw sim::Error("checkpoint: " + path.string() + " is damaged: " + why);
}

json readManifest(const fs::path& checkpoint, std::uint32_t* itsCrc32 = nullptr)
{
    const fs::path path = checkpoint / "manifest.json";
    constexpr std::size_t kMostBytes = std::size_t{1} << 30;
    constexpr int kDeepest = 64; // no manifest nests nearly as deep; what does could not be written out again
    const auto isShallow = [&](int depth, json::parse_event_t, json&) {
        if (depth > kDeepest)
            refuseDamaged(path, "it nests deeper than " + std::to_string(kDeepest));
        return true;
    };
    const std::string bytes = sim::readFile(path, kMostBytes);
    if (bytes.find('\0') != std::string::npos) // which the parser takes for the end, whatever follows
        refuseDamaged(path, "it has bytes of 0, as no text has");
    json manifest = json::parse(bytes, isShallow, false);
    if (!manifest.is_object() || manifest.value("format", json()) != kFormat)
        refuseDamaged(path, "it is no manifest of a checkpoint");
    if (manifest.value("version", json()) == 1)
        throw sim::Error(
            "checkpoint: " + checkpoint.string() +
            " is of version 1 (one file a rank, without checksums), which is no longer read: train on from it with the "
            "program that wrote it, and write it anew with this one");
    if (manifest.value("version", json()) != kVersion)
        throw sim::Error("checkpoint: " + path.string() + " is not of version " + std::to_string(kVersion) +
                         ", the one that is read here");
    const json checksum = manifest.value("crc32", json());
    manifest.erase("crc32");
    const std::string text = manifest.dump();
    if (checksum != crc32(text.data(), text.size()))
        refuseDamaged(path, "its own checksum is another");
    if (itsCrc32)
        *itsCrc32 = checksum;
    return manifest;
}

/// One file of a checkpoint, open. What is read from it is as it was written.
class StoredQuantity {
public:
    /// step: as the manifest has it.
    StoredQuantity(const fs::path& path, const json& entry, std::int64_t step)
        : m_path(path), m_file(path, PlacedFile::Mode::read), m_entry(entry)
    {
        const std::uint64_t bytes = m_file.size();
        if (bytes != entry.at("bytes").get<std::uint64_t>())
            refuseDamaged(path, "it has " + std::to_string(bytes) + " bytes, the manifest says " + entry.at("bytes").dump());
        ReadTable read = readTensorTable(m_file);
        m_table = std::move(read.table);
        m_dataBegin = read.dataBegin;
        const json& tensors = entry.at("tensors");
        bool same = tensors.size() == m_table.tensors.size() && m_dataBegin + m_table.dataBytes() == bytes;
        for (const auto& [name, tensor] : m_table.tensors)
            same = same && tensors.contains(name) && entry.at("dtype") == storedTypeName(tensor.type) &&
                   tensors.at(name).at("offsets") == json{m_dataBegin + tensor.begin, m_dataBegin + tensor.end} &&
                   isShapeOf(tensors.at(name).at("shape"), tensor);
        if (!same)
            refuseDamaged(path, "its header and the manifest do not say the same");
        std::string header(m_dataBegin, '\0'); // words about the file and what lies between are in no checksum
        m_file.read(0, header.data(), header.size());
        if (header != m_table.header(metadataOf(entry.at("quantity"), step)))
            refuseDamaged(path, "its header is not as it was written");
    }

    const TensorTable& table() const { return m_table; }

    /// Proves this process's share of the checksums.
    void prove(int process, int processes) const
    {
        constexpr std::uint64_t kPiece = std::uint64_t{4} << 20U;
        std::vector<char> buffer;
        int number = 0;
        for (const auto& [name, tensor] : m_table.tensors) {
            if (number++ % processes != process)
                continue;
            PiecewiseCrc32 crc(tensor.end - tensor.begin);
            for (std::uint64_t at = tensor.begin; at < tensor.end; at += kPiece) {
                buffer.resize(std::min(kPiece, tensor.end - at));
                m_file.read(m_dataBegin + at, buffer.data(), buffer.size());
                crc.add(at - tensor.begin, buffer.data(), buffer.size());
            }
            const json& expected = m_entry.at("tensors").at(name).at("crc32");
            if (expected != crc.value())
                refuseDamaged(m_path, "the checksum of " + name + " is " + std::to_string(crc.value()) + ", the manifest says " +
                                          expected.dump());
        }
    }

    /// Elements of a rank's slice from `first` on; what is padding there stays as it is.
    void read(const ParameterSpec& spec, std::int64_t first, std::span<double> values) const
    {
        const auto found = m_table.tensors.find(spec.name);
        if (found == m_table.tensors.end())
            throw sim::Error("checkpoint: " + m_path.string() + " has no " + spec.name + ": it is of another model");
        const StoredTensor& tensor = found->second;
        if (tensor.rows() != spec.globalRows || tensor.columns() != spec.globalColumns)
            throw sim::Error("checkpoint: " + spec.name + " is " + shapeText(tensor.shape) + " in " + m_path.string() + ", " +
                             shapeText(spec.wholeShape()) + " in this model");
        const std::uint64_t size = bytesOf(tensor.type);
        std::vector<std::byte> bytes;
        spec.forEachRun(
            first, static_cast<std::int64_t>(values.size()), [&](std::int64_t at, std::int64_t place, std::int64_t count) {
                bytes.resize(static_cast<std::size_t>(count) * size);
                m_file.read(m_dataBegin + tensor.begin + static_cast<std::uint64_t>(place) * size, bytes.data(), bytes.size());
                toDoubles(tensor.type, bytes.data(),
                          values.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
            });
    }

    /// Throws if it has tensors that none of the model's are.
    void checkAllKnown(const std::set<std::string>& known) const
    {
        for (const auto& [name, tensor] : m_table.tensors)
            if (!known.contains(name))
                throw sim::Error("checkpoint: " + m_path.string() + " has " + name +
                                 ", this model has not: it is of another model");
    }

private:
    /// What wrote version 2 first gave vectors as matrices of one row in the manifest, and matrices of one row as vectors in
    /// the header.
    static bool isShapeOf(const json& written, const StoredTensor& tensor)
    {
        return written == tensor.shape || written == json{tensor.rows(), tensor.columns()};
    }

    const fs::path m_path;
    const PlacedFile m_file;
    const json m_entry;
    TensorTable m_table;
    std::uint64_t m_dataBegin = 0;
};

bool isCheckpointName(const std::string& name)
{
    constexpr std::size_t kDigits = 8;
    return name.starts_with("step-") && name.size() >= 5 + kDigits &&
           std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Those of the whole model, over all processes.
std::set<std::string> namesOfModel(const std::vector<Rank*>& ranks, const Phases& phases, int& processes)
{
    const std::vector<json> answers = phases.together([&] {
        json names = json::array();
        for (Rank* rank : ranks)
            rank->weights().forEachOwned(false, [&](const OwnedRange& own) { names.push_back(own.parameter->spec.name); });
        return names;
    });
    processes = static_cast<int>(answers.size());
    std::set<std::string> known;
    for (const json& names : answers)
        for (const json& name : names)
            known.insert(name.get<std::string>());
    return known;
}

void readQuantities(const json& manifest, const fs::path& checkpoint, const std::vector<Rank*>& ranks, int process, int processes,
                    const std::set<std::string>& known)
{
    for (const QuantityName& quantity : kQuantityNames) {
        const bool isNeeded = quantity.quantity != Quantity::gradient && isKept(quantity, *ranks.front());
        const auto entry = manifest.at("files").find(fileOf(quantity));
        const bool isThere = entry != manifest.at("files").end();
        if (!isThere && !isNeeded)
            continue;
        if (!isThere)
            throw sim::Error("checkpoint: " + checkpoint.string() + " has no " + quantity.name +
                             ", which AdamW goes on from: it was written by a run with SGD; use --set training.optimizer=sgd");
        const StoredQuantity stored(checkpoint / fileOf(quantity), *entry, manifest.at("step").get<std::int64_t>());
        stored.prove(process, processes); // what is not read back, too: a damaged disk is told before it has cost more
        if (!isNeeded)
            continue;
        stored.checkAllKnown(known);
        for (Rank* rank : ranks)
            rank->weights().restore(quantity.quantity, [&](const ParameterSpec& spec, std::int64_t first,
                                                           std::span<double> values) { stored.read(spec, first, values); });
    }
}

} // namespace

fs::path writeCheckpoint(const fs::path& folder, const CheckpointInfo& info, const std::vector<Rank*>& ranks, int process,
                         const ExchangeTexts& exchange)
{
    return CheckpointWriting(info, ranks, process, exchange).write(folder);
}

fs::path findCheckpoint(const fs::path& folder)
{
    if (fs::exists(folder / "manifest.json"))
        return folder;
    fs::path newest;
    const auto isNewer = [&](const std::string& name) { // as numbers, which have eight digits or more
        const auto digits = [](const std::string& of) { return of.substr(std::min(of.find_first_not_of('0', 5), of.size())); };
        const std::string number = digits(name), than = newest.empty() ? "" : digits(newest.filename());
        return newest.empty() || std::pair(number.size(), number) > std::pair(than.size(), than);
    };
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (const std::string name = entry.path().filename();
            isCheckpointName(name) && isNewer(name) && fs::exists(entry.path() / "manifest.json"))
            newest = entry.path();
    if (newest.empty())
        throw sim::Error("there is no complete checkpoint in " + folder.string());
    return newest;
}

void removeUnfinishedCheckpoints(const fs::path& folder)
{
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        const fs::path name = entry.path().filename(), place = folder / name.stem();
        if (!isCheckpointName(name.stem()))
            continue;
        if (name.extension() == kSetAside && !fs::exists(place, none)) // it was to be replaced, and was not
            fs::rename(entry.path(), place, none);
        else if (name.extension() == kUnfinished || name.extension() == kSetAside)
            fs::remove_all(entry.path(), none);
    }
}

CheckpointInfo readCheckpointInfo(const fs::path& checkpoint)
{
    std::uint32_t checksum = 0;
    const json manifest = readManifest(checkpoint, &checksum);
    const auto has = [&](const char* key, bool (json::*isOf)() const) {
        const auto found = manifest.find(key);
        if (found == manifest.end() || !((*found).*isOf)())
            refuseDamaged(checkpoint / "manifest.json", std::string("it has no good \"") + key + "\"");
    };
    has("scenario", &json::is_string);
    has("step", &json::is_number_integer);
    has("seed", &json::is_number_integer);
    const auto step = manifest.at("step").get<std::int64_t>();
    if (step < 0 || step >= std::numeric_limits<int>::max())
        refuseDamaged(checkpoint / "manifest.json", "step " + std::to_string(step) + " is none of a run");
    CheckpointInfo info{
        .step = static_cast<int>(step), .scenarioJson = manifest.at("scenario"), .seed = manifest.at("seed"), .crc32 = checksum};
    const auto markAt = [&](const char* key) -> FileMark {
        const json &mark = manifest.at(key), bytes = mark.value("bytes", json()), crc = mark.value("crc32", json());
        if (!bytes.is_number_unsigned() || !crc.is_number_unsigned() || crc.get<std::uint64_t>() > 0xFFFFFFFF)
            refuseDamaged(checkpoint / "manifest.json", std::string("it has no good \"") + key + "\"");
        return {.bytes = bytes, .crc32 = crc};
    };
    if (manifest.contains("data")) {
        has("data", &json::is_object);
        info.data = markAt("data");
    }
    if (manifest.contains("weights")) {
        info.weights.emplace();
        if (!manifest.at("weights").is_null()) {
            has("weights", &json::is_object);
            info.weights->mark = markAt("weights");
            const json folder = manifest.at("weights").value("folder", json());
            if (!folder.is_string())
                refuseDamaged(checkpoint / "manifest.json", "it does not say of which folder its \"weights\" are");
            info.weights->folder = folder;
        }
    }
    return info;
}

void readCheckpoint(const fs::path& checkpoint, const std::vector<Rank*>& ranks, int process, const ExchangeTexts& exchange)
{
    const Phases phases("checkpoint", process, exchange);
    int processes = 1;
    const std::set<std::string> known = namesOfModel(ranks, phases, processes);
    phases.together([&] {
        const json manifest = readManifest(checkpoint);
        try {
            readQuantities(manifest, checkpoint, ranks, process, processes, known);
        } catch (const json::exception& error) {
            refuseDamaged(checkpoint / "manifest.json", sim::failureText(error));
        }
        return json();
    });
}

} // namespace live
