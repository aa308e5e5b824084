#include "sim/lesson/room.h"

#include "sim/scenario/json_text.h"
#include "sim/text/quoted.h"
#include "sim/text/typed_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace sim {
namespace {

constexpr std::size_t kMostBars = 10;

std::string_view trimmedVote(std::string_view text)
{
    constexpr std::string_view kBlank = " \t\r\n";
    const auto first = text.find_first_not_of(kBlank);
    return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<double> voteNumber(std::string_view word)
{
    word = trimmedVote(word);
    double value = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    return failure == std::errc() && end == word.data() + word.size() && std::isfinite(value) ? std::optional(value)
                                                                                              : std::nullopt;
}

bool isLettered(QuestionInput input)
{
    return input == QuestionInput::choice || input == QuestionInput::order;
}

std::optional<std::size_t> placeOfLetter(char letter, std::size_t count)
{
    const char upper = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    const auto place = static_cast<std::size_t>(upper - 'A');
    return upper >= 'A' && place < count ? std::optional(place) : std::nullopt;
}

/// "A", or of several "A, C".
LessonValue letteredAnswer(const Question& question, std::string_view words)
{
    const std::size_t count = question.input == QuestionInput::choice ? question.options.size() : question.parts.size();
    LessonValue places = LessonValue::array();
    for (const char c : words) {
        if (c == ' ' || c == ',' || c == '\t')
            continue;
        const auto place = placeOfLetter(c, count);
        if (!place)
            throw Error(quotedText(std::string(1, c)) + " is none of the letters A to " + letterOf(count - 1));
        places.push_back(*place);
    }
    if (question.input == QuestionInput::order || question.many)
        return places;
    if (places.size() != 1)
        throw Error("one letter is expected, A to " + letterOf(count - 1));
    return places.front();
}

LessonValue numericAnswer(const Question& question, std::string_view words)
{
    const bool isOne = question.input == QuestionInput::slider || question.input == QuestionInput::number;
    const double scale = question.asksPercent() ? 100 : 1;
    LessonValue numbers = LessonValue::array();
    while (!words.empty()) {
        const auto comma = isOne ? std::string_view::npos : words.find(',');
        const std::string_view word = trimmedVote(words.substr(0, comma));
        const TypedNumber one = !isOne                   ? TypedNumber{voteNumber(word), {}}
                                : question.asksPercent() ? readTypedPercent(word)
                                                         : readTypedNumber(word);
        if (!one.value)
            throw Error(isOne ? one.problem : quotedText(std::string(word)) + " is no number; numbers are separated by commas");
        const double value = *one.value / scale;
        if (value == std::floor(value) && std::abs(value) < 1e15)
            numbers.push_back(static_cast<std::int64_t>(value)); // ranks and places are whole
        else
            numbers.push_back(value);
        words = comma == std::string_view::npos ? std::string_view() : words.substr(comma + 1);
    }
    if (isOne)
        return numbers.empty() ? LessonValue() : numbers.front();
    return numbers;
}

} // namespace

std::string letterOf(std::size_t place)
{
    constexpr std::size_t kLetters = 26;
    return place < kLetters ? std::string(1, static_cast<char>('A' + place)) : std::to_string(place + 1);
}

void RoomVotes::add(int vote, const LessonValue& answer, int times)
{
    if (const std::string why = m_asked->whyNoAnswer(answer); !why.empty())
        throw Error(shownValue(answer) + ": " + why);
    if (times < 0 || times > kMostAnswers - answers(vote))
        throw Error(std::to_string(times) + " answers: 0 to " + std::to_string(kMostAnswers - answers(vote)) + " can be added");
    if (times > 0)
        m_ballots[vote].push_back({answer, times});
}

int RoomVotes::answers(int vote) const
{
    int count = 0;
    for (const Ballot& ballot : m_ballots[vote])
        count += ballot.times;
    return count;
}

double RoomVotes::rightShare(int vote) const
{
    int right = 0;
    for (const Ballot& ballot : m_ballots[vote])
        right += m_asked->isRight(ballot.answer) ? ballot.times : 0;
    const int all = answers(vote);
    return all == 0 ? 0 : static_cast<double>(right) / all;
}

std::vector<RoomBar> RoomVotes::bars() const
{
    const QuestionInput input = m_asked->question().input;
    return input == QuestionInput::slider || input == QuestionInput::number ? barsOfNumbers() : barsOfAnswers();
}

std::vector<RoomBar> RoomVotes::barsOfNumbers() const
{
    const double engines = m_asked->rightAnswer().get<double>();
    std::map<double, std::vector<int>> byNumber;
    const auto countsOf = [&byNumber](double number) -> std::vector<int>& {
        constexpr double kSame = 1e-12; // read otherwise: times a hundred
        const auto at = byNumber.lower_bound(number - kSame * std::abs(number));
        return at != byNumber.end() && at->first <= number + kSame * std::abs(number) ? at->second : byNumber[number];
    };
    for (int vote = 0; vote < kVotes; ++vote)
        for (const Ballot& ballot : m_ballots[vote]) {
            auto& counts = countsOf(m_asked->meant(ballot.answer).get<double>()); // 0.375 and 37.5 are one answer
            counts.resize(kVotes);
            counts[static_cast<std::size_t>(vote)] += ballot.times;
        }
    std::vector<RoomBar> bars;
    if (byNumber.size() <= kMostBars) {
        for (auto& [number, counts] : byNumber)
            bars.push_back({.answer = LessonValue(number),
                            .from = number,
                            .to = number,
                            .isRight = m_asked->isRight(LessonValue(number)),
                            .counts = std::move(counts)});
        return bars;
    }
    double from = std::min(byNumber.begin()->first, engines), to = std::max(byNumber.rbegin()->first, engines);
    if (!m_asked->question().range.empty()) {
        const auto range = m_asked->range();
        from = std::min(from, range.first);
        to = std::max(to, range.second);
    }
    const double width = (to - from) / kMostBars;
    const auto placeOf = [&](double number) {
        return std::min(static_cast<std::size_t>(std::max(0.0, (number - from) / width)), kMostBars - 1);
    };
    for (std::size_t i = 0; i < kMostBars; ++i)
        bars.push_back({.answer = {},
                        .from = from + width * static_cast<double>(i),
                        .to = from + width * static_cast<double>(i + 1),
                        .counts = std::vector<int>(kVotes)});
    for (const auto& [number, counts] : byNumber)
        for (std::size_t vote = 0; vote < kVotes; ++vote)
            bars[placeOf(number)].counts[vote] += counts[vote];
    bars[placeOf(engines)].isRight = true;
    return bars;
}

std::vector<RoomBar> RoomVotes::barsOfAnswers() const
{
    const Question& question = m_asked->question();
    std::vector<RoomBar> bars;
    const auto barOf = [&](const LessonValue& answer) -> RoomBar& {
        for (RoomBar& bar : bars)
            if (*bar.answer == answer)
                return bar;
        bars.push_back({.answer = answer, .isRight = m_asked->isRight(answer), .counts = std::vector<int>(kVotes)});
        return bars.back();
    };
    const bool hasOptions = question.input == QuestionInput::choice && !question.many;
    for (std::size_t i = 0; hasOptions && i < question.options.size(); ++i)
        barOf(LessonValue(i)); // also those that nobody chose
    for (std::size_t vote = 0; vote < kVotes; ++vote)
        for (const Ballot& ballot : m_ballots[vote]) {
            LessonValue answer = ballot.answer;
            if (question.input == QuestionInput::ranks || question.many) // in whatever order they were named
                std::sort(answer.begin(), answer.end());
            barOf(answer).counts[vote] += ballot.times;
        }
    if (hasOptions || bars.size() <= kMostBars)
        return bars;
    const auto all = [](const RoomBar& bar) { return bar.counts[0] + bar.counts[1]; };
    std::stable_sort(bars.begin(), bars.end(), [&](const RoomBar& a, const RoomBar& b) { return all(a) > all(b); });
    RoomBar rest{.answer = {}, .isRest = true, .counts = std::vector<int>(kVotes)};
    for (std::size_t i = kMostBars - 1; i < bars.size(); ++i)
        for (std::size_t vote = 0; vote < kVotes; ++vote)
            rest.counts[vote] += bars[i].counts[vote];
    bars.resize(kMostBars - 1);
    bars.push_back(std::move(rest));
    return bars;
}

std::vector<std::pair<LessonValue, int>> typedVotes(const AskedQuestion& asked, std::string_view text)
{
    const Question& question = asked.question();
    std::vector<std::pair<LessonValue, int>> votes;
    int line = 0;
    while (!text.empty()) {
        const auto end = text.find_first_of(";\n");
        std::string_view given = trimmedVote(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        ++line;
        if (given.empty())
            continue;
        try {
            if (question.input == QuestionInput::actions)
                throw Error("actions in order cannot be typed here; import answer files");
            int times = 1;
            constexpr std::string_view kTimes = "\xC3\x97"; // ×
            std::size_t mark = given.find(kTimes), width = kTimes.size();
            for (std::size_t i = 1; mark == std::string_view::npos && i < given.size(); ++i)
                if ((given[i] == 'x' || given[i] == 'X' || given[i] == '*') &&
                    (given[i - 1] == ' ' || !isLettered(question.input))) {
                    mark = i;
                    width = 1;
                }
            if (mark != std::string_view::npos) {
                const auto count = voteNumber(given.substr(mark + width));
                if (!count || *count < 0 || *count > RoomVotes::kMostAnswers || *count != std::floor(*count))
                    throw Error(quotedText(std::string(trimmedVote(given.substr(mark + width)))) +
                                " is no number of people; as in \"x 4\"");
                times = static_cast<int>(*count);
                given = trimmedVote(given.substr(0, mark));
            }
            const LessonValue answer =
                isLettered(question.input) ? letteredAnswer(question, given) : numericAnswer(question, given);
            if (const std::string why = asked.whyNoAnswer(answer); !why.empty())
                throw Error(why);
            votes.emplace_back(answer, times);
        } catch (const Error& error) {
            throw Error("answer " + std::to_string(line) + ", " + quotedText(std::string(given)) + ": " + error.what());
        }
    }
    return votes;
}

} // namespace sim
