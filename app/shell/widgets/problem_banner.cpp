#include "app/shell/widgets/problem_banner.h"

#include "app/session/plain_words.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <span>

namespace app {
namespace {
constexpr int kTallestList = 180;
}

ProblemBanner::ProblemBanner(QWidget* parent) : QFrame(parent), m_title(new QLabel), m_list(new QLabel), m_area(new QScrollArea)
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
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(m_title, 1);
    head->addWidget(copy, 0, Qt::AlignTop);
    head->addWidget(close, 0, Qt::AlignTop);
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
    QString html;
    const std::size_t shown = std::min(problems.size(), kMostProblemsShown);
    for (const sim::Problem& problem : std::span(problems).first(shown)) {
        const QString pointer = beginningOf(problem.pointer), said = beginningOf(problem.message);
        const QString message = pointer.isEmpty() ? asSentence(said) : said;
        m_text += QLatin1Char('\n') + (pointer.isEmpty() ? message : pointer + QStringLiteral(": ") + message);
        html += QStringLiteral("<p style=\"margin:0 0 4px 0\">%1%2</p>")
                    .arg(pointer.isEmpty() ? QString() : QStringLiteral("<b>%1</b>&nbsp; ").arg(pointer.toHtmlEscaped()),
                         message.toHtmlEscaped());
    }
    QString told = m_text;
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
