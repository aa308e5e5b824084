#include "app/shell/widgets/because_popup.h"

#include "app/shell/widgets/style.h"
#include "sim/analysis/sensitivity.h"
#include "sim/analysis/step_times.h"

#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QScreen>
#include <QScrollArea>
#include <QStyledItemDelegate>
#include <QTextDocument>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kWidth = 520, kWidestPopup = 760, kPopupGap = 8, kPopupMargin = 16, kChoiceGap = 4;
constexpr int kTermHeight = 24, kMostRows = 14, kFewestRows = 3;
constexpr int kDigits = 4; // as in the line with the values

QString fromUtf8(const std::string& text)
{
    return QString::fromStdString(text);
}

QLabel* line(const char* role)
{
    auto* out = new QLabel;
    setRole(out, role);
    out->setTextFormat(Qt::PlainText);
    out->setWordWrap(true);
    out->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return out;
}

/// "t_model" with its index lowered: drawn at two thirds of its size, so that 11 pixels are left.
QString withIndices(const QString& text)
{
    static const QRegularExpression kIndex(QStringLiteral("(\\w)_(\\w+)"));
    return text.toHtmlEscaped().replace(kIndex, QStringLiteral("\\1<sub style=\"font-size:17px\">\\2</sub>"));
}

/// Symbols and formulas in the list of terms.
class SymbolDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QStyleOptionViewItem empty = option;
        initStyleOption(&empty, index);
        const QString text = std::exchange(empty.text, QString());
        const QWidget* widget = option.widget;
        widget->style()->drawControl(QStyle::CE_ItemViewItem, &empty, painter, widget);
        QTextDocument document;
        fill(document, option, text);
        painter->save();
        painter->translate(option.rect.left(), option.rect.top() + (option.rect.height() - document.size().height()) / 2);
        document.drawContents(painter);
        painter->restore();
    }

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QTextDocument document;
        fill(document, option, index.data().toString());
        return {qRound(document.idealWidth()) + kPopupGap, kTermHeight};
    }

private:
    static void fill(QTextDocument& document, const QStyleOptionViewItem& option, const QString& text)
    {
        document.setDocumentMargin(0);
        document.setDefaultFont(uiFont(12));
        document.setHtml(QStringLiteral("<span style=\"color:%1\">%2</span>")
                             .arg(option.palette.color(QPalette::Text).name(), withIndices(text)));
    }
};

QString choiceName(sim::MetricId id)
{
    switch (id) {
    case sim::MetricId::tokensPerSecond:
        return BecausePopup::tr("Tokens/s");
    case sim::MetricId::tokensPerSecondPerGpu:
        return BecausePopup::tr("a GPU");
    case sim::MetricId::stepTime:
        return BecausePopup::tr("Step time");
    case sim::MetricId::modelFlopRate:
        return BecausePopup::tr("FLOP/s a GPU");
    case sim::MetricId::hardwareFlopRate:
        return BecausePopup::tr("with recomputation");
    case sim::MetricId::mfu:
        return BecausePopup::tr("MFU");
    case sim::MetricId::mfuFullAttention:
        return BecausePopup::tr("MFU, full attention");
    case sim::MetricId::hfu:
        return BecausePopup::tr("HFU");
    default:
        return {};
    }
}

/// The engine runs some thirty times for it; while somebody waits, only where that is quick.
std::string whatItHangsOn(const sim::Simulation& simulation)
{
    constexpr std::int64_t kQuickOps = 100'000;
    if (simulation.metrics().simulatedOps > kQuickOps)
        return {};
    const std::string text = sensitivityText(sim::sensitivities(simulation));
    return text.empty() ? text : " It hangs most on constants of the model: " + text;
}

/// As long as some other runs take: where kernels vary, what other draws of them give.
std::string otherDraws(const sim::Simulation& simulation)
{
    constexpr int kDraws = 40;
    constexpr std::int64_t kQuickOps = 3'000'000;
    if (!sim::varies(simulation.classes()) || simulation.metrics().simulatedOps * kDraws > kQuickOps)
        return {};
    return " With jitter drawn anew for each: " + sim::stepTimes(simulation, kDraws, 1).text() + ".";
}

int shownRows(const QTreeWidgetItem* item)
{
    int rows = 0;
    for (int i = 0; i < item->childCount(); ++i)
        rows += 1 + (item->child(i)->isExpanded() ? shownRows(item->child(i)) : 0);
    return rows;
}

} // namespace

std::vector<BecauseSubject> becauseOfMetrics(const SimulationPtr& simulation, const std::vector<sim::MetricId>& ids,
                                             std::optional<int> rank)
{
    std::vector<BecauseSubject> subjects;
    for (const sim::MetricId id : ids) {
        subjects.push_back({choiceName(id), [simulation, id, rank] { return sim::explain(*simulation, id, rank); }});
        if (id == sim::MetricId::stepTime)
            subjects.back().further = [simulation] { return otherDraws(*simulation) + whatItHangsOn(*simulation); };
    }
    return subjects;
}

