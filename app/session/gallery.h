// The gallery: what the scenario files in a folder are about.
#pragma once

#include "app/session/lesson_progress.h"
#include "sim/scenario/document.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <vector>

namespace app {

struct GalleryEntry {
    QString path;
    QString name;
    QString opening; ///< first sentence of the description, plain text
    QString second;  ///< the next one
    QString summary; ///< what a card says: the first of them that tells it from others
    QString source;
    std::optional<sim::Scenario> scenario; ///< nothing if the file is bad, or a lesson
    /// Of a lesson; its summary is the belief that it breaks.
    struct LessonState {
        int number = 0; ///< in the course; 0: none
        double minutes = 0;
        double share = 0; ///< of its questions, answered
        int due = 0;      ///< questions to remember
    };
    std::optional<LessonState> lesson;
    bool matches(const QString& search) const;  ///< every word is somewhere in it; case does not matter
    bool isCalled(const QString& search) const; ///< every word is in its name
};

/// All *.json of a folder, by world size, then name.
std::vector<GalleryEntry> readGallery(const std::filesystem::path& folder, const sim::Catalogue&);
GalleryEntry readGalleryEntry(const QString& path, const sim::Catalogue&);

/// What a list of files calls each: the name that a scenario has in its file, with the file's own behind it where another has the
/// same; of all other files their names without ending, told apart by their folders.
QStringList titlesOf(const QStringList& paths);

/// Entries that belong together, under one heading.
struct GallerySection {
    QString title, about;             ///< empty: no heading
    std::vector<std::size_t> entries; ///< places in the gallery
};
/// By the themes of assets/gallery.json, in their order; what no theme names comes last. One without a heading where there are no
/// themes.
std::vector<GallerySection> sectionsOf(const std::vector<GalleryEntry>&, const std::filesystem::path& assets);

/// The lessons that came with the program, under a heading of their own before all others.
void addLessons(std::vector<GalleryEntry>&, std::vector<GallerySection>&, const sim::Catalogue&, const LessonProgress&);

/// Entries that open alike say what comes next, where that tells them apart.
void tellApart(std::vector<GalleryEntry>&);

/// Sentences of some Markdown, its marks taken off.
QStringList sentencesOf(const QString& markdown);
QString firstSentence(const QString& markdown);

} // namespace app
