// A lesson before a class: steps by clicker, notes, what the room answers, the hand-out, and a lesson recorded in the window.
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/handout.h"
#include "app/lessons/lesson_talk.h"
#include "app/lessons/record_window.h"
#include "app/lessons/room_dialog.h"
#include "app/lessons/room_histogram.h"
#include "app/shell/presentation/notes_window.h"
#include "app/shell/presentation/presentation.h"
#include "app/shell/window/main_window.h"
#include "sim/lesson/check.h"
#include "tests/app/session/session_fixtures.h"

#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTimer>

#include <gtest/gtest.h>

#include <filesystem>

namespace app {
namespace {

using namespace test;

std::string lessonFile(const char* id)
{
    return std::string(RANKSCOPE_SOURCE_DIR "/assets/lessons/") + id + ".json";
}

std::shared_ptr<const sim::LessonPlay> playOf(const std::string& file, std::uint64_t seed = 1)
{
    return std::make_shared<const sim::LessonPlay>(sim::readLesson(file, catalogue()), seed, catalogue());
}

QString shownText(const QWidget& widget)
{
    QStringList all;
    for (const QLabel* label : widget.findChildren<QLabel*>())
        if (!label->isHidden())
            all << label->text();
    return all.join(QLatin1Char('\n'));
}

void press(QWidget* widget, Qt::Key key)
{
    QKeyEvent event(QEvent::KeyPress, key, Qt::NoModifier);
    QCoreApplication::sendEvent(widget, &event);
    for (int round = 0; round < 5; ++round)
        QCoreApplication::processEvents();
}

/// The window, presenting a lesson as large as a projector shows it.
struct Class {
    explicit Class(const char* id = "one-f-one-b")
        : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1280, 800);
        window.show();
        window.openLesson(QString::fromLatin1(id));
        waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); });
        window.present();
        window.presentation()->showNormal();
        window.presentation()->setFixedSize(1920, 1080);
        settle();
    }
    void settle()
    {
        waitFor([&] { return window.isSettled(); });
        for (int round = 0; round < 5; ++round)
            QCoreApplication::processEvents();
    }
    Presentation& presentation() { return *window.presentation(); }
    void next()
    {
        press(&presentation(), Qt::Key_PageDown);
        settle();
    }
    MainWindow window;
};

} // namespace

TEST(LessonTalk, AsksFirstAndTellsTheAnswerAtTheNextClick)
{
    std::vector<LessonScene> scenes;
    LessonTalk talk(playOf(lessonFile("one-f-one-b")), 1, [&](const LessonScene& scene) { scenes.push_back(scene); });
    QWidget parent;
    int asks = 0;
    for (int i = 0; i < talk.size(); ++i) {
        const Slide slide = talk.goTo(i);
        const std::unique_ptr<SlidePanel> panel(slide.beside(&parent));
        const QString text = shownText(*panel);
        EXPECT_FALSE(text.isEmpty()) << i;
        if (talk.part(i) == LessonTalk::Part::ask) {
            ++asks;
            EXPECT_FALSE(text.contains(QStringLiteral("The engine:"))) << qPrintable(text);
            EXPECT_TRUE(slide.notes.contains(QStringLiteral("The engine:"))) << "the presenter knows it";
            EXPECT_EQ(talk.part(i + 1), LessonTalk::Part::answer);
            EXPECT_EQ(talk.upNext(i), QStringLiteral("the answer"));
        }
        if (talk.part(i) == LessonTalk::Part::answer) {
            EXPECT_TRUE(text.contains(QStringLiteral("The engine:"))) << qPrintable(text);
        }
    }
    EXPECT_GE(asks, 4);
    EXPECT_EQ(talk.part(talk.firstOf(2)), LessonTalk::Part::ask);
    EXPECT_FALSE(scenes.empty());
    EXPECT_TRUE(talk.upNext(talk.size() - 1).isEmpty());
}

