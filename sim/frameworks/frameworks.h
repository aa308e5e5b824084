// Settings of other frameworks in and out. A file of theirs becomes a scenario and a note on each of its settings; a scenario
// becomes the settings that produce its layout there. No code of a file is run: shell, Python and templates are only read.
#pragma once

#include "sim/error.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// A form of settings, in and out.
struct FrameworkKind {
    std::string_view id;       ///< as --from and --to take it: "megatron-args"
    std::string_view name;     ///< for people: "Megatron-LM arguments"
    std::string_view versions; ///< which versions the facts about it come from
    std::string_view ending;   ///< of a file that is written: ".sh"
    bool isExported = true;    ///< whether exportSettings writes it
};
/// All of them, in the order in which they are shown.
std::span<const FrameworkKind> frameworkKinds();

/// What became of a setting.
enum class Became : std::uint8_t {
    used,             ///< it is in the scenario
    byDefault,        ///< the file does not say; the framework's own default is in the scenario
    harmless,         ///< it changes neither layout, time nor memory (paths, learning rates, logging)
    notRepresentable, ///< the scenario has no key for it: the step that is simulated lacks it
    contradictory,    ///< it and another setting cannot both be; text says which and where
    unknown           ///< not known here, or a value that the file leaves to somebody else ("auto", a tokenizer's vocabulary)
};
/// "used", "default", "harmless", "not_representable", "contradictory", "unknown".
std::string_view wordOf(Became);

struct Note {
    std::string setting; ///< in the framework's own words, as the file spells it
    std::string value;   ///< as the file has it; empty where there is none
    int line = 0;        ///< of its file, from 1; 0: it is not in a file
    Became became = Became::used;
    std::string pointer{}; ///< into the scenario, "/layout/tp"; empty where there is no key
    std::string text{};    ///< for a person; may be empty
    std::string file{};    ///< where several were given
};

struct SettingsFile {
    std::string name; ///< for messages; its ending and words in it help to recognise what it is
    std::string text;
};

struct ImportOptions {
    std::string kind{}; ///< empty: recognised by content
    std::optional<int> gpus{};
    std::string cluster{}; ///< id in the catalogue, as no file says it; empty: guessed, and asked for
    /// Answers to sizes that the files leave open, by pointer: "/layout/tp", "/layout/cp", "/layout/pp",
    /// "/training/micro_batch_size", "/training/global_batch_size". How many replicas there are follows from them.
    std::map<std::string, int, std::less<>> sizes{};
};

struct Imported {
    std::string kind;
    /// JSON of a scenario file. It has every key that the framework has a default for which is not Rankscope's. What the files do
    /// not say stands in it as the nearest entry of the catalogue, and in `unknown`.
    std::string scenario;
    std::vector<std::string> unknown; ///< pointers whose values are guesses: to be asked for
    std::vector<Note> notes;          ///< every setting once, in the files' order; then defaults and what is missing
};

/// Files of one job: a script and its JSON, a launcher's YAML and a model's config.json. Throws Error where nothing usable is in
/// them, with file and line where they cannot be read. At most 8 MiB a file.
Imported importSettings(const std::vector<SettingsFile>&, const ImportOptions&, const Catalogue&);

/// The kind that a file looks most like; empty if none.
std::string recognisedKind(const SettingsFile&);

struct Exported {
    std::string kind;
    std::string text;        ///< the file; what cannot be said stands in it as comments where the form has comments
    std::vector<Note> notes; ///< what it cannot express, by pointer
};

/// Throws Error where the framework would refuse the layout, with its rule and the nearest that it would take.
Exported exportSettings(const Scenario&, std::string_view kind, const Catalogue&);

} // namespace sim
