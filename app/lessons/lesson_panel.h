// The player: a lesson beside the working window, a step at a time. Nothing is revealed before an answer is committed, and a
// committed answer stays; challenges watch what is on the desk.
#pragma once

#include "app/lessons/answer_input.h"
#include "app/lessons/challenge_limit.h"
#include "app/lessons/lesson_text.h"
#include "app/session/lesson_progress.h"
#include "app/views/pictures.h"
#include "sim/lesson/play.h"

#include <QElapsedTimer>
#include <QFrame>
#include <QPointer>

#include <functional>
#include <memory>

class QBoxLayout;
class QButtonGroup;
class QLabel;
class QProgressBar;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace app {

/// What a step puts into the window.
struct LessonScene {
    const sim::ScenarioDocument* shown = nullptr;    ///< nullptr: what is there stays
    const sim::ScenarioDocument* compared = nullptr; ///< the baseline; nullptr: none
    QString shownName, comparedName;                 ///< by what sets them apart; empty: as their files say
    double comparedPeakGib = 0;                      ///< that axes of memory reach
    sim::LessonValue view;                           ///< as a scenario's; null: as it is
    bool play = false;
    bool asksForSlice = false;    ///< of a tensor: the storage picture takes it, and does not tell it
    bool asksForRanks = false;    ///< which the grid does not tell
    std::vector<Picture> front;   ///< that is spoken of: before those it shares a place with
    QString tensor;               ///< that is spoken of on the storage picture; empty: none
    std::vector<int> ranks;       ///< that are the answer: selected; empty: those that are stay
    QString note;                 ///< in place of the pictures; empty: the pictures
    bool keepsComparison = false; ///< without `compared`: what is compared on screen stays so
};
/// Of a step of a lesson, all that it shows.
LessonScene sceneOf(const sim::LessonPlay&, std::size_t at);
/// What is seen once its question is answered; without a case: as it was when it was asked.
LessonScene answeredSceneOf(const sim::LessonPlay&, std::size_t at);

class LessonPanel : public QFrame {
    Q_OBJECT
public:
    LessonPanel(Desk&, LessonProgress&, QWidget* parent = nullptr);

    /// Goes on where the learner stopped. `onlyRemember`: its questions to remember, with other numbers.
    void start(std::shared_ptr<sim::LessonPlay>, bool onlyRemember = false);
    void showPreparing(const QString& title);
    /// What the end page offers after a lesson: its title, or nothing. It is asked there.
    void setFollowing(std::function<QString(const sim::Lesson&)> following) { m_following = std::move(following); }
    /// Words that open the glossary, also while a question is open: they tell what a word means, not what is asked.
    void setTerms(std::vector<LessonTerm> terms) { m_terms = std::move(terms); }
    void stop(); ///< shows and watches nothing any more
    bool isPlaying() const { return m_play != nullptr; }
    const sim::LessonPlay* play() const { return m_play.get(); }
    std::shared_ptr<const sim::LessonPlay> sharedPlay() const { return m_play; }
    /// Somebody else shows the lesson: challenges are not watched meanwhile, and the step is shown anew afterwards.
    void setSuspended(bool);
    bool isSuspended() const { return m_isSuspended; }
    /// What was spent on an open question, and given to help, is kept now.
    void keepOpen();
    std::size_t at() const { return m_at; }
    /// A question is open: what the window says of the step would give it away.
    bool masks() const;
    /// Likewise, or what is on screen at this step tells the answer to a question that is open, or that comes later.
    bool hidesNumbers() const;
    /// What is on screen is what the open question asks of, or tells the answer to a later one.
    bool showsWhatIsAsked() const;
    /// The numbers of what is on screen are the answer to a question that comes later and is not answered yet.
    bool tellsAhead() const;
    /// Those that the lesson has shown last: while it asks, no other is seen.
    const std::vector<Picture>& pictures() const { return m_pictures; }
    /// It is not at its end, and asks something: what was answered may be asked again in other words.
    bool asksSomething() const;
    /// The one that is open; nullptr: none.
    const sim::Challenge* challenge() const;
    /// What it lets the learner change; empty: everything.
    std::vector<AllowedSetting> allowed() const;
    /// As shown, for tests.
    QString text() const;
    AnswerInput* input() const { return m_input; }
    bool canCommit() const;
    bool canGoOn() const;