/// On 1920 × 1080 with text of 24 pixels and more: every step of every lesson and of the exam.
TEST(LessonTalk, NoStepIsCutBeforeAClass)
{
    QWidget parent;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/assets/lessons")) {
        if (entry.path().extension() != ".json")
            continue;
        LessonTalk talk(playOf(entry.path().string()), 1, [](const LessonScene&) {});
        for (int i = 0; i < talk.size(); ++i) {
            SCOPED_TRACE(entry.path().stem().string() + ", slide " + std::to_string(i + 1));
            const Slide slide = talk.goTo(i);
            const std::unique_ptr<SlidePanel> panel(slide.beside(&parent));
            const QString text = shownText(*panel);
            EXPECT_FALSE(text.isEmpty()) << "pictures that nobody says a word to";
            EXPECT_FALSE(text.contains(QRegularExpression(QStringLiteral("Between [\\d,]*\\.0")))) << qPrintable(text);
            panel->setTextPixels(Presentation::kSmallestText);
            const double share = slide.pictures.empty() ? 1 : 0.6;
            EXPECT_LE(panel->neededHeight(static_cast<int>(1920 * share)), 1080 - 3 * Presentation::kSmallestText);
        }
    }
}

/// 1024 × 640 with text of 200 %: margins that do not shrink with the text take a larger share.
TEST(LessonClass, NoWordIsCutOnASmallScreenWithLargeText)
{
    Class room;
    room.presentation().setTextPercent(200);
    room.presentation().setFixedSize(512, 320);
    room.settle();
    for (int slide = 0; slide < 14; ++slide) {
        const SlidePanel* panel = room.presentation().panel();
        if (panel != nullptr && panel->isVisible()) {
            for (const QLabel* label : panel->findChildren<QLabel*>())
                EXPECT_GE(label->height(), label->heightForWidth(label->width())) << slide << ": " << qPrintable(label->text());
        }
        room.next();
    }
}

TEST(LessonClass, ClickersTurnTheStepsAndTheWindowIsAsItWasAfterwards)
{
    Class room;
    ASSERT_TRUE(room.presentation().panel());
    const QString first = shownText(*room.presentation().panel());
    room.next();
    EXPECT_NE(shownText(*room.presentation().panel()), first);
    EXPECT_EQ(room.presentation().place(), 1);
    for (const QLabel* label : room.presentation().panel()->findChildren<QLabel*>()) {
        EXPECT_GE(QFontInfo(label->font()).pixelSize(), Presentation::kSmallestText) << qPrintable(label->text());
        EXPECT_GE(label->height(), label->heightForWidth(label->width())) << "cut: " << qPrintable(label->text());
    }
    press(&room.presentation(), Qt::Key_PageUp);
    EXPECT_EQ(shownText(*room.presentation().panel()), first);
    for (int i = 0; i < 18; ++i)
        room.next(); // over the end: nothing happens
    const LessonPanel& player = room.window.lesson();
    press(&room.presentation(), Qt::Key_Escape);
    EXPECT_TRUE(waitFor([&] { return room.window.presentation() == nullptr && room.window.isSettled(); }));
    EXPECT_EQ(player.at(), 0U) << "who plays it has gone no further";
    EXPECT_FALSE(player.text().contains(QStringLiteral("Right.")));
}

TEST(LessonClass, NotesAreForThePresenterAlone)
{
    Class room;
    EXPECT_EQ(room.presentation().notes(), nullptr);
    press(&room.presentation(), Qt::Key_N);
    EXPECT_EQ(room.presentation().notes(), nullptr) << "on the only screen the class would read them: asks first";
    auto* question = room.presentation().findChild<QMessageBox*>();
    ASSERT_TRUE(question);
    question->button(QMessageBox::Yes)->click();
    NotesWindow* notes = room.presentation().notes();
    ASSERT_TRUE(notes);
    EXPECT_TRUE(notes->isWindow());
    while (!shownText(*room.presentation().panel()).contains(QStringLiteral("**A**")))
        press(notes, Qt::Key_PageDown); // its keys are the presentation's
    EXPECT_TRUE(notes->text().contains(QStringLiteral("The engine: about the same"))) << qPrintable(notes->text());
    EXPECT_TRUE(notes->text().contains(QStringLiteral("Next: the answer")));
    EXPECT_FALSE(shownText(room.presentation()).contains(QStringLiteral("The engine:")));
    EXPECT_FALSE(QAccessible::queryAccessibleInterface(notes)->text(QAccessible::Name).isEmpty());
    press(notes, Qt::Key_N);
    EXPECT_TRUE(waitFor([&] { return room.presentation().notes() == nullptr; }));
}

