// Settings of other frameworks: dropped on the window, asked about, opened; and the scenario copied as settings.
#include "app/shell/dialogs/copy_settings_dialog.h"
#include "app/shell/dialogs/settings_import_dialog.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/widgets/fold_section.h"
#include "app/shell/widgets/problem_banner.h"
#include "tests/app/shell/window_fixture.h"

#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QUrl>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr const char* kSettings =
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--max-position-embeddings 4096 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 "
    "--micro-batch-size 1 --global-batch-size 256 --bf16 --foo-bar 3\n";

constexpr const char* kSeventyBillion = "45-llama3-70b-64-gpus.json";

class SettingsDialogs : public WindowTest {
protected:
    QString file(const char* name, const QByteArray& text)
    {
        QFile out(folder.filePath(QString::fromUtf8(name)));
        EXPECT_TRUE(out.open(QIODevice::WriteOnly));
        out.write(text);
        return out.fileName();
    }
    void drop(const QStringList& paths)
    {
        QMimeData mime;
        QList<QUrl> urls;
        for (const QString& path : paths)
            urls << QUrl::fromLocalFile(path);
        mime.setUrls(urls);
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &enter);
        ASSERT_TRUE(enter.isAccepted());
        QDropEvent event({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &event);
        QCoreApplication::processEvents();
    }
    SettingsImportDialog* importing() { return window.findChild<SettingsImportDialog*>(); }
    CopySettingsDialog* copying() { return window.findChild<CopySettingsDialog*>(); }
    static void press(QWidget& in, const char* text)
    {
        for (QPushButton* button : in.findChildren<QPushButton*>())
            if (button->text() == QLatin1String(text))
                return button->click();
        FAIL() << "no button " << text;
    }
    template <class T>
    static T* named(QWidget& in, const char* name)
    {
        for (T* one : in.findChildren<T*>())
            if (one->accessibleName() == QLatin1String(name))
                return one;
        return nullptr;
    }

    QTemporaryDir folder;
};

TEST_F(SettingsDialogs, ADroppedScriptIsAskedAboutAndOpened)
{
    drop({file("run.sh", kSettings)});
    ASSERT_TRUE(importing());
    auto* gpus = named<QSpinBox>(*importing(), "GPUs in all");
    auto* cluster = named<QComboBox>(*importing(), "Cluster");
    ASSERT_TRUE(gpus);
    ASSERT_TRUE(cluster);
    EXPECT_EQ(gpus->value(), 8);
    gpus->setValue(32);
    cluster->setCurrentIndex(cluster->findData(QStringLiteral("\"dgx-a100\"")));
    const auto* table = named<QTableView>(*importing(), "Settings");
    ASSERT_TRUE(table);
    bool hasFoo = false;
    for (int row = 0; row < table->model()->rowCount(); ++row)
        hasFoo = hasFoo || table->model()->index(row, 0).data().toString() == QLatin1String("--foo-bar");
    EXPECT_TRUE(hasFoo) << "what is unknown is listed first";
    press(*importing(), "Open");
    settle();
    EXPECT_EQ(shownLayout().worldSize(), 32);
    EXPECT_EQ(shownLayout().tp, 4);
    EXPECT_EQ(window.desk().simulation()->scenario().cluster.nodes, 4);
    EXPECT_TRUE(window.session().isModified()) << "it is in no file";
}

