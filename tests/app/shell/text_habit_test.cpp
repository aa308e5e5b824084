// What a file says is shown as it is written: no name is HTML, and no text reads a file.
#include "app/shell/widgets/text_habit.h"

#include "app/shell/form/form_row.h"
#include "app/shell/form/scenario_form.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QFile>
#include <QHelpEvent>
#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMessageBox>
#include <QTemporaryDir>
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

    QTemporaryDir folder;
    QString picture, html;
};

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
} // namespace app
