#include "app/session/scenario_changes.h"

#include "sim/schedule/families/families.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>

#include <algorithm>

namespace app {
namespace {

QString textOf(const QJsonValue& value)
{
    static const QLocale english(QLocale::English, QLocale::UnitedStates);
    switch (value.type()) {
    case QJsonValue::Bool:
        return value.toBool() ? QStringLiteral("on") : QStringLiteral("off");
    case QJsonValue::Double: {
        const double number = value.toDouble();
        const bool whole = number == static_cast<double>(static_cast<qint64>(number));
        return whole ? english.toString(static_cast<qint64>(number)) : QString::number(number, 'g', 6);
    }
    case QJsonValue::String:
        return value.toString();
    case QJsonValue::Array: {
        const QJsonArray array = value.toArray();
        constexpr qsizetype kShown = 4;
        QStringList parts;
        for (qsizetype i = 0; i < std::min(kShown, array.size()); ++i)
            parts << textOf(array[i]);
        QString text = parts.join(QStringLiteral(", "));
        return array.size() > kShown ? text + QStringLiteral(" … (%1)").arg(array.size()) : text;
    }
    case QJsonValue::Object: {
        const QJsonObject object = value.toObject();
        for (const char* key : {"name", "id", "kind", "base"})
            if (const QString name = object.value(QLatin1String(key)).toString(); !name.isEmpty())
                return name;
        return QStringLiteral("{ %1 }").arg(object.keys().join(QStringLiteral(", ")));
    }
    default:
        return QStringLiteral("–");
    }
}

/// "/schedule/layers_per_stage" -> "schedule layers per stage"
std::string nameOf(const std::string& pointer)
{
    std::string name = pointer.substr(std::min<std::size_t>(1, pointer.size()));
    std::replace(name.begin(), name.end(), '/', ' ');
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

std::string valueText(const std::string& pointer, const std::string& json)
{
    const std::string text = app::valueText(json);
    if (pointer == "/schedule/kind") // as everywhere on screen
        for (const sim::ScheduleFamily& family : sim::scheduleFamilies())
            if (family.kind == text)
                return std::string(family.title);
    if (pointer == "/training/recompute") // an object where not all layers are
        if (const int layers = QJsonDocument::fromJson(QByteArray::fromStdString(json))[QStringLiteral("layers")].toInt();
            layers > 0)
            return text + ", " + std::to_string(layers) + (layers == 1 ? " layer a chunk" : " layers a chunk");
    return text;
}

} // namespace

std::string valueText(const std::string& json)
{
    // A bare value is no document: wrap it.
    const auto document = QJsonDocument::fromJson(QByteArray("[") + QByteArray::fromStdString(json) + ']');
    return textOf(document.array().at(0)).toStdString();
}

std::vector<ScenarioChange> scenarioChanges(const sim::ScenarioDocument& a, const sim::Scenario& scenarioA,
                                            const sim::ScenarioDocument& b, const sim::Scenario& scenarioB)
{
    std::vector<ScenarioChange> changes;
    for (sim::ChangedKey& key : sim::changedKeys(scenarioA, scenarioB)) {
        ScenarioChange change;
        change.textA = key.a ? valueText(key.pointer, *key.a) : "–";
        change.textB = key.b ? valueText(key.pointer, *key.b) : "–";
        change.follows = !a.get(key.pointer) && !b.get(key.pointer);
        change.key = std::move(key);
        changes.push_back(std::move(change));
    }
    std::stable_partition(changes.begin(), changes.end(), [](const ScenarioChange& change) { return !change.follows; });
    return changes;
}

Edit makeAdoptEdit(const std::vector<ScenarioChange>& changes, std::size_t which, const Adoption& adoption)
{
    const auto editOf = [&](const std::vector<std::size_t>& taken) {
        Edit edit;
        for (const std::size_t i : taken) {
            const ScenarioChange& change = changes[i];
            const auto said = adoption.from.get(change.key.pointer);
            edit.assignments.push_back({change.key.pointer, said ? said : adoption.fromIsA ? change.key.a : change.key.b});
            edit.text += (edit.text.empty() ? "" : ", ") + nameOf(change.key.pointer) + " " +
                         (adoption.fromIsA ? change.textB : change.textA) + " → " +
                         (adoption.fromIsA ? change.textA : change.textB);
        }
        return edit;
    };
    const auto isLegal = [&](const std::vector<std::size_t>& taken) {
        sim::ScenarioDocument changed = adoption.to;
        apply(changed, editOf(taken));
        return changed.resolve(adoption.catalogue).scenario.has_value();
    };
    const std::vector<std::size_t> alone{which};
    std::vector<std::size_t> taken = alone;
    for (std::size_t i = 0; i < changes.size(); ++i)
        if (i != which && !changes[i].follows)
            taken.push_back(i);
    if (isLegal(alone) || !isLegal(taken))
        return editOf(alone);
    for (std::size_t i = taken.size(); i-- > 1;) {
        std::vector<std::size_t> fewer = taken;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (isLegal(fewer))
            taken = std::move(fewer);
    }
    return editOf(taken);
}

} // namespace app
