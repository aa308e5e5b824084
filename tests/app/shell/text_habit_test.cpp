// What a file says is shown as it is written: no name is HTML, and no text reads a file.
#include "app/shell/widgets/text_habit.h"

#include "app/shell/form/form_row.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/presentation/presentation.h"
#include "tests/app/shell/window_fixture.h"
#include "tests/support/patience.h"

#include <QApplication>
#include <QDialog>
#include <QElapsedTimer>
#include <QFile>
#include <QHelpEvent>
#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMessageBox>
#include <QTemporaryDir>
#include <QTextDocument>
#include <QToolButton>
#include <QToolTip>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class TextHabitTest : public WindowTest {
protected:
    TextHabitTest() : picture(folder.filePath(QStringLiteral("picture.png")))
    {
        QImage image(40, 30, QImage::Format_RGB32);
        image.fill(Qt::red);
        EXPECT_TRUE(image.save(picture));
        html = QStringLiteral("<img src=\"file://%1\">").arg(picture);
    }
    /// A scenario whose texts are HTML and Markdown with a picture.
    QString scenario()
    {
        QFile from(galleryFile(kSixteen));
        EXPECT_TRUE(from.open(QIODevice::ReadOnly));
        QJsonObject object = QJsonDocument::fromJson(from.readAll()).object();
        object[QStringLiteral("name")] = html;
        object[QStringLiteral("description")] = QStringLiteral("%1 and ![it](file://%2). And more.").arg(html, picture);
        object[QStringLiteral("source")] = html;
        QFile to(folder.filePath(QStringLiteral("named.json")));
        EXPECT_TRUE(to.open(QIODevice::WriteOnly));
        to.write(QJsonDocument(object).toJson());
        return to.fileName();
    }
    void expectPlainTexts(const char* where)
    {
        QCoreApplication::processEvents();
        for (QWidget* of : QApplication::topLevelWidgets())
            for (const QLabel* label : of->findChildren<QLabel*>()) {
                if (!label->testAttribute(Qt::WA_WState_Polished) || label->inherits("QTipLabel"))
                    continue;
                EXPECT_NE(label->textFormat(), Qt::AutoText) << where << ": " << label->text().toStdString();
                EXPECT_TRUE(label->textFormat() == Qt::PlainText || !label->text().contains(QLatin1String("<img src=\"file")))
                    << where << ": " << label->text().toStdString();
            }
    }
    /// What each widget tells of itself, as a pointer that rests on it sees it; what it has told before is not asked again.
    void expectPlainTips(const char* where)
    {
        for (QWidget* of : QApplication::topLevelWidgets())
            for (QWidget* widget : of->findChildren<QWidget*>()) {
                if (!widget->isVisible() || widget->toolTip().isEmpty() || widget->property("told") == widget->toolTip())
                    continue;
                widget->setProperty("told", widget->toolTip());
                QToolTip::hideText();
                const QPoint middle = widget->rect().center();
                QHelpEvent help(QEvent::ToolTip, middle, widget->mapToGlobal(middle));
                QApplication::sendEvent(widget, &help);
                EXPECT_FALSE(QToolTip::text().contains(QLatin1String("<img src=\"file")))
                    << where << ": " << QToolTip::text().toStdString();
                tips += QToolTip::text().contains(picture) ? 1 : 0;
            }
        QToolTip::hideText();
    }

    QTemporaryDir folder;
    QString picture, html;
    int tips = 0; ///< that told of the file's text
};

