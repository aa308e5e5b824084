#include "app/lessons/lesson_talk.h"

#include "app/lessons/answer_input.h"
#include "app/lessons/lesson_text.h"
#include "app/lessons/room_dialog.h"
#include "app/lessons/room_histogram.h"
#include "app/shell/widgets/style.h"
#include "sim/lesson/live_text.h"
#include "sim/scenario/json_text.h"

#include <QLabel>
#include <QTextDocument>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {
namespace {

QString talkText(const std::string& text)
{
    return QString::fromStdString(text);
}

QString withoutMarks(const QString& markdown)
{
    QTextDocument document;
    document.setMarkdown(markdown, QTextDocument::MarkdownNoHTML);
    return document.toPlainText().simplified();
}

/// Paragraphs above each other, and at last what the room answered.
class LessonSlidePanel final : public SlidePanel {
public:
    explicit LessonSlidePanel(QWidget* parent) : SlidePanel(parent), m_column(new QVBoxLayout(this))
    {
        m_column->setContentsMargins(28, 8, 20, 8);
        m_column->setSpacing(14);
        m_column->addStretch();
    }
    void addText(const QString& markdown, bool isAnswer = false)
    {
        for (const QString& paragraph : paragraphsOf(markdown)) {
            auto* label = new QLabel;
            setLessonText(label, paragraph);
            label->setWordWrap(true);
            label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
            label->setAccessibleName(withoutMarks(paragraph));
            if (isAnswer)
                label->setProperty("answer", true);
            m_column->insertWidget(m_column->count() - 1, label);
            m_labels.push_back(label);
        }
    }
    void addHistogram(const sim::AskedQuestion& asked, const sim::RoomVotes& votes, bool revealed)
    {
        m_histogram = new RoomHistogram(asked, votes, revealed, this);
        m_column->insertWidget(m_column->count() - 1, m_histogram);
    }
    void addChart(const std::vector<sim::LessonPlay::Bar>& bars)
    {
        m_chart = lessonChart(bars, this);
        m_column->insertWidget(m_column->count() - 1, m_chart);
    }
    void setTextPixels(int pixels) override
    {
        if (m_chart != nullptr) {
            m_chart->setStyleSheet(QStringLiteral("font-size: %1px;").arg(pixels));
            m_chart->ensurePolished();
        }
        for (QLabel* label : m_labels) {
            label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(pixels));
            label->ensurePolished();
        }
        if (m_histogram != nullptr)
            m_histogram->setTextPixels(std::max(24, pixels * 6 / 7));
        m_column->invalidate();
    }
    int neededHeight(int width) const override
    {
        const QMargins margins = m_column->contentsMargins();
        const int across = width - margins.left() - margins.right();
        int height = margins.top() + margins.bottom();
        for (const QLabel* label : m_labels)
            height += label->heightForWidth(across) + m_column->spacing();
        if (m_chart != nullptr)
            height += m_chart->sizeHint().height() + m_column->spacing();
        return height + (m_histogram != nullptr ? m_histogram->sizeHint().height() : 0);
    }

private:
    QVBoxLayout* m_column;
    std::vector<QLabel*> m_labels;
    RoomHistogram* m_histogram = nullptr;
    QWidget* m_chart = nullptr;
};

/// What can be chosen, said before a room that raises hands: options and cards with letters, else the range.
QString toChoose(const sim::AskedQuestion& asked)
{
    const sim::Question& question = asked.question();
    QStringList lines;
    std::size_t place = 0;
    const auto add = [&](const std::string& text) {
        lines << QStringLiteral("**%1**  %2").arg(talkText(sim::letterOf(place++)), talkText(asked.filled(text)));
    };
    for (const sim::QuestionOption& option : question.options)
        add(option.text);
    for (const sim::QuestionPart& part : question.parts)
        if (question.input == sim::QuestionInput::order)
            add(part.text);
        else // a number each: no letter to raise a hand for
            lines << QStringLiteral("%1: …").arg(talkText(asked.filled(part.text))) +
                         (question.unit.empty() ? QString() : QLatin1Char(' ') + talkText(question.unit));
    if (question.input == sim::QuestionInput::actions) // the order to begin with
        for (const sim::LessonValue& row : asked.valueOf(question.on + ".ranks"))
            lines << talkText(row.get<std::string>());
    if (question.input == sim::QuestionInput::slider) {
        const auto [from, to] = rangeTexts(asked);
        lines << LessonPanel::tr("Between %1 and %2.").arg(from, to);
    }
    return lines.join(QStringLiteral("\n\n"));
}

