#include "app/lessons/lesson_text.h"

#include "app/session/scenario_changes.h"
#include "app/session/scenario_keys.h"
#include "app/session/scenario_name.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/text_habit.h"
#include "sim/scenario/json_text.h"

#include <QFrame>
#include <QLabel>
#include <QRegularExpression>
#include <QStringList>
#include <QVBoxLayout>

#include <algorithm>

namespace app {
namespace {

/// As a chooser of the form has it, where it is a word; else the bare value.
std::string wordOf(const sim::LessonValue& value, const ScenarioKey* key, const sim::Catalogue& catalogue)
{
    if (value.is_null())
        return "as usual"; // the key is erased
    const std::string json = value.dump();
    if (key != nullptr && value.is_string())
        for (const KeyOption& option : keyOptions(catalogue, *key))
            if (option.json == json)
                return option.text;
    return valueText(json);
}

void addChanges(QStringList& out, const std::string& pointer, const sim::LessonValue& value, const sim::Catalogue& catalogue)
{
    const ScenarioKey* key = findScenarioKey(pointer);
    if (key == nullptr && value.is_object()) {
        for (const auto& [name, inside] : value.items())
            addChanges(out, pointer + "/" + name, inside, catalogue);
        return;
    }
    std::string label;
    if (pointer == "/schedule/kind") {
        label = "schedule"; // the form has a section of that name
    } else if (key != nullptr) {
        label = (pointer.starts_with("/training/overlap/") ? "overlap of " : "") + sentenceName(*key); // it happens all the same
    } else {
        label = pointer.substr(pointer.rfind('/') + 1);
        std::replace(label.begin(), label.end(), '_', ' ');
    }
    out << QString::fromStdString(label + " " + wordOf(value, key, catalogue));
}

} // namespace

QString changesText(const sim::LessonValue& changes, const sim::Catalogue& catalogue)
{
    QStringList out;
    if (changes.is_object())
        for (const auto& [pointer, value] : changes.items())
            addChanges(out, pointer, value, catalogue);
    return out.join(QStringLiteral(", "));
}

QString sceneName(const sim::LessonPlay& play, const std::string& caseName)
{
    const auto& cases = play.lesson().cases;
    const sim::CaseSubject* subject = play.cases().subject(caseName);
    const auto* document = subject != nullptr ? std::get_if<sim::ScenarioDocument>(subject) : nullptr;
    if (document == nullptr)
        return {};
    sim::LessonValue changes = sim::LessonValue::object();
    std::string at = caseName;
    for (std::size_t i = 0; i < cases.size(); ++i) { // a chain is no longer than all of them
        const auto found = std::find_if(cases.begin(), cases.end(), [&](const auto& each) { return each.name == at; });
        if (found == cases.end())
            break;
        const sim::LessonValue* set = sim::memberOf(found->given, "set");
        if (set != nullptr && set->is_object() && set->contains("/name"))
            break; // it has been given a name of its own
        if (set != nullptr && set->is_object())
            for (const auto& [pointer, value] : set->items())
                if (!changes.contains(pointer))
                    changes[pointer] = value;
        at = sim::memberOr<std::string>(found->given, "from", {});
    }
    return changedName(*document, changes, play.cases().catalogue());
}

QString changedName(const sim::ScenarioDocument& document, const sim::LessonValue& changes, const sim::Catalogue& catalogue)
{
    const QString changed = changesText(changes, catalogue);
    return changed.isEmpty() ? QString()
                             : modelOnGpus(sim::resolvedScenario(document, catalogue)) + QStringLiteral(": ") + changed;
}

QStringList paragraphsOf(const QString& markdown)
{
    return markdown.split(QStringLiteral("\n\n"), Qt::SkipEmptyParts);
}

QString safeMarkdown(QString markdown)
{
    constexpr int kLongWord = 24; ///< characters that fit into the narrowest player
    markdown = withoutHtml(std::move(markdown));
    QString out;
    int run = 0;
    bool isEntity = false;
    for (const QChar c : markdown) {
        isEntity = c == QLatin1Char('&') || (isEntity && c != QLatin1Char(';'));
        run = c.isSpace() ? 0 : run + 1;
        if (run > kLongWord && !isEntity && !c.isLowSurrogate() && !c.isMark() &&
            (c.isLetterOrNumber() || c == QLatin1Char('/'))) {
            out += QChar(0x200B); // a place to break at that takes no room
            run = 1;
        }
        out += c;
    }
    // A line ends neither between a number and its unit nor inside the unit.
    static const QRegularExpression kQuantity(QStringLiteral("(?<=\\d) (?=(?:%|(?:[KMGT]i?B|ms|µs|s)(?![\\p{L}\\d])))")),
        kRate(QStringLiteral("(?<=[KMGT]B)/(?=s)"));
    return out.replace(kQuantity, QString(QChar(QChar::Nbsp))).replace(kRate, QStringLiteral("/\u2060"));
}

QString withTerms(const QString& markdown, const std::vector<LessonTerm>& terms)
{
    struct Found {
        qsizetype at = 0, length = 0;
        std::size_t term = 0;
    };
    std::vector<Found> found;
    const auto isOfWord = [](QChar c) { return c.isLetterOrNumber() || c == QLatin1Char('-') || c == QLatin1Char('_'); };
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const QString& word = terms[i].word;
        for (qsizetype at = markdown.indexOf(word, 0, Qt::CaseInsensitive); at >= 0 && !word.isEmpty();
             at = markdown.indexOf(word, at + 1, Qt::CaseInsensitive)) {
            const qsizetype end = at + word.size();
            const bool isWhole = (at == 0 || !isOfWord(markdown[at - 1])) && (end == markdown.size() || !isOfWord(markdown[end]));
            const bool isName = // "HFU", "ZeRO": as it is written
                std::any_of(word.begin() + 1, word.end(), [](QChar c) { return c.isUpper(); }) &&
                markdown.mid(at, word.size()) != word;
            const QString before = markdown.left(at);
            const bool isCode = before.count(QLatin1Char('`')) % 2 == 1;
            const bool isLink = before.lastIndexOf(QLatin1Char('[')) > before.lastIndexOf(QLatin1Char(')'));
            if (!isWhole || isName || isCode || isLink)
                continue;
            found.push_back({at, word.size(), i});
            break;
        }
    }
    // Of one term the first of its words; of words in each other the longest.
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.at != b.at ? a.at < b.at : a.length > b.length; });
    QString out;
    qsizetype done = 0;
    QStringList linked;
    for (const Found& each : found) {
        const QString& title = terms[each.term].title;
        if (each.at < done || linked.contains(title))
            continue;
        linked << title;
        out += markdown.mid(done, each.at - done) + QLatin1Char('[') + markdown.mid(each.at, each.length) +
               QStringLiteral("](term:%1)").arg(each.term);
        done = each.at + each.length;
    }
    return out + markdown.mid(done);
}

QString withoutCode(QString markdown)
{
    static const QRegularExpression kCode(QStringLiteral("`([^`]+)`"));
    return markdown.replace(kCode, QStringLiteral("**\\1**"));
}

QFrame* lessonCard(QVBoxLayout*& column)
{
    auto* frame = new QFrame;
    setRole(frame, "card");
    column = new QVBoxLayout(frame);
    column->setContentsMargins(12, 10, 12, 12);
    column->setSpacing(8);
    return frame;
}

void setLessonText(QLabel* label, const QString& markdown)
{
    label->setTextFormat(Qt::MarkdownText);
    label->setText(withoutCode(safeMarkdown(markdown)));
}

QLabel* lessonParagraph(const QString& markdown, const char* role)
{
    auto* label = new QLabel;
    setLessonText(label, markdown);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    if (role != nullptr)
        setRole(label, role);
    return label;
}

} // namespace app
