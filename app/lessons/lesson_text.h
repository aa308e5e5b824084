// Words of a lesson's file as a label takes them. Files come from anybody.
#pragma once

#include "sim/lesson/play.h"

#include <QString>
#include <QStringList>

#include <array>
#include <vector>

class QFrame;
class QLabel;
class QVBoxLayout;

namespace app {

/// Each a label of its own: inside one, nothing stands between them.
QStringList paragraphsOf(const QString& markdown);
/// Markdown without HTML and pictures, and long words breakable: a label cuts what has no place to break at.
QString safeMarkdown(QString);

/// Words of a lesson's file, whoever wrote it, on a label: Markdown that is safe.
void setLessonText(QLabel*, const QString& markdown);

/// Code as bold words: a label shows it in a font of its own that does not grow with the text around it.
QString withoutCode(QString markdown);

/// {"/layout/cp": 2, "/schedule": {"kind": "1f1b"}} in the form's words: "cp 2, schedule 1F1B"; null is "none".
QString changesText(const sim::LessonValue& changes, const sim::Catalogue&);
/// The title of a case that changes the settings of another and leaves it its name, which is of that: "Llama 3.1 8B on 64 GPUs:
/// cp 2". Empty: as its file names it.
QString sceneName(const sim::LessonPlay&, const std::string& caseName);
/// Likewise of a scenario to which these changes were made.
QString changedName(const sim::ScenarioDocument&, const sim::LessonValue& changes, const sim::Catalogue&);

/// A word of the glossary, as it stands in sentences, and the term that it opens.
struct LessonTerm {
    QString word, title;
};
/// Markdown that is safe already, each term linked where it is first named; a link is "term:" and its place in the list.
QString withTerms(const QString& markdown, const std::vector<LessonTerm>&);

/// An empty card, and the column in it.
QFrame* lessonCard(QVBoxLayout*& column);
/// Words that wrap, of no markup but Markdown's; `role`: of the style sheet, may be nullptr.
QLabel* lessonParagraph(const QString& markdown, const char* role);

/// How sure one is of an answer, and what that counts as.
struct Sureness {
    const char* words; ///< to be translated by LessonPanel
    double share;
};
inline constexpr std::array kSureness{Sureness{QT_TRANSLATE_NOOP("app::LessonPanel", "a guess"), 0.3},
                                      Sureness{QT_TRANSLATE_NOOP("app::LessonPanel", "fairly sure"), 0.6},
                                      Sureness{QT_TRANSLATE_NOOP("app::LessonPanel", "certain"), 0.95}};

} // namespace app
