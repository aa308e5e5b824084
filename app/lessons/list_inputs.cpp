#include "app/lessons/list_inputs.h"

#include "app/lessons/order_editor_dialog.h"
#include "app/shell/widgets/style.h"
#include "sim/scenario/json_text.h"

#include <QDropEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace app {

using sim::LessonValue;

namespace {

constexpr int kActionRole = Qt::UserRole + 1; ///< as it was given

/// The stage that all actions are of: their common number; empty where they are of several, or are no actions.
QString stageOf(const QStringList& entries)
{
    QString stage;
    for (const QString& entry : entries) {
        const auto letter = std::find_if(entry.begin(), entry.end(), [](QChar c) { return !c.isDigit(); });
        const QString own = entry.left(letter - entry.begin());
        if (own.isEmpty() || (!stage.isEmpty() && own != stage))
            return {};
        stage = own;
    }
    return stage;
}

/// As high as its words are when they wrap beside the handle, which the style's own hint does not know.
class CardHeight final : public QStyledItemDelegate {
public:
    explicit CardHeight(QListWidget* list) : QStyledItemDelegate(list), m_list(list) {}
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        constexpr int kBeside = 52, kAround = 16; // handle, padding and margins
        const int across = std::max(40, m_list->viewport()->width() - kBeside);
        const QRect words =
            option.fontMetrics.boundingRect(QRect(0, 0, across, 1000), Qt::TextWordWrap, index.data(Qt::DisplayRole).toString());
        return {m_list->viewport()->width(), words.height() + kAround};
    }

private:
    QListWidget* m_list;
};

} // namespace

SortedList::SortedList(const QStringList& entries, QListView::Flow flow, QWidget* parent) : QListWidget(parent)
{
    setRole(this, flow == QListView::TopToBottom ? "cards" : "actions");
    setFlow(flow);
    setDragDropMode(QAbstractItemView::InternalMove);
    setDefaultDropAction(Qt::MoveAction);
    setWordWrap(flow == QListView::TopToBottom);
    setWrapping(flow == QListView::LeftToRight);
    setResizeMode(QListView::Adjust);
    setTextElideMode(Qt::ElideNone);
    setCursor(Qt::OpenHandCursor);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    if (flow == QListView::TopToBottom)
        setItemDelegate(new CardHeight(this));
    setEntries(entries);
}

void SortedList::setEntries(const QStringList& entries)
{
    clear();
    const bool isCards = flow() == QListView::TopToBottom;
    const QString stage = isCards ? QString() : stageOf(entries);
    for (qsizetype i = 0; i < entries.size(); ++i) {
        auto* item = new QListWidgetItem(entries[i].mid(stage.size()), this);
        item->setData(Qt::UserRole, i);
        item->setData(kActionRole, entries[i]);
        if (isCards)
            item->setIcon(handle());
    }
    setCurrentRow(0);
    fitHeight();
}

QStringList SortedList::entries() const
{
    QStringList out;
    for (int row = 0; row < count(); ++row)
        out << item(row)->data(kActionRole).toString();
    return out;
}

/// Six dots, by which a card is taken.
QIcon SortedList::handle() const
{
    constexpr int kAcross = 10, kHigh = 16, kDot = 2;
    const qreal ratio = devicePixelRatioF();
    QPixmap dots(QSize(kAcross, kHigh) * ratio);
    dots.setDevicePixelRatio(ratio);
    dots.fill(Qt::transparent);
    QPainter painter(&dots);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(palette().color(QPalette::PlaceholderText));
    for (const int x : {2, 6})
        for (const int y : {2, 7, 12})
            painter.drawEllipse(x, y, kDot, kDot);
    return QIcon(dots);
}

/// All cards, however their words wrap: nothing is scrolled here.
void SortedList::fitHeight()
{
    int bottom = 0;
    for (int row = 0; row < count(); ++row)
        bottom = std::max(bottom, visualItemRect(item(row)).bottom());
    setFixedHeight(bottom + 2 * frameWidth() + 4);
}

void SortedList::resizeEvent(QResizeEvent* event)
{
    QListWidget::resizeEvent(event);
    if (event->oldSize().width() == event->size().width())
        return;
    doItemsLayout();
    fitHeight();
}