/// Five micro-batches are no equal rounds of two: nothing can be shown but what the file says.
TEST_F(SettingsDialogs, AJobWithAProblemShowsItsOwnValuesAndCanBeRepaired)
{
    open(kSeventyBillion);
    drop({file("small.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 5\nseq_len = 8192\n"
                             "[parallelism]\ntensor_parallel_degree = 2\npipeline_parallel_degree = 2\n"
                             "pipeline_parallel_schedule = \"Interleaved1F1B\"\n")});
    ASSERT_TRUE(importing());
    bool saysWhy = false;
    for (const QLabel* label : importing()->findChildren<QLabel*>())
        saysWhy = saysWhy || label->text().contains(QStringLiteral("wants whole groups of 2"));
    EXPECT_TRUE(saysWhy);
    press(*importing(), "Open");
    settle();
    const Session& session = window.session();
    ASSERT_FALSE(session.isLegal());
    EXPECT_EQ(session.scenario(), nullptr);
    ASSERT_TRUE(session.shownValues());
    EXPECT_EQ(session.shownValues()->model.numHiddenLayers, 32) << "those of the job before are 80";
    EXPECT_EQ(session.displayName(), QStringLiteral("small.toml"));
    EXPECT_FALSE(session.hasWork()) << "it can be imported again";
    bool told = false;
    for (const FoldHeader* header : window.form().findChildren<FoldHeader*>()) {
        EXPECT_FALSE(header->toolTip().contains(QStringLiteral("80 layers"))) << header->toolTip().toStdString();
        told = told || header->toolTip().contains(QStringLiteral("32 layers"));
    }
    EXPECT_TRUE(told);
    window.form().row(Control::globalBatchSize)->spinBox()->stepBy(1);
    settle();
    EXPECT_TRUE(session.isLegal());
    EXPECT_TRUE(session.hasWork());
    EXPECT_EQ(shownLayout().worldSize(), 4);
}

/// 64 GPUs are no multiple of 3 x 2 ranks, but 66 are; nor are these of 4 x 2, but 64 are.
TEST_F(SettingsDialogs, WhatWasRefusedIsTakenBesideWhatMakesItRight)
{
    QByteArray script(kSettings);
    script.replace("--tensor-model-parallel-size 4", "--tensor-model-parallel-size $TP");
    drop({file("run.sh", "TP=$1\n" + script)});
    ASSERT_TRUE(importing());
    auto* gpus = named<QSpinBox>(*importing(), "GPUs in all");
    auto* tensor = named<QSpinBox>(*importing(), "Tensor");
    ASSERT_TRUE(gpus && tensor);
    const auto mayOpen = [this] {
        for (const QPushButton* button : importing()->findChildren<QPushButton*>())
            if (button->text() == QLatin1String("Open"))
                return button->isEnabled();
        return false;
    };
    gpus->setValue(64);
    EXPECT_TRUE(mayOpen());
    tensor->setValue(3);
    EXPECT_FALSE(mayOpen());
    gpus->setValue(66);
    EXPECT_TRUE(mayOpen());
    tensor->setValue(4);
    EXPECT_FALSE(mayOpen());
    gpus->setValue(64);
    EXPECT_TRUE(mayOpen());
    press(*importing(), "Open");
    settle();
    EXPECT_EQ(shownLayout().tp, 4);
    EXPECT_EQ(shownLayout().dp, 8);
}

/// The settings make 8 ranks a replica: 100 GPUs would be opened as 104.
TEST_F(SettingsDialogs, AnAnswerThatCannotBeSaysWhyBelowItsFieldAndOpensNothing)
{
    drop({file("run.sh", kSettings)});
    ASSERT_TRUE(importing());
    auto* gpus = named<QSpinBox>(*importing(), "GPUs in all");
    ASSERT_TRUE(gpus);
    const auto saysAFieldIsWrong = [this] {
        for (const QLabel* label : importing()->findChildren<QLabel*>())
            if (label->property("role") == QByteArray("error") && !label->isHidden() &&
                label->text().endsWith(QLatin1String("nearest: 96, 104")))
                return true;
        return false;
    };
    gpus->setFocus();
    gpus->selectAll();
    QTest::keyClicks(gpus, QStringLiteral("100"));
    QTest::keyClick(gpus, Qt::Key_Return);
    QCoreApplication::processEvents();
    ASSERT_TRUE(importing()) << "the Enter that ends the typing opens nothing else";
    EXPECT_TRUE(saysAFieldIsWrong());
    EXPECT_THAT(gpus->accessibleDescription().toStdString(), HasSubstr("96, 104"));
    press(*importing(), "Open");
    QCoreApplication::processEvents();
    ASSERT_TRUE(importing()) << "nor does a click";
    gpus->setValue(64); // the batch divides into eight
    EXPECT_FALSE(saysAFieldIsWrong());
    press(*importing(), "Open");
    settle();
    EXPECT_EQ(shownLayout().worldSize(), 64);
}

