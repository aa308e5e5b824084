// Whatever the bytes of a lesson are, it is refused with ScenarioError, or it is a lesson whose cases can be named and whose
// questions can be asked or say why not; nothing is simulated.
#include "parts.h"

#include "sim/lesson/live_text.h"
#include "sim/lesson/question.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

/// Live text of nothing but itself: numbers are worked out where they ask for no case.
class Nothing final : public sim::Names {
public:
    Meaning find(std::string_view) const override { return {}; }
    std::vector<std::string> known() const override { return {"step_time_s"}; }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const sim::Lesson lesson = sim::parseLesson(text, "fuzz.json", fuzz::catalogue());
        for (const sim::LessonStep& step : lesson.steps)
            try {
                static_cast<void>(sim::filledIn(step.say, Nothing()));
            } catch (const sim::Error&) { // says which number it is
            }
        const sim::LessonCases cases(lesson, fuzz::catalogue());
        for (const sim::Question* question : lesson.questions())
            static_cast<void>(sim::combination(*question, sim::combinationsOf(*question) - 1));
    } catch (const sim::ScenarioError& error) {
        fuzz::mustBeForeseen(error.problems());
    }
    return 0;
}
