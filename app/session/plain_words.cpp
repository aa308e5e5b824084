#include "app/session/plain_words.h"

#include "app/session/scenario_keys.h"

#include <QRegularExpression>

#include <map>

namespace app {

QString plainWords(QString text)
{
    static const QRegularExpression kPointer(QStringLiteral("/[a-z_0-9]+(?:/[a-z_0-9]+)+")),
        kKey(QStringLiteral("\\b[a-z0-9]+(?:_[a-z0-9]+)+\\b"));
    static const std::map<QString, QString> kNames = [] {
        std::map<QString, QString> names;
        for (const ScenarioKey& key : scenarioKeys()) {
            const std::string_view last = key.pointer.substr(key.pointer.rfind('/') + 1);
            names.emplace(QString::fromUtf8(last.data(), static_cast<qsizetype>(last.size())),
                          QString::fromStdString(sentenceName(key)));
        }
        return names;
    }();
    const auto said = [](const QString& key) {
        const auto known = kNames.find(key);
        return known != kNames.end() ? known->second : QString(key).replace(QLatin1Char('_'), QLatin1Char(' '));
    };
    for (const QRegularExpression& pattern : {kPointer, kKey})
        for (QRegularExpressionMatch match = pattern.match(text); match.hasMatch();
             match = pattern.match(text, match.capturedStart())) {
            const QString name = said(match.captured().section(QLatin1Char('/'), -1));
            if (name == match.captured())
                break;
            text.replace(match.capturedStart(), match.capturedLength(), name);
        }
    return text;
}

} // namespace app
