#include "app/shell/window/problem_page.h"

#include "app/session/scenario_link.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_words.h"
#include "app/shell/widgets/style.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace app {
namespace {

constexpr int kWidest = 900; ///< of a line that can still be read

/// One problem: what is wrong, and for whoever edits the file, where.
QFrame* makeCard(const sim::Problem& problem)
{
    auto* card = new QFrame;
    setRole(card, "card");
    card->setFocusPolicy(Qt::StrongFocus);
    auto* column = new QVBoxLayout(card);
    column->setContentsMargins(14, 10, 14, 10);
    column->setSpacing(4);
    const QString place = problem.pointer.empty() ? QString() : QObject::tr("In the file: %1").arg(beginningOf(problem.pointer));
    QStringList spoken;
    for (const auto& [text, role] : {std::pair{saidPlainly(problem), ""}, {place, "small"}}) {
        if (text.isEmpty())
            continue;
        auto* label = new QLabel(text);
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        if (*role != '\0')
            setRole(label, role);
        column->addWidget(label);
        spoken << text;
    }
    card->setAccessibleName(spoken.join(QStringLiteral(", ")));
    return card;
}

} // namespace

ProblemPage::ProblemPage(QWidget* parent)
    : QFrame(parent), m_title(new QLabel), m_where(new QLabel), m_count(new QLabel), m_again(new QPushButton(tr("Try Again"))),
      m_edit(new QPushButton(tr("Open in Editor"))), m_list(new QVBoxLayout), m_area(new QScrollArea)
{
    setRole(this, "page");
    setFocusProxy(m_again);
    setRole(m_title, "title");
    setRole(m_where, "muted");
    setRole(m_count, "section");
    for (QLabel* label : {m_title, m_where}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
    }
    m_where->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_edit->setToolTip(tr("With the program that this machine opens such files with"));
    setRole(m_again, "primary");
    auto* copy = new QPushButton(tr("Copy Problems"));
    auto* other = new QPushButton(tr("Open Another File…"));
    auto* gallery = new QPushButton(tr("Go to the Gallery"));
    connect(m_again, &QPushButton::clicked, this, [this] { Q_EMIT openRequested(m_path); });
    connect(m_edit, &QPushButton::clicked, this, &ProblemPage::edit);
    connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_text); });
    connect(other, &QPushButton::clicked, this, &ProblemPage::openOtherRequested);
    connect(gallery, &QPushButton::clicked, this, &ProblemPage::galleryRequested);

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    for (QPushButton* button : {m_again, m_edit, copy, other, gallery})
        buttons->addWidget(button);
    buttons->addStretch(1);
    m_list->setSpacing(8);
    auto* inside = new QWidget;
    auto* insideColumn = new QVBoxLayout(inside);
    insideColumn->setContentsMargins(0, 0, 12, 0);
    insideColumn->addLayout(m_list);
    insideColumn->addStretch(1);
    m_area->setWidget(inside);
    m_area->setWidgetResizable(true);
    m_area->setFrameShape(QFrame::NoFrame);
    setRole(m_area, "clear");
    m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_area->setAccessibleName(tr("Problems"));

    auto* middle = new QWidget;
    middle->setMaximumWidth(kWidest);
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(24, 40, 24, 24);
    column->setSpacing(8);
    column->addWidget(m_title);
    column->addWidget(m_where);
    column->addSpacing(8);
    column->addLayout(buttons);
    column->addSpacing(16);
    column->addWidget(m_count);
    column->addWidget(m_area, 1);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addStretch(1);
    row->addWidget(middle, 100);
    row->addStretch(1);
}

void ProblemPage::setProblems(const QString& path, const Problems& problems, const QString& settings)
{
    m_path = path;
    const QFileInfo file(path);
    const QString name = isScenarioLink(path) ? shortLink(path) : file.fileName().isEmpty() ? path : file.fileName();
    m_title->setText(settings.isEmpty() ? tr("%1 cannot be opened").arg(name)
                                        : tr("%1 cannot be opened with %2").arg(name, settings));
    m_again->setText(settings.isEmpty() ? tr("Try Again") : tr("Open Without It"));
    m_again->setToolTip(settings.isEmpty() ? tr("Reads the file anew, when it has been mended")
                                           : tr("Opens the file as it is, without what the command line sets"));
    m_where->setText(isScenarioLink(path) ? tr("A link of %1 characters").arg(separated(path.size()))
                                          : QDir::toNativeSeparators(file.absoluteFilePath()));
    m_edit->setVisible(file.isFile());
    while (const QLayoutItem* item = m_list->takeAt(0)) {
        item->widget()->deleteLater(); // perhaps it has the focus
        delete item;
    }
    m_text.clear();
    for (const sim::Problem& problem : problems)
        m_text += QString::fromStdString(problem.text()) + QLatin1Char('\n');
    const std::size_t shown = std::min(problems.size(), kMostProblemsShown); // the copy has all
    for (std::size_t i = 0; i < shown; ++i)
        m_list->addWidget(makeCard(problems[i]));
    const QString count = problemCount(problems.size()).toUpper();
    m_count->setText(problems.size() == 1      ? tr("WHAT IS WRONG")
                     : shown < problems.size() ? tr("THE FIRST %1 OF %2 PROBLEMS").arg(shown).arg(count)
                                               : tr("%1 PROBLEMS").arg(count));
    setAccessibleName(m_title->text());
    setAccessibleDescription(m_text);
}

void ProblemPage::edit()
{
    QDesktopServices::openUrl(QUrl::fromLocalFile(m_path));
}

} // namespace app
