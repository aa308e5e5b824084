#include "app/shell/window/palette_sources.h"

#include "app/session/names_apart.h"
#include "app/session/scenario_keys.h"
#include "app/shell/widgets/format.h"
#include "app/step/instant.h"
#include "sim/schedule/families/families.h"
#include "sim/text/spoken_name.h"

#include <QFileInfo>
#include <QRegularExpression>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace app {
namespace {

constexpr std::size_t kMostFiles = 6, kMostSpans = 8, kMostHelp = 5;
constexpr int kShortestSpanName = 2; ///< letters: one alone is in too many names

QString spanTimeText(std::int64_t ns)
{
    return durationQuantity(static_cast<double>(ns) * 1e-9).text();
}

/// Kinds that a span of that name could be of: a few strings are compared, not millions.
std::vector<char> possibleKinds(const sim::Trace& trace, const QString& wanted)
{
    std::vector<char> out;
    for (const sim::SpanKind& kind : trace.kinds) {
        const QString name = QString::fromStdString(sim::spokenOp(kind.name));
        const QString letter = QString::fromLatin1(opClassLetter(kind.opClass)); // "F" may become "F3"
        const bool isAction = !letter.isEmpty() && wanted.contains(letter, Qt::CaseInsensitive);
        out.push_back(isAction || name.contains(wanted, Qt::CaseInsensitive) ? 1 : 0);
    }
    return out;
}

} // namespace

std::vector<PaletteEntry> findFiles(const QString& typed, const QStringList& recent, const std::vector<GalleryEntry>& gallery,
                                    const std::function<void(const QString&)>& open)
{
    std::vector<PaletteEntry> out;
    QStringList listed; // of the recent ones
    const auto add = [&](const QString& name, const QString& hint, const QString& path) {
        const bool isCalledSo = name.startsWith(typed, Qt::CaseInsensitive);
        out.push_back({name, hint, [open, path] { open(path); }, {}, isCalledSo});
    };
    const QStringList apart = namesApart(recent, &QFileInfo::completeBaseName);
    for (qsizetype i = 0; i < recent.size(); ++i) { // those of the gallery by what they are called there
        const QString& path = recent[i];
        const auto known =
            std::find_if(gallery.begin(), gallery.end(), [&](const GalleryEntry& entry) { return entry.path == path; });
        const QString file = QFileInfo(path).completeBaseName(), name = known != gallery.end() ? known->name : apart[i];
        if (out.size() < kMostFiles && std::max(matchScore(name, typed), matchScore(file, typed)) >= MatchScore::kBeginsWord) {
            add(name, QObject::tr("recent"), path);
            listed.append(path);
        }
    }
    // What has it in its name comes before what has it in its model or its source.
    const std::size_t most = out.size() + kMostFiles;
    for (const bool inName : {true, false}) {
        for (const GalleryEntry& entry : gallery) {
            const bool isMatch = inName == entry.name.contains(typed, Qt::CaseInsensitive) && entry.matches(typed);
            if (out.size() < most && isMatch && !listed.contains(entry.path))
                add(entry.name, QObject::tr("gallery"), entry.path);
        }
    }
    return out;
}

bool hasSpansCalled(const QString& typed, const sim::Trace& trace)
{
    static const QRegularExpression kAction(QStringLiteral("^\\d*[A-Za-z]+\\d+$"));
    const bool mayBeAction = kAction.match(typed).hasMatch();
    return std::any_of(trace.kinds.begin(), trace.kinds.end(), [&](const sim::SpanKind& kind) {
        const QString letter = QString::fromLatin1(opClassLetter(kind.opClass));
        return QString::fromStdString(sim::spokenOp(kind.name)).contains(typed, Qt::CaseInsensitive) ||
               (!letter.isEmpty() && (typed.compare(letter, Qt::CaseInsensitive) == 0 ||
                                      (mayBeAction && typed.contains(letter, Qt::CaseInsensitive))));
    });
}

std::vector<PaletteEntry> findSpans(const QString& typed, const sim::Trace& trace, const std::function<void(SpanRef)>& select)
{
    QString wanted = typed;
    if (wanted.startsWith(QLatin1String("find "), Qt::CaseInsensitive))
        wanted = wanted.mid(5).trimmed();
    std::vector<PaletteEntry> out;
    if (wanted.size() < kShortestSpanName)
        return out;
    const std::vector<char> possible = possibleKinds(trace, wanted);
    for (std::uint32_t t = 0; t < trace.tracks.size() && out.size() < kMostSpans; ++t) {
        const sim::Track& track = trace.tracks[t];
        for (std::uint32_t i = 0; i < track.size(); ++i) {
            if (possible[track.kind[i]] == 0)
                continue;
            const QString name = spanName(trace, {t, i});
            // Also with its stage before it, as PyTorch writes it.
            const QString withStage = QString::number(trace.kinds[track.kind[i]].stage) + name;
            if (!name.endsWith(wanted, Qt::CaseInsensitive) && !name.startsWith(wanted, Qt::CaseInsensitive) &&
                withStage.compare(wanted, Qt::CaseInsensitive) != 0)
                continue;
            const std::string& process = trace.processes[static_cast<std::size_t>(track.process)].name;
            out.push_back({QObject::tr("%1 at %2").arg(name, spanTimeText(track.startNs[i])), QString::fromStdString(process),
                           [select, span = SpanRef{t, i}] { select(span); }});
            break;
        }
    }
    return out;
}