TEST(LessonClass, PicturesDoNotTellWhatTheClassIsAsked)
{
    Class room("two-copies");
    const auto tells = [&] {
        room.settle();
        for (const CanvasWidget* canvas : room.presentation().canvases())
            for (const Node& node : canvas->nodes())
                if (node.name.find("27.5 GiB") != std::string::npos)
                    return true;
        return false;
    };
    EXPECT_FALSE(tells()) << "what it shows is asked for later";
    room.next();
    ASSERT_TRUE(shownText(*room.presentation().panel()).contains(QStringLiteral("**A**")));
    EXPECT_FALSE(tells());
    room.next();
    EXPECT_TRUE(tells()) << "with the answer";
}

TEST(LessonClass, WhoseSliceItIsIsNotToldBeforeTheAnswer)
{
    Class room("cut-the-matrix");
    const auto owners = [&] {
        room.settle();
        std::size_t told = 0;
        for (const CanvasWidget* canvas : room.presentation().canvases())
            for (const Node& node : canvas->nodes())
                told += node.role == "slice" && node.name.find(", rank ") != std::string::npos;
        return told;
    };
    while (!shownText(*room.presentation().panel()).contains(QStringLiteral("Mark those that rank 3 makes")))
        room.next();
    EXPECT_EQ(owners(), 0U);
    room.next();
    EXPECT_GT(owners(), 0U) << "with the answer";
    press(&room.presentation(), Qt::Key_PageUp);
    EXPECT_EQ(owners(), 0U);
}

TEST(LessonClass, NothingIsBeyondTheEdgeOfASmallScreenWithLargeText)
{
    Class room("two-copies");
    room.presentation().setMinimumSize(0, 0);
    room.presentation().setFixedSize(640, 360); // 1280 x 720 at 200 %
    for (int i = 0; i < 6; ++i) {
        room.settle();
        for (const QWidget* each : room.presentation().findChildren<QWidget*>())
            if (each->isVisible() && !each->isWindow() && each->parentWidget() == &room.presentation() &&
                each->accessibleName() != QStringLiteral("Black")) {
                EXPECT_LE(each->geometry().right(), 640) << i << " " << each->metaObject()->className();
            }
        room.next();
    }
}

TEST(LessonClass, WhereWordsLeaveNoRoomThePicturesFollowThem)
{
    Class room("two-copies");
    room.presentation().setMinimumSize(0, 0);
    room.presentation().setFixedSize(640, 360); // 1280 x 720 at 200 %
    room.settle();
    const auto isSeen = [&] {
        const auto all = room.presentation().canvases();
        return std::any_of(all.begin(), all.end(), [](const CanvasWidget* each) { return each->isVisible(); });
    };
    press(&room.presentation(), Qt::Key_Home);
    int split = 0;
    for (int place = -1; place != room.presentation().place();) {
        room.settle();
        place = room.presentation().place();
        const bool hasPictures = !room.presentation().canvases().empty();
        if (room.presentation().isSplit()) {
            ++split;
            EXPECT_TRUE(room.presentation().panel()->isVisible()) << place << ": words first";
            EXPECT_FALSE(isSeen());
            room.next();
            ASSERT_EQ(room.presentation().place(), place) << "the same slide";
            EXPECT_FALSE(room.presentation().panel()->isVisible());
            EXPECT_TRUE(isSeen()) << place;
            EXPECT_TRUE(shownText(room.presentation()).contains(QStringLiteral(", 2 of 2")));
            press(&room.presentation(), Qt::Key_PageUp);
            ASSERT_EQ(room.presentation().place(), place);
            EXPECT_TRUE(room.presentation().panel()->isVisible()) << "and back";
            room.next();
        } else if (hasPictures) {
            EXPECT_TRUE(isSeen()) << place;
        }
        room.next();
    }
    EXPECT_GT(split, 0);
    room.presentation().setFixedSize(1920, 1080);
    room.settle();
    EXPECT_FALSE(room.presentation().isSplit());
    EXPECT_TRUE(room.presentation().panel()->isVisible() && isSeen()) << "beside each other again";
}