std::vector<BecauseSubject> becauseSubjects(const Becauses& numbers)
{
    std::vector<BecauseSubject> subjects;
    for (const Because& number : numbers)
        subjects.push_back({QString::fromStdString(number.choice), number.explain});
    return subjects;
}

BecausePopup::BecausePopup(std::vector<BecauseSubject> subjects, QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint), m_subjects(std::move(subjects)),
      m_room((parent != nullptr ? parent->screen() : QGuiApplication::primaryScreen())->availableSize()), m_page(new QWidget),
      m_name(line("heading")), m_value(line("value")), m_formula(line("formula")), m_numbers(line("formula")),
      m_convention(line("muted12")), m_source(line("small")), m_terms(new QTreeWidget), m_show(new QPushButton(tr("Show me")))
{
    setAttribute(Qt::WA_DeleteOnClose);
    setRole(this, "popup");
    m_value->setWordWrap(false);
    m_formula->setTextFormat(Qt::RichText);
    m_terms->setColumnCount(3);
    m_terms->setHeaderHidden(true);
    m_terms->setRootIsDecorated(true);
    m_terms->setIndentation(16);
    m_terms->setUniformRowHeights(true);
    m_terms->setSelectionMode(QAbstractItemView::SingleSelection);
    m_terms->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_terms->header()->setStretchLastSection(true);
    m_terms->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    m_terms->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    m_terms->setAllColumnsShowFocus(true);
    m_terms->setItemDelegateForColumn(0, new SymbolDelegate(m_terms));
    m_terms->setAccessibleName(tr("Terms"));
    setRole(m_terms, "terms");
    setRole(m_show, "link");
    m_show->setAutoDefault(false);
    m_show->setCursor(Qt::PointingHandCursor);

    auto* head = new QHBoxLayout;
    head->addWidget(m_name, 1, Qt::AlignBaseline);
    head->addWidget(m_value, 0, Qt::AlignBaseline);
    auto* column = new QVBoxLayout(m_page);
    column->setContentsMargins(kPopupMargin, 12, kPopupMargin, 12);
    column->setSpacing(8);
    if (m_subjects.size() > 1) {
        // As many in a line as it holds.
        const int room = std::min(kWidth, m_room.width() - 2 * kPopupGap) - 2 * kPopupMargin;
        QHBoxLayout* choices = nullptr;
        int used = 0;
        for (std::size_t i = 0; i < m_subjects.size(); ++i) {
            auto* button = new QPushButton(m_subjects[i].choice);
            button->setCheckable(true);
            button->setAutoDefault(false);
            setRole(button, "choice");
            button->ensurePolished();
            connect(button, &QPushButton::clicked, this, [this, i] { choose(i); });
            const int width = button->sizeHint().width() + kChoiceGap;
            if (choices == nullptr || used + width > room) {
                if (choices != nullptr)
                    choices->addStretch();
                choices = new QHBoxLayout;
                choices->setSpacing(kChoiceGap);
                column->addLayout(choices);
                used = 0;
            }
            used += width;
            choices->addWidget(button);
            m_choices.push_back(button);
        }
        choices->addStretch();
    }
    column->addLayout(head);
    column->addWidget(m_formula);
    column->addWidget(m_numbers);
    column->addWidget(m_terms);
    column->addWidget(m_convention);
    auto* foot = new QHBoxLayout;
    foot->addWidget(m_source, 1);
    foot->addWidget(m_show, 0, Qt::AlignBottom);
    column->addLayout(foot);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(m_page);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(1, 1, 1, 1); // the frame
    whole->addWidget(scroll);

    connect(m_terms, &QTreeWidget::itemExpanded, this, &BecausePopup::fit);
    connect(m_terms, &QTreeWidget::itemCollapsed, this, &BecausePopup::fit);
    connect(m_show, &QPushButton::clicked, this, [this] {
        const sim::ShowHint hint = m_shown.show;
        close();
        Q_EMIT showRequested(hint);
    });
    choose(0);
    m_terms->setFocus();
}

void BecausePopup::choose(std::size_t subject)
{
    for (std::size_t i = 0; i < m_choices.size(); ++i)
        m_choices[i]->setChecked(i == subject);
    m_shown = m_subjects.at(subject).explain();
    const QString value = fromUtf8(m_shown.valueText());
    m_name->setText(fromUtf8(m_shown.name));
    m_value->setText(value);
    const QString formula = fromUtf8(m_shown.inSymbols()), numbers = fromUtf8(m_shown.inNumbers());
    m_formula->setText(withIndices(formula));
    m_formula->setVisible(m_shown.formula.has_value());
    m_numbers->setText(QStringLiteral("= %1").arg(numbers));
    m_numbers->setVisible(m_shown.formula.has_value());
    m_convention->setText(fromUtf8(m_shown.convention));
    m_source->setText(m_shown.source.empty() ? QString() : tr("Source: %1").arg(fromUtf8(m_shown.source)));
    m_show->setVisible(m_shown.show.pointsSomewhere());
    m_terms->clear();
    addTerms(m_terms->invisibleRootItem(), m_shown);
    m_terms->setVisible(m_terms->topLevelItemCount() > 0);
    setWindowTitle(m_name->text());
    setAccessibleName(tr("%1: %2. %3 = %4").arg(m_name->text(), value, formula, numbers));
    askFurther(m_subjects.at(subject).further);
    fit();
}

