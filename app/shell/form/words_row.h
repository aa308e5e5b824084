// Rows of keys that are lists of words: several of a few, and a word for each layer.
#pragma once

#include "app/shell/form/form_row.h"

class QCheckBox;

namespace app {

/// Several of a few: a check for each. With none checked the key is left out, and what it then means is checked.
class WordsRow : public FormRow {
    Q_OBJECT
public:
    WordsRow(const ScenarioKey& key, std::string pointer, const QString& what, std::vector<KeyOption>, QWidget* parent = nullptr);
    const std::vector<QCheckBox*>& boxes();

protected:
    void buildControls() override;
    void present(const std::optional<std::string>& json) override;
    void presentLegalValues() override { offerWhatWorks(); }
    QString textOf(const std::string& json) const override;
    QString inItsWords(const QString& sentence) const override;

private:
    void take();
    void offerWhatWorks();

    const std::vector<KeyOption> m_options;
    std::vector<QCheckBox*> m_boxes; ///< [option]
};

/// "10×(5×sliding, full), 2×sliding" of a list with a word for each layer, and back; what cannot be read comes back as a JSON
/// string, for the reader to judge.
QString layerTypesText(const std::string& json);
std::string layerTypesJson(const QString&);

} // namespace app