TEST(LessonClass, NothingInvitesToPointOrClick)
{
    Class room("two-copies");
    const auto offers = [&](const CanvasWidget& canvas) {
        return std::any_of(canvas.nodes().begin(), canvas.nodes().end(), [](const Node& node) {
            return node.name.find("next lens") != std::string::npos || node.name.find("arranged by") != std::string::npos ||
                   node.name.starts_with("lens ");
        });
    };
    for (const CanvasWidget* canvas : room.presentation().canvases())
        EXPECT_FALSE(offers(*canvas));
    press(&room.presentation(), Qt::Key_A);
    EXPECT_TRUE(room.presentation().caption().contains(QStringLiteral("Nothing is asked here")));
    press(&room.presentation(), Qt::Key_Escape);
    ASSERT_TRUE(waitFor([&] { return room.window.presentation() == nullptr && room.window.isSettled(); }));
    EXPECT_TRUE(offers(room.window.workspace().canvas(Picture::grid))) << "as it was";
}

TEST(LessonClass, RanksAreAskedForBesideTheGridAndSlicesBesideTheStorage)
{
    const auto play = playOf(lessonFile("cut-the-matrix"));
    LessonTalk talk(play, 1, [](const LessonScene&) {});
    int found = 0;
    for (int i = 0; i < talk.size(); ++i) {
        const Slide slide = talk.goTo(i);
        const sim::AskedQuestion* asked = play->asked(talk.step(i));
        if (asked == nullptr)
            continue;
        const sim::QuestionInput input = asked->question().input;
        if (input != sim::QuestionInput::ranks && input != sim::QuestionInput::tensor)
            continue;
        ++found;
        ASSERT_FALSE(slide.pictures.empty());
        EXPECT_EQ(slide.pictures.front(), input == sim::QuestionInput::ranks ? Picture::grid : Picture::storage) << i;
    }
    EXPECT_EQ(found, 6) << "three questions, each with a slide for its answer";
}

TEST(LessonClass, ThePictureHasWhatTheSlideSpeaksOf)
{
    Class room("cut-the-matrix");
    LessonTalk steps(playOf(lessonFile("cut-the-matrix")), 1, [](const LessonScene&) {});
    const auto shows = [&](const std::string& tensor) {
        for (const CanvasWidget* canvas : room.presentation().canvases())
            for (const Node& node : canvas->nodes())
                if (node.role == "tensor" && node.name.starts_with(tensor + ",") && node.rect.height() > 10)
                    return true;
        return false;
    };
    room.presentation().goTo(steps.firstOf(2));
    room.settle();
    for (const char* tensor : {"token embedding", "MLP gate", "MLP up", "MLP down"})
        EXPECT_TRUE(shows(tensor)) << tensor << ": nobody can scroll there";
    for (int place = 0; place < steps.size(); ++place) {
        if (const Slide slide = steps.goTo(place); !slide.pictures.empty() && slide.pictures.front() == Picture::block) {
            room.presentation().goTo(place);
            room.settle();
            const CanvasWidget& block = *room.presentation().canvases().front();
            EXPECT_GT(block.nodes().size(), 30U) << "forward and backward";
            for (const Node& node : block.nodes()) {
                EXPECT_TRUE(node.name.starts_with("Rank 3, ")) << node.name;
                EXPECT_GT(node.rect.height(), 35) << node.name << " is cut";
            }
            press(&room.presentation(), static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(Picture::timeline)));
            room.settle();
            ASSERT_EQ(room.presentation().canvases().size(), 2U);
            EXPECT_TRUE(room.presentation().canvases()[0]->isVisible()) << "what was asked for";
            EXPECT_FALSE(room.presentation().canvases()[1]->isVisible()) << "half the place would cut the block";
        }
        if (steps.part(place) != LessonTalk::Part::answer)
            continue;
        const sim::AskedQuestion& asked = *room.window.lesson().play()->asked(steps.step(place));
        if (asked.question().input != sim::QuestionInput::ranks)
            continue;
        room.presentation().goTo(place - 1);
        room.settle();
        EXPECT_EQ(room.presentation().canvases().size(), 1U) << "the grid has all the room";
        EXPECT_TRUE(room.window.desk().selection().ranks.empty() || place == 0 ||
                    sim::LessonValue(room.window.desk().selection().ranks) != asked.rightAnswer());
        room.presentation().goTo(place);
        room.settle();
        EXPECT_EQ(sim::LessonValue(room.window.desk().selection().ranks), asked.rightAnswer()) << "seen on the grid, too";
    }
}

