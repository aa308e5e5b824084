// What an expression means, what it refuses and where, and that no text can make it hang.
#include "sim/lesson/expression.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>

using namespace sim;

namespace {

/// Values by name; counts what was asked for.
class Table final : public Names {
public:
    Table(std::map<std::string, LessonValue, std::less<>> values, std::map<std::string, Table, std::less<>> below = {})
        : m_values(std::move(values)), m_below(std::move(below))
    {
    }
    Meaning find(std::string_view name) const override
    {
        asked.emplace_back(name);
        if (const auto found = m_values.find(name); found != m_values.end())
            return &found->second;
        if (const auto found = m_below.find(name); found != m_below.end())
            return static_cast<const Names*>(&found->second);
        return {};
    }
    bool takesArguments(std::string_view name) const override { return name == "groups"; }
    Meaning call(std::string_view name, std::span<const double> arguments) const override
    {
        if (name != "groups")
            return {};
        if (arguments.size() != 1 || arguments[0] > 3)
            throw Error("there is no such rank");
        return &m_values.at("ranks")[static_cast<std::size_t>(arguments[0])];
    }
    std::vector<std::string> known() const override
    {
        std::vector<std::string> names;
        for (const auto& [name, unused] : m_values)
            names.push_back(name);
        return names;
    }
    mutable std::vector<std::string> asked;

private:
    std::map<std::string, LessonValue, std::less<>> m_values;
    std::map<std::string, Table, std::less<>> m_below;
};

const Table& table()
{
    static const LessonValue groups = LessonValue::parse(R"([{"group":"tp","bytes":8},{"group":"dp","bytes":2}])");
    static const LessonValue ranks = LessonValue::parse(R"([{"tp":[0,1]},{"tp":[0,1]},{"tp":[2,3]},{"tp":[2,3]}])");
    static const Table names({{"step", 2.5},
                              {"fits", true},
                              {"kind", "1f1b"},
                              {"list", LessonValue::array({3, 1, 2})},
                              {"traffic", {{"total", 10}, {"groups", groups}}},
                              {"ranks", ranks}},
                             {{"half", Table({{"step", 1.25}, {"ranks", ranks}})}});
    return names;
}

LessonValue valueOf(const std::string& text)
{
    return Expression::parse(text).evaluate(table());
}

/// "7: …" without the word "character", or "holds".
std::string failure(const std::string& text)
{
    try {
        return "it is " + shownValue(valueOf(text));
    } catch (const ExpressionError& error) {
        return std::string(error.what()).substr(std::string_view("character ").size());
    }
}

} // namespace

TEST(Expression, CalculatesAsPeopleDo)
{
    EXPECT_EQ(valueOf("1 + 2 * 3 ^ 2"), 19.0);
    EXPECT_EQ(valueOf("-2 ^ 2"), -4.0);
    EXPECT_EQ(valueOf("2 ^ 3 ^ 2"), 512.0);
    EXPECT_EQ(valueOf("10 - 3 - 2"), 5.0);
    EXPECT_EQ(valueOf("12 / 3 / 2 * 1e3"), 2000.0);
    EXPECT_EQ(valueOf("(1 + 2) * -3"), -9.0);
    EXPECT_EQ(valueOf("step / half.step"), 2.0);
}

TEST(Expression, ComparesNumbersWordsAndListsAndChains)
{
    EXPECT_EQ(valueOf("1 < step < 3"), true);
    EXPECT_EQ(valueOf("1 < step < 2"), false);
    EXPECT_EQ(valueOf("kind == '1f1b' and kind != \"gpipe\""), true);
    EXPECT_EQ(valueOf("list == [3, 1, 2] and not list == [1, 2, 3]"), true);
    EXPECT_EQ(valueOf("not fits or step >= 2.5 and step <= 2.5"), true);
}

TEST(Expression, WhatDoesNotMatterIsNotAskedFor)
{
    const Table names({{"a", true}, {"b", false}});
    EXPECT_EQ(Expression::parse("a or b").evaluate(names), true);
    EXPECT_EQ(names.asked, std::vector<std::string>{"a"});
}

TEST(Expression, ReachesIntoListsByPlaceByNameAndAllAtOnce)
{
    EXPECT_EQ(valueOf("traffic.groups[1].bytes"), 2);
    EXPECT_EQ(valueOf("traffic.groups[\"tp\"].bytes"), 8);
    EXPECT_EQ(valueOf("sum(traffic.groups.bytes)"), 10.0);
    EXPECT_EQ(valueOf("groups(2).tp"), LessonValue::array({2, 3}));
    EXPECT_EQ(valueOf("half.groups(0).tp[1]"), 1);
}

TEST(Expression, HasElevenFunctions)
{
    EXPECT_EQ(valueOf("min(list)"), 1.0);
    EXPECT_EQ(valueOf("max(1, 7, 3)"), 7.0);
    EXPECT_EQ(valueOf("abs(-2)"), 2.0);
    EXPECT_EQ(valueOf("round(2.567, 1)"), 2.6);
    EXPECT_EQ(valueOf("round(-2.5)"), -3.0);
    EXPECT_EQ(valueOf("ceil(422.464)"), 423.0);
    EXPECT_EQ(valueOf("ceil(423)"), 423.0);
    EXPECT_EQ(valueOf("ceil(-2.5)"), -2.0);
    EXPECT_EQ(valueOf("ceil((0.1 + 0.2) * 10)"), 3.0) << "no more than binary digits";
    EXPECT_EQ(valueOf("sum(list)"), 6.0);
    EXPECT_EQ(valueOf("count(list)"), 3);
    EXPECT_EQ(valueOf("argmin(list)"), 1);
    EXPECT_EQ(valueOf("argmax(step, half.step)"), 0);
    EXPECT_EQ(valueOf("sort(list) == [1, 2, 3]"), true);
    EXPECT_EQ(valueOf("near(step, 2.4, 0.1)"), true);
    EXPECT_EQ(valueOf("near(step, 2.3, 0.1)"), false);
    EXPECT_EQ(valueOf("contains(\"attn.qkv\", \"qkv\")"), true);
    EXPECT_EQ(valueOf("contains(kind, \"nothing of it\")"), false);
}

