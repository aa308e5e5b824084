// The form as a whole: its rows, folds, search and words, and what it does with lists.
#include "app/shell/form/scenario_form.h"

#include "app/session/edit.h"
#include "app/shell/form/form_parts.h"
#include "app/shell/form/value_rows.h"
#include "app/shell/form/words_row.h"
#include "app/shell/widgets/elided_button.h"
#include "tests/app/shell/scenario_form_fixture.h"
#include "tests/support/scenarios.h"

#include <QDir>
#include <QFile>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QToolButton>

#include <algorithm>
#include <set>

namespace app {
namespace {

using namespace test;

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
    for (const char* typed : {"pertur", "slow gpu", "straggler", "failures", "failu", "jitter", "mtbf",
                              "spare nodes"}) { // what is not there yet can be added
        form.search(QString::fromLatin1(typed));
        EXPECT_TRUE(form.findChild<QToolButton*>(QStringLiteral("addPerturbation"))->isVisibleTo(&form)) << typed;
        for (const QLabel* label : form.findChildren<QLabel*>())
            EXPECT_FALSE(label->isVisibleTo(&form) && label->text().startsWith(QLatin1String("No setting"))) << typed;
    }
    session.edit(makePerturbationEdit({session.document(), session.scenario(), session.catalogue()}, "jitter"));
    QCoreApplication::processEvents();
    form.search(QStringLiteral("jitter"));
    EXPECT_TRUE(visible("/perturbations/0/sigma")) << "what is there is found by its kind, too";
    EXPECT_FALSE(visible(Control::tp));
    form.search(QStringLiteral("microseconds"));
    EXPECT_TRUE(visible("/cluster/efficiency/kernel_us")) << "nothing is called so";
    form.search({});
    EXPECT_TRUE(visible(Control::tp));
    EXPECT_FALSE(visible("/cluster/gpu/memory_bandwidth_gbs"));
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

TEST(FormParts, TellHowManyGpusShareANetworkCard)
{
    const auto parts = formParts();
    const auto hardware = std::ranges::find(parts, KeySection::gpu, &FormPart::section);
    sim::Scenario scenario = ::test::smallScenario();
    scenario.cluster = ::test::h100Cluster(16);
    const auto told = [&](int gpusPerNic, double bandwidthGBs) {
        scenario.cluster.tiers.back().gpusPerNic = gpusPerNic;
        scenario.cluster.tiers.back().bandwidthGBs = bandwidthGBs;
        return hardware->summary(scenario).join(QStringLiteral(" · ")).toStdString();
    };
    EXPECT_EQ(told(1, 50), "80.0 GiB · 8 a node · NVLink 450 GB/s · network 50.0 GB/s");
    EXPECT_EQ(told(2, 25), "80.0 GiB · 8 a node · NVLink 450 GB/s · 4 network cards of 25.0 GB/s, each shared by 2 GPUs");
    EXPECT_EQ(told(8, 25), "80.0 GiB · 8 a node · NVLink 450 GB/s · one network card of 25.0 GB/s, shared by 8 GPUs");
    EXPECT_EQ(told(3, 25), "80.0 GiB · 8 a node · NVLink 450 GB/s · 3 network cards of 25.0 GB/s, each shared by up to 3 GPUs");
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

} // namespace
} // namespace app
