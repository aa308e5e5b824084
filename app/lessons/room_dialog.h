// Asks the room: the teacher types how many gave which answer, or imports answer files, before and after the room has talked.
#pragma once

#include "sim/lesson/room.h"

#include <QDialog>

#include <array>
#include <functional>
#include <vector>

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace app {

class RoomDialog : public QDialog {
    Q_OBJECT
public:
    /// Of the question `id` of a lesson; all must outlive it. `taken` is called when the votes have been taken over.
    RoomDialog(const sim::AskedQuestion&, const QString& questionText, std::string id, std::string lesson, std::uint64_t seed,
               sim::RoomVotes&, std::function<void()> taken, QWidget* parent = nullptr);

    /// Into the first vote (0) or the second (1); of sheets that do not answer this question the reason is told, and the others
    /// count, in the same file, too.
    void importFiles(int vote, const QStringList& paths);
    void setTextPixels(int); ///< as large as who reads it needs
    QString told() const;    ///< what is wrong, or how many were imported

public Q_SLOTS:
    void accept() override;

private:
    struct Vote {
        std::vector<QSpinBox*> counts;   ///< of options, one each
        QPlainTextEdit* typed = nullptr; ///< of other answers
        int before = 0;                  ///< answers that were typed or imported earlier: more is added to them
        std::vector<sim::LessonValue> imported;
        QLabel* countLabel = nullptr;
        QPushButton* forget = nullptr; ///< of what was there before
    };
    QWidget* makeVote(int vote);
    void showCounts(int vote);
    void importSheet(int vote, const sim::LessonValue& sheet);
    const sim::AskedQuestion& m_asked;
    const std::string m_id, m_lesson;
    const std::uint64_t m_seed;
    sim::RoomVotes& m_votes;
    const std::function<void()> m_taken;
    std::array<Vote, sim::RoomVotes::kVotes> m_each;
    QLabel* m_told;
};

} // namespace app
