// Words of lessons: what they link to, where they break, and what is hidden of them.
#include "app/canvas/masked_canvas.h"
#include "app/lessons/lesson_text.h"

#include <QRegularExpression>

#include <gtest/gtest.h>

namespace app {

TEST(LessonText, TermsAreLinkedWhereTheyAreFirstNamed)
{
    const std::vector<LessonTerm> terms{{QStringLiteral("micro-batch"), QStringLiteral("Micro-batch")},
                                        {QStringLiteral("micro-batches"), QStringLiteral("Micro-batch")},
                                        {QStringLiteral("pipeline"), QStringLiteral("Pipeline parallel")},
                                        {QStringLiteral("pipeline stage"), QStringLiteral("Stage")},
                                        {QStringLiteral("ZeRO"), QStringLiteral("ZeRO")}};
    EXPECT_EQ(withTerms(QStringLiteral("Eight **micro-batches**, a micro-batch each."), terms),
              QStringLiteral("Eight **[micro-batches](term:1)**, a micro-batch each."));
    EXPECT_EQ(withTerms(QStringLiteral("A pipeline stage of a pipeline"), terms),
              QStringLiteral("A [pipeline stage](term:3) of a pipeline"));
    EXPECT_EQ(withTerms(QStringLiteral("zero; `ZeRO`; pipelines; [ZeRO](x)"), terms),
              QStringLiteral("zero; `ZeRO`; pipelines; [ZeRO](x)"));
}

TEST(LessonText, LongWordsBreakAndNothingIsMarkup)
{
    const QString word(80, QLatin1Char('x'));
    const QString safe = safeMarkdown(word + QStringLiteral(" <b>![p](file)"));
    for (const QString& part : safe.split(QRegularExpression(QStringLiteral("[\\s\u200B]"))))
        EXPECT_LE(part.size(), 26) << qPrintable(part);
    EXPECT_EQ(QString(safe).remove(QChar(0x200B)), word + QStringLiteral(" &lt;b>! [p](file)"));
    EXPECT_EQ(safeMarkdown(QStringLiteral("short words **stay**")), QStringLiteral("short words **stay**"));
}

TEST(LessonText, ParagraphsStandApart)
{
    EXPECT_EQ(paragraphsOf(QStringLiteral("One.\n\nTwo,\nstill two.")),
              (QStringList{QStringLiteral("One."), QStringLiteral("Two,\nstill two.")}));
    EXPECT_TRUE(paragraphsOf({}).isEmpty());
}

TEST(LessonText, NumbersStayWithTheirUnits)
{
    EXPECT_EQ(safeMarkdown(QStringLiteral("300 GB/s, 16.9 GiB, **22 %**, 8 stages")),
              QStringLiteral("300\u00A0GB/\u2060s, 16.9\u00A0GiB, **22\u00A0%**, 8 stages"));
}

TEST(MaskedText, QuantitiesAreHiddenAndNamesStay)
{
    EXPECT_EQ(withoutQuantities("Rank 13 · pp 1, 33.8 GiB of 1,024.5 GiB"), "Rank 13 · pp 1, … GiB of … GiB");
    EXPECT_EQ(withoutQuantities("step 753 ms, 41.3 %, 2.5 GB/s"), "step … ms, … %, … GB/s");
    EXPECT_EQ(withoutQuantities("F0 B7, 8 micro-batches, layer 3 of 40"), "F0 B7, 8 micro-batches, layer 3 of 40");
    EXPECT_EQ(withoutQuantities("3 sends"), "3 sends") << "no seconds";
    EXPECT_EQ(withoutQuantities("12."), "12.");
    EXPECT_EQ(withoutQuantities("query, 5,120 × 640; 1.5 × more"), "query, 5,120 × 640; … × more");
    EXPECT_EQ(withoutQuantities("tp 8 × dp 8 × pp 64 = 4,096 ranks"), "tp 8 × dp 8 × pp 64 = 4,096 ranks");
    EXPECT_EQ(withoutQuantities(""), "");
    for (const char* axis : {"40 GiB", "0.5 s", "1,024.5\xC2\xA0MiB", "10%"})
        EXPECT_TRUE(isBareQuantity(axis)) << axis;
    for (const char* words : {"peak 33.8 GiB", "33.8 GiB of 40 GiB", "8", "", "GiB", "3 sends"})
        EXPECT_FALSE(isBareQuantity(words)) << words;
}

} // namespace app