TEST(LessonClass, NumbersHaveNoLettersToRaiseAHandFor)
{
    LessonTalk talk(playOf(lessonFile("two-copies")), 1, [](const LessonScene&) {});
    QWidget parent;
    bool found = false;
    for (int i = 0; i < talk.size(); ++i) {
        const std::unique_ptr<SlidePanel> panel(talk.goTo(i).beside(&parent));
        const QString text = shownText(*panel);
        if (talk.part(i) != LessonTalk::Part::ask || !text.contains(QStringLiteral("8 servers")))
            continue;
        found = true;
        EXPECT_FALSE(text.contains(QStringLiteral("**A**"))) << qPrintable(text);
    }
    EXPECT_TRUE(found);
}

TEST(LessonClass, TheRoomIsAskedAndAskedAgain)
{
    Class room;
    while (!shownText(*room.presentation().panel()).contains(QStringLiteral("**A**")))
        room.next();
    press(&room.presentation(), Qt::Key_A);
    auto* dialog = room.presentation().findChild<RoomDialog*>();
    ASSERT_TRUE(dialog);
    const auto counts = dialog->findChildren<QSpinBox*>();
    ASSERT_EQ(counts.size(), 6) << "three options, two votes";
    for (const QLabel* label : dialog->findChildren<QLabel*>())
        EXPECT_GE(QFontInfo(label->font()).pixelSize(), Presentation::kSmallestText) << qPrintable(label->text());
    for (const QSpinBox* count : counts)
        EXPECT_FALSE(QAccessible::queryAccessibleInterface(const_cast<QSpinBox*>(count))->text(QAccessible::Name).isEmpty());
    counts[0]->setValue(14);
    counts[1]->setValue(6);
    counts[4]->setValue(19);
    const QTemporaryDir folder;
    const auto write = [&](const char* name, const char* text) {
        QFile file(folder.filePath(QString::fromLatin1(name)));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(text);
        return file.fileName();
    };
    const QString good = write("good.json", R"({"format":"rankscope-answers","version":1,"lesson":"one-f-one-b","seed":7,
        "answers":{"bubble":{"value":1,"sure":0.6}}})");
    const QString other = write("other.json", R"({"format":"rankscope-answers","version":1,"lesson":"bubble","answers":{}})");
    dialog->importFiles(1, {good, other});
    EXPECT_TRUE(dialog->told().contains(QStringLiteral("not to “one-f-one-b”"))) << qPrintable(dialog->told());
    dialog->accept();
    const auto spoken = [&] {
        for (QWidget* each : room.presentation().panel()->findChildren<QWidget*>())
            if (each->accessibleName() == QStringLiteral("What the room answered"))
                return each->accessibleDescription();
        return QString();
    };
    EXPECT_TRUE(spoken().contains(QStringLiteral("A: 14 at first, then 0; B: 6 at first, then 20"))) << qPrintable(spoken());
    EXPECT_FALSE(spoken().contains(QStringLiteral("engine"))) << "not before the answer";
    room.next();
    EXPECT_TRUE(spoken().contains(QStringLiteral("then 20, the engine's"))) << qPrintable(spoken());
}

