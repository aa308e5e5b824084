// What all readers make of a file: a flat list of settings in the framework's own words, each with its line.
#pragma once

#include "sim/scenario/json_text.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

/// One setting as a file gives it.
struct Setting {
    std::string name;    ///< what dialects ask for: "num_layers", "model.hidden_size"
    Json value;          ///< a scalar, null, or a list of scalars
    int line = 0;        ///< from 1
    std::string spelled; ///< as the file spells it: "--num-layers"
    std::string file{};
    std::string text{};          ///< of what is undecided: why; empty: it is code
    int replacedBy = 0;          ///< line of a later assignment of a program, which counts; 0: this one does
    int condition = 0;           ///< line of a condition that a script does not decide, in a branch of which it stands; 0: none
    std::string conditionFile{}; ///< where that line is of another file than its own
    bool isOfCommand = false;    ///< of a command line or script: counts before what files say
    std::string shown{};         ///< the value as the file spells it, where an alias has changed it; empty: as it is
};
using Settings = std::vector<Setting>;

/// What a file holds beside its settings.
struct Sheet {
    Settings settings;
    std::vector<std::string> comments; ///< text of comments, for hints as "a preset for 64 GPUs"
    std::vector<Setting> undecided{};  ///< what the reader itself could not decide: conditions, output of commands
    std::map<std::string, std::string, std::less<>> variables{}; ///< of a script, as other files may name them: "${TP}"
    std::string unread{};                                        ///< what of the file is not read, in words; empty if all is
    std::string program{}; ///< that a script's command starts: "sft.py", "openrlhf.cli.train_sft", "trl sft"; empty: not known
};

inline constexpr std::size_t kMostBytes = 8UL << 20U;
inline constexpr std::size_t kMostOfLine = 1UL << 20U;
inline constexpr std::size_t kMostSettings = 20000;
inline constexpr int kMostLevels = 64;

/// Values that are no more than a variable of a script ("${TP}") as that script has it.
void fillIn(Settings&, const std::map<std::string, std::string, std::less<>>& variables);
/// Throws Error: "FILE:LINE: message".
[[noreturn]] void failAt(const std::string& file, int line, const std::string& message);
/// Refuses what is too large, has endless lines or is no text; turns CRLF into LF and takes a byte-order mark off.
std::string cleanText(const std::string& file, std::string text);

/// "True", "null", "12", "1e5", "1_000" as what they mean; other text as it is.
Json valueOf(const std::string& text);
/// As a person would write it: text without quotes.
std::string shownValue(const Json&);
/// Splits at spaces and commas; brackets and quotes around are taken off: "[mlp, moe]", "2 2".
std::vector<std::string> wordsOfList(const Json&);

/// "lr*", "*.lr", "no_*_fusion": * for anything, ? for one character.
bool matchesPattern(std::string_view text, std::string_view pattern);

Sheet readYaml(const std::string& file, const std::string& text);
Sheet readToml(const std::string& file, const std::string& text);
/// A template's bare words stand for what is decided outside: "${CONFIG_BATCH_SIZE}".
Sheet readJson(const std::string& file, const std::string& text, int firstLine = 1);
/// JSON with what a script does not decide as a string: {"stage": ${2}}.
std::string withQuotedVariables(const std::string& json);
/// Dotted assignments, and keyword arguments of calls that they assign.
Sheet readPython(const std::string& file, const std::string& text);
/// A command line or a script: flags with their dashes off and "-" as "_"; "@nodes", "@gpus_per_node" of launchers and batch
/// systems, "@env.NAME" of variables that the script sets; "ds_config.x" of a DeepSpeed file that it writes.
/// `others`: files beside it, of which it runs those that it sources or starts.
struct OtherFile {
    std::string name, text;
    bool isRun = false;
};
Sheet readShell(const std::string& file, const std::string& text, std::span<OtherFile> others);
/// Words "name=value" of the command of a script that has the most of them, as MaxText takes them; of one that trains where there
/// is one.
Sheet readShellAssignments(const std::string& file, const std::string& text);
/// Lines "name ........ value" of a log.
Sheet readArgumentDump(const std::string& file, const std::string& text);
bool looksLikeArgumentDump(std::string_view text);

/// A tree as a file nests it, before it is flattened. For YAML, TOML and JSON.
struct Tree {
    enum class Kind : std::uint8_t { scalar, list, map } kind = Kind::scalar;
    Json value{};
    int line = 0;
    std::vector<std::pair<std::string, Tree>> members{}; ///< map; a key may come twice
    std::vector<Tree> items{};                           ///< list
};
/// "a.b.c"; lists of scalars are one setting, others "a[0].b".
void flatten(const Tree&, const std::string& file, Settings&);

/// A function, a type or a member of an enumeration of Python, as dumps of recipes have it in a mapping of its own ("_target_:
/// torch.nn.functional.silu", "_call_: false"), as one setting: "silu", "torch.bfloat16", "AttnBackend.fused".
void joinReferences(Settings&);

/// OmegaConf's interpolations ("${.x}", "${a.b}", "${multiply:4, ${.x}}") with what they stand for; what is left of them is told
/// by the value staying as it is.
void resolveInterpolations(Settings&);

} // namespace sim::frameworks