/// Whatever asks and shows, of a scenario whose texts are HTML.
TEST_F(TextHabitTest, NoDialogAndNoTipTakesAFilesTextForHtml)
{
    ASSERT_TRUE(window.openFile(scenario()).empty());
    settle();
    expectPlainTips("the workspace");
    for (const CommandId id :
         {CommandId::settings, CommandId::nameScenario, CommandId::exportFigure, CommandId::exportTable, CommandId::exportFilm,
          CommandId::copySettings, CommandId::chooseSchedule, CommandId::trainScenario, CommandId::attachRun, CommandId::palette,
          CommandId::keys, CommandId::glossary}) {
        const std::string name = "command " + std::to_string(static_cast<int>(id));
        window.run(id);
        QCoreApplication::processEvents();
        expectPlainTexts(name.c_str());
        expectPlainTips(name.c_str());
        int dialogs = 0;
        for (QDialog* dialog : window.findChildren<QDialog*>())
            if (dialog->isVisible()) {
                dialog->reject();
                ++dialogs;
            }
        EXPECT_EQ(dialogs, 1) << name;
        settle();
    }
    window.run(CommandId::present);
    settle();
    expectPlainTexts("before an audience");
    window.presentation()->close();
    window.run(CommandId::pinBaseline);
    window.form().row(Control::pp)->spinBox()->stepBy(1);
    settle();
    for (const CommandId dock : {CommandId::showOps, CommandId::showPlan}) {
        window.run(dock);
        settle();
    }
    expectPlainTexts("a baseline, the table of ops and the plan");
    expectPlainTips("a baseline, the table of ops and the plan");
    EXPECT_GT(tips, 0) << "something tells of the file's text";
}

TEST_F(TextHabitTest, NoViewTakesAFilesTextForHtml)
{
    ASSERT_TRUE(window.openFile(scenario()).empty());
    expectPlainTexts("at opening");
    settle();
    expectPlainTexts("the workspace");
    for (QToolButton* more : window.findChildren<QToolButton*>())
        if (more->text() == QStringLiteral("What to look at"))
            more->click();
    expectPlainTexts("what to look at");
    window.run(CommandId::pinBaseline);
    window.form().row(Control::pp)->spinBox()->stepBy(1);
    settle();
    window.run(CommandId::showCompare);
    settle();
    expectPlainTexts("the comparison");
    window.showGallery();
    expectPlainTexts("the gallery"); // its status line says what Esc goes back to
}

TEST_F(TextHabitTest, AMessageBoxAsksWithTheNameAsItIsWritten)
{
    QMessageBox box(QMessageBox::Question, {}, html, QMessageBox::Save, &window);
    box.show();
    expectPlainTexts("a message box");
    EXPECT_TRUE(box.findChild<QLabel*>(QStringLiteral("qt_msgbox_label"))->text().contains(html));
}

TEST_F(TextHabitTest, ATooltipIsPlainUnlessItIsAParagraphOfTheProgram)
{
    QLabel label(QStringLiteral("x"));
    label.show();
    const auto told = [&](const QString& tip) {
        label.setToolTip(tip);
        QToolTip::hideText();
        QHelpEvent help(QEvent::ToolTip, {1, 1}, label.mapToGlobal(QPoint(1, 1)));
        QApplication::sendEvent(&label, &help);
        return QToolTip::text();
    };
    EXPECT_EQ(told(html), Qt::convertFromPlainText(html));
    EXPECT_EQ(told(QStringLiteral("plain & simple")), QStringLiteral("plain & simple"));
    EXPECT_EQ(told(QStringLiteral("<p>wrapped</p>")), QStringLiteral("<p>wrapped</p>"));
    EXPECT_EQ(told(QStringLiteral("<p>") + html), Qt::convertFromPlainText(QStringLiteral("<p>") + html)) << "of a file";
    const QString drawn = QStringLiteral("<p>a</p><p><img width=\"1\" height=\"1\" src=\"data:image/png;base64,AA==\"></p>");
    EXPECT_EQ(told(drawn), drawn);
}

} // namespace
TEST(TextHabit, MoreMarksThanAnybodyWritesAreWords)
{
    const QString usual = QStringLiteral("**Look** at `tp` 8: 1. first, 2. second - and a_b * c");
    EXPECT_EQ(readableMarkdown(usual), usual);
    for (const QString& many :
         {QStringLiteral("**a").repeated(20'000), QStringLiteral("- ").repeated(20'000), QStringLiteral("1. ").repeated(20'000),
          QStringLiteral("> ").repeated(20'000), QStringLiteral("[").repeated(20'000)}) {
        QTextDocument document;
        QElapsedTimer timer;
        timer.start();
        document.setMarkdown(readableMarkdown(many));
        for (const QChar letter : {QLatin1Char('a'), QLatin1Char('1')})
            EXPECT_EQ(document.toPlainText().count(letter), many.count(letter)) << many.left(6).toStdString();
        EXPECT_LT(timer.elapsed(), 5000 * ::test::patience())
            << "as its square it would take a minute: " << many.left(6).toStdString();
    }
}

} // namespace app
