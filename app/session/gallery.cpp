#include "app/session/gallery.h"

#include "app/session/failure.h"
#include "app/session/names_apart.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_state.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QObject>
#include <QRegularExpression>

#include <algorithm>
#include <map>
#include <utility>

namespace app {
namespace {

/// Most of the longer one is how both begin and end.
bool areAlike(const QString& a, const QString& b)
{
    const qsizetype shorter = std::min(a.size(), b.size());
    const qsizetype begin = std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin();
    qsizetype end = 0;
    while (end < shorter - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end])
        ++end;
    return shorter > 0 && 3 * (begin + end) >= 2 * std::max(a.size(), b.size());
}

} // namespace

bool GalleryEntry::matches(const QString& search) const
{
    QString all = name + QLatin1Char(' ') + opening + QLatin1Char(' ') + summary + QLatin1Char(' ') + source + QLatin1Char(' ') +
                  QFileInfo(path).completeBaseName();
    if (scenario) {
        all += QLatin1Char(' ') + QString::fromStdString(scenario->model.name) + QLatin1Char(' ') +
               QString::fromStdString(scenario->cluster.name) + QLatin1Char(' ') +
               (scenario->layout.pp > 1 ? QString::fromStdString(scenario->schedule.kind) : QString()) + QLatin1Char(' ') +
               QString::number(scenario->layout.worldSize());
    }
    const auto words = search.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    return std::all_of(words.begin(), words.end(), [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

bool GalleryEntry::isCalled(const QString& search) const
{
    const auto words = search.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    return std::all_of(words.begin(), words.end(), [&](const QString& word) { return name.contains(word, Qt::CaseInsensitive); });
}

GalleryEntry readGalleryEntry(const QString& path, const sim::Catalogue& catalogue)
{
    GalleryEntry entry;
    entry.path = path;
    entry.name = QFileInfo(path).completeBaseName();
    const Problems problems = problemsOf(path, [&]() -> Problems {
        auto resolved = readDocument(path).resolve(catalogue);
        if (!resolved.scenario)
            return std::move(resolved.problems);
        if (!resolved.scenario->name.empty())
            entry.name = QString::fromStdString(resolved.scenario->name);
        const QStringList said = sentencesOf(plainDescription(QString::fromStdString(resolved.scenario->description)));
        entry.summary = entry.opening = said.value(0);
        entry.second = said.value(1);
        entry.source = QString::fromStdString(resolved.scenario->source);
        entry.scenario = std::move(resolved.scenario);
        return {};
    });
    if (!problems.empty())
        entry.summary = QString::fromStdString(problems.front().text());
    return entry;
}

QStringList titlesOf(const QStringList& paths)
{
    constexpr qint64 kLargest = 1 << 20; // a larger one is a recorded run, or takes too long to read for its name
    QStringList titles;
    for (const QString& path : paths) {
        QString title;
        if (path.endsWith(QLatin1String(".json")) && QFileInfo(path).size() <= kLargest)
            (void)problemsOf(path, [&]() -> Problems { // what cannot be read has no title
                const sim::ScenarioDocument document = readDocument(path);
                if (document.get("/format") == "\"rankscope-scenario\"")
                    title = QString::fromStdString(unquoted(document.get("/name").value_or(std::string())));
                return {};
            });
        titles << title;
    }
    const QStringList names = namesApart(paths, &QFileInfo::completeBaseName);
    QStringList out;
    for (qsizetype i = 0; i < paths.size(); ++i)
        out << (titles[i].isEmpty()            ? names[i]
                : titles.count(titles[i]) == 1 ? titles[i]
                                               : QStringLiteral("%1 – %2").arg(titles[i], names[i]));
    return out;
}

std::vector<GalleryEntry> readGallery(const std::filesystem::path& folder, const sim::Catalogue& catalogue)
{
    std::vector<GalleryEntry> out;
    std::error_code ended; // no folder, or one that cannot be read to its end: what could be read
    for (std::filesystem::directory_iterator file(folder, ended); !ended && file != std::filesystem::directory_iterator();
         file.increment(ended)) {
        if (file->path().extension() == ".json")
            out.push_back(readGalleryEntry(QString::fromStdString(file->path().string()), catalogue));
    }
    std::sort(out.begin(), out.end(), [](const GalleryEntry& a, const GalleryEntry& b) {
        const int worldA = a.scenario ? a.scenario->layout.worldSize() : 0;
        const int worldB = b.scenario ? b.scenario->layout.worldSize() : 0;
        return worldA != worldB ? worldA < worldB : a.name.localeAwareCompare(b.name) < 0;
    });
    tellApart(out);
    return out;
}

void tellApart(std::vector<GalleryEntry>& entries)
{
    for (GalleryEntry& entry : entries) {
        const auto isAnyLike = [&](QString GalleryEntry::*sentence) {
            return std::any_of(entries.begin(), entries.end(), [&](const GalleryEntry& other) {
                return &other != &entry && areAlike(entry.opening, other.opening) && areAlike(entry.*sentence, other.*sentence);
            });
        };
        if (!entry.second.isEmpty() && isAnyLike(&GalleryEntry::opening) && !isAnyLike(&GalleryEntry::second))
            entry.summary = entry.second;
    }
}

std::vector<GallerySection> sectionsOf(const std::vector<GalleryEntry>& entries, const std::filesystem::path& assets)
{
    std::map<QString, std::size_t> places;
    for (std::size_t i = 0; i < entries.size(); ++i)
        places.emplace(QFileInfo(entries[i].path).completeBaseName(), i);
    QFile file(QString::fromStdString((assets / "gallery.json").string()));
    const QJsonArray themes = file.open(QIODevice::ReadOnly)
                                  ? QJsonDocument::fromJson(file.readAll()).object().value(QLatin1String("themes")).toArray()
                                  : QJsonArray();
    std::vector<GallerySection> out;
    for (const QJsonValue& theme : themes) {
        GallerySection section{theme[QLatin1String("title")].toString(), theme[QLatin1String("about")].toString(), {}};
        for (const QJsonValue& name : theme[QLatin1String("files")].toArray()) {
            if (const auto place = places.extract(name.toString()))
                section.entries.push_back(place.mapped());
        }
        if (!section.entries.empty())
            out.push_back(std::move(section));
    }
    GallerySection rest;
    for (const auto& [name, place] : places)
        rest.entries.push_back(place);
    std::sort(rest.entries.begin(), rest.entries.end());
    if (!out.empty())
        rest.title = QObject::tr("More");
    if (!rest.entries.empty())
        out.push_back(std::move(rest));
    return out;
}

void addLessons(std::vector<GalleryEntry>& entries, std::vector<GallerySection>& sections, const sim::Catalogue& catalogue,
                const LessonProgress& progress)
{
    GallerySection section{
        QObject::tr("Lessons"), QObject::tr("Predict, commit, see: each takes a few minutes and breaks one belief"), {}};
    std::vector<sim::Problem> unread;
    for (const sim::Lesson& lesson : sim::readLessons(sim::lessonFolder(catalogue), catalogue, unread)) {
        GalleryEntry entry;
        entry.path = QString::fromStdString(lesson.fileName);
        entry.name = QString::fromStdString(lesson.title);
        entry.summary = lesson.breaks.empty() ? QString() : QObject::tr("“%1”").arg(QString::fromStdString(lesson.breaks));
        entry.source = QString::fromStdString(lesson.source);
        entry.lesson =
            GalleryEntry::LessonState{.number = lesson.number,
                                      .minutes = lesson.minutes,
                                      .share = progress.isFinished(lesson) ? 1 : progress.share(lesson),
                                      .due = static_cast<int>(progress.due(lesson, QDateTime::currentDateTime()).size())};
        section.entries.push_back(entries.size());
        entries.push_back(std::move(entry));
    }
    std::string last;
    for (const sim::Problem& problem : unread) { // one that is wrong hides none, and says why
        if (std::exchange(last, problem.file) == problem.file)
            continue;
        GalleryEntry entry;
        entry.path = QString::fromStdString(problem.file);
        entry.name = QFileInfo(entry.path).completeBaseName();
        entry.summary = QString::fromStdString(problem.text());
        section.entries.push_back(entries.size());
        entries.push_back(std::move(entry));
    }
    if (!section.entries.empty())
        sections.insert(sections.begin(), std::move(section));
}

QStringList sentencesOf(const QString& markdown)
{
    static const QRegularExpression link(QStringLiteral("!?\\[([^\\]]*)\\]\\([^)]*\\)"));
    static const QRegularExpression lineMark(QStringLiteral("^\\s*(#+|>)\\s+"), QRegularExpression::MultilineOption);
    // In pairs around words: "2 * 3" and global_batch_size are what they are.
    static const QRegularExpression stars(QStringLiteral("(\\*{1,3})(?=\\S)([^*]*[^*\\s])\\1"));
    static const QRegularExpression lines(QStringLiteral("(?<!\\w)(_{1,3})(?=\\S)([^_]*[^_\\s])\\1(?!\\w)"));
    static const QRegularExpression end(QStringLiteral("(?<=[.!?])\\s"));
    QString plain = markdown;
    plain.replace(link, QStringLiteral("\\1")).remove(lineMark).remove(QLatin1Char('`'));
    plain.replace(stars, QStringLiteral("\\2")).replace(lines, QStringLiteral("\\2"));
    plain = plain.simplified();
    return plain.split(end);
}

QString firstSentence(const QString& markdown)
{
    return sentencesOf(markdown).front();
}

} // namespace app