    /// To what the step wants first: the answer, or the way on.
    void takeFocus();

public Q_SLOTS:
    void next();
    void back();
    void commit();
    void hint();

Q_SIGNALS:
    void sceneChanged(const app::LessonScene&);
    void sceneExpected(const app::LessonScene&); ///< that probably comes next; without a case: none
    void maskChanged(bool hidesNumbers);
    void started();
    void anewRequested();      ///< from the first step, nothing answered
    void followingRequested(); ///< the lesson that the end page offers
    void termRequested(const QString& title);
    void limitChanged();                           ///< of what may be changed
    void settingRequested(const QString& pointer); ///< one that the challenge allows
    void left();                                   ///< by its button
    void finished();                               ///< the last step is done
    void solutionRequested(const sim::ScenarioDocument& solved);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    bool isToSkip() const;
    void goTo(std::size_t, bool goesOn = false);
    double secondsSpent() const;
    void pause();
    void showDrawnCase();
    LessonScene drawnScene() const;
    void expectNext();
    void beginBody();
    void showBody();
    void tellUnkept(bool isKept);
    void addText(const QString& markdown, const char* role = nullptr);
    void buildQuestion(const sim::AskedQuestion&);
    QWidget* buildVerdict(const sim::AskedQuestion&, const CommittedAnswer&);
    void tellAnswers(const sim::AskedQuestion&, const CommittedAnswer&, QFrame* card, QVBoxLayout*);
    void showVerdict();
    int wholeLineFrom(int y) const;
    void fitInput();
    void buildChallenge(const sim::Challenge&);
    void buildEnd();
    void addBeginAnew();
    void buildRecap();
    std::optional<CommittedAnswer> answerOf(const std::string& id) const;
    bool isRight(std::size_t at, const CommittedAnswer&) const;
    void linkTerms();
    QString whyNoCommit() const;
    bool isStartShown() const;
    void nameHint();
    void updateChallenge();
    void tellReached(const QStringList& gave, const sim::LessonValue& changes = {});
    void updateButtons();
    std::optional<CommittedAnswer> committed() const;

    Desk& m_desk;
    LessonProgress& m_progress;
    std::shared_ptr<sim::LessonPlay> m_play;
    bool m_onlyRemember = false, m_isAtEnd = false, m_isSuspended = false;
    struct Hiding {
        bool numbers = false, asks = false, isShown = false, ahead = false;
        bool operator==(const Hiding&) const = default;
    };
    Hiding m_hiding;             ///< as the window was told last
    bool m_isStartShown = false; ///< of this challenge: before, nothing counts
    std::size_t m_at = 0;
    OpenQuestion m_open;                  ///< of this step; its seconds as they were when
    QElapsedTimer m_sinceAsked;           ///< this began, which is invalid while nobody is asked
    std::optional<std::size_t> m_waiting; ///< the question that was reached and is not answered yet
    std::vector<Picture> m_pictures;
    std::optional<std::size_t> m_seenStep;               ///< whose pictures came with the answer before it
    std::map<std::string, CommittedAnswer> m_remembered; ///< of this round
    std::string m_sceneName;
    std::function<QString(const sim::Lesson&)> m_following;
    std::vector<LessonTerm> m_terms;

    QLabel *m_section, *m_title, *m_count;
    QProgressBar* m_bar;
    QScrollArea* m_scroll;
    QWidget* m_body = nullptr;
    QVBoxLayout* m_column = nullptr;
    AnswerInput* m_input = nullptr;
    QWidget* m_inputCard = nullptr;
    QPointer<QWidget> m_verdict; ///< that is kept in sight until somebody scrolls; none: what is there stays
    QButtonGroup* m_sure = nullptr;
    QBoxLayout *m_sureLine = nullptr, *m_sureChoices = nullptr; ///< as long as there is m_sure
    QWidget* m_ways = nullptr;                                  ///< to the challenge's goal
    QVBoxLayout* m_hints = nullptr;                             ///< those that were given, among them
    QLabel *m_goalState = nullptr, *m_why = nullptr;
    QPushButton *m_back, *m_next, *m_commit = nullptr, *m_hint = nullptr;
};

} // namespace app
