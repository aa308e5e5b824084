// What the program explains in words: terms of the screen, two sentences each (assets/glossary.json), and the sections of the
// manual (docs/manual.md). Found by what people call things, too: "OOM", "cost", "NVLink".
#pragma once

#include <QJsonObject>
#include <QString>
#include <QStringList>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace app {

struct HelpEntry {
    enum class Kind { term, manual };
    Kind kind = Kind::term;
    QString title;                     ///< "MFU"; of the manual a heading
    QStringList also;                  ///< other words for it
    QStringList prose = {};            ///< of a term: the words that mean it in a lesson's sentences
    QString text;                      ///< of a term plain, of the manual Markdown
    std::vector<std::string> settings; ///< pointers of keys that decide it
    QJsonObject picture = {};          ///< of a term: what its drawing shows (app/views/glossary/term_picture.h)
};

class Help {
public:
    Help() = default; ///< knows nothing
    /// Throws sim::Error where glossary.json is not as it should be; a manual that is not there has no sections.
    static Help read(const std::filesystem::path& assets);

    const std::vector<HelpEntry>& entries() const { return m_entries; }
    const QString& manualFolder() const { return m_manualFolder; } ///< where the manual's pictures are looked for
    /// The term that a title on screen is, or begins with ("Peak memory of rank 3"); nullptr: there is none.
    const HelpEntry* about(const QString& title) const;
    /// The term of something drawn or of a heading, by the words that name it: "tp comm, left out", "optimizer +3.1 ms: 2 ms in
    /// A".
    const HelpEntry* aboutDrawn(const QString& name) const;
    /// The term that a key of the form is: by its label, else the one that it decides most of; nullptr: there is none.
    const HelpEntry* aboutSetting(std::string_view pointer, const QString& label) const;
    /// What people call what a key decides: "OOM" of recomputation, "cost" of the tokens of the run.
    QStringList namesOf(std::string_view pointer) const;
    /// Best first.
    std::vector<const HelpEntry*> find(const QString& typed) const;

private:
    std::vector<HelpEntry> m_entries;
    QString m_manualFolder;
};

} // namespace app