/// An answer of several numbers as bars; of any other nothing.
std::vector<sim::LessonPlay::Bar> answerBarsOf(const sim::AskedQuestion& asked, const sim::LessonValue& right)
{
    const sim::Question& question = asked.question();
    const bool isSketch = question.input == sim::QuestionInput::sketch;
    std::vector<sim::LessonPlay::Bar> bars;
    if (!isSketch && question.input != sim::QuestionInput::bars)
        return bars;
    const sim::LessonValue places = isSketch ? asked.valueOf(question.over) : sim::LessonValue::array();
    for (std::size_t i = 0; i < right.size(); ++i)
        bars.push_back({.text = isSketch ? sim::writtenValue(places[i], "") : asked.filled(question.parts[i].text),
                        .number = answerText(asked, right[i]).toStdString(),
                        .value = right[i].get<double>()});
    return bars;
}

std::vector<Picture> picturesOfView(const sim::LessonValue& view)
{
    std::vector<Picture> out;
    if (const sim::LessonValue* names = view.is_object() ? sim::memberOf(view, "pictures") : nullptr)
        for (const std::string& name : sim::valueAs<std::vector<std::string>>(*names).value_or(std::vector<std::string>()))
            if (const PictureInfo* info = findPicture(name); info != nullptr && out.size() < 2)
                out.push_back(info->picture);
    return out.empty() ? std::vector{Picture::grid, Picture::timeline} : out;
}

} // namespace

LessonTalk::LessonTalk(std::shared_ptr<const sim::LessonPlay> play, std::uint64_t seed,
                       std::function<void(const LessonScene&)> show, std::function<void(const LessonScene&)> expect)
    : m_play(std::move(play)), m_seed(seed), m_show(std::move(show)), m_expect(std::move(expect))
{
    for (std::size_t at = 0; at < m_play->steps(); ++at) {
        const sim::LessonStep& step = m_play->step(at);
        if (const sim::AskedQuestion* asked = m_play->asked(at)) {
            m_slides.push_back({at, Part::ask});
            m_slides.push_back({at, Part::answer});
            m_votes.emplace(at, sim::RoomVotes(*asked));
        } else if (step.challenge) {
            m_slides.push_back({at, Part::challenge});
            sim::CaseSubject solved = sim::startOf(*step.challenge, m_play->cases());
            sim::setKeys(solved, step.challenge->solvedBy.front());
            if (const auto* document = std::get_if<sim::ScenarioDocument>(&solved)) {
                m_solutions.emplace(at, *document);
                m_slides.push_back({at, Part::solution});
            }
        } else {
            m_slides.push_back({at, Part::say});
        }
    }
}

int LessonTalk::firstOf(std::size_t step) const
{
    const auto found = std::find_if(m_slides.begin(), m_slides.end(), [&](const Place& each) { return each.step >= step; });
    return static_cast<int>(std::min<std::ptrdiff_t>(found - m_slides.begin(), std::ssize(m_slides) - 1));
}

sim::RoomVotes* LessonTalk::votes(std::size_t step)
{
    const auto found = m_votes.find(step);
    return found == m_votes.end() ? nullptr : &found->second;
}

LessonScene LessonTalk::sceneAt(const Place& place) const
{
    if (place.part == Part::answer)
        if (LessonScene answered = answeredSceneOf(*m_play, place.step); answered.shown != nullptr)
            return answered;
    LessonScene scene = sceneOf(*m_play, place.step);
    scene.note.clear(); // slides have what they show themselves
    scene.asksForSlice = scene.asksForSlice && place.part == Part::ask;
    if (scene.asksForRanks && place.part == Part::answer)
        scene.ranks = sim::valueAs<std::vector<int>>(m_play->asked(place.step)->rightAnswer()).value_or(std::vector<int>());
    scene.asksForRanks = scene.asksForRanks && place.part == Part::ask;
    if (place.part == Part::solution) {
        scene.shown = &m_solutions.at(place.step);
        scene.shownName = changedName(m_solutions.at(place.step), m_play->step(place.step).challenge->solvedBy.front(),
                                      m_play->cases().catalogue());
    }
    return scene;
}

