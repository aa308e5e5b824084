// The scenario form of one session for all tests of a program, with hands that type into it.
#pragma once

#include "app/shell/form/scenario_form.h"
#include "app/shell/widgets/fold_section.h"
#include "app/shell/widgets/style.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QCheckBox>
#include <QTest>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace app::test {

/// A session with its form; judged as the window does it, but at once.
struct SharedForm {
    SharedForm()
    {
        applyStyle(lightTheme(), QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets"));
        QObject::connect(&session, &Session::changed, &form, [this] { judge(); });
        QObject::connect(&form, &ScenarioForm::layoutRuleChanged, &form, [this] { judge(); });
    }
    void judge()
    {
        if (session.isOpen() && session.scenario())
            form.setLegalValues(legalValues(session.document(), catalogue(), *session.scenario(), form.layoutRule()));
    }
    Session session{catalogue(), {}};
    ScenarioForm form{session};
};

/// One form for all tests: it is a form of whatever is open.
class FormTest : public testing::Test {
protected:
    static void SetUpTestSuite() { s_shared = std::make_unique<SharedForm>(); }
    static void TearDownTestSuite() { s_shared.reset(); }
    FormTest()
    {
        form.resize(300, 700);
        form.search({});
        form.setFolds({});
    }
    void open(const char* name)
    {
        ASSERT_TRUE(session.open(galleryFile(name)).empty());
        form.show();
        QApplication::setActiveWindow(&form);
        QCoreApplication::processEvents();
    }
    void unfoldAll()
    {
        for (FoldSection* fold : form.findChildren<FoldSection*>())
            fold->setOpen(true);
        QCoreApplication::processEvents();
    }
    void type(std::string_view pointer, const char* text)
    {
        LegalSpinBox* spin = form.row(pointer)->spinBox();
        spin->setFocus();
        spin->selectAll();
        QTest::keyClicks(spin, QString::fromUtf8(text));
        QTest::keyClick(spin, Qt::Key_Return);
    }
    QCheckBox* keepGpus() ///< "Keep the GPUs: …"
    {
        const auto boxes = form.findChildren<QCheckBox*>();
        const auto found =
            std::ranges::find_if(boxes, [](const QCheckBox* box) { return box->text().startsWith(QStringLiteral("Keep")); });
        return found == boxes.end() ? nullptr : *found;
    }
    std::string json(std::string_view pointer) { return session.document().get(pointer).value_or("nothing"); }
    QString fileText() const { return QString::fromStdString(session.savedDocument()->text()); }
    QString nowText() const { return QString::fromStdString(session.document().text()); }

    static inline std::unique_ptr<SharedForm> s_shared;
    Session& session = s_shared->session;
    ScenarioForm& form = s_shared->form;
};

} // namespace app::test
