// Whatever the bytes of answers or results of a lesson are, they are refused with ScenarioError, or they are sheets that can be
// marked or say why not; a table of what was marked is read back as the same answers.
#include "parts.h"

#include "sim/lesson/results.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

/// Of pipelines alone: nothing takes the engine long.
constexpr const char* kLesson = R"({"format":"rankscope-lesson","version":1,"id":"small","title":"Small",
"cases":{"four":{"schedule":{"kind":"1f1b","stages":4,"microbatches":8}},"drawn":{"schedule":{"kind":"1f1b","stages":"=p","microbatches":4}}},
"steps":[
  {"predict":{"id":"peak","ask":"?","input":"number","answer":"four.peak_activations[0]"}},
  {"predict":{"id":"which","ask":"?","input":"choice","many":true,"options":[{"text":"a","if":"four.makespan > 1"},{"text":"b","if":"four.makespan < 1"}]}},
  {"predict":{"id":"cards","ask":"?","input":"order","cards":[{"text":"a","by":"1"},{"text":"b","by":"2"}]}},
  {"predict":{"id":"bars","ask":"?","input":"bars","range":[0,10],"bars":[{"text":"0","answer":"four.peak_activations[0]"},{"text":"3","answer":"four.peak_activations[3]"}]}},
  {"challenge":{"id":"least","ask":"?","from":"four","goal":["max(mine.peak_activations) <= 2"],"changes":1,"solved_by":[{"/stages":2}]}}],
"remember":[{"id":"later","vary":{"p":[2,4]},"ask":"{p}?","input":"number","answer":"drawn.peak_activations[0]"}]})";

sim::LessonValue marksOf(const sim::LessonValue& results)
{
    sim::LessonValue all = sim::LessonValue::array();
    for (const sim::LessonValue& learner : results.at("learners"))
        all.push_back({learner.at("learner"), learner.at("marks")});
    return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const sim::Paper paper(sim::parseLesson(kLesson, "small.json", fuzz::catalogue()), 1, fuzz::catalogue());
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        for (const sim::AnswerSheet& sheet : sim::answersIn(text, "fuzz"))
            try {
                const sim::LessonValue results = sim::resultsOf(paper, {sheet}, "1");
                const auto again = sim::resultsOf(paper, sim::answersIn(sim::resultsCsv({results}), "again"), "1");
                if (marksOf(again) != marksOf(results))
                    std::abort();
            } catch (const sim::ScenarioError& error) {
                fuzz::mustBeForeseen(error.problems());
            }
    } catch (const sim::ScenarioError& error) {
        fuzz::mustBeForeseen(error.problems());
    }
    return 0;
}
