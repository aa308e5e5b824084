#include "app/session/settings_import.h"

#include "app/session/plain_words.h"
#include "app/session/scenario_state.h"
#include "sim/scenario/files.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace app {
namespace {

constexpr std::size_t kMostSettingsBytes = 8UL << 20U; ///< of a file, as importSettings takes it
constexpr std::string_view kGpus = "/layout/dp", kClusterKey = "/cluster", kModelKey = "/model";

QString trSettings(const char* text)
{
    return QCoreApplication::translate("SettingsImport", text);
}

/// A block is a string, its base's id, or an object that has one.
std::string baseKey(const sim::ScenarioDocument& document, std::string_view block)
{
    const std::string base = std::string(block) + "/base";
    return document.get(base) ? base : std::string(block);
}

/// A whole number from 1, if it is one.
std::optional<int> sizeIn(const std::string& text)
{
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isSize = error == std::errc() && end == text.data() + text.size() && value >= 1;
    return isSize ? std::optional(value) : std::nullopt;
}

int wholeNumber(const std::string& text)
{
    if (const std::optional<int> value = sizeIn(text))
        return *value;
    throw sim::Error("'" + text + "' is no whole number from 1");
}

/// Reasons speak of the command line, whose flags are no help in a window, and which takes something else where this asks again.
QString reasonOf(const sim::Imported& imported, const std::string& pointer, sim::Became became)
{
    std::string text;
    for (const sim::Note& note : imported.notes)
        if (note.became == became && note.pointer == pointer)
            text = note.text;
    text = withoutFlags(std::move(text));
    if (const std::size_t at = text.find(", which is taken"); at != std::string::npos)
        text.resize(at);
    QString words = plainWords(QString::fromStdString(text));
    if (!words.isEmpty())
        words[0] = words[0].toUpper();
    return words;
}

constexpr std::array kAxesOfReplica{"/layout/tp", "/layout/cp", "/layout/pp"};

/// Of what is written, legal or not.
std::int64_t sizeOf(const sim::ScenarioDocument& document, std::string_view axis)
{
    return std::max<std::int64_t>(1, std::strtoll(document.get(axis).value_or("1").c_str(), nullptr, 10));
}

std::int64_t ranksOfReplica(const sim::ScenarioDocument& document)
{
    std::int64_t ranks = 1;
    for (const char* axis : kAxesOfReplica)
        ranks *= sizeOf(document, axis);
    return ranks;
}

std::int64_t ranksOf(const sim::ScenarioDocument& document)
{
    return ranksOfReplica(document) * sizeOf(document, kGpus);
}

/// With as many replicas as there is room for. Throws sim::Error where they do not fill it.
void fillGpus(sim::ScenarioDocument& document, std::int64_t gpus)
{
    const std::int64_t replica = ranksOfReplica(document), below = gpus / replica * replica;
    if (below == gpus)
        return document.set(kGpus, std::to_string(gpus / replica));
    std::string sizes;
    for (const char* axis : kAxesOfReplica)
        sizes += (sizes.empty() ? "" : " × ") + std::string(axis).substr(std::string_view("/layout/").size()) + " " +
                 std::to_string(sizeOf(document, axis));
    throw sim::Error(std::to_string(gpus) + " GPUs are no multiple of " + sizes + " = " + std::to_string(replica) +
                     "; nearest: " + (below > 0 ? std::to_string(below) + ", " : "") + std::to_string(below + replica));
}

sim::ScenarioDocument emptyDocument()
{
    return sim::ScenarioDocument::parse("{}");
}

} // namespace

std::string withoutFlags(std::string text)
{
    std::size_t flag = std::string::npos;
    for (const std::string_view name : {"--set", "--gpus", "--from", "--json", "--all-notes"}) // those of rankscope-sim import
        for (std::size_t at = text.find(name); at < flag; at = text.find(name, at + 1)) {
            const auto isOfWord = [&](std::size_t i) {
                return i < text.size() &&
                       (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '-' || text[i] == '_');
            };
            if (!isOfWord(at + name.size()) && (at == 0 || !isOfWord(at - 1))) // no beginning of another's
                flag = at;
        }
    if (flag == std::string::npos)
        return text;
    std::size_t clause = 0; // that speaks of it
    for (const std::string_view start : {" (", "; ", ": ", ", "})
        if (const std::size_t at = text.rfind(start, flag); at != std::string::npos)
            clause = std::max(clause, at);
    text.resize(clause);
    return text;
}

std::string SettingsImport::kindOf(const QStringList& paths)
{
    std::string kind;
    try {
        for (const sim::SettingsFile& file : read(paths)) {
            if (file.text.find("\"rankscope-") != std::string::npos)
                return {};
            if (kind.empty())
                kind = sim::recognisedKind(file);
        }
    } catch (const sim::Error&) {
        return {};
    }
    return kind;
}

std::vector<sim::SettingsFile> SettingsImport::read(const QStringList& paths)
{
    std::vector<sim::SettingsFile> files;
    for (const QString& path : paths)
        files.push_back({path.toStdString(), sim::readFile(path.toStdU16String(), kMostSettingsBytes)});
    return files;
}

namespace {

/// What is chosen among is called as the chooser calls it, not as the file does.
QString withNames(QString text, const std::vector<KeyOption>& options)
{
    for (const KeyOption& option : options) {
        const QString id = QRegularExpression::escape(QString::fromStdString(unquoted(option.json)));
        text.replace(QRegularExpression(QStringLiteral("(?<![\\w-])%1(?![\\w-])").arg(id)), QString::fromStdString(option.text));
    }
    return text;
}

} // namespace

