#include "app/session/help.h"

#include "sim/error.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <utility>

namespace app {
namespace {

QByteArray contentsOf(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

HelpEntry termOf(const QJsonObject& json)
{
    HelpEntry out;
    out.title = json.value(QLatin1String("term")).toString();
    out.text = json.value(QLatin1String("says")).toString();
    for (const QJsonValue& word : json.value(QLatin1String("also")).toArray())
        out.also << word.toString();
    for (const QJsonValue& word : json.value(QLatin1String("prose")).toArray())
        out.prose << word.toString();
    for (const QJsonValue& pointer : json.value(QLatin1String("settings")).toArray())
        out.settings.push_back(pointer.toString().toStdString());
    out.picture = json.value(QLatin1String("picture")).toObject();
    return out;
}

/// From each heading to the next.
std::vector<HelpEntry> sectionsOf(const QString& manual)
{
    std::vector<HelpEntry> out;
    for (const QString& line : manual.split(QLatin1Char('\n'))) {
        if (line.startsWith(QLatin1Char('#'))) {
            out.push_back({.kind = HelpEntry::Kind::manual,
                           .title = line.mid(line.indexOf(QLatin1Char(' ')) + 1),
                           .also = {},
                           .text = {},
                           .settings = {}});
            continue;
        }
        if (out.empty())
            continue;
        out.back().text += line + QLatin1Char('\n');
        if (line.startsWith(QLatin1String("**"))) // how its paragraphs begin: what they are about
            out.back().also << line.mid(2, line.indexOf(QLatin1String("**"), 2) - 2).remove(QLatin1Char('.'));
    }
    return out;
}

/// Of all that an entry is called, how well the best of it answers; negative: not at all.
int scoreOf(const HelpEntry& entry, const QString& typed)
{
    const auto nameScore = [&](const QString& name, int less) {
        if (name.compare(typed, Qt::CaseInsensitive) == 0)
            return 40 - less;
        const qsizetype at = name.indexOf(typed, 0, Qt::CaseInsensitive);
        return at == 0 ? 30 - less : at > 0 && !name[at - 1].isLetterOrNumber() ? 20 - less : -1;
    };
    int best = nameScore(entry.title, 0);
    for (const QString& name : entry.also)
        best = std::max(best, nameScore(name, 5));
    return entry.kind == HelpEntry::Kind::manual && best >= 0 ? best / 2 : best; // terms first
}

} // namespace

Help Help::read(const std::filesystem::path& assets)
{
    Help help;
    const std::filesystem::path glossary = assets / "glossary.json";
    QJsonParseError failure;
    const QJsonArray terms =
        QJsonDocument::fromJson(contentsOf(glossary), &failure).object().value(QLatin1String("terms")).toArray();
    if (terms.isEmpty())
        throw sim::Error(
            glossary.string() + ": a list \"terms\" is expected" +
            (failure.error == QJsonParseError::NoError ? std::string() : ", not: " + failure.errorString().toStdString()));
    for (const QJsonValue& term : terms) {
        HelpEntry entry = termOf(term.toObject());
        if (entry.title.isEmpty() || entry.text.isEmpty())
            throw sim::Error(glossary.string() + ": term " + std::to_string(help.m_entries.size() + 1) +
                             " has no \"term\" or says nothing");
        help.m_entries.push_back(std::move(entry));
    }
    // In the source tree beside the assets, installed among them.
    std::filesystem::path manual = assets.parent_path() / "docs";
    std::error_code unseen;
    if (!std::filesystem::exists(manual / "manual.md", unseen))
        manual = assets / "docs";
    help.m_manualFolder = QString::fromStdString(manual.string());
    for (HelpEntry& section : sectionsOf(QString::fromUtf8(contentsOf(manual / "manual.md"))))
        help.m_entries.push_back(std::move(section));
    return help;
}

const HelpEntry* Help::about(const QString& title) const
{
    const HelpEntry* found = nullptr;
    qsizetype length = 0;
    for (const HelpEntry& entry : m_entries) {
        if (entry.kind != HelpEntry::Kind::term)
            continue;
        // Each row of the form asks for each name of each term: mostly where its words end tells enough.
        const auto take = [&](const QString& name) {
            const qsizetype size = name.size();
            if (size <= length || title.size() < size || (title.size() > size && title[size] != QLatin1Char(' ')) ||
                !title.startsWith(name, Qt::CaseInsensitive))
                return;
            found = &entry;
            length = size;
        };
        take(entry.title);
        std::for_each(entry.also.begin(), entry.also.end(), take);
    }
    return found;
}

const HelpEntry* Help::aboutDrawn(const QString& name) const
{
    const QLatin1String lens("lens "); // as pictures name what their cells can show
    const qsizetype begin = name.startsWith(lens) ? lens.size() : 0;
    qsizetype end = begin;
    while (end < name.size() && !QStringLiteral(",:;(\n").contains(name[end]))
        ++end;
    return about(name.mid(begin, end - begin).trimmed());
}

const HelpEntry* Help::aboutSetting(std::string_view pointer, const QString& label) const
{
    if (const HelpEntry* entry = about(label))
        return entry;
    const HelpEntry* found = nullptr;
    std::pair<std::ptrdiff_t, std::size_t> rank;
    for (const HelpEntry& entry : m_entries) {
        const auto at = std::find(entry.settings.begin(), entry.settings.end(), pointer);
        if (entry.kind != HelpEntry::Kind::term || at == entry.settings.end())
            continue;
        const std::pair mine(at - entry.settings.begin(), entry.settings.size()); // named first, and among the fewest
        if (found == nullptr || mine < rank) {
            found = &entry;
            rank = mine;
        }
    }
    return found;
}

QStringList Help::namesOf(std::string_view pointer) const
{
    QStringList names;
    for (const HelpEntry& entry : m_entries)
        if (std::find(entry.settings.begin(), entry.settings.end(), pointer) != entry.settings.end())
            names << entry.title << entry.also;
    return names;
}

std::vector<const HelpEntry*> Help::find(const QString& typed) const
{
    std::vector<std::pair<int, const HelpEntry*>> found;
    for (const HelpEntry& entry : m_entries)
        if (const int score = typed.isEmpty() ? 0 : scoreOf(entry, typed); score >= 0)
            found.emplace_back(score, &entry);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<const HelpEntry*> out;
    for (const auto& [score, entry] : found)
        out.push_back(entry);
    return out;
}

} // namespace app
