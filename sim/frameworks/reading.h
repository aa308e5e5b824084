// Settings on their way into a scenario: who asks for one says where it goes, and what nobody asked for is left over. So nothing
// is lost without a note.
#pragma once

#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/read/setting.h"

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

/// Another spelling of a setting: `own` is asked for as `canonical`, with its value changed where it says so.
struct Alias {
    std::string_view own;
    std::string_view canonical;
    Json (*change)(const Json&) = nullptr;
};
/// For Alias::change: true for false and the other way round; null stays null.
Json negated(const Json&);

class Reading {
public:
    explicit Reading(Sheet sheet);

    const std::vector<std::string>& comments() const { return m_comments; }
    /// What a script's command trains with (Sheet::program).
    const std::string& program() const { return m_program; }
    /// Renames settings to what dialects ask for; they keep their spelling for notes.
    void rename(const std::function<std::string(const std::string&)>& nameOf);
    void apply(std::span<const Alias> aliases);
    /// How defaults are spelled in notes, from the name that is asked for.
    void setSpelling(std::function<std::string(std::string_view)> spelling) { m_spelling = std::move(spelling); }

    /// A command line's switches take no value, as Megatron's, unless one of them has "false" behind it: "--bf16 $MORE" is a
    /// switch and whatever the variable holds.
    void switchesStandAlone();

    bool has(std::string_view name) const;
    /// Whether a setting of that name has a value other than null; takes nothing.
    const Json* peek(std::string_view name) const;
    /// Any setting whose name starts so; takes nothing.
    bool hasPrefix(std::string_view prefix) const;

    /// Each takes the last setting of that name; nothing where there is none, it is null or is of another kind, which a note
    /// says. Settings given more than once with different values are told as contradictory.
    std::optional<Json> any(std::string_view name, std::string_view pointer);
    std::optional<int> integer(std::string_view name, std::string_view pointer);
    std::optional<double> real(std::string_view name, std::string_view pointer);
    std::optional<bool> flag(std::string_view name, std::string_view pointer);
    std::optional<std::string> word(std::string_view name, std::string_view pointer);
    /// The same with the framework's default, which a note tells.
    int integerOr(std::string_view name, std::string_view pointer, int fallback);
    /// Of something that there is at least one of: what is less is told as unknown and not taken.
    std::optional<int> size(std::string_view name, std::string_view pointer);
    int sizeOr(std::string_view name, std::string_view pointer, int fallback);
    bool flagOr(std::string_view name, std::string_view pointer, bool fallback);
    std::string wordOr(std::string_view name, std::string_view pointer, const std::string& fallback);

    /// What became of a setting that was taken, or is taken by this.
    void say(std::string_view name, Became, std::string text, std::string_view pointer = {});
    /// A note beside those of the settings themselves: a second thing to say of one, or of what follows from several.
    void addNote(std::string_view name, Became, std::string text, std::string_view pointer = {});
    /// What no file says: the note is on the scenario's key.
    void ask(std::string_view pointer, std::string text);
    void byDefault(std::string_view name, const Json& value, std::string_view pointer, std::string text = {});
    /// Takes back what was told of a default of a key, if anything was: it is somebody else's.
    bool takeDefaults(std::string_view pointer);
    /// Takes what nobody has asked for: harmless ones by name, and those that a scenario cannot say.
    void harmless(std::span<const std::string_view> patterns, const std::string& text = {});
    void notRepresentable(std::span<const Alias> namesAndWhy);
    /// Takes what nobody has asked for and has no dot: a program's variables.
    void harmlessVariables();

    /// Pointers of what was asked for and is decided outside of the files.
    const std::vector<std::string>& outside() const { return m_outside; }

    int lineOf(std::string_view name) const;
    std::string spelled(std::string_view name) const;
    /// "line 12" or "line 12 of x.sh".
    std::string placeOf(std::string_view name) const;

    /// All notes, in the files' order; what was not asked for is unknown, with the nearest of the names that were.
    std::vector<Note> takeNotes();

private:
    struct State {
        bool isTaken = false;
        Became became = Became::used;
        std::string pointer{}, text{};
        bool isRestTold = false; ///< words behind it
    };
    bool isSwitchBeforeMore(const Setting&) const;
    void standAlone(Setting&);
    int indexOf(std::string_view name) const; ///< of the last one; -1
    const Json* take(std::string_view name, std::string_view pointer);
    void refuse(std::string_view name, const char* what);
    /// Words behind a flag that takes fewer.
    void tellRest(std::string_view name, const Json& words, std::size_t used);

    Settings m_settings;
    std::vector<State> m_states;
    std::vector<Note> m_more;
    std::vector<std::string> m_comments;
    std::string m_program;
    std::vector<std::string> m_asked;
    std::vector<std::string> m_outside;
    std::function<std::string(std::string_view)> m_spelling;
    bool m_switchesStandAlone = false;
};

} // namespace sim::frameworks
