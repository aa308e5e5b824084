#include "app/shell/dialogs/command_palette.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QAccessible>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMetaObject>
#include <QPainter>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>
#include <vector>

namespace app {
namespace {

constexpr int kRankRole = Qt::UserRole;
constexpr int kHintRole = Qt::UserRole + 1;
constexpr int kFoundRole = Qt::UserRole + 2;

/// Name on the left, keys on the right.
class LineDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const QString hint = index.data(kHintRole).toString();
        const QFont hintFont = uiFont(12);
        // The name gives way to the keys: neither is drawn over the other.
        QStyleOptionViewItem name = option;
        initStyleOption(&name, index);
        const int room = option.rect.width() - QFontMetrics(hintFont).horizontalAdvance(hint) - 48;
        name.text = name.fontMetrics.elidedText(name.text, Qt::ElideMiddle, room);
        option.widget->style()->drawControl(QStyle::CE_ItemViewItem, &name, painter, option.widget);
        painter->save();
        painter->setFont(hintFont);
        painter->setPen(option.palette.color(QPalette::PlaceholderText));
        painter->drawText(option.rect.adjusted(0, 0, -12, 0), Qt::AlignRight | Qt::AlignVCenter, hint);
        painter->restore();
    }
};

} // namespace

int matchScore(const QString& text, const QString& typed)
{
    if (typed.isEmpty())
        return 0;
    const qsizetype at = text.indexOf(typed, 0, Qt::CaseInsensitive);
    if (at >= 0) {
        constexpr int kPlaces = 50; // that are told apart
        const int least = at == 0 || text[at - 1] == QLatin1Char(' ') ? MatchScore::kBeginsWord : MatchScore::kInWord;
        return least + std::max(0, kPlaces - static_cast<int>(at));
    }
    // Several words may come in another order, each at the beginning of one.
    const QStringList words = typed.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    const auto beginsWord = [&](const QString& word) {
        return text.startsWith(word, Qt::CaseInsensitive) || text.contains(QLatin1Char(' ') + word, Qt::CaseInsensitive);
    };
    if (words.size() > 1 && std::all_of(words.begin(), words.end(), beginsWord))
        return MatchScore::kWords;
    int score = MatchScore::kLetters + 100;
    qsizetype from = 0;
    for (const QChar c : typed) {
        if (c.isSpace())
            continue;
        const qsizetype found = text.indexOf(c, from, Qt::CaseInsensitive);
        if (found < 0)
            return -1;
        score -= static_cast<int>(found - from);
        from = found + 1;
    }
    return std::max(score, MatchScore::kLetters);
}

namespace {

/// By the name of the entry, or a word at the beginning of what else it is called.
int scoreOf(const PaletteEntry& entry, const QString& typed)
{
    int best = matchScore(entry.text, typed);
    constexpr int kCalledSo = MatchScore::kBeginsWord + 40, kShortest = 3; // letters: fewer begin too many words
    for (const QString& name : entry.also)
        if (typed.size() >= kShortest && name.startsWith(typed, Qt::CaseInsensitive))
            best = std::max(best, kCalledSo);
    return best;
}

} // namespace

CommandPalette::CommandPalette(std::function<std::vector<PaletteEntry>()> commands, int worldSize, QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint), m_commands(std::move(commands)), m_worldSize(worldSize),
      m_line(new QLineEdit), m_list(new QListWidget), m_nothing(new QLabel(tr("Nothing is found")))
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Command Palette"));
    setRole(this, "popup");
    resize(560, 400);
    m_line->setPlaceholderText(worldSize > 0 ? tr("A command, a file, a span (0F3), or the number of a rank")
                                             : tr("A command or a file"));
    m_line->installEventFilter(this);
    setRole(m_list, "plain");
    m_list->setItemDelegate(new LineDelegate(m_list));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_line->setAccessibleName(tr("Command palette"));
    m_list->setAccessibleName(tr("What was found"));
    // The line keeps the keys: what Return would run is its description.
    connect(m_list, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
        m_line->setAccessibleDescription(item == nullptr ? tr("Nothing is found") : item->text());
        QAccessibleEvent event(m_line, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&event);
    });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->setSpacing(8);
    column->addWidget(m_line);
    setRole(m_nothing, "muted");
    column->addWidget(m_nothing);
    column->addWidget(m_list);
    connect(m_line, &QLineEdit::textChanged, this, &CommandPalette::fill);
    connect(m_line, &QLineEdit::returnPressed, this, &CommandPalette::run);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::run);
    fill();
    m_line->setFocus();
}

