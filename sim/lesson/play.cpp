#include "sim/lesson/play.h"

#include "sim/lesson/live_text.h"

#include <utility>

namespace sim {
namespace {

/// What a step puts on screen; empty for what was there before.
const std::string& showsOf(const LessonStep& step)
{
    if (step.challenge)
        return step.challenge->from;
    if (step.reveal && !step.reveal->show.empty())
        return step.reveal->show;
    if (step.predict && !step.predict->on.empty() && step.show.empty())
        return step.predict->on;
    return step.show;
}
const std::string& comparesOf(const LessonStep& step)
{
    return step.reveal && !step.reveal->compare.empty() ? step.reveal->compare : step.compare;
}

} // namespace

LessonPlay::LessonPlay(Lesson given, std::uint64_t seed, const Catalogue& catalogue)
    : m_lesson(std::move(given)), m_cases(m_lesson, catalogue)
{
    SeededDraw draw(seed);
    for (const LessonStep& step : m_lesson.steps) {
        Step out;
        try {
            out.text = filledIn(step.say, m_cases.all());
            const auto append = [&](const std::string& more) { out.text += (out.text.empty() ? "" : "\n\n") + more; };
            for (const LessonPoint& point : step.points)
                out.points.push_back(filledIn(point.text, m_cases.all()));
            if (step.reveal)
                append(filledIn(step.reveal->say, m_cases.all()));
            if (step.challenge) {
                append(filledIn(step.challenge->ask, m_cases.all()));
                out.because = filledIn(step.challenge->because, m_cases.all());
                for (const std::string& hint : step.challenge->hints)
                    out.hints.push_back(filledIn(hint, m_cases.all()));
            }
            if (const auto& question = step.predict) {
                out.asked = std::make_unique<AskedQuestion>(*question, m_cases,
                                                            combination(*question, draw.below(combinationsOf(*question))));
                append(out.asked->text());
                out.because = out.asked->filled(question->because);
                static_cast<void>(out.asked->rightAnswer());
                for (const Mistake& mistake : question->mistakes) { // what is asked of the engine later is there already
                    static_cast<void>(out.asked->valueOf(mistake.near));
                    static_cast<void>(out.asked->filled(mistake.say));
                }
            }
        } catch (const Error& error) {
            throw ScenarioError({{m_lesson.fileName, step.pointer, error.what()}});
        }
        m_steps.push_back(std::move(out));
    }
}

const ScenarioDocument* LessonPlay::scenarioOf(const std::string& name) const
{
    const CaseSubject* subject = name.empty() ? nullptr : cases().subject(name);
    return subject != nullptr ? std::get_if<ScenarioDocument>(subject) : nullptr;
}

std::string LessonPlay::shownName(std::size_t at) const
{
    for (std::size_t i = at + 1; i-- > 0;)
        if (const std::string& name = showsOf(step(i)); scenarioOf(name) != nullptr)
            return name;
    return {};
}

const ScenarioDocument* LessonPlay::shown(std::size_t at) const
{
    return scenarioOf(shownName(at));
}

const ScenarioDocument* LessonPlay::compared(std::size_t at) const
{
    return scenarioOf(comparesOf(step(at)));
}

} // namespace sim
