// The step as a film: which pictures, how large, how long, as what; then progress, which can be cancelled.
#pragma once

#include "app/session/film.h"
#include "app/shell/film/step_film.h"

#include <QDialog>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace app {

class FilmDialog : public QDialog {
    Q_OBJECT
public:
    /// `fileName` without its ending.
    FilmDialog(StepFilm, const QString& fileName, const Theme& ofScreen, QWidget* parent = nullptr);

    FilmPlan plan() const; ///< but for the path
    FilmEnding ending() const;
    void film(const QString& path);
    void cancel(); ///< and no file is left
    bool isBusy() const { return m_maker.isBusy(); }

Q_SIGNALS:
    void saved(const QString& path);
    void failed(const QString& path, const QString& reason);

protected:
    void reject() override; ///< while a film is made: cancels it, and stays

private:
    void chooseFile();
    void refresh();

    StepFilm m_film;
    const Theme& m_theme;
    QString m_fileName;
    QComboBox *m_pictures, *m_size, *m_format, *m_rate;
    QDoubleSpinBox* m_seconds;
    QLabel *m_facts, *m_failure;
    QProgressBar* m_progress;
    QPushButton *m_close, *m_save;
    FilmMaker m_maker; ///< last: ends before what it tells
};

} // namespace app
