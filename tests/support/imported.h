// Settings of a framework as tests write them: text in, the resolved scenario and notes out.
#pragma once

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "tests/support/catalogue.h"

#include <optional>
#include <string>

namespace test {

struct ImportedText {
    sim::Imported imported;
    sim::Json scenario; ///< resolved; as it was written where it does not resolve

    /// The value at a pointer; null where there is none.
    sim::Json at(const std::string& pointer) const
    {
        const sim::Json* const found = sim::findAt(scenario, sim::splitPointer(pointer));
        return found == nullptr ? sim::Json() : *found;
    }
    /// What became of a setting, "no note" where nothing is said: that of the first note on it.
    std::string became(const std::string& setting) const
    {
        for (const sim::Note& note : imported.notes)
            if (note.setting == setting)
                return std::string(sim::wordOf(note.became));
        return "no note";
    }
    std::string textOn(const std::string& setting) const
    {
        for (const sim::Note& note : imported.notes)
            if (note.setting == setting)
                return note.text;
        return "no note";
    }
    /// As a note shows it.
    std::string valueOf(const std::string& setting) const
    {
        for (const sim::Note& note : imported.notes)
            if (note.setting == setting)
                return note.value;
        return "no note";
    }
    int count(sim::Became became) const
    {
        int found = 0;
        for (const sim::Note& note : imported.notes)
            found += note.became == became ? 1 : 0;
        return found;
    }
};

inline ImportedText importedText(const std::string& text, std::optional<int> gpus = std::nullopt,
                                 const std::string& name = "file")
{
    ImportedText out{.imported = sim::importSettings({{name, text}}, {.gpus = gpus}, catalogue()), .scenario = {}};
    const auto resolved = sim::ScenarioDocument::parse(out.imported.scenario).resolve(catalogue());
    out.scenario = sim::Json::parse(resolved.scenario ? sim::resolvedText(*resolved.scenario) : out.imported.scenario);
    return out;
}

} // namespace test