/// What is on screen already stays, with what was done to it.
void LessonTalk::show(const Place& place)
{
    LessonScene scene = sceneAt(place);
    const sim::ScenarioDocument* shown = scene.shown;
    const std::string view = scene.view.dump();
    scene.shown = shown != m_shown || view != m_shownView ? shown : nullptr;
    m_shown = shown;
    m_shownView = view;
    const void* const wasCompared = std::exchange(m_compared, scene.compared);
    if (scene.shown != nullptr || scene.compared != wasCompared || scene.asksForSlice != m_asksForSlice ||
        scene.asksForRanks != m_asksForRanks || scene.tensor != m_tensor || !scene.ranks.empty())
        m_show(scene);
    m_tensor = scene.tensor;
    m_asksForSlice = scene.asksForSlice;
    m_asksForRanks = scene.asksForRanks;
}

Slide LessonTalk::goTo(int index)
{
    const Place place = m_slides[static_cast<std::size_t>(index)];
    const std::size_t at = place.step;
    show(place);
    LessonScene next = index + 1 < size() ? sceneAt(m_slides[static_cast<std::size_t>(index) + 1]) : LessonScene{};
    if (next.shown == m_shown && next.view.dump() == m_shownView)
        next.shown = nullptr;
    if (m_expect)
        m_expect(next);
    Slide slide{.heading = talkText(m_play->lesson().title), .caption = {}, .pictures = {}, .notes = notesOf(place)};
    const bool seesNext = place.part == Part::answer && m_play->seenWhenAnswered(at).isNextStep;
    const std::size_t seen = seesNext ? at + 1 : at;
    if (m_play->shown(at) != nullptr)
        slide.pictures = picturesOfView(m_play->view(seen));
    for (const sim::LessonPoint& point : m_play->step(seen).points) // where there is room for one, it is this
        if (const PictureInfo* info = findPicture(point.picture))
            if (const auto found = std::find(slide.pictures.begin(), slide.pictures.end(), info->picture);
                found != slide.pictures.end())
                std::rotate(slide.pictures.begin(), found, found + 1);
    // What is asked of a picture is asked beside it alone: what the step before showed takes room from it. A pipeline on paper
    // has none.
    if (const sim::AskedQuestion* asked = m_play->asked(at); asked != nullptr && !slide.pictures.empty()) {
        const sim::QuestionInput input = asked->question().input;
        if (input == sim::QuestionInput::ranks)
            slide.pictures = {Picture::grid};
        else if (input == sim::QuestionInput::tensor)
            slide.pictures = {Picture::storage};
        else if (input == sim::QuestionInput::actions && m_play->step(at).view.is_null())
            slide.pictures.clear();
    }
    slide.hidesQuantities = (place.part == Part::ask && m_play->showsWhatIsAsked(at)) ||
                            (place.part != Part::answer && !m_play->answersAhead(at).empty());
    slide.beside = [this, place, at](QWidget* parent) -> SlidePanel* {
        auto* panel = new LessonSlidePanel(parent);
        const QString text = talkText(m_play->text(at));
        panel->addText(text);
        for (const std::string& point : m_play->points(at))
            panel->addText(QStringLiteral("→ ") + talkText(point));
        if (!m_play->chart(at).empty())
            panel->addChart(m_play->chart(at));
        if (const sim::AskedQuestion* asked = m_play->asked(at)) {
            const bool revealed = place.part == Part::answer;
            const sim::RoomVotes& room = m_votes.at(at);
            if (!revealed || room.hasVoted(0) || room.hasVoted(1))
                panel->addText(toChoose(*asked));
            if (room.hasVoted(0) || room.hasVoted(1))
                panel->addHistogram(*asked, room, revealed);
            if (revealed) {
                const sim::LessonValue right = asked->rightAnswer();
                const bool isOrder = asked->question().input == sim::QuestionInput::actions;
                const bool isCards = asked->question().input == sim::QuestionInput::order;
                const auto bars = answerBarsOf(*asked, right);
                panel->addText(!bars.empty() || isCards
                                   ? LessonPanel::tr("**The engine:**")
                                   : LessonPanel::tr("**The engine: %1**")
                                         .arg(isOrder ? orderText(asked->outcomeOf(right)) : answerText(*asked, right)),
                               true);
                if (!bars.empty())
                    panel->addChart(bars);
                for (std::size_t card = 0; isCards && card < right.size(); ++card)
                    panel->addText(
                        QStringLiteral("%1\\. %2").arg(card + 1).arg(answerText(*asked, sim::LessonValue::array({right[card]}))));
                for (std::size_t rank = 0; isOrder && rank < right.size(); ++rank) // a line each, to be read along
                    panel->addText(talkText(right[rank].get<std::string>()));
                panel->addText(talkText(m_play->because(at)));
            }
        }
        if (place.part == Part::challenge) {
            const int changes = m_play->step(at).challenge->changes;
            panel->addText(changes == 1 ? LessonPanel::tr("One change is possible.")
                                        : LessonPanel::tr("%1 changes are possible.").arg(changes));
        }
        if (place.part == Part::solution) {
            const QString changes = changesText(m_play->step(at).challenge->solvedBy.front(), m_play->cases().catalogue());
            panel->addText(LessonPanel::tr("**A solution:** %1").arg(changes), true);
            panel->addText(talkText(m_play->because(at)));
        }
        return panel;
    };
    return slide;
}