/// 1280 × 720 at text of 200 %, less what a window manager adds; a key that the form does not have is told in words, too.
TEST_F(SettingsDialogs, WhatBecameOfSettingsFitsASmallScreenInWords)
{
    drop({file("run.sh", QByteArray(kSettings).replace("--bf16", "--use-flash-attn --bf16"))});
    ASSERT_TRUE(importing());
    for (const QComboBox* box : importing()->findChildren<QComboBox*>())
        EXPECT_LE(box->minimumSizeHint().width(), 300) << box->accessibleName().toStdString();
    EXPECT_LE(importing()->minimumSizeHint().width(), 620);
    auto* filter = named<QComboBox>(*importing(), "Settings that are listed");
    ASSERT_TRUE(filter);
    filter->setCurrentIndex(1); // all
    const QAbstractItemModel& all = *named<QTableView>(*importing(), "Settings")->model();
    QStringList meanings;
    for (int row = 0; row < all.rowCount(); ++row)
        meanings << all.index(row, all.columnCount() - 1).data().toString();
    EXPECT_TRUE(meanings.contains(QStringLiteral("Flash attention"))) << meanings.join(QLatin1Char(';')).toStdString();
    for (const QString& meaning : meanings)
        EXPECT_FALSE(meaning.startsWith(QLatin1Char('/'))) << meaning.toStdString();
}

/// As it opens; 1280 × 720 at text of 150 and of 200 %, less what a window manager adds.
TEST_F(SettingsDialogs, WhatThereIsToSayOfASettingIsShownWhole)
{
    drop({file("run.sh", QByteArray(kSettings).replace("--bf16", "--use-flash-attn --bf16"))});
    ASSERT_TRUE(importing());
    auto* filter = named<QComboBox>(*importing(), "Settings that are listed");
    ASSERT_TRUE(filter);
    filter->setCurrentIndex(1); // all
    const auto* table = named<QTableView>(*importing(), "Settings");
    ASSERT_TRUE(table);
    constexpr int kBeside = 16;
    for (const QSize size : {QSize(860, 600), QSize(837, 440), QSize(624, 320)}) {
        importing()->resize(size);
        settle();
        bool wraps = false;
        for (int row = 0; row < table->model()->rowCount(); ++row)
            for (int column = 0; column < table->model()->columnCount(); ++column) {
                const QString text = table->model()->index(row, column).data().toString();
                const int width = table->columnWidth(column) - kBeside;
                const QRect needed = table->fontMetrics().boundingRect(QRect(0, 0, width, 10000), Qt::TextWordWrap, text);
                EXPECT_GE(table->rowHeight(row), needed.height()) << text.toStdString() << " at " << size.width();
                wraps = wraps || needed.height() > table->fontMetrics().height();
            }
        EXPECT_TRUE(wraps) << "or the test tells nothing, at " << size.width();
        EXPECT_LE(table->horizontalHeader()->length(), table->viewport()->width()) << "nothing lies beside, at " << size.width();
    }
}

TEST_F(SettingsDialogs, CancelledNothingHasChanged)
{
    open(kSeventyBillion);
    const std::string before = window.session().document().text();
    EXPECT_TRUE(window.openFile(file("run.sh", kSettings)).empty());
    ASSERT_TRUE(importing());
    press(*importing(), "Cancel");
    QCoreApplication::processEvents();
    EXPECT_EQ(window.session().document().text(), before);
}

TEST_F(SettingsDialogs, FilesOfOneJobAreDroppedTogether)
{
    const QString args = file("run.sh", QByteArray(kSettings).replace("--bf16", "--deepspeed --deepspeed_config ds.json --bf16"));
    drop({args, file("ds.json", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}})")});
    ASSERT_TRUE(importing());
    EXPECT_EQ(importing()->settings().kind().id, "megatron-deepspeed");
}

TEST_F(SettingsDialogs, ACommandLineInTheClipboardIsTakenUp)
{
    QGuiApplication::clipboard()->setText(QString::fromUtf8(kSettings));
    window.run(CommandId::openFromClipboard);
    ASSERT_TRUE(importing());
    EXPECT_EQ(importing()->settings().kind().id, "megatron-args");
}

TEST_F(SettingsDialogs, WhatIsNoSettingsIsToldAsBefore)
{
    const Problems problems = window.openFile(file("notes.txt", "to do: buy milk\n"));
    ASSERT_FALSE(problems.empty());
    EXPECT_THAT(problems.front().message, HasSubstr("a text, not JSON"));
    EXPECT_FALSE(importing());
}