TEST(Expression, SaysWhatIsWrongAndWhere)
{
    EXPECT_EQ(failure("1 +"), "4: it ends where a value is expected");
    EXPECT_EQ(failure("stp < 1"), "1: there is no \"stp\"; nearest: \"step\"");
    EXPECT_EQ(failure("2 * kind"), "5: a number is expected, not a word");
    EXPECT_EQ(failure("1 and fits"), "1: something true or false is expected, not a number");
    EXPECT_EQ(failure("step = 2"), "6: nothing is assigned here; write == to compare");
    EXPECT_EQ(failure("1 / (step - 2.5)"), "5: division by 0");
    EXPECT_EQ(failure("10 ^ 400"), "1: the result is no finite number");
    EXPECT_EQ(failure("list[3]"), "6: the list has 3 entries, counted from 0");
    EXPECT_EQ(failure("list[-1]"), "6: the list has 3 entries, counted from 0");
    EXPECT_EQ(failure("list[0.5]"), "6: the list has 3 entries, counted from 0");
    EXPECT_EQ(failure("traffic.groups[\"tq\"]"), "16: there is no entry \"tq\"; nearest: \"tp\"");
    EXPECT_EQ(failure("traffic.totl"), "1: there is no \"totl\"; nearest: \"total\"");
    EXPECT_EQ(failure("mean(list)"), "1: there is no function \"mean\"; nearest: \"min\", \"max\", \"near\"");
    EXPECT_EQ(failure("near(1, 2)"), "1: near: takes 3, not 2 arguments");
    EXPECT_EQ(failure("min([])"), "1: min: of nothing");
    EXPECT_EQ(failure("groups(9)"), "1: groups: there is no such rank");
    EXPECT_EQ(failure("kind < 2"), "1: only numbers have an order, not a word");
    EXPECT_EQ(failure("kind == 2"), "1: a word is not compared with a number");
    EXPECT_EQ(failure("traffic == traffic"), "1: objects are not compared; name a member");
    EXPECT_EQ(failure("(1 + 2"), "7: \")\" is missing after an expression in brackets");
    EXPECT_EQ(failure("'open"), "1: the quotation mark is not closed");
    EXPECT_EQ(failure("1 2"), "3: \"2\" does not belong here");
    EXPECT_EQ(failure("2x"), "2: a number ends in letters");
    EXPECT_EQ(failure(""), "1: it ends where a value is expected");
    EXPECT_EQ(failure("\xff"), "1: a value is expected, not \"?\"");
}

TEST(Expression, TellsBothSidesOfWhatDoesNotHold)
{
    EXPECT_EQ(Expression::parse("step < 0.4 * half.step and fits").sides(table()),
              "step is 2.5, 0.4 * half.step is 0.5, fits is true");
    EXPECT_EQ(Expression::parse("near(step, 2, 0.1)").sides(table()), "step is 2.5");
}

TEST(Expression, LengthDepthAndWorkAreBounded)
{
    EXPECT_EQ(failure(std::string(5000, '1')).substr(0, 4), "2001");
    EXPECT_NE(failure(std::string(900, '(') + "1" + std::string(900, ')')).find("nested more than"), std::string::npos);
    EXPECT_NE(failure(std::string(900, '-') + "1").find("nested more than"), std::string::npos);
    EXPECT_NE(failure(std::string(900, '[') + std::string(900, ']')).find("nested more than"), std::string::npos);
    std::string chain = "1";
    for (int i = 0; i < 400; ++i)
        chain += "+1";
    EXPECT_NE(failure(chain).find("operators in a row"), std::string::npos);

    LessonValue million = LessonValue::array();
    for (int i = 0; i < 500'000; ++i)
        million.push_back(i);
    const Table names({{"l", std::move(million)}});
    EXPECT_EQ(Expression::parse("sum(l) > 0").evaluate(names), true);
    EXPECT_THROW(Expression::parse("sum(l) + sum(l) + sum(l) + sum(l) + sum(l)").evaluate(names), ExpressionError);
}

TEST(Expression, AnyTextIsAValueOrAnError)
{
    constexpr std::array kWords = {"1",    "2.5",   "step",   "fits", "list", "traffic", ".groups", "half", ".step", "kind",
                                   "'w'",  "[",     "]",      "(",    ")",    ",",       "+",       "-",    "*",     "/",
                                   "^",    "<",     "<=",     "==",   "!=",   "and",     "or",      "not",  "min",   "near",
                                   "sort", "count", "groups", "\xc3", "=",    ".",       "1e308"};
    std::mt19937 random(1);
    int values = 0;
    for (int i = 0; i < test::tries(200'000); ++i) {
        std::string text;
        for (std::size_t words = 1 + random() % 9; words > 0; --words)
            text += std::string(kWords[random() % kWords.size()]) + (random() % 4 == 0 ? "" : " ");
        try {
            const Expression expression = Expression::parse(text);
            static_cast<void>(expression.sides(table()));
            static_cast<void>(expression.evaluate(table()));
            ++values;
        } catch (const ExpressionError& error) {
            ASSERT_LE(error.position(), text.size()) << text;
        }
    }
    EXPECT_GT(values, test::tries(5000));
}
