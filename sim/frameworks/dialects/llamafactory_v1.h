// LLaMA-Factory's version 1, whose YAML has tables of plugins and no names of Transformers' Trainer.
#pragma once

#include "sim/frameworks/job.h"

namespace sim::frameworks {

/// "model" where before there was "model_name_or_path", and a plugin's table or a batch under new names.
bool isLlamaFactoryV1(const Reading&);
void readLlamaFactoryV1(Job&);

} // namespace sim::frameworks
