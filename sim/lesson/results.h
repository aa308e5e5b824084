// Results of a lesson or an exam that can be taken away and marked again: JSON with the answers themselves, CSV for a table. Both
// say with which scenarios and which version they were marked, so that a mark which has changed since can be told.
#pragma once

#include "sim/lesson/paper.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Of all scenarios and pipelines that a paper's questions are about, as they are now (the gallery's file, not only its name); of
/// an exam those of every lesson that it may draw from: 16 hexadecimal digits, FNV-1a of 64 bits. Not made to withstand forgery.
std::string scenarioHash(const Paper&);

/// What one learner answered, and the file that says so: named where something is wrong with it.
struct AnswerSheet {
    LessonValue answers;
    std::string fileName;
    std::string pointer = {};                    ///< where in the file it stands; empty: all of it is this sheet
    std::string scenarioHash = {}, program = {}; ///< with which it was marked before; empty: never
};

/// {"format":"rankscope-results","version":1,"lesson","title","seed","program","scenario_hash","learners":[{"learner","right","of",
/// "answers":{id: {"value","sure","seconds","solution_shown"}},"marks":[… as Paper::mark has them]}]}. `answers` are answer
/// files, all to this paper; `program` is the version. Throws ScenarioError as Paper::mark.
LessonValue resultsOf(const Paper&, const std::vector<AnswerSheet>& answers, std::string_view program);

/// One row a learner and question:
/// learner,sheet,lesson,seed,question,answer,engine,right,solution_shown,sure,seconds,scenario_hash,version. Answers are JSON;
/// what was not answered or not said is empty.
std::string resultsCsv(const std::vector<LessonValue>& results);

/// The answer files in an answer file, in results as JSON, or in a table with columns of resultsCsv's names (lesson, question and
/// answer at least), in whatever order and as a spreadsheet saves them again; in their order, without marks. Never empty.
/// Throws ScenarioError that says where it is none of them.
std::vector<AnswerSheet> answersIn(std::string_view text, const std::string& fileName);

/// What is no longer as it was when that was marked: "marked by version 0.3, now by 0.4; marked with scenarios 0123…, now with
/// 4567…"; empty for answers that were never marked, and where nothing has changed.
std::string changedSince(const AnswerSheet&, const std::string& hashNow, std::string_view programNow);

} // namespace sim
