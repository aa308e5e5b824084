// What the processes of one run must have been given alike. Each reads its own command line, files and build, which may be
// another machine's: where they differ, all would train, and not the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace live::cli {

struct TrainingRequest;

/// device: the kind that was chosen here; resumed: where the run goes on from, null where it begins.
nlohmann::json jobOf(const TrainingRequest&, const std::string& device, const nlohmann::json& resumed);

/// What differs in this process's job from process 0's, for people; "" where nothing does.
std::string differenceOf(const nlohmann::json& job, const nlohmann::json& first);

} // namespace live::cli
