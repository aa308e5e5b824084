// Text from outside, as messages show it.
#include "sim/scenario/json_text.h"
#include "sim/text/quoted.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace sim;

TEST(Quoted, LeavesShortTextAsItIs)
{
    EXPECT_EQ(quotedText("llama3-70b"), "\"llama3-70b\"");
    EXPECT_EQ(quotedText("größer → 日本"), "\"größer → 日本\"");
    EXPECT_EQ(shownText(""), "");
}

TEST(Quoted, CutsLongTextBetweenCharacters)
{
    EXPECT_EQ(quotedText(std::string(5000, 'x')), '"' + std::string(60, 'x') + "…\"");
    EXPECT_EQ(quotedText(std::string(60, 'x')), '"' + std::string(60, 'x') + '"');
    EXPECT_EQ(shownText("日本語", 2), "日本…");
}

TEST(Quoted, WritesOutWhatCannotBeSeen)
{
    EXPECT_EQ(shownText("a\nb\tc\r"), "a\\nb\\tc\\r");
    EXPECT_EQ(shownText(std::string_view("\x1b[2J\0\x7f", 6)), "\\x1b[2J\\x00\\x7f");
    EXPECT_EQ(shownText("\u202Etxt.exe\u200B"), "\\u202etxt.exe\\u200b") << "what turns or hides text";
    EXPECT_EQ(shownText("\xff\xc0\xaf\xed\xa0\x80 \xe6\x97"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD \uFFFD\uFFFD") << "no UTF-8";
}

TEST(Quoted, IsOneShortLineOfUtf8WhateverTheBytes)
{
    std::mt19937 random(7);
    for (int i = 0; i < 20000; ++i) {
        std::string bytes(random() % 200, ' ');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        const std::string text = shownText(bytes);
        EXPECT_TRUE(isUtf8(text));
        EXPECT_EQ(text.find_first_of("\n\r\x1b"), std::string::npos);
        EXPECT_LE(text.size(), 60U * 10 + 3);
    }
}
