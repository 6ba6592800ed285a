#include "apps/fitted_tables.h"

#include <gtest/gtest.h>

namespace inferno::test {
namespace {

using apps::fitted_tables;

constexpr const char* kTable =
    "Before it.\n\n"
    "| Figure    |           A: median |   p |\n"
    "|-----------|--------------------:|----:|\n"
    "| E2E tok/s | 1817.34 (1445, n=3) | 0.1 |\n"
    "| TTFT — ms |                5.35 | 1.0 |\n"
    "\nA line after it that is longer than the table may be.\n";

TEST(FittedTables, WhatFitsOrIsNotForATerminalStaysAsItIs) {
  EXPECT_EQ(fitted_tables(kTable, std::nullopt), kTable);
  EXPECT_EQ(fitted_tables(kTable, 41), kTable);
  EXPECT_EQ(fitted_tables("", 41), "");
}

TEST(FittedTables, TheWidestCellsGoOnBelowThemselves) {
  EXPECT_EQ(fitted_tables(kTable, 33),
            "Before it.\n\n"
            "| Figure    |   A: median |   p |\n"
            "|-----------|------------:|----:|\n"
            "| E2E tok/s |     1817.34 | 0.1 |\n"
            "|           | (1445, n=3) |     |\n"
            "| TTFT — ms |        5.35 | 1.0 |\n"
            "\nA line after it that is longer than the table may be.\n");
}

TEST(FittedTables, NoWordIsCut) {
  EXPECT_EQ(fitted_tables("| a title | c\\|d |\n|-----|------|\n| one two | x |\n", 1),
            "| a     | c\\|d |\n"
            "| title |      |\n"
            "|-------|------|\n"
            "| one   | x    |\n"
            "| two   |      |\n");
}

}  // namespace
}  // namespace inferno::test
