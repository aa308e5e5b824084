#include "app/shell/form/scenario_form.h"
#include "app/shell/widgets/fold_section.h"

#include "app/session/reset.h"
#include "app/shell/form/groove_slider.h"
#include "app/shell/form/token_count.h"
#include "app/shell/form/value_rows.h"
#include "app/shell/form/words_row.h"
#include "app/shell/widgets/elided_button.h"
#include "app/shell/widgets/fold_section.h"
#include "app/shell/widgets/style.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QCheckBox>
#include <QDir>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QTest>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

namespace app {
namespace {

using namespace test;

/// A session with its form; judged as the window does it, but at once.
struct Shared {
    Shared()
    {
        applyStyle(lightTheme(), QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets"));
        QObject::connect(&session, &Session::changed, &form, [this] { judge(); });
        QObject::connect(&form, &ScenarioForm::layoutRuleChanged, &form, [this] { judge(); });
    }
    void judge()
    {
        if (session.isOpen() && session.scenario())
            form.setLegalValues(legalValues(session.document(), catalogue(), *session.scenario(), form.layoutRule()));
    }
    Session session{catalogue(), {}};
    ScenarioForm form{session};
};

/// One form for all tests: it is a form of whatever is open.
class FormTest : public testing::Test {
protected:
    static void SetUpTestSuite() { s_shared = std::make_unique<Shared>(); }
    static void TearDownTestSuite() { s_shared.reset(); }
    FormTest()
    {
        form.resize(300, 700);
        form.search({});
        form.setFolds({});
    }
    void open(const char* name)
    {
        ASSERT_TRUE(session.open(galleryFile(name)).empty());
        form.show();
        QApplication::setActiveWindow(&form);
        QCoreApplication::processEvents();
    }
    void unfoldAll()
    {
        for (FoldSection* fold : form.findChildren<FoldSection*>())
            fold->setOpen(true);
        QCoreApplication::processEvents();
    }
    void type(std::string_view pointer, const char* text)
    {
        LegalSpinBox* spin = form.row(pointer)->spinBox();
        spin->setFocus();
        spin->selectAll();
        QTest::keyClicks(spin, QString::fromUtf8(text));
        QTest::keyClick(spin, Qt::Key_Return);
    }
    QCheckBox* keepGpus() ///< "Keep the GPUs: …"
    {
        const auto boxes = form.findChildren<QCheckBox*>();
        const auto found =
            std::ranges::find_if(boxes, [](const QCheckBox* box) { return box->text().startsWith(QStringLiteral("Keep")); });
        return found == boxes.end() ? nullptr : *found;
    }
    std::string json(std::string_view pointer) { return session.document().get(pointer).value_or("nothing"); }
    QString fileText() const { return QString::fromStdString(session.savedDocument()->text()); }
    QString nowText() const { return QString::fromStdString(session.document().text()); }

