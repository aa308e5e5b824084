#include "app/shell/widgets/problem_banner.h"

#include "app/session/scenario_keys.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_words.h"
#include "app/shell/widgets/style.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>
#include <span>

namespace app {
namespace {
constexpr int kTallestList = 180;
}

ProblemBanner::ProblemBanner(QWidget* parent)
    : QFrame(parent), m_title(new QLabel), m_list(new QLabel), m_again(new QPushButton),
      m_edit(new QPushButton(tr("Open in Editor"))), m_area(new QScrollArea)
{
    setRole(this, "banner");
    setRole(m_title, "heading");
    m_title->setTextFormat(Qt::PlainText);
    m_title->setWordWrap(true);
    m_list->setTextFormat(Qt::RichText);
    m_list->setWordWrap(true);
    m_list->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_list->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_area->setWidget(m_list);
    m_area->setWidgetResizable(true);
    m_area->setFrameShape(QFrame::NoFrame);
    m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);

    auto* copy = new QPushButton(tr("Copy"));
    auto* close = new QPushButton(tr("Dismiss"));
    connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_text); });
    connect(close, &QPushButton::clicked, this, qOverload<>(&ProblemBanner::dismiss));
    m_edit->setToolTip(tr("With the program that this machine opens such files with"));
    connect(m_again, &QPushButton::clicked, this, [this] { Q_EMIT openRequested(m_path); });
    connect(m_edit, &QPushButton::clicked, this, [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(m_path)); });
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(m_title, 1);
    for (QPushButton* button : {m_again, m_edit, copy, close})
        head->addWidget(button, 0, Qt::AlignTop);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 10, 12, 10);
    column->setSpacing(6);
    column->addLayout(head);
    column->addWidget(m_area);
    hide();
}

void ProblemBanner::tell(const QString& title, const Problems& problems)
{
    m_title->setText(title);
    m_text = title;
    for (QPushButton* button : {m_again, m_edit})
        button->hide();
    QString told = title, html;
    const std::size_t shown = std::min(problems.size(), kMostProblemsShown);
    for (const sim::Problem& problem : std::span(problems).first(shown)) {
        const QString pointer = beginningOf(problem.pointer), message = beginningOf(problem.message);
        const bool isOfForm = findScenarioKey(problem.pointer) != nullptr; // else only the file has a name for it
        const QString plain = pointer.isEmpty() || isOfForm ? saidPlainly(problem) : message;
        m_text += QLatin1Char('\n') + (pointer.isEmpty() ? plain : pointer + QStringLiteral(": ") + message);
        const QString place = isOfForm ? tr(" (in the file: %1)").arg(pointer) : QString();
        told += QLatin1Char('\n') + (pointer.isEmpty() || isOfForm ? plain + place : pointer + QStringLiteral(": ") + plain);
        html +=
            QStringLiteral("<p style=\"margin:0 0 4px 0\">%1%2</p>")
                .arg(pointer.isEmpty() || isOfForm ? QString() : QStringLiteral("<b>%1</b>&nbsp; ").arg(pointer.toHtmlEscaped()),
                     (plain + place).toHtmlEscaped());
    }
    if (const QString more = problemsLeftOut(problems.size()); !more.isEmpty()) {
        told += QLatin1Char('\n') + more;
        html += QStringLiteral("<p style=\"margin:0 0 4px 0\">%1</p>").arg(more);
    }
    for (const sim::Problem& problem : std::span(problems).subspan(shown)) // the copy has all
        m_text += QLatin1Char('\n') + QString::fromStdString(problem.text());
    m_list->setText(html);
    m_area->setVisible(!problems.empty());
    setAccessibleName(told);
    show();
    fitHeight();
}

void ProblemBanner::offerFile(const QString& path, const QString& settings)
{
    m_path = path;
    m_again->setText(settings.isEmpty() ? tr("Try Again") : tr("Open Without It"));
    m_again->setToolTip(settings.isEmpty() ? tr("Reads the file anew, when it has been mended")
                                           : tr("Opens the file as it is, without what the command line sets"));
    m_again->show();
    m_edit->setVisible(QFileInfo(path).isFile());
}

void ProblemBanner::dismiss()
{
    hide();
    m_text.clear();
}

void ProblemBanner::dismiss(const QString& title)
{
    if (m_text.startsWith(title + QLatin1Char('\n')) || m_text == title)
        dismiss();
}

void ProblemBanner::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fitHeight();
}

void ProblemBanner::fitHeight()
{
    const QMargins margins = layout()->contentsMargins();
    const int width = this->width() - margins.left() - margins.right();
    m_area->setFixedHeight(std::clamp(m_list->heightForWidth(width), 1, kTallestList));
}

} // namespace app
