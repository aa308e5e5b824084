// A lesson before a class: a step at a time, a question and then its answer, a challenge and then a solution. What the room
// answers is kept as long as the talk.
#pragma once

#include "app/lessons/lesson_panel.h"
#include "app/shell/presentation/talk.h"
#include "sim/lesson/room.h"

#include <functional>
#include <map>
#include <memory>

namespace app {

class LessonTalk final : public Talk {
public:
    enum class Part { say, ask, answer, challenge, solution };

    /// `show` puts a scene into the window, `expect`, if there is one, tells it which probably comes next. The window must
    /// outlive the talk.
    LessonTalk(std::shared_ptr<const sim::LessonPlay>, std::uint64_t seed, std::function<void(const LessonScene&)> show,
               std::function<void(const LessonScene&)> expect = {});

    int size() const override { return static_cast<int>(m_slides.size()); }
    Slide goTo(int index) override;
    QString upNext(int index) const override;
    bool askRoom(int index, QWidget* parent, int textPixels, std::function<void()> changed) override;

    Part part(int index) const { return m_slides[static_cast<std::size_t>(index)].part; }
    std::size_t step(int index) const { return m_slides[static_cast<std::size_t>(index)].step; }
    int firstOf(std::size_t step) const;     ///< its slide
    sim::RoomVotes* votes(std::size_t step); ///< nullptr: nothing is asked there

private:
    struct Place {
        std::size_t step = 0;
        Part part = Part::say;
    };
    LessonScene sceneAt(const Place&) const;
    void show(const Place&);
    QString notesOf(const Place&) const;
    std::shared_ptr<const sim::LessonPlay> m_play;
    std::uint64_t m_seed;
    std::function<void(const LessonScene&)> m_show, m_expect;
    std::vector<Place> m_slides;
    std::map<std::size_t, sim::RoomVotes> m_votes;            ///< by step
    std::map<std::size_t, sim::ScenarioDocument> m_solutions; ///< by step
    const void* m_shown = nullptr;                            ///< document on screen
    const void* m_compared = nullptr;                         ///< that it is compared with
    std::string m_shownView;
    QString m_tensor;
    bool m_asksForSlice = false, m_asksForRanks = false;
};

} // namespace app
