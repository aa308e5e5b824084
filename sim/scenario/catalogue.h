// The catalogue: models, GPUs, clusters and software stacks that scenarios name by id. Data in assets/, read once.
#pragma once

#include "sim/scenario/scenario.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

class Schema;
struct ProfileFile;

class Catalogue {
public:
    /// Reads assets/models, assets/gpus, assets/clusters, assets/stacks. Throws Error naming the file that is wrong.
    static Catalogue load(const std::filesystem::path& assets);
    /// $RANKSCOPE_ASSETS; else assets/ beside the program, the place seen from it where both were installed (so that they may
    /// move together), or the source tree: the first that exists.
    static std::filesystem::path findAssets();

    struct Entry {
        std::string id;     ///< "llama3-405b"
        std::string name;   ///< "Llama 3.1 405B"
        std::string family; ///< "NVIDIA Hopper", "CPU"
    };
    const std::vector<Entry>& models() const; ///< by family and size
    const std::vector<Entry>& gpus() const;
    const std::vector<Entry>& clusters() const;
    const std::vector<Entry>& stacks() const;

    /// The entry's object, without the keys that only a catalogue has; nullptr if there is none.
    const nlohmann::ordered_json* modelJson(std::string_view id) const;
    const nlohmann::ordered_json* gpuJson(std::string_view id) const;
    const nlohmann::ordered_json* clusterJson(std::string_view id) const;
    const nlohmann::ordered_json* stackJson(std::string_view id) const;

    bool isCpu(std::string_view gpu) const; ///< of a GPU's id; of one that the catalogue does not have, false
    /// Of the nearest kind of job that was measured: all are of GPUs and their like, so that of a CPU nothing is known. `gpu`,
    /// `stack`: ids, also such as the catalogue does not have.
    Uncertainty uncertainty(std::string_view gpu, std::string_view stack, bool isMoe) const;

    std::filesystem::path assets() const;
    /// The gallery: $RANKSCOPE_SCENARIOS, or `scenarios` beside or inside the assets.
    std::filesystem::path scenarios() const;
    /// assets/scenario.schema.json.
    const Schema& schema() const;

    /// A hardware profile beside a scenario, as its text says. The last one is kept: each edit that is tried and each setting of
    /// a slider resolves the scenario again, thousands of times with one text, whose parsing took most of that time.
    /// Throws Error where the text is no JSON; what the schema finds wrong is in the result.
    std::shared_ptr<const ProfileFile> profile(std::string text, const std::string& name) const;

private:
    struct Data;
    std::shared_ptr<const Data> m_data;
};

} // namespace sim
