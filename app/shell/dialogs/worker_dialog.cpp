#include "app/shell/dialogs/worker_dialog.h"

#include "app/shell/widgets/style.h"

#include <QFile>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

namespace app {

WorkerDialog::WorkerDialog(Job job, QWidget* parent)
    : QDialog(parent), m_job(std::move(job)), m_message(new QLabel), m_output(new QPlainTextEdit), m_progress(new QProgressBar),
      m_close(new QPushButton(tr("Cancel")))
{
    setObjectName(QStringLiteral("workerDialog"));
    setWindowTitle(m_job.title);
    setAttribute(Qt::WA_DeleteOnClose);
    constexpr QSize kSize{640, 420};
    resize(kSize);
    auto* what = new QLabel(m_job.what);
    what->setWordWrap(true);
    m_progress->setRange(0, 0);
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(6);
    m_output->setReadOnly(true);
    m_output->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_output->setAccessibleName(tr("What it says"));
    m_output->setPlaceholderText(tr("It has said nothing yet."));
    m_message->setWordWrap(true);
    m_message->setText(tr("Working…"));
    connect(m_close, &QPushButton::clicked, this, &QDialog::reject);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_message, 1);
    bottom->addWidget(m_close, 0, Qt::AlignBottom);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(10);
    column->addWidget(what);
    column->addWidget(m_progress);
    column->addWidget(m_output, 1);
    column->addLayout(bottom);
    start();
}

WorkerDialog::~WorkerDialog() = default;

QString WorkerDialog::message() const
{
    return m_message->text();
}

void WorkerDialog::addResult(const QString& text)
{
    if (!text.isEmpty())
        m_message->setText(m_message->text() + QLatin1Char(' ') + text);
}

void WorkerDialog::start()
{
    const QString program = m_job.program.isEmpty() ? findWorkerProgram() : m_job.program;
    if (program.isEmpty()) {
        end(false, noWorkerText());
        return;
    }
    if (!m_job.scenario.isEmpty()) {
        QFile file(m_folder.filePath(QStringLiteral("scenario.json")));
        if (!file.open(QIODevice::WriteOnly) || file.write(m_job.scenario) != m_job.scenario.size()) {
            end(false, tr("The scenario cannot be written: %1").arg(file.errorString()));
            return;
        }
        m_job.arguments.replaceInStrings(QStringLiteral("%FILE%"), file.fileName());
    }
    m_worker = std::make_unique<WorkerProcess>();
    connect(m_worker.get(), &WorkerProcess::said, m_output, &QPlainTextEdit::appendPlainText);
    connect(m_worker.get(), &WorkerProcess::failedToStart, this,
            [this, program](const QString& message) { end(false, tr("%1 cannot be started: %2").arg(program, message)); });
    connect(m_worker.get(), &WorkerProcess::ended, this, [this](const WorkerEnd& how) {
        end(how.isGood(), how.isGood() ? m_job.good : tr("%1 (rankscope-live %2)").arg(m_job.bad, how.text()));
        if (how.isGood())
            Q_EMIT succeeded(m_worker->output());
    });
    m_worker->start(program, m_job.arguments);
}

void WorkerDialog::end(bool good, const QString& message)
{
    m_done = true;
    m_message->setText(message);
    setRole(m_message, good ? "better" : "error");
    m_progress->hide();
    m_close->setText(tr("Close"));
}

} // namespace app
