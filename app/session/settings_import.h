// A job's settings in another framework's form on their way to a scenario: what became of each, and what the files do not say,
// which is asked before the scenario is opened.
#pragma once

#include "app/session/scenario_keys.h"
#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"

#include <QString>
#include <QStringList>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// A note's text without the clause that tells how the command line says it: "…, or assumed; with --set training.stack=…".
std::string withoutFlags(std::string text);

/// What the files leave open. A guess stands in the scenario until it is answered.
struct SettingsQuestion {
    std::string pointer;            ///< into the scenario; "/layout/dp" is asked as the number of GPUs
    QString label;                  ///< as the form calls it: "Cluster", "GPUs in all"
    QString why;                    ///< with what was guessed; empty once it is answered
    std::vector<KeyOption> options; ///< to choose among; empty: it is a number
    std::string value;              ///< as it is now: JSON of an option, or a number
};

class SettingsImport {
public:
    /// The kind that one of the files is, looking at no more than their text; empty where none is settings, or one is a file of
    /// Rankscope's own. Throws nothing: what cannot be read is no settings.
    static std::string kindOf(const QStringList& paths);
    /// Throws sim::Error where they cannot be read.
    static std::vector<sim::SettingsFile> read(const QStringList& paths);

    /// Throws sim::Error where nothing usable is in the files. `kind`: empty where their contents tell.
    SettingsImport(std::vector<sim::SettingsFile>, sim::Catalogue, std::string kind = {});

    const sim::FrameworkKind& kind() const;
    const std::vector<sim::Note>& notes() const { return m_imported.notes; }
    const std::vector<SettingsQuestion>& questions() const { return m_questions; }
    const sim::ScenarioDocument& document() const { return m_document; }
    /// Of the document with the answers so far.
    const sim::ScenarioDocument::Resolved& resolved() const { return m_resolved; }
    /// `value` as in SettingsQuestion. Throws sim::Error where it cannot be, with the nearest that can; then nothing has changed.
    void answer(const std::string& pointer, const std::string& value);
    /// Several at once, by pointer, of which each alone may be none beside the others as they were.
    void answer(const std::map<std::string, std::string>& values);
    /// Whether somebody who opens the scenario has to know: what is lost, unknown or contradictory, and is not asked anyway.
    bool needsALook(const sim::Note&) const;

private:
    struct Answers {
        std::optional<int> gpus;
        std::string cluster;
        std::map<std::string, std::string> keys; ///< by pointer
    };
    void readWith(const Answers&);
    bool isAnswered(const std::string& pointer) const;
    SettingsQuestion questionOf(const std::string& pointer) const;

    std::vector<sim::SettingsFile> m_files;
    sim::Catalogue m_catalogue;
    std::string m_kind;
    Answers m_answers;
    std::vector<std::pair<std::string, QString>>
        m_asked; ///< pointers and reasons of the first reading: an answered question stays
    sim::Imported m_imported;
    sim::ScenarioDocument m_document;
    sim::ScenarioDocument::Resolved m_resolved;
    std::vector<SettingsQuestion> m_questions;
};

/// Of a note, for a person: "not representable".
QString becameText(sim::Became);

} // namespace app
