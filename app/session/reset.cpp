#include "app/session/reset.h"

#include "app/session/scenario_keys.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>

namespace app {
namespace {

/// The same for two texts that say the same: key order does not matter, nor empty blocks, nor whether a lone base is short.
QJsonValue meaning(const QJsonValue& value)
{
    if (value.isArray()) {
        QJsonArray out;
        for (const QJsonValue& entry : value.toArray())
            out.append(meaning(entry));
        return out;
    }
    if (!value.isObject())
        return value;
    QJsonObject out;
    const QJsonObject object = value.toObject();
    for (auto member = object.begin(); member != object.end(); ++member) {
        const QJsonValue inner = meaning(member.value());
        if (!inner.isObject() || !inner.toObject().isEmpty())
            out.insert(member.key(), inner);
    }
    if (out.size() == 1 && out.contains(QStringLiteral("base")))
        return out.value(QStringLiteral("base"));
    return out;
}

/// Of JSON text, also of a bare number or string; undefined for nothing.
QJsonValue meaning(const std::optional<std::string>& json)
{
    if (!json)
        return QJsonValue(QJsonValue::Undefined);
    const QByteArray list = QByteArrayLiteral("[") + QByteArray::fromStdString(*json) + QByteArrayLiteral("]");
    const QJsonValue value = meaning(QJsonDocument::fromJson(list).array().at(0));
    return value.isObject() && value.toObject().isEmpty() ? QJsonValue(QJsonValue::Undefined) : value;
}

std::string block(std::string_view pointer)
{
    return std::string(pointer.substr(0, pointer.find('/', 1)));
}

/// Brings the author's own text back wherever it says the same.
void restoreText(Edit& edit, const ScenarioState& now, const ScenarioState& file)
{
    sim::ScenarioDocument after = now.document();
    apply(after, edit);
    if (meaning(after.text()) == meaning(file.document().text())) {
        edit.document = file.document().text();
        return;
    }
    std::vector<std::string> blocks;
    for (const Assignment& a : edit.assignments) {
        if (std::find(blocks.begin(), blocks.end(), block(a.pointer)) == blocks.end())
            blocks.push_back(block(a.pointer));
    }
    for (const std::string& pointer : blocks) {
        const auto written = file.document().get(pointer);
        if (meaning(after.get(pointer)) == meaning(written))
            edit.assignments.push_back({pointer, written});
    }
}

} // namespace

bool isChanged(const ScenarioState& now, const ScenarioState& file, std::string_view pointer)
{
    return (now.isWritten(pointer) || file.isWritten(pointer)) && meaning(now.at(pointer)) != meaning(file.at(pointer));
}

std::string fileText(const ScenarioState& file, std::string_view pointer)
{
    const auto json = file.at(pointer);
    const ScenarioKey* key = findScenarioKey(pointer);
    if (!json)
        return key && *key->ifAbsent != '\0' ? key->ifAbsent : "not given";
    if (key) {
        for (const KeyOption& option : keyOptions(file.catalogue(), *key)) {
            if (option.json == *json)
                return option.text;
        }
    }
    return *json == "true" ? "on" : *json == "false" ? "off" : unquoted(*json);
}

Edit makeResetEdit(const ScenarioState& now, const ScenarioState& file, std::string_view pointer, LayoutRule rule)
{
    Edit edit = makeEdit(now, pointer, file.at(pointer), rule);
    // What goes along with a change, and is as in the file already, stays.
    std::erase_if(edit.assignments, [&](const Assignment& a) {
        return a.pointer != pointer && !pointer.starts_with(a.pointer + "/") &&
               now.document().get(a.pointer) == file.document().get(a.pointer);
    });
    const ScenarioKey* key = findScenarioKey(pointer);
    edit.text = (key ? sentenceName(*key) : std::string(pointer)) + " back to " + fileText(file, pointer);
    // What the change had brought with it goes with it, unless somebody changed that since.
    std::string writtenOut;
    for (const Assignment& a : makeEdit(file, pointer, now.at(pointer), rule).assignments) {
        if (pointer.starts_with(a.pointer + "/"))
            writtenOut = a.pointer;
        else if (a.pointer == pointer ? writtenOut.empty() : meaning(now.document().get(a.pointer)) == meaning(a.json))
            edit.assignments.push_back({a.pointer, file.document().get(a.pointer)});
    }
    if (!writtenOut.empty()) {
        sim::ScenarioDocument after = now.document();
        apply(after, edit);
        if (meaning(after.get(writtenOut)) == meaning(file.resolved(writtenOut)))
            edit.assignments.push_back({writtenOut, file.document().get(writtenOut)});
    }
    // The state has the short form of what the file says in full; layers and modules do not go together.
    constexpr std::string_view kRecompute = "/training/recompute";
    const auto written = file.document().get(kRecompute);
    if (written && (pointer == kRecompute || (pointer.starts_with(kRecompute) && now.at(kRecompute) == file.at(kRecompute))))
        edit.assignments.push_back({std::string(kRecompute), written});
    restoreText(edit, now, file);
    return edit;
}

Edit makeResetEdit(const ScenarioState&, const ScenarioState& file)
{
    Edit edit;
    edit.text = "everything back to the file";
    edit.document = file.document().text();
    return edit;
}

std::optional<Edit> makeBackToBaseEdit(const ScenarioState& state, std::string_view pointer)
{
    const auto written = state.document().get(pointer);
    if (!written || written->front() != '{')
        return std::nullopt;
    QJsonObject object = QJsonDocument::fromJson(QByteArray::fromStdString(*written)).object();
    const QStringList kept{QStringLiteral("base"), QStringLiteral("nodes")};
    const bool isBased = object.contains(kept[0]);
    bool isChanged = false;
    for (const QString& key : object.keys()) {
        if (!kept.contains(key)) {
            object.remove(key);
            isChanged = true;
        }
    }
    const auto base = state.at(pointer);
    if (!isChanged || !base || base->size() <= 2)
        return std::nullopt;
    Edit edit;
    if (isBased)
        edit.assignments.push_back({std::string(pointer), QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString()});
    else
        edit.assignments.push_back({std::string(pointer), std::nullopt}); // the cluster's own GPU
    std::string name = unquoted(*base);
    if (const ScenarioKey* key = findScenarioKey(pointer)) {
        for (const KeyOption& option : keyOptions(state.catalogue(), *key))
            name = option.json == *base ? option.text : name;
    }
    edit.text = "back to " + name;
    if (pointer == "/model")
        letLayersFollow(edit, state.document());
    return edit;
}

} // namespace app
