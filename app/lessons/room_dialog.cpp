#include "app/lessons/room_dialog.h"

#include "app/lessons/answer_input.h"
#include "app/shell/widgets/style.h"
#include "sim/lesson/results.h"
#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"
#include "sim/text/quoted.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace app {
namespace {

QString howTyped(const sim::Question& question)
{
    using enum sim::QuestionInput;
    switch (question.input) {
    case choice:
        return RoomDialog::tr("One line an answer: A, C x 4");
    case order:
        return RoomDialog::tr("One line an order of the cards: BAC x 4");
    case slider:
    case number:
        return RoomDialog::tr("One line an answer: 17.5 x 4");
    case actions:
        return RoomDialog::tr("Orders of actions are not typed: import answer files.");
    default:
        return RoomDialog::tr("One line an answer, its numbers with commas: 0, 4 x 3");
    }
}

} // namespace

RoomDialog::RoomDialog(const sim::AskedQuestion& asked, const QString& questionText, std::string id, std::string lesson,
                       std::uint64_t seed, sim::RoomVotes& votes, std::function<void()> taken, QWidget* parent)
    : QDialog(parent), m_asked(asked), m_id(std::move(id)), m_lesson(std::move(lesson)), m_seed(seed), m_votes(votes),
      m_taken(std::move(taken)), m_told(new QLabel)
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Ask the Room"));
    auto* question = new QLabel(questionText);
    question->setWordWrap(true);
    question->setTextFormat(Qt::PlainText);
    m_told->setWordWrap(true);
    m_told->setTextFormat(Qt::PlainText);
    m_told->setAccessibleName(tr("What was found"));
    setRole(m_told, "muted");
    auto* row = new QHBoxLayout;
    row->setSpacing(24);
    row->addWidget(makeVote(0), 1);
    row->addWidget(makeVote(1), 1);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    connect(buttons, &QDialogButtonBox::accepted, this, &RoomDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &RoomDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(question);
    column->addLayout(row);
    column->addWidget(m_told);
    column->addWidget(buttons);
    resize(680, 420);
}

QWidget* RoomDialog::makeVote(int vote)
{
    Vote& each = m_each[static_cast<std::size_t>(vote)];
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    auto* title = new QLabel(vote == 0 ? tr("At first") : tr("After they have talked"));
    setRole(title, "section");
    column->addWidget(title);
    const sim::Question& question = m_asked.question();
    const auto before = m_votes.bars();
    if (question.input == sim::QuestionInput::choice && !question.many) {
        auto* grid = new QGridLayout;
        for (std::size_t i = 0; i < question.options.size(); ++i) {
            auto* label = new QLabel(QString::fromStdString(sim::letterOf(i) + "  " + m_asked.filled(question.options[i].text)));
            label->setWordWrap(true);
            label->setTextFormat(Qt::PlainText);
            auto* count = new QSpinBox;
            count->setRange(0, sim::RoomVotes::kMostAnswers / static_cast<int>(question.options.size()));
            count->setAccessibleName(tr("%1, %2").arg(title->text(), label->text()));
            if (i < before.size())
                count->setValue(before[i].counts[static_cast<std::size_t>(vote)]);
            label->setBuddy(count);
            grid->addWidget(label, static_cast<int>(i), 0);
            grid->addWidget(count, static_cast<int>(i), 1);
            each.counts.push_back(count);
        }
        grid->setColumnStretch(0, 1);
        column->addLayout(grid);
    } else {
        auto* hint = new QLabel(howTyped(question));
        hint->setWordWrap(true);
        setRole(hint, "small");
        each.typed = new QPlainTextEdit;
        each.typed->setAccessibleName(tr("%1, answers").arg(title->text()));
        each.typed->setTabChangesFocus(true);
        each.typed->setEnabled(question.input != sim::QuestionInput::actions);
        column->addWidget(hint);
        column->addWidget(each.typed, 1);
        each.before = m_votes.answers(vote);
    }
    each.countLabel = new QLabel;
    setRole(each.countLabel, "small");
    each.forget = new QPushButton(tr("Begin Anew"));
    each.forget->setToolTip(tr("Forgets the answers that were typed and imported before"));
    connect(each.forget, &QPushButton::clicked, this, [this, vote] {
        m_each[static_cast<std::size_t>(vote)].before = 0;
        showCounts(vote);
    });
    auto* import = new QPushButton(tr("Import Answer Files…"));
    import->setToolTip(tr("What learners' programs save, and results as CSV or JSON"));
    connect(import, &QPushButton::clicked, this, [this, vote] {
        importFiles(vote, QFileDialog::getOpenFileNames(this, tr("Answer Files"), {}, tr("Answers (*.json *.csv)")));
    });
    column->addStretch();
    column->addWidget(each.countLabel);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(import);
    buttons->addWidget(each.forget);
    buttons->addStretch();
    column->addLayout(buttons);
    showCounts(vote);
    return box;
}

