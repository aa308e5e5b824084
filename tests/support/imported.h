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

/// Starts a small GPT; flags go on behind it.
inline const std::string kScriptJob =
    "python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 ";
/// How many pipeline stages the job has is what `head` left in PP.
inline ImportedText importedScript(const std::string& head, const std::string& flags = "--pipeline-model-parallel-size $PP")
{
    return importedText(head + "\n" + kScriptJob + flags + "\n", 8);
}

} // namespace test