    static inline std::unique_ptr<Shared> s_shared;
    Session& session = s_shared->session;
    ScenarioForm& form = s_shared->form;
};

TEST_F(FormTest, HasARowForEveryKeyOfTheTable)
{
    open("21-slow-gpu.json");
    std::set<std::string_view> shown;
    for (FoldSection* fold : form.findChildren<FoldSection*>())
        fold->setOpen(true);
    for (const FormRow* row : form.findChildren<FormRow*>())
        shown.insert(row->key().pointer);
    for (const ScenarioKey& key : scenarioKeys()) {
        const bool isOfOtherKind = key.pointer.starts_with("/perturbations") && !perturbationTakes("slow_gpu", key.pointer);
        EXPECT_NE(shown.contains(key.pointer), isOfOtherKind) << key.pointer;
    }
}

TEST_F(FormTest, BeginsAtItsBeginningWithAnotherScenario)
{
    open(kSixteen);
    unfoldAll();
    QScrollBar* bar = nullptr;
    for (QScrollArea* area : form.findChildren<QScrollArea*>())
        if (area->isAncestorOf(form.row(Control::tp)))
            bar = area->verticalScrollBar();
    ASSERT_TRUE(bar);
    ASSERT_GT(bar->maximum(), 100);
    bar->setValue(100);
    open(kSixteen);
    EXPECT_EQ(bar->value(), 100) << "the same file, read again";
    const QTemporaryDir folder;
    const QString copy = folder.filePath(QStringLiteral("copy.json"));
    ASSERT_TRUE(session.saveAs(copy).empty());
    ASSERT_TRUE(session.open(copy).empty());
    QCoreApplication::processEvents();
    EXPECT_EQ(bar->value(), 100) << "likewise, under the name that it was saved as";
    open(kTiny);
    EXPECT_EQ(bar->value(), 0);
}

TEST_F(FormTest, EveryControlSaysWhatItIsToAScreenReader)
{
    open("50-mixtral-8x7b-ep8.json");
    unfoldAll();
    int focusable = 0;
    for (const QWidget* widget : form.findChildren<QWidget*>()) {
        if (!(widget->focusPolicy() & Qt::TabFocus) || !widget->isVisibleTo(&form) || qobject_cast<const QLabel*>(widget) ||
            qobject_cast<const QScrollArea*>(widget) || widget->parent()->inherits("QAbstractSpinBox"))
            continue;
        const auto* button = qobject_cast<const QAbstractButton*>(widget);
        const QString name = widget->accessibleName().isEmpty() && button ? button->text() : widget->accessibleName();
        EXPECT_FALSE(name.isEmpty()) << widget->metaObject()->className();
        EXPECT_FALSE(widget->accessibleDescription().isEmpty()) << name.toStdString();
        ++focusable;
    }
    EXPECT_GT(focusable, 100);
    EXPECT_TRUE(form.row(Control::ep)->spinBox()->accessibleDescription().contains(QStringLiteral("Possible: 1, 2")));
}

TEST_F(FormTest, TabGoesThroughItFromTopToBottom)
{
    open(kSixteen);
    unfoldAll();
    const QWidget* const page = form.findChild<QScrollArea*>()->widget();
    ASSERT_TRUE(page);
    int lowest = -1, walked = 0;
    for (const QWidget* at = form.nextInFocusChain(); at != &form; at = at->nextInFocusChain()) {
        if (!page->isAncestorOf(at) || !(at->focusPolicy() & Qt::TabFocus) || !at->isVisibleTo(page) ||
            at->parent()->inherits("QAbstractSpinBox"))
            continue;
        const int y = at->mapTo(page, QPoint(0, at->height() / 2)).y();
        constexpr int kOneLine = 16; // buttons, sliders and fields of a line are not of one height
        EXPECT_GE(y, lowest - kOneLine) << at->accessibleName().toStdString();
        lowest = std::max(lowest, y);
        ++walked;
    }
    EXPECT_GT(walked, 40);
}

TEST_F(FormTest, SearchLeavesWhatMatchesAndUnfoldsIt)
{
    open(kSixteen);
    const auto visible = [&](std::string_view pointer) { return form.rowAt(pointer)->isVisibleTo(&form); };
    EXPECT_FALSE(visible("/cluster/gpu/memory_bandwidth_gbs"));
    form.search(QStringLiteral("memory bandwidth"));
    EXPECT_TRUE(visible("/cluster/gpu/memory_bandwidth_gbs"));
    EXPECT_FALSE(visible(Control::tp));
    form.search(QStringLiteral("layout/tp"));
    EXPECT_TRUE(visible(Control::tp));
    form.search(QStringLiteral("sequence_slices"));
    EXPECT_FALSE(visible("/schedule/sequence_slices")) << "it has no effect on 1f1b";
    form.search(QStringLiteral("micro"));
    EXPECT_TRUE(visible("/training/micro_batch_size"));
    EXPECT_FALSE(visible("/cluster/efficiency/kernel_us")) << "described with microseconds, but others are called so";
    for (const char* typed : {"pertur", "slow gpu", "straggler"}) { // what is not there yet can be added
        form.search(QString::fromLatin1(typed));
        EXPECT_TRUE(form.findChild<QToolButton*>(QStringLiteral("addPerturbation"))->isVisibleTo(&form)) << typed;
        for (const QLabel* label : form.findChildren<QLabel*>())
            EXPECT_FALSE(label->isVisibleTo(&form) && label->text().startsWith(QLatin1String("No setting"))) << typed;
    }
    form.search(QStringLiteral("microseconds"));
    EXPECT_TRUE(visible("/cluster/efficiency/kernel_us")) << "nothing is called so";
    form.search({});
    EXPECT_TRUE(visible(Control::tp));
    EXPECT_FALSE(visible("/cluster/gpu/memory_bandwidth_gbs"));
}

TEST_F(FormTest, DigitsOnASliderAreWrittenIntoItsField)
{
    open(kSixteen);
    NumberRow& row = *form.row(Control::globalBatchSize);
    row.slider()->setFocus();
    QKeyEvent wanted(QEvent::ShortcutOverride, Qt::Key_6, Qt::NoModifier, QStringLiteral("6"));
    wanted.ignore();
    QCoreApplication::sendEvent(row.slider(), &wanted);
    EXPECT_TRUE(wanted.isAccepted()) << "no shortcut of the window takes it";
    QTest::keyClick(row.slider(), Qt::Key_6);
    QTest::keyClick(row.spinBox(), Qt::Key_4);
    EXPECT_EQ(row.spinBox()->text(), QStringLiteral("64"));
    QTest::keyClick(row.spinBox(), Qt::Key_Return);
    EXPECT_EQ(session.scenario()->training.globalBatchSize, 64);
    row.slider()->setFocus();
    for (const auto type : {QEvent::ShortcutOverride, QEvent::KeyPress}) {
        QKeyEvent usualSize(type, Qt::Key_0, Qt::ControlModifier, QStringLiteral("0"));
        usualSize.ignore();
        QCoreApplication::sendEvent(row.slider(), &usualSize);
        EXPECT_FALSE(usualSize.isAccepted()) << "a shortcut is no number";
        EXPECT_EQ(row.slider()->window()->focusWidget(), row.slider());
    }
}

TEST_F(FormTest, AClickOnAStepperTakesTheKeysFromTheSearch)
{
    open(kTiny);
    form.search(QStringLiteral("micro-b"));
    auto* search = form.findChild<QLineEdit*>();
    ASSERT_TRUE(search);
    search->setFocus();
    FormRow* row = form.row("/training/micro_batch_size");
    row->build();
    QCoreApplication::processEvents();
    QToolButton* step = nullptr;
    for (auto* button : row->findChildren<QToolButton*>())
        if (button->isEnabled() && button->accessibleName().startsWith(QStringLiteral("Micro-batch ")))
            step = button;
    ASSERT_TRUE(step);
    const QString before = nowText();
    QTest::mouseClick(step, Qt::LeftButton);
    EXPECT_NE(nowText(), before);
    EXPECT_FALSE(search->hasFocus()) << "Ctrl+Z would undo what was typed there";
    EXPECT_TRUE(form.row("/training/micro_batch_size")->spinBox()->hasFocus());
    EXPECT_TRUE(row->isWhyShown());
    session.undoStack().undo();
    form.search({});
}

TEST_F(FormTest, AnIllegalNumberStaysAndTheNearestLegalOnesAreOneClickAway)
{
    open(kSixteen);
    type(Control::tp, "3");
    NumberRow* row = form.row(Control::tp);
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_FALSE(session.isLegal());
    EXPECT_TRUE(row->hasProblem());
    EXPECT_TRUE(row->problemLabel()->text().contains(QStringLiteral("use 2")));
    EXPECT_TRUE(row->problemLabel()->text().contains(QStringLiteral("use 4")));
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("4"));
    EXPECT_TRUE(session.isLegal());
    EXPECT_EQ(session.scenario()->layout.tp, 4);
    EXPECT_EQ(session.scenario()->layout.worldSize(), 16);
    EXPECT_FALSE(row->hasProblem());
}

/// Four GPUs, one of which would idle.
TEST_F(FormTest, ASizeThatCannotKeepTheGpusIsNotTakenWhereTheyAreToBeKept)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_EQ(nowText(), fileText());
    EXPECT_TRUE(row->hasProblem());
    for (const char* offer : {"use 2", "use 4"})
        EXPECT_TRUE(row->problemLabel()->text().contains(QLatin1String(offer))) << qPrintable(row->problemLabel()->text());
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("4"));
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("4")) << "as it was";
    type(Control::pp, "3");
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("2"));
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(session.scenario()->layout.pp, 2);
    EXPECT_EQ(session.scenario()->layout.worldSize(), 4);
    type(Control::pp, "3");
    open("17-schedule-1f1b.json");
    EXPECT_FALSE(row->hasProblem()) << "it was of the scenario before";
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("4"));
}