/// How many are there beside what is being typed.
void RoomDialog::showCounts(int vote)
{
    const Vote& each = m_each[static_cast<std::size_t>(vote)];
    QStringList counts;
    if (each.before > 0)
        counts << (each.before == 1 ? tr("1 answer was given before") : tr("%1 answers were given before").arg(each.before));
    if (const std::size_t count = each.imported.size(); count > 0)
        counts << (count == 1 ? tr("1 answer imported") : tr("%1 answers imported").arg(count));
    each.countLabel->setText(counts.join(QStringLiteral(", ")));
    each.forget->setVisible(each.before > 0);
}

/// Throws Error where it answers something else.
void RoomDialog::importSheet(int vote, const sim::LessonValue& sheet)
{
    if (const auto lesson = sim::memberOr<std::string>(sheet, "lesson", {}); lesson != m_lesson)
        throw sim::Error("these are answers to “" + lesson + "”, not to “" + m_lesson + "”");
    if (!m_asked.numbers().empty() && sim::memberOr<std::uint64_t>(sheet, "seed", m_seed) != m_seed)
        throw sim::Error("it was asked with the numbers of another seed; this is seed " + std::to_string(m_seed));
    const sim::LessonValue* answers = sim::memberOf(sheet, "answers");
    const sim::LessonValue* answer = answers != nullptr ? sim::memberOf(*answers, m_id) : nullptr;
    if (answer != nullptr && answer->is_object())
        answer = sim::memberOf(*answer, "value");
    if (answer == nullptr || answer->is_null())
        return; // did not come so far
    if (const std::string why = m_asked.whyNoAnswer(*answer); !why.empty())
        throw sim::Error(sim::shownValue(*answer) + ": " + why);
    m_each[static_cast<std::size_t>(vote)].imported.push_back(*answer);
}

void RoomDialog::importFiles(int vote, const QStringList& paths)
{
    constexpr std::size_t kMostBytes = 64U << 20U;
    constexpr qsizetype kMostTold = 6;
    QStringList wrong;
    const auto tell = [&wrong](const std::string& why) {
        if (const QString line = QString::fromStdString(why).trimmed(); !wrong.contains(line)) // once for a class
            wrong << line;
    };
    for (const QString& path : paths)
        try {
            const std::string name = path.toStdString();
            for (const sim::AnswerSheet& sheet : sim::answersIn(sim::readFile(name, kMostBytes), name))
                try {
                    importSheet(vote, sheet.answers);
                } catch (const sim::Error& error) {
                    const auto learner = sim::memberOr<std::string>(sheet.answers, "learner", {});
                    tell(name + ": " + (learner.empty() ? "" : sim::shownText(learner) + ": ") + error.what());
                }
        } catch (const sim::Error& error) {
            tell(error.what());
        }
    showCounts(vote);
    const qsizetype more = wrong.size() - kMostTold;
    if (more > 0)
        wrong = wrong.first(kMostTold) << tr("and %1 more like these").arg(more);
    m_told->setText(wrong.join(QLatin1Char('\n')));
}

void RoomDialog::setTextPixels(int pixels)
{
    setStyleSheet(QStringLiteral("QLabel, QSpinBox, QPlainTextEdit, QPushButton { font-size: %1px; }").arg(pixels));
    constexpr int kAcross = 44, kHigh = 26; // letters and lines
    const QSize room = parentWidget() != nullptr ? parentWidget()->size() * 9 / 10 : QSize(kAcross * pixels, kHigh * pixels);
    resize(QSize(kAcross * pixels, kHigh * pixels).boundedTo(room));
}

QString RoomDialog::told() const
{
    return m_told->text();
}

void RoomDialog::accept()
{
    sim::RoomVotes votes(m_asked); // all or nothing
    try {
        for (int vote = 0; vote < sim::RoomVotes::kVotes; ++vote) {
            const Vote& each = m_each[static_cast<std::size_t>(vote)];
            if (each.before > 0)
                votes.keep(vote, m_votes);
            for (std::size_t i = 0; i < each.counts.size(); ++i)
                votes.add(vote, i, each.counts[i]->value());
            if (each.typed != nullptr)
                for (const auto& [answer, times] : sim::typedVotes(m_asked, each.typed->toPlainText().toStdString()))
                    votes.add(vote, answer, times);
            for (const sim::LessonValue& answer : each.imported)
                votes.add(vote, answer);
        }
    } catch (const sim::Error& error) {
        m_told->setText(QString::fromUtf8(error.what()));
        return;
    }
    m_votes = std::move(votes);
    QDialog::accept();
    m_taken();
}

} // namespace app
