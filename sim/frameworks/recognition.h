// How a file of settings is recognised: by its ending and by words in it. Private to sim/frameworks.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace sim::frameworks {

/// Behind blanks and comments as JSON's have them.
char firstCharacter(const std::string& text);
bool contains(const std::string& text, std::initializer_list<std::string_view> words);
/// "--flag: value" a line: a mapping of arguments as YAML, with perhaps a script as the value of one.
bool isMappingOfFlags(const std::string& text);
/// GPT-NeoX's table, in braces or not.
bool isNeoxText(const std::string& text);
/// With comments and commas that JSON does not have, as GPT-NeoX's files are.
bool isYamlInBraces(const std::string& name, const std::string& text);
/// torchtitan's configurations since 2026: functions of a file config_registry.py.
bool isTitanRegistry(const std::string& text);
/// Primus' experiments, over whatever framework.
bool isPrimusText(const std::string& text);
/// YAML or JSON of Transformers' arguments.
bool isTrainersFile(const std::string& text);
/// ms-swift's settings as a file, which `swift sft FILE` reads.
bool isSwiftFile(const std::string& text);
/// The kind of settings that a file looks most like; empty if none.
std::string kindOfText(const std::string& name, const std::string& text);

} // namespace sim::frameworks
