// Fonts and widgets need an application; one serves the whole test program.
#pragma once

#include <QApplication>

#include <gtest/gtest.h>

#include <memory>

namespace test {

class Environment : public ::testing::Environment {
public:
    void SetUp() override { m_application = std::make_unique<QApplication>(m_count, m_arguments); }
    void TearDown() override { m_application.reset(); }

private:
    int m_count = 1;
    char m_name[5] = "test";
    char* m_arguments[2] = {m_name, nullptr};
    std::unique_ptr<QApplication> m_application;
};

} // namespace test