void BecausePopup::askFurther(const std::function<std::string()>& further)
{
    constexpr int kFurther = 0;
    m_worker.drop(kFurther);
    if (further)
        m_worker.ask(kFurther, further,
                     [this](const std::string& words) {
                         m_shown.convention += words;
                         m_convention->setText(fromUtf8(m_shown.convention));
                         fit();
                     },
                     {}); // what cannot be said is left out
}

/// A term that is explained itself opens to its own formula and terms.
void BecausePopup::addTerms(QTreeWidgetItem* parent, const sim::Explanation& explanation)
{
    for (const sim::Term& term : explanation.terms) {
        auto* item = new QTreeWidgetItem(parent);
        const sim::Quantity& q = term.quantity;
        item->setText(0, fromUtf8(q.symbol));
        item->setText(1, fromUtf8(sim::numberText(q.value, q.unit, kDigits)));
        item->setText(2, fromUtf8(term.meaning));
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
        item->setToolTip(2, fromUtf8(term.meaning));
        if (!term.because)
            continue;
        const sim::Explanation& because = *term.because;
        item->setToolTip(2, because.convention.empty() ? fromUtf8(term.meaning) : fromUtf8(because.convention));
        if (!because.formula)
            continue;
        auto* sum = new QTreeWidgetItem(item);
        sum->setFirstColumnSpanned(true);
        sum->setText(0, QStringLiteral("%1 = %2").arg(fromUtf8(because.inSymbols()), fromUtf8(because.inNumbers())));
        sum->setToolTip(0, sum->text(0));
        addTerms(item, because);
    }
}

/// Wide enough for what the terms mean, as far as that helps reading.
int BecausePopup::wantedWidth() const
{
    int widest = 0;
    const QFontMetrics metrics(m_terms->font());
    for (int i = 0; i < m_terms->topLevelItemCount(); ++i)
        widest = std::max(widest, metrics.horizontalAdvance(m_terms->topLevelItem(i)->text(2)));
    constexpr int kAround = 2 * kPopupMargin + 2 * kPopupGap;
    return std::clamp(m_terms->columnWidth(0) + m_terms->columnWidth(1) + widest + kAround, kWidth, kWidestPopup);
}

void BecausePopup::fitInto(QSize room)
{
    m_room = room;
    fit();
}

void BecausePopup::fit()
{
    const int width = std::min(wantedWidth(), m_room.width() - 2 * kPopupGap), high = m_room.height() - 2 * kPopupGap;
    const auto needed = [&](int rows) {
        m_terms->setFixedHeight(rows * kTermHeight + 2);
        m_page->layout()->invalidate();
        m_page->layout()->activate();
        return m_page->layout()->totalHeightForWidth(width - 2) + 2;
    };
    int rows = std::clamp(shownRows(m_terms->invisibleRootItem()), 1, kMostRows), height = needed(rows);
    while (height > high && rows > kFewestRows)
        height = needed(--rows);
    setFixedSize(width, std::min(height, high));
}

void BecausePopup::openBeside(const QWidget& shown, QRect number)
{
    const QRect screen = shown.screen()->availableGeometry();
    fitInto(screen.size());
    const QRect beside(shown.mapToGlobal(number.topLeft()), number.size());
    int x = beside.left() - width() - kPopupGap;
    if (x < screen.left())
        x = beside.right() + kPopupGap;
    x = std::clamp(x, screen.left(), std::max(screen.left(), screen.right() - width()));
    const int y = std::clamp(beside.top(), screen.top(), std::max(screen.top(), screen.bottom() - height()));
    move(x, y);
    show();
}

QString BecausePopup::text() const
{
    QStringList lines{m_name->text() + QLatin1Char(' ') + m_value->text(), fromUtf8(m_shown.inSymbols()), m_numbers->text()};
    for (int i = 0; i < m_terms->topLevelItemCount(); ++i) {
        const QTreeWidgetItem* item = m_terms->topLevelItem(i);
        lines << item->text(0) + QStringLiteral(" = ") + item->text(1) + QStringLiteral(": ") + item->text(2);
    }
    lines << m_convention->text() << m_source->text();
    return lines.join(QLatin1Char('\n'));
}

void openBecause(QWidget& picture, const Becauses& because, Rect at, std::function<void(const sim::ShowHint&)> show)
{
    std::vector<BecauseSubject> subjects = becauseSubjects(because);
    for (BecauseSubject& subject : subjects)
        if (!show)
            subject.explain = [explain = subject.explain] {
                sim::Explanation why = explain();
                why.show = {};
                return why;
            };
    auto* popup = new BecausePopup(std::move(subjects), &picture);
    if (show)
        QObject::connect(popup, &BecausePopup::showRequested, &picture, std::move(show));
    popup->openBeside(picture, QRect(qRound(at.left), qRound(at.top), qRound(at.width()), qRound(at.height())));
}

} // namespace app