TEST_F(FormTest, ARefusedSizeIsTakenOnceTheGpusNeedNotBeKept)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    ASSERT_TRUE(row->hasProblem());
    QCheckBox* keeps = keepGpus();
    ASSERT_TRUE(keeps);
    keeps->setChecked(false);
    EXPECT_EQ(json(Control::pp), "3");
    EXPECT_FALSE(row->problemLabel()->text().contains(QStringLiteral("GPUs cannot be shared out")));
    keeps->setChecked(true);
}

TEST_F(FormTest, EachOfSeveralRefusedSizesIsTakenOnceTheGpusNeedNotBeKept)
{
    open("17-schedule-1f1b.json");
    type(Control::cp, "2");
    type(Control::pp, "3");
    NumberRow *slices = form.row(Control::cp), *stages = form.row(Control::pp);
    ASSERT_TRUE(slices->refused() && stages->refused()) << "the second leaves the first as it is";
    QCheckBox* keeps = keepGpus();
    ASSERT_TRUE(keeps);
    keeps->setChecked(false);
    EXPECT_EQ(json(Control::cp), "2");
    EXPECT_EQ(json(Control::pp), "3");
    for (NumberRow* row : {slices, stages})
        EXPECT_FALSE(row->refused() || row->problemLabel()->text().contains(QStringLiteral("GPUs cannot be shared out")));
    keeps->setChecked(true);
}

TEST_F(FormTest, ARefusedSizeStaysWhileWhatItWasJudgedByDoes)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    const QString why = row->problemLabel()->text();
    ASSERT_TRUE(row->refused() && why.contains(QStringLiteral("use 2")));
    type(Control::globalBatchSize, "64");
    ASSERT_EQ(json(Control::globalBatchSize), "64");
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_EQ(row->problemLabel()->text(), why) << "with what is legal near it";
    session.undoStack().undo();
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_TRUE(row->hasProblem());
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("2"));
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(json(Control::pp), "2");
}

TEST_F(FormTest, ARefusedSizeIsGivenUpWithTheGpusThatItWasJudgedBy)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    ASSERT_TRUE(row->hasProblem());
    type(Control::nodes, "2");
    ASSERT_TRUE(session.isLegal());
    EXPECT_FALSE(row->hasProblem()) << row->problemLabel()->text().toStdString();
    EXPECT_EQ(row->spinBox()->text().toStdString(), json(Control::pp));
}

