#include "live/runtime/checkpoint.h"

#include "sim/error.h"
#include "sim/scenario/files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

namespace live {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "rankscope-checkpoint";
constexpr std::array kQuantities = {Quantity::value, Quantity::firstMoment, Quantity::secondMoment};

std::string fileOfRank(int rank)
{
    char name[32];
    std::snprintf(name, sizeof name, "rank-%05d.bin", rank);
    return name;
}

/// A piece's header in a rank's file; its name and then `count` doubles follow.
struct PieceHeader {
    std::int64_t nameBytes = 0;
    std::int64_t quantity = 0;
    std::int64_t globalRows = 0, globalColumns = 0;
    std::int64_t firstRow = 0, firstColumn = 0, columns = 0; ///< of the slice
    std::int64_t first = 0, count = 0;                       ///< in the slice, row by row
};
static_assert(sizeof(PieceHeader) == 72);

class CheckpointOutput {
public:
    explicit CheckpointOutput(const fs::path& path) : m_path(path), m_file(std::fopen(path.c_str(), "wb"))
    {
        if (!m_file)
            fail();
    }
    ~CheckpointOutput()
    {
        if (m_file)
            std::fclose(m_file);
    }
    CheckpointOutput(const CheckpointOutput&) = delete;
    CheckpointOutput& operator=(const CheckpointOutput&) = delete;
    void write(const void* data, std::size_t bytes)
    {
        if (bytes > 0 && std::fwrite(data, bytes, 1, m_file) != 1)
            fail();
    }
    void close()
    {
        std::FILE* file = std::exchange(m_file, nullptr);
        const bool flushed = std::fflush(file) == 0;
        if (std::fclose(file) != 0 || !flushed)
            fail();
    }

private:
    [[noreturn]] void fail() const
    {
        throw sim::Error("checkpoint: cannot write " + m_path.string() + ": " + std::strerror(errno));
    }
    fs::path m_path;
    std::FILE* m_file;
};

void writeRank(const fs::path& path, Rank& rank)
{
    CheckpointOutput out(path);
    for (const Quantity quantity : kQuantities) {
        if (quantity != Quantity::value && rank.context().scenario.training.optimizer != sim::Optimizer::adamw)
            continue;
        forEachPiece(rank, quantity, [&](const OwnedRange& own, const std::vector<double>& values) {
            const ParameterSpec& spec = own.parameter->spec;
            const PieceHeader header{.nameBytes = static_cast<std::int64_t>(spec.name.size()),
                                     .quantity = static_cast<std::int64_t>(quantity),
                                     .globalRows = spec.globalRows,
                                     .globalColumns = spec.globalColumns,
                                     .firstRow = spec.firstRow,
                                     .firstColumn = spec.firstColumn,
                                     .columns = spec.columns,
                                     .first = own.first,
                                     .count = own.count};
            out.write(&header, sizeof header);
            out.write(spec.name.data(), spec.name.size());
            out.write(values.data(), values.size() * sizeof(double));
        });
    }
    out.close();
}

class CheckpointInput {
public:
    explicit CheckpointInput(const fs::path& path) : m_path(path), m_in(path, std::ios::binary)
    {
        if (!m_in)
            throw sim::Error("checkpoint: cannot read " + path.string());
        m_left = static_cast<std::int64_t>(fs::file_size(path));
    }
    bool atEnd() const { return m_left == 0; }
    void read(void* data, std::int64_t bytes)
    {
        if (bytes < 0 || bytes > m_left || !m_in.read(static_cast<char*>(data), bytes))
            damaged();
        m_left -= bytes;
    }
    void skip(std::int64_t bytes)
    {
        if (bytes < 0 || bytes > m_left || !m_in.seekg(bytes, std::ios::cur))
            damaged();
        m_left -= bytes;
    }
    std::int64_t left() const { return m_left; }
    [[noreturn]] void damaged() const
    {
        throw sim::Error("checkpoint: " + m_path.string() + " is damaged (" + std::to_string(m_left) + " bytes before its end)");
    }

private:
    fs::path m_path;
    std::ifstream m_in;
    std::int64_t m_left = 0;
};

/// Adds the pieces of one quantity in a rank's file.
void readPieces(const fs::path& path, Quantity wanted, Snapshot& snapshot)
{
    CheckpointInput in(path);
    while (!in.atEnd()) {
        PieceHeader header;
        in.read(&header, sizeof header);
        constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
        const bool sound = header.nameBytes > 0 && header.nameBytes < 4096 && header.columns > 0 && header.count >= 0 &&
                           header.first >= 0 && header.globalRows > 0 && header.globalColumns > 0 && header.firstRow >= 0 &&
                           header.firstColumn >= 0 && header.globalRows < kMostElements / header.globalColumns &&
                           header.count <= in.left() / static_cast<std::int64_t>(sizeof(double));
        if (!sound)
            in.damaged();
        std::string name(static_cast<std::size_t>(header.nameBytes), '\0');
        in.read(name.data(), header.nameBytes);
        const std::int64_t bytes = header.count * static_cast<std::int64_t>(sizeof(double));
        if (header.quantity != static_cast<std::int64_t>(wanted)) {
            in.skip(bytes);
            continue;
        }
        std::vector<double> values(static_cast<std::size_t>(header.count));
        in.read(values.data(), bytes);
        std::vector<double>& whole = snapshot[name];
        whole.resize(static_cast<std::size_t>(header.globalRows * header.globalColumns));
        const ParameterSpec slice{.globalRows = header.globalRows,
                                  .globalColumns = header.globalColumns,
                                  .firstRow = header.firstRow,
                                  .firstColumn = header.firstColumn,
                                  .columns = header.columns};
        for (std::int64_t i = 0; i < header.count; ++i)
            if (const auto place = slice.placeInWhole(header.first + i))
                whole[static_cast<std::size_t>(*place)] = values[static_cast<std::size_t>(i)];
    }
}

nlohmann::json readManifest(const fs::path& checkpoint)
{
    constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    const nlohmann::json manifest =
        nlohmann::json::parse(sim::readFile(checkpoint / "manifest.json", kMostBytes), nullptr, false);
    const auto isCount = [&](const char* key) {
        const auto found = manifest.find(key);
        return found == manifest.end() || // a default holds
               (found->is_number_integer() && *found >= 0 && *found <= std::numeric_limits<int>::max());
    };
    const bool isOurs = manifest.is_object() && manifest.contains("format") && manifest.at("format") == kFormat &&
                        manifest.contains("version") && manifest.at("version") == 1 && isCount("step") && isCount("ranks") &&
                        (!manifest.contains("scenario") || manifest.at("scenario").is_string());
    if (!isOurs)
        throw sim::Error("checkpoint: " + (checkpoint / "manifest.json").string() + " is not a manifest of version 1");
    return manifest;
}

} // namespace

