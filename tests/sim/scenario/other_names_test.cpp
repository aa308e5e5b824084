// Keys and numbers as others write them are answered with what they are here.
#include "sim/scenario/other_names.h"

#include <gtest/gtest.h>

namespace {

TEST(OtherNames, WhatFrameworksSayIsTold)
{
    EXPECT_EQ(sim::ownKey("seq_len"), "training.sequence_length");
    EXPECT_EQ(sim::ownKey("MBS"), "training.micro_batch_size");
    EXPECT_EQ(sim::ownKind("zero-bubble"), "zb-h1, zb-v or interleaved-zb");
    EXPECT_EQ(sim::ownKey("global_batch_tokens"), "training.global_batch_size, which counts sequences");
    EXPECT_EQ(sim::ownKey("sequence_lenght"), "") << "mistyped: the nearest is told";
}

TEST(OtherNames, NumbersLoseTheirUnit)
{
    EXPECT_EQ(sim::withoutUnitText("8k"), "; a number has no unit here: 8192 or 8000");
    EXPECT_EQ(sim::withoutUnitText("15T"), "; a number has no unit here: 1.5e+13");
    EXPECT_EQ(sim::withoutUnitText("4M"), "; a number has no unit here: 4000000");
    EXPECT_EQ(sim::withoutUnitText("7b"), "; a number has no unit here: 7e+09");
    EXPECT_EQ(sim::withoutUnitText("400Gb/s"), "; a number has no unit here, the key's name says it");
    EXPECT_EQ(sim::withoutUnitText("80 GiB"), "; a number has no unit here, the key's name says it");
    EXPECT_EQ(sim::withoutUnitText("45 %"), "; a number has no unit here: 0.45");
    EXPECT_EQ(sim::withoutUnitText("4096"), "; a number stands without quotes: 4096");
    for (const char* other : {"", "none", "k", "1f1b-interleaved", "8x7b", "nan", "1e999"})
        EXPECT_EQ(sim::withoutUnitText(other), "") << other;
}

} // namespace