void SortedList::changeEvent(QEvent* event)
{
    QListWidget::changeEvent(event);
    if (event->type() != QEvent::StyleChange && event->type() != QEvent::FontChange)
        return;
    for (int row = 0; flow() == QListView::TopToBottom && row < count(); ++row)
        item(row)->setIcon(handle());
    doItemsLayout();
    fitHeight();
}

void SortedList::moveCurrent(int by)
{
    const int from = currentRow(), to = from + by;
    if (from < 0 || to < 0 || to >= count())
        return;
    insertItem(to, takeItem(from));
    setCurrentRow(to);
    Q_EMIT sorted();
}

void SortedList::keyPressEvent(QKeyEvent* event)
{
    const bool back = event->key() == Qt::Key_Up || event->key() == Qt::Key_Left;
    const bool forth = event->key() == Qt::Key_Down || event->key() == Qt::Key_Right;
    if ((event->modifiers() & Qt::ControlModifier) != 0 && (back || forth))
        moveCurrent(back ? -1 : 1);
    else
        QListWidget::keyPressEvent(event);
}

void SortedList::dropEvent(QDropEvent* event)
{
    QListWidget::dropEvent(event);
    Q_EMIT sorted();
}

OrderInput::OrderInput(const QStringList& cards, QWidget* parent)
    : AnswerInput(parent), m_list(new SortedList(cards, QListView::TopToBottom, this))
{
    m_list->setAccessibleName(tr("Cards, to be put in order"));
    auto* up = new QToolButton;
    up->setArrowType(Qt::UpArrow);
    up->setAccessibleName(tr("Earlier"));
    up->setToolTip(tr("Earlier (Ctrl+Up)"));
    auto* down = new QToolButton;
    down->setArrowType(Qt::DownArrow);
    down->setAccessibleName(tr("Later"));
    down->setToolTip(tr("Later (Ctrl+Down)"));
    auto* buttons = new QVBoxLayout;
    buttons->addWidget(up);
    buttons->addWidget(down);
    buttons->addStretch();
    auto* hint =
        new QLabel(tr("Drag a card to its place; or choose it and move it with the arrows, or with Ctrl+Up and Ctrl+Down. Where "
                      "the order is right as it stands, click a card."));
    hint->setWordWrap(true);
    setRole(hint, "small");
    auto* row = new QHBoxLayout;
    row->addWidget(m_list, 1);
    row->addLayout(buttons);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addLayout(row);
    column->addWidget(hint);
    setFocusProxy(m_list);
    connect(up, &QToolButton::clicked, this, [this] { m_list->moveCurrent(-1); });
    connect(down, &QToolButton::clicked, this, [this] { m_list->moveCurrent(1); });
    const auto touch = [this] {
        m_isTouched = true;
        Q_EMIT changed();
    };
    connect(m_list, &SortedList::sorted, this, touch);
    connect(m_list, &QListWidget::itemClicked, this, touch); // the order may be right as it stands
    connect(m_list, &QListWidget::itemActivated, this, touch);
}

LessonValue OrderInput::value() const
{
    LessonValue places = LessonValue::array();
    for (int row = 0; row < m_list->count(); ++row)
        places.push_back(m_list->item(row)->data(Qt::UserRole).toLongLong());
    return m_isTouched ? places : LessonValue();
}

void OrderInput::setValue(const LessonValue& value)
{
    const auto places = sim::valueAs<std::vector<int>>(value);
    for (int row = 0; places && row < static_cast<int>(places->size()); ++row)
        for (int from = row; from < m_list->count(); ++from)
            if (m_list->item(from)->data(Qt::UserRole).toInt() == (*places)[static_cast<std::size_t>(row)])
                m_list->insertItem(row, m_list->takeItem(from));
    m_isTouched = true;
    Q_EMIT changed();
}

