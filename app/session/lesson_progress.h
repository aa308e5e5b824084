// How far a learner has come: one JSON file beside the settings, never sent anywhere. What was committed stays committed;
// questions to remember come back after 1, 3 and 8 days. Several windows may write the file: each takes over what the others
// wrote before it adds its own.
#pragma once

#include "sim/lesson/question.h"

#include <QDateTime>
#include <QString>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace app {

struct CommittedAnswer {
    sim::LessonValue value;       ///< as sim::AskedQuestion takes it; of a challenge the changes, pointer: value
    bool isRight = false;         ///< as it was judged then
    std::optional<double> sure;   ///< 0 to 1
    double seconds = 0;           ///< that the question was in front of the learner until then
    bool isSolutionShown = false; ///< of a challenge: before it was solved
};

/// A question or challenge that was begun and not answered yet.
struct OpenQuestion {
    double seconds = 0; ///< that it was in front of the learner
    std::size_t hints = 0;
    bool isSolutionShown = false;
};

class LessonProgress {
public:
    /// An empty path: nothing is kept. A file that cannot be read is put aside (its name with ".unread") and started anew.
    /// `course`: the folder of the lessons that came with the program. What is kept of these is kept by their ids, of others by
    /// their files, as a lesson that somebody recorded may have the id of one of the course.
    LessonProgress(QString path, std::filesystem::path course);
    /// In the user's application data.
    static QString usualPath();
    const QString& path() const { return m_path; }

    std::optional<CommittedAnswer> answer(const sim::Lesson&, const std::string& question) const;
    /// Kept at once; the first one counts. Throws nothing: false where it cannot be written.
    bool commit(const sim::Lesson&, const std::string& question, const CommittedAnswer&);
    /// It may be answered again.
    void withdraw(const sim::Lesson&, const std::string& question);
    /// Nothing where it was not begun, or is answered.
    OpenQuestion open(const sim::Lesson&, const std::string& question) const;
    void keepOpen(const sim::Lesson&, const std::string& question, const OpenQuestion&);
    std::size_t step(const sim::Lesson&) const;
    void setStep(const sim::Lesson&, std::size_t);
    void finish(const sim::Lesson&, const QDateTime& now);
    bool isFinished(const sim::Lesson&) const;
    /// Of its questions and challenges, the part that was answered.
    double share(const sim::Lesson&) const;
    /// As numbers that vary are drawn for this learner; the same until the lesson is begun anew.
    std::uint64_t seed(const sim::Lesson&);
    void forget(const sim::Lesson&);

    /// Questions to remember that are due, of a lesson that was finished.
    std::vector<std::string> due(const sim::Lesson&, const QDateTime& now) const;
    /// Asked with these numbers. A wrong one comes back tomorrow. False as of commit().
    bool remembered(const sim::Lesson&, const std::string& question, bool wasRight, const sim::DrawnNumbers&,
                    const QDateTime& now);
    /// The question without the numbers that it was asked with last, where it has others.
    sim::Question withOtherNumbers(const sim::Lesson&, sim::Question) const;

    /// As `rankscope-sim lesson mark` takes it: {"format":"rankscope-answers", …}.
    sim::LessonValue answers(const sim::Lesson&) const;

private:
    using Change = std::function<void(sim::LessonValue& all)>;
    /// The change is made to what the file holds by now. False where it cannot be written: then it is kept here alone, and made
    /// again when it can.
    bool update(const Change&);
    /// By which a lesson's entry is kept, and by which it was before files told lessons apart; the latter empty where that is
    /// another lesson's.
    struct Key {
        std::string now, before;
    };
    Key keyOf(const sim::Lesson&) const;
    static sim::LessonValue& of(sim::LessonValue& all, const Key&);
    const sim::LessonValue* find(const sim::Lesson&) const;
    QString m_path;
    std::filesystem::path m_course;
    sim::LessonValue m_all = sim::LessonValue::object();
    std::vector<Change> m_unwritten;
};

} // namespace app
