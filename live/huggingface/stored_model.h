// The tensors of a Hugging Face folder, over all its files.
#pragma once

#include "live/huggingface/weight_map.h"
#include "live/model/parameters.h"
#include "live/runtime/tensor_file.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace live::huggingface {

inline constexpr const char* kConfig = "config.json";
inline constexpr const char* kSingle = "model.safetensors";

/// Of a file; its keys in their order. Throws sim::Error with the path and the place: no JSON object.
nlohmann::ordered_json readJson(const std::filesystem::path&);

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

/// The files that hold a folder's tensors. Throws sim::Error: it has none, or its index is no good.
std::vector<std::filesystem::path> weightFiles(const std::filesystem::path& folder);

class StoredModel {
public:
    /// Opens the files and reads their headers. Throws sim::Error.
    explicit StoredModel(const std::filesystem::path& folder);

    bool hasAnyWith(const std::string& part) const;

    /// Throws sim::Error unless all of the map are there in their shapes, and no others but those that hold nothing of the model.
    void check(const WeightMap&, const sim::Model&) const;

    /// Elements of a rank's slice from `first` on. Throws sim::Error with file, tensor and place: one is no number, or larger
    /// than `most`, which the run's type holds.
    void read(const ParameterSpec&, const Place&, std::int64_t first, double most, std::span<double> values) const;

private:
    struct Held {
        const PlacedFile* file;
        std::uint64_t dataBegin;
        StoredTensor tensor;
    };

    void open(const std::filesystem::path&);
    [[noreturn]] void refuseValues(const std::string& name, double most) const;

    const std::filesystem::path m_folder;
    std::deque<PlacedFile> m_files;
    std::map<std::string, Held> m_tensors;
};

} // namespace live::huggingface