void CommandPalette::addSource(Source source)
{
    m_sources.push_back(std::move(source));
    fill();
}

void CommandPalette::setFilter(const QString& text)
{
    m_line->setText(text);
}

QStringList CommandPalette::shown() const
{
    QStringList out;
    for (int i = 0; i < m_list->count(); ++i)
        out << m_list->item(i)->text();
    return out;
}

void CommandPalette::fill()
{
    m_list->clear();
    QString typed = m_line->text().trimmed();
    QString number = typed;
    if (number.startsWith(QLatin1String("rank"), Qt::CaseInsensitive))
        number = number.mid(4).trimmed();
    bool isNumber = false;
    const int rank = number.toInt(&isNumber);
    if (isNumber && rank >= 0 && rank < m_worldSize) {
        auto* item = new QListWidgetItem(tr("Go to rank %1").arg(separated(rank)), m_list);
        item->setData(kRankRole, rank);
    }
    m_found.clear();
    const auto add = [this](PaletteEntry& entry) {
        auto* item = new QListWidgetItem(entry.text, m_list);
        item->setData(kFoundRole, static_cast<int>(m_found.size()));
        item->setData(kHintRole, entry.hint);
        item->setToolTip(entry.what.isEmpty() ? entry.hint : entry.what);
        m_found.push_back(std::move(entry));
    };
    std::vector<std::pair<int, PaletteEntry>> matching;
    for (PaletteEntry& command : m_commands())
        if (const int score = scoreOf(command, typed); score >= 0)
            matching.emplace_back(score, std::move(command));
    std::stable_sort(matching.begin(), matching.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<PaletteEntry> found;
    for (const Source& source : m_sources)
        if (!typed.isEmpty())
            for (PaletteEntry& entry : source(typed))
                found.push_back(std::move(entry));
    // What is called exactly so comes first of all.
    const auto isCalledSo = [&](const PaletteEntry& entry) { return entry.text.compare(typed, Qt::CaseInsensitive) == 0; };
    const auto called = std::stable_partition(found.begin(), found.end(), isCalledSo);
    for (auto entry = found.begin(); entry != called; ++entry)
        add(*entry);
    found.erase(found.begin(), called);
    const auto letters = std::find_if(matching.begin(), matching.end(),
                                      [&](const auto& m) { return !typed.isEmpty() && m.first < MatchScore::kBeginsWord; });
    const auto others =
        std::stable_partition(found.begin(), found.end(), [](const PaletteEntry& entry) { return entry.isMeant; });
    for (auto command = matching.begin(); command != letters; ++command)
        add(command->second);
    for (auto entry = found.begin(); entry != others; ++entry)
        add(*entry);
    // Where something is called so, nobody means letters out of other words: "Zoom In" of "OOM".
    const bool isAnswered = m_list->count() > 0;
    constexpr int kFewLetters = 3;
    for (auto command = letters; command != matching.end(); ++command)
        if (!isAnswered || (typed.size() > kFewLetters && command->first >= MatchScore::kWords))
            add(command->second);
    for (auto entry = others; entry != found.end(); ++entry)
        add(*entry);
    m_nothing->setVisible(m_list->count() == 0);
    const bool isOnlyLastResort =
        m_found.size() == static_cast<std::size_t>(m_list->count()) && !m_found.empty() && m_found.front().isLastResort;
    m_list->setCurrentRow(isOnlyLastResort ? -1 : 0);
}

void CommandPalette::run()
{
    const QListWidgetItem* item = m_list->currentItem();
    if (!item)
        return;
    const QVariant rank = item->data(kRankRole), found = item->data(kFoundRole);
    close();
    if (found.isValid()) // later: what runs may open another window
        QMetaObject::invokeMethod(parent(), m_found[static_cast<std::size_t>(found.toInt())].run, Qt::QueuedConnection);
    else
        Q_EMIT rankChosen(rank.toInt());
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int step = key == Qt::Key_Down       ? 1
                         : key == Qt::Key_Up       ? -1
                         : key == Qt::Key_PageDown ? 8
                         : key == Qt::Key_PageUp   ? -8
                                                   : 0;
        if (step != 0 && m_list->count() > 0) {
            m_list->setCurrentRow(std::clamp(m_list->currentRow() + step, 0, m_list->count() - 1));
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace app