TEST(LessonClass, WhatIsAddedLaterIsAddedAndOneBadSheetIsOne)
{
    const auto play = playOf(lessonFile("one-f-one-b"));
    std::size_t at = 0;
    while (play->id(at) != "peak")
        ++at;
    sim::RoomVotes votes(*play->asked(at));
    const auto open = [&] {
        return std::make_unique<RoomDialog>(*play->asked(at), QString(), "peak", "one-f-one-b", 1, votes, [] {});
    };
    auto first = open();
    first->setAttribute(Qt::WA_DeleteOnClose, false);
    first->findChildren<QPlainTextEdit*>()[0]->setPlainText(QStringLiteral("17,5 x 4; 20"));
    first->accept();
    EXPECT_EQ(votes.answers(0), 5) << qPrintable(first->told());
    auto later = open();
    later->setAttribute(Qt::WA_DeleteOnClose, false);
    later->findChildren<QPlainTextEdit*>()[0]->setPlainText(QStringLiteral("12"));
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("class.csv")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("learner,lesson,question,answer\nAda,one-f-one-b,peak,17\nBob,one-f-one-b,peak,[1]\nCleo,one-f-one-b,peak,18\n"
               "Dan,bubble,p,1\n");
    file.close();
    later->importFiles(1, {file.fileName()});
    EXPECT_TRUE(later->told().contains(QStringLiteral("Bob: [1]"))) << qPrintable(later->told());
    EXPECT_TRUE(later->told().contains(QStringLiteral("Dan: these are answers to “bubble”"))) << qPrintable(later->told());
    EXPECT_TRUE(shownText(*later).contains(QStringLiteral("5 answers were given before"))) << qPrintable(shownText(*later));
    EXPECT_TRUE(shownText(*later).contains(QStringLiteral("2 answers imported"))) << qPrintable(shownText(*later));
    later->accept();
    EXPECT_EQ(votes.answers(0), 6);
    EXPECT_EQ(votes.answers(1), 2);
}

/// Where no picture stands beside them, words take the room; an order is read a rank a line.
TEST(LessonClass, WordsAloneAreLargeAndOrdersAreLines)
{
    Class exam("exam");
    Presentation& slides = exam.presentation();
    const auto pixels = [&] {
        int most = 0;
        for (const QLabel* label : slides.findChildren<QLabel*>())
            if (label->isVisible() && label->parentWidget() != &slides)
                most = std::max(most, label->font().pixelSize());
        return most;
    };
    exam.next(); // a question on paper
    EXPECT_GE(pixels(), 2 * Presentation::kSmallestText) << "room for it there is";
    const auto play = playOf(lessonFile("exam"));
    LessonTalk talk(play, 1, [](const LessonScene&) {});
    QWidget parent;
    const Slide last = talk.goTo(talk.size() - 1);
    const std::unique_ptr<SlidePanel> panel(last.beside(&parent));
    EXPECT_TRUE(shownText(*panel).contains(QStringLiteral("The engine: bubble"))) << qPrintable(shownText(*panel));
    EXPECT_EQ(shownText(*panel).count(QStringLiteral("F0 ")), 4) << "four ranks";
    const Slide asks = talk.goTo(talk.size() - 2);
    const std::unique_ptr<SlidePanel> asked(asks.beside(&parent));
    EXPECT_TRUE(shownText(*asked).contains(QStringLiteral("\n3F0 "))) << "what is to be put in order";
    LessonTalk curve(playOf(lessonFile("cut-finer")), 1, [](const LessonScene&) {});
    const Slide drawn = curve.goTo(5);
    const std::unique_ptr<SlidePanel> bars(drawn.beside(&parent));
    QStringList spoken;
    for (const QWidget* widget : bars->findChildren<QWidget*>())
        spoken << widget->accessibleName();
    EXPECT_TRUE(spoken.join(QLatin1Char('\n')).contains(QStringLiteral("1: 50.6 %; 2: "))) << "its places beside each other";
}

