// A small lesson to plant mistakes in, and the project's own. Wants RANKSCOPE_SOURCE_DIR.
#pragma once

#include "sim/lesson/check.h"
#include "tests/support/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// Every file of assets/lessons/, by name.
inline std::vector<std::filesystem::path> lessonFiles()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/assets/lessons"))
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// Every input, on a pipeline and a tiny scenario; right as it stands.
inline constexpr const char* kLesson = R"({
"format":"rankscope-lesson","version":1,"id":"small","title":"Small","minutes":2,
"cases":{
  "tiny":{"scenario":"57-tiny-dp4"},
  "cut":{"from":"tiny","set":{"/layout/dp":2,"/layout/pp":2}},
  "four":{"schedule":{"kind":"1f1b","stages":4,"microbatches":8}},
  "tent":{"from":"four","set":{"/kind":"gpipe"}},
  "mine_to_be":{"schedule":{"kind":"custom","actions":["0F0 0F1 0B0 0B1","1F0 1F1 1B0 1B1"]}},
  "drawn":{"schedule":{"kind":"1f1b","stages":"=p","microbatches":"=2*p"}}},
"holds":["tiny.world_size == 4","four.peak_activations == [4, 3, 2, 1]"],
"steps":[
  {"say":"{tiny.world_size} ranks.","show":"tiny","notes":"wait"},
  {"predict":{"id":"peak","ask":"How many of {tent.peak_activations[0]}?","input":"slider","range":[0,16],"answer":"four.peak_activations[0]",
    "tolerance":{"absolute":0.5},"sure":true,"mistakes":[{"near":"tent.peak_activations[0]","say":"GPipe's {tent.peak_activations[0]}."}]}},
  {"predict":{"id":"idle","ask":"Idle?","input":"number","unit":"%","answer":"four.bubble.of_makespan"}},
  {"predict":{"id":"same","ask":"Same?","input":"choice","options":[
    {"text":"yes","if":"four.makespan == tent.makespan"},{"text":"no","if":"four.makespan != tent.makespan","say":"Both take {four.makespan}."}]}},
  {"predict":{"id":"some","ask":"Which hold all?","input":"choice","many":true,"options":[
    {"text":"GPipe","if":"tent.peak_activations[0] == 8"},{"text":"1F1B","if":"four.peak_activations[0] == 8"}]}},
  {"predict":{"id":"peers","ask":"Rank 0's replicas?","input":"ranks","on":"tiny","answer":"tiny.groups(0).dp",
    "mistakes":[{"near":"cut.groups(0).dp","say":"That is dp 2."}]}},
  {"predict":{"id":"cards","ask":"By what they hold","input":"order","cards":[
    {"text":"stage 0","by":"four.peak_activations[0]"},{"text":"stage 2","by":"four.peak_activations[2]"},{"text":"stage 1","by":"four.peak_activations[1]"}]}},
  {"predict":{"id":"bars","ask":"Drag","input":"bars","range":[0,10],"bars":[
    {"text":"0","answer":"four.peak_activations[0]"},{"text":"3","answer":"four.peak_activations[3]"}]}},
  {"predict":{"id":"curve","ask":"Sketch","input":"sketch","range":[0,10],"over":"[0, 1, 2, 3]","answer":"four.peak_activations","tolerance":{"relative":0.1}}},
  {"predict":{"id":"drag","ask":"Backwards sooner","input":"actions","on":"mine_to_be","goal":["mine.peak_activations[1] <= 1"],
    "solved_by":[["0F0 0F1 0B0 0B1","1F0 1B0 1F1 1B1"]]}},
  {"reveal":{"show":"cut","compare":"tiny","say":"{cut.world_size}"}},
  {"challenge":{"id":"least","ask":"At most 2 held","from":"four","goal":["max(mine.peak_activations) <= 2"],"changes":1,"hints":["fewer"],
    "solved_by":[{"/stages":2}]}},
  {"challenge":{"id":"two","ask":"Two stages","from":"tiny","goal":["mine.describe.layout.pp == 2"],"changes":1,"allow":["/layout/pp"],
    "solved_by":[{"/layout/dp":2,"/layout/pp":2}]}}],
"remember":[{"id":"later","vary":{"p":[2,4]},"ask":"{p} stages: how many?","input":"number","answer":"drawn.peak_activations[0]",
    "mistakes":[{"near":"2 * p","say":"GPipe's"}]}]})";

/// The lesson with texts replaced, each of which must be there.
inline std::string lessonWith(const std::vector<std::pair<std::string, std::string>>& replaced)
{
    std::string text = kLesson;
    for (const auto& [from, to] : replaced)
        text.replace(text.find(from), from.size(), to); // throws where there is none
    return text;
}

inline sim::Lesson lesson(const std::string& json = kLesson)
{
    return sim::parseLesson(json, RANKSCOPE_SOURCE_DIR "/assets/lessons/small.json", catalogue());
}

/// "pointer: message" a line, of what is wrong with a lesson, read or checked.
inline std::string problemsOf(const std::string& json)
{
    std::vector<sim::Problem> problems;
    try {
        problems = sim::checkLesson(lesson(json), catalogue());
    } catch (const sim::ScenarioError& error) {
        problems = error.problems();
    }
    std::string text;
    for (const sim::Problem& problem : problems)
        text += problem.pointer + ": " + problem.message + "\n";
    return text;
}

} // namespace test
