// Files of one name are told apart by their folders.
#include "app/session/names_apart.h"

#include <gtest/gtest.h>

namespace app {
namespace {

QStringList named(const QStringList& paths)
{
    return namesApart(paths, &QFileInfo::fileName);
}

TEST(NamesApart, AFileAloneHasItsNameAlone)
{
    EXPECT_EQ(named({QStringLiteral("/runs/a.json"), QStringLiteral("/runs/b.json")}),
              (QStringList{QStringLiteral("a.json"), QStringLiteral("b.json")}));
}

TEST(NamesApart, OfOneNameHaveTheFoldersThatTellThemApart)
{
    EXPECT_EQ(named({QStringLiteral("/runs/first/a.json"), QStringLiteral("/runs/second/a.json"), QStringLiteral("/b.json")}),
              (QStringList{QStringLiteral("a.json – first"), QStringLiteral("a.json – second"), QStringLiteral("b.json")}));
    EXPECT_EQ(named({QStringLiteral("/x/first/in/a.json"), QStringLiteral("/x/second/in/a.json")}),
              (QStringList{QStringLiteral("a.json – first/in"), QStringLiteral("a.json – second/in")}))
        << "as far up as they differ";
    EXPECT_EQ(named({QStringLiteral("/in/a.json"), QStringLiteral("/x/in/a.json")}),
              (QStringList{QStringLiteral("a.json – in"), QStringLiteral("a.json – x/in")}));
}

TEST(NamesApart, WithoutEndingsMoreAreOfOneName)
{
    EXPECT_EQ(namesApart({QStringLiteral("/first/a.json"), QStringLiteral("/second/a.trace")}, &QFileInfo::completeBaseName),
              (QStringList{QStringLiteral("a – first"), QStringLiteral("a – second")}));
}

} // namespace
} // namespace app