TEST_F(FormTest, StepsGoOnFromARefusedNumber)
{
    open("17-schedule-1f1b.json");
    NumberRow* row = form.row(Control::pp);
    type(Control::pp, "3");
    ASSERT_TRUE(row->hasProblem());
    row->spinBox()->stepBy(1);
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("4")) << "which is in force, and the largest";
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(nowText(), fileText());
    type(Control::pp, "3");
    ASSERT_TRUE(row->hasProblem());
    row->spinBox()->stepBy(-1);
    EXPECT_EQ(json(Control::pp), "2");
    EXPECT_FALSE(row->hasProblem());
    type(Control::pp, "3");
    ASSERT_TRUE(row->hasProblem());
    row->spinBox()->stepBy(-1);
    EXPECT_EQ(json(Control::pp), "2") << "in force, and below what is shown";
    EXPECT_FALSE(row->hasProblem());
}

TEST_F(FormTest, NothingIsToldOfTheGpusWhileTheValuesFitNoStep)
{
    open(kSixteen);
    const auto tellsGpus = [this] {
        const auto labels = form.row(Control::nodes)->findChildren<QLabel*>();
        return std::ranges::any_of(labels, [](const QLabel* label) { return label->text().contains(QStringLiteral("GPU")); });
    };
    const auto tellsInFolds = [this] {
        const auto headers = form.findChildren<FoldHeader*>();
        return std::ranges::any_of(headers, [](const FoldHeader* header) { return !header->toolTip().isEmpty(); });
    };
    EXPECT_TRUE(tellsGpus());
    EXPECT_TRUE(tellsInFolds());
    type(Control::tp, "3");
    ASSERT_FALSE(session.isLegal());
    EXPECT_FALSE(tellsGpus()) << "it would be of the values before";
    EXPECT_FALSE(tellsInFolds()) << "likewise";
    session.undoStack().undo();
    EXPECT_TRUE(tellsGpus());
}

TEST(ScenarioFormWaiting, OffersNothingThatWasLegalBeforeTheChange)
{
    Session session(catalogue(), {});
    ScenarioForm form(session);
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    const auto judge = [&] {
        form.setLegalValues(legalValues(session.document(), catalogue(), *session.scenario(), form.layoutRule()));
    };
    judge();
    NumberRow* batch = form.row(Control::globalBatchSize);
    const auto offers = [&] { return batch->problemLabel()->text().contains(QStringLiteral("use ")); };
    session.edit(makeKeyEdit(std::string(Control::globalBatchSize), "7", "batch", "", "7"));
    EXPECT_TRUE(batch->hasProblem());
    EXPECT_FALSE(offers());
    judge();
    EXPECT_TRUE(offers());
}

TEST_F(FormTest, WhatIsNoNumberStaysAsTypedAndChangesNothing)
{
    open(kSixteen);
    type(Control::sequenceLength, "many");
    NumberRow* row = form.row(Control::sequenceLength);
    EXPECT_EQ(nowText(), fileText());
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("many"));
    EXPECT_TRUE(row->hasProblem());
    type(Control::globalBatchSize, "64"); // another edit does not wipe it out
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("many"));
    type(Control::sequenceLength, "16,384");
    EXPECT_EQ(json(Control::sequenceLength), "16384");
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("16,384"));
}

TEST_F(FormTest, TheValueInForceTypedAgainMendsWhatWasTyped)
{
    open(kSixteen);
    type(Control::tp, "x");
    EXPECT_TRUE(form.row(Control::tp)->hasProblem());
    type(Control::tp, "2");
    EXPECT_FALSE(form.row(Control::tp)->hasProblem());
    EXPECT_EQ(nowText(), fileText());
}

TEST_F(FormTest, AnEmptyFieldIsTheDefault)
{
    open(kSixteen);
    type("/cluster/gpu/memory_gib", "141");
    EXPECT_EQ(session.scenario()->cluster.gpu.memoryGib, 141);
    type("/cluster/gpu/memory_gib", "\b");
    EXPECT_EQ(session.scenario()->cluster.gpu.memoryGib, 80);
}

TEST_F(FormTest, SharesMayBeTypedAsPercent)
{
    EXPECT_EQ(typedNumber(QStringLiteral("75 %"), true), 0.75);
    EXPECT_EQ(typedNumber(QStringLiteral("75 %"), false), std::nullopt);
    EXPECT_EQ(typedNumber(QStringLiteral(" 16,384 "), false), 16384);
    EXPECT_EQ(typedNumber(QStringLiteral("1,234,567.5"), false), 1234567.5);
    EXPECT_EQ(typedNumber(QStringLiteral("19,5"), false), 19.5) << "as many write it";
    EXPECT_EQ(typedNumber(QStringLiteral("12,5 %"), true), 0.125);
    EXPECT_EQ(typedNumber(QStringLiteral("1,23,4"), false), std::nullopt);
    EXPECT_EQ(typedTokenCount(QStringLiteral("1,5T")), 1.5e12);
    EXPECT_EQ(typedNumber(QStringLiteral("1e400"), false), std::nullopt);
}