QString LessonTalk::notesOf(const Place& place) const
{
    const std::size_t at = place.step;
    QStringList all;
    if (const std::string& notes = m_play->step(at).notes; !notes.empty())
        all << talkText(notes);
    if (const sim::AskedQuestion* asked = m_play->asked(at)) {
        all << LessonPanel::tr("The engine: **%1**").arg(answerText(*asked, asked->rightAnswer()));
        for (const sim::Mistake& mistake : asked->question().mistakes)
            all << LessonPanel::tr("Who says %1: %2")
                       .arg(answerText(*asked, asked->valueOf(mistake.near)), talkText(asked->filled(mistake.say)));
        for (std::size_t i = 0; i < asked->question().options.size(); ++i)
            if (const sim::QuestionOption& option = asked->question().options[i]; !option.say.empty())
                all << LessonPanel::tr("Who says %1: %2").arg(talkText(sim::letterOf(i)), talkText(asked->filled(option.say)));
        if (place.part == Part::ask)
            all << LessonPanel::tr("*A asks the room: type what they answered, let them talk, ask again.*");
    }
    for (const std::string& hint : m_play->hints(at))
        all << LessonPanel::tr("Hint: %1").arg(talkText(hint));
    if (place.part == Part::challenge)
        for (const sim::LessonValue& solution : m_play->step(at).challenge->solvedBy)
            all << LessonPanel::tr("Solved by: %1").arg(changesText(solution, m_play->cases().catalogue()));
    return all.join(QStringLiteral("\n\n"));
}

QString LessonTalk::upNext(int index) const
{
    if (index + 1 >= size())
        return {};
    const Place& next = m_slides[static_cast<std::size_t>(index) + 1];
    if (next.part == Part::answer)
        return LessonPanel::tr("the answer");
    if (next.part == Part::solution)
        return LessonPanel::tr("a solution");
    return withoutMarks(talkText(m_play->text(next.step)));
}

bool LessonTalk::askRoom(int index, QWidget* parent, int textPixels, std::function<void()> changed)
{
    const std::size_t at = step(index);
    const sim::AskedQuestion* asked = m_play->asked(at);
    if (asked == nullptr)
        return false;
    auto* dialog = new RoomDialog(*asked, withoutMarks(talkText(m_play->text(at))), m_play->id(at), m_play->lesson().id, m_seed,
                                  m_votes.at(at), std::move(changed), parent);
    dialog->setTextPixels(textPixels);
    dialog->open();
    return true;
}

} // namespace app
