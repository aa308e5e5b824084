#include "app/session/plain_words.h"

#include "app/session/scenario_keys.h"
#include "sim/schedule/families/families.h"

#include <QRegularExpression>

#include <algorithm>
#include <map>

namespace app {
namespace {

QString lastOf(std::string_view pointer)
{
    const std::string_view last = pointer.substr(pointer.rfind('/') + 1);
    return QString::fromUtf8(last.data(), static_cast<qsizetype>(last.size()));
}

/// The first of the form's keys that ends so.
const std::map<QString, const ScenarioKey*>& keysByLastName()
{
    static const std::map<QString, const ScenarioKey*> kKeys = [] {
        std::map<QString, const ScenarioKey*> keys;
        for (const ScenarioKey& key : scenarioKeys())
            keys.emplace(lastOf(key.pointer), &key);
        return keys;
    }();
    return kKeys;
}

/// "layout.zero_stage", or "zero_stage" alone; nullptr: the form has no such key.
const ScenarioKey* keyOf(const QString& written)
{
    if (!written.contains(QLatin1Char('.'))) {
        const auto known = keysByLastName().find(written);
        return known != keysByLastName().end() ? known->second : nullptr;
    }
    const std::string pointer = '/' + QString(written).replace(QLatin1Char('.'), QLatin1Char('/')).toStdString();
    const auto keys = scenarioKeys();
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& key) { return key.pointer == pointer; });
    return known != keys.end() ? &*known : nullptr;
}

} // namespace

namespace {

/// "3 does not divide heads 32", where a file has a key and its value, as a sentence: "3 does not divide the 32 heads". Products
/// stay as they are.
QString dividedInWords(QString text)
{
    static const QRegularExpression kDivided(
        QStringLiteral("(does not divide|multiple of) (?!tp |cp |ep |pp |dp |the )([a-z][a-z -]*?)(s?) (\\d[\\d,]*)"
                       "(?![\\d,])(?!(?: \\([^)]*\\))? [x*] )"));
    qsizetype from = 0;
    for (auto match = kDivided.match(text); match.hasMatch(); match = kDivided.match(text, from)) {
        const QString name = match.captured(2) + match.captured(3), size = match.captured(4);
        const QString said = match.captured(1) + QStringLiteral(" the ") +
                             (match.captured(3).isEmpty() ? name + QLatin1Char(' ') + size : size + QLatin1Char(' ') + name);
        text.replace(match.capturedStart(), match.capturedLength(), said);
        from = match.capturedStart() + said.size();
    }
    return text;
}

QString wordsOf(QString text)
{
    static const QRegularExpression kPointer(QStringLiteral("/[a-z_0-9]+(?:/[a-z_0-9]+)+")),
        kDotted(QStringLiteral("\\b[a-z]+(?:\\.[a-z_0-9]+)+\\b")), kKey(QStringLiteral("\\b[a-z0-9]+(?:_[a-z0-9]+)+\\b"));
    const auto said = [](const QString& written) {
        const QString key = written.section(QLatin1Char('/'), -1);
        if (const ScenarioKey* known = keyOf(key))
            return QString::fromStdString(sentenceName(*known));
        return key.contains(QLatin1Char('.')) ? key : QString(key).replace(QLatin1Char('_'), QLatin1Char(' '));
    };
    for (const QRegularExpression& pattern : {kPointer, kDotted, kKey}) {
        qsizetype from = 0;
        for (QRegularExpressionMatch match = pattern.match(text); match.hasMatch(); match = pattern.match(text, from)) {
            const QString name = said(match.captured());
            text.replace(match.capturedStart(), match.capturedLength(), name);
            from = match.capturedStart() + name.size();
        }
    }
    text.remove(QLatin1String(" (default)")); // of a file that leaves it out
    text = dividedInWords(text);
    static const QRegularExpression kTimes(QStringLiteral("(?<=[\\w)]) [x*] (?=[\\w(])"));
    text.replace(kTimes, QStringLiteral(" × "));
    // Kinds of schedules as the form lists them: "interleaved-1f1b". What is one word is its own name.
    static const QRegularExpression kKind(QStringLiteral("(?<![\\w\"/-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\\w\"/-])|\\b1f1b\\b"));
    qsizetype from = 0;
    for (QRegularExpressionMatch match = kKind.match(text); match.hasMatch(); match = kKind.match(text, from)) {
        const sim::ScheduleFamily* family = sim::findScheduleFamily(match.captured().toStdString());
        const QString title = family == nullptr ? match.captured() : QString::fromStdString(std::string(family->title));
        text.replace(match.capturedStart(), match.capturedLength(), title);
        from = match.capturedStart() + title.size();
    }
    return text;
}

} // namespace

QString plainWords(const QString& text)
{
    // Somebody's own words: what is quoted, and names of files with the folders before them.
    static const QRegularExpression kOwn(
        QStringLiteral("\"[^\"\n]*\"|[\\w./~+-]*[\\w+-]\\.(?:json|jsonl|csv|yaml|yml|toml|sqlite|gz|zst|pftrace|txt|sh|py)\\b"));
    QString out;
    qsizetype from = 0;
    for (auto own = kOwn.globalMatch(text); own.hasNext();) {
        const QRegularExpressionMatch match = own.next();
        out += wordsOf(text.mid(from, match.capturedStart() - from)) + match.captured();
        from = match.capturedEnd();
    }
    return out + wordsOf(text.mid(from));
}

std::string plainWords(const std::string& text)
{
    return plainWords(QString::fromStdString(text)).toStdString();
}

QString asSentence(QString text)
{
    static const QRegularExpression kFirstWord(QStringLiteral("^[a-z]+(?=[ ,:']|$)"));
    static const QRegularExpression kAxis(QStringLiteral("^(tp|cp|pp|dp|ep|etp)$"));
    const QString first = kFirstWord.match(text).captured();
    if (!first.isEmpty() && !kAxis.match(first).hasMatch() && sim::findScheduleFamily(first.toStdString()) == nullptr)
        text[0] = text[0].toUpper();
    return text;
}

QString plainDescription(const QString& markdown)
{
    static const QRegularExpression kCode(QStringLiteral("`([a-z_0-9.]+)`"));
    QString text = markdown;
    qsizetype from = 0;
    for (QRegularExpressionMatch match = kCode.match(text); match.hasMatch(); match = kCode.match(text, from)) {
        const ScenarioKey* key = keyOf(match.captured(1));
        const bool isAxis = key != nullptr && lastOf(key->pointer) == key->unit; // goes by its letters
        const QString name = key == nullptr || isAxis ? match.captured() : QStringLiteral("“%1”").arg(QLatin1String(key->label));
        text.replace(match.capturedStart(), match.capturedLength(), name);
        from = match.capturedStart() + name.size();
    }
    return text;
}

} // namespace app