fs::path writeCheckpoint(const fs::path& folder, const CheckpointInfo& info, const std::vector<Rank*>& ranks, int process,
                         const std::function<void()>& barrier)
{
    char name[32];
    std::snprintf(name, sizeof name, "step-%08d", info.step);
    const fs::path complete = folder / name;
    const fs::path growing = folder / (std::string(name) + ".part");
    const auto meet = [&] {
        if (barrier)
            barrier();
    };
    try {
        fs::create_directories(folder);
        if (process == 0) {
            fs::remove_all(growing);
            fs::create_directory(growing);
        }
        meet();
        for (Rank* rank : ranks)
            writeRank(growing / fileOfRank(rank->context().rank), *rank);
        meet();
        if (process == 0) {
            const nlohmann::json manifest = {{"format", kFormat},
                                             {"version", 1},
                                             {"step", info.step},
                                             {"ranks", ranks.front()->context().groups.worldSize()},
                                             {"scenario", info.scenarioJson}};
            sim::replaceFile(growing / "manifest.json", manifest.dump(2) + "\n");
            fs::remove_all(complete);
            fs::rename(growing, complete);
        }
        meet();
    } catch (const fs::filesystem_error& error) {
        throw sim::Error(std::string("checkpoint: ") + error.what());
    }
    return complete;
}

fs::path findCheckpoint(const fs::path& folder)
{
    if (fs::exists(folder / "manifest.json"))
        return folder;
    fs::path newest;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (entry.path().filename().string().starts_with("step-") && fs::exists(entry.path() / "manifest.json") &&
            entry.path().filename() > newest.filename())
            newest = entry.path();
    if (newest.empty())
        throw sim::Error("there is no complete checkpoint in " + folder.string());
    return newest;
}

CheckpointInfo readCheckpointInfo(const fs::path& checkpoint)
{
    const nlohmann::json manifest = readManifest(checkpoint);
    return {.step = manifest.value("step", 0), .scenarioJson = manifest.value("scenario", "")};
}

void readCheckpoint(const fs::path& checkpoint, const std::vector<Rank*>& ranks)
{
    const int files = readManifest(checkpoint).value("ranks", 0);
    for (const Quantity quantity : kQuantities) {
        if (quantity != Quantity::value && ranks.front()->context().scenario.training.optimizer != sim::Optimizer::adamw)
            continue;
        Snapshot snapshot;
        for (int rank = 0; rank < files; ++rank)
            readPieces(checkpoint / fileOfRank(rank), quantity, snapshot);
        for (Rank* rank : ranks)
            rank->weights().restore(quantity, snapshot);
    }
}

} // namespace live
