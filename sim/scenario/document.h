// The scenario file: reading, editing, resolving, writing. A document keeps what its author wrote (bases and overrides,
// key order); resolving it against the catalogue gives the Scenario that everything else works with.
#pragma once

#include "sim/error.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/files.h"
#include "sim/scenario/scenario.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class Severity { error, warning };

/// One thing wrong with a file, told where it was made.
struct Problem {
    std::string file;    ///< as given; may be empty
    std::string pointer; ///< JSON pointer, "/layout/tp"; empty for the whole file
    std::string message; ///< with the numbers in it and the nearest values that would be right
    Severity severity = Severity::error;
    /// "llama.json: /layout/tp: 6 does not divide num_attention_heads 128; nearest: 4, 8"
    std::string text() const;
    bool operator==(const Problem&) const = default;
};

/// All problems of an input at once.
class ScenarioError : public Error {
public:
    explicit ScenarioError(std::vector<Problem> problems);
    const std::vector<Problem>& problems() const { return m_problems; }

private:
    std::vector<Problem> m_problems;
};

class ScenarioDocument {
public:
    /// Strict JSON, at most 64 MiB and 64 levels deep. Throws ScenarioError with line and column. What `describe --json` prints
    /// under `derived` is left out: it follows from the rest.
    static ScenarioDocument parse(std::string_view json, std::string fileName = {});
    /// Throws ScenarioError if the file cannot be read or parsed.
    static ScenarioDocument readFile(const std::filesystem::path&, Pipes = Pipes::refused);

    ScenarioDocument(const ScenarioDocument&);
    ScenarioDocument(ScenarioDocument&&) noexcept;
    ScenarioDocument& operator=(const ScenarioDocument&);
    ScenarioDocument& operator=(ScenarioDocument&&) noexcept;
    ~ScenarioDocument();

    /// Sets one key, "layout.tp" or "/layout/tp", to a JSON value (text that is no JSON counts as a string: schedule.kind=1f1b).
    /// Intermediate objects are made. A "model": "id" string turns into {"base": "id"} when a key below it is set.
    void set(std::string_view pointer, std::string_view value);
    /// `POINTER=VALUE`, as --set takes it; without a VALUE the key is erased.
    void applyOverride(std::string_view assignment);
    /// The same; an entry of a list that the file leaves to its base brings the base's list with it
    /// (cluster.tiers.0.latency_us=5), and to erase what no scenario has is an error, as to set it is.
    void applyOverride(std::string_view assignment, const Catalogue&);
    /// An entry of a list that the file leaves to a base: all of the base's come into the file, so that the others stay when it
    /// is set. Other pointers change nothing.
    void takeListOfBase(std::string_view pointer, const Catalogue&);
    /// The value at a pointer as JSON text; nothing if absent.
    std::optional<std::string> get(std::string_view pointer) const;
    void erase(std::string_view pointer);

    struct Resolved {
        std::optional<Scenario> scenario; ///< only if no problem is an error
        std::vector<Problem> problems;    ///< errors and warnings, in document order
    };
    /// Fills bases and defaults in, checks everything; reports all problems at once (of very many the first 1,000, and how many
    /// more). Paths in it are relative to the file. Throws nothing.
    Resolved resolve(const Catalogue&) const;

    /// The file's text: two-space indentation, keys in the author's order, newline at the end.
    std::string text() const;
    /// Writes atomically (temporary file in the same folder, fsync, rename). Throws Error; the old file then is untouched.
    void saveFile(const std::filesystem::path&) const;
    const std::string& fileName() const;
    void setFileName(std::string);

private:
    struct Data;
    void resolveInto(Resolved&, const Catalogue&) const;
    /// Throws Error where no scenario has such a key.
    void requireKnown(std::string_view pointer, const Catalogue&) const;
    explicit ScenarioDocument(std::unique_ptr<Data>);
    std::unique_ptr<Data> m_data;
};

/// Reads a file, which may be a pipe, and sets `overrides` as of --set. Throws ScenarioError.
ScenarioDocument readDocument(const std::filesystem::path& file, const Catalogue&, const std::vector<std::string>& overrides);
/// The same of one that was read from `file` before.
ScenarioDocument withOverrides(ScenarioDocument, const std::filesystem::path& file, const Catalogue&,
                               const std::vector<std::string>& overrides);
/// Throws ScenarioError with all problems; warnings go to `warnings` if given.
Scenario resolvedScenario(const ScenarioDocument&, const Catalogue&, std::vector<Problem>* warnings = nullptr);

/// Reads and resolves in one go; `overrides` as of --set. Throws ScenarioError with all problems; warnings go to `warnings` if
/// given. The file may be a pipe.
Scenario readScenario(const std::filesystem::path& file, const Catalogue&, const std::vector<std::string>& overrides = {},
                      std::vector<Problem>* warnings = nullptr);

/// The resolved scenario as a scenario file that names no base: reading it gives the same Scenario.
std::string resolvedText(const Scenario&);

} // namespace sim
