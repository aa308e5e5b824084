// What others wrote or what runs on another thread may throw anything: here it becomes words. Every boundary of the app (files,
// the clipboard, workers, the event loop) goes through one of these.
#pragma once

#include "sim/scenario/document.h"

#include <QString>

#include <functional>
#include <string>
#include <vector>

namespace app {

using Problems = std::vector<sim::Problem>;

/// What the exception that is being handled says to a person. Only in a catch block.
std::string failureText();

/// `use` reads or uses something of that file (or of nowhere: empty) and says what is wrong with it; so does whatever it throws.
[[nodiscard]] Problems problemsOf(const QString& file, const std::function<Problems()>& use) noexcept;

/// A file, or a link (app/session/scenario_link.h). Only what can be read from beginning to end at once: a pipe without a writer
/// would hold the window up for ever. Throws sim::ScenarioError.
sim::ScenarioDocument readDocument(const QString& path);

} // namespace app
