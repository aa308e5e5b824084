// Names that are no UTF-8 are refused: they would be written under another name.
#include "app/shell/window/argument_bytes.h"

#include "app/shell/widgets/save_file.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace app {
namespace {

QString why(std::string argument)
{
    std::string program = "rankscope";
    const std::array<char*, 2> all{program.data(), argument.data()};
    return whyNoArguments(all);
}

TEST(ArgumentBytes, NamesThatAreNoUtf8AreRefused)
{
    EXPECT_EQ(why("out.png"), QString());
    EXPECT_EQ(why("größe – 大きさ.png"), QString());
    EXPECT_TRUE(why("gr\xF6\xDF"
                    "e.png")
                    .startsWith(QStringLiteral("gr\\xf6\\xdfe.png: is no valid UTF-8")))
        << why("gr\xF6\xDF"
               "e.png")
               .toStdString();
}

TEST(ArgumentBytes, NorIsOneWrittenThatADialogCouldOnlyGuess)
{
    EXPECT_EQ(whyNoSaveName(QStringLiteral("/tmp/größe.png")), QString());
    const QString guessed = QString::fromUtf8("/tmp/gr\xF6.png");
    EXPECT_TRUE(whyNoSaveName(guessed).contains(QStringLiteral("is no valid UTF-8"))) << "as a list of files tells it";
    EXPECT_FALSE(whyNoSaveName(QStringLiteral("/tmp/a") + QChar(0xD800)).isEmpty()) << "half of a character";
}

} // namespace
} // namespace app
