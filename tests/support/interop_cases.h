// Worked cases of real configurations (tests/data/interop, each with its source), written out in their kind's own syntax.
#pragma once

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/json_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace test {

inline std::string textOfFile(const std::filesystem::path& path)
{
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

inline std::string asFlags(const sim::Json& settings)
{
    std::string text;
    for (const auto& [flag, value] : settings.items())
        if (value.is_string())
            text += " \\\n    " + flag + " '" + value.get<std::string>() + "'";
        else if (value != sim::Json(false))
            text += " \\\n    " + flag + (value == sim::Json(true) ? "" : " " + value.dump());
    return text + "\n";
}

inline std::string asYaml(const sim::Json& settings, int indentation = 0)
{
    std::string text;
    for (const auto& [key, value] : settings.items()) {
        text += std::string(static_cast<std::size_t>(indentation), ' ') + key + ":";
        if (value.is_object())
            text += "\n" + asYaml(value, indentation + 2);
        else
            text += " " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
    }
    return text;
}

inline std::string asToml(const sim::Json& settings, const std::string& path = "")
{
    std::string text, tables;
    for (const auto& [key, value] : settings.items())
        if (value.is_object())
            tables += "\n[" + path + key + "]\n" + asToml(value, path + key + ".");
        else
            text += key + " = " + value.dump() + "\n";
    return text + tables;
}

inline std::string asPython(const sim::Json& settings)
{
    std::string text;
    for (const auto& [name, value] : settings.items())
        text += "cfg." + name + " = " +
                (value.is_null()             ? "None"
                 : value == sim::Json(true)  ? "True"
                 : value == sim::Json(false) ? "False"
                                             : value.dump()) +
                "\n";
    return text;
}

/// The kind as --from has it, and the files.
inline std::pair<std::string, std::vector<sim::SettingsFile>> writtenOut(const sim::Json& golden)
{
    const std::string kind = golden["kind"], id = golden["id"];
    const sim::Json& settings = golden["settings"];
    if (kind == "megatron-args" || kind == "megatron-shell")
        return {"megatron-args", {{id + ".sh", "torchrun pretrain_gpt.py" + asFlags(settings)}}};
    if (kind == "megatron-deepspeed")
        return {kind,
                {{id + ".sh", "deepspeed pretrain_gpt.py" + asFlags(settings["args"])},
                 {id + ".json", settings["ds_config"].dump(1)}}};
    if (kind == "bridge-python") // a recipe's function has its model in its name
        return {kind,
                {{id + ".py", "def " +
                                  golden["source"]["path"].get<std::string>().substr(
                                      golden["source"]["path"].get<std::string>().rfind(':') + 1) +
                                  "():\n" + asPython(settings)}}};
    if (kind == "torchtitan-toml")
        return {kind, {{id + ".toml", asToml(settings)}}};
    if (kind == "deepspeed-json")
        return {kind, {{id + ".json", settings.dump(1)}}};
    return {kind, {{id + ".yaml", asYaml(settings)}}};
}

inline sim::Json interopCase(const std::string& name)
{
    return sim::Json::parse(textOfFile(std::filesystem::path(RANKSCOPE_TEST_DATA "/interop") / (name + ".json")));
}

/// Their names.
inline std::vector<std::string> interopCases()
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_TEST_DATA "/interop"))
        names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace test