std::vector<PaletteEntry> findSchedules(const QString& typed, const std::function<void(std::string_view)>& choose)
{
    const auto text = [](std::string_view words) {
        return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
    };
    std::vector<PaletteEntry> out;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        const QString title = text(family.title);
        if (!family.isWrittenOut &&
            std::max(matchScore(title, typed), matchScore(text(family.kind), typed)) >= MatchScore::kWords)
            out.push_back({QObject::tr("Schedule: %1").arg(title), QObject::tr("Schedule"),
                           [choose, kind = family.kind] { choose(kind); }, text(family.character)});
    }
    return out;
}

std::vector<PaletteEntry> findHelp(const QString& typed, const Help& help, const std::function<void(const QString&)>& show)
{
    std::vector<PaletteEntry> out;
    for (const HelpEntry* entry : help.find(typed)) {
        if (out.size() == kMostHelp)
            break;
        const bool isTerm = entry->kind == HelpEntry::Kind::term;
        out.push_back({entry->title, isTerm ? QObject::tr("Glossary") : QObject::tr("Manual"),
                       [show, title = entry->title] { show(title); }, isTerm ? entry->text : QString(), true});
    }
    return out;
}

std::vector<PaletteEntry> findSettings(const QString& typed, const Help& help, const std::function<void(const QString&)>& show)
{
    std::vector<PaletteEntry> out;
    std::set<std::string_view> listed;
    const auto titleOf = [](const ScenarioKey& key) { return QObject::tr("Set %1").arg(QObject::tr(key.label)); };
    const auto add = [&](const ScenarioKey& key) {
        if (out.size() < kMostHelp && listed.insert(key.pointer).second)
            out.push_back({titleOf(key),
                           QObject::tr("Setting"),
                           [show, pointer = QString::fromUtf8(key.pointer.data(), static_cast<qsizetype>(key.pointer.size()))] {
                               show(pointer);
                           },
                           {},
                           true});
    };
    const auto isMeant = [&](const ScenarioKey& key) {
        const QString title = titleOf(key), start = title.left(title.size() - QObject::tr(key.label).size());
        return matchScore(QObject::tr(key.label), typed) >= MatchScore::kBeginsWord ||
               (typed.size() > start.size() && title.startsWith(typed, Qt::CaseInsensitive));
    };
    for (const ScenarioKey& key : scenarioKeys())
        if (key.pointer.find('*') == std::string_view::npos && isMeant(key))
            add(key);
    for (const HelpEntry* entry : help.find(typed))
        for (const std::string& pointer : entry->settings)
            if (const ScenarioKey* key = findScenarioKey(pointer); key != nullptr && pointer.find('*') == std::string::npos)
                add(*key);
    return out;
}

std::vector<PaletteEntry> findPrice(const QString& typed, const Help& help, const std::function<void()>& ask)
{
    const auto found = help.find(typed);
    const bool isMeant = std::any_of(found.begin(), found.end(), [](const HelpEntry* entry) {
        return entry->kind == HelpEntry::Kind::term && entry->title == QLatin1String("GPU-hours");
    });
    const QString name = QObject::tr("Price of a GPU hour…");
    if (!isMeant &&
        matchScore(name, typed) < (typed.trimmed().contains(QLatin1Char(' ')) ? MatchScore::kWords : MatchScore::kBeginsWord))
        return {};
    return {{name, QObject::tr("Settings"), ask, {}, true}};
}

std::vector<PaletteEntry> findWhatIfs(const QString& typed, const std::vector<Preset>& whatIfs,
                                      const std::function<void(const Preset&)>& perform)
{
    std::vector<PaletteEntry> out;
    for (const Preset& preset : whatIfs) {
        const QString name = QString::fromStdString(preset.name);
        const bool asksForAll = QObject::tr("what if").startsWith(typed, Qt::CaseInsensitive) && typed.size() > 2;
        if (asksForAll || matchScore(name, typed) >= 0)
            out.push_back({name, QObject::tr("What if"), [perform, preset] { perform(preset); }});
    }
    return out;
}

} // namespace app
