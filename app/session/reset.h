// Back to what the file says: of one key with what followed its change, or of everything.
#pragma once

#include "app/session/edit.h"

namespace app {

/// Whether somebody changed a key since `file`; what only follows another key is not changed.
bool isChanged(const ScenarioState& now, const ScenarioState& file, std::string_view pointer);
/// What a person reads for the value that the file has: "8", "the default".
std::string fileText(const ScenarioState& file, std::string_view pointer);
/// Where nothing else was changed, the file's text comes back to the letter.
Edit makeResetEdit(const ScenarioState& now, const ScenarioState& file, std::string_view pointer, LayoutRule);
Edit makeResetEdit(const ScenarioState& now, const ScenarioState& file);

/// Takes off what was changed of the catalogue entry that "/model", "/cluster" or "/cluster/gpu" is based on; nothing if it is as
/// the catalogue has it, or based on none. The number of nodes is no part of an entry and stays.
std::optional<Edit> makeBackToBaseEdit(const ScenarioState&, std::string_view block);

} // namespace app
