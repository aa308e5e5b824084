#include "live/huggingface/stored_model.h"

#include "sim/error.h"
#include "sim/scenario/files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace live::huggingface {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

/// The files that an index lists.
std::set<std::string> filesOf(const fs::path& path)
{
    const nlohmann::ordered_json index = readJson(path);
    const auto map = index.find("weight_map");
    if (map == index.end() || !map->is_object())
        throw sim::Error(path.string() + " has no object \"weight_map\", which says in which file each tensor is");
    std::set<std::string> files;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string())
            throw sim::Error(path.string() + " names no file for " + tensor);
        files.insert(file.get<std::string>());
    }
    if (files.empty())
        throw sim::Error(path.string() + " lists no tensors");
    for (const std::string& file : files)
        if (fs::path(file).filename() != file)
            throw sim::Error(path.string() + " names \"" + file + "\", which is not in the folder");
    return files;
}

/// Tables that are computed, the head once more where it is the embedding, layers that predict further tokens.
bool isKnownToHoldNothing(const std::string& name, const sim::Model& model)
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

/// "[3, 17]"
std::string indexText(std::int64_t element, const std::vector<std::int64_t>& shape)
{
    std::string text;
    for (auto side = shape.rbegin(); side != shape.rend(); ++side) {
        text.insert(0, (side + 1 == shape.rend() ? "[" : ", ") + std::to_string(element % *side));
        element /= *side;
    }
    return (text.empty() ? "[" : text) + "]";
}

} // namespace

nlohmann::ordered_json readJson(const fs::path& path)
{
    constexpr std::size_t kMostBytes = std::size_t{1} << 28U;
    const std::string text = sim::readFile(path, kMostBytes);
    constexpr int kDeepest = 64; // no model's nests nearly as deep; what does cannot be copied
    const auto isShallow = [&](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
        if (depth > kDeepest)
            throw sim::Error(path.string() + " nests deeper than " + std::to_string(kDeepest) + " levels");
        return true;
    };
    nlohmann::ordered_json read;
    try {
        read = nlohmann::ordered_json::parse(text, isShallow);
    } catch (const nlohmann::json::parse_error& error) {
        throw sim::Error(path.string() + " is no JSON: what it has at byte " + std::to_string(error.byte) + " of " +
                         std::to_string(text.size()) + " does not belong there" +
                         (error.byte >= text.size() ? "; it seems to be cut short" : ""));
    }
    if (!read.is_object())
        throw sim::Error(path.string() + " is no JSON object");
    return read;
}

std::vector<fs::path> weightFiles(const fs::path& folder)
{
    if (fs::exists(folder / kSingle))
        return {folder / kSingle};
    if (!fs::exists(folder / kIndex))
        throw sim::Error(folder.string() + " has neither " + kSingle + " nor " + kIndex);
    std::vector<fs::path> files;
    for (const std::string& file : filesOf(folder / kIndex))
        files.push_back(folder / file);
    return files;
}

StoredModel::StoredModel(const fs::path& folder) : m_folder(folder)
{
    for (const fs::path& file : weightFiles(folder))
        open(file);
}

void StoredModel::open(const fs::path& path)
{
    const PlacedFile& file = m_files.emplace_back(path, PlacedFile::Mode::read);
    const ReadTable read = readTensorTable(file);
    for (const auto& [name, tensor] : read.table.tensors)
        if (!m_tensors.emplace(name, Held{&file, read.dataBegin, tensor}).second)
            throw sim::Error(m_folder.string() + " has " + name + " twice");
}

bool StoredModel::hasAnyWith(const std::string& part) const
{
    return std::any_of(m_tensors.begin(), m_tensors.end(),
                       [&](const auto& each) { return each.first.find(part) != std::string::npos; });
}

void StoredModel::check(const WeightMap& map, const sim::Model& model) const
{
    constexpr int kMostTold = 8;
    std::string wrong;
    int count = 0;
    const auto tell = [&](const std::string& what) {
        if (++count <= kMostTold)
            wrong += "\n  " + what;
    };
    for (const auto& [name, shape] : map.tensors) {
        const auto found = m_tensors.find(name);
        if (found == m_tensors.end())
            tell("it has no " + name + ", " + shapeText(shape) + " in this model");
        else if (found->second.tensor.shape != shape)
            tell(name + " is " + shapeText(found->second.tensor.shape) + " there, " + shapeText(shape) + " in this model");
        else if (!isReadable(found->second.tensor.type))
            tell(name + " is of type " + storedTypeName(found->second.tensor.type) + " there; F64, F32, BF16 and F16 are read");
    }
    for (const auto& [name, held] : m_tensors)
        if (!map.tensors.contains(name) && !isKnownToHoldNothing(name, model))
            tell("it has " + name + " (" + shapeText(held.tensor.shape) + "), this model has not");
    if (count > 0)
        throw sim::Error(m_folder.string() + " is of another model:" + wrong +
                         (count > kMostTold ? "\n  and " + std::to_string(count - kMostTold) + " more" : ""));
}

void StoredModel::read(const ParameterSpec& spec, const Place& place, std::int64_t first, double most,
                       std::span<double> values) const
{
    const Held& held = m_tensors.at(place.tensor);
    const std::uint64_t size = bytesOf(held.tensor.type);
    std::vector<std::byte> bytes;
    std::vector<double> run;
    forEachRun(spec, place, first, static_cast<std::int64_t>(values.size()),
               [&](std::int64_t element, const std::vector<std::int64_t>& ours) {
                   bytes.resize(ours.size() * size);
                   run.resize(ours.size());
                   held.file->read(held.dataBegin + held.tensor.begin + static_cast<std::uint64_t>(element) * size, bytes.data(),
                                   bytes.size());
                   toDoubles(held.tensor.type, bytes.data(), run);
                   for (std::size_t i = 0; i < ours.size(); ++i) {
                       if (!(std::abs(run[i]) <= most)) // NaN too
                           refuseValues(place.tensor, most);
                       values[static_cast<std::size_t>(ours[i])] = run[i];
                   }
               });
}

/// Reads the tensor once more, from its beginning: ranks read in other orders.
void StoredModel::refuseValues(const std::string& name, double most) const
{
    constexpr std::int64_t kPiece = 1 << 16;
    const Held& held = m_tensors.at(name);
    const std::int64_t all = held.tensor.elements();
    const std::uint64_t size = bytesOf(held.tensor.type);
    std::int64_t first = -1, count = 0;
    double value = 0;
    std::vector<std::byte> bytes;
    std::vector<double> piece;
    for (std::int64_t at = 0; at < all; at += kPiece) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, all - at)));
        bytes.resize(piece.size() * size);
        held.file->read(held.dataBegin + held.tensor.begin + static_cast<std::uint64_t>(at) * size, bytes.data(), bytes.size());
        toDoubles(held.tensor.type, bytes.data(), piece);
        for (std::size_t i = 0; i < piece.size(); ++i)
            if (!(std::abs(piece[i]) <= most) && count++ == 0) {
                first = at + static_cast<std::int64_t>(i);
                value = piece[i];
            }
    }
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    throw sim::Error(held.file->path().string() + ": " + name + " is " + text + " at " + indexText(first, held.tensor.shape) +
                     (std::isfinite(value) ? ", more than fp32 holds (train in fp64)" : "") + "; of its " + std::to_string(all) +
                     " elements " + std::to_string(count) + (count == 1 ? " is" : " are") + " of that kind");
}

} // namespace live::huggingface
