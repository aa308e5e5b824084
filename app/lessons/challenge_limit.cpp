#include "app/lessons/challenge_limit.h"

#include "app/session/scenario_keys.h"
#include "app/shell/form/form_parts.h"

#include <QObject>
#include <QStringList>

#include <algorithm>

namespace app {
namespace {

/// "Kind" alone says little outside its part of the form.
QString settingName(const ScenarioKey& key)
{
    if (key.pointer == "/schedule/kind")
        return QObject::tr("Schedule: Kind");
    const QString unit = QString::fromUtf8(key.unit), label = QObject::tr(key.label);
    return key.section == KeySection::layout && !unit.isEmpty() && key.pointer.ends_with(key.unit)
               ? label + QLatin1Char(' ') + unit
               : label;
}

/// "Layout" of "LAYOUT"; empty for a part without a title.
QString partTitle(KeySection section)
{
    const auto part = std::ranges::find(formParts(), section, &FormPart::section);
    if (part == formParts().end())
        return {};
    const QString title = QObject::tr(part->heading != nullptr ? part->heading : part->fold != nullptr ? part->fold : "");
    return title.left(1) + title.mid(1).toLower();
}

} // namespace

std::vector<AllowedSetting> allowedSettings(const sim::Challenge& challenge, const sim::Scenario& start)
{
    std::vector<AllowedSetting> out;
    if (challenge.allow.empty() && challenge.forbid.empty())
        return out;
    const auto keys = scenarioKeys();
    for (auto key = keys.begin(); key != keys.end();) {
        const auto end = std::find_if(key, keys.end(), [&](const ScenarioKey& each) { return each.section != key->section; });
        std::vector<AllowedSetting> ofPart;
        std::size_t shown = 0;
        for (const KeySection section = key->section; key != end && key->section == section; ++key) {
            const std::string pointer = pointerAt(key->pointer, 0);
            if (key->isRelevant != nullptr && !key->isRelevant(start))
                continue;
            ++shown;
            if (sim::mayChange(challenge, pointer))
                ofPart.push_back({settingName(*key), pointer});
        }
        const QString title = partTitle((end - 1)->section);
        if (ofPart.size() > 1 && ofPart.size() == shown && !title.isEmpty())
            ofPart = {{QObject::tr("all of %1").arg(title), ofPart.front().pointer}};
        out.insert(out.end(), ofPart.begin(), ofPart.end());
    }
    return out;
}

QString listedText(const QStringList& names)
{
    if (names.size() < 2)
        return names.join(QString());
    return QObject::tr("%1 and %2").arg(names.mid(0, names.size() - 1).join(QStringLiteral(", ")), names.back());
}

QString limitText(const std::vector<AllowedSetting>& allowed)
{
    QStringList names;
    for (const AllowedSetting& each : allowed)
        names << each.name;
    return allowed.empty() ? QString() : QObject::tr("This challenge lets you change only %1.").arg(listedText(names));
}

} // namespace app
