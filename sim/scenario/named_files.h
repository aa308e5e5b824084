// The files that a scenario names and that lie beside it: a profile that was measured, the actions of a schedule, what is
// trained on. Where the scenario goes without them, they go into it, but for the last; in another folder, their names lead back.
#pragma once

#include "sim/scenario/document.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// What `schedule.actions` says is a file's name, not the actions themselves.
bool namesFileOfActions(const std::string& text);

/// A name beside a scenario's file, as it is opened.
std::filesystem::path pathBeside(const std::string& scenarioFile, const std::string& name);

/// Where the text or the ids lie that `live.data` names: beside the scenario's file or, if nowhere there, in the working
/// directory. The way there is absolute, and the same however the scenario's file is named. Nothing for `builtin`, and where
/// there is no such file.
std::optional<std::filesystem::path> placeOfData(const std::string& scenarioFile, const std::string& name);

/// What the scenario is read from: its own file, and those that it names.
std::vector<std::filesystem::path> filesOf(const ScenarioDocument&, const Catalogue&);

/// Throws Error where what is to be written is one of what was read, by whatever name. What is no file is none that was read.
void keepInputs(const std::vector<std::filesystem::path>& inputs, const std::string& out);

/// The same job, to be read where those files are not: what they hold stands in it. One that cannot be read is named as before.
ScenarioDocument withFilesInside(const ScenarioDocument&, const Catalogue&);

/// The same job as a file of another folder, which is not written yet: relative names are such from there. Its fileName() is the
/// new one. What no name leads to stays as it is.
ScenarioDocument movedTo(const std::filesystem::path& file, const ScenarioDocument&, const Catalogue&);

} // namespace sim