SettingsImport::SettingsImport(std::vector<sim::SettingsFile> files, sim::Catalogue catalogue, std::string kind)
    : m_files(std::move(files)), m_catalogue(std::move(catalogue)), m_kind(std::move(kind)), m_document(emptyDocument())
{
    readWith({});
    for (const std::string& pointer : m_imported.unknown)
        m_asked.emplace_back(pointer, reasonOf(m_imported, pointer, sim::Became::unknown));
    readWith({});
}

/// Reads anew: how many GPUs there are, and of what kind, decides more than one key.
void SettingsImport::readWith(const Answers& answers)
{
    sim::ImportOptions options{.kind = m_kind, .gpus = answers.gpus, .cluster = answers.cluster};
    for (const auto& [pointer, value] : answers.keys)
        if (const std::optional<int> size = sizeIn(value)) // what else follows from it the reading knows
            options.sizes.emplace(pointer, *size);
    sim::Imported imported = [&] {
        try {
            return sim::importSettings(m_files, options, m_catalogue);
        } catch (const sim::Error& error) {
            if (const std::string text = error.what(), plain = withoutFlags(text); plain != text)
                throw sim::Error(plain);
            throw;
        }
    }();
    sim::ScenarioDocument document = sim::ScenarioDocument::parse(imported.scenario);
    const std::int64_t ranks = ranksOf(document);
    for (const auto& [pointer, value] : answers.keys)
        document.set(pointer == kModelKey ? baseKey(document, kModelKey) : pointer, value);
    const bool isReplicaAnswered =
        std::any_of(kAxesOfReplica.begin(), kAxesOfReplica.end(), [&](const char* axis) { return answers.keys.count(axis) > 0; });
    if (answers.gpus && (isReplicaAnswered ? ranks < *answers.gpus : ranks != *answers.gpus)) { // fewer: no cluster has so many
        const QString why = reasonOf(imported, std::string(kGpus), sim::Became::contradictory);
        throw sim::Error(why.isEmpty() ? "the settings lay out " + std::to_string(ranks) + " GPUs" : why.toStdString());
    }
    if (answers.gpus && isReplicaAnswered) // the reading filled them with replicas of the size that it assumed
        fillGpus(document, *answers.gpus);
    auto resolved = document.resolve(m_catalogue);
    m_answers = answers;
    m_imported = std::move(imported);
    m_document = std::move(document);
    m_resolved = std::move(resolved);
    m_questions.clear();
    for (auto& [pointer, why] : m_asked) {
        if (const QString now = reasonOf(m_imported, pointer, sim::Became::unknown); !now.isEmpty()) // with the answers so far
            why = now;
        m_questions.push_back(questionOf(pointer));
        if (!isAnswered(pointer)) // or what was assumed is no longer so
            m_questions.back().why =
                pointer == kClusterKey || pointer == "/model" ? withNames(why, m_questions.back().options) : why;
    }
}

bool SettingsImport::isAnswered(const std::string& pointer) const
{
    return pointer == kGpus         ? m_answers.gpus.has_value()
           : pointer == kClusterKey ? !m_answers.cluster.empty()
                                    : m_answers.keys.count(pointer) > 0;
}

SettingsQuestion SettingsImport::questionOf(const std::string& pointer) const
{
    SettingsQuestion question{.pointer = pointer, .label = {}, .why = {}, .options = {}, .value = {}};
    if (pointer == kGpus) {
        question.label = trSettings("GPUs in all");
        question.value = std::to_string(ranksOf(m_document));
        return question;
    }
    if (const ScenarioKey* key = findScenarioKey(pointer)) {
        question.label = trSettings(key->label);
        question.options = keyOptions(m_catalogue, *key);
    } else {
        question.label = QString::fromStdString(pointer.substr(1));
    }
    question.value = m_document.get(question.options.empty() ? pointer : baseKey(m_document, pointer)).value_or(std::string());
    return question;
}

void SettingsImport::answer(const std::string& pointer, const std::string& value)
{
    answer({{pointer, value}});
}

void SettingsImport::answer(const std::map<std::string, std::string>& values)
{
    Answers answers = m_answers;
    for (const auto& [pointer, value] : values) {
        if (pointer == kGpus)
            answers.gpus = wholeNumber(value);
        else if (pointer == kClusterKey)
            answers.cluster = unquoted(value);
        else
            answers.keys[pointer] = value;
    }
    readWith(answers);
}

const sim::FrameworkKind& SettingsImport::kind() const
{
    const auto kinds = sim::frameworkKinds();
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const sim::FrameworkKind& kind) { return kind.id == m_imported.kind; });
    return found == kinds.end() ? kinds.front() : *found;
}

QString becameText(sim::Became became)
{
    return QString::fromLatin1(sim::wordOf(became).data(), static_cast<qsizetype>(sim::wordOf(became).size()))
        .replace(QLatin1Char('_'), QLatin1Char(' '));
}

bool SettingsImport::needsALook(const sim::Note& note) const
{
    const bool isAsked = note.became == sim::Became::unknown &&
                         std::any_of(m_asked.begin(), m_asked.end(), [&](const auto& one) { return one.first == note.pointer; });
    if (isAsked)
        return false;
    return note.became == sim::Became::notRepresentable || note.became == sim::Became::contradictory ||
           note.became == sim::Became::unknown;
}

} // namespace app