/// All rows of all pictures of all lessons are on the paper, and the sentences that a question needs.
TEST(LessonHandout, CutsNoPicture)
{
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/assets/lessons")) {
        if (entry.path().extension() != ".json")
            continue;
        QStringList cut;
        handoutPdf(*playOf(entry.path().string()), 1, QStringLiteral("1.0"), &cut);
        EXPECT_TRUE(cut.isEmpty()) << entry.path().stem() << ": " << qPrintable(cut.join(QStringLiteral("; ")));
    }
}

TEST(LessonHandout, TheSameSeedIsTheSamePaper)
{
    const auto exam = lessonFile("exam");
    const QByteArray paper = handoutPdf(*playOf(exam, 3), 3, QStringLiteral("1.0"));
    EXPECT_TRUE(paper.startsWith("%PDF-"));
    EXPECT_EQ(handoutPdf(*playOf(exam, 3), 3, QStringLiteral("1.0")), paper);
    EXPECT_NE(handoutPdf(*playOf(exam, 4), 4, QStringLiteral("1.0")), paper);
    const auto pages = [](const QByteArray& pdf) { return pdf.count("/Type /Page\n"); };
    EXPECT_GE(pages(paper), 3) << "questions, and the key on its own sheet";
}

TEST(LessonHandout, EveryLessonFitsOnPaper)
{
    for (const char* id : {"one-f-one-b", "cut-the-matrix", "cut-finer", "forward-input-weight"}) {
        SCOPED_TRACE(id);
        EXPECT_GT(handoutPdf(*playOf(lessonFile(id)), 1, QStringLiteral("1.0")).size(), 10'000);
    }
}

TEST(LessonRecorder, WordsThatAreTypedAreNotLostUnasked)
{
    const auto now = [] { return std::optional<RecordWindow::Now>(); };
    RecordWindow recorder(catalogue(), now);
    recorder.show();
    EXPECT_FALSE(recorder.hasUnsaved());
    QStringList asked;
    const auto closes = [&] {
        QTimer::singleShot(0, [&asked] {
            if (auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
                asked << question->text();
                question->close(); // which is no
            }
        });
        const bool closed = recorder.close();
        QCoreApplication::processEvents();
        return closed;
    };
    auto* say = recorder.findChildren<QPlainTextEdit*>().front();
    say->setPlainText(QStringLiteral("Half a step."));
    EXPECT_TRUE(recorder.hasUnsaved());
    EXPECT_FALSE(closes());
    EXPECT_EQ(asked, QStringList{QStringLiteral("Give up the words that were typed?")});
    say->clear();
    auto* title = recorder.findChildren<QLineEdit*>().front();
    title->setText(QStringLiteral("My lesson"));
    EXPECT_FALSE(closes()) << "a title is words, too";
    EXPECT_EQ(asked.size(), 2);
    title->clear();
    EXPECT_TRUE(closes());
    EXPECT_EQ(asked.size(), 2);
}

TEST(LessonRecorder, MakesALessonOfWhatTheWindowShows)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1280, 800);
    window.show();
    ASSERT_TRUE(window.openFile(galleryFile("16-schedule-gpipe.json")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    window.run(CommandId::recordLesson);
    RecordWindow* recorder = window.recorder();
    ASSERT_TRUE(recorder);
    const auto edits = recorder->findChildren<QPlainTextEdit*>();
    const auto button = [&](const char* text) {
        for (QPushButton* each : recorder->findChildren<QPushButton*>())
            if (each->text() == QString::fromUtf8(text))
                return each;
        return static_cast<QPushButton*>(nullptr);
    };
    edits[0]->setPlainText(QStringLiteral("GPipe keeps everything."));
    edits[1]->setPlainText(QStringLiteral("Let them guess."));
    const auto add = [&](const char* text = "Add Step") {
        button(text)->click();
        EXPECT_TRUE(recorder->isChecking()) << "on a thread of its own: the window is free";
        EXPECT_FALSE(button(text)->isEnabled()) << "once is enough";
        return waitFor([&] { return !recorder->isChecking(); });
    };
    ASSERT_TRUE(add());
    int asked = 0;
    QTimer::singleShot(0, [&asked] {
        if (QWidget* question = QApplication::activeModalWidget()) {
            ++asked;
            question->close(); // which is no
        }
    });
    EXPECT_FALSE(window.close()) << "the steps would go with it";
    EXPECT_EQ(asked, 1);
    ASSERT_TRUE(window.recorder());
    Edit edit;
    edit.assignments.push_back({"/schedule/kind", "\"1f1b\""});
    window.session().edit(edit);
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    auto* metric = recorder->findChild<QComboBox*>();
    metric->setCurrentIndex(metric->findData(QStringLiteral("peak_memory_gib")));
    ASSERT_TRUE(add());
    EXPECT_FALSE(button("Save Lesson…")->isEnabled()) << "without a title";
    edits[0]->setPlainText(QStringLiteral("{case_9.mfu|percent}"));
    ASSERT_TRUE(add());
    EXPECT_TRUE(recorder->told().startsWith(QStringLiteral("step 3"))) << qPrintable(recorder->told());
    EXPECT_EQ(recorder->recording().steps.size(), 2U) << "it is not added";
    EXPECT_EQ(edits[0]->toPlainText(), QStringLiteral("{case_9.mfu|percent}")) << "and not lost";
    recorder->findChild<QListWidget*>()->setCurrentRow(0);
    button("Edit")->click();
    EXPECT_EQ(edits[0]->toPlainText(), QStringLiteral("GPipe keeps everything."));
    EXPECT_EQ(edits[1]->toPlainText(), QStringLiteral("Let them guess."));
    edits[0]->setPlainText(QStringLiteral("GPipe keeps all."));
    ASSERT_TRUE(add("Change Step 1"));
    ASSERT_EQ(recorder->recording().steps.size(), 2U);
    EXPECT_EQ(recorder->recording().steps[0].say, "GPipe keeps all.");
    EXPECT_EQ(edits[0]->toPlainText(), QStringLiteral("{case_9.mfu|percent}")) << "what was half typed is there again";
    recorder->findChild<QListWidget*>()->setCurrentRow(1);
    button("Up")->click();
    recorder->findChild<QListWidget*>()->setCurrentRow(0);
    button("Down")->click();
    EXPECT_EQ(edits[0]->toPlainText(), QStringLiteral("{case_9.mfu|percent}")) << "also while others move";
    edits[0]->clear();
    EXPECT_EQ(recorder->recording().steps[0].shown.get("/schedule/kind"), "\"gpipe\"") << "what it showed stays";
    recorder->findChild<QLineEdit*>()->setText(QStringLiteral("My lesson"));
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("my-lesson.json"));
    ASSERT_TRUE(button("Save Lesson…")->isEnabled());
    recorder->saveTo(path);
    EXPECT_TRUE(recorder->isChecking()) << "on a thread of its own, too";
    ASSERT_TRUE(waitFor([&] { return !recorder->isChecking(); }));
    EXPECT_TRUE(QFile::exists(path)) << qPrintable(recorder->told());
    EXPECT_TRUE(recorder->told().contains(QStringLiteral("nothing wrong"))) << qPrintable(recorder->told());
    EXPECT_FALSE(recorder->hasUnsaved());
    const sim::Lesson lesson = sim::readLesson(path.toStdString(), catalogue());
    EXPECT_TRUE(sim::checkLesson(lesson, catalogue()).empty());
    EXPECT_EQ(lesson.steps.size(), 3U);
    EXPECT_EQ(lesson.steps[0].notes, "Let them guess.");
    EXPECT_TRUE(window.openFile(path).empty()) << "and it is played by opening it";
    EXPECT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
}

} // namespace app
