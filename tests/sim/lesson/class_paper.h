// The paper that a class answers. Wants RANKSCOPE_SOURCE_DIR.
#pragma once

#include "sim/lesson/paper.h"
#include "tests/support/catalogue.h"

#include <string>

namespace test {

inline sim::Paper classPaper()
{
    return {sim::readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", catalogue()), 1, catalogue()};
}

inline const sim::AskedQuestion& askedOf(const sim::Paper& paper, const std::string& id)
{
    for (const sim::PaperQuestion& question : paper.questions())
        if (question.id == id)
            return *question.asked;
    throw sim::Error("no question " + id);
}

} // namespace test