TEST(TokenCount, IsToldAndReadAsPeopleSayIt)
{
    for (const auto& [typed, tokens] : {std::pair{"15T", 15e12},
                                        {"15 t", 15e12},
                                        {"1.5e13", 15e12},
                                        {"400B", 400e9},
                                        {"1.1 T", 1.1e12},
                                        {"15,000,000,000,000", 15e12},
                                        {"250M", 250e6},
                                        {"7", 7.0}})
        EXPECT_EQ(typedTokenCount(QString::fromLatin1(typed)), tokens) << typed;
    for (const char* none : {"T", "15 tokens", "many", ""})
        EXPECT_EQ(typedTokenCount(QString::fromLatin1(none)), std::nullopt) << none;
    EXPECT_EQ(tokenCountText(15e12), QStringLiteral("15 T"));
    EXPECT_EQ(tokenCountText(1.1e12), QStringLiteral("1.1 T"));
    EXPECT_EQ(tokenCountText(400e9), QStringLiteral("400 B"));
    EXPECT_EQ(tokenCountText(1234567890123), QStringLiteral("1,234,567,890,123")) << "few digits would not say it";
    EXPECT_EQ(tokenCountText(250'000), QStringLiteral("250,000"));
    for (const double tokens : {1e18, 9.5e17, 123'456'000.0, 999'999'999.0})
        EXPECT_EQ(typedTokenCount(tokenCountText(tokens)), tokens) << tokenCountText(tokens).toStdString();
}

TEST_F(FormTest, SlidersHaveNoHandleUntilTheirStopsAreKnown)
{
    open(kSixteen);
    GrooveSlider* slider = form.row(Control::tp)->slider();
    ASSERT_TRUE(slider->isKnown());
    const QImage known = slider->grab().toImage();
    bool isKnownBefore = true;
    QImage unknown;
    const QObject here;
    QObject::connect(&session, &Session::opened, &here, [&] {
        isKnownBefore = slider->isKnown();
        unknown = slider->grab().toImage();
    });
    open(kSixteen);
    EXPECT_FALSE(isKnownBefore) << "what was known was of the scenario before";
    EXPECT_TRUE(slider->isKnown());
    std::set<QRgb> rows; // a groove is the same all along
    const int middle = unknown.height() / 2;
    for (int x = unknown.width() / 8; x < unknown.width() * 7 / 8; ++x)
        rows.insert(unknown.pixel(x, middle));
    EXPECT_EQ(rows.size(), 1U) << "no handle";
    EXPECT_NE(known, unknown);
}

TEST_F(FormTest, TokensOfTheWholeRunBeginAtWhatIsReckonedWith)
{
    open(kSixteen);
    unfoldAll();
    constexpr std::string_view kTokens = "/training/tokens";
    auto* row = qobject_cast<NumberRow*>(form.row(kTokens));
    ASSERT_TRUE(row);
    LegalSpinBox* spin = row->spinBox();
    EXPECT_EQ(spin->text(), QString());
    spin->stepBy(1);
    EXPECT_EQ(session.scenario()->training.tokens, 1e12);
    EXPECT_EQ(spin->text(), QStringLiteral("1 T"));
    spin->stepBy(1);
    EXPECT_EQ(spin->text(), QStringLiteral("1.5 T"));
    row->slider()->setValue(row->slider()->maximum());
    EXPECT_EQ(spin->text(), QStringLiteral("20 T"));
    row->slider()->setValue(0);
    EXPECT_EQ(spin->text(), QStringLiteral("1 B"));
    type(kTokens, "15T");
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(json(kTokens), "15000000000000");
    EXPECT_EQ(spin->text(), QStringLiteral("15 T"));
    type(kTokens, "1234567890123");
    EXPECT_EQ(spin->text(), QStringLiteral("1,234,567,890,123"));
    EXPECT_GE(spin->width(), spin->fontMetrics().horizontalAdvance(spin->text())) << "all digits are seen";
    type(kTokens, "\b");
    EXPECT_EQ(json(kTokens), "nothing");
    EXPECT_EQ(spin->width(), 64);
}

TEST_F(FormTest, AChangeIsMarkedAndTakenBack)
{
    open(kSixteen);
    FormRow* row = form.rowAt(Control::tp);
    EXPECT_FALSE(row->isChanged());
    type(Control::tp, "4");
    EXPECT_TRUE(row->isChanged());
    EXPECT_TRUE(row->resetButton()->toolTip().contains(QStringLiteral("Was 2 in the file")));
    row->resetButton()->click();
    EXPECT_FALSE(row->isChanged());
    EXPECT_EQ(nowText(), fileText());
}

TEST_F(FormTest, SavingMakesWhatThereIsTheFile)
{
    open(kSixteen);
    const QString path = QDir::temp().filePath(QStringLiteral("form-%1.json").arg(QCoreApplication::applicationPid()));
    type(Control::tp, "4");
    EXPECT_TRUE(session.saveAs(path).empty());
    EXPECT_FALSE(form.rowAt(Control::tp)->isChanged());
    session.undoStack().undo();
    EXPECT_TRUE(form.rowAt(Control::tp)->isChanged());
    QFile::remove(path);
}

TEST_F(FormTest, ADragIsOneStep)
{
    open(kSixteen);
    QSlider* slider = form.row(Control::globalBatchSize)->slider();
    ASSERT_GT(slider->maximum(), 4);
    slider->setSliderDown(true);
    for (int position = 0; position < 4; ++position)
        slider->setValue(position);
    slider->setSliderDown(false);
    EXPECT_EQ(session.undoStack().count(), 1);
    session.undoStack().undo();
    EXPECT_EQ(nowText(), fileText());
}

TEST_F(FormTest, TheRowInFocusSaysWhichValuesItMayHaveAndWhy)
{
    open(kSixteen);
    NumberRow* tp = form.row(Control::tp);
    form.focusSearch();
    EXPECT_FALSE(tp->isWhyShown());
    tp->spinBox()->setFocus();
    EXPECT_TRUE(tp->isWhyShown());
    EXPECT_TRUE(tp->whyText().contains(QStringLiteral("Possible: 1, 2, 4")));
    EXPECT_TRUE(tp->whyText().contains(QStringLiteral("Not 8")));
    EXPECT_FALSE(tp->whyText().contains(QStringLiteral("Not 8 "))) << tp->whyText().toStdString();
    EXPECT_FALSE(tp->whyText().contains(QStringLiteral("layout.tp"))) << "keys of the file are no words";
    QTest::keyClick(tp->spinBox(), Qt::Key_Tab);
    EXPECT_FALSE(tp->isWhyShown());
}

TEST_F(FormTest, ReasonsReadAsSentences)
{
    open("73-schedule-auto.json");
    session.edit(makeEdit(session.document(), session.scenario(), Control::globalBatchSize, 16384, form.layoutRule()));
    form.setLegalValues(legalValues(session.document(), catalogue(), *session.scenario(), form.layoutRule()));
    const QString why = form.row(Control::globalBatchSize)->whyText();
    EXPECT_TRUE(why.contains(QStringLiteral("Not 16,383: it is not a multiple of "))) << why.toStdString();
    EXPECT_TRUE(why.contains(QStringLiteral("= micro-batch 4 × dp "))) << why.toStdString();
}

TEST_F(FormTest, OfManyPerturbationsItShowsTheFirstAndSaysHowManyThereAre)
{
    open(kSixteen);
    std::string list;
    for (int i = 0; i < 300; ++i)
        list += (i > 0 ? "," : "[") + std::string(R"({"kind":"slow_gpu","rank":)") + std::to_string(i % 16) + R"(,"factor":1.5})";
    session.edit(Edit{{{"/perturbations", list + "]"}}, "many", 0});
    ASSERT_TRUE(session.isLegal());
    EXPECT_TRUE(form.rowAt("/perturbations/" + std::to_string(kMostFormEntries - 1) + "/rank"));
    EXPECT_FALSE(form.rowAt("/perturbations/" + std::to_string(kMostFormEntries) + "/rank"));
    unfoldAll();
    QStringList texts;
    for (const QLabel* label : form.findChildren<QLabel*>())
        if (!label->isHidden())
            texts << label->text();
    EXPECT_TRUE(texts.contains(QStringLiteral("The file has %1 more.").arg(300 - kMostFormEntries)));
}

TEST_F(FormTest, PerturbationsComeAndGo)
{
    open(kSixteen);
    session.edit(makePerturbationEdit({session.document(), session.scenario(), catalogue()}, "slow_gpu"));
    session.edit(makePerturbationEdit({session.document(), session.scenario(), catalogue()}, "jitter"));
    ASSERT_TRUE(form.row("/perturbations/0/factor"));
    EXPECT_FALSE(form.rowAt("/perturbations/1/factor"));
    ASSERT_TRUE(form.row("/perturbations/1/sigma"));
    type("/perturbations/0/factor", "2");
    EXPECT_EQ(session.scenario()->perturbations[0].factor, 2);
    Q_EMIT form.rowAt("/perturbations/0/kind")->chosen(QStringLiteral("\"jitter\""), 0);
    EXPECT_TRUE(session.isLegal());
    EXPECT_FALSE(form.rowAt("/perturbations/0/factor"));
    for (int left = 2; left > 0; --left)
        session.edit(makeRemovalEdit({session.document(), session.scenario(), catalogue()}, 0));
    EXPECT_EQ(nowText(), fileText());
    EXPECT_FALSE(form.rowAt("/perturbations/0/kind"));
}

TEST_F(FormTest, FailuresAreAddedAndEdited)
{
    open(kSixteen);
    session.edit(makePerturbationEdit({session.document(), session.scenario(), catalogue()}, "failure"));
    ASSERT_TRUE(session.isLegal());
    ASSERT_TRUE(form.row("/perturbations/0/mtbf_hours"));
    EXPECT_FALSE(form.rowAt("/perturbations/0/rank")) << "it is of no rank";
    EXPECT_FALSE(form.rowAt("/perturbations/0/factor"));
    type("/perturbations/0/mtbf_hours", "1000");
    type("/perturbations/0/replace_s", "7200");
    type("/perturbations/0/spares", "2");
    type("/perturbations/0/checkpoint_every_s", "60");
    ASSERT_TRUE(session.isLegal());
    const sim::Failures& failures = session.scenario()->perturbations.at(0).failures;
    EXPECT_EQ(failures.mtbfHours, 1000);
    EXPECT_EQ(failures.replaceSeconds, 7200);
    EXPECT_EQ(failures.spares, 2);
    EXPECT_EQ(failures.checkpointEverySeconds, 60);
    EXPECT_FALSE(failures.checkpointSeconds) << "follows from the bytes";
}

TEST_F(FormTest, AnErrorInAFoldedPartUnfoldsIt)
{
    open(kSixteen);
    EXPECT_FALSE(form.rowAt("/model/num_key_value_heads")->isVisibleTo(&form));
    session.edit(makeKeyEdit("/model/num_key_value_heads", "7", "KV heads", "8", "7"));
    EXPECT_TRUE(form.rowAt("/model/num_key_value_heads")->isVisibleTo(&form));
    session.undoStack().undo();
    EXPECT_FALSE(form.rowAt("/model/num_key_value_heads")->isVisibleTo(&form));
}

TEST_F(FormTest, FoldsAreRemembered)
{
    open(kSixteen);
    EXPECT_TRUE(form.folds().isEmpty());
    form.findChildren<FoldSection*>().front()->header()->click(); // model details
    EXPECT_TRUE(form.rowAt("/model/num_hidden_layers")->isVisibleTo(&form));
    const QStringList folds = form.folds();
    EXPECT_EQ(folds.size(), 1);
    ScenarioForm other(session);
    other.setFolds(folds);
    EXPECT_EQ(other.folds(), folds);
}

/// At the narrowest a dock gets: every line of words has the height its text needs at its width.
TEST_F(FormTest, NoWordsAreCutOff)
{
    open("52-qwen3-235b-a22b-ep32.json");
    form.resize(292, 640);
    unfoldAll();
    for (const QLabel* label : form.findChildren<QLabel*>()) {
        if (!label->isVisibleTo(&form) || label->text().isEmpty())
            continue;
        EXPECT_GE(label->height(), label->heightForWidth(label->width())) << label->text().toStdString();
        EXPECT_LE(label->mapTo(&form, QPoint(label->width(), 0)).x(), form.width()) << label->text().toStdString();
    }
    for (const QCheckBox* box : form.findChildren<QCheckBox*>()) {
        EXPECT_TRUE(!box->isVisibleTo(&form) || box->width() >= box->sizeHint().width()) << box->text().toStdString();
    }
}

/// "Back to DGX A100 80 GB, InfiniBand HDR 200 (Selene)" is wider than a dock.
TEST_F(FormTest, ALongWayBackGivesWayToTheRows)
{
    open("05-dp2-tp4-pp2-sixteen-gpus.json");
    form.resize(292, 640);
    unfoldAll();
    type("/cluster/gpu/memory_gib", "90");
    QCoreApplication::processEvents();
    const auto buttons = form.findChildren<QToolButton*>();
    const auto back = std::ranges::find_if(
        buttons, [](const QToolButton* b) { return b->isVisible() && b->text().startsWith(QStringLiteral("Back to ")); });
    ASSERT_NE(back, buttons.end());
    const auto* area = form.findChild<QScrollArea*>();
    ASSERT_GT((*back)->sizeHint().width(), area->viewport()->width());
    EXPECT_LE(area->widget()->width(), area->viewport()->width());
    const auto& elided = dynamic_cast<const ElidedButton&>(**back);
    EXPECT_TRUE(elided.shownText().startsWith(QStringLiteral("Back to ")));
    EXPECT_TRUE(elided.shownText().endsWith(QStringLiteral("…")));
    QHelpEvent asks(QEvent::ToolTip, {2, 2}, (*back)->mapToGlobal(QPoint(2, 2)));
    QApplication::sendEvent(*back, &asks);
    EXPECT_EQ((*back)->toolTip(), (*back)->text());
}

TEST_F(FormTest, ADenseModelBecomesAMixtureOfExpertsAndBack)
{
    open(kSixteen);
    type("/model/num_experts", "8");
    ASSERT_TRUE(session.isLegal());
    EXPECT_EQ(session.scenario()->model.numExpertsPerTok, 2);
    EXPECT_TRUE(form.rowAt(Control::ep)->isVisibleTo(&form));
    form.rowAt("/model/num_experts")->resetButton()->click();
    EXPECT_EQ(nowText(), fileText());
}

TEST_F(FormTest, ModulesAndTargetsAreChecksWithUndoAndByKeyboard)
{
    open(kTiny);
    unfoldAll();
    auto* targets = qobject_cast<WordsRow*>(form.rowAt("/training/lora/targets"));
    auto* modules = qobject_cast<WordsRow*>(form.rowAt("/training/recompute/modules"));
    ASSERT_TRUE(targets && modules);
    EXPECT_TRUE(targets->isHidden()) << "there are no adapters";
    EXPECT_TRUE(modules->isHidden()) << "nothing is recomputed";

    form.rowAt("/training/lora/rank")->chosen(QStringLiteral("8"), 0);
    ASSERT_FALSE(targets->isHidden());
    EXPECT_TRUE(targets->boxes()[0]->isChecked()) << "what is in force, though nobody wrote it";
    const auto wasOn = session.scenario()->model.lora.has(sim::LoraTarget::key);
    targets->boxes()[1]->setFocus();
    EXPECT_TRUE(targets->isWhyShown());
    QTest::keyClick(targets->boxes()[1], Qt::Key_Space);
    EXPECT_NE(session.scenario()->model.lora.has(sim::LoraTarget::key), wasOn);
    session.undoStack().undo();
    EXPECT_EQ(session.scenario()->model.lora.has(sim::LoraTarget::key), wasOn);
    EXPECT_EQ(targets->boxes()[1]->isChecked(), wasOn);

    form.rowAt("/training/recompute")->chosen(QStringLiteral("\"selective\""), 0);
    ASSERT_FALSE(modules->isHidden());
    EXPECT_TRUE(modules->boxes()[0]->isChecked()) << "the core of attention, where nobody says";
    QTest::mouseClick(modules->boxes()[1], Qt::LeftButton, {}, {6, modules->boxes()[1]->height() / 2});
    EXPECT_TRUE(session.scenario()->training.recomputes(sim::RecomputeModule::layernorm));
    EXPECT_FALSE(modules->boxes()[5]->isEnabled()) << "of experts it has none";
    EXPECT_TRUE(modules->boxes()[5]->toolTip().contains(QStringLiteral("Experts' layer asks for experts")))
        << qPrintable(modules->boxes()[5]->toolTip());
    EXPECT_TRUE(modules->boxes()[4]->isEnabled()) << "it has a dense MLP";
    EXPECT_FALSE(modules->whyText().contains(QStringLiteral("core attn"))) << qPrintable(modules->whyText());
    EXPECT_TRUE(modules->whyText().contains(QStringLiteral("Attention's core: scores"))) << qPrintable(modules->whyText());

    modules->chosen(QStringLiteral("[\"moe\"]"), 0);
    EXPECT_FALSE(form.problemAt("/training/recompute/modules").isEmpty()) << "told where it was made";
    EXPECT_TRUE(modules->boxes()[5]->isEnabled()) << "what was chosen all the same can be taken back";
    session.undoStack().undo();
    EXPECT_TRUE(form.problemAt("/training/recompute/modules").isEmpty());
    EXPECT_FALSE(modules->boxes()[5]->isEnabled());
}

TEST_F(FormTest, LayerTypesAreWrittenAsRunsAndReadBack)
{
    const auto types = [](const char* text) { return layerTypesJson(QString::fromUtf8(text)); };
    EXPECT_EQ(types("2×sliding, full"), R"(["sliding_attention","sliding_attention","full_attention"])");
    EXPECT_EQ(types("2*(sliding, full), full"),
              R"(["sliding_attention","full_attention","sliding_attention","full_attention","full_attention"])");
    for (const char* text : {"5×(5×sliding, full), 2×sliding", "8×full", "sliding, full, 3×chunked", "2×(full, sliding), full"})
        EXPECT_EQ(layerTypesText(types(text)), QString::fromUtf8(text));
    for (const char* bad : {"", "6", "full full", "99999×(9×full)", "(full"})
        EXPECT_TRUE(types(bad).starts_with('"')) << bad;
    open(kTiny);
    unfoldAll();
    auto* row = qobject_cast<TextRow*>(form.rowAt("/model/layer_types"));
    ASSERT_TRUE(row);
    const int layers = session.scenario()->model.numHiddenLayers;
    row->line()->setText(QStringLiteral("%1×full").arg(layers));
    Q_EMIT row->line()->editingFinished();
    EXPECT_TRUE(session.isLegal());
    EXPECT_EQ(session.scenario()->model.layerTypes.size(), static_cast<std::size_t>(layers));
    row->line()->setText(QStringLiteral("full"));
    Q_EMIT row->line()->editingFinished();
    EXPECT_EQ(session.isLegal(), layers == 1);
    EXPECT_FALSE(form.problemAt("/model/layer_types").isEmpty());
    session.undoStack().undo();
    EXPECT_TRUE(session.isLegal());
}

TEST_F(FormTest, RunsOfLayersReadBack)
{
    EXPECT_EQ(runsText("[7,8,8,8,7]"), QStringLiteral("7, 3×8, 7"));
    EXPECT_EQ(runsJson(QStringLiteral("7, 3×8, 7")), "[7,8,8,8,7]");
    EXPECT_EQ(runsJson(QStringLiteral("7 3x8 7")), "[7,8,8,8,7]");
    EXPECT_EQ(runsJson(QStringLiteral("seven")), "\"seven\"");
    EXPECT_EQ(runsJson(QStringLiteral("99999×1")), "\"99999×1\"");
}

TEST_F(FormTest, ARightClickOnAStepperHoldsAndFreesBeforeItCopies)
{
    open(kTiny);
    const auto menu = form.row("/layout/tp")->spinBox()->makeMenu();
    QStringList texts;
    for (const QAction* action : menu->actions())
        texts << action->text();
    ASSERT_GE(texts.size(), 4);
    EXPECT_TRUE(texts[0].startsWith(QStringLiteral("Hold "))) << texts.join(QLatin1Char('|')).toStdString();
    EXPECT_TRUE(texts[1].startsWith(QStringLiteral("Free ")));
    EXPECT_TRUE(menu->actions().at(2)->isSeparator());
    EXPECT_FALSE(texts.filter(QStringLiteral("Paste")).isEmpty());
    QString planned;
    const auto heard = QObject::connect(&form, &ScenarioForm::planRequested, [&](const QString& pointer) { planned = pointer; });
    menu->actions().at(0)->trigger();
    QObject::disconnect(heard);
    EXPECT_EQ(planned, QStringLiteral("layout.tp"));
}

} // namespace
} // namespace app
