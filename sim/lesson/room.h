// What a room answers to a question, vote after vote: everybody commits, counts are typed or answer files imported, the room
// talks and is asked again (Mazur 1997, Peer Instruction). Counted so that it can be drawn beside the engine's answer.
#pragma once

#include "sim/lesson/question.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// One bar of the histogram.
struct RoomBar {
    std::optional<LessonValue> answer; ///< all who gave just this; none: the numbers from `from` up to `to`, or all the rest
    double from = 0, to = 0;
    bool isRest = false;     ///< what came up too seldom to have a bar of its own
    bool isRight = false;    ///< the engine's answer lies in it, or all in it are right
    std::vector<int> counts; ///< by vote
};

class RoomVotes {
public:
    static constexpr int kVotes = 2;               ///< before and after the room has talked
    static constexpr int kMostAnswers = 1'000'000; ///< in a vote: a number typed by mistake is told

    /// The question must live as long.
    explicit RoomVotes(const AskedQuestion& asked) : m_asked(&asked) {}

    /// `times` people answered so, the first vote being 0. Throws Error for what is no answer to the question, a negative number,
    /// or more than kMostAnswers.
    void add(int vote, const LessonValue& answer, int times = 1);
    void keep(int vote, const RoomVotes& before) { m_ballots[vote] = before.m_ballots[vote]; }
    int answers(int vote) const;
    double rightShare(int vote) const; ///< 0 where nobody answered
    bool hasVoted(int vote) const { return answers(vote) > 0; }

    /// Of choices one each, in their order; of numbers at most ten of equal width over the question's range (or over what was
    /// answered), where more than ten differ, each as it is meant; of everything else the most frequent answers and the rest.
    std::vector<RoomBar> bars() const;

private:
    struct Ballot {
        LessonValue answer;
        int times = 0;
    };
    std::vector<RoomBar> barsOfNumbers() const;
    std::vector<RoomBar> barsOfAnswers() const;
    const AskedQuestion* m_asked;
    std::vector<Ballot> m_ballots[kVotes];
};

/// Typed by the teacher, one answer a line or separated by ";", "x 4" behind it for four people: "17.5 x 4; 20" or "17,5".
/// Numbers of % are typed as percent; options and cards by their letters, A the first: "B x 12", "BAC"; lists with commas: "0,
/// 4". Throws Error that names the line and what would be right.
std::vector<std::pair<LessonValue, int>> typedVotes(const AskedQuestion&, std::string_view text);

/// "A", "B" … of options and cards.
std::string letterOf(std::size_t place);

} // namespace sim
