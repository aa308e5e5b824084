// The window's words: what terms mean, on the cards themselves and in the glossary, and where a setting is.
#include "app/lessons/lesson_panel.h"
#include "app/session/scenario_keys.h"
#include "app/shell/dialogs/help_dialog.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/term_image.h"
#include "app/shell/window/drawn_terms.h"
#include "app/shell/window/main_window.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QCursor>
#include <QDockWidget>

namespace app {

void MainWindow::readHelp()
{
    const Problems problems = problemsOf({}, [this]() -> Problems {
        m_help = Help::read(m_session.catalogue().assets());
        return {};
    });
    if (!problems.empty())
        m_banner->tell(tr("The glossary cannot be read"), problems);
    std::vector<LessonTerm> words;
    for (const HelpEntry& entry : m_help.entries())
        for (const QString& word : entry.prose)
            words.push_back({.word = word, .title = entry.title});
    m_lesson->setTerms(std::move(words));
    m_form->setTerms([this](const FormRow& row) { return m_help.aboutSetting(row.key().pointer, row.labelText()); });
    m_form->setOtherNames([this](std::string_view pointer) { return m_help.namesOf(pointer); });
    connect(m_form, &ScenarioForm::termRequested, this, &MainWindow::showHelp);
    showTermsOnCards();
}

/// Two sentences and a drawing each, in the theme's colours. Pages that are built later ask for theirs then.
void MainWindow::showTermsOnCards()
{
    if (auto* dialog = findChild<HelpDialog*>())
        dialog->setTheme(themeFor(m_settings.theme));
    for (MetricCard* card : findChildren<MetricCard*>())
        if (const HelpEntry* entry = m_help.about(card->title())) {
            if (card->term().isEmpty()) // the first time
                connect(card, &MetricCard::termRequested, this, [this, card] {
                    if (const HelpEntry* asked = m_help.about(card->title())) // its title says more with a step
                        showHelp(asked->title);
                });
            card->setTerm(entry->title, [entry = *entry, theme = m_settings.theme] {
                return QStringLiteral("<p>%1</p>").arg(entry.text.toHtmlEscaped()) + // as HTML it is wrapped
                       termImageHtml(entry, themeFor(theme));
            });
        }
}

/// The first of them that is a term; empty: none is.
QString MainWindow::termAmong(const QStringList& words) const
{
    for (const QString& word : words)
        if (const HelpEntry* entry = m_help.aboutDrawn(word))
            return entry->title;
    return {};
}

/// On a word of a picture or of a table: what it means. Elsewhere the docks that there are.
void MainWindow::contextMenuEvent(QContextMenuEvent* event)
{
    const QPoint at = event->reason() == QContextMenuEvent::Mouse ? event->globalPos() : QCursor::pos();
    const QStringList words = drawnWordsAt(*this, at);
    const QString term = m_masksNumbers ? QString() : termAmong(words);
    if (!term.isEmpty())
        showHelp(term);
    if (!term.isEmpty() || !words.isEmpty())
        return event->accept();
    QMainWindow::contextMenuEvent(event);
}

/// At that entry; of nothing: at the term of the card or the setting that has the focus, else the whole.
void MainWindow::showHelp(const QString& wanted)
{
    const auto* focused = qobject_cast<MetricCard*>(QApplication::focusWidget());
    QString title = !wanted.isEmpty() ? wanted : focused ? focused->term() : m_form->focusedTerm();
    if (const QWidget* part = QApplication::focusWidget(); title.isEmpty() && part != nullptr)
        title = termAmong(focusedWords(*part));
    auto* dialog = findChild<HelpDialog*>();
    if (!dialog) {
        const auto nameOf = [](const std::string& pointer) {
            const ScenarioKey* key = findScenarioKey(pointer);
            return key ? tr(key->label) : QString();
        };
        dialog = new HelpDialog(m_help, nameOf, themeFor(m_settings.theme), this);
        connect(dialog, &HelpDialog::settingRequested, this, &MainWindow::showSetting);
    }
    dialog->showEntry(title);
    dialog->show();
    dialog->raise();
    dialog->activateWindow();
}

/// In the form, which other pages have not: it goes there, where a scenario is open.
void MainWindow::showSetting(const QString& pointer)
{
    const ScenarioKey* key = findScenarioKey(pointer.toStdString());
    if (!key || !m_session.isOpen())
        return;
    showWorkspace();
    m_formDock->show();
    m_formDock->raise();
    m_form->search(tr(key->label));
    m_form->focusSearch();
}

} // namespace app