TEST_F(SettingsDialogs, CopiedAsFlagsItIsTheSameJobAgain)
{
    open(kSeventyBillion);
    window.run(CommandId::copySettings);
    ASSERT_TRUE(copying());
    for (const sim::FrameworkKind& kind : sim::frameworkKinds()) {
        if (!kind.isExported)
            continue;
        copying()->show(kind.id);
        std::string expected;
        try {
            expected = sim::exportSettings(*window.session().scenario(), kind.id, catalogue()).text;
        } catch (const sim::Error&) {
        }
        EXPECT_EQ(copying()->text().toStdString(), QString::fromStdString(expected).toStdString()) << kind.id;
    }
    copying()->show("megatron-args");
    copying()->copy();
    const std::string flags = QGuiApplication::clipboard()->text().toStdString();
    EXPECT_THAT(flags, HasSubstr("--tensor-model-parallel-size"));
    const sim::Imported back = sim::importSettings(
        {{"clipboard", flags}}, {.kind = {}, .gpus = static_cast<int>(shownLayout().worldSize()), .cluster = {}}, catalogue());
    const sim::Scenario again = test::scenario(sim::ScenarioDocument::parse(back.scenario));
    EXPECT_EQ(again.layout.tp, shownLayout().tp);
    EXPECT_EQ(again.layout.pp, shownLayout().pp);
    EXPECT_EQ(again.layout.dp, shownLayout().dp);
}

TEST_F(SettingsDialogs, ARefusalOffersWhatTheFrameworkWouldTakeAndSetsItAsOneStep)
{
    ASSERT_TRUE(window.openFile(galleryFile(kSeventyBillion)).empty());
    settle();
    window.session().edit({.assignments = {{"/layout/zero_stage", "2"}}, .text = "ZeRO 2"});
    ASSERT_TRUE(window.session().isLegal());
    ASSERT_GT(window.session().scenario()->layout.pp, 1);
    window.run(CommandId::copySettings);
    ASSERT_TRUE(copying());
    copying()->show("megatron-args");
    ASSERT_TRUE(copying()->text().isEmpty());
    const auto remedy = [&]() -> QPushButton* {
        for (QPushButton* button : copying()->findChildren<QPushButton*>())
            if (button->isVisibleTo(copying()) && button->text() == QStringLiteral("Set ZeRO 2 → 1"))
                return button;
        return nullptr;
    };
    ASSERT_TRUE(QTest::qWaitFor([&] { return remedy() != nullptr; }));
    remedy()->click();
    EXPECT_EQ(window.session().scenario()->layout.zeroStage, 1);
    EXPECT_THAT(copying()->text().toStdString(), HasSubstr("--use-distributed-optimizer")) << "the form that was asked for";
    EXPECT_FALSE(remedy());
    window.session().undoStack().undo();
    EXPECT_EQ(window.session().scenario()->layout.zeroStage, 2);
}

TEST_F(SettingsDialogs, WhatAFrameworkWouldRefuseIsSaidAndNotCopied)
{
    ASSERT_TRUE(window.openFile(galleryFile("55-deepseek-v3-256-gb200.json")).empty());
    settle();
    window.run(CommandId::copySettings);
    ASSERT_TRUE(copying());
    bool anyRefused = false;
    for (const sim::FrameworkKind& kind : sim::frameworkKinds()) {
        if (!kind.isExported)
            continue;
        copying()->show(kind.id);
        for (const QPushButton* button : copying()->findChildren<QPushButton*>())
            if (button->text() == QLatin1String("Copy")) {
                EXPECT_EQ(button->isEnabled(), !copying()->text().isEmpty()) << kind.id;
            }
        if (copying()->text().isEmpty()) {
            anyRefused = true;
            bool isTold = false;
            for (const QLabel* label : copying()->findChildren<QLabel*>())
                isTold = isTold || label->text().contains(QLatin1String("would refuse this layout"));
            EXPECT_TRUE(isTold) << kind.id;
        }
    }
    EXPECT_TRUE(anyRefused);
}

} // namespace
} // namespace app