ActionsInput::ActionsInput(const QStringList& rows, std::array<double, 4> times, QWidget* parent)
    : AnswerInput(parent), m_times(times), m_editor(new QPushButton)
{
    m_editor->setText(tr("Order Editor…"));
    m_editor->setToolTip(tr("Drag the actions in a larger picture that tells what the order costs"));
    connect(m_editor, &QPushButton::clicked, this, [this] { openEditor(this->rows()); });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    m_hint = new QLabel(tr("Drag an action, or choose it and move it with Ctrl+Left and Ctrl+Right."));
    m_hint->setWordWrap(true);
    setRole(m_hint, "small");
    auto* lines = new QGridLayout;
    lines->setVerticalSpacing(4);
    lines->setColumnStretch(1, 1);
    for (qsizetype rank = 0; rank < rows.size(); ++rank) {
        auto* label = new QLabel(tr("Rank %1").arg(rank));
        setRole(label, "muted12");
        auto* row = new SortedList(rows[rank].split(QLatin1Char(' '), Qt::SkipEmptyParts), QListView::LeftToRight, this);
        row->setAccessibleName(label->text());
        row->setToolTip(m_hint->text());
        lines->addWidget(label, static_cast<int>(rank), 0, Qt::AlignTop);
        lines->addWidget(row, static_cast<int>(rank), 1);
        m_rows.append(row);
        connect(row, &SortedList::sorted, this, [this] {
            m_editor->setEnabled(draftOfRows(this->rows()).has_value());
            m_isTouched = true;
            Q_EMIT changed();
        });
    }
    column->addLayout(lines);
    column->addWidget(m_hint);
    column->addWidget(m_editor, 0, Qt::AlignLeft);
    m_editor->setEnabled(draftOfRows(rows).has_value());
    if (!m_rows.isEmpty())
        setFocusProxy(m_rows.front());
}

/// Where rows fill the place, what they say themselves when they are pointed at makes room for the answer's button.
void ActionsInput::fitInto(int height)
{
    constexpr int kOnLine = 7, kLine = 24, kQuestion = 230; // as the player is wide; what stands around the rows
    int lines = 0;
    for (const SortedList* list : m_rows)
        lines += (list->count() + kOnLine - 1) / kOnLine;
    m_hint->setVisible(lines * kLine + kQuestion < height);
}

void ActionsInput::setAnswered()
{
    m_editor->hide();
    AnswerInput::setAnswered();
}

void ActionsInput::openEditor(const QStringList& rows)
{
    if (auto* open = findChild<OrderEditorDialog*>(); open != nullptr && open->isVisible()) {
        open->raise();
        return open->activateWindow();
    }
    auto draft = draftOfRows(rows, m_times[0], m_times[1], m_times[2], m_times[3]);
    if (!draft)
        return; // an order that hangs is mended in the lists
    const Theme& theme = palette().color(QPalette::Window).lightness() < 128 ? darkTheme() : lightTheme();
    auto* dialog = new OrderEditorDialog(std::move(*draft), theme, this);
    if (m_asked != nullptr)
        dialog->setAsked(*m_asked);
    connect(dialog, &OrderEditorDialog::orderChanged, this, [this, dialog] {
        if (!isEnabled())
            return; // committed
        LessonValue mine = LessonValue::array();
        for (const QString& row : dialog->rows())
            mine.push_back(row.toStdString());
        setValue(mine);
    });
    if (isEnabled()) // an answer is moved here or in the lists, not in both: what one has not seen it would take back
        dialog->setWindowModality(Qt::WindowModal);
    dialog->show();
}

QStringList ActionsInput::rows() const
{
    QStringList rows;
    for (const SortedList* list : m_rows)
        rows << list->entries().join(QLatin1Char(' '));
    return rows;
}

LessonValue ActionsInput::value() const
{
    LessonValue all = LessonValue::array();
    for (const QString& row : rows())
        all.push_back(row.toStdString());
    return m_isTouched ? all : LessonValue();
}

void ActionsInput::setValue(const LessonValue& value)
{
    const auto rows = sim::valueAs<std::vector<std::string>>(value);
    for (qsizetype rank = 0; rows && rank < m_rows.size() && rank < static_cast<qsizetype>(rows->size()); ++rank) {
        const QStringList cells =
            QString::fromStdString((*rows)[static_cast<std::size_t>(rank)]).split(QLatin1Char(' '), Qt::SkipEmptyParts);
        m_rows[rank]->setEntries(cells);
    }
    m_editor->setEnabled(draftOfRows(this->rows()).has_value());
    m_isTouched = true;
    Q_EMIT changed();
}

} // namespace app
